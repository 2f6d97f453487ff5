/* SPDX-License-Identifier: Apache-2.0 */
/* QUANTIZE, DEQUANTIZE, CAST, BITCAST of nnhal.tflite */
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

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_QUANTIZE, NULL, nn_infer_same_dims, 0},
    {NNHAL_OP_DEQUANTIZE, NULL, nn_infer_same_dims, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_CAST, validate_cast, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(BITCAST), NULL, nn_infer_same_dims, 0},
};

NN_OP_FAMILY(quantize, functions);
