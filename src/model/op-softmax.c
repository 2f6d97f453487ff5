/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX, LOG_SOFTMAX */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

/* Without an axis, ranks 1 and 3 are newer than 2 and 4. */
static int validate_softmax(struct nn_op_context *context)
{
    uint32_t rank = nn_op_input(context, 0)->n_dimensions;

    if (rank == 1 || rank == 3)
        nn_op_need_level(context, 3);
    return 0;
}

/* So many exponentials fit a sum of the form of 16 bits. */
enum { MAX_DEPTH_SIXTEEN = 65536 };

static int infer_softmax_sixteen(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0], *output = &infer->outputs[0];
    uint32_t depth = input->dims[input->n_dims - 1];

    if (output->scale != 1.0f / 32768)
        return nn_refuse(infer->why, "the output has scale %g, it must be 1/32768",
                         (double)output->scale);
    if (depth > MAX_DEPTH_SIXTEEN)
        return nn_refuse(infer->why, "rows of %u elements, at most %d are allowed", depth,
                         MAX_DEPTH_SIXTEEN);
    return 0;
}

/* The quantized form has one output scale, for internal operands too, and an
 * input multiplier above 1. */
static int infer_softmax_quant(struct nn_infer *infer, float beta)
{
    uint32_t type = infer->inputs[0].type;
    int32_t zero_point = type == NNHAL_TENSOR_QUANT8_ASYMM ? 0 : -128;
    const struct nn_infer_operand *output = &infer->outputs[0];

    if (type == NNHAL_TENSOR_QUANT16_SYMM)
        return infer_softmax_sixteen(infer);
    if (type != NNHAL_TENSOR_QUANT8_ASYMM && type != NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)
        return 0;
    if (output->scale != 1.0f / 256 || output->zero_point != zero_point)
        return nn_refuse(infer->why,
                         "the output has scale %g and zero point %d, they must be 1/256 and %d",
                         (double)output->scale, output->zero_point, zero_point);
    if (!((double)beta * (double)infer->inputs[0].scale * 0x1p26 > 1.0))
        return nn_refuse(infer->why, "beta %g times the input's scale %g is too small",
                         (double)beta, (double)infer->inputs[0].scale);
    nn_infer_set_quant(infer, 0, 1.0f / 256, zero_point);
    return 0;
}

static int infer_softmax(struct nn_infer *infer)
{
    uint32_t axis;
    float beta;
    int r = 0;

    if (infer->n_inputs > NN_SOFTMAX_AXIS)
        r = nn_infer_axis(infer, NN_SOFTMAX_AXIS, infer->inputs[0].n_dims, &axis);
    if (!r)
        r = nn_infer_float(infer, NN_SOFTMAX_BETA, &beta);
    if (r)
        return r;
    nn_infer_set_dims_like(infer, 0, 0);
    if (!(beta > 0.0f))
        return nn_refuse(infer->why, "beta is %g, it must be above 0", (double)beta);
    return infer_softmax_quant(infer, beta);
}

static int infer_log_softmax(struct nn_infer *infer)
{
    uint32_t axis;
    int r;

    r = nn_infer_axis(infer, NN_SOFTMAX_AXIS, infer->inputs[0].n_dims, &axis);
    if (!r)
        nn_infer_set_dims_like(infer, 0, 0);
    return r;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_SOFTMAX, validate_softmax, infer_softmax, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_LOG_SOFTMAX, NULL, infer_log_softmax, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(softmax, functions);
