/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/fallback.h"

#include "base/error.h"
#include "base/log.h"
#include "base/variable.h"
#include "model/types.h"
#include "runtime/compilation/preparation.h"
#include "runtime/extension.h"
#include "runtime/execution/reply.h"
#include "runtime/memory/copy.h"
#include "runtime/memory/domain.h"
#include "runtime/partition/settings.h"
#include "runtime/partition/steps.h"
#include "runtime/registry.h"

#include <string.h>

/* -- the decision ------------------------------------------------------------------------ */

/* Of the whole model, where it was split: its parts have had theirs. */
static bool fallback_is_off(const ANeuralNetworksCompilation *compilation)
{
    enum nn_rt_partitioning_mode mode = nn_rt_settings_partitioning();

    return nn_variable_is(NN_VARIABLE_FALLBACK, "off") ||
           mode == NN_RT_PARTITIONING_WITHOUT_FALLBACK ||
           (mode == NN_RT_PARTITIONING_ONLY && nn_rt_compilation_is_split(compilation));
}

static bool has_oem_operation(const struct nnhal_subgraph *graph)
{
    for (uint32_t i = 0; i < graph->n_operations; i++)
        if (graph->operations[i].type == NNHAL_OP_OEM_OPERATION)
            return true;
    return false;
}

/* Whether the model means the same everywhere: OEM_OPERATION is on each device what its maker says. */
static bool is_portable(const struct nnhal_model *model)
{
    bool is_portable = !has_oem_operation(&model->main);

    for (uint32_t i = 0; i < model->n_referenced; i++)
        is_portable = is_portable && !has_oem_operation(&model->referenced[i]);
    return is_portable;
}

/* Devices that are linked in stand at the end of the list and have no path (builtin.h). */
static ANeuralNetworksDevice *find_last(void)
{
    const struct nn_rt_registry *registry = nn_rt_registry_get();
    ANeuralNetworksDevice *last = registry->n_devices ? registry->devices[registry->n_devices - 1]
                                                      : NULL;

    return last && !last->path[0] ? last : NULL;
}

/* A listed device that takes the whole model; NULL: there is none. */
static ANeuralNetworksDevice *find_listed(const struct nn_rt_plan *plan)
{
    for (uint32_t d = 0; d < plan->n_devices; d++) {
        uint32_t i = 0;

        while (i < plan->model->main.n_operations &&
               plan->devices[d].verdicts[i] == NNHAL_VERDICT_TAKEN)
            i++;
        if (i == plan->model->main.n_operations)
            return plan->devices[d].device;
    }
    return NULL;
}

/* Where the application listed devices, only what the split has caused is computed again, on one of
 * them. */
static ANeuralNetworksDevice *find_device(const ANeuralNetworksExecution *execution)
{
    const ANeuralNetworksCompilation *compilation = execution->compilation;
    ANeuralNetworksDevice *device;

    if (compilation->is_explicit)
        return nn_rt_steps_need_whole(execution->steps) ? find_listed(compilation->plan) : NULL;
    if (!is_portable(&compilation->finished->model))
        return NULL;
    device = fallback_is_off(compilation) ? NULL : find_last();
    return nn_rt_compilation_is_split(compilation) || device != compilation->device ? device : NULL;
}

bool nn_rt_fallback_is_possible(const ANeuralNetworksExecution *execution, int r)
{
    return nn_result_blames_device(r) && find_device(execution);
}

/* -- arguments that lie in the device ------------------------------------------------------ */

/* The execution's arguments, those in the device moved to pools of ours. It owns
 * arrays and pools; the other memories are the execution's. */
struct substitute {
    struct nn_rt_arguments arguments;
    uint32_t n_pools;
    ANeuralNetworksMemory **pools;
};

static bool is_in_device(const struct nn_rt_argument *argument)
{
    return argument->kind == NN_ARGUMENT_MEMORY && nn_rt_memory_is_in_device(argument->memory);
}

static int new_pool(struct substitute *substitute, uint64_t n_bytes,
                    ANeuralNetworksMemory **ret_pool)
{
    int r = nn_rt_memory_new_pool("nnhal-fallback", n_bytes, ret_pool);

    if (!r)
        substitute->pools[substitute->n_pools++] = *ret_pool;
    return r;
}

/* An input's contents decide what the model left open. */
static int move_input(struct substitute *substitute, struct nn_rt_argument *input, uint32_t type,
                      struct nn_why *why)
{
    ANeuralNetworksMemory *pool = NULL, *memory = input->memory;
    int r;

    if (!nn_rt_domain_get_dims(memory->domain, &input->n_dims, input->dims) ||
        !nn_rt_extension_bytes(type, input->n_dims, input->dims, &input->length))
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "an input in the device has no contents");
    r = new_pool(substitute, input->length, &pool);
    if (r)
        return r;
    input->has_type = input->n_dims > 0;
    input->memory = pool;
    return nn_rt_memory_copy(memory, pool, why);
}

static int move_output(struct substitute *substitute, struct nn_rt_argument *output,
                       struct nn_why *why)
{
    if (output->length == UINT32_MAX)
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "the size of an output in the device is not known");
    return new_pool(substitute, output->length, &output->memory);
}

static int substitute_init(struct substitute *substitute, const ANeuralNetworksExecution *execution,
                           struct nn_why *why)
{
    const struct nn_model_io *io = &execution->compilation->finished->io;
    struct nn_rt_arguments *arguments = &substitute->arguments;
    int r = 0;

    *arguments = execution->arguments;
    arguments->inputs = calloc(arguments->n_inputs, sizeof(*arguments->inputs));
    arguments->outputs = calloc(arguments->n_outputs, sizeof(*arguments->outputs));
    substitute->pools = calloc((size_t)arguments->n_inputs + arguments->n_outputs, sizeof(void *));
    if (!arguments->inputs || !arguments->outputs || !substitute->pools)
        return nn_error_origin(-ENOMEM);
    memcpy(arguments->inputs, execution->arguments.inputs,
           arguments->n_inputs * sizeof(*arguments->inputs));
    memcpy(arguments->outputs, execution->arguments.outputs,
           arguments->n_outputs * sizeof(*arguments->outputs));
    for (uint32_t i = 0; !r && i < arguments->n_inputs; i++)
        if (is_in_device(&arguments->inputs[i]))
            r = move_input(substitute, &arguments->inputs[i], io->inputs[i].type, why);
    for (uint32_t i = 0; !r && i < arguments->n_outputs; i++)
        if (is_in_device(&arguments->outputs[i]))
            r = move_output(substitute, &arguments->outputs[i], why);
    return r;
}

static void substitute_done(struct substitute *substitute)
{
    for (uint32_t i = 0; i < substitute->n_pools; i++)
        nn_rt_memory_unref(substitute->pools[i]);
    free(substitute->pools);
    free(substitute->arguments.inputs);
    free(substitute->arguments.outputs);
}

/* Brings outputs back to the device, with the dimensions that they have now. */
static int copy_back(const struct substitute *substitute, const ANeuralNetworksExecution *execution,
                     struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < execution->arguments.n_outputs; i++) {
        const struct nn_rt_argument *output = &execution->arguments.outputs[i];
        const struct nn_rt_execution_shape *shape = &execution->shapes[i];

        if (is_in_device(output))
            r = nn_rt_memory_fill(output->memory, substitute->arguments.outputs[i].memory,
                                  shape->n_dims, shape->dims, why);
    }
    return r;
}

/* -- computing ---------------------------------------------------------------------------------- */

static int compute_bound(ANeuralNetworksExecution *execution, struct nn_rt_prepared *prepared,
                         uint64_t deadline_ns, struct nn_why *why)
{
    const struct nn_rt_compute_options options = nn_rt_execution_options(execution, deadline_ns);
    struct nn_hal_execute_synchronously_reply reply = {0};
    uint32_t status;
    int r;

    r = nn_rt_binding_bind(&execution->binding, &execution->arguments, prepared, why);
    if (r)
        return r;
    nn_arena_reset(&execution->arena);
    status = nn_rt_binding_execute(&execution->binding, &execution->arguments, &options,
                                   &execution->arena, &reply);
    return nn_rt_reply_accept(execution, status, &reply, why);
}

/* Between begin and end the execution belongs to this thread, so that the substitute's arguments
 * and binding can take the place of its own. */
static int compute_substitute(ANeuralNetworksExecution *execution, struct nn_rt_prepared *prepared,
                              struct substitute *substitute, uint64_t deadline_ns,
                              struct nn_why *why)
{
    const struct nn_rt_arguments arguments = execution->arguments;
    const struct nn_rt_binding binding = execution->binding;
    int r;

    execution->arguments = substitute->arguments;
    execution->binding = (struct nn_rt_binding){.pools = binding.pools};
    r = compute_bound(execution, prepared, deadline_ns, why);
    nn_rt_binding_done(&execution->binding);
    execution->arguments = arguments;
    execution->binding = binding;
    return r;
}

int nn_rt_fallback_compute(ANeuralNetworksExecution *execution, uint64_t deadline_ns, int failed,
                           struct nn_why *why)
{
    ANeuralNetworksCompilation *compilation = execution->compilation;
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared = NULL;
    struct substitute substitute = {0};
    struct nn_why own = {0};
    int r;

    r = nn_rt_execution_check_inputs(execution, &own);
    if (r)
        return failed; /* by the same input: no other device can help */
    r = nn_rt_compilation_get_fallback(compilation, find_device(execution), &own, &prepared);
    if (!r)
        r = substitute_init(&substitute, execution, &own);
    if (!r)
        r = compute_substitute(execution, prepared, &substitute, deadline_ns, &own);
    if (!r)
        r = copy_back(&substitute, execution, &own);
    substitute_done(&substitute);
    nn_log("execution", NN_LOG_WARNING, "%s%s%s", why->text,
           r ? "; another device cannot help: " : "; another device has computed instead",
           own.text);
    if (r == 0 || r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
        execution->device = prepared->device;
        execution->failure = *why;
        *why = own;
        return r;
    }
    return failed;
}
