/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/common/window.h"

#include <string.h>

enum { MAX_INPUTS = 16 };

static void init_operand(struct nn_infer_operand *to, const struct nn_lower_operand *from)
{
    *to = (struct nn_infer_operand){.type = from->type,
                                    .n_dims = from->n_dims,
                                    .scale = from->scale,
                                    .zero_point = from->zero_point,
                                    .value = from->value,
                                    .is_omitted = from->is_omitted,
                                    .is_known = true};
    memcpy(to->dims, from->dims, sizeof(to->dims));
}

/* The operation as inference knows it. */
static struct nn_infer make_infer(const struct nn_lower *lower,
                                  struct nn_infer_operand inputs[MAX_INPUTS], struct nn_why *why)
{
    uint32_t n = lower->n_inputs < MAX_INPUTS ? lower->n_inputs : MAX_INPUTS;

    for (uint32_t i = 0; i < n; i++)
        init_operand(&inputs[i], &lower->inputs[i]);
    return (struct nn_infer){
        .op = nn_op_find(lower->operation), .n_inputs = n, .inputs = inputs, .why = why};
}

int nn_lower_window(struct nn_lower *lower, struct nn_window_2d *ret)
{
    struct nn_infer_operand inputs[MAX_INPUTS];
    struct nn_why why = {""};
    struct nn_infer infer = make_infer(lower, inputs, &why);

    if (nn_window_2d_read(&infer, ret))
        return nn_lower_refuse(lower, "%s", why.text);
    return 0;
}

int32_t nn_lower_window_activation(const struct nn_lower *lower)
{
    uint32_t form = nn_window_form_input(lower->operation);
    uint32_t form_type = form < lower->n_inputs ? lower->inputs[form].type : 0;

    return nn_lower_i32(
        lower, nn_window_operands(lower->operation, lower->n_inputs, form_type).activation, 0);
}

static bool image_fits(const struct nn_tensor *tensor, bool is_nchw, uint32_t batch,
                       uint32_t height, uint32_t width, uint32_t depth)
{
    const uint32_t nhwc[4] = {batch, height, width, depth};
    const uint32_t nchw[4] = {batch, depth, height, width};

    return tensor->n_dims == 4 && memcmp(tensor->dims, is_nchw ? nchw : nhwc, sizeof(nhwc)) == 0;
}

static bool filter_fits(const struct nn_window_2d *window, uint32_t operation,
                        const struct nn_tensor *filter)
{
    uint32_t groups = (uint32_t)window->groups;
    uint32_t depth = window->in_depth;
    uint32_t first = window->out_depth;

    if (operation == NNHAL_OP_GROUPED_CONV_2D) {
        if (depth % groups || first % groups)
            return false;
        depth /= groups;
    }
    if (operation == NNHAL_OP_DEPTHWISE_CONV_2D) {
        if ((uint64_t)depth * groups != window->out_depth)
            return false;
        depth = window->out_depth;
        first = 1;
    }
    return filter->n_dims == 4 && filter->dims[0] == first &&
           filter->dims[1] == window->height.filter && filter->dims[2] == window->width.filter &&
           filter->dims[3] == depth;
}

static bool outputs_fit(const struct nn_window_2d *window, uint32_t operation)
{
    const char *(*output)(const struct nn_window *window, uint32_t *ret) =
        operation == NNHAL_OP_TRANSPOSE_CONV_2D ? nn_transpose_window_output : nn_window_output;
    uint32_t width, height;

    return !output(&window->width, &width) && width == window->out_width &&
           !output(&window->height, &height) && height == window->out_height;
}

bool nn_window_fits(const struct nn_window_2d *window, uint32_t operation,
                    const struct nn_tensor *in, const struct nn_tensor *filter,
                    const struct nn_tensor *out)
{
    return window->groups > 0 &&
           image_fits(in, window->is_nchw, window->batch, window->height.input, window->width.input,
                      window->in_depth) &&
           image_fits(out, window->is_nchw, window->batch, window->out_height, window->out_width,
                      window->out_depth) &&
           (!filter || filter_fits(window, operation, filter)) && outputs_fit(window, operation);
}

/* ---- layouts ---- */

/* Each of n matrices of rows x columns elements is transposed. */
#define DEFINE_TRANSPOSE(bits)                                                                     \
    static void transpose_##bits(uint##bits##_t *to, const uint##bits##_t *from, size_t n,         \
                                 size_t rows, size_t columns, struct nn_pace *pace)                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++, to += rows * columns, from += rows * columns)               \
            for (size_t c = 0; c < columns && !nn_pace_ends(pace, 1); c++)                         \
                for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, rows, 2, &part);)     \
                    for (size_t r = part.begin; r < part.end; r++)                                 \
                        to[c * rows + r] = from[r * columns + c];                                  \
    }
DEFINE_TRANSPOSE(8)
DEFINE_TRANSPOSE(16)
DEFINE_TRANSPOSE(32)

void nn_nchw_to_nhwc(void *to, const void *from, size_t n, size_t n_pixels, size_t depth,
                     size_t bytes, struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);

    if (bytes == 1)
        transpose_8(to, from, n, depth, n_pixels, &pace);
    else if (bytes == 2)
        transpose_16(to, from, n, depth, n_pixels, &pace);
    else
        transpose_32(to, from, n, depth, n_pixels, &pace);
}
