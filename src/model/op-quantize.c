/* SPDX-License-Identifier: Apache-2.0 */
/* QUANTIZE, DEQUANTIZE, CAST */
#include "model/infer.h"

#include "base/cleanup.h"

/* An output that is fully known must not contradict what is known of the input. */
static int validate_cast(struct nn_op_context *context)
{
    const struct nnhal_operand *input = nn_op_input(context, 0);
    const struct nnhal_operand *output = nn_op_output(context, 0);
    uint32_t merged[NNHAL_MAX_RANK];
    uint32_t n_merged;

    if (!output->n_dimensions ||
        !nn_dims_known(output->type, output->n_dimensions, output->dimensions))
        return 0;
    if (!nn_dims_merge(input->n_dimensions, input->dimensions, output->n_dimensions,
                       output->dimensions, &n_merged, merged))
        return nn_refuse(context->why, "the output's dimensions differ from the input's");
    return 0;
}

static int infer_quantize(struct nn_infer *infer)
{
    nn_infer_set_dims_like(infer, 0, 0);
    return 0;
}

static int infer_dequantize(struct nn_infer *infer)
{
    int r = nn_infer_rank(infer, 0, 1, 4);

    if (!r)
        nn_infer_set_dims_like(infer, 0, 0);
    return r;
}

static int infer_cast(struct nn_infer *infer)
{
    int r = nn_infer_refuse_zero_sized(infer);

    if (!r)
        nn_infer_set_dims_like(infer, 0, 0);
    return r;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_QUANTIZE, NULL, infer_quantize},
    {NNHAL_OP_DEQUANTIZE, NULL, infer_dequantize},
    {NNHAL_OP_CAST, validate_cast, infer_cast},
};

NN_OP_FAMILY(quantize, functions);
