/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED, plain C: out[b][u] = act(bias[u] + sum over i of in[b][i] * w[u][i]).
 *
 * Weights and bias that are constant are packed when the step is lowered,
 * others into scratch at each run. Output multipliers are always constant. */
#include "base/arith.h"
#include "base/cleanup.h"
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/gemm/gemm.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"

#include <errno.h>
#include <string.h>

struct dense_f32_params {
    float low, high;
    uint32_t is_packed;
    uint32_t reserved;
};

struct dense_q8_params {
    int32_t low, high;
    uint32_t is_packed;
    struct nn_multiplier multiplier;
};

static bool is_constant(const struct nn_lower *lower)
{
    return lower->inputs[NN_DENSE_WEIGHTS].value && lower->inputs[NN_DENSE_BIAS].value;
}

/* How many float16 rows are widened at a time. */
static size_t wide_rows(size_t n_rows)
{
    return nn_min_size(n_rows, NN_GEMM_ROWS_F32);
}

/* What run() needs: weights that are packed there, and rows that are widened:
 * float16 rows in each worker's scratch with their results, 8-bit rows once for all. */
static bool scratch_f32(bool is_half, bool is_packed, size_t n_rows, size_t n_cols, size_t k,
                        struct nn_kernel_scratch *ret)
{
    if (!is_packed && !nn_gemm_bytes_f32(n_cols, k, &ret->bytes))
        return false;
    return !is_half ||
           (nn_add_size(n_cols, k, &ret->worker_bytes) &&
            nn_mul_size(ret->worker_bytes, wide_rows(n_rows) * sizeof(float), &ret->worker_bytes));
}

static bool scratch_q8(bool is_packed, size_t n_rows, size_t n_cols, size_t k, size_t *ret_scratch)
{
    size_t n_bytes = 0;

    return (is_packed || nn_gemm_bytes_q8(n_cols, k, &n_bytes)) &&
           nn_mul_size(nn_gemm_k_q8(k), n_rows, ret_scratch) &&
           nn_mul_size(*ret_scratch, sizeof(int16_t), ret_scratch) &&
           nn_add_size(*ret_scratch, n_bytes, ret_scratch);
}

/* ---- float32 and float16 ---- */

static int lower_float(struct nn_lower *lower)
{
    const struct nn_lower_operand *weights = &lower->inputs[NN_DENSE_WEIGHTS];
    struct dense_f32_params *params = lower->params;
    size_t n_cols = weights->dims[0], k = weights->dims[1], n_bytes;
    struct nn_gemm_weights from;
    float *block;

    if (!nn_activation_f32(nn_lower_i32(lower, NN_DENSE_ACTIVATION, 0), &params->low,
                           &params->high))
        return nn_lower_refuse(lower, "input 3 is not a fused activation");
    params->is_packed = is_constant(lower);
    if (!params->is_packed)
        return 0;
    block = nn_gemm_bytes_f32(n_cols, k, &n_bytes) ? nn_lower_weights(lower, n_bytes) : NULL;
    if (!block)
        return -ENOMEM;
    from = nn_gemm_constant(weights, &lower->inputs[NN_DENSE_BIAS], k);
    nn_gemm_pack(block, &from, lower->stop);
    return 0;
}

struct dense_f32_job {
    const struct nn_kernel_args *args;
    struct nn_gemm_f32 gemm;
    size_t n_rows;
};

/* One item is one panel of columns, for all rows. */
static void columns_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct dense_f32_job *job = ctx;
    const float *in = job->args->inputs[NN_DENSE_INPUT].data;
    float *out = job->args->outputs[0].data;
    size_t k = job->gemm.k, n_cols = job->gemm.n_cols;
    size_t last = end * NN_GEMM_COLS_F32 < n_cols ? end * NN_GEMM_COLS_F32 : n_cols;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t b = 0; b < job->n_rows; b += NN_GEMM_ROWS_F32) {
        size_t n = job->n_rows - b < NN_GEMM_ROWS_F32 ? job->n_rows - b : NN_GEMM_ROWS_F32;
        const float *rows[NN_GEMM_ROWS_F32];
        float *outs[NN_GEMM_ROWS_F32];

        if (nn_pace_ends(&pace, n * k * (end - begin) * NN_GEMM_COLS_F32 / 16))
            return;
        for (size_t r = 0; r < n; r++) {
            rows[r] = in + (b + r) * k;
            outs[r] = out + (b + r) * n_cols;
        }
        nn_gemm_run_f32(&job->gemm, n, rows, outs, begin * NN_GEMM_COLS_F32, last);
    }
}

/* All columns, some at a time. */
static void run_columns(const struct nn_gemm_f32 *gemm, size_t n_rows, const float *const *rows,
                        float *const *outs, struct nn_pace *pace)
{
    enum { COLUMNS = 64 * NN_GEMM_COLS_F32 };

    for (size_t c = 0; c < gemm->n_cols; c += COLUMNS) {
        if (nn_pace_ends(pace, 1 + n_rows * gemm->k * COLUMNS / 16))
            return;
        nn_gemm_run_f32(gemm, n_rows, rows, outs, c, nn_min_size(gemm->n_cols, c + COLUMNS));
    }
}

/* One item is one tile of rows, for all columns. */
static void rows_f16(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct dense_f32_job *job = ctx;
    const uint16_t *in = job->args->inputs[NN_DENSE_INPUT].data;
    uint16_t *out = job->args->outputs[0].data;
    size_t k = job->gemm.k, n_cols = job->gemm.n_cols;
    float *wide = nn_worker_scratch(job->args, worker);
    float *wide_out = wide + wide_rows(job->n_rows) * k;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t b = begin * NN_GEMM_ROWS_F32; b < end * NN_GEMM_ROWS_F32 && b < job->n_rows;
         b += NN_GEMM_ROWS_F32) {
        size_t n = job->n_rows - b < NN_GEMM_ROWS_F32 ? job->n_rows - b : NN_GEMM_ROWS_F32;
        const float *rows[NN_GEMM_ROWS_F32];
        float *outs[NN_GEMM_ROWS_F32];

        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n * k, 1, &part);)
            for (size_t i = part.begin; i < part.end; i++)
                wide[i] = nn_f16_to_f32(in[b * k + i]);
        for (size_t r = 0; r < n; r++) {
            rows[r] = wide + r * k;
            outs[r] = wide_out + r * n_cols;
        }
        run_columns(&job->gemm, n, rows, outs, &pace);
        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n * n_cols, 1, &part);)
            for (size_t i = part.begin; i < part.end; i++)
                out[b * n_cols + i] = nn_f32_to_f16(wide_out[i]);
    }
}

static void prepare_float(struct dense_f32_job *job, const struct nn_kernel_args *args)
{
    const struct dense_f32_params *params = args->params;
    const struct nn_tensor *weights = &args->inputs[NN_DENSE_WEIGHTS];
    size_t n_cols = weights->dims[0], k = weights->dims[1];
    const struct nn_gemm_weights from = nn_gemm_tensors(weights, &args->inputs[NN_DENSE_BIAS], k);
    float *block = (float *)(void *)args->scratch;

    *job = (struct dense_f32_job){.args = args, .n_rows = args->outputs[0].dims[0]};
    job->gemm = (struct nn_gemm_f32){
        .n_cols = n_cols, .k = k, .low = params->low, .high = params->high, .stop = args->stop};
    if (!params->is_packed)
        nn_gemm_pack(block, &from, args->stop);
    nn_gemm_use_f32(&job->gemm,
                    params->is_packed ? (const float *)(const void *)args->weights : block);
}

static int nn_fully_connected_f32(const struct nn_kernel_args *args)
{
    struct dense_f32_job job;

    prepare_float(&job, args);
    nn_parallel_for(args, nn_gemm_columns(job.gemm.n_cols, NN_GEMM_COLS_F32) / NN_GEMM_COLS_F32,
                    1 + job.n_rows * job.gemm.k / 2, columns_f32, &job);
    return 0;
}

static int nn_fully_connected_f16(const struct nn_kernel_args *args)
{
    struct dense_f32_job job;

    prepare_float(&job, args);
    nn_parallel_for(args, (job.n_rows + NN_GEMM_ROWS_F32 - 1) / NN_GEMM_ROWS_F32,
                    1 + job.gemm.n_cols * job.gemm.k / 4, rows_f16, &job);
    return 0;
}

/* ---- 8 bits ---- */

static int lower_q8(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_DENSE_INPUT];
    const struct nn_lower_operand *weights = &lower->inputs[NN_DENSE_WEIGHTS];
    const struct nn_lower_operand *output = &lower->outputs[0];
    bool is_signed = input->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    struct dense_q8_params *params = lower->params;
    size_t n_cols = weights->dims[0], k = weights->dims[1], n_bytes;
    struct nn_gemm_weights from;
    uint8_t *block;

    if (!nn_activation_q8(nn_lower_i32(lower, NN_DENSE_ACTIVATION, 0), is_signed, output->scale,
                          output->zero_point, &params->low, &params->high))
        return nn_lower_refuse(lower, "input 3 is not a fused activation");
    params->multiplier = nn_multiplier_of_scales(input->scale, weights->scale, output->scale);
    params->is_packed = is_constant(lower);
    if (!params->is_packed)
        return 0;
    block = nn_gemm_bytes_q8(n_cols, k, &n_bytes) ? nn_lower_weights(lower, n_bytes) : NULL;
    if (!block)
        return -ENOMEM;
    from = nn_gemm_constant(weights, &lower->inputs[NN_DENSE_BIAS], k);
    nn_gemm_pack(block, &from, lower->stop);
    return 0;
}

struct dense_q8_job {
    const struct nn_kernel_args *args;
    struct nn_gemm_q8 gemm;
    const int16_t *rows;
    size_t n_rows;
};

static void columns_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct dense_q8_job *job = ctx;
    uint8_t *out = job->args->outputs[0].data;
    size_t stride = nn_gemm_k_q8(job->gemm.k), n_cols = job->gemm.n_cols;
    size_t last = end * NN_GEMM_COLS_Q8 < n_cols ? end * NN_GEMM_COLS_Q8 : n_cols;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t b = 0; b < job->n_rows; b += NN_GEMM_ROWS_Q8) {
        size_t n = job->n_rows - b < NN_GEMM_ROWS_Q8 ? job->n_rows - b : NN_GEMM_ROWS_Q8;
        const int16_t *rows[NN_GEMM_ROWS_Q8];
        uint8_t *outs[NN_GEMM_ROWS_Q8];

        if (nn_pace_ends(&pace, n * stride * (end - begin) * NN_GEMM_COLS_Q8 / 16))
            return;
        for (size_t r = 0; r < n; r++) {
            rows[r] = job->rows + (b + r) * stride;
            outs[r] = out + (b + r) * n_cols;
        }
        nn_gemm_run_q8(&job->gemm, n, rows, outs, begin * NN_GEMM_COLS_Q8, last);
    }
}

/* Widened rows first, then weights and bias if they are packed here. */
static void prepare_q8(struct dense_q8_job *job, const struct nn_kernel_args *args)
{
    const struct dense_q8_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_DENSE_INPUT];
    const struct nn_tensor *weights = &args->inputs[NN_DENSE_WEIGHTS];
    bool is_signed = input->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    size_t n_cols = weights->dims[0], k = weights->dims[1], stride = nn_gemm_k_q8(k);
    const struct nn_gemm_weights from = nn_gemm_tensors(weights, &args->inputs[NN_DENSE_BIAS], k);
    int16_t *rows = (int16_t *)(void *)args->scratch;
    struct nn_pace pace = nn_pace(args->stop);
    uint8_t *block;

    *job = (struct dense_q8_job){.args = args, .rows = rows, .n_rows = args->outputs[0].dims[0]};
    job->gemm = (struct nn_gemm_q8){.n_cols = n_cols,
                                    .k = k,
                                    .multipliers = &params->multiplier,
                                    .out_zero_point = args->outputs[0].zero_point,
                                    .low = params->low,
                                    .high = params->high,
                                    .rounds_once = is_signed,
                                    .stop = args->stop};
    for (size_t b = 0; b < job->n_rows && !nn_pace_ends(&pace, 2); b++) {
        nn_gemm_widen_q8(rows + b * stride, (const uint8_t *)input->data + b * k, is_signed,
                         input->zero_point, k, &pace);
        memset(rows + b * stride + k, 0, (stride - k) * sizeof(*rows));
    }
    block = args->scratch + job->n_rows * stride * sizeof(*rows);
    if (!params->is_packed)
        nn_gemm_pack(block, &from, args->stop);
    nn_gemm_use_q8(&job->gemm, params->is_packed ? args->weights : block);
}

static int nn_fully_connected_q8(const struct nn_kernel_args *args)
{
    struct dense_q8_job job;

    prepare_q8(&job, args);
    nn_parallel_for(args, nn_gemm_columns(job.gemm.n_cols, NN_GEMM_COLS_Q8) / NN_GEMM_COLS_Q8,
                    1 + job.n_rows * job.gemm.k / 8, columns_q8, &job);
    return 0;
}

static bool is_float(const struct nn_tensor *tensor)
{
    return tensor->type == NNHAL_TENSOR_FLOAT32 || tensor->type == NNHAL_TENSOR_FLOAT16;
}

static bool params_are_packed(const void *params, const struct nn_tensor *input)
{
    return is_float(input) ? ((const struct dense_f32_params *)params)->is_packed
                           : ((const struct dense_q8_params *)params)->is_packed;
}

/* Shapes are the operation's; params say where the weights are, and how far to shift. */
static bool check_fully_connected(const struct nn_kernel_step *step)
{
    size_t n_cols = step->inputs[NN_DENSE_WEIGHTS].dims[0],
           k = step->inputs[NN_DENSE_WEIGHTS].dims[1], needed;
    bool fits = is_float(&step->inputs[NN_DENSE_INPUT]) ? nn_gemm_bytes_f32(n_cols, k, &needed)
                                                        : nn_gemm_bytes_q8(n_cols, k, &needed);

    if (!is_float(&step->inputs[NN_DENSE_INPUT]) &&
        !nn_multiplier_is_valid(((const struct dense_q8_params *)step->params)->multiplier))
        return false;
    return fits && (!params_are_packed(step->params, &step->inputs[NN_DENSE_INPUT]) ||
                    needed <= step->weights_bytes);
}

static bool find_fully_connected_scratch(const struct nn_kernel_step *step,
                                         struct nn_kernel_scratch *ret)
{
    size_t n_cols = step->inputs[NN_DENSE_WEIGHTS].dims[0],
           k = step->inputs[NN_DENSE_WEIGHTS].dims[1];
    bool is_packed = params_are_packed(step->params, &step->inputs[NN_DENSE_INPUT]);

    if (is_float(&step->inputs[NN_DENSE_INPUT]))
        return scratch_f32(step->inputs[NN_DENSE_INPUT].type == NNHAL_TENSOR_FLOAT16, is_packed,
                           step->outputs[0].dims[0], n_cols, k, ret);
    return scratch_q8(is_packed, step->outputs[0].dims[0], n_cols, k, &ret->bytes);
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("fully_connected_f32", FULLY_CONNECTED), .in0 = NN_T_F32,
     .params_bytes = sizeof(struct dense_f32_params), .lower = lower_float,
     .run = nn_fully_connected_f32, .check = check_fully_connected,
     .find_scratch = find_fully_connected_scratch},
    {NN_VARIANT_FMA_ROW("fully_connected_f16", FULLY_CONNECTED), .in0 = NN_T_F16,
     .params_bytes = sizeof(struct dense_f32_params), .lower = lower_float,
     .run = nn_fully_connected_f16, .check = check_fully_connected,
     .find_scratch = find_fully_connected_scratch},
    {NN_VARIANT_ROW("fully_connected_q8", FULLY_CONNECTED), .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct dense_q8_params), .lower = lower_q8,
     .run = nn_fully_connected_q8, .check = check_fully_connected,
     .find_scratch = find_fully_connected_scratch},
};
NN_VARIANT_FAMILY(fully_connected, kernels);
