/* SPDX-License-Identifier: Apache-2.0 */
/* ARGMAX and ARGMIN, and ARG_MAX and ARG_MIN of nnhal.tflite, whose indices have 64 bits, plain C:
 * the first index among ties. Comparisons are strict and begin with element 0, so a NaN there stays
 * and others never win. */
#include "drivers/cpu/kernels/common/slices.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/ops.h"

struct arg_params {
    uint32_t axis;
    uint32_t is_max;
};

static int lower_arg(struct nn_lower *lower)
{
    struct arg_params *params = lower->params;

    if (!nn_slices_axis(lower, 1, 0, &params->axis))
        return nn_lower_refuse(lower, "input 1 is not an axis of input 0");
    params->is_max = lower->operation == NNHAL_OP_ARGMAX ||
                     lower->operation == NN_TFLITE_OP(ARG_MAX);
    return 0;
}

static bool check_axis(const struct nn_kernel_step *step)
{
    const struct arg_params *params = step->params;

    return params->axis < step->inputs[0].n_dims &&
           nn_tensor_count(&step->outputs[0]) * step->inputs[0].dims[params->axis] ==
               nn_tensor_count(&step->inputs[0]);
}

/* Element type by type: whether a comes before b. */
static bool wins_f32(float a, float b, bool is_max)
{
    return is_max ? a > b : a < b;
}

static bool wins_i32(int32_t a, int32_t b, bool is_max)
{
    return is_max ? a > b : a < b;
}

/* Whether element a of the input beats element b; type is a constant where it is inlined. */
NN_INLINE bool wins(uint32_t type, const void *data, size_t a, size_t b, bool is_max)
{
    const uint16_t *halves = data;
    const uint8_t *bytes = data;

    switch (type) {
    case NNHAL_TENSOR_FLOAT32:
        return wins_f32(((const float *)data)[a], ((const float *)data)[b], is_max);
    case NNHAL_TENSOR_FLOAT16:
        return wins_f32(nn_f16_to_f32(halves[a]), nn_f16_to_f32(halves[b]), is_max);
    case NNHAL_TENSOR_INT32:
        return wins_i32(((const int32_t *)data)[a], ((const int32_t *)data)[b], is_max);
    case NNHAL_TENSOR_QUANT8_ASYMM:
        return wins_i32(bytes[a], bytes[b], is_max);
    default:
        return wins_i32(((const int8_t *)data)[a], ((const int8_t *)data)[b], is_max);
    }
}

/* Elements of a slice between two looks whether to stop. */
enum { PIECE = 16384 };

static void put_index(const struct nn_tensor *out, size_t item, size_t index)
{
    if (out->type == NNHAL_TENSOR_INT32)
        ((int32_t *)out->data)[item] = (int32_t)index;
    else
        ((int64_t *)out->data)[item] = (int64_t)index;
}

/* The slices [begin, end). */
NN_INLINE void find(const struct nn_slices_job *job, uint32_t type, size_t begin, size_t end)
{
    const struct nn_slices s = job->slices;
    const void *data = job->args->inputs[0].data;
    bool is_max = ((const struct arg_params *)job->args->params)->is_max;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t first = nn_slices_first(&s, item);
        size_t best = 0;

        for (size_t k = 1, end_k; k < s.n && !nn_pace_ends(&pace, 2 * PIECE); k = end_k) {
            end_k = nn_min_size(s.n, k + PIECE);
            for (size_t i = k; i < end_k; i++)
                if (wins(type, data, first + i * s.inner, first + best * s.inner, is_max))
                    best = i;
        }
        put_index(&job->args->outputs[0], item, best);
    }
}

static void arg_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_slices_job *job = ctx;

    switch (job->args->inputs[0].type) {
    case NNHAL_TENSOR_FLOAT32:
        find(job, NNHAL_TENSOR_FLOAT32, begin, end);
        break;
    case NNHAL_TENSOR_FLOAT16:
        find(job, NNHAL_TENSOR_FLOAT16, begin, end);
        break;
    case NNHAL_TENSOR_INT32:
        find(job, NNHAL_TENSOR_INT32, begin, end);
        break;
    case NNHAL_TENSOR_QUANT8_ASYMM:
        find(job, NNHAL_TENSOR_QUANT8_ASYMM, begin, end);
        break;
    default:
        find(job, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, begin, end);
        break;
    }
}

static int nn_arg__c(const struct nn_kernel_args *args)
{
    const struct arg_params *params = args->params;

    nn_slices_for(args, params->axis, 2, 5, arg_range);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("argmax__c", ARGMAX), .params_bytes = sizeof(struct arg_params), .lower = lower_arg,
     .run = nn_arg__c, .check = check_axis},
    {NN_ROW("argmin__c", ARGMIN), .params_bytes = sizeof(struct arg_params), .lower = lower_arg,
     .run = nn_arg__c, .check = check_axis},
    {NN_TFLITE_ROW("arg_max_i64__c", ARG_MAX), .params_bytes = sizeof(struct arg_params),
     .lower = lower_arg, .run = nn_arg__c, .check = check_axis},
    {NN_TFLITE_ROW("arg_min_i64__c", ARG_MIN), .params_bytes = sizeof(struct arg_params),
     .lower = lower_arg, .run = nn_arg__c, .check = check_axis},
};

NN_KERNEL_FAMILY(arg, kernels);
