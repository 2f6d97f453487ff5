/* SPDX-License-Identifier: Apache-2.0 */
#include "hal-model.h"

#include <string.h>

static bool is_constant(const struct nnt_operand *operand)
{
    return operand->lifetime == NNT_CONSTANT_COPY || operand->lifetime == NNT_CONSTANT_MEMORY;
}

static uint64_t padded(uint32_t n_bytes)
{
    return ((uint64_t)n_bytes + 3) / 4 * 4;
}

static uint8_t *alloc_values(struct nnt_file *file, const struct nnt_model *model)
{
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < model->n_subgraphs; i++)
        for (uint32_t k = 0; k < model->subgraphs[i].n_operands; k++)
            if (is_constant(&model->subgraphs[i].operands[k]))
                n_bytes += padded(model->subgraphs[i].operands[k].n_bytes);
    return nnt_file_alloc(file, n_bytes + 1, 1);
}

static void make_operand(const struct nnt_operand *from, struct nnhal_operand *to, uint8_t *values,
                         uint64_t *n_values)
{
    uint32_t reference;

    to->type = from->type;
    to->lifetime = from->lifetime == NNT_CONSTANT_MEMORY ? NNHAL_CONSTANT_COPY : from->lifetime;
    to->scale = from->scale;
    to->zero_point = from->zero_point;
    to->n_dimensions = from->rank;
    to->dimensions = from->declared;
    if (from->n_scales > 0) {
        to->extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
        to->channel_quant = (struct nnhal_channel_quant){from->channel_dim, from->n_scales,
                                                         from->scales};
    }
    if (from->lifetime == NNT_SUBGRAPH) {
        memcpy(&reference, from->data, sizeof(reference));
        to->location.offset = reference;
    }
    if (is_constant(from)) {
        to->location.offset = *n_values;
        to->location.length = from->n_bytes;
        if (from->n_bytes > 0)
            memcpy(values + *n_values, from->data, from->n_bytes);
        *n_values += padded(from->n_bytes);
    }
}

static bool make_subgraph(struct nnt_file *file, const struct nnt_subgraph *from,
                          struct nnhal_subgraph *to, uint8_t *values, uint64_t *n_values)
{
    struct nnhal_operand *operands = nnt_file_alloc(file, from->n_operands, sizeof(*operands));
    struct nnhal_operation *operations = nnt_file_alloc(file, from->n_operations,
                                                        sizeof(*operations));

    if (!operands || !operations)
        return false;
    for (uint32_t i = 0; i < from->n_operands; i++)
        make_operand(&from->operands[i], &operands[i], values, n_values);
    for (uint32_t i = 0; i < from->n_operations; i++) {
        const struct nnt_operation *operation = &from->operations[i];

        operations[i] = (struct nnhal_operation){
            .type = operation->type,
            .n_inputs = operation->n_inputs,
            .inputs = operation->inputs,
            .n_outputs = operation->n_outputs,
            .outputs = operation->outputs,
        };
    }
    *to = (struct nnhal_subgraph){
        .n_operands = from->n_operands,
        .n_operations = from->n_operations,
        .n_input_indexes = from->n_inputs,
        .n_output_indexes = from->n_outputs,
        .operands = operands,
        .operations = operations,
        .input_indexes = from->inputs,
        .output_indexes = from->outputs,
    };
    return true;
}

bool nnt_hal_model_make(struct nnt_file *file, const struct nnt_model *model,
                        struct nnhal_model *ret)
{
    uint8_t *values = alloc_values(file, model);
    struct nnhal_subgraph *referenced = nnt_file_alloc(file, model->n_subgraphs,
                                                       sizeof(*referenced));
    uint64_t n_values = 0;

    memset(ret, 0, sizeof(*ret));
    if (!values || !referenced)
        return false;
    for (uint32_t i = 0; i < model->n_subgraphs; i++)
        if (!make_subgraph(file, &model->subgraphs[i], i == 0 ? &ret->main : &referenced[i - 1],
                           values, &n_values))
            return false;
    ret->n_referenced = model->n_subgraphs - 1;
    ret->referenced = referenced;
    ret->operand_values = (struct nnhal_bytes){n_values, values};
    ret->relax_computation_float32_to_float16 = model->flags & NNT_RELAXED ? 1 : 0;
    return true;
}
