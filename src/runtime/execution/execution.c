/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/execution.h"

#include "base/error.h"
#include "base/sys.h"
#include "runtime/memory/domain.h"

#include <string.h>

int nn_rt_execution_new(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                        ANeuralNetworksExecution **ret_execution)
{
    _cleanup_(nn_rt_execution_unrefp) ANeuralNetworksExecution *execution = NULL;
    const struct nn_model_io *io = &compilation->finished->io;
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
    nn_arena_init(&execution->arena, 0);
    execution->compilation = nn_rt_compilation_ref(compilation);
    execution->binding.pools = &compilation->argument_pools;
    /* The host knows the default, so that it is one number for all clients. */
    execution->loop_timeout_ns = NNHAL_NO_TIME;
    execution->arguments.inputs = calloc(io->n_inputs, sizeof(*execution->arguments.inputs));
    execution->arguments.outputs = calloc(io->n_outputs, sizeof(*execution->arguments.outputs));
    execution->shapes = calloc(io->n_outputs, sizeof(*execution->shapes));
    if (!execution->arguments.inputs || !execution->arguments.outputs || !execution->shapes)
        return nn_error_origin(-ENOMEM);
    execution->arguments.n_inputs = io->n_inputs;
    execution->arguments.n_outputs = io->n_outputs;
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
    if (execution->steps)
        execution->free_steps(execution->steps);
    if (execution->branches)
        execution->free_branches(execution->branches);
    nn_rt_binding_done(&execution->binding);
    for (uint32_t i = 0; i < execution->arguments.n_inputs; i++)
        nn_rt_argument_done(&execution->arguments.inputs[i]);
    for (uint32_t i = 0; i < execution->arguments.n_outputs; i++)
        nn_rt_argument_done(&execution->arguments.outputs[i]);
    free(execution->arguments.inputs);
    free(execution->arguments.outputs);
    free(execution->shapes);
    free(execution->parts);
    free(execution->inner_failure);
    nn_arena_done(&execution->arena);
    nn_rt_attributes_done(&execution->attributes);
    nn_rt_compilation_unref(execution->compilation);
    nn_rt_object_done(&execution->object);
    free(execution);
    return NULL;
}

/* -- setters ---------------------------------------------------------------------- */

/* In a forked child the lock may be held for ever by a thread that was not forked. */
static int check_ours(const ANeuralNetworksExecution *execution, struct nn_why *why)
{
    if (!nn_rt_object_is_foreign(&execution->object))
        return 0;
    return nn_fail_forked(why, "the execution");
}

/* Pairs with the release of end_computation(): who sees that it has completed sees its results. */
static enum nn_rt_execution_state get_state(const ANeuralNetworksExecution *execution)
{
    return __atomic_load_n(&execution->state, __ATOMIC_ACQUIRE);
}

/* A job of an event may end meanwhile; what setters then write belongs to the application's thread. */
static int check_preparation(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    int r = check_ours(execution, why);

    if (r)
        return r;
    if (get_state(execution) == NN_EXECUTION_PREPARATION)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   "computing has begun: the execution cannot be changed any more");
}

static int find_argument(ANeuralNetworksExecution *execution,
                         const struct nn_rt_argument_selector *selector, struct nn_why *why,
                         struct nn_rt_argument **ret_argument,
                         struct nn_rt_argument_rules *ret_rules)
{
    const struct nn_model_io *io = &execution->compilation->finished->io;
    uint32_t n = selector->is_input ? io->n_inputs : io->n_outputs;
    int r;

    r = check_preparation(execution, why);
    if (r)
        return r;
    if (selector->index < 0 || (uint32_t)selector->index >= n)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no %s %d: the model has %u",
                       selector->is_input ? "input" : "output", selector->index, n);
    *ret_argument = selector->is_input ? &execution->arguments.inputs[selector->index]
                                       : &execution->arguments.outputs[selector->index];
    *ret_rules = (struct nn_rt_argument_rules){
        .operand = selector->is_input ? &io->inputs[selector->index]
                                      : &io->outputs[selector->index],
        .type = selector->type,
        .is_input = selector->is_input,
        .has_padding = execution->has_padding,
    };
    if ((*ret_argument)->kind != NN_ARGUMENT_UNSET)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "%s %d was set before",
                       selector->is_input ? "input" : "output", selector->index);
    return 0;
}

int nn_rt_execution_set_pointer(ANeuralNetworksExecution *execution,
                                const struct nn_rt_argument_selector *selector, void *pointer,
                                uint64_t length, struct nn_why *why)
{
    struct nn_rt_argument *argument;
    struct nn_rt_argument_rules rules;
    int r;

    r = find_argument(execution, selector, why, &argument, &rules);
    if (!r)
        r = nn_rt_argument_set_pointer(argument, &rules, pointer, length, why);
    if (!r)
        execution->has_arguments = true;
    return r;
}

int nn_rt_execution_set_memory(ANeuralNetworksExecution *execution,
                               const struct nn_rt_argument_selector *selector,
                               ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                               struct nn_why *why)
{
    struct nn_rt_argument *argument;
    struct nn_rt_argument_rules rules;
    int r;

    r = find_argument(execution, selector, why, &argument, &rules);
    if (!r && memory->domain)
        r = nn_rt_domain_check_role(memory->domain, execution->compilation, selector->is_input,
                                    (uint32_t)selector->index, why);
    if (!r)
        r = nn_rt_argument_set_memory(argument, &rules, memory, offset, length, why);
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

int nn_rt_execution_add_attribute(ANeuralNetworksExecution *execution,
                                  const struct nn_rt_attribute *attribute, struct nn_why *why)
{
    int r = check_one_device(execution, "an attribute", why);

    if (r)
        return r;
    return nn_rt_attributes_add(&execution->attributes, execution->compilation->devices[0],
                                attribute, why);
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

/* The transitions into COMPUTATION: of threads that try at a time, one is right. */
static int begin_computation(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    enum nn_rt_execution_state state = get_state(execution);

    do {
        if (state == NN_EXECUTION_COMPUTATION)
            return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "the execution is being computed");
        if (state == NN_EXECUTION_COMPLETED && !execution->is_reusable)
            return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                           "the execution has computed already, and is not reusable");
    } while (!__atomic_compare_exchange_n(&execution->state, &state, NN_EXECUTION_COMPUTATION,
                                          false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    return 0;
}

static void end_computation(ANeuralNetworksExecution *execution, int result)
{
    __atomic_store_n(&execution->result, result, __ATOMIC_RELAXED);
    __atomic_store_n(&execution->state, NN_EXECUTION_COMPLETED, __ATOMIC_RELEASE);
}

static int check_arguments(const ANeuralNetworksExecution *execution, struct nn_why *why)
{
    const struct nn_rt_arguments *arguments = &execution->arguments;
    int r = check_complete(arguments->inputs, arguments->n_inputs, "input", why);

    return r ? r : check_complete(arguments->outputs, arguments->n_outputs, "output", why);
}

void nn_rt_execution_clear_inner_failure(ANeuralNetworksExecution *execution)
{
    free(execution->inner_failure);
    execution->inner_failure = NULL;
}

int nn_rt_execution_begin(ANeuralNetworksExecution *execution,
                          ANeuralNetworksDiagnosticExecutionMode mode, struct nn_why *why)
{
    static const struct nnhal_timing no_timing = {NNHAL_NO_TIME, NNHAL_NO_TIME};
    int r = check_ours(execution, why);

    if (!r)
        r = begin_computation(execution, why);
    if (r)
        return r;
    execution->timing = execution->timing_fenced = no_timing;
    execution->device = NULL;
    nn_why_clear(&execution->failure);
    if (execution->inner_failure)
        nn_rt_execution_clear_inner_failure(execution);
    execution->is_haunted = false;
    r = check_arguments(execution, why);
    if (r) {
        end_computation(execution, r);
        return r;
    }
    execution->mode = mode;
    execution->begin_ns = nn_rt_diagnostic_is_heard() ? nn_sys_now_ns() : 0;
    return 0;
}

void nn_rt_execution_complete(ANeuralNetworksExecution *execution, int result)
{
    end_computation(execution, nn_result_from_error(result));
}

int nn_rt_execution_make_parts(ANeuralNetworksExecution *execution, uint32_t n_parts)
{
    if (execution->parts)
        return 0;
    execution->parts = calloc(n_parts, sizeof(*execution->parts));
    if (!execution->parts)
        return nn_error_origin(-ENOMEM);
    execution->n_parts = n_parts;
    return 0;
}

const char *nn_rt_execution_find_failure(const ANeuralNetworksExecution *execution)
{
    const char *inner = execution->inner_failure ? execution->inner_failure : "";

    return execution->failure.text[0] ? execution->failure.text : inner;
}

/* The reference is told of wherever it took part: an application does not ask for it. */
void nn_rt_execution_tell_inner(ANeuralNetworksExecution *execution,
                                const ANeuralNetworksExecution *inner)
{
    const char *failure = nn_rt_execution_find_failure(inner);

    if (inner->device &&
        (inner->device->is_reference || inner->device != inner->compilation->device))
        execution->device = inner->device;
    if (!failure[0])
        return;
    nn_rt_execution_clear_inner_failure(execution);
    execution->inner_failure = strdup(failure); /* short of memory, it is not told */
}

struct nn_rt_compute_options nn_rt_execution_options(const ANeuralNetworksExecution *execution,
                                                     uint64_t deadline_ns)
{
    return (struct nn_rt_compute_options){
        .measure = execution->measure,
        .deadline_ns = deadline_ns,
        .loop_timeout_ns = execution->loop_timeout_ns,
        .attributes = &execution->attributes,
    };
}

int nn_rt_execution_bind(ANeuralNetworksExecution *execution, struct nn_rt_prepared *prepared,
                         struct nn_why *why)
{
    const struct nn_rt_compute_options options = nn_rt_execution_options(execution, NNHAL_NO_TIME);
    int r;

    if (execution->binding.prepared == prepared && !execution->binding.is_left)
        return 0;
    nn_rt_binding_unbind(&execution->binding);
    r = nn_rt_binding_bind(&execution->binding, &execution->arguments, prepared, why);
    if (!r && execution->is_reusable)
        r = nn_rt_binding_set_reusable(&execution->binding, &options, why);
    if (r)
        nn_rt_binding_unbind(&execution->binding);
    return r;
}

void nn_rt_execution_rest(ANeuralNetworksExecution *execution)
{
    nn_rt_binding_done(&execution->binding);
    if (execution->steps)
        execution->rest_steps(execution->steps);
    if (execution->branches)
        execution->rest_branches(execution->branches);
}

int nn_rt_execution_check_inputs(const ANeuralNetworksExecution *execution, struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < execution->arguments.n_inputs; i++) {
        const struct nn_rt_argument *input = &execution->arguments.inputs[i];

        if (input->kind == NN_ARGUMENT_MEMORY && input->memory->domain)
            r = nn_rt_domain_check_input(input->memory->domain, input->n_dims, input->dims, why);
    }
    return r;
}

/* The next computation of a chain is bound before this one has told any shapes. */
int nn_rt_execution_check_fenced(const ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                 struct nn_why *why)
{
    const struct nn_model_io *io = &execution->compilation->finished->io;

    if (duration_ns && !nn_rt_compilation_has_one_device(execution->compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a duration needs a compilation created for one listed device");
    for (uint32_t i = 0; i < io->n_outputs; i++)
        if (!nn_rt_argument_is_specified(&execution->arguments.outputs[i], &io->outputs[i]))
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "output %u is not fully specified: with dependencies it has to be", i);
    return 0;
}

/* -- results --------------------------------------------------------------------------- */

/* Results of a computation that completed; with_shapes: insufficient outputs
 * are told of too. */
static int check_completed(ANeuralNetworksExecution *execution, bool with_shapes,
                           struct nn_why *why)
{
    int result, r = check_ours(execution, why);

    if (r)
        return r;
    if (get_state(execution) != NN_EXECUTION_COMPLETED)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "the execution has not completed");
    result = __atomic_load_n(&execution->result, __ATOMIC_RELAXED);
    if (result == ANEURALNETWORKS_NO_ERROR ||
        (with_shapes && result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE))
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "the execution ended with %s",
                   nn_result_name(result));
}

int nn_rt_execution_get_device(ANeuralNetworksExecution *execution, struct nn_why *why,
                               ANeuralNetworksDevice **ret_device)
{
    int r = check_completed(execution, false, why);

    if (!r)
        *ret_device = execution->device;
    return r;
}

int nn_rt_execution_get_part(ANeuralNetworksExecution *execution, uint32_t part, struct nn_why *why,
                             struct nnhal_part_info *ret_info)
{
    uint32_t n_parts;
    bool is_split;
    int r = check_completed(execution, false, why);

    if (r)
        return r;
    is_split = execution->n_parts && !execution->failure.text[0]; /* it was not computed whole */
    n_parts = is_split ? execution->n_parts : 1;
    if (part >= n_parts)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no part %u: it has %u", part,
                       n_parts);
    if (is_split) {
        *ret_info = execution->parts[part];
        return 0;
    }
    *ret_info = (struct nnhal_part_info){.n_parts = 1,
                                         .device = execution->device,
                                         .planned = execution->compilation->device,
                                         .why = execution->failure.text};
    return 0;
}

static int find_shape(ANeuralNetworksExecution *execution, int32_t index, struct nn_why *why,
                      const struct nn_rt_execution_shape **ret_shape)
{
    int r = check_completed(execution, true, why);

    if (r)
        return r;
    if (index < 0 || (uint32_t)index >= execution->arguments.n_outputs)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no output %d: the model has %u",
                       index, execution->arguments.n_outputs);
    *ret_shape = &execution->shapes[index];
    return 0;
}

static int check_sufficient(const struct nn_rt_execution_shape *shape, int32_t index,
                            struct nn_why *why)
{
    if (shape->is_sufficient)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE, "output %d needs a larger buffer",
                   index);
}

int nn_rt_execution_get_rank(ANeuralNetworksExecution *execution, int32_t index, struct nn_why *why,
                             uint32_t *ret_rank)
{
    const struct nn_rt_execution_shape *shape = NULL;
    int r = find_shape(execution, index, why, &shape);

    if (r)
        return r;
    *ret_rank = shape->n_dims;
    return check_sufficient(shape, index, why);
}

int nn_rt_execution_get_dims(ANeuralNetworksExecution *execution, int32_t index, struct nn_why *why,
                             uint32_t *ret_dimensions)
{
    const struct nn_rt_execution_shape *shape = NULL;
    int r = find_shape(execution, index, why, &shape);

    if (r)
        return r;
    if (!shape->n_dims)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "output %d has no dimensions", index);
    memcpy(ret_dimensions, shape->dims, shape->n_dims * sizeof(*ret_dimensions));
    return check_sufficient(shape, index, why);
}

int nn_rt_execution_get_duration(ANeuralNetworksExecution *execution, int32_t code,
                                 struct nn_why *why, uint64_t *ret_duration_ns)
{
    const struct nnhal_timing *timing;
    int r;

    *ret_duration_ns = NNHAL_NO_TIME;
    if (code < ANEURALNETWORKS_DURATION_ON_HARDWARE ||
        code > ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%d is no duration", code);
    r = check_completed(execution, false, why);
    if (!r && !execution->measure)
        r = nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                    "setMeasureTiming() was not called before computing");
    if (r)
        return r;
    timing = code >= ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE ? &execution->timing_fenced
                                                                 : &execution->timing;
    *ret_duration_ns = code == ANEURALNETWORKS_DURATION_ON_HARDWARE ||
                               code == ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE
                           ? timing->time_on_device_ns
                           : timing->time_in_driver_ns;
    return 0;
}
