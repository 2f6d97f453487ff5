/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - the model of a whole graph */
#include "tflite/map.h"

#include <nnhal/ext.h>

#include <errno.h>
#include <stdlib.h>

static void build_operations(struct tfl_builder *b)
{
    for (uint32_t i = 0; i < b->graph->n_inputs; i++)
        tfl_operand(b, b->graph->inputs[i]);
    for (uint32_t i = 0; i < b->graph->n_operators && !b->result; i++) {
        b->op = &b->graph->operators[i];
        tfl_map(b);
    }
    b->op = NULL;
}

/* The operands of a list of tensors go to the front of operands. */
static void list_operands(struct tfl_builder *b, const int32_t *tensors, uint32_t n,
                          uint32_t *operands)
{
    for (uint32_t i = 0; i < n; i++)
        operands[i] = tfl_operand(b, tensors[i]);
}

/* A state that no operation gives anew would stay what it was. */
static void list_states(struct tfl_builder *b, uint32_t *from, uint32_t *to)
{
    for (uint32_t i = 0; i < b->n_states; i++) {
        tfl_need(b, b->states[i].to != TFL_NO_OPERAND, "the state %s cannot be kept",
                 b->graph->tensors[b->states[i].tensor].name);
        from[i] = b->states[i].from;
        to[i] = b->states[i].to;
    }
}

static void finish_model(struct tfl_builder *b)
{
    uint32_t n_inputs = b->graph->n_inputs + b->n_states;
    uint32_t n_outputs = b->graph->n_outputs + b->n_states;
    uint32_t *inputs = tfl_keep(b, n_inputs * sizeof(*inputs));
    uint32_t *outputs = tfl_keep(b, n_outputs * sizeof(*outputs));
    int code;

    if (!inputs || !outputs)
        return;
    list_operands(b, b->graph->inputs, b->graph->n_inputs, inputs);
    list_operands(b, b->graph->outputs, b->graph->n_outputs, outputs);
    list_states(b, inputs + b->graph->n_inputs, outputs + b->graph->n_outputs);
    if (b->result)
        return;
    code = ANeuralNetworksModel_identifyInputsAndOutputs(b->model, n_inputs, inputs, n_outputs,
                                                         outputs);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksModel_relaxComputationFloat32toFloat16(b->model, b->allows_fp16);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksModel_finish(b->model);
    if (code != ANEURALNETWORKS_NO_ERROR) {
        char reason[256] = "";

        nnhal_model_get_error(b->model, reason, sizeof(reason));
        tfl_fail(b, code == ANEURALNETWORKS_OUT_OF_MEMORY ? -ENOMEM : -ENOTSUP,
                 "the runtime refuses the network as a whole: %s", reason);
    }
}

void tfl_build(struct tfl_builder *b)
{
    b->operands = malloc(b->graph->n_tensors * sizeof(*b->operands));
    if (!b->operands || ANeuralNetworksModel_create(&b->model) != ANEURALNETWORKS_NO_ERROR) {
        tfl_fail(b, -ENOMEM, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < b->graph->n_tensors; i++)
        b->operands[i] = TFL_NO_OPERAND;
    build_operations(b);
    if (!b->result)
        finish_model(b);
}
