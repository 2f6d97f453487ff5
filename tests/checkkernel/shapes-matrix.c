/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices: fully connected layers, products of matrices. */
#include "checkkernel/shapes.h"

static void generate_fully_connected(struct draw *draw, struct kernel_case *c,
                                     const struct nn_kernel *row)
{
    uint32_t type = draw_type(draw, row->in0);
    uint32_t batch = draw_coin(draw, 2) ? draw_size(draw, 20, 1) : 1;
    uint32_t depth = draw_size(draw, 300, 1024), units = draw_size(draw, 140, 1024);

    draw_tensor(draw, c, type, 2, (uint32_t[]){batch, depth});
    draw_constant(draw, c, draw_weights_type(type), 2, (uint32_t[]){units, depth}, 4);
    draw_bias(draw, c, units);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    draw_sum_output(draw, c, type);
    c->as_int8 = type == NNHAL_TENSOR_QUANT8_ASYMM && draw_coin(draw, 3);
    c->n_products = depth;
}

static void generate_matmul(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t type = draw_type(draw, row->in0);
    uint32_t n_dims = 2 + draw_below(draw, 3), x[4], y[4];
    bool adj_x = draw_coin(draw, 2), adj_y = draw_coin(draw, 2);
    uint32_t rows = draw_size(draw, 40, 128), depth = draw_size(draw, 140, 128);
    uint32_t columns = draw_size(draw, 90, 128);

    for (uint32_t i = 0; i + 2 < n_dims; i++) {
        x[i] = y[i] = draw_size(draw, 3, 1);
        if (draw_coin(draw, 4))
            y[i] = 1;
    }
    x[n_dims - 2] = adj_x ? depth : rows;
    x[n_dims - 1] = adj_x ? rows : depth;
    y[n_dims - 2] = adj_y ? columns : depth;
    y[n_dims - 1] = adj_y ? depth : columns;
    draw_tensor(draw, c, type, n_dims, x);
    draw_constant(draw, c, type, n_dims, y, 2);
    kernel_case_bool(c, adj_x);
    kernel_case_bool(c, adj_y);
    draw_sum_output(draw, c, type);
    c->n_products = depth;
}

const struct shapes shapes_matrix[] = {
    {NNHAL_OP_FULLY_CONNECTED, generate_fully_connected},
    {NNHAL_OP_BATCH_MATMUL, generate_matmul},
    {0, NULL},
};
