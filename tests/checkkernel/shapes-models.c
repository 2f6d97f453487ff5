/* SPDX-License-Identifier: Apache-2.0 */
/* What models have few of: recurrent cells, regions of an image, boxes, tables, samples. */
#include "checkkernel/shapes.h"

static const uint32_t image[4] = {1, 14, 14, 64};

/* ---- recurrent cells ---- */

struct cell {
    uint32_t type, batch, input, units;
    float low, high; /* of weights and states */
};

static struct cell draw_cell(struct draw *draw, const struct nn_kernel *row)
{
    return (struct cell){.type = draw_type(draw, row->in0 ? row->in0 : NN_T_F32 | NN_T_F16),
                         .batch = draw_size(draw, 4, 1),
                         .input = draw_size(draw, 20, 128),
                         .units = draw_size(draw, 20, 128),
                         .low = -0.75f,
                         .high = 0.75f};
}

static void add_matrix(struct draw *draw, struct kernel_case *c, const struct cell *cell,
                       uint32_t rows, uint32_t columns)
{
    draw_reals(draw, c, cell->type, 2, (uint32_t[]){rows, columns}, cell->low, cell->high);
}

static void add_vector(struct draw *draw, struct kernel_case *c, const struct cell *cell,
                       uint32_t n)
{
    draw_reals(draw, c, cell->type, 1, &n, cell->low, cell->high);
}

/* One step, or several of a sequence. */
static void add_steps(struct draw *draw, struct kernel_case *c, const struct cell *cell,
                      bool is_sequence, bool is_time_major)
{
    uint32_t n = draw_size(draw, 4, 4);

    if (!is_sequence)
        add_matrix(draw, c, cell, cell->batch, cell->input);
    else
        draw_reals(draw, c, cell->type, 3,
                   is_time_major ? (uint32_t[]){n, cell->batch, cell->input}
                                 : (uint32_t[]){cell->batch, n, cell->input},
                   cell->low, cell->high);
}

static void generate_rnn(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    struct cell cell = draw_cell(draw, row);
    bool is_sequence = row->operation != NNHAL_OP_RNN, is_time_major = draw_coin(draw, 2);

    add_steps(draw, c, &cell, is_sequence, is_time_major);
    add_matrix(draw, c, &cell, cell.units, cell.input);
    add_matrix(draw, c, &cell, cell.units, cell.units);
    add_vector(draw, c, &cell, cell.units);
    add_matrix(draw, c, &cell, cell.batch, cell.units);
    kernel_case_i32(c, (int32_t)draw_below(draw, 4));
    if (is_sequence)
        kernel_case_i32(c, is_time_major);
    kernel_case_output(c, cell.type);
    if (!is_sequence || draw_coin(draw, 2))
        kernel_case_output(c, cell.type);
}

/* Without projection; peepholes now and then. */
static void generate_lstm(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    struct cell cell = draw_cell(draw, row);
    bool is_sequence = row->operation != NNHAL_OP_LSTM, is_time_major = draw_coin(draw, 2);
    bool has_peepholes = draw_coin(draw, 2);

    add_steps(draw, c, &cell, is_sequence, is_time_major);
    for (uint32_t i = 0; i < 8; i++)
        add_matrix(draw, c, &cell, cell.units, i < 4 ? cell.input : cell.units);
    for (uint32_t i = 0; i < 3; i++)
        if (has_peepholes)
            add_vector(draw, c, &cell, cell.units);
        else
            kernel_case_omit(c, cell.type);
    for (uint32_t i = 0; i < 4; i++)
        add_vector(draw, c, &cell, cell.units);
    kernel_case_omit(c, cell.type);
    kernel_case_omit(c, cell.type);
    for (uint32_t i = 0; i < 2; i++)
        add_matrix(draw, c, &cell, cell.batch, cell.units);
    kernel_case_i32(c, 4);
    for (uint32_t i = 0; i < 2; i++)
        draw_scalar(c, (float)draw_below(draw, 2));
    if (is_sequence)
        kernel_case_bool(c, is_time_major);
    for (uint32_t i = 0; is_sequence && i < 4; i++)
        kernel_case_omit(c, cell.type);
    for (uint32_t i = 0; i < (is_sequence ? 1 : 4); i++)
        kernel_case_output(c, cell.type);
}

static void generate_svdf(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    struct cell cell = draw_cell(draw, row);
    uint32_t rank = draw_size(draw, 3, 1), memory = draw_size(draw, 8, 8);
    uint32_t filters = rank * cell.units;

    add_matrix(draw, c, &cell, cell.batch, cell.input);
    add_matrix(draw, c, &cell, filters, cell.input);
    add_matrix(draw, c, &cell, filters, memory);
    add_vector(draw, c, &cell, cell.units);
    add_matrix(draw, c, &cell, cell.batch, memory * filters);
    kernel_case_i32(c, (int32_t)rank);
    kernel_case_i32(c, (int32_t)draw_below(draw, 2));
    kernel_case_output(c, cell.type);
    kernel_case_output(c, cell.type);
}

/* ---- regions ---- */

/* n boxes: two corners each, in order, within the size; of batches that are in order, too. */
static void add_boxes(struct draw *draw, struct kernel_case *c, uint32_t type, uint32_t n,
                      uint32_t size)
{
    float numbers[4 * 64];
    uint16_t codes[4 * 64];

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 2; k++) {
            numbers[4 * i + k] = (float)draw_below(draw, size);
            numbers[4 * i + 2 + k] = numbers[4 * i + k] + 1.0f + (float)draw_below(draw, size);
        }
    for (uint32_t i = 0; i < 4 * n; i++)
        codes[i] = (uint16_t)(numbers[i] * 8.0f);
    if (type == NNHAL_TENSOR_QUANT16_ASYMM)
        kernel_case_tensor(c, type, 2, (uint32_t[]){n, 4}, codes)->scale = 0.125f;
    else
        kernel_case_tensor(c, type, 2, (uint32_t[]){n, 4}, numbers);
}

static bool is_code(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM || type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
}

static void generate_roi(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t type = draw_type(draw, row->in0 ? row->in0 : NN_T_F32 | NN_T_U8 | NN_T_S8);
    uint32_t dims[4], n = draw_size(draw, 5, 16);
    bool is_align = row->operation == NNHAL_OP_ROI_ALIGN;

    type = type == NNHAL_TENSOR_FLOAT16 ? NNHAL_TENSOR_FLOAT32 : type;
    draw_dims(draw, 4, 12, image, dims);
    draw_tensor(draw, c, type, 4, dims);
    add_boxes(draw, c, is_code(type) ? NNHAL_TENSOR_QUANT16_ASYMM : type, n, 12);
    draw_indices(draw, c, 1, &n, 0, 1);
    for (uint32_t i = 0; i < 2; i++)
        kernel_case_i32(c, (int32_t)draw_size(draw, 4, 7));
    for (uint32_t i = 0; i < 2; i++)
        kernel_case_f32(c, 2.0f);
    for (uint32_t i = 0; is_align && i < 2; i++)
        kernel_case_i32(c, (int32_t)draw_below(draw, 3));
    kernel_case_bool(c, draw_coin(draw, 3));
    draw_output(draw, c, type);
    if (!is_align) {
        c->outputs[0].scale = c->inputs[0].scale;
        c->outputs[0].zero_point = c->inputs[0].zero_point;
    }
}

static void generate_heatmap(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t n = draw_size(draw, 3, 4), side = 1 + draw_size(draw, 12, 55);
    uint32_t keys = draw_size(draw, 9, 17);
    bool is_nchw = draw_coin(draw, 3);

    draw_tensor(draw, c, NNHAL_TENSOR_FLOAT32, 4,
                is_nchw ? (uint32_t[]){n, keys, side, side} : (uint32_t[]){n, side, side, keys});
    add_boxes(draw, c, NNHAL_TENSOR_FLOAT32, n, 20);
    kernel_case_bool(c, is_nchw);
    for (uint32_t i = 0; i < 2; i++)
        kernel_case_output(c, NNHAL_TENSOR_FLOAT32);
}

static void generate_transform(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    uint32_t n = draw_size(draw, 20, 40), classes = draw_size(draw, 5, 5);

    add_boxes(draw, c, NNHAL_TENSOR_FLOAT32, n, 40);
    draw_tensor(draw, c, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){n, 4 * classes});
    draw_indices(draw, c, 1, &n, 0, 1);
    kernel_case_tensor(c, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){1, 2}, (float[]){50.0f, 60.0f});
    kernel_case_output(c, NNHAL_TENSOR_FLOAT32);
}

static void generate_nms(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t n = draw_size(draw, 30, 60);

    draw_reals(draw, c, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){n, 2}, 0.0f, 1.0f);
    draw_reals(draw, c, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){n, 8}, 0.0f, 20.0f);
    draw_indices(draw, c, 1, &n, 0, 1);
    kernel_case_f32(c, 0.25f);
    kernel_case_i32(c, (int32_t)draw_below(draw, 12) - 1);
    kernel_case_i32(c, (int32_t)draw_below(draw, 3));
    kernel_case_f32(c, 0.3f);
    kernel_case_f32(c, 0.5f);
    kernel_case_f32(c, 0.2f);
    for (uint32_t i = 0; i < 4; i++)
        kernel_case_output(c, i < 2 ? NNHAL_TENSOR_FLOAT32 : NNHAL_TENSOR_INT32);
}

/* ---- tables and samples ---- */

static void generate_hashtable(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    uint32_t n = draw_size(draw, 20, 64), n_keys = draw_size(draw, 30, 64);
    uint32_t type = draw_type(draw, NN_T_F32 | NN_T_I32 | NN_T_U8);
    int32_t key = -20;

    draw_indices(draw, c, 1, &n, -20, 40);
    draw_indices(draw, c, 1, &n_keys, 0, 1);
    for (uint32_t i = 0; i < n_keys; i++, key += (int32_t)draw_below(draw, 4))
        ((int32_t *)(void *)c->inputs[1].data)[i] = key;
    draw_tensor(draw, c, type, 2, (uint32_t[]){n_keys, draw_size(draw, 7, 16)});
    kernel_case_output(c, type);
    c->outputs[0].scale = c->inputs[2].scale;
    c->outputs[0].zero_point = c->inputs[2].zero_point;
    kernel_case_output(c, NNHAL_TENSOR_QUANT8_ASYMM);
}

static void generate_projection(struct draw *draw, struct kernel_case *c,
                                const struct nn_kernel *row)
{
    uint32_t n = draw_size(draw, 12, 32);
    int32_t kind = 1 + (int32_t)draw_below(draw, 3);

    draw_reals(draw, c, NNHAL_TENSOR_FLOAT32, 2,
               (uint32_t[]){draw_size(draw, 5, 8), draw_size(draw, 20, 16)}, -1.0f, 1.0f);
    draw_tensor(draw, c, draw_type(draw, NN_T_ANY), 2, (uint32_t[]){n, draw_size(draw, 9, 16)});
    if (kind == 2)
        draw_reals(draw, c, NNHAL_TENSOR_FLOAT32, 1, &n, 0.0f, 1.0f);
    else
        kernel_case_omit(c, NNHAL_TENSOR_FLOAT32);
    kernel_case_i32(c, kind);
    kernel_case_output(c, NNHAL_TENSOR_INT32);
}

static void generate_samples(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    draw_tensor(draw, c, draw_type(draw, NN_T_F32 | NN_T_F16), 2,
                (uint32_t[]){draw_size(draw, 4, 4), draw_size(draw, 30, 64)});
    kernel_case_i32(c, (int32_t)draw_size(draw, 50, 64));
    kernel_case_i32s(c, 2, (int32_t[]){5, 7});
    kernel_case_output(c, NNHAL_TENSOR_INT32);
}

const struct shapes shapes_models[] = {
    {NNHAL_OP_RNN, generate_rnn},
    {NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN, generate_rnn},
    {NNHAL_OP_LSTM, generate_lstm},
    {NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM, generate_lstm},
    {NNHAL_OP_SVDF, generate_svdf},
    {NNHAL_OP_ROI_ALIGN, generate_roi},
    {NNHAL_OP_ROI_POOLING, generate_roi},
    {NNHAL_OP_HEATMAP_MAX_KEYPOINT, generate_heatmap},
    {NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM, generate_transform},
    {NNHAL_OP_BOX_WITH_NMS_LIMIT, generate_nms},
    {NNHAL_OP_HASHTABLE_LOOKUP, generate_hashtable},
    {NNHAL_OP_LSH_PROJECTION, generate_projection},
    {NNHAL_OP_RANDOM_MULTINOMIAL, generate_samples},
    {0, NULL},
};
