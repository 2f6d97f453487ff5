/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX and LOG_SOFTMAX, plain C, along any axis.
 *
 * Float: e^((x - max) beta) / sum, and (x - max) beta - log(sum). Sums run over
 * eight lanes, added up at the end: the order depends on the length only.
 * 8-bit: the reference's fixed-point form; e^ of a difference of codes has
 * 256 values, which are the step's weights. */
#include "drivers/cpu/kernels/common/fixed-math.h"
#include "drivers/cpu/kernels/common/math-f32.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/slices.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"

#include <errno.h>
#include <math.h>

enum { LANES = 8 };

struct softmax_params {
    float beta;
    uint32_t axis;
};

static bool check_axis(const struct nn_kernel_step *step)
{
    const struct softmax_params *params = step->params;

    return params->axis < step->inputs[0].n_dims;
}

static bool find_softmax_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct softmax_params *params = step->params;

    return nn_slices_find_scratch(step, params->axis, ret);
}

static int lower_float(struct nn_lower *lower)
{
    struct softmax_params *params = lower->params;

    params->beta = nn_lower_f32(lower, NN_SOFTMAX_BETA, 1.0f);
    if (!nn_slices_axis(lower, NN_SOFTMAX_AXIS, -1, &params->axis))
        return nn_lower_refuse(lower, "input 2 is not an axis of input 0");
    return 0;
}

/* Elements between two looks whether to stop. */
enum { PIECE = 16384 };

static float largest_of(const float *in, size_t n, struct nn_pace *pace)
{
    float lanes[LANES];
    size_t i = 0;

    for (size_t k = 0; k < LANES; k++)
        lanes[k] = in[0];
    for (size_t end; i + LANES <= n && !nn_pace_ends(pace, nn_min_size(n - i, PIECE));) {
        end = nn_min_size(n / LANES * LANES, i + PIECE);
        for (; i < end; i += LANES)
            for (size_t k = 0; k < LANES; k++)
                lanes[k] = in[i + k] > lanes[k] ? in[i + k] : lanes[k];
    }
    for (i = n / LANES * LANES; i < n; i++)
        lanes[0] = in[i] > lanes[0] ? in[i] : lanes[0];
    for (size_t k = 1; k < LANES; k++)
        lanes[0] = lanes[k] > lanes[0] ? lanes[k] : lanes[0];
    return lanes[0];
}

static float sum_of(const float *in, size_t n, struct nn_pace *pace)
{
    float lanes[LANES] = {0};
    size_t i = 0;

    for (size_t end; i + LANES <= n && !nn_pace_ends(pace, nn_min_size(n - i, PIECE));) {
        end = nn_min_size(n / LANES * LANES, i + PIECE);
        for (; i < end; i += LANES)
            for (size_t k = 0; k < LANES; k++)
                lanes[k] += in[i + k];
    }
    for (size_t k = 0; k < n % LANES; k++)
        lanes[k] += in[n / LANES * LANES + k];
    for (size_t k = 4; k > 0; k /= 2) {
        for (size_t j = 0; j < k; j++)
            lanes[j] += lanes[j + k];
    }
    return lanes[0];
}

static void softmax_slice(const struct nn_kernel_args *args, const float *in, float *out, size_t n)
{
    const struct softmax_params *params = args->params;
    float beta = params->beta;
    struct nn_pace pace = nn_pace(args->stop);
    float top = largest_of(in, n, &pace);
    float sum;

    for (size_t first = 0; first < n && !nn_pace_ends(&pace, PIECE * 4); first += PIECE) {
        size_t end = nn_min_size(n, first + PIECE);

        NN_IVDEP
        for (size_t i = first; i < end; i++)
            out[i] = nn_exp_f32((in[i] - top) * beta);
    }
    sum = sum_of(out, n, &pace);
    for (size_t first = 0; first < n && !nn_pace_ends(&pace, PIECE / 4); first += PIECE) {
        size_t end = nn_min_size(n, first + PIECE);

        NN_IVDEP
        for (size_t i = first; i < end; i++)
            out[i] = out[i] / sum;
    }
}

/* sum and the exponentials of a piece, added in order: apart, because that keeps a loop from being widened. */
static double add_terms(const float *in, size_t n, float top, float beta, double sum)
{
    enum { N_TERMS = 512 };
    float terms[N_TERMS];

    for (size_t first = 0; first < n; first += N_TERMS) {
        size_t n_now = nn_min_size(n - first, N_TERMS);

        for (size_t i = 0; i < n_now; i++)
            terms[i] = nn_exp_f32((in[first + i] - top) * beta);
        for (size_t i = 0; i < n_now; i++)
            sum += (double)terms[i];
    }
    return sum;
}

static void log_softmax_slice(const struct nn_kernel_args *args, const float *in, float *out,
                              size_t n)
{
    const struct softmax_params *params = args->params;
    float beta = params->beta;
    struct nn_pace pace = nn_pace(args->stop);
    float top = largest_of(in, n, &pace);
    float log_sum;
    double sum = 0.0;

    for (size_t first = 0; first < n && !nn_pace_ends(&pace, PIECE * 8); first += PIECE)
        sum = add_terms(in + first, nn_min_size(n - first, PIECE), top, beta, sum);
    log_sum = (float)log(sum);
    for (size_t first = 0; first < n && !nn_pace_ends(&pace, PIECE / 4); first += PIECE) {
        size_t end = nn_min_size(n, first + PIECE);

        NN_IVDEP
        for (size_t i = first; i < end; i++)
            out[i] = (in[i] - top) * beta - log_sum;
    }
}

/* ---- many short slices, one behind the other: each lane of a vector has one ---- */

enum {
    SHORT = LANES - 1, /* elements: below that sum_of() has one in each lane */
    BATCH = 64,        /* slices that are computed together */
    FEW = 8,           /* slices: a batch takes longer than these one by one */
};

/* The columns of data, n elements each, as softmax_slice() does it. */
static void short_slices(float data[SHORT][BATCH], size_t n, float beta)
{
    float top[BATCH], sum[BATCH];

    for (size_t s = 0; s < BATCH; s++)
        top[s] = data[0][s];
    for (size_t i = 1; i < n; i++)
        for (size_t s = 0; s < BATCH; s++)
            top[s] = data[i][s] > top[s] ? data[i][s] : top[s];
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < BATCH; s++)
            data[i][s] = nn_exp_f32((data[i][s] - top[s]) * beta);
    for (size_t s = 0; s < BATCH; s++) {
        float lanes[LANES] = {0};

        for (size_t i = 0; i < n; i++)
            lanes[i] = data[i][s];
        sum[s] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                 ((lanes[1] + lanes[5]) + lanes[3]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < BATCH; s++)
            data[i][s] /= sum[s];
}

/* Batches of slices. */
static void short_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_kernel_args *args = ctx;
    const struct softmax_params *params = args->params;
    size_t n = args->inputs[0].dims[params->axis];
    size_t n_slices = nn_tensor_count(&args->inputs[0]) / n;

    for (size_t b = begin; b < end; b++) {
        size_t n_batch = nn_min_size(n_slices - b * BATCH, BATCH);
        const float *in = (const float *)args->inputs[0].data + b * BATCH * n;
        float *out = (float *)args->outputs[0].data + b * BATCH * n;
        float data[SHORT][BATCH] = {0};

        for (size_t s = 0; s < n_batch; s++)
            for (size_t i = 0; i < n; i++)
                data[i][s] = in[s * n + i];
        short_slices(data, n, params->beta);
        for (size_t s = 0; s < n_batch; s++)
            for (size_t i = 0; i < n; i++)
                out[s * n + i] = data[i][s];
    }
}

static bool has_short_slices(const struct nn_tensor *in, uint32_t axis)
{
    return in->type == NNHAL_TENSOR_FLOAT32 && axis + 1 == in->n_dims && in->dims[axis] <= SHORT &&
           nn_tensor_count(in) >= (size_t)FEW * in->dims[axis];
}

static int nn_softmax_float(const struct nn_kernel_args *args)
{
    const struct softmax_params *params = args->params;
    const struct nn_tensor *in = &args->inputs[0];

    if (has_short_slices(in, params->axis)) {
        size_t n_batches = (nn_tensor_count(in) / in->dims[params->axis] + BATCH - 1) / BATCH;

        nn_parallel_for(args, n_batches, 1 + in->dims[params->axis] * BATCH, short_range,
                        (void *)(uintptr_t)args);
        return 0;
    }
    nn_slices_run_f32(args, params->axis, 64, softmax_slice);
    return 0;
}

static int nn_log_softmax_float(const struct nn_kernel_args *args)
{
    const struct softmax_params *params = args->params;

    nn_slices_run_f32(args, params->axis, 64, log_softmax_slice);
    return 0;
}

/* ---- 8-bit ---- */

/* Entry d: e^(-d beta scale) as Q0, or -1 beyond the reach of the fixed-point form. */
static int lower_q8(struct nn_lower *lower)
{
    struct softmax_params *params = lower->params;
    double scale = (double)nn_lower_f32(lower, NN_SOFTMAX_BETA, 1.0f) *
                   (double)lower->inputs[0].scale * 0x1p26;
    struct nn_multiplier multiplier = nn_multiplier_make(scale < 2147483647.0 ? scale
                                                                              : 2147483647.0);
    int32_t radius = nn_fx_radius(5, multiplier.shift);
    int32_t *table = nn_lower_weights(lower, 256 * sizeof(int32_t));

    if (!table)
        return -ENOMEM;
    if (!nn_slices_axis(lower, NN_SOFTMAX_AXIS, -1, &params->axis))
        return nn_lower_refuse(lower, "input 2 is not an axis of input 0");
    for (int32_t d = 0; d < 256; d++) {
        int32_t scaled = nn_srdhm(nn_shl_wrap(-d, multiplier.shift), multiplier.mantissa);

        table[d] = d <= radius ? nn_fx_exp(scaled, 5) : -1;
    }
    return 0;
}

/* What one slice's results have in common: out = low + factor * e / 2^shift. */
struct q8_slice {
    int32_t factor;
    int shift;
};

static struct q8_slice make_slice_scale(int64_t sum)
{
    int zeros = __builtin_clzll((uint64_t)sum) - 32;
    uint64_t fraction = zeros >= 0 ? (uint64_t)sum << zeros : (uint64_t)sum >> -zeros;
    struct q8_slice slice;

    slice.factor = nn_fx_reciprocal((int32_t)(fraction - (UINT64_C(1) << 31)));
    slice.shift = 12 - zeros + 23;
    return slice;
}

/* A slice of codes, which are flipped to unsigned ones on the way in and out: low becomes 0. */
struct q8_codes {
    const int32_t *table;
    const uint8_t *in;
    size_t stride;
    uint8_t flip, top; /* top: the largest */
};

/* e^ of an element, or -1. The application may change its memory meanwhile: the index wraps. */
static int32_t code_exp(const struct q8_codes *codes, size_t i)
{
    return codes->table[(uint8_t)(codes->top - (codes->in[i * codes->stride] ^ codes->flip))];
}

static void slice_q8(const struct q8_codes *of, uint8_t *out, size_t n, struct nn_pace *pace)
{
    struct q8_codes codes = *of;
    struct q8_slice slice;
    int64_t sum = 0;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++) {
            uint8_t code = codes.in[i * codes.stride] ^ codes.flip;

            codes.top = code > codes.top ? code : codes.top;
        }
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++) {
            int32_t e = code_exp(&codes, i);

            sum += e < 0 ? 0 : nn_rdp(e, 12);
        }
    slice = make_slice_scale(sum ? sum : 1);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++) {
            int32_t e = code_exp(&codes, i);
            int32_t product = nn_srdhm(slice.factor, e < 0 ? 0 : e);
            int32_t code = slice.shift > 31 ? 0 : nn_rdp(product, slice.shift);

            out[i * codes.stride] = (uint8_t)((code > 255 ? 255 : code) ^ codes.flip);
        }
}

static void slices_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_slices_job *job = ctx;
    const struct nn_slices *s = &job->slices;
    struct nn_pace pace = nn_pace(job->args->stop);
    struct q8_codes codes = {.table = (const int32_t *)(const void *)job->args->weights,
                             .stride = s->inner,
                             .flip = (uint8_t)nn_quant_flip(job->args->inputs[0].type)};

    for (size_t item = begin; item < end; item++) {
        size_t first = nn_slices_first(s, item);

        codes.in = (const uint8_t *)job->args->inputs[0].data + first;
        slice_q8(&codes, (uint8_t *)job->args->outputs[0].data + first, s->n, &pace);
    }
}

static int nn_softmax_q8(const struct nn_kernel_args *args)
{
    const struct softmax_params *params = args->params;

    nn_slices_for(args, params->axis, 5, 100, slices_q8);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("softmax_float", SOFTMAX), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct softmax_params), .lower = lower_float, .run = nn_softmax_float,
     .check = check_axis, .find_scratch = find_softmax_scratch},
    {NN_VARIANT_ROW("softmax_q8", SOFTMAX), .in0 = NN_T_U8 | NN_T_S8,
     .weights_bytes = 256 * sizeof(int32_t), .params_bytes = sizeof(struct softmax_params),
     .lower = lower_q8, .run = nn_softmax_q8, .check = check_axis},
    {NN_VARIANT_ROW("log_softmax_float", LOG_SOFTMAX), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct softmax_params), .lower = lower_float,
     .run = nn_log_softmax_float, .check = check_axis, .find_scratch = find_softmax_scratch},
};

NN_VARIANT_FAMILY(softmax, kernels);
