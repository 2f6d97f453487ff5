/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/own-extension.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "model/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct nnhal_extension_operand_type operand_types[] = {
    {.type = NNHAL_TFLITE_TENSOR_INT64, .is_tensor = 1, .byte_size = sizeof(int64_t)},
};

const struct nnhal_extension nn_own_extension = {
    .name = NNHAL_TFLITE_EXTENSION,
    .n_operand_types = NN_N_ELEMENTS(operand_types),
    .operand_types = operand_types,
};

/* The number within the extension; NN_OWN_NONE: it is of another one. */
static uint32_t number_of(const struct nnhal_model *model, uint32_t code)
{
    for (uint32_t i = 0; i < model->n_extension_prefixes; i++)
        if (model->extension_prefixes[i].prefix == code >> 16 &&
            strcmp(model->extension_prefixes[i].name, NNHAL_TFLITE_EXTENSION) == 0)
            return code & UINT16_MAX;
    return NN_OWN_NONE;
}

uint32_t nn_own_type(const struct nnhal_model *model, uint32_t type)
{
    uint32_t number;

    if (!nn_type_is_extension(type))
        return type;
    number = number_of(model, type);
    return number < NNHAL_TFLITE_OPERAND_TYPE_N ? NNHAL_OPERAND_TYPE_N + number : NN_OWN_NONE;
}

static bool operand_fits(const struct nnhal_model *model, const struct nnhal_operand *operand)
{
    uint32_t type = nn_own_type(model, operand->type);
    uint64_t n_bytes;

    if (operand->lifetime != NNHAL_CONSTANT_COPY && operand->lifetime != NNHAL_CONSTANT_REFERENCE)
        return type != NN_OWN_NONE;
    return type != NN_OWN_NONE &&
           nn_operand_bytes(type, operand->n_dimensions, operand->dimensions, &n_bytes) &&
           n_bytes == operand->location.length;
}

static bool subgraph_fits(const struct nnhal_model *model, const struct nnhal_subgraph *subgraph)
{
    for (uint32_t i = 0; i < subgraph->n_operands; i++)
        if (nn_type_is_extension(subgraph->operands[i].type) &&
            !operand_fits(model, &subgraph->operands[i]))
            return false;
    return true;
}

bool nn_own_types_fit(const struct nnhal_model *model)
{
    bool fits = subgraph_fits(model, &model->main);

    for (uint32_t i = 0; fits && i < model->n_referenced; i++)
        fits = subgraph_fits(model, &model->referenced[i]);
    return fits;
}

/* Validates the operation over copies of its operands, which have the driver's types.
 * Returns: 0, NN_REFUSED, -ENOMEM. */
static int check_operation(const struct nnhal_model *model, const struct nnhal_subgraph *subgraph,
                           const struct nnhal_operation *operation, uint32_t code,
                           struct nn_why *why)
{
    uint32_t n = operation->n_inputs + operation->n_outputs;
    _cleanup_(freep) struct nnhal_operand *operands = calloc((size_t)n + 1, sizeof(*operands));
    _cleanup_(freep) uint32_t *indexes = calloc((size_t)n + 1, sizeof(*indexes));
    const struct nnhal_operation copy = {.type = code,
                                         .n_inputs = operation->n_inputs,
                                         .inputs = indexes,
                                         .n_outputs = operation->n_outputs,
                                         .outputs = indexes + operation->n_inputs};

    if (!operands || !indexes)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = i < operation->n_inputs ? operation->inputs[i]
                                                : operation->outputs[i - operation->n_inputs];

        indexes[i] = i;
        operands[i] = subgraph->operands[from];
        operands[i].type = nn_own_type(model, operands[i].type);
        if (operands[i].extra_params == NNHAL_EXTRA_EXTENSION)
            return nn_refuse(why, "%s: an operand has extension data, of which there is none",
                             nn_op_name(code));
    }
    return nn_operation_validate_inside(operands, n, &copy, why);
}

int nn_own_operation(const struct nnhal_model *model, const struct nnhal_subgraph *subgraph,
                     const struct nnhal_operation *operation, struct nn_why *why,
                     uint32_t *ret_operation)
{
    uint32_t number;
    int r;

    if (!nn_type_is_extension(operation->type)) {
        *ret_operation = operation->type;
        return 0;
    }
    number = number_of(model, operation->type);
    if (number < NNHAL_TFLITE_OPERATION_N)
        r = check_operation(model, subgraph, operation, NN_TFLITE_OPS + number, why);
    else
        r = nn_refuse(why, "there is no operation %u in " NNHAL_TFLITE_EXTENSION,
                      operation->type & UINT16_MAX);
    if (r < 0)
        return nn_error_trace(r);
    *ret_operation = r ? NN_OWN_NONE : nn_op_find(NN_TFLITE_OPS + number)->code;
    return 0;
}
