/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/impossible.h"

#include "base/error.h"
#include "model/possible.h"

#include <errno.h>

static void take_operands(const struct nnhal_model *model, struct nn_infer_operand *operands)
{
    for (uint32_t i = 0; i < model->main.n_operands; i++) {
        const struct nnhal_operand *operand = &model->main.operands[i];
        const void *value = operand->lifetime == NNHAL_CONSTANT_COPY
                                ? model->operand_values.data + operand->location.offset
                                : NULL;

        nn_infer_operand_init(&operands[i], operand, value);
    }
}

static size_t count_most_operands(const struct nnhal_subgraph *subgraph)
{
    size_t most = 0;

    for (uint32_t i = 0; i < subgraph->n_operations; i++) {
        const struct nnhal_operation *operation = &subgraph->operations[i];
        size_t n = (size_t)operation->n_inputs + operation->n_outputs;

        most = most < n ? n : most;
    }
    return most;
}

static bool is_impossible(struct nn_possible *possible, const struct nnhal_operation *operation,
                          struct nn_why *why)
{
    const struct nn_possible_operation judged = {.op = nn_op_find(operation->type),
                                                 .n_inputs = operation->n_inputs,
                                                 .inputs = operation->inputs,
                                                 .n_outputs = operation->n_outputs,
                                                 .outputs = operation->outputs};

    if (!judged.op || operation->type == NNHAL_OP_IF || operation->type == NNHAL_OP_WHILE)
        return false;
    return nn_possible_judge(possible, &judged, why) == NN_REFUSED;
}

int nn_impossible_refuse(const struct nnhal_model *model, struct nn_refusals *refusals,
                         uint8_t *supported)
{
    const struct nnhal_subgraph *main_graph = &model->main;
    struct nn_possible possible = {.operands = nn_arena_new_n(refusals->arena,
                                                              struct nn_infer_operand,
                                                              main_graph->n_operands),
                                   .node = nn_arena_new_n(refusals->arena, struct nn_infer_operand,
                                                          count_most_operands(main_graph))};

    if (!possible.operands || !possible.node)
        return nn_error_origin(-ENOMEM);
    take_operands(model, possible.operands);
    for (uint32_t i = 0; i < main_graph->n_operations; i++) {
        struct nn_why why;

        nn_why_clear(&why);
        if (!is_impossible(&possible, &main_graph->operations[i], &why))
            continue;
        if (supported[i] || !nn_refusals_find(refusals, i))
            nn_refusals_add(refusals, i, why.text);
        supported[i] = 0;
    }
    return 0;
}
