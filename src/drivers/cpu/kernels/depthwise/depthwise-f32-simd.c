/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of floats with vectors, for one filter per channel.
 *
 * A vector of channels of 8 or 4 neighboring positions is computed together: their sums stay in
 * registers, enough of them that none waits for the one before, and data that several positions need
 * is loaded once where filter and stride are constants here. Taps outside of the input are left
 * out; between the edges no position has any to the left or right.
 *
 * Fewer channels than a vector has are repeated in the filter where that fills one: with stride 1
 * the next positions follow in memory under every tap, and a vector serves them all.
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
    MANY_CELLS = 8, /* that are computed together, */
    FEW_CELLS = 4,  /* and in short rows */
};

struct depthwise_f32_simd_params {
    struct nn_conv_shape shape;
    float low, high;
    uint32_t reserved;
};

/* ---- the packed form: bias, then filter, [taps][packed channels] ---- */

static size_t packed_channels(size_t n)
{
    return n && LANES % n == 0 ? LANES : n;
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
    size_t together;            /* positions that one vector serves */
    size_t tap_step, cell_step; /* elements of the input from tap to tap, from vector to vector */
    size_t row_step;            /* from one row of taps to the next */
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

/* n vectors of lanes channels. n, filter_w and ratio are constant where this is called: filter_w is 0
 * where only some taps are inside, ratio is cell_step in units of tap_step or 0. */
NN_INLINE void cells_run(const struct depthwise_f32_job *job, const struct cells_f32 *at,
                         size_t lanes, const size_t n, const size_t filter_w, const size_t ratio)
{
    size_t cell_step = ratio ? ratio * job->tap_step : job->cell_step;
    size_t first_x = filter_w ? 0 : at->first_x, end_x = filter_w ? filter_w : at->end_x;
    size_t out_step = job->together * job->out.c;
    nn_vector_f32 sums[MANY_CELLS];

#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++)
        sums[i] = load_lanes(job->bias + at->c, lanes);
    for (size_t y = at->first_y; y < at->end_y; y++) {
        const float *data = at->data + y * job->row_step + at->c;
        const float *filter = job->filter + y * job->filter_w * job->filter_c + at->c;

#pragma GCC unroll 5
        for (size_t x = first_x; x < end_x; x++) {
            nn_vector_f32 w = load_lanes(filter + x * job->filter_c, lanes);

#pragma GCC unroll 8
            for (size_t i = 0; i < n; i++)
                sums[i] = nn_madd_f32(load_lanes(data + x * job->tap_step + i * cell_step, lanes),
                                      w, sums[i]);
        }
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        nn_vector_f32 v = nn_clamp_vector_f32(sums[i], job->low, job->high);

        if (lanes == LANES)
            nn_store_f32(at->out + at->c + i * out_step, v);
        else
            nn_store_few_f32(at->out + at->c + i * out_step, v, lanes);
    }
}

typedef void (*cells_fn)(const struct depthwise_f32_job *job, const struct cells_f32 *at);

/* All vectors of channels of n positions. */
#define CELLS(name, n, filter_w, ratio)                                                            \
    static void NN_VARIANT_SYMBOL(name)(const struct depthwise_f32_job *job,                       \
                                        const struct cells_f32 *at)                                \
    {                                                                                              \
        size_t n_channels = job->together * job->out.c;                                            \
        struct cells_f32 cells = *at;                                                              \
                                                                                                   \
        if (n_channels < LANES) {                                                                  \
            cells_run(job, &cells, n_channels, n, filter_w, ratio);                                \
            return;                                                                                \
        }                                                                                          \
        for (; cells.c < n_channels; cells.c += LANES) {                                           \
            /* The last vector overlaps the one before: the same sums again. */                    \
            cells.c = nn_min_size(cells.c, n_channels - LANES);                                    \
            cells_run(job, &cells, LANES, n, filter_w, ratio);                                     \
        }                                                                                          \
    }
CELLS(cells_3x1_many_f32, MANY_CELLS, 3, 1)
CELLS(cells_3x2_many_f32, MANY_CELLS, 3, 2)
CELLS(cells_5x1_many_f32, MANY_CELLS, 5, 1)
CELLS(cells_5x2_many_f32, MANY_CELLS, 5, 2)
CELLS(cells_any_many_f32, MANY_CELLS, 0, 0)
CELLS(cells_3x1_f32, FEW_CELLS, 3, 1)
CELLS(cells_3x2_f32, FEW_CELLS, 3, 2)
CELLS(cells_5x1_f32, FEW_CELLS, 5, 1)
CELLS(cells_5x2_f32, FEW_CELLS, 5, 2)
CELLS(cells_any_f32, FEW_CELLS, 0, 0)
CELLS(cell_any_f32, 1, 0, 0)

/* [few, many][3x3, 3x3 with a stride of 2, 5x5, 5x5 with a stride of 2, any] */
static const cells_fn cells_fns[2][5] = {
    {NN_VARIANT_SYMBOL(cells_3x1_f32), NN_VARIANT_SYMBOL(cells_3x2_f32),
     NN_VARIANT_SYMBOL(cells_5x1_f32), NN_VARIANT_SYMBOL(cells_5x2_f32),
     NN_VARIANT_SYMBOL(cells_any_f32)},
    {NN_VARIANT_SYMBOL(cells_3x1_many_f32), NN_VARIANT_SYMBOL(cells_3x2_many_f32),
     NN_VARIANT_SYMBOL(cells_5x1_many_f32), NN_VARIANT_SYMBOL(cells_5x2_many_f32),
     NN_VARIANT_SYMBOL(cells_any_many_f32)},
};

/* For positions whose taps are all inside, left and right. */
static cells_fn find_cells_fn(const struct depthwise_f32_job *job, bool are_many)
{
    bool is_3 = job->filter_w == 3, is_5 = job->filter_w == 5;

    if ((is_3 || is_5) && job->cell_step == job->tap_step)
        return cells_fns[are_many][is_3 ? 0 : 2];
    if ((is_3 || is_5) && job->cell_step == 2 * job->tap_step)
        return cells_fns[are_many][is_3 ? 1 : 3];
    return cells_fns[are_many][4];
}

/* n vectors of channels of one position. */
NN_INLINE void channels_run(const struct depthwise_f32_job *job, const struct cells_f32 *at,
                            const size_t n)
{
    nn_vector_f32 sums[FEW_CELLS];

#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++)
        sums[i] = nn_load_f32(job->bias + at->c + i * LANES);
    for (size_t y = at->first_y; y < at->end_y; y++)
        for (size_t x = at->first_x; x < at->end_x; x++) {
            const float *data = at->data + y * job->row_step + x * job->tap_step + at->c;
            const float *filter = job->filter + (y * job->filter_w + x) * job->filter_c + at->c;

#pragma GCC unroll 4
            for (size_t i = 0; i < n; i++)
                sums[i] = nn_madd_f32(nn_load_f32(data + i * LANES),
                                      nn_load_f32(filter + i * LANES), sums[i]);
        }
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++)
        nn_store_f32(at->out + at->c + i * LANES,
                     nn_clamp_vector_f32(sums[i], job->low, job->high));
}

/* A position that is computed alone: vectors of channels are, in place of positions, enough that no
 * sum waits for the one before. */
static void cell_run(const struct depthwise_f32_job *job, const struct cells_f32 *at)
{
    const size_t n_together = FEW_CELLS * LANES, n_channels = job->out.c;
    struct cells_f32 cells = *at;

    if (n_channels < n_together) {
        NN_VARIANT_SYMBOL(cell_any_f32)(job, at);
        return;
    }
    for (; cells.c < n_channels; cells.c += n_together) {
        cells.c = nn_min_size(cells.c, n_channels - n_together);
        channels_run(job, &cells, FEW_CELLS);
    }
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

/* Positions [first, end), between the edges. */
static void inside_run(const struct depthwise_f32_job *job, const struct cells_f32 *row,
                       size_t first, size_t end)
{
    bool are_many = end - first >= MANY_CELLS * job->together;
    size_t n_group = (are_many ? MANY_CELLS : FEW_CELLS) * job->together, x = first;
    cells_fn run = find_cells_fn(job, are_many);

    for (; end - first >= n_group && x < end; x += n_group) {
        struct cells_f32 cells;

        x = nn_min_size(x, end - n_group); /* overlaps the group before */
        cells = find_cells(job, row, x);
        run(job, &cells);
    }
    for (; x < end; x++) {
        struct depthwise_f32_job one = *job;
        struct cells_f32 cells = find_cells(job, row, x);

        one.together = 1;
        cell_run(&one, &cells);
    }
}

static void row_run(const struct depthwise_f32_job *job, size_t row)
{
    int64_t y = (int64_t)(row % job->out.h) * job->shape->stride_h - job->shape->pad_top;
    int64_t in_row = (int64_t)(row / job->out.h * job->in.h) + y;
    struct cells_f32 at = {.data = job->input + in_row * (int64_t)(job->in.w * job->in.c),
                           .out = job->output + row * job->out.w * job->out.c};
    struct depthwise_f32_job edge = *job;
    size_t first, end;

    edge.together = 1;
    nn_conv_taps(y, job->shape->dilation_h, job->filter_h, job->in.h, &at.first_y, &at.end_y);
    nn_conv_inside(job->shape, job->filter_w, job->in.w, job->out.w, &first, &end);
    for (size_t x = 0; x < job->out.w; x++) {
        struct cells_f32 cells;

        if (x == first && end > first) {
            inside_run(job, &at, first, end);
            x = end - 1;
            continue;
        }
        cells = find_cells(&edge, &at, x);
        cell_run(&edge, &cells);
    }
}

static void depthwise_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_f32_job *job = ctx;
    size_t row_elements = job->out.w * job->out.c;
    size_t cost = 1 + row_elements * job->filter_h * job->filter_w / 16;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end && !nn_pace_ends(&pace, cost); row++) {
        row_run(job, row);
        nn_epilogue_run(job->args, row * row_elements, (row + 1) * row_elements);
    }
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
                                    .together = 1,
                                    .input = input->data,
                                    .bias = weights,
                                    .filter = weights + packed_channels(filter[3]),
                                    .output = args->outputs[0].data,
                                    .low = params->low,
                                    .high = params->high};

    if (params->shape.stride_w == 1)
        job.together = job.filter_c / job.out.c;
    job.tap_step = (size_t)params->shape.dilation_w * job.in.c;
    job.cell_step = (size_t)params->shape.stride_w * job.in.c * job.together;
    job.row_step = (size_t)params->shape.dilation_h * job.in.w * job.in.c;
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
