/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, TRANSPOSE_CONV_2D */
#include "model/window.h"

#include "base/cleanup.h"

/* Before level 3 an output had to be coarser than a product of the inputs. */
static void need_level_for_scale(struct nn_op_context *context)
{
    const struct nnhal_operand *output = nn_op_output(context, 0);
    float product = nn_op_input(context, 0)->scale * nn_op_input(context, 1)->scale;

    if (output->type == NNHAL_TENSOR_QUANT8_ASYMM && !(output->scale > product))
        nn_op_need_level(context, 3);
}

static int validate_conv(struct nn_op_context *context)
{
    need_level_for_scale(context);
    return nn_op_check_channel_dim(context, nn_op_input(context, 1), 0);
}

static int validate_depthwise(struct nn_op_context *context)
{
    need_level_for_scale(context);
    return nn_op_check_channel_dim(context, nn_op_input(context, 1), 3);
}

static int infer_conv(struct nn_infer *infer)
{
    struct nn_window_2d window;
    int r;

    r = nn_infer_activation(infer, nn_infer_window_operands(infer).activation);
    if (!r)
        r = nn_window_2d_read(infer, &window);
    if (!r)
        r = nn_infer_wide_sum(infer, NN_CONV_INPUT, NN_CONV_FILTER, NN_CONV_BIAS);
    if (!r)
        nn_window_2d_set_output(infer, &window);
    return r;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_CONV_2D, validate_conv, infer_conv, 0},
    {NNHAL_OP_DEPTHWISE_CONV_2D, validate_depthwise, infer_conv, 0},
    {NNHAL_OP_GROUPED_CONV_2D, validate_conv, infer_conv, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_TRANSPOSE_CONV_2D, validate_conv, infer_conv, 0},
};

NN_OP_FAMILY(conv, functions);
