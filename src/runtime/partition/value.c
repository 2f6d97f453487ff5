/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/value.h"

#include "base/error.h"
#include "model/infer.h"
#include "model/types.h"
#include "runtime/extension.h"

#include <string.h>

static const void *find_bytes(const struct nnhal_model *model, const uint8_t *const *pools,
                              const struct nnhal_operand *operand)
{
    const struct nnhal_data_location *location = &operand->location;

    if (operand->lifetime == NNHAL_CONSTANT_COPY)
        return model->operand_values.data + location->offset;
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE && pools && pools[location->pool_index])
        return pools[location->pool_index] + location->offset;
    return NULL;
}

struct nn_rt_value *nn_rt_values_new(const struct nnhal_model *model, const uint8_t *const *pools,
                                     struct nn_arena *arena)
{
    struct nn_rt_value *values = nn_arena_new_n(arena, struct nn_rt_value, model->main.n_operands);

    for (uint32_t i = 0; values && i < model->main.n_operands; i++) {
        const struct nnhal_operand *operand = &model->main.operands[i];
        struct nn_rt_value *value = &values[i];

        value->scale = operand->scale;
        value->zero_point = operand->zero_point;
        value->bytes = find_bytes(model, pools, operand);
        value->n_dims = operand->n_dimensions;
        for (uint32_t j = 0; j < operand->n_dimensions && j < NNHAL_MAX_RANK; j++)
            value->dims[j] = operand->dimensions[j];
        if (nn_dims_known(operand->type, operand->n_dimensions, operand->dimensions))
            value->state = NN_RT_VALUE_EXACT;
    }
    return values;
}

static void operand_fill(const struct nn_rt_value *value, const struct nnhal_operand *declared,
                         bool is_input, struct nn_infer_operand *operand)
{
    nn_infer_operand_init(operand, declared, value->bytes);
    operand->n_dims = value->n_dims;
    memcpy(operand->dims, value->dims, sizeof(operand->dims));
    operand->scale = value->scale;
    operand->zero_point = value->zero_point;
    operand->is_known = is_input && value->state == NN_RT_VALUE_EXACT;
}

static void value_settle(struct nn_rt_value *value, const struct nn_infer_operand *operand)
{
    if (operand->is_omitted)
        return;
    value->scale = operand->scale;
    value->zero_point = operand->zero_point;
    if (value->state == NN_RT_VALUE_EXACT)
        return;
    value->state = operand->late_dims ? NN_RT_VALUE_BOUND : NN_RT_VALUE_EXACT;
    value->n_dims = operand->n_dims;
    memcpy(value->dims, operand->dims, sizeof(value->dims));
}

int nn_rt_values_infer(struct nn_rt_value *values, const struct nnhal_subgraph *graph,
                       uint32_t operation, struct nn_arena *scratch)
{
    const struct nnhal_operation *at = &graph->operations[operation];
    struct nn_infer infer = {
        .op = nn_op_find(at->type), .n_inputs = at->n_inputs, .n_outputs = at->n_outputs};
    struct nn_infer_operand *operands;

    if (!infer.op || at->type == NNHAL_OP_IF || at->type == NNHAL_OP_WHILE)
        return 0;
    operands = nn_arena_new_n(scratch, struct nn_infer_operand,
                              (size_t)at->n_inputs + at->n_outputs);
    if (!operands)
        return nn_error_origin(-ENOMEM);
    infer.inputs = operands;
    infer.outputs = operands + at->n_inputs;
    for (uint32_t i = 0; i < at->n_inputs; i++)
        operand_fill(&values[at->inputs[i]], &graph->operands[at->inputs[i]], true, &operands[i]);
    for (uint32_t i = 0; i < at->n_outputs; i++)
        operand_fill(&values[at->outputs[i]], &graph->operands[at->outputs[i]], false,
                     &infer.outputs[i]);
    if (nn_infer(&infer))
        return 0; /* the device that computes it says what is wrong, or learns more */
    for (uint32_t i = 0; i < at->n_outputs; i++)
        value_settle(&values[at->outputs[i]], &infer.outputs[i]);
    return 0;
}

void nn_rt_value_set_dims(struct nn_rt_value *value, uint32_t n_dims, const uint32_t *dims)
{
    value->state = NN_RT_VALUE_EXACT;
    value->n_dims = n_dims;
    memcpy(value->dims, dims, n_dims * sizeof(*dims));
}

bool nn_rt_value_is_empty(const struct nn_rt_value *value)
{
    for (uint32_t i = 0; i < value->n_dims; i++)
        if (!value->dims[i])
            return value->state != NN_RT_VALUE_OPEN;
    return false;
}

bool nn_rt_value_bytes(const struct nn_rt_value *value, uint32_t type, uint64_t *ret_bytes)
{
    return value->state != NN_RT_VALUE_OPEN &&
           nn_rt_extension_bytes(type, value->n_dims, value->dims, ret_bytes);
}
