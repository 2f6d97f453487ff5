/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.h - spoils a made model somewhere
 *
 * A mutation writes one number into one place of a maker: an operand's field,
 * a dimension, an operation, a list, a count, a byte of a value. Counts of
 * arrays stay within what the maker holds, as a decoder's do; everything else
 * may become anything. */
#ifndef NN_TESTS_MODEL_MUTATE_H
#define NN_TESTS_MODEL_MUTATE_H

#include "model/maker.h"

struct mutation {
    uint8_t graph;
    uint8_t place;
    uint8_t index;
    uint8_t field;
    uint32_t value;
};

static inline float mutation_float(uint32_t value)
{
    float number;

    memcpy(&number, &value, sizeof(number));
    return number;
}

static inline void mutate_operand(struct nnhal_operand *operand, const struct mutation *mutation)
{
    uint32_t value = mutation->value;
    /* A third of the offsets and lengths lie near the end of 64 bits. */
    uint64_t wide = value % 3 ? value : UINT64_MAX - value % 64;

    switch (mutation->field % 12) {
    case 0:
        operand->type = value;
        break;
    case 1:
        operand->lifetime = value;
        break;
    case 2:
        operand->scale = mutation_float(value);
        break;
    case 3:
        operand->zero_point = (int32_t)value;
        break;
    case 4:
        operand->extra_params = value;
        break;
    case 5:
        operand->n_dimensions = value;
        break;
    case 6:
        operand->location.pool_index = value;
        break;
    case 7:
        operand->location.offset = wide;
        break;
    case 8:
        operand->location.length = wide;
        break;
    case 9:
        operand->location.padding = wide;
        break;
    case 10:
        operand->channel_quant.channel_dim = value;
        break;
    default:
        operand->channel_quant.n_scales = operand->channel_quant.scales ? value % 9 : 0;
        break;
    }
}

static inline void mutate_count(struct maker_graph *graph, const struct mutation *mutation)
{
    switch (mutation->field % 4) {
    case 0:
        graph->n_operands = mutation->value % (MAKER_OPERANDS + 1);
        break;
    case 1:
        graph->n_operations = mutation->value % (MAKER_OPERATIONS + 1);
        break;
    case 2:
        graph->n_inputs = mutation->value % (MAKER_LIST + 1);
        break;
    default:
        graph->n_outputs = mutation->value % (MAKER_LIST + 1);
        break;
    }
}

static inline void mutate_operation(struct maker_graph *graph, uint32_t i,
                                    const struct mutation *mutation)
{
    struct nnhal_operation *operation = &graph->operations[i];

    switch (mutation->field % 3) {
    case 0:
        operation->type = mutation->value;
        break;
    case 1:
        operation->n_inputs = mutation->value % (MAKER_LIST + 1);
        break;
    default:
        operation->n_outputs = mutation->value % (MAKER_LIST + 1);
        break;
    }
}

static inline void mutate(struct maker *maker, const struct mutation *mutation)
{
    struct maker_graph *graph = &maker->graphs[mutation->graph % maker->n_graphs];
    uint32_t operand = mutation->index % MAKER_OPERANDS;
    uint32_t operation = mutation->index % MAKER_OPERATIONS;
    uint32_t slot = mutation->field % MAKER_LIST;

    switch (mutation->place % 10) {
    case 0:
    case 1:
        mutate_operand(&graph->operands[operand], mutation);
        break;
    case 2:
        graph->dimensions[operand][mutation->field % NNHAL_MAX_RANK] = mutation->value;
        break;
    case 3:
        mutate_operation(graph, operation, mutation);
        break;
    case 4:
        graph->lists[operation][0][slot] = mutation->value;
        break;
    case 5:
        graph->lists[operation][1][slot] = mutation->value;
        break;
    case 6:
        graph->inputs[slot] = mutation->value;
        break;
    case 7:
        graph->outputs[slot] = mutation->value;
        break;
    case 8:
        mutate_count(graph, mutation);
        break;
    default:
        maker->values[mutation->index] = (uint8_t)mutation->value;
        break;
    }
}

#endif
