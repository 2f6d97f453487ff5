/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of floats with vectors, for one filter per channel.
 *
 * A vector of channels of 8 or 4 neighboring positions is computed together: their sums stay in
 * registers, enough of them that none waits for the one before, and data that several positions need
 * is loaded once where filter and stride are constants here. So are, with a vertical stride of 1, those
 * of two rows, most of whose input is the same. Taps outside of the input are left out; between the
 * edges no position has any to the left or right.
 *
 * Channels that fill no vector are repeated in the filter where a few times do: with stride 1 the next
 * positions follow in memory under every tap, and vectors serve them, too: three of 16 lanes two
 * positions of 24 channels.
 *
 * For constant filters and float32 data in [N,H,W,C]; depthwise-c.c takes the rest. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/conv/conv.h"

#include <errno.h>
#include <string.h>

enum {
    LANES = NN_LANES_F32,
    MANY_CELLS = 8, /* vectors of a row that are computed together, */
    FEW_CELLS = 4,  /* and in short rows */
    MANY_PAIRS = LANES == 16 ? MANY_CELLS : FEW_CELLS, /* of two rows */
    MOST_ROWS = 2,
    MOST_TAPS = 5,     /* of a row of a filter whose width is a constant */
    MOST_TOGETHER = 4, /* positions that vectors serve which channels do not fill */
};

struct depthwise_f32_simd_params {
    struct nn_conv_shape shape;
    float low, high;
    uint32_t reserved;
};

/* ---- the packed form: bias, then filter, [taps][packed channels] ---- */

/* Channels are repeated until they fill vectors, if that is soon. */
static size_t packed_channels(size_t n)
{
    if (n && LANES % n == 0)
        return LANES;
    for (size_t i = 1; n > LANES && i <= MOST_TOGETHER; i++)
        if (i * n % LANES == 0)
            return i * n;
    return n;
}

static bool find_weights_bytes(const uint32_t *filter, size_t *ret_bytes)
{
    size_t rows = (size_t)filter[1] * filter[2];

    return nn_add_size(rows, 1, &rows) &&
           nn_mul_size(rows, packed_channels(filter[3]), ret_bytes) &&
           nn_mul_size(*ret_bytes, sizeof(float), ret_bytes);
}

/* n_rows rows of n_channels. */
static void pack_rows(float *to, const float *from, size_t n_rows, size_t n_channels,
                      struct nn_stop *stop)
{
    size_t n_packed = packed_channels(n_channels);
    struct nn_pace pace = nn_pace(stop);

    for (size_t row = 0; row < n_rows && !nn_pace_ends(&pace, 1); row++)
        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n_packed, 2, &part);)
            for (size_t i = part.begin; i < part.end; i++)
                to[row * n_packed + i] = from[row * n_channels + i % n_channels];
}

/* ---- lowering ---- */

static int lower_depthwise(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *bias = &lower->inputs[NN_CONV_BIAS];
    struct depthwise_f32_simd_params *params = lower->params;
    size_t n_bytes;
    float *block;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (params->shape.is_nchw || params->shape.depth_multiplier != 1 || !filter->value ||
        !bias->value || nn_lower_count(filter) == 0 || nn_conv_row_is_long(lower))
        return NN_KERNEL_E_PASS;
    if (!nn_activation_f32(params->shape.activation, &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    block = find_weights_bytes(filter->dims, &n_bytes) ? nn_lower_weights(lower, n_bytes) : NULL;
    if (!block)
        return -ENOMEM;
    pack_rows(block, bias->value, 1, filter->dims[3], lower->stop);
    pack_rows(block + packed_channels(filter->dims[3]), filter->value,
              (size_t)filter->dims[1] * filter->dims[2], filter->dims[3], lower->stop);
    return 0;
}

/* ---- running ---- */

struct depthwise_f32_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct nn_conv_sizes in, out;
    size_t filter_h, filter_w, filter_c;
    size_t together;            /* positions that the packed channels serve */
    size_t tap_step, cell_step; /* elements of the input from tap to tap, from vector to vector */
    size_t row_step;            /* from one row of taps to the next */
    size_t first, end;          /* positions of a row whose taps are all inside, left and right */
    bool has_pairs;             /* two rows share most of what is under them */
    size_t row_cost;            /* nanoseconds */
    const float *input, *bias, *filter;
    float *output;
    float low, high;
};

/* The taps of some positions, and their first vector of channels. */
struct cells_f32 {
    const float *data; /* under tap 0 of the first position; there may be nothing to read there */
    size_t first_y, end_y, first_x, end_x; /* taps that are inside */
    size_t c;                              /* the first channel */
    float *out;
};

NN_INLINE nn_vector_f32 load_lanes(const float *from, size_t n)
{
    return n == LANES ? nn_load_f32(from) : nn_load_few_f32(from, n);
}

NN_INLINE void store_lanes(float *to, nn_vector_f32 v, size_t n)
{
    if (n == LANES)
        nn_store_f32(to, v);
    else
        nn_store_few_f32(to, v, n);
}

/* Adds to the sums of n vectors in rows [first, end) what row y of the input under them gives: it is row
 * y - i of the taps of row i. ratio is how many taps lie between vectors. A vector of data is loaded once
 * for all taps and rows that meet it. */
NN_INLINE void taps_add(const struct depthwise_f32_job *job, const struct cells_f32 *at,
                        size_t lanes, size_t y, nn_vector_f32 sums[MOST_ROWS][MANY_CELLS],
                        const size_t first, const size_t end, const size_t n, const size_t filter_w,
                        const size_t ratio)
{
    const float *data = at->data + y * job->row_step + at->c;
    nn_vector_f32 w[MOST_ROWS][MOST_TAPS];

#pragma GCC unroll 2
    for (size_t i = first; i < end; i++)
#pragma GCC unroll 5
        for (size_t x = 0; x < filter_w; x++)
            w[i][x] = load_lanes(job->filter + ((y - i) * filter_w + x) * job->filter_c + at->c,
                                 lanes);
#pragma GCC unroll 19
    for (size_t at_tap = 0; at_tap < (n - 1) * ratio + filter_w; at_tap++) {
        nn_vector_f32 v = load_lanes(data + at_tap * job->tap_step, lanes);

#pragma GCC unroll 5
        for (size_t x = 0; x < filter_w; x++)
            if (at_tap >= x && (at_tap - x) % ratio == 0 && (at_tap - x) / ratio < n)
#pragma GCC unroll 2
                for (size_t i = first; i < end; i++)
                    sums[i][(at_tap - x) / ratio] = nn_madd_f32(v, w[i][x],
                                                                sums[i][(at_tap - x) / ratio]);
    }
}

/* The same of one row, for any filter, of which some taps may be outside, and any step. */
NN_INLINE void any_taps_add(const struct depthwise_f32_job *job, const struct cells_f32 *at,
                            size_t lanes, size_t y, nn_vector_f32 *sums, const size_t n)
{
    const float *data = at->data + y * job->row_step + at->c;
    const float *filter = job->filter + y * job->filter_w * job->filter_c + at->c;

    for (size_t x = at->first_x; x < at->end_x; x++) {
        nn_vector_f32 w = load_lanes(filter + x * job->filter_c, lanes);

#pragma GCC unroll 8
        for (size_t i = 0; i < n; i++)
            sums[i] = nn_madd_f32(load_lanes(data + x * job->tap_step + i * job->cell_step, lanes),
                                  w, sums[i]);
    }
}

/* n vectors of lanes channels in n_rows rows. n_rows, n, filter_w and ratio are constant where this is
 * called: filter_w is 0 for any_taps_add(). Two rows have filters as high as wide, all of whose taps are
 * inside. */
NN_INLINE void cells_run(const struct depthwise_f32_job *job, const struct cells_f32 *at,
                         size_t lanes, const size_t n_rows, const size_t n, const size_t filter_w,
                         const size_t ratio)
{
    const float low = job->low, high = job->high;
    size_t out_step = job->together * job->out.c;
    nn_vector_f32 sums[MOST_ROWS][MANY_CELLS];

#pragma GCC unroll 2
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 8
        for (size_t j = 0; j < n; j++)
            sums[i][j] = load_lanes(job->bias + at->c, lanes);
    if (n_rows > 1) {
        taps_add(job, at, lanes, 0, sums, 0, 1, n, filter_w, ratio);
#pragma GCC unroll 4
        for (size_t y = 1; y < filter_w; y++)
            taps_add(job, at, lanes, y, sums, 0, 2, n, filter_w, ratio);
        taps_add(job, at, lanes, filter_w, sums, 1, 2, n, filter_w, ratio);
    }
    for (size_t y = at->first_y; n_rows == 1 && y < at->end_y; y++)
        if (filter_w)
            taps_add(job, at, lanes, y, sums, 0, 1, n, filter_w, ratio);
        else
            any_taps_add(job, at, lanes, y, sums[0], n);
#pragma GCC unroll 2
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 8
        for (size_t j = 0; j < n; j++)
            store_lanes(at->out + i * job->out.w * job->out.c + j * out_step + at->c,
                        nn_clamp_vector_f32(sums[i][j], low, high), lanes);
}

typedef void (*cells_fn)(const struct depthwise_f32_job *job, const struct cells_f32 *at);

/* All vectors of channels of n positions in n_rows rows. */
#define CELLS(name, n_rows, n, filter_w, ratio)                                                    \
    static void NN_VARIANT_SYMBOL(name)(const struct depthwise_f32_job *job,                       \
                                        const struct cells_f32 *at)                                \
    {                                                                                              \
        const struct depthwise_f32_job local = *job; /* what is stored is not this */              \
        const size_t n_channels = local.together * local.out.c;                                    \
        struct cells_f32 cells = *at;                                                              \
                                                                                                   \
        if (n_rows == 1 && n_channels < LANES) {                                                   \
            cells_run(&local, &cells, n_channels, n_rows, n, filter_w, ratio);                     \
            return;                                                                                \
        }                                                                                          \
        for (; cells.c < n_channels; cells.c += LANES) {                                           \
            /* The last vector overlaps the one before: the same sums again. */                    \
            cells.c = nn_min_size(cells.c, n_channels - LANES);                                    \
            cells_run(&local, &cells, LANES, n_rows, n, filter_w, ratio);                          \
        }                                                                                          \
    }
#define CELLS_OF(n_rows, n, many)                                                                  \
    CELLS(cells_3x1_##many, n_rows, n, 3, 1)                                                       \
    CELLS(cells_3x2_##many, n_rows, n, 3, 2)                                                       \
    CELLS(cells_5x1_##many, n_rows, n, 5, 1)                                                       \
    CELLS(cells_5x2_##many, n_rows, n, 5, 2)
CELLS_OF(1, FEW_CELLS, few)
CELLS_OF(1, MANY_CELLS, many)
CELLS_OF(2, FEW_CELLS, few_pairs)
#if NN_VARIANT_VECTOR_BYTES == 64
CELLS_OF(2, MANY_PAIRS, many_pairs)
#endif
CELLS(cells_any_few, 1, FEW_CELLS, 0, 0)
CELLS(cells_any_many, 1, MANY_CELLS, 0, 0)

#define CELLS_FNS(many)                                                                            \
    {                                                                                              \
        NN_VARIANT_SYMBOL(cells_3x1_##many), NN_VARIANT_SYMBOL(cells_3x2_##many),                  \
            NN_VARIANT_SYMBOL(cells_5x1_##many), NN_VARIANT_SYMBOL(cells_5x2_##many),              \
    }

/* [few, many][one row, two][3 taps, 3 taps and a ratio of 2, 5 taps, 5 taps and a ratio of 2] */
static const cells_fn cells_fns[2][MOST_ROWS][4] = {
    {CELLS_FNS(few), CELLS_FNS(few_pairs)},
#if NN_VARIANT_VECTOR_BYTES == 64
    {CELLS_FNS(many), CELLS_FNS(many_pairs)},
#else /* registers are left for few */
    {CELLS_FNS(many), CELLS_FNS(few_pairs)},
#endif
};

/* For positions whose taps are all inside, left and right. Returns: NULL where there is nothing for
 * two rows. */
static cells_fn find_cells_fn(const struct depthwise_f32_job *job, size_t n_rows, bool are_many)
{
    bool is_3 = job->filter_w == 3, is_5 = job->filter_w == 5;

    if ((is_3 || is_5) && job->cell_step == job->tap_step)
        return cells_fns[are_many][n_rows - 1][is_3 ? 0 : 2];
    if ((is_3 || is_5) && job->cell_step == 2 * job->tap_step)
        return cells_fns[are_many][n_rows - 1][is_3 ? 1 : 3];
    if (n_rows > 1)
        return NULL;
    return are_many ? NN_VARIANT_SYMBOL(cells_any_many) : NN_VARIANT_SYMBOL(cells_any_few);
}

/* n vectors of channels of one position, which are enough that no sum waits for the one before; the last
 * may be the same. */
NN_INLINE void channels_run(const struct depthwise_f32_job *job, const struct cells_f32 *at,
                            const size_t n)
{
    const float low = job->low, high = job->high;
    nn_vector_f32 sums[FEW_CELLS];
    size_t c[FEW_CELLS];

#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++) {
        c[i] = nn_min_size(at->c + i * LANES, job->out.c - LANES);
        sums[i] = nn_load_f32(job->bias + c[i]);
    }
    for (size_t y = at->first_y; y < at->end_y; y++)
        for (size_t x = at->first_x; x < at->end_x; x++) {
            const float *data = at->data + y * job->row_step + x * job->tap_step;
            const float *filter = job->filter + (y * job->filter_w + x) * job->filter_c;

#pragma GCC unroll 4
            for (size_t i = 0; i < n; i++)
                sums[i] = nn_madd_f32(nn_load_f32(data + c[i]), nn_load_f32(filter + c[i]),
                                      sums[i]);
        }
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++)
        nn_store_f32(at->out + c[i], nn_clamp_vector_f32(sums[i], low, high));
}

/* All channels of a position that is computed alone. */
static void cell_run(const struct depthwise_f32_job *job, const struct cells_f32 *at)
{
    struct cells_f32 cells = *at;

    if (job->out.c < LANES) {
        cells_run(job, at, job->out.c, 1, 1, 0, 0);
        return;
    }
    for (; cells.c + 2 * LANES < job->out.c; cells.c += FEW_CELLS * LANES)
        channels_run(job, &cells, FEW_CELLS);
    if (cells.c < job->out.c)
        channels_run(job, &cells, 2);
}

/* Position x of an output row whose taps begin in row top of the input. */
static struct cells_f32 find_cells(const struct depthwise_f32_job *job, const struct cells_f32 *row,
                                   size_t x)
{
    int64_t left = (int64_t)x * job->shape->stride_w - job->shape->pad_left;
    struct cells_f32 cells = *row;

    nn_conv_taps(left, job->shape->dilation_w, job->filter_w, job->in.w, &cells.first_x,
                 &cells.end_x);
    cells.data += left * (int64_t)job->in.c;
    cells.out += x * job->out.c;
    return cells;
}

/* Position x of n_rows rows alone. */
static void apart_run(const struct depthwise_f32_job *job, const struct cells_f32 *row,
                      size_t n_rows, size_t x)
{
    struct cells_f32 cells = find_cells(job, row, x);

    for (size_t i = 0; i < n_rows; i++) {
        cell_run(job, &cells);
        cells.data += job->row_step;
        cells.out += job->out.w * job->out.c;
    }
}

/* The positions of n_rows rows between the edges. */
static void inside_run(const struct depthwise_f32_job *job, const struct cells_f32 *row,
                       size_t n_rows)
{
    size_t n_many = (n_rows > 1 ? MANY_PAIRS : MANY_CELLS) * job->together, x = job->first;
    bool are_many = job->end - job->first >= n_many;
    size_t n_group = are_many ? n_many : FEW_CELLS * job->together;
    cells_fn run = find_cells_fn(job, n_rows, are_many);

    for (; job->end - job->first >= n_group && x < job->end; x += n_group) {
        struct cells_f32 cells;

        x = nn_min_size(x, job->end - n_group); /* overlaps the group before */
        cells = find_cells(job, row, x);
        run(job, &cells);
    }
    for (; x < job->end; x++)
        apart_run(job, row, n_rows, x);
}

/* Where the taps of a row begin in its image. */
static int64_t find_top(const struct depthwise_f32_job *job, size_t row)
{
    return (int64_t)(row % job->out.h) * job->shape->stride_h - job->shape->pad_top;
}

static void rows_run(const struct depthwise_f32_job *job, size_t row, size_t n_rows)
{
    int64_t y = find_top(job, row);
    int64_t in_row = (int64_t)(row / job->out.h * job->in.h) + y;
    struct cells_f32 at = {.data = job->input + in_row * (int64_t)(job->in.w * job->in.c),
                           .out = job->output + row * job->out.w * job->out.c};

    nn_conv_taps(y, job->shape->dilation_h, job->filter_h, job->in.h, &at.first_y, &at.end_y);
    for (size_t x = 0; x < job->first; x++)
        apart_run(job, &at, n_rows, x);
    inside_run(job, &at, n_rows);
    for (size_t x = job->end; x < job->out.w; x++)
        apart_run(job, &at, n_rows, x);
}

/* How many rows are computed at once, of [row, end): two of an image, if their taps are all inside, above
 * and below. */
static size_t count_rows(const struct depthwise_f32_job *job, size_t row, size_t end)
{
    int64_t y = find_top(job, row);

    return job->has_pairs && row + 1 < end && row % job->out.h + 1 < job->out.h && y >= 0 &&
                   y + 1 + (int64_t)job->filter_h <= (int64_t)job->in.h
               ? 2
               : 1;
}

static void depthwise_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_f32_job *job = ctx;
    size_t row_elements = job->out.w * job->out.c;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin, n; row < end; row += n) {
        n = count_rows(job, row, end);
        if (nn_pace_ends(&pace, n * job->row_cost))
            return;
        rows_run(job, row, n);
        nn_epilogue_run(job->args, row * row_elements, (row + n) * row_elements);
    }
}

/* Vectors serve several positions if these follow in memory under every tap, and rows are long
 * enough. */
static void find_steps(struct depthwise_f32_job *job)
{
    const struct nn_conv_shape *shape = job->shape;
    size_t most = job->filter_c / job->out.c;

    nn_conv_inside(shape, job->filter_w, job->in.w, job->out.w, &job->first, &job->end);
    job->together = shape->stride_w == 1 && job->end - job->first >= FEW_CELLS * most ? most : 1;
    job->tap_step = (size_t)shape->dilation_w * job->in.c;
    job->cell_step = (size_t)shape->stride_w * job->in.c * job->together;
    job->row_step = (size_t)shape->dilation_h * job->in.w * job->in.c;
    job->row_cost = 1 + job->out.w * job->out.c * job->filter_h * job->filter_w / 16;
    job->has_pairs = job->row_cost < NN_PACE_NS && shape->stride_h == 1 && shape->dilation_h == 1 &&
                     job->together * job->out.c >= LANES && job->filter_h == job->filter_w &&
                     job->end - job->first >= FEW_CELLS * job->together &&
                     find_cells_fn(job, 2, false);
}

static int nn_depthwise_conv_2d_f32(const struct nn_kernel_args *args)
{
    const struct depthwise_f32_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    const float *weights = (const float *)(const void *)args->weights;
    struct depthwise_f32_job job = {.args = args,
                                    .shape = &params->shape,
                                    .in = nn_conv_sizes(input->dims, false),
                                    .out = nn_conv_sizes(args->outputs[0].dims, false),
                                    .filter_h = filter[1],
                                    .filter_w = filter[2],
                                    .filter_c = packed_channels(filter[3]),
                                    .input = input->data,
                                    .bias = weights,
                                    .filter = weights + packed_channels(filter[3]),
                                    .output = args->outputs[0].data,
                                    .low = params->low,
                                    .high = params->high};

    find_steps(&job);
    nn_parallel_for(args, job.out.n * job.out.h,
                    1 + job.out.w * job.out.c * (2 + job.filter_h * job.filter_w) / (3 * LANES),
                    depthwise_rows, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_depthwise(const struct nn_kernel_step *step)
{
    const struct depthwise_f32_simd_params *params = step->params;
    const struct nn_conv_shape *shape = &params->shape;
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[1].dims;
    size_t needed;

    return step->n_inputs >= 8 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 && shape->stride_h > 0 &&
           shape->stride_w > 0 && shape->dilation_h > 0 && shape->dilation_w > 0 &&
           shape->is_nchw == 0 && in[3] == filter[3] && step->outputs[0].dims[3] == filter[3] &&
           in[0] == step->outputs[0].dims[0] && nn_tensor_count(&step->inputs[1]) > 0 &&
           find_weights_bytes(filter, &needed) && needed <= step->weights_bytes;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("depthwise_conv_2d_f32", DEPTHWISE_CONV_2D), .in0 = NN_T_F32,
     .params_bytes = sizeof(struct depthwise_f32_simd_params), .runs_epilogue = 1,
     .lower = lower_depthwise, .run = nn_depthwise_conv_2d_f32, .check = check_depthwise},
};
NN_VARIANT_FAMILY(depthwise_f32_simd, kernels);
