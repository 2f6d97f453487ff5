/* SPDX-License-Identifier: Apache-2.0 */
/* INSTANCE_NORMALIZATION, plain C: (x - mean) gamma / sqrt(variance + epsilon) + beta
 * for each image and channel.
 *
 * Two passes, the second over differences from the mean: values around 200 with a
 * small variance would cancel otherwise. Sums are doubles, in the order of pixels. */
#include "drivers/cpu/kernel.h"
#include "drivers/cpu/kernels/float16.h"

#include <math.h>

struct params {
    float gamma, beta, epsilon;
    uint32_t is_nchw;
};

static int lower_instance(struct nn_lower *lower)
{
    struct params *params = lower->params;

    params->gamma = nn_lower_f32(lower, 1, 1.0f);
    params->beta = nn_lower_f32(lower, 2, 0.0f);
    params->epsilon = nn_lower_f32(lower, 3, 0.0f);
    params->is_nchw = nn_lower_bool(lower, 4, false);
    return 0;
}

struct job {
    const struct nn_kernel_args *args;
    size_t n_pixels, depth;
    size_t pixel_stride, channel_stride;
    bool is_half;
};

static float read_at(const struct job *job, size_t at)
{
    const void *data = job->args->inputs[0].data;

    return job->is_half ? nn_f16_to_f32(((const uint16_t *)data)[at]) : ((const float *)data)[at];
}

static void write_at(const struct job *job, size_t at, float x)
{
    void *data = job->args->outputs[0].data;

    if (job->is_half)
        ((uint16_t *)data)[at] = nn_f32_to_f16(x);
    else
        ((float *)data)[at] = x;
}

/* One item is one channel of one image. */
static void channels(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct job *job = ctx;
    const struct params *params = job->args->params;

    for (size_t item = begin; item < end; item++) {
        size_t first = item / job->depth * job->depth * job->n_pixels +
                       item % job->depth * job->channel_stride;
        double sum = 0.0, squares = 0.0;
        float mean, scale;

        for (size_t i = 0; i < job->n_pixels; i++)
            sum += (double)read_at(job, first + i * job->pixel_stride);
        mean = (float)(sum / (double)job->n_pixels);
        for (size_t i = 0; i < job->n_pixels; i++) {
            double d = (double)(read_at(job, first + i * job->pixel_stride) - mean);

            squares += d * d;
        }
        scale = params->gamma / sqrtf((float)(squares / (double)job->n_pixels) + params->epsilon);
        for (size_t i = 0; i < job->n_pixels; i++) {
            size_t at = first + i * job->pixel_stride;

            write_at(job, at, (read_at(job, at) - mean) * scale + params->beta);
        }
    }
}

static int nn_instance_normalization_float__c(const struct nn_kernel_args *args)
{
    const struct params *params = args->params;
    const struct nn_tensor *in = &args->inputs[0];
    const uint32_t *dims = in->dims;
    struct job job = {.args = args, .is_half = in->type == NNHAL_TENSOR_FLOAT16};

    job.depth = dims[params->is_nchw ? 1 : 3];
    job.n_pixels = nn_tensor_count(in) / dims[0] / job.depth;
    job.pixel_stride = params->is_nchw ? 1 : job.depth;
    job.channel_stride = params->is_nchw ? job.n_pixels : 1;
    nn_parallel_for(args, dims[0] * job.depth, job.n_pixels * 6, channels, &job);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {.name = "instance_normalization_float__c",
     .operation = NNHAL_OP_INSTANCE_NORMALIZATION,
     .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct params),
     .lower = lower_instance,
     .run = nn_instance_normalization_float__c},
};

NN_KERNEL_FAMILY(instance_normalisation, kernels);
