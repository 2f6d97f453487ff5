/* SPDX-License-Identifier: Apache-2.0 */
/* INSTANCE_NORMALIZATION, plain C: (x - mean) gamma / sqrt(variance + epsilon) + beta
 * for each image and channel.
 *
 * Two passes, the second over differences from the mean: values around 200 with a
 * small variance would cancel otherwise. Sums are doubles, in the order of pixels. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <math.h>
#include <string.h>

struct instance_params {
    float gamma, beta, epsilon;
    uint32_t is_nchw;
};

static int lower_instance(struct nn_lower *lower)
{
    struct instance_params *params = lower->params;

    params->gamma = nn_lower_f32(lower, 1, 1.0f);
    params->beta = nn_lower_f32(lower, 2, 0.0f);
    params->epsilon = nn_lower_f32(lower, 3, 0.0f);
    params->is_nchw = nn_lower_bool(lower, 4, false);
    return 0;
}

struct instance_job {
    const struct nn_kernel_args *args;
    size_t n_pixels, depth;
    bool is_half;
};

/* n elements from at on, as floats: in place for float32, else in buffer. */
static const float *load_pixels(const struct instance_job *job, size_t at, size_t n,
                                float buffer[NN_CHUNK])
{
    const void *data = job->args->inputs[0].data;

    if (!job->is_half)
        return (const float *)data + at;
    nn_f16_widen(buffer, (const uint16_t *)data + at, n);
    return buffer;
}

static void store_pixels(const struct instance_job *job, size_t at, size_t n, const float *from)
{
    void *data = job->args->outputs[0].data;

    if (job->is_half)
        nn_narrow((uint16_t *)data + at, from, n);
    else
        memcpy((float *)data + at, from, n * sizeof(*from));
}

/* What a channel's elements become: (x - mean) * scale + beta. */
static float scale_of(const struct instance_params *params, double squares, size_t n)
{
    return params->gamma / sqrtf((float)(squares / (double)n) + params->epsilon);
}

/* NHWC: one item is a block of channels of one image, which are walked side by side. */
static void blocks_of_channels(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct instance_job *job = ctx;
    const struct instance_params *params = job->args->params;
    size_t n_blocks = (job->depth + NN_CHUNK - 1) / NN_CHUNK;
    double sums[NN_CHUNK];
    float mean[NN_CHUNK], scale[NN_CHUNK], buffer[NN_CHUNK];
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t channel = item % n_blocks * NN_CHUNK;
        size_t first = item / n_blocks * job->n_pixels * job->depth + channel;
        size_t n = nn_min_size(NN_CHUNK, job->depth - channel);

        for (size_t c = 0; c < n; c++)
            sums[c] = 0.0;
        for (size_t i = 0; i < job->n_pixels && !nn_pace_ends(&pace, 2 + n); i++) {
            const float *x = load_pixels(job, first + i * job->depth, n, buffer);

            for (size_t c = 0; c < n; c++)
                sums[c] += (double)x[c];
        }
        for (size_t c = 0; c < n; c++) {
            mean[c] = (float)(sums[c] / (double)job->n_pixels);
            sums[c] = 0.0;
        }
        for (size_t i = 0; i < job->n_pixels && !nn_pace_ends(&pace, 2 + n); i++) {
            const float *x = load_pixels(job, first + i * job->depth, n, buffer);

            for (size_t c = 0; c < n; c++) {
                double d = (double)(x[c] - mean[c]);

                sums[c] += d * d;
            }
        }
        for (size_t c = 0; c < n; c++)
            scale[c] = scale_of(params, sums[c], job->n_pixels);
        for (size_t i = 0; i < job->n_pixels && !nn_pace_ends(&pace, 2 + n); i++) {
            const float *x = load_pixels(job, first + i * job->depth, n, buffer);

            for (size_t c = 0; c < n; c++)
                buffer[c] = (x[c] - mean[c]) * scale[c] + params->beta;
            store_pixels(job, first + i * job->depth, n, buffer);
        }
    }
}

/* NCHW: one item is one channel of one image, contiguous. */
static void normalize_channels(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct instance_job *job = ctx;
    const struct instance_params *params = job->args->params;
    float buffer[NN_CHUNK];
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t first = item * job->n_pixels;
        double sum = 0.0, squares = 0.0;
        float mean, scale;

        for (size_t i = 0; i < job->n_pixels && !nn_pace_ends(&pace, NN_CHUNK); i += NN_CHUNK) {
            size_t n = nn_min_size(NN_CHUNK, job->n_pixels - i);
            const float *x = load_pixels(job, first + i, n, buffer);

            for (size_t k = 0; k < n; k++)
                sum += (double)x[k];
        }
        mean = (float)(sum / (double)job->n_pixels);
        for (size_t i = 0; i < job->n_pixels && !nn_pace_ends(&pace, NN_CHUNK); i += NN_CHUNK) {
            size_t n = nn_min_size(NN_CHUNK, job->n_pixels - i);
            const float *x = load_pixels(job, first + i, n, buffer);

            for (size_t k = 0; k < n; k++) {
                double d = (double)(x[k] - mean);

                squares += d * d;
            }
        }
        scale = scale_of(params, squares, job->n_pixels);
        for (size_t i = 0; i < job->n_pixels && !nn_pace_ends(&pace, NN_CHUNK); i += NN_CHUNK) {
            size_t n = nn_min_size(NN_CHUNK, job->n_pixels - i);
            const float *x = load_pixels(job, first + i, n, buffer);

            for (size_t k = 0; k < n; k++)
                buffer[k] = (x[k] - mean) * scale + params->beta;
            store_pixels(job, first + i, n, buffer);
        }
    }
}

static int nn_instance_normalization_float(const struct nn_kernel_args *args)
{
    const struct instance_params *params = args->params;
    const struct nn_tensor *in = &args->inputs[0];
    const uint32_t *dims = in->dims;
    struct instance_job job = {.args = args, .is_half = in->type == NNHAL_TENSOR_FLOAT16};

    job.depth = dims[params->is_nchw ? 1 : 3];
    job.n_pixels = nn_tensor_count(in) / dims[0] / job.depth;
    if (params->is_nchw)
        nn_parallel_for(args, dims[0] * job.depth, job.n_pixels * 3, normalize_channels, &job);
    else
        nn_parallel_for(args, dims[0] * ((job.depth + NN_CHUNK - 1) / NN_CHUNK),
                        job.n_pixels * nn_min_size(job.depth, NN_CHUNK), blocks_of_channels, &job);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("instance_normalization_float", INSTANCE_NORMALIZATION),
     .in0 = NN_T_F32 | NN_T_F16, .params_bytes = sizeof(struct instance_params),
     .lower = lower_instance, .run = nn_instance_normalization_float},
};

NN_VARIANT_FAMILY(instance_normalization, kernels);
