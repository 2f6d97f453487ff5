/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, plain C.
 *
 * Where output rows and columns come from is worked out once per run, for each
 * axis by itself; then one item of work is one row of output. An NCHW image is
 * N * C images of one channel.
 * The arithmetic is NNAPI's: float, in the order of the reference's sums; signed codes are unsigned
 * ones that are 128 lower. TensorFlow Lite's kernel for int8 takes steps of 1024ths instead, and is
 * up to 200 codes away on large images. */
#include "base/arith.h"
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct resize_params {
    uint32_t is_nchw;
    uint32_t aligns_corners;
    uint32_t has_half_pixels;
};

/* Where one row or column of the output comes from. */
struct tap {
    uint32_t low, high; /* rows or columns of the input */
    float fraction;     /* of the way from low to high */
};

struct resize_job {
    const struct nn_kernel_args *args;
    const void *in;
    void *out;
    uint32_t in_h, in_w, out_h, out_w, n_channels;
    const struct tap *rows, *columns;
    size_t element_bytes;
};

/* Two rows of an image, as float. */
static uint64_t row_bytes(const uint32_t *dims, bool is_nchw)
{
    uint64_t n = is_nchw ? dims[3] : (uint64_t)dims[2] * dims[3];

    return 2 * n * sizeof(float);
}

static int lower_resize(struct nn_lower *lower)
{
    struct resize_params *params = lower->params;

    params->is_nchw = nn_lower_bool(lower, NN_RESIZE_LAYOUT, false);
    params->aligns_corners = nn_lower_bool(lower, NN_RESIZE_ALIGN_CORNERS, false);
    params->has_half_pixels = nn_lower_bool(lower, NN_RESIZE_HALF_PIXELS, false);
    return 0;
}

static bool find_resize_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct resize_params *params = step->params;
    const uint32_t *out = step->outputs[0].dims;

    if (step->inputs[0].type == NNHAL_TENSOR_FLOAT16)
        ret->worker_bytes = row_bytes(step->inputs[0].dims, params->is_nchw);
    return nn_mul_size((size_t)out[1] + out[2] + out[3], sizeof(struct tap), &ret->bytes);
}

/* ---- taps ---- */

/* Input units per output unit. */
static float axis_scale(const struct resize_params *params, uint32_t in, uint32_t out)
{
    if (params->aligns_corners && out > 1)
        return (float)(in - 1) / (float)(out - 1);
    return (float)in / (float)out;
}

static uint32_t clamp_index(int64_t index, uint32_t n)
{
    return (uint32_t)(index < 0 ? 0 : index >= n ? n - 1 : index);
}

static void make_float_taps(const struct resize_params *params, uint32_t in, uint32_t out,
                            struct tap *taps, struct nn_pace *pace)
{
    float scale = axis_scale(params, in, out);

    for (uint32_t i = 0; i < out && !nn_pace_ends(pace, 10); i++) {
        float at = params->has_half_pixels ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;

        taps[i].low = clamp_index((int64_t)floorf(at), in);
        taps[i].high = clamp_index((int64_t)ceilf(at), in);
        taps[i].fraction = at - (float)taps[i].low;
    }
}

static void make_nearest_taps(const struct resize_params *params, uint32_t in, uint32_t out,
                              struct tap *taps, struct nn_pace *pace)
{
    float scale = axis_scale(params, in, out);

    for (uint32_t i = 0; i < out && !nn_pace_ends(pace, 10); i++) {
        float at = ((float)i + (params->has_half_pixels ? 0.5f : 0.0f)) * scale;

        taps[i].low = clamp_index((int64_t)(params->aligns_corners ? roundf(at) : floorf(at)), in);
    }
}

typedef void (*taps_fn)(const struct resize_params *params, uint32_t in, uint32_t out,
                        struct tap *taps, struct nn_pace *pace);

/* Fills the job and runs rows over every row of every image. */
static int run_rows(const struct nn_kernel_args *args, taps_fn make_taps, nn_range_fn rows,
                    size_t element_cost)
{
    const struct resize_params *params = args->params;
    const uint32_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
    uint32_t h = params->is_nchw ? 2 : 1;
    struct tap *taps = (struct tap *)(void *)args->scratch;
    struct nn_pace pace = nn_pace(args->stop);
    struct resize_job job = {
        .args = args,
        .in = args->inputs[0].data,
        .out = args->outputs[0].data,
        .in_h = in[h],
        .in_w = in[h + 1],
        .out_h = out[h],
        .out_w = out[h + 1],
        .n_channels = params->is_nchw ? 1 : in[3],
        .rows = taps,
        .columns = taps + out[h],
        .element_bytes = nn_type_bytes(args->inputs[0].type),
    };
    size_t n_images = params->is_nchw ? (size_t)in[0] * in[1] : in[0];

    make_taps(params, job.in_h, job.out_h, taps, &pace);
    make_taps(params, job.in_w, job.out_w, taps + job.out_h, &pace);
    nn_parallel_for(args, n_images * job.out_h,
                    1 + (size_t)job.out_w * job.n_channels * element_cost, rows, &job);
    return 0;
}

/* ---- bilinear ---- */

/* Offsets, in elements, of the two input rows of an output row, counted through all images. */
static void input_rows(const struct resize_job *job, size_t row, size_t *ret_low, size_t *ret_high)
{
    size_t image = row / job->out_h, row_elements = (size_t)job->in_w * job->n_channels;
    const struct tap *tap = &job->rows[row % job->out_h];

    *ret_low = (image * job->in_h + tap->low) * row_elements;
    *ret_high = (image * job->in_h + tap->high) * row_elements;
}

/* Channels between two looks whether to stop. */
enum { PIECE = 4096 };

/* LOAD widens an element, STORE makes one; the products and their sum are in
 * the reference's order. */
#define DEFINE_BILINEAR(name, type, LOAD, STORE)                                                   \
    static void name(void *ctx, size_t begin, size_t end, unsigned worker)                         \
    {                                                                                              \
        const struct resize_job *job = ctx;                                                        \
        struct nn_pace pace = nn_pace(job->args->stop);                                            \
        size_t n = job->n_channels;                                                                \
                                                                                                   \
        for (size_t row = begin; row < end; row++) {                                               \
            float fy = job->rows[row % job->out_h].fraction;                                       \
            type *out = (type *)job->out + row * job->out_w * n;                                   \
            size_t low, high;                                                                      \
                                                                                                   \
            input_rows(job, row, &low, &high);                                                     \
            for (uint32_t x = 0; x < job->out_w; x++, out += n) {                                  \
                const struct tap *tap = &job->columns[x];                                          \
                const type *p00 = (const type *)job->in + low + tap->low * n;                      \
                const type *p10 = (const type *)job->in + high + tap->low * n;                     \
                const type *p01 = (const type *)job->in + low + tap->high * n;                     \
                const type *p11 = (const type *)job->in + high + tap->high * n;                    \
                float fx = tap->fraction;                                                          \
                                                                                                   \
                for (size_t first = 0; first < n; first += PIECE) {                                \
                    size_t behind = nn_min_size(n, first + PIECE);                                 \
                                                                                                   \
                    if (nn_pace_ends(&pace, 2 * (behind - first)))                                 \
                        return;                                                                    \
                    for (size_t c = first; c < behind; c++) {                                      \
                        float sum = LOAD(p00[c]) * (1 - fy) * (1 - fx) +                           \
                                    LOAD(p10[c]) * fy * (1 - fx) + LOAD(p01[c]) * (1 - fy) * fx +  \
                                    LOAD(p11[c]) * fy * fx;                                        \
                                                                                                   \
                        out[c] = STORE(sum);                                                       \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define SAME(x)              (x)
#define CODE(x)              ((float)(x))
#define ROUND_CODE(x)        ((uint8_t)((x) + 0.5f))
#define SIGNED_CODE(x)       ((float)((x) + 128))
#define ROUND_SIGNED_CODE(x) ((int8_t)(ROUND_CODE(x) ^ 0x80))

DEFINE_BILINEAR(bilinear_f32, float, SAME, SAME)
DEFINE_BILINEAR(bilinear_u8, uint8_t, CODE, ROUND_CODE)
DEFINE_BILINEAR(bilinear_s8, int8_t, SIGNED_CODE, ROUND_SIGNED_CODE)

/* Two rows of the input are widened, and then are rows of float. */
static void bilinear_f16(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct resize_job *job = ctx;
    size_t n = job->n_channels, row_elements = job->in_w * n;
    float *above = nn_worker_scratch(job->args, worker), *below = above + row_elements;
    struct nn_pace pace = nn_pace(job->args->stop);
    const uint16_t *in = job->in;

    for (size_t row = begin; row < end; row++) {
        float fy = job->rows[row % job->out_h].fraction;
        uint16_t *out = (uint16_t *)job->out + row * job->out_w * n;
        size_t low, high;

        input_rows(job, row, &low, &high);
        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, row_elements, 2, &part);)
            for (size_t i = part.begin; i < part.end; i++) {
                above[i] = nn_f16_to_f32(in[low + i]);
                below[i] = nn_f16_to_f32(in[high + i]);
            }
        for (uint32_t x = 0; x < job->out_w && !nn_pace_ends(&pace, 2 + 8 * n); x++, out += n) {
            const struct tap *tap = &job->columns[x];
            size_t left = tap->low * n, right = tap->high * n;
            float fx = tap->fraction;

            for (size_t c = 0; c < n; c++)
                out[c] = nn_f32_to_f16(
                    above[left + c] * (1 - fy) * (1 - fx) + below[left + c] * fy * (1 - fx) +
                    above[right + c] * (1 - fy) * fx + below[right + c] * fy * fx);
        }
    }
}

static int nn_resize_bilinear_f32__c(const struct nn_kernel_args *args)
{
    return run_rows(args, make_float_taps, bilinear_f32, 2);
}

static int nn_resize_bilinear_f16__c(const struct nn_kernel_args *args)
{
    return run_rows(args, make_float_taps, bilinear_f16, 8);
}

static int nn_resize_bilinear_u8__c(const struct nn_kernel_args *args)
{
    return run_rows(args, make_float_taps, bilinear_u8, 2);
}

static int nn_resize_bilinear_s8__c(const struct nn_kernel_args *args)
{
    return run_rows(args, make_float_taps, bilinear_s8, 2);
}

/* ---- nearest neighbor ---- */

/* A pixel's channels are moved together. */
static void nearest_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct resize_job *job = ctx;
    size_t pixel_bytes = job->n_channels * job->element_bytes;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        size_t in_row = row / job->out_h * job->in_h + job->rows[row % job->out_h].low;
        const char *in = (const char *)job->in + in_row * job->in_w * pixel_bytes;
        char *out = (char *)job->out + row * job->out_w * pixel_bytes;

        for (uint32_t x = 0; x < job->out_w && !nn_pace_ends(&pace, 4); x++, out += pixel_bytes)
            nn_pace_copy(&pace, out, in + job->columns[x].low * pixel_bytes, pixel_bytes);
    }
}

static int nn_resize_nearest__c(const struct nn_kernel_args *args)
{
    return run_rows(args, make_nearest_taps, nearest_rows, 1);
}

#define BILINEAR(type_set, suffix)                                                                 \
    {                                                                                              \
        NN_ROW("resize_bilinear_" #suffix "__c", RESIZE_BILINEAR),                                 \
            .in0 = (type_set), .params_bytes = sizeof(struct resize_params),                       \
            .lower = lower_resize, .find_scratch = find_resize_scratch,                            \
            .run = nn_resize_bilinear_##suffix##__c                                                \
    }

static const struct nn_kernel kernels[] = {
    BILINEAR(NN_T_F32, f32),
    BILINEAR(NN_T_F16, f16),
    BILINEAR(NN_T_U8, u8),
    BILINEAR(NN_T_S8, s8),
    {NN_ROW("resize_nearest__c", RESIZE_NEAREST_NEIGHBOR),
     .params_bytes = sizeof(struct resize_params), .lower = lower_resize,
     .find_scratch = find_resize_scratch, .run = nn_resize_nearest__c},
};
NN_KERNEL_FAMILY(resize, kernels);
