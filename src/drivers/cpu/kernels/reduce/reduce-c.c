/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN, REDUCE_ALL, _ANY, _MAX, _MIN, _PROD, _SUM, plain C, over any set of axes.
 *
 * Neighboring dimensions that share a fate are joined; what is left of four
 * dimensions is [kept, reduced, kept, reduced, kept], any of them 1. A result is
 * accumulated over the reduced ones in row-major order, in blocks of the last kept one, so
 * that the inner loop is contiguous; if that is a single element, over sixteen lanes
 * of the inner reduced one. The order depends on the shape only. */
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/geometry.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    LANES = 16,
    MAX_RANK = 4,
};

struct reduce_params {
    uint32_t axes; /* bit d: dimension d is reduced */
};

static int lower_reduce(struct nn_lower *lower)
{
    struct reduce_params *params = lower->params;
    const struct nn_lower_operand *axes = &lower->inputs[1];

    for (uint64_t i = 0; i < axes->size / sizeof(int32_t); i++) {
        int32_t value;
        uint32_t axis;

        memcpy(&value, (const uint8_t *)axes->value + i * sizeof(value), sizeof(value));
        if (!nn_axis_resolve(value, lower->inputs[0].n_dims, &axis))
            return nn_lower_refuse(lower, "axis %d is outside the rank", value);
        params->axes |= 1u << axis;
    }
    return 0;
}

/* [k0, r0, k1, r1, k2]: even ones are kept, odd ones reduced. The innermost ones
 * are as far right as they can be, where the loops are contiguous. */
struct reduce_walk {
    size_t sizes[5];
};

static void move_right(struct reduce_walk *walk)
{
    size_t *s = walk->sizes;

    for (int i = 0; i < 2 && s[3] == 1 && s[4] == 1; i++) {
        s[4] = s[2];
        s[3] = s[1];
        s[2] = s[0];
        s[1] = s[0] = 1;
    }
}

static bool make_walk(const struct nn_tensor *in, uint32_t axes, struct reduce_walk *ret)
{
    struct reduce_walk walk = {.sizes = {1, 1, 1, 1, 1}};
    int slot = 0;

    for (uint32_t d = 0; d < in->n_dims; d++) {
        int is_reduced = axes >> d & 1;

        if (in->dims[d] == 1)
            continue;
        if ((slot & 1) != is_reduced)
            slot++;
        if (slot > 4)
            return false;
        walk.sizes[slot] *= in->dims[d];
    }
    move_right(&walk);
    *ret = walk;
    return true;
}

static bool check_axes(const struct nn_kernel_step *step)
{
    const struct reduce_params *params = step->params;
    size_t n = 1;

    if (step->inputs[0].n_dims > MAX_RANK)
        return false;
    for (uint32_t d = 0; d < step->inputs[0].n_dims; d++)
        n *= params->axes >> d & 1 ? 1 : step->inputs[0].dims[d];
    return n == nn_tensor_count(&step->outputs[0]);
}

/* A row function adds a row of n elements to n accumulators, or all of a row to one. */
struct reduce_job {
    const struct nn_kernel_args *args;
    struct reduce_walk walk;
    size_t n_reduced;
    void (*item)(const struct reduce_job *job, size_t in, size_t out, size_t n);
};

static size_t input_at(const struct reduce_walk *walk, size_t k0, size_t r0, size_t k1, size_t r1)
{
    const size_t *s = walk->sizes;

    return (((k0 * s[1] + r0) * s[2] + k1) * s[3] + r1) * s[4];
}

/* One item is one block of at most NN_CHUNK elements of the last kept dimension. */
static void reduce_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct reduce_job *job = ctx;
    const size_t *s = job->walk.sizes;
    size_t n_blocks = (s[4] + NN_CHUNK - 1) / NN_CHUNK;

    for (size_t item = begin; item < end; item++) {
        size_t block = item % n_blocks * NN_CHUNK;
        size_t k1 = item / n_blocks % s[2];
        size_t k0 = item / n_blocks / s[2];

        job->item(job, input_at(&job->walk, k0, 0, k1, 0) + block, (k0 * s[2] + k1) * s[4] + block,
                  nn_min_size(NN_CHUNK, s[4] - block));
    }
}

static int run_reduce(const struct nn_kernel_args *args,
                      void (*item)(const struct reduce_job *job, size_t in, size_t out, size_t n))
{
    const struct reduce_params *params = args->params;
    struct reduce_job job = {.args = args, .item = item};
    const size_t *s = job.walk.sizes;
    size_t n_blocks;

    if (!make_walk(&args->inputs[0], params->axes, &job.walk))
        return nn_kernel_refuse(args, "the rank is above 4");
    n_blocks = (s[4] + NN_CHUNK - 1) / NN_CHUNK;
    job.n_reduced = s[1] * s[3];
    nn_parallel_for(args, s[0] * s[2] * n_blocks,
                    job.n_reduced * nn_min_size(s[4], NN_CHUNK) / 2 + 10, reduce_range, &job);
    return 0;
}

/* ---- float32 and float16 ---- */

NN_INLINE float start_f32(uint32_t op)
{
    switch (op) {
    case NNHAL_OP_REDUCE_MAX:
        return -FLT_MAX;
    case NNHAL_OP_REDUCE_MIN:
        return FLT_MAX;
    case NNHAL_OP_REDUCE_PROD:
        return 1.0f;
    default:
        return 0.0f;
    }
}

/* A product with 0 is 0, also with an infinity. */
NN_INLINE float combine_f32(uint32_t op, float acc, float x)
{
    switch (op) {
    case NNHAL_OP_REDUCE_MAX:
        return x > acc ? x : acc;
    case NNHAL_OP_REDUCE_MIN:
        return x < acc ? x : acc;
    case NNHAL_OP_REDUCE_PROD:
        return x == 0.0f || acc == 0.0f ? 0.0f : acc * x;
    default:
        return acc + x;
    }
}

static const float *load_f32(const struct nn_tensor *in, size_t at, size_t n,
                             float buffer[NN_CHUNK])
{
    if (in->type == NNHAL_TENSOR_FLOAT32)
        return (const float *)in->data + at;
    nn_f16_widen(buffer, (const uint16_t *)in->data + at, n);
    return buffer;
}

/* All n elements from at on, over lanes. */
NN_INLINE float reduce_row_f32(uint32_t op, const struct nn_tensor *in, size_t at, size_t n,
                               float acc, struct nn_pace *pace)
{
    float buffer[NN_CHUNK];
    float lanes[LANES];

    for (size_t k = 0; k < LANES; k++)
        lanes[k] = start_f32(op);
    for (size_t i = 0; i < n && !nn_pace_ends(pace, NN_CHUNK); i += NN_CHUNK) {
        size_t m = nn_min_size(NN_CHUNK, n - i), j = 0;
        const float *x = load_f32(in, at + i, m, buffer);

        for (; j + LANES <= m; j += LANES) {
            for (size_t k = 0; k < LANES; k++)
                lanes[k] = combine_f32(op, lanes[k], x[j + k]);
        }
        for (; j < m; j++)
            lanes[0] = combine_f32(op, lanes[0], x[j]);
    }
    for (size_t k = 0; k < LANES; k++)
        acc = combine_f32(op, acc, lanes[k]);
    return acc;
}

NN_INLINE void item_f32(uint32_t op, const struct reduce_job *job, size_t at, size_t out_at,
                        size_t n)
{
    const struct nn_tensor *in = &job->args->inputs[0];
    const struct nn_tensor *out = &job->args->outputs[0];
    const size_t *s = job->walk.sizes;
    size_t outer_stride = s[2] * s[3] * s[4];
    float acc[NN_CHUNK];
    float buffer[NN_CHUNK];
    struct nn_pace pace = nn_pace(job->args->stop);
    size_t row_ns = n / 4 + 1 + nn_pace_touch_ns((ptrdiff_t)(s[4] * sizeof(float)));

    for (size_t k = 0; k < n; k++)
        acc[k] = start_f32(op);
    for (size_t r0 = 0; r0 < s[1] && !nn_pace_ends(&pace, 1); r0++) {
        size_t row = at + r0 * outer_stride;

        if (s[4] == 1) {
            acc[0] = reduce_row_f32(op, in, row, s[3], acc[0], &pace);
            continue;
        }
        for (size_t r1 = 0; r1 < s[3] && !nn_pace_ends(&pace, row_ns); r1++) {
            const float *x = load_f32(in, row + r1 * s[4], n, buffer);

            for (size_t k = 0; k < n; k++)
                acc[k] = combine_f32(op, acc[k], x[k]);
        }
    }
    for (size_t k = 0; k < n && op == NNHAL_OP_MEAN; k++)
        acc[k] /= (float)job->n_reduced;
    if (out->type == NNHAL_TENSOR_FLOAT32)
        memcpy((float *)out->data + out_at, acc, n * sizeof(float));
    else
        nn_narrow((uint16_t *)out->data + out_at, acc, n);
}

#define DEFINE_FLOAT(op_name, op)                                                                  \
    static void NN_VARIANT_SYMBOL(op_name##_item)(const struct reduce_job *job, size_t in,         \
                                                  size_t out, size_t n)                            \
    {                                                                                              \
        item_f32(NNHAL_OP_##op, job, in, out, n);                                                  \
    }                                                                                              \
    static int NN_VARIANT_SYMBOL(nn_##op_name##_float)(const struct nn_kernel_args *args)          \
    {                                                                                              \
        return run_reduce(args, NN_VARIANT_SYMBOL(op_name##_item));                                \
    }
DEFINE_FLOAT(mean, MEAN)
DEFINE_FLOAT(reduce_max, REDUCE_MAX)
DEFINE_FLOAT(reduce_min, REDUCE_MIN)
DEFINE_FLOAT(reduce_prod, REDUCE_PROD)
DEFINE_FLOAT(reduce_sum, REDUCE_SUM)

/* The lowest finite value of float16 is not float32's: where every element
 * is infinite, that is the result. */
NN_INLINE void bound_f16(const struct nn_kernel_args *args, float low, float high)
{
    uint16_t *out = args->outputs[0].data;
    size_t n = nn_tensor_count(&args->outputs[0]);

    if (args->outputs[0].type != NNHAL_TENSOR_FLOAT16)
        return;
    for (size_t i = 0; i < n; i++) {
        float x = nn_f16_to_f32(out[i]);

        out[i] = x < low ? nn_f32_to_f16(low) : x > high ? nn_f32_to_f16(high) : out[i];
    }
}

static int nn_reduce_max_bounded(const struct nn_kernel_args *args)
{
    int r = NN_VARIANT_SYMBOL(nn_reduce_max_float)(args);

    bound_f16(args, -65504.0f, INFINITY);
    return r;
}

static int nn_reduce_min_bounded(const struct nn_kernel_args *args)
{
    int r = NN_VARIANT_SYMBOL(nn_reduce_min_float)(args);

    bound_f16(args, -INFINITY, 65504.0f);
    return r;
}

/* ---- 8-bit and boolean ---- */

/* Bytes are combined as int32 codes; booleans as 0 or 1. */
NN_INLINE int32_t start_byte(uint32_t op)
{
    switch (op) {
    case NNHAL_OP_REDUCE_MAX:
        return INT32_MIN;
    case NNHAL_OP_REDUCE_MIN:
        return INT32_MAX;
    case NNHAL_OP_REDUCE_ALL:
        return 1;
    default:
        return 0;
    }
}

NN_INLINE int32_t combine_byte(uint32_t op, int32_t acc, uint8_t byte, uint32_t flip)
{
    int32_t code = nn_quant_code(byte, flip);

    switch (op) {
    case NNHAL_OP_REDUCE_MAX:
        return code > acc ? code : acc;
    case NNHAL_OP_REDUCE_MIN:
        return code < acc ? code : acc;
    case NNHAL_OP_REDUCE_ALL:
        return acc & (byte != 0);
    case NNHAL_OP_REDUCE_ANY:
        return acc | (byte != 0);
    default:
        return acc + code;
    }
}

NN_INLINE void item_byte(uint32_t op, const struct reduce_job *job, size_t at, size_t out_at,
                         size_t n)
{
    const uint8_t *in = job->args->inputs[0].data;
    uint8_t *out = (uint8_t *)job->args->outputs[0].data + out_at;
    uint32_t flip = nn_quant_flip(job->args->inputs[0].type);
    const size_t *s = job->walk.sizes;
    int32_t acc[NN_CHUNK];
    struct nn_pace pace = nn_pace(job->args->stop);
    size_t row_ns = n + nn_pace_touch_ns((ptrdiff_t)s[4]);

    for (size_t k = 0; k < n; k++)
        acc[k] = start_byte(op);
    for (size_t r0 = 0; r0 < s[1]; r0++) {
        for (size_t r1 = 0; r1 < s[3] && !nn_pace_ends(&pace, row_ns); r1++) {
            const uint8_t *row = in + at + r0 * s[2] * s[3] * s[4] + r1 * s[4];

            for (size_t k = 0; k < n; k++)
                acc[k] = combine_byte(op, acc[k], row[k], flip);
        }
    }
    for (size_t k = 0; k < n; k++)
        out[k] = (uint8_t)acc[k];
}

/* Rows of codes whose sums fit 32 bits. */
enum { MAX_SUMMED_ROWS = 1 << 22 };

static void add_sums(int64_t *restrict totals, int32_t *restrict sums, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        totals[k] += sums[k];
        sums[k] = 0;
    }
}

/* Rounded about the zero point, half away from it, as TensorFlow Lite does: a remainder that is
 * dropped moves every mean the same way, and a network's results with it. */
static void mean_byte_item(const struct reduce_job *job, size_t at, size_t out_at, size_t n)
{
    const struct nn_tensor *input = &job->args->inputs[0];
    const uint8_t *in = input->data;
    uint8_t *out = (uint8_t *)job->args->outputs[0].data + out_at;
    uint32_t flip = nn_quant_flip(input->type);
    const size_t *s = job->walk.sizes;
    int64_t count = (int64_t)job->n_reduced, totals[NN_CHUNK] = {0};
    int32_t sums[NN_CHUNK] = {0};
    struct nn_pace pace = nn_pace(job->args->stop);
    size_t row_ns = n + nn_pace_touch_ns((ptrdiff_t)s[4]);
    size_t n_rows = 0;

    for (size_t r0 = 0; r0 < s[1]; r0++) {
        for (size_t r1 = 0; r1 < s[3] && !nn_pace_ends(&pace, row_ns); r1++) {
            const uint8_t *row = in + at + r0 * s[2] * s[3] * s[4] + r1 * s[4];

            for (size_t k = 0; k < n; k++)
                sums[k] += nn_quant_code(row[k], flip);
            if (++n_rows % MAX_SUMMED_ROWS == 0)
                add_sums(totals, sums, n);
        }
    }
    add_sums(totals, sums, n);
    for (size_t k = 0; k < n; k++) {
        int64_t from_zero = totals[k] - count * input->zero_point;
        int64_t half = from_zero < 0 ? -(count / 2) : count / 2;

        out[k] = (uint8_t)((from_zero + half) / count + input->zero_point);
    }
}

static int nn_mean_byte(const struct nn_kernel_args *args)
{
    return run_reduce(args, mean_byte_item);
}

#define DEFINE_BYTE(op_name, op)                                                                   \
    static void NN_VARIANT_SYMBOL(op_name##_byte_item)(const struct reduce_job *job, size_t in,    \
                                                       size_t out, size_t n)                       \
    {                                                                                              \
        item_byte(NNHAL_OP_##op, job, in, out, n);                                                 \
    }                                                                                              \
    static int NN_VARIANT_SYMBOL(nn_##op_name##_byte)(const struct nn_kernel_args *args)           \
    {                                                                                              \
        return run_reduce(args, NN_VARIANT_SYMBOL(op_name##_byte_item));                           \
    }
DEFINE_BYTE(reduce_max, REDUCE_MAX)
DEFINE_BYTE(reduce_min, REDUCE_MIN)
DEFINE_BYTE(reduce_all, REDUCE_ALL)
DEFINE_BYTE(reduce_any, REDUCE_ANY)

#define ROW(op_name, op, types, run_function)                                                      \
    {                                                                                              \
        NN_VARIANT_ROW(op_name, op), .in0 = (types), .params_bytes = sizeof(struct reduce_params), \
                                     .needs_value = 1 << 1, .lower = lower_reduce,                 \
                                     .run = run_function, .check = check_axes                      \
    }

static const struct nn_kernel kernels[] = {
    ROW("mean_float", MEAN, NN_T_F32 | NN_T_F16, NN_VARIANT_SYMBOL(nn_mean_float)),
    ROW("mean_q8", MEAN, NN_T_U8 | NN_T_S8, nn_mean_byte),
    ROW("reduce_max_float", REDUCE_MAX, NN_T_F32 | NN_T_F16, nn_reduce_max_bounded),
    ROW("reduce_max_q8", REDUCE_MAX, NN_T_U8 | NN_T_S8, NN_VARIANT_SYMBOL(nn_reduce_max_byte)),
    ROW("reduce_min_float", REDUCE_MIN, NN_T_F32 | NN_T_F16, nn_reduce_min_bounded),
    ROW("reduce_min_q8", REDUCE_MIN, NN_T_U8 | NN_T_S8, NN_VARIANT_SYMBOL(nn_reduce_min_byte)),
    ROW("reduce_prod_float", REDUCE_PROD, NN_T_F32 | NN_T_F16,
        NN_VARIANT_SYMBOL(nn_reduce_prod_float)),
    ROW("reduce_sum_float", REDUCE_SUM, NN_T_F32 | NN_T_F16,
        NN_VARIANT_SYMBOL(nn_reduce_sum_float)),
    ROW("reduce_all_b8", REDUCE_ALL, NN_T_B8, NN_VARIANT_SYMBOL(nn_reduce_all_byte)),
    ROW("reduce_any_b8", REDUCE_ANY, NN_T_B8, NN_VARIANT_SYMBOL(nn_reduce_any_byte)),
};

NN_VARIANT_FAMILY(reduce, kernels);
