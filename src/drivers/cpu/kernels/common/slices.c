/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/common/slices.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/geometry.h"

struct nn_slices nn_slices(uint32_t n_dims, const uint32_t *dims, uint32_t axis)
{
    struct nn_slices slices = {.outer = 1, .n = dims[axis], .inner = 1};

    for (uint32_t d = 0; d < axis; d++)
        slices.outer *= dims[d];
    for (uint32_t d = axis + 1; d < n_dims; d++)
        slices.inner *= dims[d];
    return slices;
}

bool nn_slices_axis(const struct nn_lower *lower, uint32_t i, int32_t fallback, uint32_t *ret)
{
    return nn_axis_resolve(nn_lower_i32(lower, i, fallback), lower->inputs[0].n_dims, ret);
}

static bool is_direct(const struct nn_tensor *in, const struct nn_slices *slices)
{
    return slices->inner == 1 && in->type == NNHAL_TENSOR_FLOAT32;
}

/* A slice and its results. */
bool nn_slices_find_scratch(const struct nn_kernel_step *step, uint32_t axis,
                            struct nn_kernel_scratch *ret)
{
    const struct nn_tensor *in = &step->inputs[0];
    struct nn_slices slices = nn_slices(in->n_dims, in->dims, axis);

    return is_direct(in, &slices) || nn_mul_size(slices.n, 2 * sizeof(float), &ret->worker_bytes);
}

void nn_slices_for(const struct nn_kernel_args *args, uint32_t axis, size_t element_cost,
                   size_t slice_cost, nn_range_fn fn)
{
    const struct nn_tensor *in = &args->inputs[0];
    struct nn_slices_job job = {args, nn_slices(in->n_dims, in->dims, axis)};

    nn_parallel_for(args, job.slices.outer * job.slices.inner,
                    job.slices.n * element_cost + slice_cost, fn, &job);
}

struct slices_job {
    const struct nn_kernel_args *args;
    struct nn_slices slices;
    nn_slice_fn fn;
    bool is_half;
};

static void load_slice(const struct slices_job *job, size_t first, float *to, struct nn_pace *pace)
{
    const struct nn_slices *s = &job->slices;
    const void *data = job->args->inputs[0].data;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, s->n, 2, &part);)
        for (size_t k = part.begin; k < part.end; k++) {
            size_t at = first + k * s->inner;

            to[k] = job->is_half ? nn_f16_to_f32(((const uint16_t *)data)[at])
                                 : ((const float *)data)[at];
        }
}

static void store_slice(const struct slices_job *job, size_t first, const float *from,
                        struct nn_pace *pace)
{
    const struct nn_slices *s = &job->slices;
    void *data = job->args->outputs[0].data;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, s->n, 2, &part);)
        for (size_t k = part.begin; k < part.end; k++) {
            size_t at = first + k * s->inner;

            if (job->is_half)
                ((uint16_t *)data)[at] = nn_f32_to_f16(from[k]);
            else
                ((float *)data)[at] = from[k];
        }
}

/* One item is one slice. */
static void slice_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct slices_job *job = ctx;
    const struct nn_slices *s = &job->slices;
    float *buffer = nn_worker_scratch(job->args, worker);
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t first = nn_slices_first(s, item);

        if (is_direct(&job->args->inputs[0], s)) {
            job->fn(job->args, (const float *)job->args->inputs[0].data + first,
                    (float *)job->args->outputs[0].data + first, s->n);
        } else {
            load_slice(job, first, buffer, &pace);
            job->fn(job->args, buffer, buffer + s->n, s->n);
            store_slice(job, first, buffer + s->n, &pace);
        }
    }
}

void nn_slices_run_f32(const struct nn_kernel_args *args, uint32_t axis, size_t cost,
                       nn_slice_fn fn)
{
    const struct nn_tensor *in = &args->inputs[0];
    struct slices_job job = {.args = args,
                             .slices = nn_slices(in->n_dims, in->dims, axis),
                             .fn = fn,
                             .is_half = in->type == NNHAL_TENSOR_FLOAT16};

    nn_parallel_for(args, job.slices.outer * job.slices.inner, job.slices.n * cost / 16 + 10,
                    slice_range, &job);
}
