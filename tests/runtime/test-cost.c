/* SPDX-License-Identifier: Apache-2.0 */
/* What operations, calls and moves are expected to cost, of made-up devices: against each other, and against
 * the work. */
#include "support/check-main.h"

#include "runtime/partition/cost.h"

enum { MAX_OPERANDS = 3, MAX_RANK = 4, MILLION = 1000000 };

/* One operation on two inputs and an output. */
struct world {
    struct nnhal_operand operands[MAX_OPERANDS];
    struct nnhal_operation operation;
    struct nnhal_model model;
    struct nn_rt_performance performance;
};

struct shape {
    uint32_t rank, dims[MAX_RANK];
};

static const uint32_t first_two[] = {0, 1}, third[] = {2};

static void world_init(struct world *w, uint32_t operation, uint32_t type,
                       const struct shape shapes[MAX_OPERANDS])
{
    *w = (struct world){
        .operation = {.type = operation,
                      .n_inputs = 2,
                      .inputs = first_two,
                      .n_outputs = 1,
                      .outputs = third},
        .model.main = {.n_operands = MAX_OPERANDS,
                       .n_operations = 1,
                       .operands = w->operands,
                       .operations = &w->operation},
        .performance.type = NNHAL_DEVICE_CPU,
    };
    for (uint32_t i = 0; i < MAX_OPERANDS; i++)
        w->operands[i] = (struct nnhal_operand){
            .type = type,
            .lifetime = i < 2 ? NNHAL_SUBGRAPH_INPUT : NNHAL_SUBGRAPH_OUTPUT,
            .n_dimensions = shapes[i].rank,
            .dimensions = shapes[i].dims,
        };
}

static void make(struct world *w, uint32_t operation, uint32_t type)
{
    static const struct shape shapes[MAX_OPERANDS] = {{1, {60000}}, {1, {60000}}, {1, {60000}}};

    world_init(w, operation, type, shapes);
}

typedef uint64_t (*cost_fn)(const struct nnhal_model *model, uint32_t operation,
                            const struct nn_rt_performance *performance);

/* What the device costs, in what the work costs. */
static double ratio(const struct world *w, cost_fn cost)
{
    return (double)cost(&w->model, 0, &w->performance) / nn_rt_cost_work(&w->model, 0);
}

static void declare(struct world *w)
{
    static const struct nnhal_operand_performance types[] = {
        {.type = NNHAL_TENSOR_FLOAT32, .info = {0.5f, 0.375f}},
        {.type = NNHAL_TENSOR_QUANT8_ASYMM, .info = {0.125f, 0.75f}},
    };

    w->performance.capabilities = (struct nnhal_capabilities){
        .relaxed_scalar = {9, 9},
        .relaxed_tensor = {0.25f, 0.625f},
        .if_performance = {2, 3},
        .while_performance = {4, 5},
        .n_operand_performance = 2,
        .operand_performance = types,
    };
}

/* -- of work ------------------------------------------------------------------------------- */

#define CLOSE(a, b) ck_assert_double_eq_tol((a), (b), 0.01 * (b))

TEST(what_is_declared_counts_by_type)
{
    static const struct {
        uint32_t operation, type;
        bool is_relaxed;
        double time, power;
    } rows[] = {
        {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, false, 0.5, 0.375},
        {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, true, 0.25, 0.625},
        {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, false, 0.125, 0.75},
        {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, true, 0.125, 0.75},
        {NNHAL_OP_IF, NNHAL_TENSOR_FLOAT32, false, 2, 3},
        {NNHAL_OP_WHILE, NNHAL_TENSOR_QUANT8_ASYMM, false, 4, 5},
    };
    struct world w;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make(&w, rows[i].operation, rows[i].type);
        declare(&w);
        w.model.relax_computation_float32_to_float16 = rows[i].is_relaxed;
        CLOSE(ratio(&w, nn_rt_cost_time), rows[i].time);
        CLOSE(ratio(&w, nn_rt_cost_energy), rows[i].power);
        ck_assert_int_eq(nn_rt_cost_source(&w.performance), NNHAL_FIGURE_DECLARED);
    }
    make(&w, NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT16); /* left out of the table: no first choice */
    declare(&w);
    ck_assert_double_gt(ratio(&w, nn_rt_cost_time), 100);
    ck_assert_double_gt(ratio(&w, nn_rt_cost_energy), 100);
}
TEST_END

TEST(without_a_table_the_kind_of_device_counts)
{
    static const uint32_t kinds[] = {NNHAL_DEVICE_ACCELERATOR, NNHAL_DEVICE_GPU, NNHAL_DEVICE_CPU};
    static const cost_fn costs[] = {nn_rt_cost_time, nn_rt_cost_energy};
    struct world w;

    make(&w, NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32);
    for (size_t p = 0; p < 2; p++) {
        double last = 0;

        for (size_t i = 0; i < 3; i++) {
            w.performance.type = kinds[i];
            ck_assert_double_gt(ratio(&w, costs[p]), last);
            last = ratio(&w, costs[p]);
        }
        w.performance.type = 77; /* none that is known */
        CLOSE(ratio(&w, costs[p]), last);
        ck_assert_double_lt(last, 1);
    }
    ck_assert_int_eq(nn_rt_cost_source(&w.performance), NNHAL_FIGURE_CONSTANT);
}
TEST_END

TEST(what_was_measured_counts_and_corrects_what_was_not)
{
    static const struct {
        uint32_t operation, type;
        enum nn_rt_figure figure;
        double measured, expected;
    } rows[] = {
        {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, NN_RT_FIGURE_OTHER_FLOAT32, 0.25, 0.25},
        {NNHAL_OP_CONV_2D, NNHAL_TENSOR_FLOAT32, NN_RT_FIGURE_CONV_FLOAT32, 3, 3},
        {NNHAL_OP_FULLY_CONNECTED, NNHAL_TENSOR_QUANT8_ASYMM, NN_RT_FIGURE_MATRIX_QUANT8, 3, 3},
        {NNHAL_OP_IF, NNHAL_TENSOR_BOOL8, NN_RT_FIGURE_IF, 6, 6},
        {NNHAL_OP_WHILE, NNHAL_TENSOR_FLOAT32, NN_RT_FIGURE_WHILE, 7, 7},
        /* Half as slow as declared, or twice, and so where it was not measured. */
        {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, NN_RT_FIGURE_OTHER_FLOAT32, 0.25, 0.0625},
        {NNHAL_OP_CONV_2D, NNHAL_TENSOR_FLOAT32, NN_RT_FIGURE_OTHER_FLOAT32, 1, 1},
        {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, NN_RT_FIGURE_OTHER_QUANT8, 0.25, 1},
        /* A figure of images tells nothing of sums. */
        {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, NN_RT_FIGURE_CONV_FLOAT32, 3, 0.5},
    };
    struct world w;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make(&w, rows[i].operation, rows[i].type);
        declare(&w);
        w.performance.is_measured = true;
        w.performance.figures.values[rows[i].figure] = (uint64_t)(rows[i].measured * MILLION);
        CLOSE(ratio(&w, nn_rt_cost_time), rows[i].expected);
        ck_assert_int_eq(nn_rt_cost_source(&w.performance), NNHAL_FIGURE_MEASURED);
    }
    make(&w, NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32); /* power is declared alone */
    declare(&w);
    w.performance.is_measured = true;
    w.performance.figures.values[NN_RT_FIGURE_OTHER_FLOAT32] = 7 * MILLION;
    CLOSE(ratio(&w, nn_rt_cost_energy), 0.375);
}
TEST_END

/* Beside ADD on the same operands. */
TEST(products_are_counted)
{
    static const struct {
        uint32_t operation;
        struct shape shapes[MAX_OPERANDS];
        double products;
    } rows[] = {
        {NNHAL_OP_CONV_2D, {{4, {1, 8, 8, 2}}, {4, {3, 2, 2, 2}}, {4, {1, 8, 8, 3}}}, 192 * 8},
        {NNHAL_OP_TRANSPOSE_CONV_2D,
         {{4, {1, 8, 8, 2}}, {4, {3, 2, 2, 2}}, {4, {1, 8, 8, 3}}},
         192 * 8},
        {NNHAL_OP_GROUPED_CONV_2D,
         {{4, {1, 8, 8, 4}}, {4, {2, 3, 3, 2}}, {4, {1, 8, 8, 2}}},
         128 * 18},
        {NNHAL_OP_DEPTHWISE_CONV_2D,
         {{4, {1, 8, 8, 2}}, {4, {1, 2, 2, 6}}, {4, {1, 8, 8, 6}}},
         384 * 4},
        {NNHAL_OP_FULLY_CONNECTED, {{2, {4, 8}}, {2, {3, 8}}, {2, {4, 3}}}, 12 * 8},
        {NNHAL_OP_BATCH_MATMUL, {{3, {2, 4, 8}}, {3, {2, 8, 3}}, {3, {2, 4, 3}}}, 24 * 8},
        {NNHAL_OP_FULLY_CONNECTED, {{2, {0, 8}}, {2, {3, 8}}, {2, {0, 3}}}, 3 * 8}, /* unknown: 1 */
        {NNHAL_OP_MUL, {{2, {4, 8}}, {2, {3, 8}}, {2, {4, 3}}}, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world w, sum;

        world_init(&w, rows[i].operation, NNHAL_TENSOR_FLOAT32, rows[i].shapes);
        world_init(&sum, NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, rows[i].shapes);
        ck_assert_double_eq_tol(nn_rt_cost_work(&w.model, 0) - nn_rt_cost_work(&sum.model, 0),
                                rows[i].products, 1e-6);
    }
}
TEST_END

TEST(branches_count_and_their_graphs_are_no_values)
{
    struct world branch, w;
    double alone;

    make(&branch, NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32);
    make(&w, NNHAL_OP_IF, NNHAL_TENSOR_FLOAT32);
    w.operands[1] = (struct nnhal_operand){.type = NNHAL_SUBGRAPH, .lifetime = NNHAL_NO_VALUE};
    alone = nn_rt_cost_work(&w.model, 0);
    w.operands[1].lifetime = NNHAL_SUBGRAPH_VALUE;
    w.model.n_referenced = 1;
    w.model.referenced = &branch.model.main;
    ck_assert_double_eq_tol(nn_rt_cost_work(&w.model, 0), alone + nn_rt_cost_work(&branch.model, 0),
                            1e-6);
}
TEST_END

/* A device may declare any number. */
TEST(wild_declarations_are_costs)
{
    static const float wild[] = {
        0, -1, -0.0f, __builtin_inff(), -__builtin_inff(), __builtin_nanf("")};
    struct nnhal_operand_performance type = {.type = NNHAL_TENSOR_FLOAT32};
    struct world w;

    make(&w, NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32);
    w.performance.capabilities.n_operand_performance = 1;
    w.performance.capabilities.operand_performance = &type;
    for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
        uint64_t ns;

        type.info.exec_time = wild[i];
        ns = nn_rt_cost_time(&w.model, 0, &w.performance);
        ck_assert_uint_ge(ns, 1);
        ck_assert_uint_le(ns, UINT64_C(1000000000000000));
    }
}
TEST_END

/* -- of calls and moves -------------------------------------------------------------------- */

TEST(a_call_costs_by_where_and_what_the_device_is)
{
    static const struct nn_rt_performance ascending[] = {
        {.type = NNHAL_DEVICE_CPU},
        {.type = NNHAL_DEVICE_ACCELERATOR},
        {.type = NNHAL_DEVICE_CPU, .is_remote = true},
        {.type = NNHAL_DEVICE_GPU, .is_remote = true},
    };
    struct nn_rt_performance measured = {.type = NNHAL_DEVICE_GPU, .is_measured = true};
    uint64_t last = 0;

    for (size_t i = 0; i < sizeof(ascending) / sizeof(ascending[0]); i++) {
        ck_assert_uint_gt(nn_rt_cost_launch(&ascending[i]), last);
        last = nn_rt_cost_launch(&ascending[i]);
    }
    ck_assert_uint_eq(nn_rt_cost_launch(&measured),
                      nn_rt_cost_launch(&ascending[1])); /* it was not */
    measured.figures.values[NN_RT_FIGURE_LAUNCH] = 7;
    ck_assert_uint_eq(nn_rt_cost_launch(&measured), 7);
}
TEST_END

TEST(a_move_costs_what_was_measured_and_at_least_the_reading)
{
    const uint64_t mib = 1 << 20;
    struct nn_rt_performance performance = {.type = NNHAL_DEVICE_GPU};
    uint64_t least = nn_rt_cost_move(&performance, mib);

    ck_assert_uint_gt(least, 0);
    ck_assert_uint_eq(nn_rt_cost_move(&performance, 0), 0);
    performance.figures.values[NN_RT_FIGURE_MOVE] = 2 * least;
    ck_assert_uint_eq(nn_rt_cost_move(&performance, mib), least); /* not measured after all */
    performance.is_measured = true;
    ck_assert_uint_eq(nn_rt_cost_move(&performance, mib), 2 * least);
    ck_assert_uint_eq(nn_rt_cost_move(&performance, 3 * mib), 6 * least);
    performance.figures.values[NN_RT_FIGURE_MOVE] = 1;
    ck_assert_uint_eq(nn_rt_cost_move(&performance, mib), least);
}
TEST_END

CHECK_MAIN("cost", what_is_declared_counts_by_type, without_a_table_the_kind_of_device_counts,
           what_was_measured_counts_and_corrects_what_was_not, products_are_counted,
           branches_count_and_their_graphs_are_no_values, wild_declarations_are_costs,
           a_call_costs_by_where_and_what_the_device_is,
           a_move_costs_what_was_measured_and_at_least_the_reading)
