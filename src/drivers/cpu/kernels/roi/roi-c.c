/* SPDX-License-Identifier: Apache-2.0 */
/* ROI_ALIGN, ROI_POOLING, plain C. One item of work is one region.
 *
 * Boxes and batch indexes are copied from the application's memory and checked
 * once; what follows works on the copies. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/widen-f16.h"
#include "model/operands.h"

#include <math.h>
#include <string.h>

struct roi_params {
    float height_stride, width_stride;
    int32_t ratio_h, ratio_w; /* ROI_ALIGN: samples per cell, 0: as many as it has pixels */
    uint32_t is_nchw;
};

/* ---- regions ---- */

/* One region, divided by the strides. */
struct roi {
    float x1, y1, x2, y2;
    uint32_t batch;
};

/* An image tensor in either layout: elements from one neighbor to the next. */
struct roi_image {
    size_t n_batches, height, width, n_channels;
    size_t batch, row, column, channel;
};

static struct roi_image read_image(const uint32_t *dims, bool is_nchw)
{
    uint32_t h = is_nchw ? 2 : 1;
    struct roi_image image = {.n_batches = dims[0],
                              .height = dims[h],
                              .width = dims[h + 1],
                              .n_channels = dims[is_nchw ? 1 : 3]};

    image.column = is_nchw ? 1 : image.n_channels;
    image.row = image.column * image.width;
    image.channel = is_nchw ? image.height * image.width : 1;
    image.batch = image.height * image.width * image.n_channels;
    return image;
}

/* Written so that a NaN is refused. */
static bool is_inside(const struct roi *roi, const struct roi_image *image)
{
    return roi->x1 >= 0.0f && roi->x1 <= roi->x2 && roi->x2 <= (float)image->width &&
           roi->y1 >= 0.0f && roi->y1 <= roi->y2 && roi->y2 <= (float)image->height;
}

/* Copies and checks the regions of inputs 1 (boxes) and 2 (batch indexes). */
static int take_rois(const struct nn_kernel_args *args, const struct roi_image *image,
                     float height_stride, float width_stride, struct roi *rois)
{
    const struct nn_tensor *boxes = &args->inputs[NN_ROI_BOXES];

    for (size_t i = 0; i < boxes->dims[0]; i++) {
        float box[4];
        int32_t batch;

        memcpy(&batch, (const int32_t *)args->inputs[NN_ROI_BATCHES].data + i, sizeof(batch));
        if (batch < 0 || (uint32_t)batch >= image->n_batches)
            return nn_kernel_refuse(args, "region %zu is of batch %d of %zu", i, batch,
                                    image->n_batches);
        nn_dequantize_load(boxes, i * 4, 4, box);
        rois[i] = (struct roi){.x1 = box[0] / width_stride,
                               .y1 = box[1] / height_stride,
                               .x2 = box[2] / width_stride,
                               .y2 = box[3] / height_stride,
                               .batch = (uint32_t)batch};
        if (!is_inside(&rois[i], image))
            return nn_kernel_refuse(args, "region %zu is not inside the image", i);
    }
    return 0;
}

/* ---- lowering ---- */

static uint64_t roi_bytes(uint64_t n_rois)
{
    return (n_rois * sizeof(struct roi) + 63) / 64 * 64;
}

static void lower_roi(struct nn_lower *lower, uint32_t layout)
{
    struct roi_params *params = lower->params;

    params->height_stride = nn_lower_f32(lower, NN_ROI_HEIGHT_STRIDE, 1.0f);
    params->width_stride = nn_lower_f32(lower, NN_ROI_WIDTH_STRIDE, 1.0f);
    params->is_nchw = nn_lower_bool(lower, layout, false);
}

/* ---- ROI_ALIGN ---- */

static int lower_roi_align(struct nn_lower *lower)
{
    struct roi_params *params = lower->params;

    lower_roi(lower, NN_ROI_ALIGN_LAYOUT);
    params->ratio_h = nn_lower_i32(lower, NN_ROI_ALIGN_RATIO_H, 0);
    params->ratio_w = nn_lower_i32(lower, NN_ROI_ALIGN_RATIO_W, 0);
    return 0;
}

/* Regions, the image and the result widened; each worker's sums of a cell's channels, float or
 * int32. */
static bool find_roi_align_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct roi_params *params = step->params;

    ret->bytes = roi_bytes(step->inputs[NN_ROI_BOXES].dims[0]);
    if (step->inputs[0].type == NNHAL_TENSOR_FLOAT16)
        ret->bytes += nn_f16_copy_bytes(&step->inputs[0]) + nn_f16_copy_bytes(&step->outputs[0]);
    ret->worker_bytes = step->inputs[0].dims[params->is_nchw ? 1 : 3] * sizeof(float);
    return true;
}

static bool find_roi_pooling_scratch(const struct nn_kernel_step *step,
                                     struct nn_kernel_scratch *ret)
{
    ret->bytes = roi_bytes(step->inputs[NN_ROI_BOXES].dims[0]);
    return true;
}

struct align {
    const struct nn_kernel_args *args;
    const struct roi_params *params;
    const struct roi *rois;
    struct roi_image in, out;
    const void *data;
    void *result;
};

/* Where samples lie on one axis: cell j has n of them, spread over size from begin. */
struct axis {
    float begin, size;
    size_t n;
};

static struct axis make_axis(float begin, float end, size_t n_cells, int32_t ratio)
{
    float extent = fmaxf(end - begin, 1.0f), size = extent / (float)n_cells;

    return (struct axis){begin, size, ratio > 0 ? (size_t)ratio : (size_t)ceilf(size)};
}

/* The two pixels around a sample and how far it is from the first. */
struct between {
    size_t low, high;
    float fraction;
};

static struct between find_sample(const struct axis *axis, size_t cell, size_t i, size_t n_pixels)
{
    float step = axis->size / (float)axis->n;
    float at = axis->begin + (float)cell * axis->size + ((float)i + 0.5f) * step;
    size_t low = (size_t)fmaxf(floorf(at), 0.0f);

    if (low >= n_pixels - 1)
        return (struct between){n_pixels - 1, n_pixels - 1, 0.0f};
    return (struct between){low, low + 1, at - (float)low};
}

/* The four pixels around a sample, with their weights. */
struct corners {
    size_t offsets[4];
    float weights[4];
};

static struct corners find_corners(const struct roi_image *image, const struct between *y,
                                   const struct between *x)
{
    return (struct corners){{y->low * image->row + x->low * image->column,
                             y->low * image->row + x->high * image->column,
                             y->high * image->row + x->low * image->column,
                             y->high * image->row + x->high * image->column},
                            {(1.0f - x->fraction) * (1.0f - y->fraction),
                             x->fraction * (1.0f - y->fraction), (1.0f - x->fraction) * y->fraction,
                             x->fraction * y->fraction}};
}

typedef void (*add_fn)(const struct align *align, const struct corners *corners, size_t base,
                       void *sums);

static void add_float(const struct align *align, const struct corners *corners, size_t base,
                      void *sums)
{
    const float *in = (const float *)align->data + base;
    const float *w = corners->weights;
    float *sum = sums;

    for (size_t c = 0; c < align->in.n_channels; c++) {
        const float *at = in + c * align->in.channel;

        sum[c] += w[0] * at[corners->offsets[0]] + w[1] * at[corners->offsets[1]] +
                  w[2] * at[corners->offsets[2]] + w[3] * at[corners->offsets[3]];
    }
}

/* Weights become 255ths. A sum that does not fit wraps. */
static void add_q8(const struct align *align, const struct corners *corners, size_t base,
                   void *sums)
{
    const struct nn_tensor *input = &align->args->inputs[0];
    const uint8_t *in = (const uint8_t *)align->data + base;
    bool is_signed = input->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    uint32_t *sum = sums;

    for (int i = 0; i < 4; i++) {
        int32_t weight = (int32_t)roundf(corners->weights[i] * 255.0f);
        const uint8_t *at = in + corners->offsets[i];

        for (size_t c = 0; c < align->in.n_channels; c++) {
            uint8_t byte = at[c * align->in.channel];
            int32_t code = is_signed ? (int8_t)byte : byte;

            sum[c] += (uint32_t)(weight * (code - input->zero_point));
        }
    }
}

/* A region's samples, and the pace of the worker that adds them up. */
struct samples {
    const struct roi *roi;
    struct axis y, x;
    struct nn_pace *pace;
};

/* Adds up the samples of cell (i, j). Returns: false if it is time to stop. */
static bool sum_cell(const struct align *align, const struct samples *samples, size_t i, size_t j,
                     add_fn add, void *sums)
{
    const struct axis *ys = &samples->y, *xs = &samples->x;

    memset(sums, 0, align->in.n_channels * sizeof(float));
    for (size_t a = 0; a < ys->n; a++) {
        struct between y = find_sample(ys, i, a, align->in.height);

        for (size_t b = 0; b < xs->n; b++) {
            struct between x = find_sample(xs, j, b, align->in.width);
            struct corners corners = find_corners(&align->in, &y, &x);

            if (nn_pace_ends(samples->pace, 10 + align->in.n_channels))
                return false;
            add(align, &corners, samples->roi->batch * align->in.batch, sums);
        }
    }
    return true;
}

static void store_float(const struct align *align, size_t at, size_t n_samples, const void *sums)
{
    float *out = (float *)align->result + at;
    const float *sum = sums;

    for (size_t c = 0; c < align->out.n_channels; c++)
        out[c * align->out.channel] = sum[c] / (float)n_samples;
}

/* What a sum of 255ths is worth in output codes. */
static float q8_factor(const struct align *align, size_t n_samples)
{
    return align->args->inputs[0].scale / 255.0f / align->args->outputs[0].scale / (float)n_samples;
}

static void store_q8(const struct align *align, size_t at, size_t n_samples, const void *sums)
{
    const struct nn_tensor *output = &align->args->outputs[0];
    struct nn_multiplier factor = nn_multiplier_make((double)q8_factor(align, n_samples));
    bool is_signed = output->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    uint8_t *out = (uint8_t *)align->result + at;
    const int32_t *sum = sums;

    for (size_t c = 0; c < align->out.n_channels; c++) {
        int32_t code = nn_multiplier_apply(sum[c], factor) + output->zero_point;

        out[c * align->out.channel] = (uint8_t)nn_clamp_i32(code, low, high);
    }
}

static struct samples make_samples(const struct align *align, const struct roi *roi)
{
    return (struct samples){roi,
                            make_axis(roi->y1, roi->y2, align->out.height, align->params->ratio_h),
                            make_axis(roi->x1, roi->x2, align->out.width, align->params->ratio_w)};
}

typedef void (*store_fn)(const struct align *align, size_t at, size_t n_samples, const void *sums);

static void align_rois(const struct align *align, size_t begin, size_t end, void *sums, add_fn add,
                       store_fn store)
{
    struct nn_pace pace = nn_pace(align->args->stop);

    for (size_t r = begin; r < end; r++) {
        struct samples samples = make_samples(align, &align->rois[r]);

        samples.pace = &pace;
        for (size_t i = 0; i < align->out.height; i++)
            for (size_t j = 0; j < align->out.width; j++) {
                if (!sum_cell(align, &samples, i, j, add, sums))
                    return;
                store(align, r * align->out.batch + i * align->out.row + j * align->out.column,
                      samples.y.n * samples.x.n, sums);
            }
    }
}

static void align_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct align *align = ctx;

    align_rois(align, begin, end, nn_worker_scratch(align->args, worker), add_float, store_float);
}

static void align_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct align *align = ctx;

    align_rois(align, begin, end, nn_worker_scratch(align->args, worker), add_q8, store_q8);
}

static int take_align(const struct nn_kernel_args *args, struct align *align)
{
    const struct roi_params *params = args->params;
    struct roi *rois = (struct roi *)(void *)args->scratch;

    *align = (struct align){
        .args = args,
        .params = params,
        .rois = rois,
        .in = read_image(args->inputs[0].dims, params->is_nchw),
        .out = read_image(args->outputs[0].dims, params->is_nchw),
        .data = args->inputs[0].data,
        .result = args->outputs[0].data,
    };
    return take_rois(args, &align->in, params->height_stride, params->width_stride, rois);
}

static int run_align(struct align *align, nn_range_fn fn)
{
    size_t cost = align->out.height * align->out.width * align->in.n_channels * 8;

    nn_parallel_for(align->args, align->out.n_batches, 1 + cost, fn, align);
    return 0;
}

static int nn_roi_align_float__c(const struct nn_kernel_args *args)
{
    struct nn_f16_scratch wide = {args->scratch + roi_bytes(args->inputs[NN_ROI_BOXES].dims[0]),
                                  args->stop};
    struct align align;
    int r = take_align(args, &align);

    if (r)
        return r;
    align.data = nn_f16_input(&wide, &args->inputs[0]);
    align.result = nn_f16_output(&wide, &args->outputs[0]);
    r = run_align(&align, align_f32);
    nn_f16_store(&args->outputs[0], align.result, args->stop);
    return r;
}

static int nn_roi_align_q8__c(const struct nn_kernel_args *args)
{
    struct align align;
    int r = take_align(args, &align);

    if (r)
        return r;
    for (size_t i = 0; i < align.out.n_batches; i++) {
        const struct samples samples = make_samples(&align, &align.rois[i]);

        if (!(q8_factor(&align, samples.y.n * samples.x.n) < 1.0f))
            return nn_kernel_refuse(args, "the output's scale is too small for region %zu", i);
    }
    return run_align(&align, align_q8);
}

/* ---- ROI_POOLING ---- */

static int lower_roi_pooling(struct nn_lower *lower)
{
    lower_roi(lower, NN_ROI_POOLING_LAYOUT);
    return 0;
}

struct pixels {
    size_t begin, end;
};

/* The pixels of cell i of n_cells along one axis, from begin to end (inclusive). */
static struct pixels pool_range(float begin, float end, size_t i, size_t n_cells, size_t n_pixels)
{
    float first = roundf(begin), extent = fmaxf(roundf(end) - first + 1.0f, 1.0f);
    float size = extent / (float)n_cells, most = (float)n_pixels;

    return (struct pixels){(size_t)fminf(first + floorf((float)i * size), most),
                           (size_t)fminf(first + ceilf((float)(i + 1) * size), most)};
}

/* MAX is the larger of two elements as they are stored; EMPTY is a real 0. */
#define DEFINE_POOL(name, type, IS_LARGER, EMPTY)                                                  \
    static void name(const struct align *pool, const struct roi *roi, size_t i, size_t j,          \
                     size_t at, struct nn_pace *pace)                                              \
    {                                                                                              \
        const type *in = (const type *)pool->data + roi->batch * pool->in.batch;                   \
        type *out = (type *)pool->result + at;                                                     \
        struct pixels ys = pool_range(roi->y1, roi->y2, i, pool->out.height, pool->in.height);     \
        struct pixels xs = pool_range(roi->x1, roi->x2, j, pool->out.width, pool->in.width);       \
                                                                                                   \
        for (size_t c = 0; c < pool->in.n_channels; c++) {                                         \
            const type *channel = in + c * pool->in.channel;                                       \
            type best = (type)(EMPTY);                                                             \
            bool is_first = true;                                                                  \
                                                                                                   \
            for (size_t y = ys.begin; y < ys.end && !nn_pace_ends(pace, 2 + xs.end - xs.begin);    \
                 y++)                                                                              \
                for (size_t x = xs.begin; x < xs.end; x++) {                                       \
                    type here = channel[y * pool->in.row + x * pool->in.column];                   \
                                                                                                   \
                    if (is_first || IS_LARGER(here, best))                                         \
                        best = here;                                                               \
                    is_first = false;                                                              \
                }                                                                                  \
            out[c * pool->out.channel] = best;                                                     \
        }                                                                                          \
    }

#define PLAIN_LARGER(a, b) ((a) > (b))
#define HALF_LARGER(a, b)  (nn_f16_to_f32(a) > nn_f16_to_f32(b))

DEFINE_POOL(pool_f32, float, PLAIN_LARGER, 0.0f)
DEFINE_POOL(pool_f16, uint16_t, HALF_LARGER, 0)
DEFINE_POOL(pool_u8, uint8_t, PLAIN_LARGER, pool->args->inputs[0].zero_point)
DEFINE_POOL(pool_s8, int8_t, PLAIN_LARGER, pool->args->inputs[0].zero_point)

static void pool_rois(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct align *pool = ctx;
    struct nn_pace pace = nn_pace(pool->args->stop);

    for (size_t r = begin; r < end; r++)
        for (size_t i = 0; i < pool->out.height; i++)
            for (size_t j = 0; j < pool->out.width; j++) {
                size_t at = r * pool->out.batch + i * pool->out.row + j * pool->out.column;

                switch (pool->args->inputs[0].type) {
                case NNHAL_TENSOR_FLOAT32:
                    pool_f32(pool, &pool->rois[r], i, j, at, &pace);
                    break;
                case NNHAL_TENSOR_FLOAT16:
                    pool_f16(pool, &pool->rois[r], i, j, at, &pace);
                    break;
                case NNHAL_TENSOR_QUANT8_ASYMM:
                    pool_u8(pool, &pool->rois[r], i, j, at, &pace);
                    break;
                default:
                    pool_s8(pool, &pool->rois[r], i, j, at, &pace);
                }
            }
}

static int nn_roi_pooling__c(const struct nn_kernel_args *args)
{
    struct align pool;
    int r = take_align(args, &pool);

    if (r)
        return r;
    return run_align(&pool, pool_rois);
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("roi_align_float__c", ROI_ALIGN), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct roi_params), .lower = lower_roi_align,
     .find_scratch = find_roi_align_scratch, .run = nn_roi_align_float__c},
    {NN_ROW("roi_align_q8__c", ROI_ALIGN), .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct roi_params), .lower = lower_roi_align,
     .find_scratch = find_roi_align_scratch, .run = nn_roi_align_q8__c},
    {NN_ROW("roi_pooling__c", ROI_POOLING), .params_bytes = sizeof(struct roi_params),
     .lower = lower_roi_pooling, .find_scratch = find_roi_pooling_scratch,
     .run = nn_roi_pooling__c},
};
NN_KERNEL_FAMILY(roi, kernels);
