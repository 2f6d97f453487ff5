/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - runs a binding, and checks what the driver says that it did */
#include "host/execution/run.h"

#include "base/sys.h"
#include "host/caching/reoptimize.h"
#include "host/services.h"
#include "host/execution/stalling.h"
#include "host/execution/overdue.h"
#include "host/execution/turn.h"

#include <string.h>

/* -- what a driver may say of an output ---------------------------------------- */

/* Known dimensions must stay as they were; ranks too. A driver may say that a
 * dimension is 0: unknown if the output was insufficient, empty otherwise. */
static bool shape_fits(uint32_t type, const struct nnhal_output *before,
                       const struct nnhal_output *after)
{
    if (after->n_dimensions > NNHAL_MAX_RANK)
        return false;
    if (before->n_dimensions == 0)
        return !nn_type_is_scalar(type) || after->n_dimensions == 0;
    if (after->n_dimensions != before->n_dimensions)
        return false;
    for (uint32_t i = 0; i < before->n_dimensions; i++)
        if (before->dimensions[i] != 0 && after->dimensions[i] != before->dimensions[i])
            return false;
    return true;
}

/* The bytes that the output's shape needs; false: too many for 32 bits. */
static bool bytes_needed(uint32_t type, const struct nnhal_output *output, uint64_t *ret_bytes)
{
    return nn_operand_bytes(type, output->n_dimensions, output->dimensions, ret_bytes);
}

/* What is wrong with an output that is said to be written, NULL: nothing. */
static const char *check_written(uint32_t type, const struct nnhal_output *before,
                                 const struct nnhal_output *after)
{
    uint64_t n_bytes;

    if (before->is_omitted)
        return NULL;
    if (nn_type_is_tensor(type) && after->n_dimensions == 0)
        return "has no rank";
    if (!bytes_needed(type, after, &n_bytes) || n_bytes > before->capacity)
        return "is said to be written but does not fit";
    return NULL;
}

/* The same for one that is said to be too large for its memory. */
static const char *check_insufficient(uint32_t type, const struct nnhal_output *before,
                                      const struct nnhal_output *after)
{
    uint64_t n_bytes;

    if (before->is_omitted || nn_dims_known(type, before->n_dimensions, before->dimensions))
        return "is said to be too large though its shape was agreed";
    if (bytes_needed(type, after, &n_bytes) && n_bytes > 0 && n_bytes <= before->capacity)
        return "is said to be too large but fits";
    return NULL;
}

static const char *check_output(uint32_t type, const struct nnhal_output *before,
                                const struct nnhal_output *after)
{
    if (!shape_fits(type, before, after))
        return "has a shape that contradicts model and request";
    if (after->is_insufficient)
        return check_insufficient(type, before, after);
    return check_written(type, before, after);
}

static uint32_t check_outputs(struct nn_call *call, const struct nn_admission *admission,
                              const struct nnhal_output *outputs, uint32_t status)
{
    const struct nn_model_io *io = &admission->binding->prepared->io;
    uint32_t n_insufficient = 0;

    for (uint32_t i = 0; i < io->n_outputs; i++) {
        const char *wrong = check_output(io->outputs[i].type, &admission->outputs[i], &outputs[i]);

        if (wrong)
            return nn_call_driver_fault(call, "output %u %s", i, wrong);
        n_insufficient += outputs[i].is_insufficient != 0;
    }
    if ((n_insufficient > 0) != (status == NNHAL_OUTPUT_INSUFFICIENT_SIZE))
        return nn_call_driver_fault(
            call, "%u outputs are said to be too large, and execute() returned %u", n_insufficient,
            status);
    if (status == NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return nn_call_fail(call, status,
                            "%u outputs need more memory than they have: see their shapes",
                            n_insufficient);
    return status;
}

/* -- shapes -------------------------------------------------------------------- */

static uint32_t make_shapes(struct nn_call *call, uint32_t n_outputs,
                            const struct nnhal_output *outputs, struct nn_binding_result *result)
{
    struct nnhal_output_shape *shapes = nn_arena_new_n(call->arena, struct nnhal_output_shape,
                                                       n_outputs);

    if (!shapes)
        return nn_call_fail_no_memory(call);
    for (uint32_t i = 0; i < n_outputs; i++)
        shapes[i] = (struct nnhal_output_shape){
            .is_sufficient = !outputs[i].is_insufficient,
            .n_dimensions = outputs[i].n_dimensions,
            .dimensions = outputs[i].dimensions,
        };
    result->shapes = shapes;
    result->n_shapes = n_outputs;
    return NNHAL_NONE;
}

/* -- steps ----------------------------------------------------------------------- */

static nnhal_step_fn step_listener;
static void *step_listener_ctx;

void nn_host_listen_steps(nnhal_step_fn on_step, void *ctx)
{
    step_listener = on_step;
    step_listener_ctx = ctx;
}

/* -- around the driver ----------------------------------------------------------- */

/* Ends the access to the first n pools. Returns: false if what was written to one of them
 * may not have arrived. */
static bool end_access(const struct nn_binding *binding, uint32_t n)
{
    bool is_well = true;

    while (n-- > 0) {
        const struct nn_binding_pool *pool = &binding->pools[n];

        if (pool->memory && nn_region_end_access(pool->memory->region, pool->is_written) < 0)
            is_well = false;
    }
    return is_well;
}

static uint32_t begin_access(struct nn_call *call, const struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_pools; i++) {
        const struct nn_binding_pool *pool = &binding->pools[i];

        if (!pool->memory || nn_region_begin_access(pool->memory->region, pool->is_written) == 0)
            continue;
        end_access(binding, i);
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "pool %u of the request cannot be made coherent for the CPU", i);
    }
    return NNHAL_NONE;
}

static bool is_broken(const struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_pools; i++)
        if (binding->pools[i].memory && nn_memory_is_broken(binding->pools[i].memory))
            return true;
    return nn_prepared_is_broken(binding->prepared);
}

static uint64_t clamp_loop_timeout(uint64_t timeout_ns)
{
    if (timeout_ns == NNHAL_NO_TIME)
        return NNHAL_DEFAULT_LOOP_TIMEOUT_NS;
    return timeout_ns < NNHAL_MAX_LOOP_TIMEOUT_NS ? timeout_ns : NNHAL_MAX_LOOP_TIMEOUT_NS;
}

struct nnhal_timing nn_run_time(const struct nnhal_execution *execution, uint64_t elapsed_ns)
{
    struct nnhal_timing timing = {NNHAL_NO_TIME, NNHAL_NO_TIME};

    if (!execution->measure)
        return timing;
    timing = execution->timing;
    if (timing.time_in_driver_ns > elapsed_ns)
        timing.time_in_driver_ns = elapsed_ns;
    if (timing.time_on_device_ns > timing.time_in_driver_ns)
        timing.time_on_device_ns = NNHAL_NO_TIME;
    return timing;
}

struct nnhal_execution nn_run_describe(const struct nn_admission *admission,
                                       const struct nn_binding_run *run,
                                       struct nnhal_output *outputs)
{
    const struct nn_prepared *prepared = admission->binding->prepared;

    return (struct nnhal_execution){
        .size = sizeof(struct nnhal_execution),
        .n_inputs = prepared->io.n_inputs,
        .n_outputs = prepared->io.n_outputs,
        .inputs = admission->inputs,
        .outputs = outputs,
        .deadline_ns = run->deadline_ns,
        .loop_timeout_ns = clamp_loop_timeout(run->loop_timeout_ns),
        .measure = run->measure,
        .may_stall = nn_binding_is_for_one_thread(admission->binding),
        .timing = {NNHAL_NO_TIME, NNHAL_NO_TIME},
        .is_cancelled = run->is_cancelled,
        .n_hints = admission->binding->n_hints,
        .hints = admission->binding->hints,
    };
}

/* The driver's part. */
static uint32_t driver_execute(struct nn_call *call, const struct nn_admission *admission,
                               const struct nn_binding_run *run, struct nnhal_output *outputs,
                               struct nnhal_timing *timing)
{
    const struct nn_prepared *prepared = admission->binding->prepared;
    struct nnhal_execution execution = nn_run_describe(admission, run, outputs);
    uint64_t begin_ns = run->measure ? nn_sys_now_ns() : 0;
    struct nn_quota_charge charge = {.account = NULL};
    struct nn_overdue_call overdue;
    struct nn_turn turn;
    uint32_t status = NNHAL_NONE;

    if (prepared->run_bytes)
        status = nn_call_charge_memory(call, prepared->run_bytes, &charge);
    if (status != NNHAL_NONE)
        return status;
    execution.report_step = step_listener;
    execution.report_ctx = step_listener_ctx;
    execution.turn = nn_turn_begin(call, &turn);
    nn_services_clear();
    nn_overdue_begin(&overdue, "execute", &call->session->is_cancelled, run->deadline_ns);
    status = run->execute ? run->execute(run->ctx, &execution)
                          : prepared->host->driver.execute(prepared->driver_prepared, &execution);
    nn_overdue_end(&overdue);
    nn_turn_end(&turn);
    nn_quota_release(&charge);
    *timing = nn_run_time(&execution, run->measure ? nn_sys_now_ns() - begin_ns : 0);
    if (status == NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return status;
    return nn_call_check_driver(call, status, "execute");
}

/* The pools are the driver's from here to end_run(); each try works on the outputs as agreed. */
static uint32_t begin_run(struct nn_call *call, const struct nn_admission *admission,
                          struct nnhal_output *outputs)
{
    uint32_t n_outputs = admission->binding->prepared->io.n_outputs, status;

    call->message = NULL;
    if (n_outputs)
        memcpy(outputs, admission->outputs, n_outputs * sizeof(outputs[0]));
    status = begin_access(call, admission->binding);
    if (status == NNHAL_NONE)
        nn_pictures_fetch(&admission->pictures);
    return status;
}

static uint32_t say_broken(struct nn_call *call)
{
    return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                        "the file of a pool was made smaller while it was in use: leave it alone, "
                        "or seal it against shrinking");
}

uint32_t nn_run_judge(struct nn_call *call, const struct nn_admission *admission,
                      const struct nnhal_output *outputs, uint32_t status)
{
    if (is_broken(admission->binding))
        return say_broken(call);
    if (status != NNHAL_NONE && status != NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return status;
    return check_outputs(call, admission, outputs, status);
}

/* What came of it: status is the driver's, outputs what it says of them. */
static uint32_t end_run(struct nn_call *call, const struct nn_admission *admission,
                        const struct nnhal_output *outputs, uint32_t status)
{
    const struct nn_binding *binding = admission->binding;
    bool is_written;

    if (status == NNHAL_NONE)
        nn_pictures_store(&admission->pictures);
    is_written = end_access(binding, binding->n_pools);
    if (!is_written && !is_broken(binding) &&
        (status == NNHAL_NONE || status == NNHAL_OUTPUT_INSUFFICIENT_SIZE))
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "what was computed cannot be written back to the file of a pool");
    return nn_run_judge(call, admission, outputs, status);
}

/* Whether buffers that were too small have grown, and the driver is to execute once more. */
static bool grow_buffers(struct nn_call *call, struct nn_admission *admission,
                         const struct nnhal_output *outputs, uint32_t *status)
{
    bool is_again = false;
    uint32_t room_status;

    if (*status != NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return false;
    room_status = nn_admission_grow(call, admission, outputs, &is_again);
    if (room_status != NNHAL_NONE)
        *status = room_status;
    return is_again;
}

uint32_t nn_binding_run(struct nn_call *call, const struct nn_binding *binding,
                        const struct nn_binding_run *run, struct nn_binding_result *result)
{
    uint32_t n_outputs = binding->prepared->io.n_outputs, status, shapes_status;
    struct nnhal_timing timing;
    struct nnhal_output *outputs;
    struct nn_admission admission;

    *result = (struct nn_binding_result){.timing = {NNHAL_NO_TIME, NNHAL_NO_TIME}};
    if (run->deadline_ns != NNHAL_NO_TIME && nn_sys_now_ns() >= run->deadline_ns)
        return nn_call_fail(call, NNHAL_MISSED_DEADLINE_PERSISTENT,
                            "the deadline had passed before the execution began: allow more time");
    outputs = nn_arena_new_n(call->arena, struct nnhal_output, n_outputs);
    if (!outputs)
        return nn_call_fail_no_memory(call);
    status = nn_admission_begin(call, &admission, binding);
    if (status != NNHAL_NONE)
        return status;
    do {
        status = begin_run(call, &admission, outputs);
        if (status != NNHAL_NONE)
            break;
        status = driver_execute(call, &admission, run, outputs, &timing);
        status = end_run(call, &admission, outputs, status);
    } while (grow_buffers(call, &admission, outputs, &status));
    if (status == NNHAL_NONE)
        status = nn_admission_check(call, &admission, outputs);
    if (status == NNHAL_NONE || status == NNHAL_OUTPUT_INSUFFICIENT_SIZE) {
        shapes_status = make_shapes(call, n_outputs, outputs, result);
        if (shapes_status != NNHAL_NONE)
            status = shapes_status;
    }
    nn_admission_end(&admission, status == NNHAL_NONE, outputs);
    if (status == NNHAL_NONE) {
        result->timing = timing;
        nn_reoptimize_count(binding->prepared);
    }
    return status;
}
