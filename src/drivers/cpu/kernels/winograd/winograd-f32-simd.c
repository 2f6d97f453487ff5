/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D of floats by Winograd's F(2x2,3x3): 16 products for 4 results, not 36.
 *
 * The output is cut into squares of 2x2, each of which reads a square d of 4x4 cells of the image.
 * With g, a filter of 3x3,
 *
 *     result = A' ((G g G') * (B' d B)) A        * element by element, summed over all channels
 *
 *     B' = 1  0 -1  0     G = 1    0    0     A' = 1  1  1  0
 *          0  1  1  0         1/2  1/2  1/2        0  1 -1 -1
 *          0 -1  1  0         1/2 -1/2  1/2
 *          0  1  0 -1         0    0    1
 *
 * so that each of the 16 elements, a point here, is a multiplication of matrices: squares x channels
 * by channels x results (gemm-f32-simd.h). Filters are transformed when they are packed. A chunk of
 * squares passes all three stages in a worker's scratch, and a band, whole rows of squares, is what
 * threads share: it ends with the epilogue.
 *
 * Bits differ from those of the direct sum, by less than one in 10^6 of the largest result. An
 * infinite number or a NaN spoils all results of the squares that read it. So where it is done does not
 * depend on time, threads or passes, but on the shape alone: takes().
 *
 * For constant filters and data that the model has in [N,H,W,C]; conv-f32-simd.c takes the rest. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/conv/image.h"
#include "drivers/cpu/kernels/gemm/gemm-f32-simd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = NN_LANES_F32,
    SIDE = 4,  /* of a square of the image */
    FRESH = 2, /* of one of the output */
    POINTS = SIDE * SIDE,
    TAPS = 3,
    LEAST_CHANNELS = 16, /* below, transformations cost what the products save */
    LEAST_SQUARES = 16,  /* below, all time goes into reading the filters, which are larger */
    LEAST_CHUNK = 12,
    MOST_CHUNK = 96,
    CHUNK_FLOATS = 3072, /* of a point: a chunk's data and results stay in the second cache */
    ALIGNMENT = 64,
    APART = ALIGNMENT / sizeof(float), /* between points, which displace each other else */
};

struct winograd_params {
    struct nn_conv_shape shape;
    float low, high;
    uint32_t reserved;
};

/* ---- geometry ---- */

static const struct nn_conv_element element = {sizeof(float), 1, false};

static size_t count_squares(const uint32_t *out)
{
    return (size_t)((out[1] + FRESH - 1) / FRESH) * ((out[2] + FRESH - 1) / FRESH);
}

/* The static rule. Padding is no part of it: a PAD before the convolution changes no bit. */
static bool takes(const struct nn_conv_shape *shape, const uint32_t *filter, const uint32_t *out)
{
    return nn_conv_has_image(shape) && shape->depth_multiplier == 0 && shape->stride_h == 1 &&
           shape->stride_w == 1 && shape->dilation_h == 1 && shape->dilation_w == 1 &&
           filter[1] == TAPS && filter[2] == TAPS && filter[0] >= LEAST_CHANNELS &&
           filter[3] >= LEAST_CHANNELS && out[0] * count_squares(out) >= LEAST_SQUARES;
}

/* What a worker computes at once. */
struct winograd_chunk {
    size_t n_squares;
    size_t data_step, sums_step; /* floats between points */
    size_t n_floats;
};

static bool find_chunk(const uint32_t *filter, struct winograd_chunk *ret)
{
    size_t n_columns = filter[0], n_channels = filter[3];
    size_t n = CHUNK_FLOATS / (n_channels + n_columns);

    n = n < LEAST_CHUNK ? LEAST_CHUNK : nn_min_size(n, MOST_CHUNK);
    ret->n_squares = n;
    return nn_mul_size(n, n_channels, &ret->data_step) &&
           nn_add_size(ret->data_step, APART, &ret->data_step) &&
           nn_mul_size(n, n_columns, &ret->sums_step) &&
           nn_add_size(ret->sums_step, APART, &ret->sums_step) &&
           nn_add_size(ret->data_step, ret->sums_step, &ret->n_floats) &&
           nn_mul_size(ret->n_floats, POINTS, &ret->n_floats);
}

/* The packed form: the bias, then the filters of each point. */
struct winograd_weights {
    size_t bias_bytes, point_bytes, bytes;
};

static bool find_weights(const uint32_t *filter, struct winograd_weights *ret)
{
    return nn_mul_size(filter[0], sizeof(float), &ret->bias_bytes) &&
           nn_align_up(ret->bias_bytes, ALIGNMENT, &ret->bias_bytes) &&
           nn_gemm_f32_simd_bytes(filter[0], filter[3], &ret->point_bytes) &&
           nn_align_up(ret->point_bytes, ALIGNMENT, &ret->point_bytes) &&
           nn_mul_size(ret->point_bytes, POINTS, &ret->bytes) &&
           nn_add_size(ret->bytes, ret->bias_bytes, &ret->bytes);
}

/* The image for all squares: its sides are even. */
static bool find_image(const struct nn_conv_shape *shape, const uint32_t *in,
                       const uint32_t *filter, const uint32_t *out, struct nn_conv_image *ret)
{
    const uint32_t even[] = {out[0], out[1] + out[1] % FRESH, out[2] + out[2] % FRESH, out[3]};

    return nn_conv_find_image(shape, in, filter, even, element, ret);
}

/* ---- lowering ---- */

/* One point of all filters, [columns][channels]. */
static void transform_filters(float *to, const struct nn_lower_operand *filter, size_t point)
{
    static const float g[SIDE][TAPS] = {
        {1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
    const float *down = g[point / SIDE], *across = g[point % SIDE], *from = filter->value;
    size_t n_channels = filter->dims[3];

    for (size_t n = 0; n < filter->dims[0]; n++, to += n_channels)
        for (size_t tap = 0; tap < TAPS * TAPS; tap++, from += n_channels) {
            float factor = down[tap / TAPS] * across[tap % TAPS];

            for (size_t c = 0; c < n_channels; c++)
                to[c] = factor * from[c] + (tap ? to[c] : 0.0f);
        }
}

static int lower_weights(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    size_t n_columns = filter->dims[0], n_channels = filter->dims[3];
    float *zeros = calloc(n_columns, sizeof(float));
    size_t n_bytes = 0;
    float *transformed = nn_mul_size(n_columns, n_channels, &n_bytes) &&
                                 nn_mul_size(n_bytes, sizeof(float), &n_bytes)
                             ? malloc(n_bytes)
                             : NULL;
    struct nn_gemm_f32_source source = {.weights = transformed,
                                        .n_step = n_channels,
                                        .k_step = 1,
                                        .bias = zeros,
                                        .n_columns = n_columns,
                                        .n_k = n_channels};
    struct winograd_weights sizes;
    uint8_t *block = NULL;

    if (transformed && zeros && find_weights(filter->dims, &sizes))
        block = nn_lower_weights(lower, sizes.bytes);
    if (block)
        memcpy(block, lower->inputs[NN_CONV_BIAS].value, n_columns * sizeof(float));
    for (size_t i = 0; block && i < POINTS && !nn_stop_look(lower->stop); i++) {
        transform_filters(transformed, filter, i);
        nn_gemm_f32_simd_pack((void *)(block + sizes.bias_bytes + i * sizes.point_bytes), &source,
                              lower->stop);
    }
    free(transformed);
    free(zeros);
    return block ? 0 : -ENOMEM;
}

static int lower_winograd(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    struct winograd_params *params = lower->params;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (lower->was_nchw || !filter->value || !lower->inputs[NN_CONV_BIAS].value ||
        !takes(&params->shape, filter->dims, lower->outputs[0].dims))
        return NN_KERNEL_E_PASS;
    if (!nn_activation_f32(params->shape.activation, &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    return lower_weights(lower);
}

/* ---- running ---- */

struct winograd_job {
    const struct nn_kernel_args *args;
    const struct winograd_params *params;
    struct nn_conv_image image;
    struct nn_conv_sizes out;
    struct winograd_weights weights;
    size_t n_across, n_down; /* squares of an image */
    size_t n_bands;          /* of an image */
    struct winograd_chunk chunk;
    const float *data; /* the image */
};

/* Squares [first, end) of the rows of squares of one image, numbered through from row on. */
struct chunk {
    size_t image, row, first, end;
    float *data, *sums; /* [POINTS][squares][channels], [POINTS][squares][columns] */
};

/* B' v or, from the other side, v B: of four vectors. */
NN_INLINE void combine_data(nn_vector_f32 to[SIDE], nn_vector_f32 a, nn_vector_f32 b,
                            nn_vector_f32 c, nn_vector_f32 d)
{
    to[0] = a - c;
    to[1] = b + c;
    to[2] = c - b;
    to[3] = b - d;
}

/* The points of LANES channels of a square, point_step elements apart. */
NN_INLINE void square_transform(const struct nn_conv_image *image, const float *from, float *to,
                                size_t point_step)
{
    nn_vector_f32 rows[SIDE][SIDE];

#pragma GCC unroll 4
    for (size_t y = 0; y < SIDE; y++, from += image->w * image->c)
        combine_data(rows[y], nn_load_f32(from), nn_load_f32(from + image->c),
                     nn_load_f32(from + 2 * image->c), nn_load_f32(from + 3 * image->c));
#pragma GCC unroll 4
    for (size_t x = 0; x < SIDE; x++) {
        nn_vector_f32 points[SIDE];

        combine_data(points, rows[0][x], rows[1][x], rows[2][x], rows[3][x]);
#pragma GCC unroll 4
        for (size_t y = 0; y < SIDE; y++)
            nn_store_f32(to + (y * SIDE + x) * point_step, points[y]);
    }
}

/* Where a vector begins, of n elements in all: the last may overlap the one before. */
static size_t vector_at(size_t i, size_t n)
{
    return nn_min_size(i, n - LANES);
}

static void chunk_transform(const struct winograd_job *job, const struct chunk *chunk)
{
    const struct nn_conv_image *image = &job->image;
    size_t n_channels = image->c;

    for (size_t i = chunk->first; i < chunk->end; i++) {
        size_t y = (chunk->row + i / job->n_across) * FRESH, x = i % job->n_across * FRESH;
        const float *from = job->data + ((chunk->image * image->h + y) * image->w + x) * n_channels;
        float *to = chunk->data + (i - chunk->first) * n_channels;

        for (size_t c = 0; c < n_channels; c += LANES)
            square_transform(image, from + vector_at(c, n_channels), to + vector_at(c, n_channels),
                             job->chunk.data_step);
    }
}

/* The products of one point. */
static void point_multiply(const struct winograd_job *job, const struct chunk *chunk, size_t point)
{
    const uint8_t *block = job->args->weights + job->weights.bias_bytes +
                           point * job->weights.point_bytes;
    size_t n_columns = job->out.c, n_channels = job->image.c, n = chunk->end - chunk->first;
    struct nn_gemm_f32_simd gemm = nn_gemm_f32_simd_use((const void *)block, n_columns);
    size_t n_tiles = (n + NN_GEMM_F32_SIMD_ROWS - 1) / NN_GEMM_F32_SIMD_ROWS;
    float *data = chunk->data + point * job->chunk.data_step,
          *sums = chunk->sums + point * job->chunk.sums_step;
    struct nn_gemm_f32_tile tiles[MOST_CHUNK];

    gemm.segments = (struct nn_gemm_segments){.n_rows = 1, .n_taps = 1, .n_elements = n_channels};
    gemm.low = -INFINITY;
    gemm.high = INFINITY;
    for (size_t i = 0, first = 0; i < n_tiles; i++) {
        size_t height = (n - first + n_tiles - i - 1) / (n_tiles - i);

        tiles[i] = (struct nn_gemm_f32_tile){data + first * n_channels, n_channels, height,
                                             sums + first * n_columns};
        first += height;
    }
    nn_gemm_f32_simd_run(&gemm, tiles, n_tiles, 0, n_columns, job->args->stop);
}

/* A' v or v A. */
NN_INLINE void combine_sums(nn_vector_f32 to[FRESH], nn_vector_f32 a, nn_vector_f32 b,
                            nn_vector_f32 c, nn_vector_f32 d)
{
    to[0] = a + b + c;
    to[1] = b - c - d;
}

/* The results of LANES columns of a square. */
NN_INLINE void square_finish(const float *sums, size_t point_step, nn_vector_f32 to[FRESH][FRESH])
{
    nn_vector_f32 rows[SIDE][FRESH];

#pragma GCC unroll 4
    for (size_t y = 0; y < SIDE; y++, sums += SIDE * point_step)
        combine_sums(rows[y], nn_load_f32(sums), nn_load_f32(sums + point_step),
                     nn_load_f32(sums + 2 * point_step), nn_load_f32(sums + 3 * point_step));
#pragma GCC unroll 2
    for (size_t x = 0; x < FRESH; x++) {
        nn_vector_f32 column[FRESH];

        combine_sums(column, rows[0][x], rows[1][x], rows[2][x], rows[3][x]);
        to[0][x] = column[0];
        to[1][x] = column[1];
    }
}

static void chunk_finish(const struct winograd_job *job, const struct chunk *chunk)
{
    const float *bias = (const void *)job->args->weights;
    size_t n_columns = job->out.c;

    for (size_t i = chunk->first; i < chunk->end; i++) {
        size_t y = (chunk->row + i / job->n_across) * FRESH, x = i % job->n_across * FRESH;
        size_t n_down = nn_min_size(FRESH, job->out.h - y),
               n_right = nn_min_size(FRESH, job->out.w - x);
        const float *sums = chunk->sums + (i - chunk->first) * n_columns;
        float *out = (float *)job->args->outputs[0].data +
                     ((chunk->image * job->out.h + y) * job->out.w + x) * n_columns;

        for (size_t n = 0; n < n_columns; n += LANES) {
            size_t at = vector_at(n, n_columns);
            nn_vector_f32 results[FRESH][FRESH];

            square_finish(sums + at, job->chunk.sums_step, results);
            for (size_t k = 0; k < n_down; k++)
                for (size_t j = 0; j < n_right; j++)
                    nn_store_f32(out + (k * job->out.w + j) * n_columns + at,
                                 nn_clamp_vector_f32(results[k][j] + nn_load_f32(bias + at),
                                                     job->params->low, job->params->high));
        }
    }
}

/* An item is a band. */
static void winograd_bands(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct winograd_job *job = ctx;
    float *scratch = nn_worker_scratch(job->args, worker);
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t band = item % job->n_bands, first = band * job->n_down / job->n_bands;
        size_t stop = (band + 1) * job->n_down / job->n_bands;
        struct chunk chunk = {.image = item / job->n_bands,
                              .row = first,
                              .data = scratch,
                              .sums = scratch + POINTS * job->chunk.data_step};
        size_t n_squares = (stop - first) * job->n_across, row = chunk.image * job->out.h;
        size_t row_elements = job->out.w * job->out.c;

        for (; chunk.first < n_squares; chunk.first = chunk.end) {
            chunk.end = nn_min_size(chunk.first + job->chunk.n_squares, n_squares);
            chunk_transform(job, &chunk);
            for (size_t i = 0; i < POINTS; i++)
                point_multiply(job, &chunk, i);
            chunk_finish(job, &chunk);
            if (nn_pace_ends(&pace, job->chunk.n_squares * job->out.c * job->image.c / 2))
                return;
        }
        nn_epilogue_run(job->args, (row + first * FRESH) * row_elements,
                        (row + nn_min_size(stop * FRESH, job->out.h)) * row_elements);
    }
}

/* Of about a chunk each, and two at least. */
static size_t find_bands(const struct winograd_job *job)
{
    size_t n = job->n_down * job->n_across / job->chunk.n_squares;

    return nn_min_size(n < 2 ? 2 : n, job->n_down);
}

static int nn_winograd_f32(const struct nn_kernel_args *args)
{
    const uint32_t *in = args->inputs[NN_CONV_INPUT].dims, *out = args->outputs[0].dims;
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct winograd_job job = {
        .args = args, .params = args->params, .out = nn_conv_sizes(out, false)};

    if (!find_image(&job.params->shape, in, filter, out, &job.image) ||
        !find_weights(filter, &job.weights) || !find_chunk(filter, &job.chunk))
        return -ENOMEM;
    job.n_down = (job.out.h + FRESH - 1) / FRESH;
    job.n_across = (job.out.w + FRESH - 1) / FRESH;
    job.n_bands = find_bands(&job);
    job.data = nn_conv_image_f32(args, &job.image);
    /* At least 8 products a nanosecond. */
    nn_parallel_for(args, job.out.n * job.n_bands,
                    1 + count_squares(out) * POINTS * (filter[3] * filter[0] / 8 + filter[0]) /
                            job.n_bands,
                    winograd_bands, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_winograd(const struct nn_kernel_step *step)
{
    const struct winograd_params *params = step->params;
    const uint32_t *filter = step->inputs[NN_CONV_FILTER].dims, *out = step->outputs[0].dims;
    struct winograd_weights weights;
    struct nn_conv_image image;

    return nn_conv_has_dims(step, &params->shape) && takes(&params->shape, filter, out) &&
           find_image(&params->shape, step->inputs[0].dims, filter, out, &image) &&
           find_weights(filter, &weights) && weights.bytes <= step->weights_bytes;
}

static bool find_winograd_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct winograd_params *params = step->params;
    const uint32_t *filter = step->inputs[NN_CONV_FILTER].dims;
    struct winograd_chunk chunk;
    struct nn_conv_image image;

    if (!find_image(&params->shape, step->inputs[0].dims, filter, step->outputs[0].dims, &image) ||
        !find_chunk(filter, &chunk) ||
        !nn_mul_size(chunk.n_floats, sizeof(float), &ret->worker_bytes))
        return false;
    ret->bytes = image.bytes;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("conv_2d_winograd_f32", CONV_2D), .in0 = NN_T_F32,
     .params_bytes = sizeof(struct winograd_params), .runs_epilogue = 1, .lower = lower_winograd,
     .run = nn_winograd_f32, .check = check_winograd, .find_scratch = find_winograd_scratch},
};
NN_VARIANT_FAMILY(winograd_f32_simd, kernels);
