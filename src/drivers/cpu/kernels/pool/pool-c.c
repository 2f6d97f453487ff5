/* SPDX-License-Identifier: Apache-2.0 */
/* AVERAGE_POOL_2D, L2_POOL_2D, MAX_POOL_2D, plain C, NHWC and NCHW.
 *
 * Only cells inside the image take part and count. An NCHW image is computed
 * as depth times as many images of one channel. Sums run over a window's rows,
 * then columns, for a block of channels at a time: of float32 a vector, where
 * there are enough. */
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/common/window.h"

#include <math.h>
#include <string.h>

struct pool_params {
    struct nn_window_2d window;
    float low, high;         /* float results */
    int32_t q8_low, q8_high; /* codes */
    uint32_t as_int8;        /* AVERAGE_POOL_2D: see struct nn_lower */
};

static int lower_pool(struct nn_lower *lower)
{
    struct pool_params *params = lower->params;
    const struct nn_lower_operand *out = &lower->outputs[0];
    int32_t activation = nn_lower_window_activation(lower);
    bool is_known;

    if (nn_is_q8(out->type))
        is_known = nn_activation_q8(activation, nn_quant_flip(out->type) != 0, out->scale,
                                    out->zero_point, &params->q8_low, &params->q8_high);
    else
        is_known = nn_activation_f32(activation, &params->low, &params->high);
    if (!is_known)
        return nn_lower_refuse(lower, "%d is not a fused activation", activation);
    params->as_int8 = lower->as_int8;
    return nn_lower_window(lower, &params->window);
}

static bool check_pool(const struct nn_kernel_step *step)
{
    const struct pool_params *params = step->params;

    return nn_window_fits(&params->window, NNHAL_OP_MAX_POOL_2D, &step->inputs[0], NULL,
                          &step->outputs[0]);
}

/* The cells of one window: rows of an image of depth channels. */
struct cells {
    size_t first; /* element number of the first cell's channel 0 */
    size_t n_rows, n_columns;
    size_t row_stride; /* elements */
    struct nn_pace *pace;
};

typedef void (*pool_fn)(const struct nn_kernel_args *args, const struct cells *cells, size_t out,
                        size_t depth);

struct pool_job {
    const struct nn_kernel_args *args;
    pool_fn fn;
    size_t depth; /* 1 for NCHW */
};

/* One item is one row of the output. */
static void output_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct pool_job *job = ctx;
    const struct pool_params *params = job->args->params;
    const struct nn_window_2d *window = &params->window;
    size_t height = window->height.input, width = window->width.input;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t image = item / window->out_height;
        int64_t y_begin, y_end, x_begin, x_end;
        int64_t y = nn_window_clip(&window->height, item % window->out_height, &y_begin, &y_end);

        for (size_t x_out = 0; x_out < window->out_width; x_out++) {
            int64_t x = nn_window_clip(&window->width, x_out, &x_begin, &x_end);
            size_t row = image * height + (size_t)(y + y_begin);
            struct cells cells = {.first = (row * width + (size_t)(x + x_begin)) * job->depth,
                                  .n_rows = (size_t)(y_end - y_begin),
                                  .n_columns = (size_t)(x_end - x_begin),
                                  .row_stride = width * job->depth,
                                  .pace = &pace};

            job->fn(job->args, &cells, (item * window->out_width + x_out) * job->depth, job->depth);
        }
    }
}

static int run_pool(const struct nn_kernel_args *args, pool_fn fn)
{
    const struct pool_params *params = args->params;
    const struct nn_window_2d *window = &params->window;
    size_t depth = window->is_nchw ? 1 : window->in_depth;
    size_t n_images = (size_t)window->batch * (window->is_nchw ? window->in_depth : 1);
    struct pool_job job = {.args = args, .fn = fn, .depth = depth};
    size_t cost = (size_t)window->out_width * depth * window->width.filter * window->height.filter;

    nn_parallel_for(args, n_images * window->out_height, cost / 4 + 20, output_rows, &job);
    return 0;
}

/* ---- float32 and float16 ---- */

NN_INLINE void start_f32(uint32_t op, float *acc, size_t n)
{
    for (size_t c = 0; c < n; c++)
        acc[c] = op == NNHAL_OP_MAX_POOL_2D ? -INFINITY : 0.0f;
}

NN_INLINE void add_cell_f32(uint32_t op, float *acc, const float *cell, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        if (op == NNHAL_OP_MAX_POOL_2D)
            acc[c] = cell[c] > acc[c] ? cell[c] : acc[c];
        else if (op == NNHAL_OP_L2_POOL_2D)
            acc[c] += cell[c] * cell[c];
        else
            acc[c] += cell[c];
    }
}

NN_INLINE void finish_f32(uint32_t op, float *acc, size_t n, float count,
                          const struct pool_params *params)
{
    float low = params->low, high = params->high;

    for (size_t c = 0; c < n; c++) {
        float x = acc[c];

        if (op == NNHAL_OP_L2_POOL_2D)
            x = sqrtf(x / count);
        else if (op == NNHAL_OP_AVERAGE_POOL_2D)
            x = x / count;
        acc[c] = nn_clamp_f32(x, low, high);
    }
}

/* A vector of channels from c on, which stays in a register; not for L2_POOL_2D. */
NN_INLINE void pool_vector(uint32_t op, const struct nn_kernel_args *args,
                           const struct cells *cells, size_t out_at, size_t depth, size_t c)
{
    const struct pool_params *params = args->params;
    const float *in = (const float *)args->inputs[0].data + cells->first + c;
    nn_vector_f32 acc = nn_splat_f32(op == NNHAL_OP_MAX_POOL_2D ? -INFINITY : 0.0f);
    size_t column_ns = (c == 0 ? depth : NN_LANES_F32) / 4; /* the first touches what others read */

    for (size_t y = 0; y < cells->n_rows; y++) {
        if (nn_pace_ends(cells->pace, 1 + cells->n_columns * column_ns))
            return;
        for (size_t x = 0; x < cells->n_columns; x++) {
            nn_vector_f32 v = nn_load_f32(in + y * cells->row_stride + x * depth);

            acc = op == NNHAL_OP_MAX_POOL_2D ? nn_raise_f32(acc, v) : acc + v;
        }
    }
    if (op == NNHAL_OP_AVERAGE_POOL_2D)
        acc /= nn_splat_f32((float)(cells->n_rows * cells->n_columns));
    nn_store_f32((float *)args->outputs[0].data + out_at + c,
                 nn_clamp_vector_f32(acc, params->low, params->high));
}

NN_INLINE void pool_float(uint32_t op, bool is_half, const struct nn_kernel_args *args,
                          const struct cells *cells, size_t out_at, size_t depth)
{
    const void *in = args->inputs[0].data;
    void *out = args->outputs[0].data;
    float acc[NN_CHUNK];
    float wide[NN_CHUNK];

    if (!is_half && op != NNHAL_OP_L2_POOL_2D && depth >= NN_LANES_F32) {
        /* The last vector overlaps the one before. */
        for (size_t c = 0; c < depth; c += NN_LANES_F32)
            pool_vector(op, args, cells, out_at, depth, nn_min_size(c, depth - NN_LANES_F32));
        return;
    }
    for (size_t c = 0; c < depth; c += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, depth - c);

        start_f32(op, acc, n);
        for (size_t y = 0; y < cells->n_rows; y++) {
            if (nn_pace_ends(cells->pace, 1 + cells->n_columns * n / 4))
                return;
            for (size_t x = 0; x < cells->n_columns; x++) {
                size_t at = cells->first + y * cells->row_stride + x * depth + c;

                if (is_half)
                    nn_f16_widen(wide, (const uint16_t *)in + at, n);
                add_cell_f32(op, acc, is_half ? wide : (const float *)in + at, n);
            }
        }
        finish_f32(op, acc, n, (float)(cells->n_rows * cells->n_columns), args->params);
        if (is_half)
            nn_narrow((uint16_t *)out + out_at + c, acc, n);
        else
            memcpy((float *)out + out_at + c, acc, n * sizeof(*acc));
    }
}

#define DEFINE_FLOAT(op_name, op)                                                                  \
    static void NN_VARIANT_SYMBOL(op_name##_cells_f32)(                                            \
        const struct nn_kernel_args *args, const struct cells *cells, size_t out, size_t depth)    \
    {                                                                                              \
        pool_float(NNHAL_OP_##op, false, args, cells, out, depth);                                 \
    }                                                                                              \
    static void NN_VARIANT_SYMBOL(op_name##_cells_f16)(                                            \
        const struct nn_kernel_args *args, const struct cells *cells, size_t out, size_t depth)    \
    {                                                                                              \
        pool_float(NNHAL_OP_##op, true, args, cells, out, depth);                                  \
    }                                                                                              \
    static int NN_VARIANT_SYMBOL(nn_##op_name##_f32)(const struct nn_kernel_args *args)            \
    {                                                                                              \
        return run_pool(args, NN_VARIANT_SYMBOL(op_name##_cells_f32));                             \
    }                                                                                              \
    static int NN_VARIANT_SYMBOL(nn_##op_name##_f16)(const struct nn_kernel_args *args)            \
    {                                                                                              \
        return run_pool(args, NN_VARIANT_SYMBOL(op_name##_cells_f16));                             \
    }
DEFINE_FLOAT(average_pool, AVERAGE_POOL_2D)
DEFINE_FLOAT(l2_pool, L2_POOL_2D)
DEFINE_FLOAT(max_pool, MAX_POOL_2D)

/* ---- 8-bit ---- */

/* Flipped codes compare as unsigned bytes, a vector at a time; the maximum begins with the
 * activation's lower bound. */
static void max_cells_q8(const struct nn_kernel_args *args, const struct cells *cells,
                         size_t out_at, size_t depth)
{
    const struct pool_params *params = args->params;
    uint8_t flip = (uint8_t)nn_quant_flip(args->inputs[0].type);
    uint8_t low = (uint8_t)params->q8_low ^ flip, high = (uint8_t)params->q8_high ^ flip;
    const uint8_t *in = args->inputs[0].data;
    uint8_t *out = (uint8_t *)args->outputs[0].data + out_at;
    uint8_t acc[NN_CHUNK];

    for (size_t c = 0; c < depth; c += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, depth - c);

        for (size_t k = 0; k < n; k++)
            acc[k] = low;
        for (size_t y = 0; y < cells->n_rows; y++) {
            if (nn_pace_ends(cells->pace, 1 + cells->n_columns * n / 4))
                return;
            for (size_t x = 0; x < cells->n_columns; x++) {
                const uint8_t *cell = in + cells->first + y * cells->row_stride + x * depth + c;

                for (size_t k = 0; k < n; k++) {
                    uint8_t value = cell[k] ^ flip;

                    acc[k] = value > acc[k] ? value : acc[k];
                }
            }
        }
        for (size_t k = 0; k < n; k++)
            out[c + k] = (acc[k] < high ? acc[k] : high) ^ flip;
    }
}

/* Raw codes are averaged, half away from zero. */
static int32_t average_code(int32_t sum, int32_t count)
{
    return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

/* Cells whose codes have a sum that fits 32 bits, with what is added to round it. */
enum { MAX_SUMMED_CELLS = 1 << 22 };

/* The average of a channel whose cells are too many for average_cells_q8(). */
static int32_t average_many(const struct cells *cells, const uint8_t *channel, size_t depth,
                            uint32_t flip, int32_t offset)
{
    int64_t count = (int64_t)(cells->n_rows * cells->n_columns), sum = 0;

    for (size_t y = 0; y < cells->n_rows; y++)
        for (struct nn_pace_part part = {0};
             nn_pace_next_part(cells->pace, cells->n_columns, 1, &part);)
            for (size_t x = part.begin; x < part.end; x++)
                sum += nn_quant_code(channel[y * cells->row_stride + x * depth], flip) - offset;
    return (int32_t)((sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

/* Marked as_int8, codes are averaged 128 lower: halves round away from zero, which is another
 * code for int8 than for uint8. */
static void average_cells_q8(const struct nn_kernel_args *args, const struct cells *cells,
                             size_t out_at, size_t depth)
{
    const struct pool_params *params = args->params;
    uint32_t flip = nn_quant_flip(args->inputs[0].type);
    int32_t count = (int32_t)(cells->n_rows * cells->n_columns);
    int32_t offset = params->as_int8 ? 128 : 0;
    const uint8_t *in = args->inputs[0].data;
    uint8_t *out = (uint8_t *)args->outputs[0].data + out_at;
    int32_t acc[NN_CHUNK];
    bool is_many = cells->n_rows * cells->n_columns > MAX_SUMMED_CELLS;

    for (size_t c = 0; is_many && c < depth; c++)
        out[c] = (uint8_t)nn_clamp_i32(
            average_many(cells, in + cells->first + c, depth, flip, offset) + offset,
            params->q8_low, params->q8_high);
    for (size_t c = 0; !is_many && c < depth; c += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, depth - c);

        for (size_t k = 0; k < n; k++)
            acc[k] = 0;
        for (size_t y = 0; y < cells->n_rows; y++) {
            if (nn_pace_ends(cells->pace, 1 + cells->n_columns * n / 4))
                return;
            for (size_t x = 0; x < cells->n_columns; x++) {
                const uint8_t *cell = in + cells->first + y * cells->row_stride + x * depth + c;

                for (size_t k = 0; k < n; k++)
                    acc[k] += nn_quant_code(cell[k], flip) - offset;
            }
        }
        for (size_t k = 0; k < n; k++)
            out[c + k] = (uint8_t)nn_clamp_i32(average_code(acc[k], count) + offset, params->q8_low,
                                               params->q8_high);
    }
}

static int nn_max_pool_q8(const struct nn_kernel_args *args)
{
    return run_pool(args, max_cells_q8);
}

static int nn_average_pool_q8(const struct nn_kernel_args *args)
{
    return run_pool(args, average_cells_q8);
}

#define ROW(op_name, op, types, run_function)                                                      \
    {                                                                                              \
        NN_VARIANT_ROW(op_name, op), .in0 = (types), .params_bytes = sizeof(struct pool_params),   \
                                     .lower = lower_pool, .run = run_function, .check = check_pool \
    }

static const struct nn_kernel kernels[] = {
    ROW("average_pool_2d_f32", AVERAGE_POOL_2D, NN_T_F32, NN_VARIANT_SYMBOL(nn_average_pool_f32)),
    ROW("average_pool_2d_f16", AVERAGE_POOL_2D, NN_T_F16, NN_VARIANT_SYMBOL(nn_average_pool_f16)),
    ROW("average_pool_2d_q8", AVERAGE_POOL_2D, NN_T_U8 | NN_T_S8, nn_average_pool_q8),
    ROW("l2_pool_2d_f32", L2_POOL_2D, NN_T_F32, NN_VARIANT_SYMBOL(nn_l2_pool_f32)),
    ROW("l2_pool_2d_f16", L2_POOL_2D, NN_T_F16, NN_VARIANT_SYMBOL(nn_l2_pool_f16)),
    ROW("max_pool_2d_f32", MAX_POOL_2D, NN_T_F32, NN_VARIANT_SYMBOL(nn_max_pool_f32)),
    ROW("max_pool_2d_f16", MAX_POOL_2D, NN_T_F16, NN_VARIANT_SYMBOL(nn_max_pool_f16)),
    ROW("max_pool_2d_q8", MAX_POOL_2D, NN_T_U8 | NN_T_S8, nn_max_pool_q8),
};

NN_VARIANT_FAMILY(pool, kernels);
