/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/model-hash.h"

#include "cache/hash.h"

#include <nnhal/types.h>

uint64_t nn_rt_hash_add(uint64_t hash, const void *bytes, uint64_t n_bytes)
{
    const uint64_t parts[] = {hash, n_bytes, n_bytes ? nn_hash_checksum(bytes, n_bytes) : 0};

    return nn_hash_checksum(parts, sizeof(parts));
}

static uint64_t hash_add_graph(uint64_t hash, const struct nnhal_subgraph *graph)
{
    for (uint32_t i = 0; i < graph->n_operands; i++) {
        const struct nnhal_operand *operand = &graph->operands[i];
        const uint64_t numbers[] = {operand->type, operand->lifetime,
                                    (uint64_t)(int64_t)operand->zero_point,
                                    operand->location.offset, operand->location.length};

        hash = nn_rt_hash_add(hash, numbers, sizeof(numbers));
        hash = nn_rt_hash_add(hash, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < graph->n_operations; i++) {
        const struct nnhal_operation *operation = &graph->operations[i];

        hash = nn_rt_hash_add(hash, &operation->type, sizeof(operation->type));
        hash = nn_rt_hash_add(hash, operation->inputs, operation->n_inputs * sizeof(uint32_t));
        hash = nn_rt_hash_add(hash, operation->outputs, operation->n_outputs * sizeof(uint32_t));
    }
    return hash;
}

uint64_t nn_rt_model_hash(const struct nnhal_model *model)
{
    uint64_t hash = nn_rt_hash_add(0, model->operand_values.data, model->operand_values.size);

    hash = hash_add_graph(hash, &model->main);
    for (uint32_t i = 0; i < model->n_referenced; i++)
        hash = hash_add_graph(hash, &model->referenced[i]);
    return hash;
}
