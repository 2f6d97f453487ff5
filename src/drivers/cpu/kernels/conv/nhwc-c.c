/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/conv/conv.h"

#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/gemm/gemm.h"

#include <string.h>

/* ---- staging ---- */

/* An element that lies elsewhere than the one before, roughly. */
enum { CELL_NS = 2 };

struct stage_job {
    const struct nn_tensor *tensor;
    struct nn_conv_sizes sizes;
    bool is_nchw;
    void *staged;
    struct nn_stop *stop;
};

static float load_float(const struct nn_tensor *tensor, size_t i)
{
    if (tensor->type == NNHAL_TENSOR_FLOAT16)
        return nn_f16_to_f32(((const uint16_t *)tensor->data)[i]);
    return ((const float *)tensor->data)[i];
}

static void store_float(const struct nn_tensor *tensor, size_t i, float value)
{
    if (tensor->type == NNHAL_TENSOR_FLOAT16)
        ((uint16_t *)tensor->data)[i] = nn_f32_to_f16(value);
    else
        ((float *)tensor->data)[i] = value;
}

/* Where element (n, y, x, c) lies in the tensor; row is n * h + y. */
static size_t source_index(const struct stage_job *job, size_t row, size_t x, size_t c)
{
    const struct nn_conv_sizes *s = &job->sizes;

    if (job->is_nchw)
        return ((row / s->h * s->c + c) * s->h + row % s->h) * s->w + x;
    return (row * s->w + x) * s->c + c;
}

/* Items of all four loops are rows, n * h + y. */
static void stage_rows_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct stage_job *job = ctx;
    float *out = (float *)job->staged + begin * job->sizes.w * job->sizes.c;
    struct nn_pace pace = nn_pace(job->stop);

    for (size_t row = begin; row < end; row++)
        for (size_t x = 0; x < job->sizes.w && !nn_pace_ends(&pace, 1); x++)
            for (struct nn_pace_part part = {0};
                 nn_pace_next_part(&pace, job->sizes.c, CELL_NS, &part);)
                for (size_t c = part.begin; c < part.end; c++)
                    *out++ = load_float(job->tensor, source_index(job, row, x, c));
}

static void unstage_rows_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct stage_job *job = ctx;
    const float *in = (const float *)job->staged + begin * job->sizes.w * job->sizes.c;
    struct nn_pace pace = nn_pace(job->stop);

    for (size_t row = begin; row < end; row++)
        for (size_t x = 0; x < job->sizes.w && !nn_pace_ends(&pace, 1); x++)
            for (struct nn_pace_part part = {0};
                 nn_pace_next_part(&pace, job->sizes.c, CELL_NS, &part);)
                for (size_t c = part.begin; c < part.end; c++)
                    store_float(job->tensor, source_index(job, row, x, c), *in++);
}

static void stage_rows_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct stage_job *job = ctx;
    const struct nn_tensor *tensor = job->tensor;
    bool is_signed = tensor->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    size_t row_items = job->sizes.w * job->sizes.c;
    int16_t *out = (int16_t *)job->staged + begin * row_items;
    struct nn_pace pace = nn_pace(job->stop);

    if (!job->is_nchw) {
        nn_gemm_widen_q8(out, (const uint8_t *)tensor->data + begin * row_items, is_signed,
                         tensor->zero_point, (end - begin) * row_items, &pace);
        return;
    }
    for (size_t row = begin; row < end; row++)
        for (size_t x = 0; x < job->sizes.w && !nn_pace_ends(&pace, 1); x++)
            for (struct nn_pace_part part = {0};
                 nn_pace_next_part(&pace, job->sizes.c, CELL_NS, &part);)
                for (size_t c = part.begin; c < part.end; c++) {
                    uint8_t code = ((const uint8_t *)tensor->data)[source_index(job, row, x, c)];

                    *out++ = (int16_t)((is_signed ? (int8_t)code : code) - tensor->zero_point);
                }
}

static void unstage_rows_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct stage_job *job = ctx;
    const uint8_t *in = (const uint8_t *)job->staged + begin * job->sizes.w * job->sizes.c;
    struct nn_pace pace = nn_pace(job->stop);

    for (size_t row = begin; row < end; row++)
        for (size_t x = 0; x < job->sizes.w && !nn_pace_ends(&pace, 1); x++)
            for (struct nn_pace_part part = {0};
                 nn_pace_next_part(&pace, job->sizes.c, CELL_NS, &part);)
                for (size_t c = part.begin; c < part.end; c++)
                    ((uint8_t *)job->tensor->data)[source_index(job, row, x, c)] = *in++;
}

static void copy_staged(const struct nn_kernel_args *args, const struct nn_tensor *tensor,
                        bool is_nchw, void *staged, size_t element_cost, nn_range_fn rows)
{
    struct stage_job job = {tensor, nn_conv_sizes(tensor->dims, is_nchw), is_nchw, staged,
                            args->stop};

    nn_parallel_for(args, job.sizes.n * job.sizes.h,
                    1 + job.sizes.w * job.sizes.c * element_cost / 16, rows, &job);
}

const float *nn_conv_nhwc_f32(const struct nn_kernel_args *args, bool is_nchw, float *scratch)
{
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];

    if (!nn_conv_needs_nhwc(input->type, is_nchw))
        return input->data;
    copy_staged(args, input, is_nchw, scratch, 32, stage_rows_f32);
    return scratch;
}

void nn_conv_nhwc_q8(const struct nn_kernel_args *args, bool is_nchw, int16_t *scratch)
{
    copy_staged(args, &args->inputs[NN_CONV_INPUT], is_nchw, scratch, is_nchw ? 32 : 2,
                stage_rows_q8);
}

void nn_conv_from_nhwc_f32(const struct nn_kernel_args *args, bool is_nchw, const float *scratch)
{
    copy_staged(args, &args->outputs[0], is_nchw, (void *)(uintptr_t)scratch, 32, unstage_rows_f32);
}

void nn_conv_from_nhwc_q8(const struct nn_kernel_args *args, const uint8_t *scratch)
{
    copy_staged(args, &args->outputs[0], true, (void *)(uintptr_t)scratch, 16, unstage_rows_q8);
}
