/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/reply.h"

#include "model/infer.h"
#include "model/types.h"
#include "runtime/memory/domain.h"

#include <string.h>

static int driver_fault(const ANeuralNetworksExecution *execution, struct nn_why *why,
                        const char *what, uint32_t output)
{
    return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "%s: answered with %s (output %u)",
                   execution->binding.prepared->device->name, what, output);
}

/* Where the device says nothing, the output is as the application declared it. */
static void set_declared_shape(struct nn_rt_execution_shape *shape,
                               const struct nn_rt_argument *output)
{
    shape->is_sufficient = true;
    shape->n_dims = output->n_dims;
    memcpy(shape->dims, output->dims, sizeof(shape->dims));
}

/* The reply may come from another process: nothing of it is used before it was checked. */
static int accept_shape(ANeuralNetworksExecution *execution, uint32_t i,
                        const struct nnhal_output_shape *from, struct nn_why *why)
{
    const struct nn_rt_argument *output = &execution->arguments.outputs[i];
    const struct nnhal_operand *operand = &execution->compilation->finished->io.outputs[i];
    struct nn_rt_execution_shape *shape = &execution->shapes[i];
    uint64_t n_bytes;

    shape->is_sufficient = from->is_sufficient;
    if (output->kind == NN_ARGUMENT_OMITTED)
        return 0;
    if (from->n_dimensions > NNHAL_MAX_RANK ||
        (from->n_dimensions && nn_type_is_scalar(operand->type)) ||
        !nn_dims_merge(output->n_dims, output->dims, from->n_dimensions, from->dimensions,
                       &shape->n_dims, shape->dims))
        return driver_fault(execution, why, "dimensions that contradict the model's", i);
    if (!nn_io_bytes(operand, shape->n_dims, shape->dims, &n_bytes))
        return driver_fault(execution, why, "dimensions beyond 4 GiB", i);
    if (!shape->is_sufficient)
        return 0;
    if (n_bytes > output->length && !nn_rt_argument_is_opaque(output))
        return driver_fault(execution, why, "more bytes than there is room for", i);
    return 0;
}

/* A reply without shapes is right only if the application has declared every dimension. */
static int set_declared_shapes(ANeuralNetworksExecution *execution, struct nn_why *why)
{
    const struct nn_model_io *io = &execution->compilation->finished->io;

    for (uint32_t i = 0; i < io->n_outputs; i++) {
        if (!nn_rt_argument_is_specified(&execution->arguments.outputs[i], &io->outputs[i]))
            return driver_fault(execution, why, "no dimensions", i);
        set_declared_shape(&execution->shapes[i], &execution->arguments.outputs[i]);
    }
    return 0;
}

static int accept_shapes(ANeuralNetworksExecution *execution,
                         const struct nn_hal_execute_synchronously_reply *reply, struct nn_why *why)
{
    int r = 0;

    if (reply->n_output_shapes == 0)
        return set_declared_shapes(execution, why);
    if (reply->n_output_shapes != execution->arguments.n_outputs)
        return driver_fault(execution, why, "another number of outputs than the model has", 0);
    for (uint32_t i = 0; !r && i < execution->arguments.n_outputs; i++)
        r = accept_shape(execution, i, &reply->output_shapes[i], why);
    return r;
}

static uint32_t count_insufficient(const ANeuralNetworksExecution *execution)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < execution->arguments.n_outputs; i++)
        n += !execution->shapes[i].is_sufficient;
    return n;
}

/* A dimension of 0 in a result is known: the tensor has no elements. A rank of 0 is not known. */
static int check_ranks(const ANeuralNetworksExecution *execution, struct nn_why *why)
{
    const struct nn_model_io *io = &execution->compilation->finished->io;

    for (uint32_t i = 0; i < io->n_outputs; i++)
        if (execution->arguments.outputs[i].kind != NN_ARGUMENT_OMITTED &&
            nn_type_is_tensor(io->outputs[i].type) && !execution->shapes[i].n_dims)
            return driver_fault(execution, why, "no dimensions", i);
    return 0;
}

static void copy_outputs(ANeuralNetworksExecution *execution)
{
    const struct nn_model_io *io = &execution->compilation->finished->io;

    for (uint32_t i = 0; i < io->n_outputs; i++) {
        const struct nn_rt_argument *output = &execution->arguments.outputs[i];
        const struct nn_rt_execution_shape *shape = &execution->shapes[i];
        uint64_t n_bytes = 0;

        if (output->kind != NN_ARGUMENT_POINTER)
            continue;
        if (nn_type_is_oem(io->outputs[i].type))
            n_bytes = output->length;
        else
            nn_io_bytes(&io->outputs[i], shape->n_dims, shape->dims, &n_bytes);
        nn_rt_binding_copy_out(&execution->binding, output, n_bytes);
    }
}

int nn_rt_reply_accept(ANeuralNetworksExecution *execution, uint32_t status,
                       const struct nn_hal_execute_synchronously_reply *reply, struct nn_why *why)
{
    uint32_t n_insufficient;
    int r;

    if (status != NNHAL_NONE && status != NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return nn_fail_status(why, status, execution->binding.prepared->device->name,
                              reply->message);
    r = accept_shapes(execution, reply, why);
    if (r)
        return r;
    n_insufficient = count_insufficient(execution);
    /* Outputs are copied only if status and shapes both say that they fit. */
    if ((status == NNHAL_NONE) != (n_insufficient == 0))
        return driver_fault(execution, why, "a status that its shapes contradict", 0);
    if (status == NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return nn_fail_status(why, status, execution->binding.prepared->device->name, NULL);
    r = check_ranks(execution, why);
    if (r)
        return r;
    copy_outputs(execution);
    if (execution->measure)
        execution->timing = execution->timing_fenced = reply->timing;
    return 0;
}

void nn_rt_reply_accept_launch(ANeuralNetworksExecution *execution)
{
    for (uint32_t i = 0; i < execution->arguments.n_outputs; i++)
        set_declared_shape(&execution->shapes[i], &execution->arguments.outputs[i]);
    nn_rt_reply_mark_outputs(execution, true);
}

void nn_rt_reply_mark_outputs(ANeuralNetworksExecution *execution, bool is_computed)
{
    for (uint32_t i = 0; i < execution->arguments.n_outputs; i++) {
        const struct nn_rt_argument *output = &execution->arguments.outputs[i];
        const struct nn_rt_execution_shape *shape = &execution->shapes[i];

        if (output->kind != NN_ARGUMENT_MEMORY || !output->memory->domain)
            continue;
        if (is_computed)
            nn_rt_domain_set_dims(output->memory->domain, shape->n_dims, shape->dims);
        else
            nn_rt_domain_clear(output->memory->domain);
    }
}

void nn_rt_reply_accept_fenced(ANeuralNetworksExecution *execution,
                               const struct nn_hal_get_fenced_info_reply *info)
{
    if (execution->measure) {
        execution->timing = info->timing_launched;
        execution->timing_fenced = info->timing_fenced;
    }
}
