/* SPDX-License-Identifier: Apache-2.0 */
#include "model/infer.h"

#include "model/geometry.h"
#include "model/signature.h"

#include "base/arith.h"

#include <math.h>
#include <string.h>

void nn_infer_operand_init(struct nn_infer_operand *infer, const struct nnhal_operand *operand,
                           const void *value)
{
    memset(infer, 0, sizeof(*infer));
    infer->type = operand->type;
    infer->n_dims = operand->n_dimensions;
    for (uint32_t i = 0; i < operand->n_dimensions && i < NNHAL_MAX_RANK; i++)
        infer->dims[i] = operand->dimensions[i];
    infer->scale = operand->scale;
    infer->zero_point = operand->zero_point;
    if (operand->extra_params == NNHAL_EXTRA_CHANNEL_QUANT)
        infer->channel_quant = &operand->channel_quant;
    infer->is_omitted = operand->lifetime == NNHAL_NO_VALUE;
    infer->is_known = nn_dims_known(operand->type, operand->n_dimensions, operand->dimensions);
    infer->is_fixed = operand->lifetime == NNHAL_SUBGRAPH_OUTPUT;
    infer->value = infer->is_omitted ? NULL : value;
}

bool nn_dims_merge(uint32_t n_a, const uint32_t *a, uint32_t n_b, const uint32_t *b,
                   uint32_t *ret_n, uint32_t *ret)
{
    uint32_t n = n_a ? n_a : n_b;

    if (n_a != 0 && n_b != 0 && n_a != n_b)
        return false;
    *ret_n = n;
    if (n_a == 0)
        a = b;
    else if (n_b == 0)
        b = a;
    for (uint32_t i = 0; i < n; i++) {
        if (a[i] != b[i] && a[i] != 0 && b[i] != 0)
            return false;
        ret[i] = a[i] ? a[i] : b[i];
    }
    return true;
}

/* -- running one operation -- */

static uint32_t operand_type(const void *ctx, uint32_t i)
{
    const struct nn_infer_operand *operands = ctx;

    return operands[i].type;
}

static uint32_t operand_rank(const void *ctx, uint32_t i)
{
    const struct nn_infer_operand *operands = ctx;

    return operands[i].n_dims;
}

/* The operation's row that the operands fit, NULL if none does. rank: NULL to leave ranks alone. */
static const struct nn_signature *find_row(const struct nn_infer *infer, const struct nn_op *op,
                                           uint32_t (*rank)(const void *ctx, uint32_t i))
{
    struct nn_signature_side inputs = {infer->n_inputs, infer->inputs, operand_type, rank};
    struct nn_signature_side outputs = {infer->n_outputs, infer->outputs, operand_type, rank};
    struct nn_signature_match match;

    for (uint32_t i = 0; i < op->n_signatures; i++)
        if (nn_signature_fits(&op->signatures[i], &inputs, &outputs, &match))
            return &op->signatures[i];
    return NULL;
}

static const struct nn_signature *find_signature(const struct nn_infer *infer)
{
    const struct nn_signature *signature = find_row(infer, infer->op, NULL);
    const struct nn_op *further = signature ? NULL : nn_op_further(infer->op);

    return further ? find_row(infer, further, NULL) : signature;
}

/* check_inputs() - only omittable inputs are omitted, and the others are known. */
static int check_inputs(const struct nn_infer *infer)
{
    const struct nn_signature *signature = find_signature(infer);

    if (!signature || (signature->flags & NN_SIGNATURE_TOLERATED))
        return nn_refuse(infer->why, "these operand types cannot be executed");
    for (uint32_t i = 0; i < infer->n_inputs; i++)
        if (infer->inputs[i].is_omitted && !nn_signature_may_omit(signature, i))
            return nn_refuse(infer->why, "input %u must not be omitted", i);
    for (uint32_t i = 0; i < infer->n_inputs; i++)
        if (!infer->inputs[i].is_omitted && !infer->inputs[i].is_known)
            return NN_INFER_E_UNKNOWN;
    return 0;
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* begin_output() - puts the declaration aside; the operation finds no dimensions. */
static void begin_output(struct nn_infer_operand *out)
{
    out->declared_scale = out->scale;
    out->declared_zero_point = out->zero_point;
    out->n_declared = out->n_dims;
    memcpy(out->declared, out->dims, sizeof(out->declared));
    memset(out->dims, 0, sizeof(out->dims));
    out->n_dims = 0;
    out->late_dims = 0;
}

/* Bit by bit: an output's quantization is a promise to the application, not an estimate. */
static int check_output_quant(const struct nn_infer *infer, uint32_t i)
{
    const struct nn_infer_operand *out = &infer->outputs[i];

    if (!out->is_fixed ||
        (same_bits(out->declared_scale, out->scale) && out->declared_zero_point == out->zero_point))
        return 0;
    return nn_refuse(infer->why, "output %u must have scale %g and zero point %d, not %g and %d", i,
                     (double)out->scale, out->zero_point, (double)out->declared_scale,
                     out->declared_zero_point);
}

/* merge_output() - computed against declared. A computed 0 is a zero-sized tensor and never
 * gives way to a declared number. */
static int merge_output(const struct nn_infer *infer, uint32_t i)
{
    struct nn_infer_operand *out = &infer->outputs[i];
    uint64_t n_bytes;

    if (out->n_declared != 0 && out->n_declared != out->n_dims)
        return nn_refuse(infer->why, "output %u has rank %u, the model says %u", i, out->n_dims,
                         out->n_declared);
    for (uint32_t d = 0; d < out->n_declared; d++) {
        bool is_late = out->late_dims & (1u << d);

        /* A late dimension is compared after execution, with nn_dims_merge(). */
        if (out->declared[d] != 0 && out->declared[d] != out->dims[d] && !is_late)
            return nn_refuse(infer->why, "dimension %u of output %u is %u, the model says %u", d, i,
                             out->dims[d], out->declared[d]);
    }
    if (!nn_operand_bytes(out->type, out->n_dims, out->dims, &n_bytes))
        return nn_refuse(infer->why, "output %u is larger than 4 GiB", i);
    out->is_known = out->late_dims == 0;
    return check_output_quant(infer, i);
}

static int refuse_empty(const struct nn_infer *infer)
{
    for (uint32_t i = 0; i < infer->n_inputs; i++) {
        const struct nn_infer_operand *input = &infer->inputs[i];

        for (uint32_t d = 0; !input->is_omitted && d < input->n_dims; d++)
            if (input->dims[d] == 0)
                return nn_refuse(infer->why, "input %u is zero-sized, which is not taken here", i);
    }
    return 0;
}

static bool may_have_any_rank(const struct nn_infer *infer)
{
    const struct nn_op *further = infer->is_lite ? nn_op_further(infer->op) : NULL;

    return further && find_row(infer, further, operand_rank);
}

int nn_infer_nnapi_rank(const struct nn_infer *infer, uint32_t i, uint32_t min, uint32_t max)
{
    if (infer->inputs[i].n_dims > max && may_have_any_rank(infer))
        max = NNHAL_MAX_RANK;
    return nn_infer_rank(infer, i, min, max);
}

/* check_rules() - what the operation's row says. */
static int check_rules(const struct nn_infer *infer, uint32_t rules)
{
    uint32_t min = rules >> 4 & 15, max = rules & 15;
    int r = rules & NN_INFER_NOT_EMPTY ? refuse_empty(infer) : 0;

    return r || max == 0 ? r : nn_infer_nnapi_rank(infer, 0, min, max);
}

static int infer_operation(struct nn_infer *infer, const struct nn_op_functions *functions)
{
    int r;

    for (uint32_t i = 0; i < infer->n_outputs; i++)
        begin_output(&infer->outputs[i]);
    r = check_rules(infer, functions->rules);
    if (r == 0)
        r = functions->infer(infer);
    for (uint32_t i = 0; r == 0 && i < infer->n_outputs; i++)
        r = merge_output(infer, i);
    return r;
}

int nn_infer(struct nn_infer *infer)
{
    const struct nn_op_functions *functions = nn_op_find_functions(infer->op);
    int r;

    if (!functions || !functions->infer)
        return nn_refuse(infer->why, "%s has no shape inference", infer->op->name);
    r = check_inputs(infer);
    if (r == 0)
        r = infer_operation(infer, functions);
    if (r == NN_REFUSED)
        return nn_why_prefix(infer->why, "%s: ", infer->op->name);
    return r;
}

/* -- for infer functions -- */

void nn_infer_set_dims(struct nn_infer *infer, uint32_t i, uint32_t n_dimensions,
                       const uint32_t *dimensions)
{
    struct nn_infer_operand *out = &infer->outputs[i];

    out->n_dims = n_dimensions;
    for (uint32_t d = 0; d < n_dimensions; d++)
        out->dims[d] = dimensions[d];
}

void nn_infer_set_dims_like(struct nn_infer *infer, uint32_t i, uint32_t j)
{
    nn_infer_set_dims(infer, i, infer->inputs[j].n_dims, infer->inputs[j].dims);
}

int nn_infer_same_dims(struct nn_infer *infer)
{
    nn_infer_set_dims_like(infer, 0, 0);
    return 0;
}

int nn_infer_same(struct nn_infer *infer)
{
    nn_infer_set_quant_like(infer, 0, 0);
    return nn_infer_same_dims(infer);
}

int nn_infer_moved(struct nn_infer *infer, uint32_t n_dims, const uint32_t *dims)
{
    nn_infer_set_dims(infer, 0, n_dims, dims);
    nn_infer_set_quant_like(infer, 0, 0);
    return 0;
}

void nn_infer_set_quant(struct nn_infer *infer, uint32_t i, float scale, int32_t zero_point)
{
    infer->outputs[i].scale = scale;
    infer->outputs[i].zero_point = zero_point;
}

void nn_infer_set_quant_like(struct nn_infer *infer, uint32_t i, uint32_t j)
{
    nn_infer_set_quant(infer, i, infer->inputs[j].scale, infer->inputs[j].zero_point);
}

int nn_infer_i32(const struct nn_infer *infer, uint32_t i, int32_t *ret)
{
    if (!infer->inputs[i].value)
        return NN_INFER_E_UNKNOWN;
    memcpy(ret, infer->inputs[i].value, sizeof(*ret));
    return 0;
}

int nn_infer_bool(const struct nn_infer *infer, uint32_t i, bool *ret)
{
    if (!infer->inputs[i].value)
        return NN_INFER_E_UNKNOWN;
    *ret = *(const uint8_t *)infer->inputs[i].value != 0;
    return 0;
}

int nn_infer_optional_bool(const struct nn_infer *infer, uint32_t i, bool *ret)
{
    if (i < infer->n_inputs)
        return nn_infer_bool(infer, i, ret);
    *ret = false;
    return 0;
}

/* half_to_float() - IEEE binary16, subnormals and infinities included. */
static float half_to_float(uint16_t half)
{
    int exponent = (half >> 10) & 0x1f;
    float value, fraction = (float)(half & 0x3ff);

    if (exponent == 0x1f)
        value = half & 0x3ff ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf(fraction, -24);
    else
        value = ldexpf(fraction + 1024.0f, exponent - 25);
    return half & 0x8000 ? -value : value;
}

int nn_infer_float(const struct nn_infer *infer, uint32_t i, float *ret)
{
    const struct nn_infer_operand *input = &infer->inputs[i];
    uint16_t half;

    if (!input->value)
        return NN_INFER_E_UNKNOWN;
    if (input->type == NNHAL_FLOAT16) {
        memcpy(&half, input->value, sizeof(half));
        *ret = half_to_float(half);
    } else {
        memcpy(ret, input->value, sizeof(*ret));
    }
    return 0;
}

int nn_infer_i32s(const struct nn_infer *infer, uint32_t i, const void **ret_values,
                  uint64_t *ret_n)
{
    const struct nn_infer_operand *input = &infer->inputs[i];
    uint64_t n;

    if (!nn_dims_product(input->n_dims, input->dims, &n))
        return nn_refuse(infer->why, "input %u is too large", i);
    /* Nothing is read from a zero-sized tensor, so nothing needs to be known. */
    if (!input->value && n > 0)
        return NN_INFER_E_UNKNOWN;
    *ret_values = input->value;
    *ret_n = n;
    return 0;
}

int32_t nn_infer_i32_at(const void *values, uint64_t i)
{
    int32_t value;

    memcpy(&value, (const uint8_t *)values + i * sizeof(value), sizeof(value));
    return value;
}

int nn_infer_activation(const struct nn_infer *infer, uint32_t i)
{
    int32_t code;

    if (nn_infer_i32(infer, i, &code) != 0 ||
        (code >= NNHAL_FUSED_NONE && code <= NNHAL_FUSED_RELU6))
        return 0;
    return nn_refuse(infer->why, "the fused activation is %d, it must be 0 to 3", code);
}

int nn_infer_rank(const struct nn_infer *infer, uint32_t i, uint32_t min, uint32_t max)
{
    uint32_t rank = infer->inputs[i].n_dims;

    if (rank >= min && rank <= max)
        return 0;
    if (min == max)
        return nn_refuse(infer->why, "input %u has rank %u, it must be %u", i, rank, min);
    return nn_refuse(infer->why, "input %u has rank %u, it must be %u to %u", i, rank, min, max);
}

int nn_infer_axis(const struct nn_infer *infer, uint32_t i, uint32_t rank, uint32_t *ret_axis)
{
    int32_t axis;
    int r = nn_infer_i32(infer, i, &axis);

    if (r != 0)
        return r;
    if (!nn_axis_resolve(axis, rank, ret_axis))
        return nn_refuse(infer->why, "axis %d is outside [-%u, %u)", axis, rank, rank);
    return 0;
}

int nn_infer_listed_dims(const struct nn_infer *infer, uint32_t i, uint32_t *dims, uint32_t *ret_n)
{
    const void *values;
    uint64_t n;
    int r;

    if ((r = nn_infer_rank(infer, i, 1, 1)) || (r = nn_infer_i32s(infer, i, &values, &n)))
        return r;
    if (n > NNHAL_MAX_RANK)
        return nn_refuse(infer->why, "the output would have rank %llu, at most %d is allowed",
                         (unsigned long long)n, NNHAL_MAX_RANK);
    for (uint32_t d = 0; d < n; d++) {
        int32_t dim = nn_infer_i32_at(values, d);

        if (dim < 0)
            return nn_refuse(infer->why, "dimension %u of the output would be %d", d, dim);
        dims[d] = (uint32_t)dim;
    }
    *ret_n = (uint32_t)n;
    return 0;
}

int nn_infer_pair(struct nn_infer *infer)
{
    const struct nn_infer_operand *a = &infer->inputs[0], *b = &infer->inputs[1];
    uint32_t n, dims[NNHAL_MAX_RANK];

    if (!nn_broadcast_dims(a->n_dims, a->dims, b->n_dims, b->dims, &n, dims))
        return nn_refuse(infer->why, "the shapes of inputs 0 and 1 cannot be broadcast");
    nn_infer_set_dims(infer, 0, n, dims);
    return 0;
}

/* A millionth is what Android's runtime allows. */
int nn_infer_bias_scale(const struct nn_infer *infer, uint32_t input, uint32_t filter,
                        uint32_t bias)
{
    const struct nn_infer_operand *b = &infer->inputs[bias];
    float product = infer->inputs[input].scale * infer->inputs[filter].scale;
    double difference = fabs((double)product - (double)b->scale);

    if (b->type != NNHAL_TENSOR_INT32 ||
        infer->inputs[filter].type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL)
        return 0;
    if (b->zero_point != 0)
        return nn_refuse(infer->why, "the bias has zero point %d, it must be 0", b->zero_point);
    if (difference <= 1e-6 * fmin((double)product, (double)b->scale))
        return 0;
    return nn_refuse(infer->why, "the bias has scale %g, input and filter give %g",
                     (double)b->scale, (double)product);
}

int nn_infer_wide_sum(const struct nn_infer *infer, uint32_t input, uint32_t filter, uint32_t bias)
{
    const struct nn_infer_operand *weights = &infer->inputs[filter];
    const struct nnhal_channel_quant *channels = weights->channel_quant;
    double unit = (double)infer->inputs[input].scale / (double)infer->outputs[0].scale;

    if (infer->inputs[bias].type != NN_TYPE_TENSOR_INT64 || (channels && !channels->scales))
        return 0;
    for (uint32_t i = 0; i < (channels ? channels->n_scales : 1); i++) {
        float scale = channels ? channels->scales[i] : weights->scale;

        if (!(unit * (double)scale < 128.0))
            return nn_refuse(infer->why, "the output's scale is too small for channel %u", i);
    }
    return 0;
}
