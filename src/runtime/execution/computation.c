/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/computation.h"

#include "base/sys.h"
#include "base/wait-limit.h"
#include "runtime/compilation/renewal.h"
#include "runtime/execution/deadline.h"
#include "runtime/execution/fallback.h"
#include "runtime/execution/outcome.h"
#include "runtime/execution/reply.h"
#include "runtime/execution/suspect.h"
#include "runtime/partition/control-flow.h"
#include "runtime/partition/steps.h"

enum { N_ATTEMPTS = 2 };

/* One computation, between begin and end. */
struct computation {
    ANeuralNetworksExecution *execution;
    struct nn_why *why;
    struct nn_rt_compute_options options;
    ANeuralNetworksBurst *burst; /* through this one; NULL: see pace */
    struct nn_rt_pace *pace;     /* through an implicit one if the pace asks for it; NULL: a call */
    bool is_paced;               /* the pace has begun */
    bool was_sent;               /* the last attempt has reached the device */
};

static struct nn_rt_channel *take_implicit(struct computation *computation,
                                           struct nn_rt_prepared *prepared)
{
    const ANeuralNetworksCompilation *compilation = computation->execution->compilation;
    const struct nn_rt_channel_params params = {
        .session = prepared->session,
        .prepared_model = prepared->id,
        .io = &compilation->finished->io,
        .may_spin = compilation->preference != NNHAL_LOW_POWER,
    };

    /* Nothing is gained in this process, not even what two clocks cost. */
    if (!computation->pace || !prepared->session->is_wire)
        return NULL;
    nn_rt_pace_begin(computation->pace);
    computation->is_paced = true;
    return nn_rt_implicit_burst_take(&prepared->implicit, computation->pace, &params);
}

static int compute_on_device(struct computation *computation, struct nn_rt_prepared *prepared)
{
    ANeuralNetworksExecution *execution = computation->execution;
    struct nn_hal_execute_synchronously_reply reply = {0};
    struct nn_rt_channel *implicit;
    uint32_t status;
    int r;

    r = nn_rt_execution_bind(execution, prepared, computation->why);
    if (!r)
        r = nn_rt_execution_check_inputs(execution, computation->why);
    if (r)
        return r;
    implicit = take_implicit(computation, prepared);
    computation->options.channel = computation->burst
                                       ? nn_rt_burst_get_channel(computation->burst, prepared)
                                       : implicit;
    nn_arena_reset(&execution->arena);
    computation->was_sent = nn_rt_session_is_alive(prepared->session);
    status = nn_rt_binding_execute(&execution->binding, &execution->arguments,
                                   &computation->options, &execution->arena, &reply);
    execution->is_haunted |= execution->binding.is_left;
    if (implicit)
        nn_rt_implicit_burst_give(&prepared->implicit, computation->pace);
    return nn_rt_reply_accept(execution, status, &reply, computation->why);
}

/* The prepared model that the compilation has now, alive; *owned holds the reference. While the
 * binding is current it holds one itself, and no lock is taken. */
static int get_living(struct computation *computation, struct nn_rt_prepared **owned,
                      struct nn_rt_prepared **ret_prepared)
{
    ANeuralNetworksCompilation *compilation = computation->execution->compilation;
    struct nn_rt_prepared *current = computation->execution->binding.prepared;
    int r;

    if (!nn_rt_compilation_has_prepared(compilation, current))
        current = *owned = nn_rt_compilation_get_prepared(compilation);
    if (!nn_rt_session_is_alive(current->session)) {
        r = nn_rt_compilation_renew(compilation, current, computation->why);
        if (r)
            return r;
        nn_rt_prepared_unref(*owned);
        current = *owned = nn_rt_compilation_get_prepared(compilation);
    }
    *ret_prepared = current;
    return 0;
}

/* If the device dies meanwhile: once more on the model that was prepared again. */
static int compute_with_recovery(struct computation *computation)
{
    int r = ANEURALNETWORKS_DEAD_OBJECT;

    for (uint32_t i = 0; r == ANEURALNETWORKS_DEAD_OBJECT && i < N_ATTEMPTS; i++) {
        _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *owned = NULL;
        struct nn_rt_prepared *prepared;

        r = get_living(computation, &owned, &prepared);
        if (r)
            return r;
        r = nn_rt_suspect_check(computation->execution, prepared->device, computation->why);
        if (r)
            return r;
        computation->was_sent = false;
        r = compute_on_device(computation, prepared);
        if (computation->was_sent)
            nn_rt_suspect_note(computation->execution, prepared, r);
    }
    return r;
}

/* Forward: a part of a split computation is a computation, too, but has no parts itself. */
static int compute_paced(struct computation *computation, uint64_t deadline_ns);

static int compute_part(void *ctx, uint32_t part, ANeuralNetworksExecution *step,
                        struct nn_why *why)
{
    const struct computation *whole = ctx;
    struct computation computation = {
        .execution = step,
        .why = why,
        .burst = whole->burst && part != NN_RT_PLAN_NONE ? nn_rt_burst_get_part(whole->burst, part)
                                                         : NULL,
    };
    int r = nn_rt_execution_begin(step, ANNDIAG_EXECUTION_MODE_UNKNOWN, why);

    return r ? r : compute_paced(&computation, whole->options.deadline_ns);
}

static int compute_somehow(struct computation *computation, uint64_t deadline_ns)
{
    const struct nn_rt_steps_calls calls = {computation, compute_part};
    ANeuralNetworksExecution *execution = computation->execution;

    if (nn_rt_compilation_is_control(execution->compilation))
        return nn_rt_control_flow_compute(execution, &calls, deadline_ns, computation->why);
    if (nn_rt_compilation_is_split(execution->compilation))
        return nn_rt_steps_compute(execution, &calls, computation->why);
    return compute_with_recovery(computation);
}

/* Also of a model that one device computes, whose plan was asked for. */
static void note_duration(ANeuralNetworksExecution *execution, uint64_t begin_ns, int r)
{
    execution->took_ns = nn_sys_now_ns() - begin_ns;
    if (!r && !execution->failure.text[0] && !nn_rt_compilation_is_split(execution->compilation))
        nn_rt_compilation_note_duration(
            execution->compilation,
            &(struct nn_rt_duration){execution->took_ns, execution->timing.time_in_driver_ns,
                                     execution->timing.time_on_device_ns});
}

static int compute_with_fallback(struct computation *computation, uint64_t deadline_ns)
{
    ANeuralNetworksExecution *execution = computation->execution;
    uint64_t limit_ns = nn_wait_limit_narrow(deadline_ns);
    uint64_t begin_ns = execution->measure ? nn_sys_now_ns() : 0;
    int r;

    computation->options = nn_rt_execution_options(execution, deadline_ns);
    execution->device = execution->compilation->device;
    r = compute_somehow(computation, deadline_ns);
    if (nn_rt_fallback_is_possible(execution, r))
        r = nn_rt_fallback_compute(execution, deadline_ns, r, computation->why);
    else if (!r && !nn_rt_compilation_is_split(execution->compilation)) /* its parts do */
        nn_rt_device_note_success(execution->compilation->device);
    if (execution->measure)
        note_duration(execution, begin_ns, r);
    nn_rt_reply_mark_outputs(execution, r == 0);
    if (!execution->is_reusable)
        nn_rt_execution_rest(execution);
    nn_wait_limit_restore(limit_ns);
    return r;
}

int nn_rt_execution_compute_begun(ANeuralNetworksExecution *execution, uint64_t deadline_ns,
                                  struct nn_why *why)
{
    struct computation computation = {.execution = execution, .why = why};

    return compute_with_fallback(&computation, deadline_ns);
}

/* Only a reusable execution has a pace: the others bind anew each time, which costs more than a
 * burst saves. */
static int compute_paced(struct computation *computation, uint64_t deadline_ns)
{
    int r;

    if (computation->execution->is_reusable && !computation->burst)
        computation->pace = &computation->execution->pace;
    r = compute_with_fallback(computation, deadline_ns);
    if (computation->is_paced)
        nn_rt_pace_end(computation->pace);
    nn_rt_execution_end(computation->execution, r);
    return r;
}

int nn_rt_execution_compute(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    struct computation computation = {.execution = execution, .why = why};
    int r = nn_rt_execution_begin(execution, ANNDIAG_EXECUTION_MODE_SYNC, why);

    return r ? r : compute_paced(&computation, nn_deadline_after(execution->timeout_ns));
}

int nn_rt_burst_compute(ANeuralNetworksBurst *burst, ANeuralNetworksExecution *execution,
                        struct nn_why *why)
{
    struct computation computation = {.execution = execution, .why = why, .burst = burst};
    int r = nn_rt_burst_acquire(burst, execution, why);

    if (r)
        return r;
    r = nn_rt_execution_begin(execution, ANNDIAG_EXECUTION_MODE_BURST, why);
    if (!r) {
        r = compute_with_fallback(&computation, nn_deadline_after(execution->timeout_ns));
        nn_rt_execution_end(execution, r);
    }
    nn_rt_burst_release(burst);
    return r;
}
