/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/conv/conv.h"

#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/common/vector.h"
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

/* Where element (n, y, x, c) lies in the tensor; row is n * h + y. */
static size_t source_index(const struct stage_job *job, size_t row, size_t x, size_t c)
{
    const struct nn_conv_sizes *s = &job->sizes;

    if (job->is_nchw)
        return ((row / s->h * s->c + c) * s->h + row % s->h) * s->w + x;
    return (row * s->w + x) * s->c + c;
}

/* Moves the element at in the tensor from or to the staged one i. */
typedef void (*move_fn)(const struct stage_job *job, size_t at, size_t i);

/* Rows are n * h + y. move is constant where this is called. */
NN_INLINE void walk_rows(const struct stage_job *job, size_t begin, size_t end, move_fn move)
{
    size_t i = begin * job->sizes.w * job->sizes.c;
    struct nn_pace pace = nn_pace(job->stop);

    for (size_t row = begin; row < end; row++)
        for (size_t x = 0; x < job->sizes.w && !nn_pace_ends(&pace, 1); x++)
            for (struct nn_pace_part part = {0};
                 nn_pace_next_part(&pace, job->sizes.c, CELL_NS, &part);)
                for (size_t c = part.begin; c < part.end; c++)
                    move(job, source_index(job, row, x, c), i++);
}

static void stage_f32(const struct stage_job *job, size_t at, size_t i)
{
    bool is_half = job->tensor->type == NNHAL_TENSOR_FLOAT16;

    ((float *)job->staged)[i] = is_half ? nn_f16_to_f32(((const uint16_t *)job->tensor->data)[at])
                                        : ((const float *)job->tensor->data)[at];
}

static void unstage_f32(const struct stage_job *job, size_t at, size_t i)
{
    float value = ((const float *)job->staged)[i];

    if (job->tensor->type == NNHAL_TENSOR_FLOAT16)
        ((uint16_t *)job->tensor->data)[at] = nn_f32_to_f16(value);
    else
        ((float *)job->tensor->data)[at] = value;
}

static void stage_q8(const struct stage_job *job, size_t at, size_t i)
{
    uint8_t code = ((const uint8_t *)job->tensor->data)[at];
    bool is_signed = job->tensor->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;

    ((int16_t *)job->staged)[i] = (int16_t)((is_signed ? (int8_t)code : code) -
                                            job->tensor->zero_point);
}

static void unstage_q8(const struct stage_job *job, size_t at, size_t i)
{
    ((uint8_t *)job->tensor->data)[at] = ((const uint8_t *)job->staged)[i];
}

static void stage_rows_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    walk_rows(ctx, begin, end, stage_f32);
}

static void unstage_rows_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    walk_rows(ctx, begin, end, unstage_f32);
}

static void stage_rows_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct stage_job *job = ctx;
    size_t row_items = job->sizes.w * job->sizes.c;
    struct nn_pace pace = nn_pace(job->stop);

    if (job->is_nchw)
        walk_rows(job, begin, end, stage_q8);
    else
        nn_gemm_widen_q8((int16_t *)job->staged + begin * row_items,
                         (const uint8_t *)job->tensor->data + begin * row_items,
                         job->tensor->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED,
                         job->tensor->zero_point, (end - begin) * row_items, &pace);
}

static void unstage_rows_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    walk_rows(ctx, begin, end, unstage_q8);
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
