/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools: windows over an image, in either layout. */
#include "checkkernel/shapes.h"
#include "model/types.h"

#include <string.h>

enum { BATCH, HEIGHT, WIDTH, DEPTH };

/* An image in channels-last order; is_nchw is what add_layout() made of it. */
struct window {
    uint32_t in[4], filter[4], out_depth, groups;
    bool is_nchw;
};

static void add_image(struct draw *draw, struct kernel_case *c, uint32_t type,
                      const struct window *window)
{
    const uint32_t *in = window->in;

    if (window->is_nchw)
        draw_tensor(draw, c, type, 4, (uint32_t[]){in[BATCH], in[DEPTH], in[HEIGHT], in[WIDTH]});
    else
        draw_tensor(draw, c, type, 4, in);
}

static void add_padding(struct draw *draw, struct kernel_case *c, const struct window *window)
{
    if (draw->is_bench || draw_coin(draw, 2)) {
        kernel_case_i32(c, 1 + (int32_t)draw_below(draw, 2));
        return;
    }
    for (uint32_t i = 0; i < 4; i++) /* left, right, top, bottom */
        kernel_case_i32(c, (int32_t)draw_below(draw, window->filter[i < 2 ? WIDTH : HEIGHT]));
}

static void add_strides(struct draw *draw, struct kernel_case *c)
{
    int32_t across = 1 + (int32_t)draw_below(draw, 3);

    kernel_case_i32(c, across);
    kernel_case_i32(c, draw_coin(draw, 4) ? 1 + (int32_t)draw_below(draw, 3) : across);
}

/* Weights with a scale for each result, for what takes them; dim counts the results. Rows that fuse
 * multiply them with zeros beside the image, too: they are finite. */
static void add_weights(struct draw *draw, struct kernel_case *c, const struct window *window,
                        uint32_t dim)
{
    uint32_t type = c->inputs[0].type;

    if (nn_type_is_quantized(type) && draw_coin(draw, 2)) {
        draw_tensor(draw, c, NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL, 4, window->filter);
        draw_channels(draw, &c->inputs[1], dim);
    } else {
        draw->is_finite = draw->is_fused;
        draw_constant(draw, c, draw_weights_type(type), 4, window->filter, 8);
        draw->is_finite = false;
    }
    draw_bias(draw, c, window->out_depth);
}

static void add_output(struct draw *draw, struct kernel_case *c, const struct window *window)
{
    uint32_t type = c->inputs[0].type;

    draw_sum_output(draw, c, type);
    c->as_int8 = type == NNHAL_TENSOR_QUANT8_ASYMM && draw_coin(draw, 3);
    c->n_products = (size_t)window->filter[1] * window->filter[2] * window->filter[3];
}

/* Channels are many where the image is small, as in networks. */
static struct window draw_window(struct draw *draw, uint32_t depth)
{
    struct window window = {.groups = 1};
    uint32_t most = draw_coin(draw, 3) ? 24 : 9;

    window.in[BATCH] = draw_coin(draw, 4) ? 2 : 1;
    window.in[HEIGHT] = draw_size(draw, most, 28);
    window.in[WIDTH] = draw_size(draw, most, 28);
    window.in[DEPTH] = draw_size(draw, most > 9 ? 8 : 70, depth);
    window.out_depth = draw_size(draw, 70, depth);
    window.filter[HEIGHT] = draw_size(draw, 5, 3);
    window.filter[WIDTH] = draw_coin(draw, 3) ? draw_size(draw, 5, 3) : window.filter[HEIGHT];
    window.is_nchw = draw_coin(draw, 6);
    return window;
}

/* Winograd's adds up cells that a result does not read, before it takes them away again. */
static bool is_winograd(const struct nn_kernel *row)
{
    return strstr(row->name, "winograd") != NULL;
}

/* Mostly what its row takes. */
static void set_winograd(struct draw *draw, struct window *window)
{
    window->in[HEIGHT] = 6 + draw_size(draw, 9, 22);
    window->in[WIDTH] = 6 + draw_size(draw, 9, 22);
    window->in[DEPTH] = 15 + draw_size(draw, 50, 49);
    window->out_depth = 15 + draw_size(draw, 50, 49);
    window->filter[HEIGHT] = window->filter[WIDTH] = 3;
}

static void generate_conv(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    struct window window = draw_window(draw, 64);

    if (is_winograd(row))
        set_winograd(draw, &window);
    window.filter[0] = window.out_depth;
    window.filter[3] = window.in[DEPTH];
    draw->is_finite = is_winograd(row);
    add_image(draw, c, draw_type(draw, row->in0), &window);
    add_weights(draw, c, &window, 0);
    add_padding(draw, c, &window);
    add_strides(draw, c);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    kernel_case_bool(c, window.is_nchw);
    if (draw_coin(draw, 3))
        for (uint32_t i = 0; i < 2; i++)
            kernel_case_i32(c, 1 + (int32_t)draw_below(draw, 3));
    add_output(draw, c, &window);
}

static void generate_depthwise(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    struct window window = draw_window(draw, 128);
    uint32_t multiplier = draw_coin(draw, 4) ? 1 + draw_below(draw, 4) : 1;

    if (draw_coin(draw, 3)) { /* long rows of many channels */
        window.in[HEIGHT] = draw_size(draw, 5, 28);
        window.in[WIDTH] = 15 + draw_size(draw, 20, 13);
        window.in[DEPTH] = draw_size(draw, 70, 128);
    }
    if (draw_coin(draw, 4)) { /* rows that take one channel alone */
        window.in[DEPTH] = 1;
        multiplier = window.out_depth;
    }
    window.out_depth = window.in[DEPTH] * multiplier;
    window.filter[0] = 1;
    window.filter[3] = window.out_depth;
    add_image(draw, c, draw_type(draw, row->in0), &window);
    add_weights(draw, c, &window, 3);
    add_padding(draw, c, &window);
    add_strides(draw, c);
    kernel_case_i32(c, (int32_t)multiplier);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    kernel_case_bool(c, window.is_nchw);
    if (draw_coin(draw, 3))
        for (uint32_t i = 0; i < 2; i++)
            kernel_case_i32(c, 1 + (int32_t)draw_below(draw, 3));
    add_output(draw, c, &window);
    c->n_products /= window.out_depth;
}

static void generate_grouped(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    struct window window = draw_window(draw, 16);
    uint32_t groups = draw_size(draw, 5, 4);

    window.in[DEPTH] = groups * (1 + draw_below(draw, 9));
    window.out_depth = groups * (1 + draw_below(draw, 9));
    window.filter[0] = window.out_depth;
    window.filter[3] = window.in[DEPTH] / groups;
    add_image(draw, c, draw_type(draw, row->in0), &window);
    add_weights(draw, c, &window, 0);
    add_padding(draw, c, &window);
    add_strides(draw, c);
    kernel_case_i32(c, (int32_t)groups);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    kernel_case_bool(c, window.is_nchw);
    add_output(draw, c, &window);
}

static void generate_transposed(struct draw *draw, struct kernel_case *c,
                                const struct nn_kernel *row)
{
    struct window window = draw_window(draw, 32);

    window.filter[0] = window.out_depth;
    window.filter[3] = window.in[DEPTH];
    add_image(draw, c, draw_type(draw, row->in0), &window);
    add_weights(draw, c, &window, 0);
    for (uint32_t i = 0; i < 4; i++)
        kernel_case_i32(c, (int32_t)draw_below(draw, 2));
    add_strides(draw, c);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    kernel_case_bool(c, window.is_nchw);
    add_output(draw, c, &window);
}

static void generate_pool(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    struct window window = draw_window(draw, 64);
    uint32_t type = draw_type(draw, row->in0);

    add_image(draw, c, type, &window);
    add_padding(draw, c, &window);
    add_strides(draw, c);
    kernel_case_i32(c, (int32_t)window.filter[WIDTH]);
    kernel_case_i32(c, (int32_t)window.filter[HEIGHT]);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    kernel_case_bool(c, window.is_nchw);
    draw_output(draw, c, type);
    c->as_int8 = type == NNHAL_TENSOR_QUANT8_ASYMM && draw_coin(draw, 3);
}

const struct shapes shapes_window[] = {
    {NNHAL_OP_CONV_2D, generate_conv},
    {NNHAL_OP_DEPTHWISE_CONV_2D, generate_depthwise},
    {NNHAL_OP_GROUPED_CONV_2D, generate_grouped},
    {NNHAL_OP_TRANSPOSE_CONV_2D, generate_transposed},
    {NNHAL_OP_AVERAGE_POOL_2D, generate_pool},
    {NNHAL_OP_L2_POOL_2D, generate_pool},
    {NNHAL_OP_MAX_POOL_2D, generate_pool},
    {0, NULL},
};
