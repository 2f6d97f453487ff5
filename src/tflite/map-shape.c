/* SPDX-License-Identifier: Apache-2.0 */
/* map-shape.c - operations that move data: shapes, slices, joins, resizing, gathering */
#include "tflite/map.h"

#include <errno.h>
#include <string.h>

/* A constant list of integers given by the operation's input i. */
static uint32_t list_input(struct tfl_builder *b, uint32_t i)
{
    int32_t values[TFL_MAX_RANK * 2];
    uint32_t n = 0;

    if (tfl_in(b, i) && !tfl_in(b, i)->data)
        return tfl_input(b, i);
    if (!tfl_read_i32(b, i, values, TFL_MAX_RANK * 2, &n))
        tfl_fail(b, -ENOTSUP, "input %u is no list of integers", i);
    return tfl_i32s(b, values, n);
}

/* One constant integer. */
static int32_t one_value(struct tfl_builder *b, uint32_t i)
{
    int32_t value = 0;
    uint32_t n = 0;

    if (!tfl_read_i32(b, i, &value, 1, &n) || n != 1)
        tfl_fail(b, -ENOTSUP, "input %u is not one constant integer", i);
    return value;
}

/* The shape as the file declares the output, which an interpreter would compute. */
static void add_reshape(struct tfl_builder *b, uint32_t from, uint32_t to,
                        const struct tfl_form *form)
{
    int32_t type = tfl_operation_on(b, tfl_in(b, 0), ANEURALNETWORKS_RESHAPE);

    tfl_add1(b, type, to, from, tfl_shape(b, form));
}

static void map_reshape(struct tfl_builder *b)
{
    struct tfl_form form;

    tfl_need(b, tfl_out(b, 0), "no output");
    form = tfl_form_of(b, tfl_out(b, 0));
    add_reshape(b, tfl_input(b, 0), tfl_output(b, 0), &form);
}

static void map_transpose(struct tfl_builder *b)
{
    tfl_add1(b, tfl_operation_on(b, tfl_in(b, 0), ANEURALNETWORKS_TRANSPOSE), tfl_output(b, 0),
             tfl_input(b, 0), list_input(b, 1));
}

static void map_pad(struct tfl_builder *b)
{
    int32_t type = b->op->code == TFL_PAD ? ANEURALNETWORKS_PAD : ANEURALNETWORKS_PAD_V2;
    const struct tfl_tensor *x = tfl_in(b, 0), *value = tfl_in(b, 2);
    uint32_t input = tfl_input(b, 0), pads = tfl_input(b, 1), with;

    if (type == ANEURALNETWORKS_PAD) {
        tfl_add1(b, tfl_operation_on(b, x, type), tfl_output(b, 0), input, pads);
        return;
    }
    tfl_need(b, x && value && value->data && value->n_bytes, "the padding value is not constant");
    tfl_need(b, value->type == x->type && !value->is_sparse, "a padding value of another type");
    if (x->type == TFL_FLOAT32) {
        float number;

        memcpy(&number, value->data, sizeof(number));
        with = tfl_f32(b, number);
    } else {
        tfl_need(b, x->type == TFL_UINT8 || x->type == TFL_INT8, "type %d", x->type);
        tfl_need(b, !tfl_is_relabelled(value, tfl_out(b, 0)),
                 "the padding value is no code of the output");
        with = tfl_i32(b, x->type == TFL_INT8 ? (int8_t)value->data[0] : value->data[0]);
    }
    tfl_add1(b, type, tfl_output(b, 0), input, pads, with);
}

static void map_mirror_pad(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_MIRROR_PAD, tfl_output(b, 0), tfl_input(b, 0), tfl_input(b, 1),
             tfl_i32(b, b->op->options.mode));
}

/* NNAPI counts the axis from the front. */
static int32_t from_front(int32_t axis, const struct tfl_tensor *of)
{
    return axis < 0 && of ? axis + (int32_t)of->n_dimensions : axis;
}

static void map_concatenation(struct tfl_builder *b)
{
    int32_t axis = from_front(b->op->options.axis, tfl_out(b, 0));
    uint32_t *inputs = tfl_keep(b, ((size_t)b->op->n_inputs + 1) * sizeof(*inputs));

    tfl_need(b, inputs && tfl_out(b, 0), "no output");
    tfl_need(b, b->op->options.activation == 0, "a fused activation");
    for (uint32_t i = 0; i < b->op->n_inputs; i++)
        inputs[i] = tfl_input(b, i);
    inputs[b->op->n_inputs] = tfl_i32(b, axis);
    tfl_add(b, tfl_operation_on(b, tfl_in(b, 0), ANEURALNETWORKS_CONCATENATION), inputs,
            b->op->n_inputs + 1, (const uint32_t[]){tfl_output(b, 0)}, 1);
}

static void map_pack(struct tfl_builder *b)
{
    uint32_t *inputs = tfl_keep(b, ((size_t)b->op->n_inputs + 1) * sizeof(*inputs));

    tfl_need(b, inputs && tfl_out(b, 0), "no output");
    inputs[0] = tfl_i32(b, from_front(b->op->options.axis, tfl_out(b, 0)));
    for (uint32_t i = 0; i < b->op->n_inputs; i++)
        inputs[i + 1] = tfl_input(b, i);
    tfl_add(b, ANEURALNETWORKS_PACK, inputs, b->op->n_inputs + 1,
            (const uint32_t[]){tfl_output(b, 0)}, 1);
}

/* The input in count slices along an axis, each with that axis kept at length 1,
 * then reshaped without it. */
static void map_unpack(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0);
    int32_t axis = from_front(b->op->options.axis, x);
    uint32_t n = b->op->n_outputs;
    uint32_t *pieces = tfl_keep(b, (size_t)n * sizeof(*pieces));
    struct tfl_form form;

    tfl_need(b, x && pieces, "no input");
    form = tfl_form_of(b, x);
    tfl_need(b, axis >= 0 && axis < (int32_t)form.n_dimensions && form.dimensions[axis] == n,
             "axis %d", axis);
    form.dimensions[axis] = 1;
    for (uint32_t i = 0; i < n; i++)
        pieces[i] = tfl_temporary(b, &form);
    tfl_add(b, tfl_operation_on(b, x, ANEURALNETWORKS_SPLIT),
            (const uint32_t[]){tfl_input(b, 0), tfl_i32(b, axis), tfl_i32(b, (int32_t)n)}, 3,
            pieces, n);
    for (uint32_t i = 0; i < n && !b->result; i++) {
        struct tfl_form piece;

        tfl_need(b, tfl_out(b, i), "output %u is missing", i);
        piece = tfl_form_of(b, tfl_out(b, i));
        add_reshape(b, pieces[i], tfl_output(b, i), &piece);
    }
}

static void map_split(struct tfl_builder *b)
{
    uint32_t n = b->op->n_outputs;
    uint32_t *outputs = tfl_keep(b, (size_t)n * sizeof(*outputs));

    tfl_need(b, outputs, "no outputs");
    for (uint32_t i = 0; i < n; i++)
        outputs[i] = tfl_output(b, i);
    tfl_add(
        b, tfl_operation_on(b, tfl_in(b, 1), ANEURALNETWORKS_SPLIT),
        (const uint32_t[]){tfl_input(b, 1), tfl_i32(b, one_value(b, 0)), tfl_i32(b, (int32_t)n)}, 3,
        outputs, n);
}

/* As many SLICEs as there are pieces. */
static void map_split_v(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0);
    int32_t begin[TFL_MAX_RANK] = {0}, size[TFL_MAX_RANK], axis = from_front(one_value(b, 2), x);

    tfl_need(b, x && x->n_dimensions, "no input");
    tfl_need(b, axis >= 0 && axis < (int32_t)x->n_dimensions, "axis %d", axis);
    for (uint32_t i = 0; i < b->op->n_outputs && !b->result; i++) {
        const struct tfl_tensor *y = tfl_out(b, i);

        tfl_need(b, y && y->n_dimensions == x->n_dimensions, "output %u", i);
        tfl_need(b, y->dimensions[axis] <= x->dimensions[axis] - (uint32_t)begin[axis],
                 "output %u goes beyond the input", i);
        for (uint32_t k = 0; k < x->n_dimensions; k++)
            size[k] = (int32_t)y->dimensions[k];
        tfl_add1(b, ANEURALNETWORKS_SLICE, tfl_output(b, i), tfl_input(b, 0),
                 tfl_i32s(b, begin, x->n_dimensions), tfl_i32s(b, size, x->n_dimensions));
        begin[axis] += size[axis];
    }
}

static void map_slice(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_SLICE, tfl_output(b, 0), tfl_input(b, 0), list_input(b, 1),
             list_input(b, 2));
}

/* A shrunk axis gives one element for every end; NNAPI requires begin + 1 as its
 * end. Otherwise the masks mean the same to both. */
static void map_strided_slice(struct tfl_builder *b)
{
    const struct tfl_options *o = &b->op->options;
    int32_t begin[TFL_MAX_RANK], end[TFL_MAX_RANK], end_mask = o->end_mask;
    uint32_t n = 0, n_end = 0;

    tfl_need(b, !o->ellipsis_mask && !o->new_axis_mask && !o->has_offset,
             "an ellipsis, a new axis or an offset");
    tfl_need(b,
             tfl_read_i32(b, 1, begin, TFL_MAX_RANK, &n) &&
                 tfl_read_i32(b, 2, end, TFL_MAX_RANK, &n_end) && n == n_end,
             "begin or end are not constant");
    for (uint32_t i = 0; i < n; i++) {
        if (!(o->shrink_axis_mask >> i & 1))
            continue;
        tfl_need(b, begin[i] < INT32_MAX, "an axis begins at %d", begin[i]);
        end[i] = begin[i] + 1;
        end_mask = begin[i] == -1 ? end_mask | 1 << i : end_mask & ~(1 << i);
    }
    tfl_add1(b, tfl_operation_on(b, tfl_in(b, 0), ANEURALNETWORKS_STRIDED_SLICE), tfl_output(b, 0),
             tfl_input(b, 0), tfl_i32s(b, begin, n), tfl_i32s(b, end, n), list_input(b, 3),
             tfl_i32(b, o->begin_mask), tfl_i32(b, end_mask), tfl_i32(b, o->shrink_axis_mask));
}

static void map_tile(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_TILE, tfl_output(b, 0), tfl_input(b, 0), list_input(b, 1));
}

static void map_batch_to_space(struct tfl_builder *b)
{
    int32_t crops[2 * TFL_MAX_RANK];
    uint32_t n = 0;

    tfl_need(b, tfl_read_i32(b, 2, crops, 2 * TFL_MAX_RANK, &n), "crops are not constant");
    for (uint32_t i = 0; i < n; i++)
        tfl_need(b, crops[i] == 0, "crops are not 0");
    tfl_add1(b, ANEURALNETWORKS_BATCH_TO_SPACE_ND, tfl_output(b, 0), tfl_input(b, 0),
             list_input(b, 1));
}

static void map_space_to_batch(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_SPACE_TO_BATCH_ND, tfl_output(b, 0), tfl_input(b, 0),
             list_input(b, 1), tfl_input(b, 2));
}

static void map_depth_space(struct tfl_builder *b)
{
    int32_t type = b->op->code == TFL_SPACE_TO_DEPTH ? ANEURALNETWORKS_SPACE_TO_DEPTH
                                                     : ANEURALNETWORKS_DEPTH_TO_SPACE;

    tfl_add1(b, type, tfl_output(b, 0), tfl_input(b, 0), tfl_i32(b, b->op->options.block_size));
}

/* NNAPI wants width before height, and the two flags only if one is set. */
static void map_resize(struct tfl_builder *b)
{
    const struct tfl_options *o = &b->op->options;
    int32_t type = b->op->code == TFL_RESIZE_BILINEAR ? ANEURALNETWORKS_RESIZE_BILINEAR
                                                      : ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR;
    int32_t size[2];
    uint32_t inputs[6], n = 0;

    tfl_need(b, tfl_read_i32(b, 1, size, 2, &n) && n == 2, "the size is not constant");
    n = 0;
    inputs[n++] = tfl_input(b, 0);
    inputs[n++] = tfl_i32(b, size[1]);
    inputs[n++] = tfl_i32(b, size[0]);
    inputs[n++] = tfl_bool(b, false);
    if (o->align_corners || o->half_pixel_centers) {
        inputs[n++] = tfl_bool(b, o->align_corners);
        inputs[n++] = tfl_bool(b, o->half_pixel_centers);
    }
    tfl_add(b, type, inputs, n, (const uint32_t[]){tfl_output(b, 0)}, 1);
}

static void map_gather(struct tfl_builder *b)
{
    tfl_need(b, b->op->options.batch_dims == 0, "batch dimensions");
    tfl_add1(b, ANEURALNETWORKS_GATHER, tfl_output(b, 0), tfl_input(b, 0),
             tfl_i32(b, b->op->options.axis), tfl_input(b, 1));
}

/* Of equal values NNAPI puts the last first, and TensorFlow Lite the first: each row is reversed, and
 * places are counted from its end. */
static void map_topk(struct tfl_builder *b)
{
    struct tfl_form form;
    int32_t axis, last;
    uint32_t reversed, places;

    tfl_need(b, tfl_in(b, 0) && tfl_out(b, 1), "no input or output");
    form = tfl_form_of(b, tfl_in(b, 0));
    axis = (int32_t)form.n_dimensions - 1;
    tfl_need(b, form.dimensions[axis], "along a dimension that is open");
    last = (int32_t)form.dimensions[axis] - 1;
    reversed = tfl_temporary(b, &form);
    form = tfl_form_of(b, tfl_out(b, 1));
    places = tfl_temporary(b, &form);
    tfl_add1(b, ANEURALNETWORKS_REVERSE, reversed, tfl_input(b, 0), tfl_i32s(b, &axis, 1));
    tfl_add(b, ANEURALNETWORKS_TOPK_V2, (const uint32_t[]){reversed, tfl_i32(b, one_value(b, 1))},
            2, (const uint32_t[]){tfl_output(b, 0), places}, 2);
    tfl_add1(b, tfl_operation_on(b, tfl_out(b, 1), ANEURALNETWORKS_SUB), tfl_output(b, 1),
             tfl_i32s(b, &last, 1), places, tfl_i32(b, ANEURALNETWORKS_FUSED_NONE));
}

static void map_fill(struct tfl_builder *b)
{
    const struct tfl_tensor *value = tfl_in(b, 1);
    int32_t integer = 0;
    float number = 0;
    uint32_t n;

    tfl_need(b, value && value->data && value->n_bytes >= 4, "the value is not constant");
    if (value->type == TFL_FLOAT32) {
        memcpy(&number, value->data, sizeof(number));
        tfl_add1(b, ANEURALNETWORKS_FILL, tfl_output(b, 0), list_input(b, 0), tfl_f32(b, number));
        return;
    }
    tfl_need(b, tfl_read_i32(b, 1, &integer, 1, &n), "type %d", value->type);
    tfl_add1(b, ANEURALNETWORKS_FILL, tfl_output(b, 0), list_input(b, 0), tfl_i32(b, integer));
}

static void map_reverse(struct tfl_builder *b)
{
    bool is_constant = !tfl_in(b, 1) || tfl_in(b, 1)->data;
    int32_t axis = is_constant ? from_front(one_value(b, 1), tfl_in(b, 0)) : 0;

    tfl_add1(b, ANEURALNETWORKS_REVERSE, tfl_output(b, 0), tfl_input(b, 0),
             is_constant ? tfl_i32s(b, &axis, 1) : tfl_input(b, 1));
}

static void map_embedding(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_EMBEDDING_LOOKUP, tfl_output(b, 0), tfl_input(b, 0),
             tfl_input(b, 1));
}

static void map_hashtable(struct tfl_builder *b)
{
    tfl_add(b, ANEURALNETWORKS_HASHTABLE_LOOKUP,
            (const uint32_t[]){tfl_input(b, 0), tfl_input(b, 1), tfl_input(b, 2)}, 3,
            (const uint32_t[]){tfl_output(b, 0), tfl_output(b, 1)}, 2);
}

static void map_lsh(struct tfl_builder *b)
{
    int32_t type = b->op->options.mode == 1 ? 3 : b->op->options.mode; /* sparse without sum */

    tfl_add1(b, ANEURALNETWORKS_LSH_PROJECTION, tfl_output(b, 0), tfl_input(b, 0), tfl_input(b, 1),
             tfl_input_or_omitted(b, 2, ANEURALNETWORKS_TENSOR_FLOAT32), tfl_i32(b, type));
}

/* Of a constant the reader has made a constant, which needs no operation. */
static void map_densify(struct tfl_builder *b)
{
    tfl_need(b, tfl_out(b, 0) && tfl_out(b, 0)->data, "its input is no constant");
}

const struct tfl_mapping tfl_map_shape[] = {
    {TFL_RESHAPE, map_reshape},
    {TFL_SQUEEZE, map_reshape},
    {TFL_EXPAND_DIMS, map_reshape},
    {TFL_TRANSPOSE, map_transpose},
    {TFL_PAD, map_pad},
    {TFL_PADV2, map_pad},
    {TFL_MIRROR_PAD, map_mirror_pad},
    {TFL_CONCATENATION, map_concatenation},
    {TFL_PACK, map_pack},
    {TFL_UNPACK, map_unpack},
    {TFL_SPLIT, map_split},
    {TFL_SPLIT_V, map_split_v},
    {TFL_SLICE, map_slice},
    {TFL_STRIDED_SLICE, map_strided_slice},
    {TFL_TILE, map_tile},
    {TFL_BATCH_TO_SPACE_ND, map_batch_to_space},
    {TFL_SPACE_TO_BATCH_ND, map_space_to_batch},
    {TFL_SPACE_TO_DEPTH, map_depth_space},
    {TFL_DEPTH_TO_SPACE, map_depth_space},
    {TFL_RESIZE_BILINEAR, map_resize},
    {TFL_RESIZE_NEAREST_NEIGHBOR, map_resize},
    {TFL_GATHER, map_gather},
    {TFL_TOPK_V2, map_topk},
    {TFL_FILL, map_fill},
    {TFL_REVERSE_V2, map_reverse},
    {TFL_EMBEDDING_LOOKUP, map_embedding},
    {TFL_HASHTABLE_LOOKUP, map_hashtable},
    {TFL_LSH_PROJECTION, map_lsh},
    {TFL_DENSIFY, map_densify},
    {0, NULL},
};
