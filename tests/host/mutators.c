/* SPDX-License-Identifier: Apache-2.0 */
#include "host/mutants.h"

#include <math.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* -- operands ------------------------------------------------------------------ */

static enum mutant_outcome operand_type(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                        uint32_t variant)
{
    const uint32_t types[] = {NNHAL_OPERAND_TYPE_N, 9999,        10002,
                              UINT16_MAX,           9 << 16 | 1, UINT32_MAX};

    if (variant >= N(types))
        return MUTANT_END;
    graph->operands[i].type = types[variant];
    return MUTANT_MADE;
}

/* Scalars have no dimensions, and nothing has more than the limit. */
static enum mutant_outcome operand_rank(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                        uint32_t variant)
{
    struct nnhal_operand *operand = &graph->operands[i];

    if (variant >= 2)
        return MUTANT_END;
    if (variant == 0 && !nn_type_is_scalar(operand->type))
        return MUTANT_SKIPPED;
    operand->n_dimensions = variant == 0 ? 1 : NNHAL_MAX_RANK + 1;
    for (uint32_t d = 0; d < operand->n_dimensions; d++)
        graph->dimensions[i][d] = 1;
    return MUTANT_MADE;
}

static enum mutant_outcome scale(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                 uint32_t variant)
{
    const float of_quantized[] = {0.0f, -1.0f, NAN, INFINITY};
    const float of_int32[] = {-1.0f, NAN, INFINITY};
    const float of_others[] = {1.0f, -1.0f, NAN};
    uint32_t type = graph->operands[i].type;
    const float *scales = of_others;
    size_t n = N(of_others);

    if (nn_type_is_quantized(type)) {
        scales = of_quantized;
        n = N(of_quantized);
    } else if (type == NNHAL_TENSOR_INT32) {
        scales = of_int32;
        n = N(of_int32);
    }
    if (variant >= n)
        return MUTANT_END;
    graph->operands[i].scale = scales[variant];
    return MUTANT_MADE;
}

static enum mutant_outcome zero_point(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                      uint32_t variant)
{
    int32_t min, max;

    if (variant >= 2)
        return MUTANT_END;
    nn_type_zero_point_range(graph->operands[i].type, &min, &max);
    graph->operands[i].zero_point = variant == 0 ? min - 1 : max + 1;
    return MUTANT_MADE;
}

static enum mutant_outcome life_time(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                     uint32_t variant)
{
    if (variant > NNHAL_SUBGRAPH_VALUE + 2)
        return MUTANT_END;
    if (graph->operands[i].lifetime == variant)
        return MUTANT_SKIPPED;
    graph->operands[i].lifetime = variant > NNHAL_SUBGRAPH_VALUE + 1 ? UINT32_MAX : variant;
    return MUTANT_MADE;
}

static void remove_at(uint32_t *list, uint32_t *n, uint32_t at)
{
    memmove(&list[at], &list[at + 1], (*n - at - 1) * sizeof(*list));
    (*n)--;
}

/* The lists of a graph's inputs and outputs: what is in them does not belong
 * there, or stands there twice, or what belongs there is missing. */
static enum mutant_outcome input_output(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                        uint32_t variant)
{
    uint32_t *list = variant % 2 ? graph->outputs : graph->inputs;
    uint32_t *n = variant % 2 ? &graph->n_outputs : &graph->n_inputs;
    uint32_t at = 0;

    while (at < *n && list[at] != i)
        at++;
    switch (variant / 2) {
    case 0: /* once more, or for the first time */
        list[(*n)++] = i;
        return MUTANT_MADE;
    case 1: /* missing */
        if (at == *n)
            return MUTANT_SKIPPED;
        remove_at(list, n, at);
        return MUTANT_MADE;
    case 2: /* out of range */
        if (at == *n)
            return MUTANT_SKIPPED;
        list[at] = graph->n_operands;
        return MUTANT_MADE;
    default:
        return MUTANT_END;
    }
}

static void shift_list(uint32_t *list, uint32_t n, uint32_t removed)
{
    for (uint32_t k = 0; k < n; k++)
        list[k] -= list[k] > removed;
}

/* Who used the operand now uses the next one. */
static enum mutant_outcome remove_operand(struct maker *maker, struct maker_graph *graph,
                                          uint32_t i, uint32_t variant)
{
    if (variant >= 1)
        return MUTANT_END;
    memmove(&graph->operands[i], &graph->operands[i + 1],
            (graph->n_operands - i - 1) * sizeof(graph->operands[0]));
    memmove(&graph->dimensions[i], &graph->dimensions[i + 1],
            (graph->n_operands - i - 1) * sizeof(graph->dimensions[0]));
    graph->n_operands--;
    shift_list(graph->inputs, graph->n_inputs, i);
    shift_list(graph->outputs, graph->n_outputs, i);
    for (uint32_t k = 0; k < graph->n_operations; k++) {
        shift_list(graph->lists[k][0], graph->operations[k].n_inputs, i);
        shift_list(graph->lists[k][1], graph->operations[k].n_outputs, i);
    }
    return MUTANT_MADE;
}

/* A reference that goes nowhere, or round in a circle. */
static enum mutant_outcome subgraph(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                    uint32_t variant)
{
    const uint64_t nowhere[] = {maker->n_graphs - 1, UINT32_MAX, UINT64_MAX};
    uint32_t self = (uint32_t)(graph - maker->graphs);

    if (graph->operands[i].type != NNHAL_SUBGRAPH || variant > N(nowhere) + 2)
        return MUTANT_END;
    if (variant < N(nowhere)) {
        graph->operands[i].location.offset = nowhere[variant];
    } else if (variant == N(nowhere)) {
        if (self == 0)
            return MUTANT_SKIPPED; /* main cannot be named */
        graph->operands[i].location.offset = self - 1;
    } else if (variant == N(nowhere) + 1) {
        graph->operands[i].location.length = 1;
    } else {
        graph->operands[i].location.pool_index = 1;
    }
    return MUTANT_MADE;
}

/* -- operations ---------------------------------------------------------------- */

static bool reads(const struct maker_graph *graph, uint32_t reader, uint32_t writer)
{
    for (uint32_t in = 0; in < graph->operations[reader].n_inputs; in++)
        for (uint32_t out = 0; out < graph->operations[writer].n_outputs; out++)
            if (graph->lists[reader][0][in] == graph->lists[writer][1][out])
                return true;
    return false;
}

/* Exchanges an operation and one that reads what it writes. */
static enum mutant_outcome execution_order(struct maker *maker, struct maker_graph *graph,
                                           uint32_t i, uint32_t variant)
{
    uint32_t other = i + 1 + variant, lists[2][MAKER_LIST];
    struct nnhal_operation operation = graph->operations[i];

    if (other >= graph->n_operations)
        return MUTANT_END;
    if (!reads(graph, other, i))
        return MUTANT_SKIPPED;
    memcpy(lists, graph->lists[i], sizeof(lists));
    memcpy(graph->lists[i], graph->lists[other], sizeof(lists));
    memcpy(graph->lists[other], lists, sizeof(lists));
    graph->operations[i] = graph->operations[other];
    graph->operations[other] = operation;
    return MUTANT_MADE;
}

/* The operation once more at the end, writing to operand number variant. */
static enum mutant_outcome add_writer(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                      uint32_t variant)
{
    uint32_t last = graph->n_operations;

    if (variant >= graph->n_operands)
        return MUTANT_END;
    graph->operations[last] = graph->operations[i];
    memcpy(graph->lists[last], graph->lists[i], sizeof(graph->lists[i]));
    graph->lists[last][1][0] = variant;
    graph->n_operations++;
    return MUTANT_MADE;
}

/* Gives an operand another type, and everything else that this type needs. */
static void retype(struct maker *maker, struct maker_graph *graph, uint32_t i, uint32_t type)
{
    struct nnhal_operand *operand = &graph->operands[i];
    uint64_t n_bytes;

    operand->type = type;
    operand->scale = nn_type_is_quantized(type) ? 0.5f : 0.0f;
    operand->zero_point = 0;
    operand->extra_params = NNHAL_EXTRA_NONE;
    if (nn_type_is_scalar(type))
        operand->n_dimensions = 0;
    else if (operand->n_dimensions == 0 && operand->location.length > 0)
        graph->dimensions[i][operand->n_dimensions++] = 1;
    if (operand->location.length > 0 &&
        nn_operand_bytes(type, operand->n_dimensions, graph->dimensions[i], &n_bytes) &&
        operand->location.offset + n_bytes <= maker->n_values)
        operand->location.length = n_bytes;
}

static enum mutant_outcome operation_operand_type(struct maker *maker, struct maker_graph *graph,
                                                  uint32_t i, uint32_t variant)
{
    const struct nnhal_operation *operation = &graph->operations[i];
    uint32_t slot = variant / NNHAL_OPERAND_TYPE_N, type = variant % NNHAL_OPERAND_TYPE_N;
    uint32_t operand;

    if (slot >= operation->n_inputs + operation->n_outputs)
        return MUTANT_END;
    operand = slot < operation->n_inputs ? graph->lists[i][0][slot]
                                         : graph->lists[i][1][slot - operation->n_inputs];
    if (graph->operands[operand].type == type || type == NNHAL_SUBGRAPH ||
        type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL)
        return MUTANT_SKIPPED;
    retype(maker, graph, operand, type);
    return MUTANT_MADE;
}

static enum mutant_outcome operation_type(struct maker *maker, struct maker_graph *graph,
                                          uint32_t i, uint32_t variant)
{
    const uint32_t types[] = {NNHAL_OPERATION_TYPE_N, 9999, 10001, UINT16_MAX, 9 << 16, UINT32_MAX};

    if (variant >= N(types))
        return MUTANT_END;
    graph->operations[i].type = types[variant];
    return MUTANT_MADE;
}

static enum mutant_outcome spoil_index(struct maker_graph *graph, uint32_t i, uint32_t side,
                                       uint32_t variant)
{
    const struct nnhal_operation *operation = &graph->operations[i];

    if (variant / 2 >= (side ? operation->n_outputs : operation->n_inputs))
        return MUTANT_END;
    graph->lists[i][side][variant / 2] = variant % 2 ? UINT32_MAX : graph->n_operands;
    return MUTANT_MADE;
}

static enum mutant_outcome input_index(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                       uint32_t variant)
{
    return spoil_index(graph, i, 0, variant);
}

static enum mutant_outcome output_index(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                        uint32_t variant)
{
    return spoil_index(graph, i, 1, variant);
}

/* A temporary operand like this one. */
static uint32_t add_temporary(struct maker_graph *graph, uint32_t like)
{
    uint32_t i = graph->n_operands++;

    graph->operands[i] = graph->operands[like];
    graph->operands[i].lifetime = NNHAL_TEMPORARY_VARIABLE;
    graph->operands[i].location = (struct nnhal_data_location){.offset = 0};
    memcpy(graph->dimensions[i], graph->dimensions[like], sizeof(graph->dimensions[i]));
    return i;
}

/* The operation writes to another operand than the one that is needed. */
static enum mutant_outcome remove_write(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                        uint32_t variant)
{
    if (variant >= graph->operations[i].n_outputs)
        return MUTANT_END;
    graph->lists[i][1][variant] = add_temporary(graph, graph->lists[i][1][variant]);
    return MUTANT_MADE;
}

static enum mutant_outcome remove_operation(struct maker *maker, struct maker_graph *graph,
                                            uint32_t i, uint32_t variant)
{
    if (variant >= 1)
        return MUTANT_END;
    memmove(&graph->operations[i], &graph->operations[i + 1],
            (graph->n_operations - i - 1) * sizeof(graph->operations[0]));
    memmove(&graph->lists[i], &graph->lists[i + 1],
            (graph->n_operations - i - 1) * sizeof(graph->lists[0]));
    graph->n_operations--;
    return MUTANT_MADE;
}

static enum mutant_outcome remove_input(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                        uint32_t variant)
{
    if (variant >= graph->operations[i].n_inputs)
        return MUTANT_END;
    remove_at(graph->lists[i][0], &graph->operations[i].n_inputs, variant);
    return MUTANT_MADE;
}

static enum mutant_outcome remove_output(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                         uint32_t variant)
{
    if (variant >= graph->operations[i].n_outputs)
        return MUTANT_END;
    remove_at(graph->lists[i][1], &graph->operations[i].n_outputs, variant);
    return MUTANT_MADE;
}

/* One input more: the first one again, in front or at the end. */
static enum mutant_outcome add_input(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                     uint32_t variant)
{
    uint32_t *list = graph->lists[i][0], n = graph->operations[i].n_inputs++;

    if (variant >= 2)
        return MUTANT_END;
    if (variant == 0)
        memmove(&list[1], &list[0], n * sizeof(*list));
    else
        list[n] = list[0];
    return MUTANT_MADE;
}

static enum mutant_outcome add_output(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                      uint32_t variant)
{
    uint32_t n = graph->operations[i].n_outputs++;

    if (variant >= 1)
        return MUTANT_END;
    graph->lists[i][1][n] = add_temporary(graph, graph->lists[i][1][0]);
    return MUTANT_MADE;
}

const struct mutator mutators[] = {
    {"executionOrder", true, execution_order},
    {"operandType", false, operand_type},
    {"operandRank", false, operand_rank},
    {"scale", false, scale},
    {"zeroPoint", false, zero_point},
    {"lifeTime", false, life_time},
    {"inputOutput", false, input_output},
    {"addWriter", true, add_writer},
    {"operationOperandType", true, operation_operand_type},
    {"operationType", true, operation_type},
    {"inputIndex", true, input_index},
    {"outputIndex", true, output_index},
    {"removeWrite", true, remove_write},
    {"removeOperand", false, remove_operand},
    {"removeOperation", true, remove_operation},
    {"removeInput", true, remove_input},
    {"removeOutput", true, remove_output},
    {"addInput", true, add_input},
    {"addOutput", true, add_output},
    {"subgraph", false, subgraph},
};
const size_t n_mutators = sizeof(mutators) / sizeof(mutators[0]);
