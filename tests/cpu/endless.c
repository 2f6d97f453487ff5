/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/endless.h"

const struct nnhal_model *endless_build(struct builder *b, bool is_constant, int32_t ratio)
{
    static const float image[64] = {1}, boxes[4] = {0, 0, 7, 7};
    static const int32_t batch[1] = {0};
    const uint32_t image_dims[] = {1, 8, 8, 1}, boxes_dims[] = {1, 4}, one[] = {1};
    const uint32_t out_dims[] = {1, 2, 2, 1};
    uint32_t o[10], out, last;

    builder_init(b, 2);
    o[0] = is_constant ? builder_constant(b, 0, NNHAL_TENSOR_FLOAT32, 4, image_dims, 0, 0, image,
                                          sizeof(image), 0)
                       : builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, image_dims, 0, 0);
    o[1] = builder_constant(b, 0, NNHAL_TENSOR_FLOAT32, 2, boxes_dims, 0, 0, boxes, sizeof(boxes),
                            0);
    o[2] = builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, one, 0, 0, batch, sizeof(batch), 0);
    o[3] = o[4] = builder_i32(b, 0, 2);
    o[5] = o[6] = builder_f32(b, 0, 1.0f);
    o[7] = o[8] = builder_i32(b, 0, ratio);
    o[9] = builder_bool(b, 0, false);
    out = is_constant ? builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0)
                      : builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_ROI_ALIGN, 10, o, 1, &out);
    if (is_constant) {
        o[0] = out;
        o[1] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0);
        o[2] = builder_i32(b, 0, 0);
        last = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0);
        builder_operation(b, 0, NNHAL_OP_ADD, 3, o, 1, &last);
    }
    builder_model(b);
    b->model.n_pools = 0;
    return &b->model;
}
