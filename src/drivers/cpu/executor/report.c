/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/report.h"

#include "compiler/internal-op.h"
#include "drivers/cpu/executor/plan.h"
#include "model/operands.h"

/* The products of one element of the result. */
static uint64_t count_depth(uint32_t operation, const struct nn_kernel_args *args)
{
    const uint32_t *dims = args->inputs[args->n_inputs > 1].dims;

    switch (operation) {
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_GROUPED_CONV_2D:
        return (uint64_t)dims[1] * dims[2] * dims[3];
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        return (uint64_t)dims[1] * dims[2];
    case NNHAL_OP_FULLY_CONNECTED:
        return dims[1];
    case NNHAL_OP_BATCH_MATMUL:
        return args->inputs[0].dims[args->inputs[0].n_dims - 1 -
                                    *(const bool *)args->inputs[NN_MATMUL_ADJOINT_X].data];
    default:
        return 0;
    }
}

/* TRANSPOSE_CONV_2D uses each element of its input for all taps and output channels. */
static uint64_t count_products(uint32_t operation, const struct nn_kernel_args *args)
{
    if (operation == NNHAL_OP_TRANSPOSE_CONV_2D)
        return nn_tensor_count(&args->inputs[0]) * args->inputs[1].dims[0] *
               args->inputs[1].dims[1] * args->inputs[1].dims[2];
    return args->n_outputs ? nn_tensor_count(&args->outputs[0]) * count_depth(operation, args) : 0;
}

static uint64_t count_bytes(const struct nn_run *run, const struct nn_kernel_args *args)
{
    uint64_t n = run->step->weights_bytes;

    /* Packed weights stand for the constants that they were made from. */
    for (uint32_t i = 0; i < args->n_inputs; i++)
        n += i == 0 || !run->step->weights_bytes ? args->inputs[i].size : 0;
    for (uint32_t i = 0; i < args->n_outputs; i++)
        n += args->outputs[i].size;
    return n;
}

void nn_report_step(const struct nn_run *run, const struct nn_kernel_args *args,
                    uint64_t elapsed_ns)
{
    const struct nn_kernel *kernel = nn_kernel_at(run->step->kernel);
    const struct nnhal_step step = {
        .size = sizeof(step),
        .operation = nn_internal_op_name(kernel->operation),
        .kernel = kernel->name,
        .n_fused = args->n_epilogue,
        .type = args->n_inputs ? args->inputs[0].type : 0,
        .elapsed_ns = elapsed_ns,
        .n_products = count_products(kernel->operation, args),
        .n_bytes = count_bytes(run, args),
        .n_dimensions = args->n_outputs ? args->outputs[0].n_dims : 0,
        .dimensions = args->n_outputs ? args->outputs[0].dims : NULL,
    };

    run->report_step(run->report_ctx, &step);
}
