/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

/* Shapes are judged only when the ranks of all three tensors are known. */
static int validate_shapes(struct nn_op_context *context)
{
    const struct nnhal_operand *input = nn_op_input(context, NN_DENSE_INPUT);
    const struct nnhal_operand *weights = nn_op_input(context, NN_DENSE_WEIGHTS);
    const struct nnhal_operand *bias = nn_op_input(context, NN_DENSE_BIAS);
    uint64_t n;
    int r;

    if (!input->n_dimensions || !weights->n_dimensions || !bias->n_dimensions)
        return 0;
    if ((r = nn_op_check_rank(context, input, 2, 4, "input 0")) ||
        (r = nn_op_check_rank(context, weights, 2, 2, "input 1")) ||
        (r = nn_op_check_rank(context, bias, 1, 1, "input 2")))
        return r;
    if (!nn_dims_product(input->n_dimensions, input->dimensions, &n))
        return nn_refuse(context->why, "input 0 is too large");
    if (weights->dimensions[1] && n % weights->dimensions[1])
        return nn_refuse(context->why, "input 0 does not divide into rows of %u elements",
                         weights->dimensions[1]);
    if (weights->dimensions[0] && bias->dimensions[0] &&
        weights->dimensions[0] != bias->dimensions[0])
        return nn_refuse(context->why, "%u units have a bias of %u elements",
                         weights->dimensions[0], bias->dimensions[0]);
    return 0;
}

static int validate_fully_connected(struct nn_op_context *context)
{
    const struct nnhal_operand *output = nn_op_output(context, 0);
    float product = nn_op_input(context, NN_DENSE_INPUT)->scale *
                    nn_op_input(context, NN_DENSE_WEIGHTS)->scale;

    if (output->type == NNHAL_TENSOR_QUANT8_ASYMM && !(output->scale > product))
        nn_op_need_level(context, 3);
    return validate_shapes(context);
}

static int check_ranks(const struct nn_infer *infer)
{
    int r = nn_infer_rank(infer, NN_DENSE_WEIGHTS, 2, 2);

    return r ? r : nn_infer_rank(infer, NN_DENSE_BIAS, 1, 1);
}

/* Only the batch may be 0. */
static int check_sizes(const struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[NN_DENSE_INPUT];
    const uint32_t *weights = infer->inputs[NN_DENSE_WEIGHTS].dims;

    for (uint32_t i = 1; i < input->n_dims; i++) {
        if (!input->dims[i])
            return nn_refuse(infer->why, "dimension %u of input 0 is 0", i);
    }
    if (!weights[0] || !weights[1])
        return nn_refuse(infer->why, "the weights have a dimension 0");
    if (infer->inputs[NN_DENSE_BIAS].dims[0] != weights[0])
        return nn_refuse(infer->why, "%u units have a bias of %u elements", weights[0],
                         infer->inputs[NN_DENSE_BIAS].dims[0]);
    return 0;
}

static int infer_fully_connected(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[NN_DENSE_INPUT];
    const uint32_t *weights = infer->inputs[NN_DENSE_WEIGHTS].dims;
    uint64_t n;
    int r;

    if ((r = check_ranks(infer)) || (r = check_sizes(infer)) ||
        (r = nn_infer_bias_scale(infer, NN_DENSE_INPUT, NN_DENSE_WEIGHTS, NN_DENSE_BIAS)) ||
        (r = nn_infer_wide_sum(infer, NN_DENSE_INPUT, NN_DENSE_WEIGHTS, NN_DENSE_BIAS)) ||
        (r = nn_infer_activation(infer, NN_DENSE_ACTIVATION)))
        return r;
    if (!nn_dims_product(input->n_dims, input->dims, &n) || n > UINT32_MAX)
        return nn_refuse(infer->why, "input 0 is too large");
    if (n % weights[1])
        return nn_refuse(infer->why, "input 0 does not divide into rows of %u elements",
                         weights[1]);
    nn_infer_set_dims(infer, 0, 2, (const uint32_t[]){(uint32_t)(n / weights[1]), weights[0]});
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_FULLY_CONNECTED, validate_fully_connected, infer_fully_connected,
     NN_INFER_RANK(2, 4)},
};

NN_OP_FAMILY(fully_connected, functions);
