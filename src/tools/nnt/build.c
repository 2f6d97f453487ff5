/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

/* failed_at() - remembers which call failed, and on what. */
static int failed_at(struct nnt_built *built, const char *call, uint32_t subject, int result)
{
    if (result != OK) {
        built->call = call;
        built->subject = subject;
    }
    return result;
}

/* -- the memory of constants -- */

static bool is_in_memory(const struct nnt_operand *operand, enum nnt_memory_kind kind)
{
    if (operand->lifetime == NNT_CONSTANT_MEMORY)
        return true;
    return kind != NNT_MEMORY_PLAIN && operand->lifetime == NNT_CONSTANT_COPY &&
           operand->n_bytes > 0;
}

/* place_constants() - constants in the order of their operands; bytes (NULL: only to
 * know the size) is where they go. Returns: bytes taken. */
static size_t place_constants(const struct nnt_model *model, enum nnt_memory_kind kind,
                              uint8_t *bytes)
{
    size_t at = 0;

    for (uint32_t i = 0; i < model->n_subgraphs; i++) {
        for (uint32_t k = 0; k < model->subgraphs[i].n_operands; k++) {
            const struct nnt_operand *operand = &model->subgraphs[i].operands[k];
            size_t place;

            if (!is_in_memory(operand, kind))
                continue;
            place = nnt_memory_place(kind, operand->n_bytes, &at);
            if (bytes)
                memcpy(bytes + place, operand->data, operand->n_bytes);
        }
    }
    return at;
}

static int make_memory(struct nnt_built *built, const struct nnt_model *model,
                       enum nnt_memory_kind kind)
{
    size_t n_bytes = place_constants(model, kind, NULL);
    int r;

    if (n_bytes == 0)
        return OK;
    r = failed_at(built, "Memory_create", 0, nnt_memory_new(&built->constants, kind, n_bytes));
    if (r == OK)
        r = failed_at(built, "lock", 0, nnt_memory_begin(&built->constants));
    if (r != OK)
        return r;
    place_constants(model, kind, built->constants.bytes);
    return failed_at(built, "unlock", 0, nnt_memory_end(&built->constants));
}

/* -- one subgraph -- */

static uint32_t reference_of(const struct nnt_operand *operand)
{
    uint32_t reference;

    memcpy(&reference, operand->data, sizeof(reference));
    return reference + 1;
}

static int add_operand(struct nnt_built *built, ANeuralNetworksModel *model,
                       const struct nnt_operand *operand, uint32_t index)
{
    ANeuralNetworksOperandType type = {
        .type = (int32_t)operand->type,
        .dimensionCount = operand->declared_rank,
        .dimensions = operand->declared_rank > 0 ? operand->declared : NULL,
        .scale = operand->scale,
        .zeroPoint = operand->zero_point,
    };
    ANeuralNetworksSymmPerChannelQuantParams quant = {
        .channelDim = operand->channel_dim,
        .scaleCount = operand->n_scales,
        .scales = operand->scales,
    };
    int r = failed_at(built, "Model_addOperand", index,
                      ANeuralNetworksModel_addOperand(model, &type));

    if (r != OK || operand->n_scales == 0)
        return r;
    return failed_at(
        built, "Model_setOperandSymmPerChannelQuantParams", index,
        ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, (int32_t)index, &quant));
}

static int set_value_in_memory(struct nnt_built *built, ANeuralNetworksModel *model,
                               const struct nnt_operand *operand, uint32_t index, size_t *at)
{
    size_t place = nnt_memory_place(built->constants.kind, operand->n_bytes, at);

    return failed_at(built, "Model_setOperandValueFromMemory", index,
                     ANeuralNetworksModel_setOperandValueFromMemory(
                         model, (int32_t)index, built->constants.memory, place, operand->n_bytes));
}

/* set_value() - the value of a constant, omitted or referring operand; *at walks the
 * memory of constants. */
static int set_value(struct nnt_built *built, ANeuralNetworksModel *model,
                     const struct nnt_operand *operand, uint32_t index, size_t *at)
{
    int32_t i = (int32_t)index;

    if (is_in_memory(operand, built->constants.kind))
        return set_value_in_memory(built, model, operand, index, at);
    switch (operand->lifetime) {
    case NNT_CONSTANT_COPY:
        return failed_at(
            built, "Model_setOperandValue", index,
            ANeuralNetworksModel_setOperandValue(model, i, operand->data, operand->n_bytes));
    case NNT_NO_VALUE:
        return failed_at(built, "Model_setOperandValue", index,
                         ANeuralNetworksModel_setOperandValue(model, i, NULL, 0));
    case NNT_SUBGRAPH:
        return failed_at(built, "Model_setOperandValueFromModel", index,
                         ANeuralNetworksModel_setOperandValueFromModel(
                             model, i, built->models[reference_of(operand)]));
    default:
        return OK;
    }
}

static int add_operands(struct nnt_built *built, ANeuralNetworksModel *model,
                        const struct nnt_subgraph *subgraph, size_t offset)
{
    int r = OK;

    for (uint32_t i = 0; r == OK && i < subgraph->n_operands; i++) {
        r = add_operand(built, model, &subgraph->operands[i], i);
        if (r == OK)
            r = set_value(built, model, &subgraph->operands[i], i, &offset);
    }
    return r;
}

static int build_subgraph(struct nnt_built *built, const struct nnt_model *model, uint32_t i,
                          size_t offset)
{
    const struct nnt_subgraph *subgraph = &model->subgraphs[i];
    int r = failed_at(built, "Model_create", 0, ANeuralNetworksModel_create(&built->models[i]));

    if (r == OK)
        r = add_operands(built, built->models[i], subgraph, offset);
    for (uint32_t k = 0; r == OK && k < subgraph->n_operations; k++) {
        const struct nnt_operation *operation = &subgraph->operations[k];

        r = failed_at(built, "Model_addOperation", k,
                      ANeuralNetworksModel_addOperation(
                          built->models[i], (ANeuralNetworksOperationType)operation->type,
                          operation->n_inputs, operation->inputs, operation->n_outputs,
                          operation->outputs));
    }
    if (r == OK)
        r = failed_at(built, "Model_identifyInputsAndOutputs", i,
                      ANeuralNetworksModel_identifyInputsAndOutputs(
                          built->models[i], subgraph->n_inputs, subgraph->inputs,
                          subgraph->n_outputs, subgraph->outputs));
    if (r == OK && (model->flags & NNT_RELAXED))
        r = failed_at(
            built, "Model_relaxComputationFloat32toFloat16", i,
            ANeuralNetworksModel_relaxComputationFloat32toFloat16(built->models[i], true));
    if (r == OK)
        r = failed_at(built, "Model_finish", i, ANeuralNetworksModel_finish(built->models[i]));
    return r;
}

/* is_ready() - whether every subgraph that this one refers to is built. */
static bool is_ready(const struct nnt_built *built, const struct nnt_subgraph *subgraph)
{
    for (uint32_t k = 0; k < subgraph->n_operands; k++)
        if (subgraph->operands[k].lifetime == NNT_SUBGRAPH &&
            !built->models[reference_of(&subgraph->operands[k])])
            return false;
    return true;
}

/* Where the constants of subgraph i begin, to be walked on. */
static size_t memory_offset(const struct nnt_model *model, enum nnt_memory_kind kind, uint32_t i)
{
    struct nnt_model before = *model;

    before.n_subgraphs = i;
    return place_constants(&before, kind, NULL);
}

int nnt_build(struct nnt_built *built, const struct nnt_model *model, enum nnt_memory_kind kind)
{
    uint32_t n_built = 0, n_before;
    int r;

    *built = (struct nnt_built){.n_models = model->n_subgraphs};
    built->models = calloc(model->n_subgraphs, sizeof(ANeuralNetworksModel *));
    if (!built->models)
        return failed_at(built, "calloc", 0, ANEURALNETWORKS_OUT_OF_MEMORY);
    r = make_memory(built, model, kind);
    /* Each round builds those whose references are built; a round without any is a circle. */
    do {
        n_before = n_built;
        for (uint32_t i = 0; r == OK && i < model->n_subgraphs; i++) {
            if (built->models[i] || !is_ready(built, &model->subgraphs[i]))
                continue;
            r = build_subgraph(built, model, i, memory_offset(model, kind, i));
            n_built++;
        }
    } while (r == OK && n_built > n_before && n_built < model->n_subgraphs);
    if (r == OK && n_built < model->n_subgraphs)
        r = failed_at(built, "subgraphs in a circle", 0, ANEURALNETWORKS_BAD_DATA);
    return r;
}

void nnt_built_free(struct nnt_built *built)
{
    for (uint32_t i = 0; built->models && i < built->n_models; i++)
        ANeuralNetworksModel_free(built->models[i]);
    free(built->models);
    nnt_memory_free(&built->constants);
    *built = (struct nnt_built){.n_models = 0};
}
