/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ops.h"

#include "base/cleanup.h"

#include <string.h>

#define NN_OP(name, level, family, ...)                                                            \
    static const struct nn_signature signatures_##name[] = {__VA_ARGS__};
#include "model/ops.def"
#undef NN_OP

#define NN_OP(name, level, family, ...)                                                            \
    static const struct nn_signature tflite_signatures_##name[] = {__VA_ARGS__};
#define NN_OP_TYPES NN_OP
#include "model/ops-tflite.def"
#undef NN_OP_TYPES
#undef NN_OP

#define ROW(op_type, op_code, op_name, op_level, op_family, list)                                  \
    {                                                                                              \
        .type = (op_type), .code = (op_code), .name = #op_name, .level = (op_level),               \
        .family = &nn_op_family_##op_family, .n_signatures = NN_N_ELEMENTS(list),                  \
        .signatures = (list),                                                                      \
    }

#define NN_OP(name, level, family, ...)                                                            \
    [NNHAL_OP_##                                                                                   \
        name] = ROW(NNHAL_OP_##name, NNHAL_OP_##name, name, level, family, signatures_##name),
static const struct nn_op ops[NNHAL_OPERATION_TYPE_N] = {
#include "model/ops.def"
};
#undef NN_OP

#define NN_OP(name, level, family, ...)                                                            \
    [NNHAL_TFLITE_##name] = ROW(NN_TFLITE_OP(name), NN_TFLITE_OP(name), name, level, family,       \
                                tflite_signatures_##name),
#define NN_OP_TYPES(name, level, family, ...)                                                      \
    [NNHAL_TFLITE_##name] = ROW(NN_TFLITE_OP(name), NNHAL_OP_##name, name, level, family,          \
                                tflite_signatures_##name),
static const struct nn_op tflite_ops[NNHAL_TFLITE_OPERATION_N] = {
#include "model/ops-tflite.def"
};
#undef NN_OP_TYPES
#undef NN_OP

const struct nn_op *nn_op_find(uint32_t type)
{
    if (type < NNHAL_OPERATION_TYPE_N)
        return &ops[type];
    return type >= NN_TFLITE_OPS && type - NN_TFLITE_OPS < NNHAL_TFLITE_OPERATION_N
               ? &tflite_ops[type - NN_TFLITE_OPS]
               : NULL;
}

/* A family has few rows: no index. */
const struct nn_op_functions *nn_op_find_functions(const struct nn_op *op)
{
    for (uint32_t i = 0; i < op->family->n_ops; i++)
        if (op->family->ops[i].type == op->code)
            return &op->family->ops[i];
    return NULL;
}

const char *nn_op_name(uint32_t type)
{
    const struct nn_op *op = nn_op_find(type);

    if (op)
        return op->name;
    if (type == NNHAL_OP_OEM_OPERATION)
        return "OEM_OPERATION";
    return nn_type_is_extension(type) ? "extension operation" : "unknown operation";
}

/* Rank 0 is not known yet; inference judges it when it is. */
int nn_op_check_rank(const struct nn_op_context *context, const struct nnhal_operand *operand,
                     uint32_t min, uint32_t max, const char *what)
{
    if (operand->n_dimensions == 0)
        return 0;
    if (operand->n_dimensions >= min && operand->n_dimensions <= max)
        return 0;
    if (min == max)
        return nn_refuse(context->why, "%s has rank %u, it must be %u", what, operand->n_dimensions,
                         min);
    return nn_refuse(context->why, "%s has rank %u, it must be %u to %u", what,
                     operand->n_dimensions, min, max);
}

int nn_op_check_same_quant(const struct nn_op_context *context, const struct nnhal_operand *a,
                           const struct nnhal_operand *b, const char *what)
{
    if (a->scale == b->scale && a->zero_point == b->zero_point)
        return 0;
    return nn_refuse(context->why, "%s must have the same scale and zero point", what);
}

int nn_op_check_channel_dim(const struct nn_op_context *context, const struct nnhal_operand *filter,
                            uint32_t channel_dim)
{
    if (filter->type != NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL ||
        filter->extra_params != NNHAL_EXTRA_CHANNEL_QUANT)
        return 0;
    if (filter->channel_quant.channel_dim == channel_dim)
        return 0;
    return nn_refuse(context->why, "the filter's channel dimension is %u, it must be %u",
                     filter->channel_quant.channel_dim, channel_dim);
}
