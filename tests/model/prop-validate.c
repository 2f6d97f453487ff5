/* SPDX-License-Identifier: Apache-2.0 */
/* prop-validate.c - random models: valid ones stay valid, spoilt ones are refused or harmless */
#include "model/exercise.h"
#include "model/mutate.h"

#include "support/check-main.h"

#define N_MUTANTS 40000
#define N_GRAPHS  400

static uint64_t state;

/* next() - xorshift; the seed is the test's, so that a failure repeats. */
static uint32_t next(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

/* interesting() - numbers that break things more often than random ones. */
static uint32_t interesting(void)
{
    static const uint32_t numbers[] = {
        0,          1,          2,          3,          4,          5,          6,
        7,          8,          11,         12,         14,         15,         16,
        17,         20,         48,         96,         97,         106,        127,
        128,        255,        256,        65535,      65536,      0x50001,    0x7f800000,
        0x7fc00000, 0x3f800000, 0x80000000, 0xbf800000, 0x7fffffff, 0xffffffff,
    };

    return next(4) == 0 ? next(UINT32_MAX) : numbers[next(sizeof(numbers) / sizeof(numbers[0]))];
}

TEST(mutants_are_refused_or_harmless)
{
    static struct maker maker;
    unsigned n_valid = 0;
    bool is_valid;

    state = 0x9e3779b97f4a7c15;
    for (unsigned i = 0; i < N_MUTANTS; i++) {
        maker_make_full(&maker);
        for (uint32_t k = next(4) + 1; k > 0; k--) {
            struct mutation mutation = {(uint8_t)next(256), (uint8_t)next(256), (uint8_t)next(32),
                                        (uint8_t)next(32), interesting()};

            mutate(&maker, &mutation);
        }
        ck_assert_msg(exercise(&maker, &is_valid), "mutant %u", i);
        n_valid += is_valid;
    }
    /* Some mutations hit fields that are not read; most do not. */
    ck_assert_uint_gt(n_valid, N_MUTANTS / 100);
    ck_assert_uint_lt(n_valid, N_MUTANTS * 4 / 5);
}
TEST_END

/* make_random() - a graph of element-wise operations over [2,3] tensors; each reads what stands
 * before it. */
static void make_random(struct maker *maker)
{
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t act, tensors[MAKER_OPERATIONS + 2], n_tensors = 0, n_operations = next(10) + 2;

    maker_init(maker, 1);
    act = maker_i32(maker, graph, (int32_t)next(4));
    for (int i = 0; i < 2; i++)
        tensors[n_tensors++] = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT,
                                             DIMS(2, 3));
    for (uint32_t i = 0; i < n_operations; i++) {
        bool is_last = i + 1 == n_operations;
        uint32_t a = tensors[next(n_tensors)], b = tensors[n_tensors - 1];
        uint32_t out = maker_operand(graph, NNHAL_TENSOR_FLOAT32,
                                     is_last ? NNHAL_SUBGRAPH_OUTPUT : NNHAL_TEMPORARY_VARIABLE,
                                     DIMS(2, 3));

        if (next(2))
            maker_operation(graph, NNHAL_OP_ADD, DIMS(a, b, act), 1, &out);
        else
            maker_operation(graph, NNHAL_OP_TANH, 1, &b, 1, &out);
        tensors[n_tensors++] = out;
    }
}

/* renumber() - the same graph with its operands in another order. */
static void renumber(struct maker *maker)
{
    static struct maker_graph old;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t to[MAKER_OPERANDS];

    old = *graph;
    for (uint32_t i = 0; i < old.n_operands; i++)
        to[i] = i;
    for (uint32_t i = old.n_operands - 1; i > 0; i--) {
        uint32_t k = next(i + 1), swapped = to[i];

        to[i] = to[k];
        to[k] = swapped;
    }
    for (uint32_t i = 0; i < old.n_operands; i++) {
        graph->operands[to[i]] = old.operands[i];
        memcpy(graph->dimensions[to[i]], old.dimensions[i], sizeof(old.dimensions[i]));
    }
    for (uint32_t i = 0; i < old.n_operations; i++)
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < MAKER_LIST; k++)
                graph->lists[i][side][k] = to[old.lists[i][side][k]];
    for (int k = 0; k < MAKER_LIST; k++) {
        graph->inputs[k] = to[old.inputs[k]];
        graph->outputs[k] = to[old.outputs[k]];
    }
}

/* reverse() - the last operation, which reads what the one before it wrote, comes first. */
static void reverse(struct maker *maker)
{
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t last = graph->n_operations - 1;
    uint32_t lists[2][MAKER_LIST];
    struct nnhal_operation operation = graph->operations[0];

    graph->operations[0] = graph->operations[last];
    graph->operations[last] = operation;
    memcpy(lists, graph->lists[0], sizeof(lists));
    memcpy(graph->lists[0], graph->lists[last], sizeof(lists));
    memcpy(graph->lists[last], lists, sizeof(lists));
}

TEST(valid_models_stay_valid_in_any_numbering)
{
    static struct maker maker;
    bool is_valid;

    state = 0x2545f4914f6cdd1d;
    for (unsigned i = 0; i < N_GRAPHS; i++) {
        make_random(&maker);
        ck_assert(exercise(&maker, &is_valid));
        ck_assert_msg(is_valid, "graph %u", i);
        renumber(&maker);
        ck_assert(exercise(&maker, &is_valid));
        ck_assert_msg(is_valid, "graph %u renumbered", i);
        reverse(&maker);
        ck_assert(exercise(&maker, &is_valid));
        ck_assert_msg(!is_valid, "graph %u out of order", i);
    }
}
TEST_END

CHECK_MAIN("validate, random models", mutants_are_refused_or_harmless,
           valid_models_stay_valid_in_any_numbering)
