/* SPDX-License-Identifier: Apache-2.0 */
/* COS, ROUND, FLOOR_MOD, SHAPE and SCATTER_ND of nnhal.tflite, plain C, as TensorFlow Lite's reference
 * has them.
 *
 * FLOOR_MOD has the sign of the divisor; of integers and a divisor of 0 it is 0, as DIV is. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"
#include "model/ops.h"

#include <math.h>
#include <string.h>

/* ---- COS ---- */

static void cos_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const float *in = (const float *)args->inputs[0].data + row->in0;
    float *out = (float *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = cosf(in[i]);
}

/* ---- ROUND ---- */

/* To the nearest integer; one that lies in the middle goes to the even neighbor. */
static inline float round_even(float x)
{
    float below = floorf(x), rest = x - below;

    return rest < 0.5f || (rest == 0.5f && fmodf(below, 2.0f) == 0.0f) ? below : below + 1.0f;
}

static void round_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const float *in = (const float *)args->inputs[0].data + row->in0;
    float *out = (float *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = round_even(in[i]);
}

/* ---- FLOOR_MOD ---- */

static inline float mod_f32(float a, float b)
{
    float rest = fmodf(a, b);

    return rest != 0.0f && (b < 0.0f) != (rest < 0.0f) ? rest + b : rest;
}

/* Nothing is left of a division by -1, which C does not define for the lowest number. */
static inline int32_t mod_i32(int32_t a, int32_t b)
{
    int32_t rest = b == 0 || b == -1 ? 0 : a % b;

    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

static void floor_mod_row_f32(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const float *a = (const float *)args->inputs[0].data + row->in0;
    const float *b = (const float *)args->inputs[1].data + row->in1;
    float *out = (float *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = mod_f32(a[i * row->step0], b[i * row->step1]);
}

/* The divisor is read once: it may be in memory that changes. */
static void floor_mod_row_i32(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const int32_t *a = (const int32_t *)args->inputs[0].data + row->in0;
    const volatile int32_t *b = (const int32_t *)args->inputs[1].data + row->in1;
    int32_t *out = (int32_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = mod_i32(a[i * row->step0], b[i * row->step1]);
}

/* ---- SHAPE ---- */

static int nn_shape__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *input = &args->inputs[0], *output = &args->outputs[0];

    for (uint32_t d = 0; d < input->n_dims; d++) {
        if (output->type == NNHAL_TENSOR_INT32)
            ((int32_t *)output->data)[d] = (int32_t)input->dims[d];
        else
            ((int64_t *)output->data)[d] = input->dims[d];
    }
    return 0;
}

/* ---- SCATTER_ND ---- */

/* Elements between two looks whether to stop. */
enum { PIECE = 16384 };

static void clear(const struct nn_kernel_args *args)
{
    struct nn_pace pace = nn_pace(args->stop);

    nn_pace_fill(&pace, args->outputs[0].data, 0, args->outputs[0].size);
}

/* Integers wrap; a truth stays one. */
static void add_elements(uint32_t type, void *to, const void *from, size_t n)
{
    switch (type) {
    case NNHAL_TENSOR_FLOAT32:
        for (size_t i = 0; i < n; i++)
            ((float *)to)[i] += ((const float *)from)[i];
        break;
    case NNHAL_TENSOR_INT32:
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)to)[i] += ((const uint32_t *)from)[i];
        break;
    case NNHAL_TENSOR_BOOL8:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] |= ((const uint8_t *)from)[i] != 0;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = (uint8_t)(((const uint8_t *)to)[i] + ((const uint8_t *)from)[i]);
        break;
    }
}

/* The slab of the output that index i names. */
static int find_slab(const struct nn_kernel_args *args, size_t i, size_t *ret_slab)
{
    const struct nn_tensor *indices = &args->inputs[0], *out = &args->outputs[0];
    uint32_t depth = indices->dims[indices->n_dims - 1];
    const volatile int32_t *index = (const int32_t *)indices->data + i * depth;
    size_t slab = 0;

    for (uint32_t d = 0; d < depth; d++) {
        int32_t at = index[d];

        if (at < 0 || (uint32_t)at >= out->dims[d])
            return nn_kernel_refuse(args, "index %d is outside [0, %u)", at, out->dims[d]);
        slab = slab * out->dims[d] + (size_t)at;
    }
    *ret_slab = slab;
    return 0;
}

/* On one thread: what falls into one place is added up in the order of the indices. */
static int nn_scatter_nd__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *indices = &args->inputs[0];
    const struct nn_tensor *updates = &args->inputs[NN_SCATTER_UPDATES], *out = &args->outputs[0];
    size_t n_slabs = nn_tensor_count(indices) / indices->dims[indices->n_dims - 1];
    size_t n = nn_tensor_count(updates) / n_slabs, bytes = nn_type_bytes(out->type);
    struct nn_pace pace = nn_pace(args->stop);
    size_t slab = 0;
    int r;

    clear(args);
    for (size_t i = 0; i < n_slabs; i++) {
        r = find_slab(args, i, &slab);
        if (r)
            return r;
        for (size_t at = 0, piece; at < n; at += piece) {
            piece = nn_min_size(PIECE, n - at);
            if (nn_pace_ends(&pace, 10 + piece / 2))
                return 0;
            add_elements(out->type, (char *)out->data + (slab * n + at) * bytes,
                         (const char *)updates->data + (i * n + at) * bytes, piece);
        }
    }
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_TFLITE_ROW("cos_f32__c", COS), .in0 = NN_T_F32, .in_place = 1, .is_elementwise = 1,
     .walk = nn_rows_run, .row = cos_row, .element_cost = 96},
    {NN_TFLITE_ROW("round_f32__c", ROUND), .in0 = NN_T_F32, .in_place = 1, .is_elementwise = 1,
     .walk = nn_rows_run, .row = round_row, .element_cost = 80},
    {NN_TFLITE_ROW("floor_mod_f32__c", FLOOR_MOD), .in0 = NN_T_F32, .in_place = 3,
     .is_elementwise = 1, .walk = nn_broadcast_run, .row = floor_mod_row_f32, .element_cost = 320},
    {NN_TFLITE_ROW("floor_mod_i32__c", FLOOR_MOD), .in0 = NN_T_I32, .in_place = 3,
     .is_elementwise = 1, .walk = nn_broadcast_run, .row = floor_mod_row_i32, .element_cost = 96},
    {NN_TFLITE_ROW("shape__c", SHAPE), .run = nn_shape__c},
    {NN_TFLITE_ROW("scatter_nd__c", SCATTER_ND), .needs_value = 1 << NN_SCATTER_SHAPE,
     .run = nn_scatter_nd__c},
};

NN_KERNEL_FAMILY(tflite, kernels);
