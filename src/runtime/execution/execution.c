/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution.h"

#include "base/error.h"
#include "runtime/burst.h"
#include "runtime/deadline.h"
#include "runtime/domain.h"
#include "runtime/fallback.h"
#include "runtime/outcome.h"

static const struct nnhal_timing no_timing = {NNHAL_NO_TIME, NNHAL_NO_TIME};

int nn_rt_execution_new(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                        ANeuralNetworksExecution **ret_execution)
{
    _cleanup_(nn_rt_execution_unrefp) ANeuralNetworksExecution *execution = NULL;
    const struct nn_model_io *io = &compilation->frozen->io;
    int r;

    r = nn_rt_compilation_check_finished(compilation, why);
    if (r)
        return r;
    execution = calloc(1, sizeof(*execution));
    if (!execution)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&execution->object);
    /* An execution belongs to the process that its compilation belongs to. */
    execution->object.fork_generation = compilation->object.fork_generation;
    pthread_mutex_init(&execution->lock, NULL);
    nn_arena_init(&execution->arena, 0);
    execution->compilation = nn_rt_compilation_ref(compilation);
    execution->binding.pools = &compilation->staging;
    execution->loop_timeout_ns = NNHAL_NO_TIME;
    execution->bound.inputs = calloc(io->n_inputs, sizeof(*execution->bound.inputs));
    execution->bound.outputs = calloc(io->n_outputs, sizeof(*execution->bound.outputs));
    execution->shapes = calloc(io->n_outputs, sizeof(*execution->shapes));
    if (!execution->bound.inputs || !execution->bound.outputs || !execution->shapes)
        return nn_error_origin(-ENOMEM);
    execution->bound.n_inputs = io->n_inputs;
    execution->bound.n_outputs = io->n_outputs;
    *ret_execution = steal_ptr(&execution);
    return 0;
}

ANeuralNetworksExecution *nn_rt_execution_ref(ANeuralNetworksExecution *execution)
{
    nn_rt_object_ref(&execution->object);
    return execution;
}

ANeuralNetworksExecution *nn_rt_execution_unref(ANeuralNetworksExecution *execution)
{
    if (!execution || !nn_rt_object_unref(&execution->object))
        return NULL;
    nn_rt_binding_done(&execution->binding);
    for (uint32_t i = 0; i < execution->bound.n_inputs; i++)
        nn_rt_argument_done(&execution->bound.inputs[i]);
    for (uint32_t i = 0; i < execution->bound.n_outputs; i++)
        nn_rt_argument_done(&execution->bound.outputs[i]);
    free(execution->bound.inputs);
    free(execution->bound.outputs);
    free(execution->shapes);
    nn_arena_done(&execution->arena);
    nn_rt_compilation_unref(execution->compilation);
    pthread_mutex_destroy(&execution->lock);
    nn_rt_object_done(&execution->object);
    free(execution);
    return NULL;
}

/* -- setters ---------------------------------------------------------------------- */

/* In a forked child the lock may be held for ever by a thread that is not there. */
static int check_ours(const ANeuralNetworksExecution *execution, struct nn_why *why)
{
    if (!nn_rt_object_is_foreign(&execution->object))
        return 0;
    return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                   "the execution was created before fork(); only the parent can use it");
}

static int check_preparation(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    enum nn_rt_execution_state state;
    int r = check_ours(execution, why);

    if (r)
        return r;
    pthread_mutex_lock(&execution->lock);
    state = execution->state;
    pthread_mutex_unlock(&execution->lock);
    if (state == NN_EXECUTION_PREPARATION)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   "computing has begun: the execution cannot be changed any more");
}

static int find_slot(ANeuralNetworksExecution *execution, const struct nn_rt_execution_slot *slot,
                     struct nn_why *why, struct nn_rt_argument **ret_argument,
                     struct nn_rt_argument_rules *ret_rules)
{
    const struct nn_model_io *io = &execution->compilation->frozen->io;
    uint32_t n = slot->is_input ? io->n_inputs : io->n_outputs;
    int r;

    r = check_preparation(execution, why);
    if (r)
        return r;
    if (slot->index < 0 || (uint32_t)slot->index >= n)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no %s %d: the model has %u",
                       slot->is_input ? "input" : "output", slot->index, n);
    *ret_argument = slot->is_input ? &execution->bound.inputs[slot->index]
                                   : &execution->bound.outputs[slot->index];
    *ret_rules = (struct nn_rt_argument_rules){
        .operand = slot->is_input ? &io->inputs[slot->index] : &io->outputs[slot->index],
        .is_input = slot->is_input,
        .has_padding = execution->has_padding,
    };
    if ((*ret_argument)->kind != NN_ARGUMENT_UNSET)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "%s %d was set before",
                       slot->is_input ? "input" : "output", slot->index);
    return 0;
}

int nn_rt_execution_set_pointer(ANeuralNetworksExecution *execution,
                                const struct nn_rt_execution_slot *slot, void *pointer,
                                uint64_t length, struct nn_why *why)
{
    struct nn_rt_argument *argument;
    struct nn_rt_argument_rules rules;
    int r;

    r = find_slot(execution, slot, why, &argument, &rules);
    if (!r)
        r = nn_rt_argument_set_pointer(argument, &rules, slot->type, pointer, length, why);
    if (!r)
        execution->has_arguments = true;
    return r;
}

int nn_rt_execution_set_memory(ANeuralNetworksExecution *execution,
                               const struct nn_rt_execution_slot *slot,
                               ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                               struct nn_why *why)
{
    struct nn_rt_argument *argument;
    struct nn_rt_argument_rules rules;
    int r;

    r = find_slot(execution, slot, why, &argument, &rules);
    if (!r && memory->domain)
        r = nn_rt_domain_check_role(memory->domain, execution->compilation, slot->is_input,
                                    (uint32_t)slot->index, why);
    if (!r)
        r = nn_rt_argument_set_memory(argument, &rules, slot->type, memory, offset, length, why);
    if (!r)
        execution->has_arguments = true;
    return r;
}

int nn_rt_execution_set_padding(ANeuralNetworksExecution *execution, bool enable,
                                struct nn_why *why)
{
    int r = check_preparation(execution, why);

    if (r)
        return r;
    if (execution->has_arguments)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                       "padding is decided before the first input or output is set");
    execution->has_padding = enable;
    return 0;
}

int nn_rt_execution_set_reusable(ANeuralNetworksExecution *execution, bool enable,
                                 struct nn_why *why)
{
    int r = check_preparation(execution, why);

    if (!r)
        execution->is_reusable = enable;
    return r;
}

/* BAD_DATA comes before BAD_STATE here, as in Android. */
static int check_one_device(ANeuralNetworksExecution *execution, const char *what,
                            struct nn_why *why)
{
    if (!nn_rt_compilation_has_one_device(execution->compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "%s needs a compilation created for one listed device", what);
    return check_preparation(execution, why);
}

int nn_rt_execution_set_measure(ANeuralNetworksExecution *execution, bool enable,
                                struct nn_why *why)
{
    int r = check_one_device(execution, "measuring", why);

    if (!r)
        execution->measure = enable;
    return r;
}

int nn_rt_execution_set_timeout(ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                struct nn_why *why)
{
    int r = check_one_device(execution, "a timeout", why);

    if (!r)
        execution->timeout_ns = duration_ns;
    return r;
}

int nn_rt_execution_set_loop_timeout(ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                     struct nn_why *why)
{
    int r = check_preparation(execution, why);

    if (!r)
        execution->loop_timeout_ns = duration_ns < NNHAL_MAX_LOOP_TIMEOUT_NS
                                         ? duration_ns
                                         : NNHAL_MAX_LOOP_TIMEOUT_NS;
    return r;
}

/* -- computing ------------------------------------------------------------------------ */

static int check_complete(const struct nn_rt_argument *arguments, uint32_t n, const char *what,
                          struct nn_why *why)
{
    for (uint32_t i = 0; i < n; i++)
        if (arguments[i].kind == NN_ARGUMENT_UNSET)
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s %u has not been set", what, i);
    return 0;
}

/* The transitions into COMPUTATION, and the one that skips it. */
static int begin_locked(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    int r;

    if (execution->state == NN_EXECUTION_COMPUTATION)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "the execution is being computed");
    if (execution->state == NN_EXECUTION_COMPLETED && !execution->is_reusable)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                       "the execution has computed already, and is not reusable");
    r = check_complete(execution->bound.inputs, execution->bound.n_inputs, "input", why);
    if (!r)
        r = check_complete(execution->bound.outputs, execution->bound.n_outputs, "output", why);
    execution->state = r ? NN_EXECUTION_COMPLETED : NN_EXECUTION_COMPUTATION;
    execution->result = r;
    return r;
}

int nn_rt_execution_begin(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    int r = check_ours(execution, why);

    if (r)
        return r;
    pthread_mutex_lock(&execution->lock);
    r = begin_locked(execution, why);
    pthread_mutex_unlock(&execution->lock);
    return r;
}

void nn_rt_execution_end(ANeuralNetworksExecution *execution, int result)
{
    pthread_mutex_lock(&execution->lock);
    execution->state = NN_EXECUTION_COMPLETED;
    execution->result = nn_result_from_error(result);
    pthread_mutex_unlock(&execution->lock);
}

static int bind_to_device(ANeuralNetworksExecution *execution, const struct nn_rt_binding_run *run,
                          struct nn_rt_prepared *prepared, struct nn_why *why)
{
    int r;

    if (execution->binding.prepared == prepared)
        return 0;
    nn_rt_binding_drop(&execution->binding);
    r = nn_rt_binding_make(&execution->binding, &execution->bound, prepared, why);
    if (!r && execution->is_reusable)
        r = nn_rt_binding_set_reusable(&execution->binding, run, why);
    if (r)
        nn_rt_binding_drop(&execution->binding);
    return r;
}

int nn_rt_execution_check_inputs(const ANeuralNetworksExecution *execution, struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < execution->bound.n_inputs; i++) {
        const struct nn_rt_argument *input = &execution->bound.inputs[i];

        if (input->kind == NN_ARGUMENT_MEMORY && input->memory->domain)
            r = nn_rt_domain_check_input(input->memory->domain, input, why);
    }
    return r;
}

/* How a computation is to be run. */
struct run {
    struct nn_rt_binding_run binding;
    ANeuralNetworksBurst *burst; /* on this one; NULL: see pace */
    struct nn_rt_pace *pace;     /* on an implicit one, if the pace says so; NULL: with a call */
};

/* Runs what is bound, on a burst if there is one. */
static uint32_t execute(ANeuralNetworksExecution *execution, struct run *run,
                        struct nn_rt_prepared *prepared,
                        struct nn_hal_execute_synchronously_reply *reply)
{
    const ANeuralNetworksCompilation *compilation = execution->compilation;
    struct nn_rt_channel *implicit = NULL;
    uint32_t status;

    if (run->pace)
        implicit = nn_rt_implicit_take(prepared, run->pace, &compilation->frozen->io,
                                       compilation->preference != NNHAL_LOW_POWER);
    run->binding.channel = run->burst ? nn_rt_burst_get_channel(run->burst, prepared) : implicit;
    nn_arena_reset(&execution->arena);
    status = nn_rt_binding_execute(&execution->binding, &execution->bound, &run->binding,
                                   &execution->arena, reply);
    if (implicit)
        nn_rt_implicit_give(prepared, run->pace);
    return status;
}

static int run_once(ANeuralNetworksExecution *execution, struct run *run,
                    struct nn_rt_prepared *prepared, struct nn_why *why)
{
    struct nn_hal_execute_synchronously_reply reply = {0};
    uint32_t status;
    int r;

    r = bind_to_device(execution, &run->binding, prepared, why);
    if (!r)
        r = nn_rt_execution_check_inputs(execution, why);
    if (r)
        return r;
    status = execute(execution, run, prepared, &reply);
    return nn_rt_outcome_take(execution, status, &reply, why);
}

/* When the device dies under it, once more on what takes its place. */
static int run_twice(ANeuralNetworksExecution *execution, struct run *run, struct nn_why *why)
{
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared = NULL;
    struct nn_rt_prepared *current = execution->binding.prepared; /* which stays bound */
    int r;

    if (!nn_rt_compilation_has_prepared(execution->compilation, current))
        current = prepared = nn_rt_compilation_get_prepared(execution->compilation);
    r = run_once(execution, run, current, why);
    if (r != ANEURALNETWORKS_DEAD_OBJECT)
        return r;
    r = nn_rt_compilation_renew(execution->compilation, current, why);
    if (r)
        return r;
    nn_rt_prepared_unref(prepared);
    prepared = nn_rt_compilation_get_prepared(execution->compilation);
    return run_once(execution, run, prepared, why);
}

int nn_rt_execution_bind(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared = NULL;
    const struct nn_rt_binding_run run = {
        .measure = execution->measure,
        .loop_timeout_ns = execution->loop_timeout_ns,
    };

    execution->timing = execution->timing_fenced = no_timing;
    prepared = nn_rt_compilation_get_prepared(execution->compilation);
    return bind_to_device(execution, &run, prepared, why);
}

static int run_it(ANeuralNetworksExecution *execution, struct run *run, uint64_t deadline_ns,
                  struct nn_why *why)
{
    int r;

    run->binding = (struct nn_rt_binding_run){
        .measure = execution->measure,
        .deadline_ns = deadline_ns,
        .loop_timeout_ns = execution->loop_timeout_ns,
    };
    execution->timing = execution->timing_fenced = no_timing;
    r = run_twice(execution, run, why);
    run->binding.channel = NULL;
    if (nn_rt_fallback_may(execution, r))
        r = nn_rt_fallback_run(execution, &run->binding, r, why);
    else if (!r)
        nn_rt_device_works(execution->compilation->device);
    nn_rt_outcome_note_outputs(execution, r == 0);
    if (!execution->is_reusable)
        nn_rt_binding_done(&execution->binding);
    return r;
}

int nn_rt_execution_run(ANeuralNetworksExecution *execution, uint64_t deadline_ns,
                        struct nn_why *why)
{
    struct run run = {.burst = NULL};

    return run_it(execution, &run, deadline_ns, why);
}

int nn_rt_execution_compute(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
                            struct nn_why *why)
{
    struct run run = {.burst = burst};
    int r = nn_rt_execution_begin(execution, why);

    if (r)
        return r;
    if (!burst && execution->is_reusable)
        run.pace = &execution->pace;
    if (run.pace)
        nn_rt_pace_begin(run.pace);
    r = run_it(execution, &run, nn_deadline_after(execution->timeout_ns), why);
    if (run.pace)
        nn_rt_pace_end(run.pace);
    nn_rt_execution_end(execution, r);
    return r;
}

int nn_rt_execution_check_fenced(const ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                 struct nn_why *why)
{
    const struct nn_model_io *io = &execution->compilation->frozen->io;

    if (duration_ns && !nn_rt_compilation_has_one_device(execution->compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a duration needs a compilation created for one listed device");
    for (uint32_t i = 0; i < io->n_outputs; i++)
        if (!nn_rt_argument_is_specified(&execution->bound.outputs[i], &io->outputs[i]))
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "output %u is not fully specified: with dependencies it has to be", i);
    return 0;
}
