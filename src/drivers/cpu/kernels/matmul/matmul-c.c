/* SPDX-License-Identifier: Apache-2.0 */
/* BATCH_MATMUL, plain C: out[b][i][j] = sum over k of x[b][i][k] * y[b][k][j],
 * either operand transposed.
 *
 * y is brought to rows of float32 or int32 (less its zero point) in scratch,
 * unless it is that already; then a row of the result is accumulated from rows of y,
 * in the order of k. Integers wrap. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/kernel.h"
#include "model/operands.h"

#include <errno.h>

/* Sums of a tile, two vectors of y and an element of x stay in the registers. */
enum { TILE_ROWS = NN_VARIANT_VECTOR_BYTES == 64 ? 8 : 6, TILE_COLUMNS = 2 * NN_LANES_F32 };

/* Products of each element of a row between two looks, a multiple of the four that are made at a time;
 * those of a tile, which looks at its end: longer sums are made in such ranges. */
enum { MAX_RANGE = 4096, MAX_TILE_K = 1 << 17 };

struct matmul_params {
    uint32_t adjoint_x, adjoint_y;
    struct nn_multiplier multiplier; /* TENSOR_QUANT8_ASYMM_SIGNED */
};

static bool needs_scratch(uint32_t type, uint32_t adjoint_y)
{
    return adjoint_y || (type != NNHAL_TENSOR_FLOAT32 && type != NNHAL_TENSOR_INT32);
}

static int lower_matmul(struct nn_lower *lower)
{
    struct matmul_params *params = lower->params;
    const struct nn_lower_operand *x = &lower->inputs[0];
    const struct nn_lower_operand *out = &lower->outputs[0];
    float product = x->scale * lower->inputs[1].scale;

    params->adjoint_x = nn_lower_bool(lower, NN_MATMUL_ADJOINT_X, false);
    params->adjoint_y = nn_lower_bool(lower, NN_MATMUL_ADJOINT_Y, false);
    if (x->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)
        params->multiplier = nn_multiplier_make((double)product / (double)out->scale);
    return 0;
}

static bool has_tiles(uint32_t type, const struct matmul_params *params, size_t k)
{
    return type == NNHAL_TENSOR_FLOAT32 && !params->adjoint_x && k <= MAX_TILE_K;
}

/* Columns of y are copied where more than one tile reads them. */
static bool find_matmul_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct matmul_params *params = step->params;
    const struct nn_tensor *x = &step->inputs[0], *out = &step->outputs[0];
    size_t k = x->dims[x->n_dims - (params->adjoint_x ? 2 : 1)];

    if (has_tiles(x->type, params, k) && out->dims[out->n_dims - 2] > TILE_ROWS &&
        out->dims[out->n_dims - 1] >= TILE_COLUMNS)
        ret->worker_bytes = k * TILE_COLUMNS * sizeof(float);
    return !needs_scratch(x->type, params->adjoint_y) ||
           nn_mul_size(nn_tensor_count(&step->inputs[1]), sizeof(float), &ret->bytes);
}

struct matmul_job {
    const struct nn_kernel_args *args;
    const struct matmul_params *params;
    const void *y; /* [batch][k][n], 32-bit elements */
    size_t m, n, k;
    size_t n_rows; /* of all batches */
};

static bool check_shapes(const struct nn_kernel_step *step)
{
    const struct matmul_params *params = step->params;
    uint32_t rank = step->inputs[0].n_dims;

    return rank >= 2 && step->inputs[1].n_dims == rank && step->outputs[0].n_dims == rank &&
           step->inputs[0].dims[params->adjoint_x ? rank - 2 : rank - 1] ==
               step->inputs[1].dims[params->adjoint_y ? rank - 1 : rank - 2] &&
           step->outputs[0].dims[rank - 2] ==
               step->inputs[0].dims[params->adjoint_x ? rank - 1 : rank - 2] &&
           step->outputs[0].dims[rank - 1] ==
               step->inputs[1].dims[params->adjoint_y ? rank - 2 : rank - 1];
}

/* Elements as they are multiplied. */
static float real_at(const struct nn_tensor *tensor, size_t at)
{
    return tensor->type == NNHAL_TENSOR_FLOAT16
               ? nn_f16_to_f32(((const uint16_t *)tensor->data)[at])
               : ((const float *)tensor->data)[at];
}

static int32_t integer_at(const struct nn_tensor *tensor, size_t at)
{
    return tensor->type == NNHAL_TENSOR_INT32
               ? ((const int32_t *)tensor->data)[at]
               : ((const int8_t *)tensor->data)[at] - tensor->zero_point;
}

static bool is_float(uint32_t type)
{
    return type == NNHAL_TENSOR_FLOAT32 || type == NNHAL_TENSOR_FLOAT16;
}

/* Rows [begin, end) of y, counted through all batches, in 32 bits. */
static void widen_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct matmul_job *job = ctx;
    const struct nn_tensor *y = &job->args->inputs[1];
    struct nn_pace_part part = {.end = begin * job->n};
    struct nn_pace pace = nn_pace(job->args->stop);
    size_t matrix = job->k * job->n;
    void *to = job->args->scratch;

    while (nn_pace_next_part(&pace, end * job->n, 5, &part))
        for (size_t at = part.begin; at < part.end; at++) {
            size_t k = at % matrix / job->n, j = at % matrix % job->n;
            size_t from = job->params->adjoint_y ? at - at % matrix + j * job->k + k : at;

            if (is_float(y->type))
                ((float *)to)[at] = real_at(y, from);
            else
                ((int32_t *)to)[at] = integer_at(y, from);
        }
}

static const void *prepare_y(struct matmul_job *job)
{
    const struct nn_tensor *y = &job->args->inputs[1];

    if (!needs_scratch(y->type, job->params->adjoint_y))
        return y->data;
    nn_parallel_for(job->args, nn_tensor_count(y) / job->n, 5 * job->n, widen_rows, job);
    return job->args->scratch;
}

/* Where x's element [row][k] lies; rows of all batches are numbered through. */
static size_t x_at(const struct matmul_job *job, size_t row, size_t k)
{
    size_t batch = row / job->m * job->m * job->k;

    return job->params->adjoint_x ? batch + k * job->m + row % job->m : row * job->k + k;
}

/* A part of the products of a row; zero before the first. */
struct matmul_range {
    size_t begin, end;
};

/* The next part for n elements, with a look before it. Returns: false at the end, or to stop. */
static bool next_range(const struct matmul_job *job, size_t n, struct nn_pace *pace,
                       struct matmul_range *range)
{
    range->begin = range->end;
    range->end = nn_min_size(job->k, range->begin + MAX_RANGE);
    return range->begin < range->end &&
           !nn_pace_ends(pace, 1 + (range->end - range->begin) * n / 4);
}

/* n elements of a row of the result. Four rows of y at a time keep the sums in
 * registers for longer; each sum still runs in the order of k. */
static void accumulate_float(const struct matmul_job *job, size_t row, const float *y, float *acc,
                             size_t n, const struct matmul_range *range)
{
    const struct nn_tensor *x = &job->args->inputs[0];
    size_t stride = job->n, k = range->begin;

    for (y += k * stride; k + 4 <= range->end; k += 4, y += 4 * stride) {
        const float x0 = real_at(x, x_at(job, row, k));
        const float x1 = real_at(x, x_at(job, row, k + 1));
        const float x2 = real_at(x, x_at(job, row, k + 2));
        const float x3 = real_at(x, x_at(job, row, k + 3));

        for (size_t c = 0; c < n; c++) {
            float sum = nn_madd_one_f32(x0, y[c], acc[c]);

            sum = nn_madd_one_f32(x1, y[stride + c], sum);
            sum = nn_madd_one_f32(x2, y[2 * stride + c], sum);
            acc[c] = nn_madd_one_f32(x3, y[3 * stride + c], sum);
        }
    }
    for (; k < range->end; k++, y += stride) {
        const float x0 = real_at(x, x_at(job, row, k));

        for (size_t c = 0; c < n; c++)
            acc[c] = nn_madd_one_f32(x0, y[c], acc[c]);
    }
}

static void accumulate_integer(const struct matmul_job *job, size_t row, const uint32_t *y,
                               uint32_t *acc, size_t n, const struct matmul_range *range)
{
    y += range->begin * job->n;
    for (size_t k = range->begin; k < range->end; k++, y += job->n) {
        const uint32_t x = (uint32_t)integer_at(&job->args->inputs[0], x_at(job, row, k));

        for (size_t c = 0; c < n; c++)
            acc[c] += x * y[c];
    }
}

/* TILE_COLUMNS columns of a matrix y, rows step elements apart. */
struct columns {
    const float *y;
    size_t step;
};

/* The columns from column j on, for n_rows rows. Where several tiles read them, they are copied: rows
 * of them follow each other then, since those of y may be so far apart that they displace each other
 * in the nearest cache. */
static struct columns columns_at(const struct matmul_job *job, size_t row, size_t n_rows, size_t j,
                                 float *packed)
{
    const float *y = (const float *)job->y + row / job->m * job->k * job->n + j;

    if (n_rows <= TILE_ROWS)
        return (struct columns){y, job->n};
    for (size_t k = 0; k < job->k; k++)
        memcpy(packed + k * TILE_COLUMNS, y + k * job->n, TILE_COLUMNS * sizeof(*y));
    return (struct columns){packed, TILE_COLUMNS};
}

/* n_rows rows, a constant where this is called, and TILE_COLUMNS columns of float32 from j on. */
NN_INLINE void tile_f32(const struct matmul_job *job, struct columns columns, size_t row, size_t j,
                        const size_t n_rows)
{
    const float *x = (const float *)job->args->inputs[0].data + row * job->k, *y = columns.y;
    float *out = (float *)job->args->outputs[0].data + row * job->n + j;
    nn_vector_f32 sums[TILE_ROWS][2];

#pragma GCC unroll 8
    for (size_t r = 0; r < n_rows; r++)
        sums[r][0] = sums[r][1] = (nn_vector_f32){0};
    for (size_t k = 0; k < job->k; k++, y += columns.step) {
        nn_vector_f32 left = nn_load_f32(y), right = nn_load_f32(y + NN_LANES_F32);

#pragma GCC unroll 8
        for (size_t r = 0; r < n_rows; r++) {
            nn_vector_f32 all = nn_splat_f32(x[r * job->k + k]);

            sums[r][0] = nn_madd_f32(all, left, sums[r][0]);
            sums[r][1] = nn_madd_f32(all, right, sums[r][1]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < n_rows; r++) {
        memcpy(out + r * job->n, &sums[r][0], sizeof(sums[r][0]));
        memcpy(out + r * job->n + NN_LANES_F32, &sums[r][1], sizeof(sums[r][1]));
    }
}

/* At most as many rows as a tile has. */
static void rows_tile(const struct matmul_job *job, struct columns columns, size_t row, size_t j,
                      size_t n)
{
    switch (n) {
    case 2:
        tile_f32(job, columns, row, j, 2);
        break;
    case 3:
        tile_f32(job, columns, row, j, 3);
        break;
    case 4:
        tile_f32(job, columns, row, j, 4);
        break;
    case 5:
        tile_f32(job, columns, row, j, 5);
        break;
    case 6:
        tile_f32(job, columns, row, j, 6);
        break;
#if NN_VARIANT_VECTOR_BYTES == 64
    case 7:
        tile_f32(job, columns, row, j, 7);
        break;
    case 8:
        tile_f32(job, columns, row, j, 8);
        break;
#endif
    }
}

/* Whole tiles of rows [begin, end) of one matrix, of equal height. A single row waits for its two
 * sums there. Returns: the columns that are done. */
static size_t tiles_f32(const struct matmul_job *job, size_t begin, size_t end, float *packed,
                        struct nn_pace *pace)
{
    size_t n_columns = job->n / TILE_COLUMNS * TILE_COLUMNS, n_rows = end - begin;
    size_t n_tiles = (n_rows + TILE_ROWS - 1) / TILE_ROWS;

    if (!has_tiles(job->args->inputs[0].type, job->params, job->k) || n_rows == 1)
        return 0;
    for (size_t j = 0; j < n_columns && !nn_pace_ends(pace, 1 + 5 * job->k); j += TILE_COLUMNS) {
        struct columns columns = columns_at(job, begin, n_rows, j, packed);

        for (size_t row = begin, i = 0; row < end; i++) {
            size_t height = (end - row + n_tiles - 1 - i) / (n_tiles - i);

            if (nn_pace_ends(pace, 1 + height * job->k * TILE_COLUMNS / 16))
                return n_columns;
            rows_tile(job, columns, row, j, height);
            row += height;
        }
    }
    return n_columns;
}

/* The columns of one row from first on. */
static void row_float(const struct matmul_job *job, size_t row, size_t first, struct nn_pace *pace)
{
    const struct nn_tensor *out = &job->args->outputs[0];
    const float *y = (const float *)job->y + row / job->m * job->k * job->n;
    float acc[NN_CHUNK];

    for (size_t j = first; j < job->n; j += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, job->n - j);

        if (nn_pace_ends(pace, 1 + n / 4))
            return;
        for (size_t c = 0; c < n; c++)
            acc[c] = 0.0f;
        for (struct matmul_range range = {0}; next_range(job, n, pace, &range);)
            accumulate_float(job, row, y + j, acc, n, &range);
        for (size_t c = 0; c < n; c++) {
            if (out->type == NNHAL_TENSOR_FLOAT16)
                ((uint16_t *)out->data)[row * job->n + j + c] = nn_f32_to_f16(acc[c]);
            else
                ((float *)out->data)[row * job->n + j + c] = acc[c];
        }
    }
}

/* One item is as many rows as a tile has: fewer would be slower. */
static void rows_float(void *ctx, size_t begin_item, size_t end_item, unsigned worker)
{
    const struct matmul_job *job = ctx;
    size_t begin = begin_item * TILE_ROWS, end = nn_min_size(end_item * TILE_ROWS, job->n_rows);
    struct nn_pace pace = nn_pace(job->args->stop);

    while (begin < end) {
        size_t stop = nn_min_size(end, (begin / job->m + 1) * job->m);
        size_t first = tiles_f32(job, begin, stop, nn_worker_scratch(job->args, worker), &pace);

        for (; begin < stop; begin++)
            row_float(job, begin, first, &pace);
    }
}

static void store_integer(const struct matmul_job *job, size_t at, int32_t acc)
{
    const struct nn_tensor *out = &job->args->outputs[0];

    if (out->type == NNHAL_TENSOR_INT32) {
        ((int32_t *)out->data)[at] = acc;
    } else {
        int64_t code = (int64_t)nn_multiplier_apply(acc, job->params->multiplier) + out->zero_point;

        ((int8_t *)out->data)[at] = (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
    }
}

static void rows_integer(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct matmul_job *job = ctx;
    struct nn_pace pace = nn_pace(job->args->stop);
    uint32_t acc[NN_CHUNK];

    for (size_t row = begin; row < end; row++) {
        const uint32_t *y = (const uint32_t *)job->y + row / job->m * job->k * job->n;

        for (size_t j = 0; j < job->n; j += NN_CHUNK) {
            size_t n = nn_min_size(NN_CHUNK, job->n - j);

            if (nn_pace_ends(&pace, 1 + n / 4))
                return;
            for (size_t c = 0; c < n; c++)
                acc[c] = 0;
            for (struct matmul_range range = {0}; next_range(job, n, &pace, &range);)
                accumulate_integer(job, row, y + j, acc, n, &range);
            for (size_t c = 0; c < n; c++)
                store_integer(job, row * job->n + j + c, (int32_t)acc[c]);
        }
    }
}

static int nn_batch_matmul(const struct nn_kernel_args *args)
{
    const struct nn_tensor *x = &args->inputs[0];
    const struct nn_tensor *out = &args->outputs[0];
    struct matmul_job job = {.args = args, .params = args->params};
    uint32_t rank = x->n_dims;

    job.m = out->dims[rank - 2];
    job.n = out->dims[rank - 1];
    job.k = x->dims[job.params->adjoint_x ? rank - 2 : rank - 1];
    job.y = prepare_y(&job);
    job.n_rows = nn_tensor_count(out) / job.n;
    if (is_float(x->type))
        nn_parallel_for(args, (job.n_rows + TILE_ROWS - 1) / TILE_ROWS,
                        TILE_ROWS * (job.n * job.k / 4 + 10), rows_float, &job);
    else
        nn_parallel_for(args, job.n_rows, job.n * job.k / 4 + 10, rows_integer, &job);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("batch_matmul_f32", BATCH_MATMUL), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct matmul_params), .lower = lower_matmul, .run = nn_batch_matmul,
     .check = check_shapes, .find_scratch = find_matmul_scratch},
    {NN_VARIANT_ROW("batch_matmul_i32", BATCH_MATMUL), .in0 = NN_T_I32 | NN_T_S8,
     .params_bytes = sizeof(struct matmul_params), .lower = lower_matmul, .run = nn_batch_matmul,
     .check = check_shapes, .find_scratch = find_matmul_scratch},
};

NN_VARIANT_FAMILY(matmul, kernels);
