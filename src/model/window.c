/* SPDX-License-Identifier: Apache-2.0 */
#include "model/window.h"

struct nn_window_operands nn_infer_window_operands(const struct nn_infer *infer)
{
    uint32_t form = nn_window_form_input(infer->op->type);

    return nn_window_operands(infer->op->type, infer->n_inputs,
                              form < infer->n_inputs ? infer->inputs[form].type : 0);
}

/* -- reading --------------------------------------------------------------- */

/* Two inputs, the width's and the height's; 1 and 1 where the form has none. */
static int read_pair(const struct nn_infer *infer, uint32_t first, int32_t *ret_width,
                     int32_t *ret_height)
{
    int r;

    *ret_width = 1;
    *ret_height = 1;
    if (!first)
        return 0;
    r = nn_infer_i32(infer, first, ret_width);
    return r ? r : nn_infer_i32(infer, first + 1, ret_height);
}

/* Only the batch may be empty: nothing could be computed from an image without pixels. */
static int read_image(const struct nn_infer *infer, const struct nn_window_operands *operands,
                      struct nn_window_2d *window)
{
    const uint32_t *dims = infer->inputs[0].dims;
    int r;

    r = nn_infer_rank(infer, 0, 4, 4);
    if (r)
        return r;
    window->is_nchw = false;
    if (operands->layout) {
        r = nn_infer_bool(infer, operands->layout, &window->is_nchw);
        if (r)
            return r;
    }
    window->batch = dims[0];
    window->height.input = dims[window->is_nchw ? 2 : 1];
    window->width.input = dims[window->is_nchw ? 3 : 2];
    window->in_depth = dims[window->is_nchw ? 1 : 3];
    if (!window->height.input || !window->width.input || !window->in_depth)
        return nn_refuse(infer->why,
                         "input 0 has height %u, width %u and %u channels: none may be 0",
                         window->height.input, window->width.input, window->in_depth);
    return 0;
}

/* A pool keeps the channels. */
static int read_filter_size(const struct nn_infer *infer, const struct nn_window_operands *operands,
                            struct nn_window_2d *window)
{
    int32_t width;
    int32_t height;
    int r;

    r = read_pair(infer, operands->filter_size, &width, &height);
    if (r)
        return r;
    if (width <= 0 || height <= 0)
        return nn_refuse(infer->why, "the filter is %d wide and %d high, both must be above 0",
                         width, height);
    window->width.filter = (uint32_t)width;
    window->height.filter = (uint32_t)height;
    window->out_depth = window->in_depth;
    return 0;
}

static int read_groups(const struct nn_infer *infer, const struct nn_window_operands *operands,
                       struct nn_window_2d *window)
{
    int r;

    window->groups = 1;
    if (!operands->groups)
        return 0;
    r = nn_infer_i32(infer, operands->groups, &window->groups);
    if (r)
        return r;
    if (window->groups <= 0)
        return nn_refuse(infer->why, "input %u (groups or depth multiplier) is %d, not above 0",
                         operands->groups, window->groups);
    return 0;
}

/* Whether the filter's channels go with the image's. */
static int check_depths(const struct nn_infer *infer, const struct nn_window_2d *window)
{
    const uint32_t *filter = infer->inputs[1].dims;
    uint64_t groups = (uint64_t)window->groups;

    switch (infer->op->type) {
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        if (filter[0] != 1)
            return nn_refuse(infer->why, "dimension 0 of the filter is %u, it must be 1",
                             filter[0]);
        if (window->in_depth * groups != window->out_depth)
            return nn_refuse(infer->why,
                             "%u channels times the multiplier %d is not the filter's depth %u",
                             window->in_depth, window->groups, window->out_depth);
        return 0;
    case NNHAL_OP_GROUPED_CONV_2D:
        if (window->out_depth % groups)
            return nn_refuse(infer->why, "%u output channels do not divide into %d groups",
                             window->out_depth, window->groups);
        break;
    default:
        break;
    }
    if (filter[3] * groups != window->in_depth)
        return nn_refuse(infer->why, "the filter has depth %u in %d groups, the input %u channels",
                         filter[3], window->groups, window->in_depth);
    return 0;
}

/* The filter's shape is [out, height, width, in], of DEPTHWISE_CONV_2D [1, height, width, out]. */
static int read_filter(const struct nn_infer *infer, const struct nn_window_operands *operands,
                       struct nn_window_2d *window)
{
    const struct nn_infer_operand *filter = &infer->inputs[operands->filter];
    const struct nn_infer_operand *bias = &infer->inputs[operands->filter + 1];
    bool is_depthwise = infer->op->type == NNHAL_OP_DEPTHWISE_CONV_2D;
    int r;

    if ((r = nn_infer_rank(infer, operands->filter, 4, 4)) ||
        (r = nn_infer_rank(infer, operands->filter + 1, 1, 1)) ||
        (r = read_groups(infer, operands, window)))
        return r;
    window->height.filter = filter->dims[1];
    window->width.filter = filter->dims[2];
    window->out_depth = filter->dims[is_depthwise ? 3 : 0];
    if (!window->out_depth || !window->height.filter || !window->width.filter)
        return nn_refuse(infer->why, "the filter has a dimension 0");
    if (bias->dims[0] != window->out_depth)
        return nn_refuse(infer->why, "the bias has %u elements for %u output channels",
                         bias->dims[0], window->out_depth);
    r = check_depths(infer, window);
    return r ? r : nn_infer_bias_scale(infer, 0, operands->filter, operands->filter + 1);
}

static int read_paddings(const struct nn_infer *infer, uint32_t first, struct nn_window_2d *window)
{
    int r;

    r = nn_infer_i32(infer, first, &window->width.head);
    if (!r)
        r = nn_infer_i32(infer, first + 1, &window->width.tail);
    if (!r)
        r = nn_infer_i32(infer, first + 2, &window->height.head);
    return r ? r : nn_infer_i32(infer, first + 3, &window->height.tail);
}

static int read_strides(const struct nn_infer *infer, const struct nn_window_operands *operands,
                        struct nn_window_2d *window)
{
    int r;

    if ((r = read_pair(infer, operands->strides, &window->width.stride, &window->height.stride)) ||
        (r = read_pair(infer, operands->dilations, &window->width.dilation,
                       &window->height.dilation)))
        return r;
    return operands->paddings ? read_paddings(infer, operands->paddings, window) : 0;
}

/* -- results --------------------------------------------------------------- */

/* A code that is neither SAME nor VALID is taken for VALID. */
static int set_implicit(const struct nn_infer *infer, const struct nn_window_operands *operands,
                        struct nn_window_2d *window)
{
    int32_t code;
    int r;

    r = nn_infer_i32(infer, operands->padding_code, &code);
    if (r)
        return r;
    if (!nn_window_set_implicit(&window->width, code) ||
        !nn_window_set_implicit(&window->height, code))
        return nn_refuse(infer->why, "strides and dilations must be above 0");
    return 0;
}

static int read_output(const struct nn_infer *infer, const struct nn_window_operands *operands,
                       struct nn_window_2d *window)
{
    const char *wrong;
    int r;

    r = operands->padding_code ? set_implicit(infer, operands, window) : 0;
    if (r)
        return r;
    wrong = nn_window_output(&window->width, &window->out_width);
    if (wrong)
        return nn_refuse(infer->why, "width: %s", wrong);
    wrong = nn_window_output(&window->height, &window->out_height);
    return wrong ? nn_refuse(infer->why, "height: %s", wrong) : 0;
}

/* The size that the output shape operand asks for. */
static int read_wanted(const struct nn_infer *infer, const struct nn_window_operands *operands,
                       struct nn_window_2d *window, int32_t *ret_width, int32_t *ret_height)
{
    const void *values;
    uint64_t n;
    int r;

    r = nn_infer_rank(infer, operands->output_shape, 1, 1);
    if (!r && infer->inputs[operands->output_shape].dims[0] != 4)
        r = nn_refuse(infer->why, "the output shape has %u elements instead of 4",
                      infer->inputs[operands->output_shape].dims[0]);
    if (!r)
        r = nn_infer_i32s(infer, operands->output_shape, &values, &n);
    if (r)
        return r;
    *ret_height = nn_infer_i32_at(values, window->is_nchw ? 2 : 1);
    *ret_width = nn_infer_i32_at(values, window->is_nchw ? 3 : 2);
    if (*ret_height <= 0 || *ret_width <= 0)
        return nn_refuse(infer->why, "the output shape asks for a height of %d and a width of %d",
                         *ret_height, *ret_width);
    return 0;
}

static int set_transpose_implicit(const struct nn_infer *infer,
                                  const struct nn_window_operands *operands,
                                  struct nn_window_2d *window, int32_t width, int32_t height)
{
    int32_t code;
    int r;

    r = nn_infer_i32(infer, operands->padding_code, &code);
    if (r)
        return r;
    if (!nn_transpose_window_set_implicit(&window->width, code, width) ||
        !nn_transpose_window_set_implicit(&window->height, code, height))
        return nn_refuse(infer->why, "strides must be above 0");
    return 0;
}

/* With an implicit padding the output's shape is given, and must be one that the padding makes. */
static int read_transpose_output(const struct nn_infer *infer,
                                 const struct nn_window_operands *operands,
                                 struct nn_window_2d *window)
{
    int32_t width = 0;
    int32_t height = 0;
    const char *wrong;
    int r = 0;

    if (operands->padding_code) {
        r = read_wanted(infer, operands, window, &width, &height);
        if (!r)
            r = set_transpose_implicit(infer, operands, window, width, height);
    }
    if (r)
        return r;
    wrong = nn_transpose_window_output(&window->width, &window->out_width);
    if (wrong)
        return nn_refuse(infer->why, "width: %s", wrong);
    wrong = nn_transpose_window_output(&window->height, &window->out_height);
    if (wrong)
        return nn_refuse(infer->why, "height: %s", wrong);
    if (operands->padding_code &&
        (window->out_width != (uint32_t)width || window->out_height != (uint32_t)height))
        return nn_refuse(infer->why,
                         "the output is %u high and %u wide, its shape asks for %d and %d",
                         window->out_height, window->out_width, height, width);
    return 0;
}

int nn_window_2d_read(const struct nn_infer *infer, struct nn_window_2d *ret)
{
    struct nn_window_operands operands = nn_infer_window_operands(infer);
    struct nn_window_2d window = {.groups = 1};
    int r;

    if ((r = read_image(infer, &operands, &window)) ||
        (r = operands.filter ? read_filter(infer, &operands, &window)
                             : read_filter_size(infer, &operands, &window)) ||
        (r = read_strides(infer, &operands, &window)) ||
        (r = infer->op->type == NNHAL_OP_TRANSPOSE_CONV_2D
                 ? read_transpose_output(infer, &operands, &window)
                 : read_output(infer, &operands, &window)))
        return r;
    *ret = window;
    return 0;
}

void nn_window_2d_set_output(struct nn_infer *infer, const struct nn_window_2d *window)
{
    const uint32_t nhwc[4] = {window->batch, window->out_height, window->out_width,
                              window->out_depth};
    const uint32_t nchw[4] = {window->batch, window->out_depth, window->out_height,
                              window->out_width};

    nn_infer_set_dims(infer, 0, 4, window->is_nchw ? nchw : nhwc);
}
