/* SPDX-License-Identifier: Apache-2.0 */
/* L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION */
#include "model/infer.h"

#include "base/cleanup.h"

/* At first these worked on the depth of images only. */
static int validate_rank_4_before_level_3(struct nn_op_context *context)
{
    if (nn_op_input(context, 0)->n_dimensions != 4)
        nn_op_need_level(context, 3);
    return 0;
}

/* Input i, if there is one, is an axis of input 0. */
static int check_axis(const struct nn_infer *infer, uint32_t i)
{
    uint32_t axis;

    if (infer->n_inputs <= i)
        return 0;
    return nn_infer_axis(infer, i, infer->inputs[0].n_dims, &axis);
}

static int infer_l2_normalization(struct nn_infer *infer)
{
    uint32_t type = infer->inputs[0].type;
    int r;

    r = check_axis(infer, 1);
    if (r)
        return r;
    nn_infer_set_dims_like(infer, 0, 0);
    if (type == NNHAL_TENSOR_QUANT8_ASYMM)
        nn_infer_set_quant(infer, 0, 1.0f / 128, 128);
    if (type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)
        nn_infer_set_quant(infer, 0, 1.0f / 128, 0);
    return 0;
}

static int infer_local_response(struct nn_infer *infer)
{
    int32_t radius;
    int r;

    r = nn_infer_i32(infer, 1, &radius);
    if (!r && radius < 0)
        r = nn_refuse(infer->why, "the radius is %d, it must not be negative", radius);
    if (!r)
        r = check_axis(infer, 5);
    if (!r)
        nn_infer_set_dims_like(infer, 0, 0);
    return r;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_L2_NORMALIZATION, validate_rank_4_before_level_3, infer_l2_normalization,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION, validate_rank_4_before_level_3, infer_local_response,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_INSTANCE_NORMALIZATION, NULL, nn_infer_same_dims,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
};

NN_OP_FAMILY(normalize, functions);
