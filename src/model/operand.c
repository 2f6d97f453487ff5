/* SPDX-License-Identifier: Apache-2.0 */
/* operand.c - what can be said of one operand, or of two */
#include "model/validate.h"

#include <math.h>

/* check_dims() - what is known of them must fit: an unknown one is at least 1. */
static int check_dims(const struct nnhal_operand *operand, struct nn_why *why)
{
    uint32_t least[NNHAL_MAX_RANK];
    uint64_t n_bytes;

    if (operand->n_dimensions == 0)
        return 0;
    if (nn_type_is_scalar(operand->type))
        return nn_refuse(why, "%s is a scalar and has no dimensions", nn_type_name(operand->type));
    if (operand->n_dimensions > NNHAL_MAX_RANK)
        return nn_refuse(why, "the rank is %u, at most %d is supported", operand->n_dimensions,
                         NNHAL_MAX_RANK);
    for (uint32_t i = 0; i < operand->n_dimensions; i++)
        least[i] = operand->dimensions[i] ? operand->dimensions[i] : 1;
    if (!nn_operand_bytes(operand->type, operand->n_dimensions, least, &n_bytes))
        return nn_refuse(why, "the size of the tensor does not fit 32 bits");
    return 0;
}

/* A bias is a TENSOR_INT32 with a scale; any other integer tensor may have one, too. */
static int check_scale(const struct nnhal_operand *operand, struct nn_why *why)
{
    const char *name = nn_type_name(operand->type);
    float scale = operand->scale;

    if (nn_type_is_oem(operand->type))
        return 0;
    if (!isfinite(scale))
        return nn_refuse(why, "the scale of %s must be a finite number", name);
    if (nn_type_is_quantized(operand->type))
        return scale > 0 ? 0 : nn_refuse(why, "%s needs a scale above 0", name);
    if (operand->type == NNHAL_TENSOR_INT32)
        return scale >= 0 ? 0 : nn_refuse(why, "the scale of %s is negative", name);
    return scale == 0 ? 0 : nn_refuse(why, "%s takes no scale, it must be 0", name);
}

static int check_zero_point(const struct nnhal_operand *operand, struct nn_why *why)
{
    int32_t min, max;

    if (nn_type_is_oem(operand->type))
        return 0;
    nn_type_zero_point_range(operand->type, &min, &max);
    if (operand->zero_point >= min && operand->zero_point <= max)
        return 0;
    return nn_refuse(why, "the zero point of %s is %d, it must be in [%d, %d]",
                     nn_type_name(operand->type), operand->zero_point, min, max);
}

/* The channels must be counted now: kernels take one scale for each. */
static int check_channel_quant(const struct nnhal_operand *operand, struct nn_why *why)
{
    const struct nnhal_channel_quant *quant = &operand->channel_quant;

    if (quant->channel_dim >= operand->n_dimensions)
        return nn_refuse(why, "the channel dimension is %u, the rank is %u", quant->channel_dim,
                         operand->n_dimensions);
    if (operand->dimensions[quant->channel_dim] == 0)
        return nn_refuse(why, "the channel dimension must be known");
    if (quant->n_scales != operand->dimensions[quant->channel_dim])
        return nn_refuse(why, "there are %u channel scales for %u channels", quant->n_scales,
                         operand->dimensions[quant->channel_dim]);
    for (uint32_t i = 0; i < quant->n_scales; i++)
        if (!isfinite(quant->scales[i]) || !(quant->scales[i] > 0))
            return nn_refuse(why, "channel scale %u is not above 0", i);
    return 0;
}

static int check_extra_params(const struct nnhal_operand *operand, struct nn_why *why)
{
    const char *name = nn_type_name(operand->type);

    if (operand->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        if (operand->extra_params != NNHAL_EXTRA_CHANNEL_QUANT)
            return nn_refuse(why, "%s needs channel scales", name);
        return check_channel_quant(operand, why);
    }
    if (operand->extra_params == NNHAL_EXTRA_NONE)
        return 0;
    if (operand->extra_params == NNHAL_EXTRA_EXTENSION && nn_type_is_extension(operand->type))
        return 0;
    return nn_refuse(why, "%s takes no extra parameters of kind %u", name, operand->extra_params);
}

int nn_operand_validate(const struct nnhal_operand *operand, struct nn_why *why)
{
    int r;

    if (!nn_type_is_base(operand->type) && !nn_type_is_extension(operand->type))
        return nn_refuse(why, "there is no operand type %u", operand->type);
    r = check_dims(operand, why);
    if (r == 0)
        r = check_scale(operand, why);
    if (r == 0)
        r = check_zero_point(operand, why);
    if (r == 0)
        r = check_extra_params(operand, why);
    return r;
}

int nn_operand_validate_constant(const struct nnhal_operand *operand, uint64_t length,
                                 struct nn_why *why)
{
    uint64_t n_bytes;

    if (nn_type_is_oem(operand->type) || nn_type_is_extension(operand->type))
        return 0;
    if (!nn_dims_known(operand->type, operand->n_dimensions, operand->dimensions))
        return nn_refuse(why, "a constant's rank and dimensions must be known and above 0");
    if (!nn_operand_bytes(operand->type, operand->n_dimensions, operand->dimensions, &n_bytes))
        return nn_refuse(why, "the size of the tensor does not fit 32 bits");
    if (length != n_bytes)
        return nn_refuse(why, "the constant has %llu bytes, the operand %llu",
                         (unsigned long long)length, (unsigned long long)n_bytes);
    return 0;
}

/* -- two operands -- */

/* Extension data is compared byte by byte: what it means is the extension's own. */
static bool same_extra_params(const struct nnhal_operand *a, const struct nnhal_operand *b)
{
    if (a->extra_params != b->extra_params)
        return false;
    if (a->extra_params == NNHAL_EXTRA_CHANNEL_QUANT) {
        if (a->channel_quant.channel_dim != b->channel_quant.channel_dim ||
            a->channel_quant.n_scales != b->channel_quant.n_scales)
            return false;
        for (uint32_t i = 0; i < a->channel_quant.n_scales; i++)
            if (a->channel_quant.scales[i] != b->channel_quant.scales[i])
                return false;
    }
    if (a->extra_params == NNHAL_EXTRA_EXTENSION) {
        if (a->extension_data.size != b->extension_data.size)
            return false;
        for (uint64_t i = 0; i < a->extension_data.size; i++)
            if (a->extension_data.data[i] != b->extension_data.data[i])
                return false;
    }
    return true;
}

int nn_operand_check_compatible(const struct nnhal_operand *a, const struct nnhal_operand *b,
                                struct nn_why *why)
{
    if (a->type != b->type)
        return nn_refuse(why, "the types are %s and %s", nn_type_name(a->type),
                         nn_type_name(b->type));
    if (a->scale != b->scale)
        return nn_refuse(why, "the scales are %g and %g", (double)a->scale, (double)b->scale);
    if (a->zero_point != b->zero_point)
        return nn_refuse(why, "the zero points are %d and %d", a->zero_point, b->zero_point);
    if (!same_extra_params(a, b))
        return nn_refuse(why, "the extra parameters differ");
    if (a->n_dimensions == 0 || b->n_dimensions == 0)
        return 0;
    if (a->n_dimensions != b->n_dimensions)
        return nn_refuse(why, "the ranks are %u and %u", a->n_dimensions, b->n_dimensions);
    for (uint32_t i = 0; i < a->n_dimensions; i++)
        if (a->dimensions[i] != 0 && b->dimensions[i] != 0 && a->dimensions[i] != b->dimensions[i])
            return nn_refuse(why, "dimension %u is %u and %u", i, a->dimensions[i],
                             b->dimensions[i]);
    return 0;
}
