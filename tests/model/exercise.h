/* SPDX-License-Identifier: Apache-2.0 */
/* exercise.h - does with a model all that may be done with one
 *
 * For mutants: validates it, and if it is valid, copies it, validates the
 * copy, infers every operation's outputs and judges a request. What must hold
 * for any model is checked by returning false. */
#ifndef NN_TESTS_MODEL_EXERCISE_H
#define NN_TESTS_MODEL_EXERCISE_H

#include "model/maker.h"

#include "model/copy.h"
#include "model/infer.h"

/* exercise_values() - where the constants of a subgraph that lie in the model's own bytes are. */
static inline void exercise_values(const struct nnhal_model *model,
                                   const struct nnhal_subgraph *subgraph, const void **values)
{
    for (uint32_t i = 0; i < subgraph->n_operands; i++) {
        const struct nnhal_operand *operand = &subgraph->operands[i];

        values[i] = operand->lifetime == NNHAL_CONSTANT_COPY
                        ? model->operand_values.data + operand->location.offset
                        : NULL;
    }
}

/* exercise_infer() - nn_infer() of an operation with what the subgraph declares. */
static inline int exercise_infer(const struct nnhal_subgraph *subgraph,
                                 const struct nnhal_operation *operation, const void *const *values,
                                 struct nn_infer_operand *inputs, struct nn_infer_operand *outputs,
                                 struct nn_why *why)
{
    struct nn_infer infer = {.op = nn_op_find(operation->type),
                             .n_inputs = operation->n_inputs,
                             .n_outputs = operation->n_outputs,
                             .inputs = inputs,
                             .outputs = outputs,
                             .why = why};

    if (!infer.op)
        return nn_refuse(why, "%s has no shape inference", nn_op_name(operation->type));
    for (uint32_t i = 0; i < operation->n_inputs; i++)
        nn_infer_operand_init(&inputs[i], &subgraph->operands[operation->inputs[i]],
                              values[operation->inputs[i]]);
    for (uint32_t i = 0; i < operation->n_outputs; i++)
        nn_infer_operand_init(&outputs[i], &subgraph->operands[operation->outputs[i]], NULL);
    return nn_infer(&infer);
}

/* exercise_subgraph() - Returns: false if an outcome is not one of infer's. */
static inline bool exercise_subgraph(const struct nnhal_model *model,
                                     const struct nnhal_subgraph *subgraph)
{
    struct nn_infer_operand inputs[MAKER_LIST], outputs[MAKER_LIST];
    const void *values[MAKER_OPERANDS];
    struct nn_why why = {0};

    exercise_values(model, subgraph, values);
    for (uint32_t i = 0; i < subgraph->n_operations; i++) {
        const struct nnhal_operation *operation = &subgraph->operations[i];
        int r;

        if (operation->type == NNHAL_OP_IF || operation->type == NNHAL_OP_WHILE)
            continue;
        r = exercise_infer(subgraph, operation, values, inputs, outputs, &why);
        if (r != 0 && r != NN_INFER_E_UNKNOWN && (r != NN_REFUSED || why.text[0] == '\0'))
            return false;
        for (uint32_t k = 0; r == 0 && k < operation->n_outputs; k++)
            if (outputs[k].n_dims > NNHAL_MAX_RANK)
                return false;
    }
    return true;
}

/* exercise_valid() - Returns: false if a copy differs, or inference misbehaves. */
static inline bool exercise_valid(const struct nnhal_model *model, const uint64_t *pool_sizes,
                                  const struct nn_model_facts *facts, struct nn_arena *arena)
{
    struct nn_model_facts copied = {0};
    struct nnhal_request request = {0};
    struct nnhal_model copy;
    struct nn_model_io io;
    struct nn_why why = {0};

    if (nn_model_copy(&copy, model, arena) != 0 ||
        nn_model_validate(&copy, pool_sizes, arena, &copied, NULL) != 0 ||
        copied.level != facts->level || copied.has_control_flow != facts->has_control_flow)
        return false;
    if (nn_model_io_init(&io, &copy, arena) != 0)
        return false;
    /* A request without arguments fits only a model without any. */
    if ((nn_request_validate(&io, &request, NULL, 0, arena, &why) == 0) !=
        (io.n_inputs + io.n_outputs == 0))
        return false;
    for (uint32_t i = 0; i <= copy.n_referenced; i++)
        if (!exercise_subgraph(&copy, i == 0 ? &copy.main : &copy.referenced[i - 1]))
            return false;
    return true;
}

/* exercise() - Returns: false if something that must hold does not. */
static inline bool exercise(struct maker *maker, bool *ret_is_valid)
{
    struct nn_model_facts facts = {0};
    const struct nnhal_model *model = maker_bind(maker);
    struct nn_why why = {0};
    struct nn_arena arena;
    bool is_right;
    int r;

    nn_arena_init(&arena, 0);
    r = nn_model_validate(model, maker->pool_sizes, &arena, &facts, &why);
    *ret_is_valid = r == 0;
    if (r == 0)
        is_right = why.text[0] == '\0' && exercise_valid(model, maker->pool_sizes, &facts, &arena);
    else
        is_right = r == NN_REFUSED && why.text[0] != '\0';
    nn_arena_done(&arena);
    return is_right;
}

#endif
