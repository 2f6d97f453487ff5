/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of small models whose parts have something particular, and what they compute. */
#include "drivers/split.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, MAX_OPERANDS = 8, MAX_OPERATIONS = 4 };

/* Operand 0 is the activation NONE, operand 1 the input; constant: one that is 2, 2, 2, 2 (0: none). */
struct scenario {
    const char *rules;
    uint32_t n_operands;
    uint32_t constant;
    uint32_t n_operations;
    struct {
        int32_t type;
        uint32_t inputs[3], n_inputs, output;
    } operations[MAX_OPERATIONS];
    uint32_t n_outputs;
    uint32_t outputs[MAX_OPERATIONS];
    const char *plan;               /* of each part: its device, its wave and its operations */
    float expected[MAX_OPERATIONS]; /* of each output, for the input -1 */
};

static void set_constants(ANeuralNetworksModel *model, const struct scenario *scenario)
{
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const float two[N] = {2, 2, 2, 2};

    OK(ANeuralNetworksModel_setOperandValue(model, 0, &none, sizeof(none)));
    if (scenario->constant)
        OK(ANeuralNetworksModel_setOperandValue(model, (int32_t)scenario->constant, two,
                                                sizeof(two)));
}

static ANeuralNetworksModel *make_model(const struct scenario *scenario, bool is_relaxed)
{
    const uint32_t n = N, input = 1;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i < scenario->n_operands; i++)
        OK(ANeuralNetworksModel_addOperand(model, i ? &tensor : &scalar));
    set_constants(model, scenario);
    for (uint32_t i = 0; i < scenario->n_operations; i++)
        OK(ANeuralNetworksModel_addOperation(
            model, scenario->operations[i].type, scenario->operations[i].n_inputs,
            scenario->operations[i].inputs, 1, &scenario->operations[i].output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, scenario->n_outputs,
                                                     scenario->outputs));
    OK(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, is_relaxed));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void print_plan(const ANeuralNetworksCompilation *compilation, char *text, size_t n_bytes)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};
    FILE *file = fmemopen(text, n_bytes, "w");

    OK(nnhal_compilation_get_plan(compilation, &plan));
    for (uint32_t i = 0; i < plan.n_parts; i++) {
        const struct nnhal_plan_part *part = &plan.parts[i];
        const char *name = NULL;

        OK(ANeuralNetworksDevice_getName(part->device, &name));
        fprintf(file, "%s%s wave %u:", i ? "; " : "", name, part->wave);
        for (uint32_t k = 0; k < part->n_operations; k++)
            fprintf(file, " %u", part->operations[k]);
    }
    fclose(file);
}

static void check_results(ANeuralNetworksCompilation *compilation, const struct scenario *scenario)
{
    const float input[N] = {-1, -1, -1, -1};
    float results[MAX_OPERATIONS][N] = {{0}};
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof(input)));
    for (uint32_t i = 0; i < scenario->n_outputs; i++)
        OK(ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, results[i],
                                              sizeof(results[i])));
    OK(ANeuralNetworksExecution_compute(execution));
    for (uint32_t i = 0; i < scenario->n_outputs; i++)
        for (uint32_t k = 0; k < N; k++)
            ck_assert_float_eq_tol(results[i][k], scenario->expected[i], 1e-4f);
    ANeuralNetworksExecution_free(execution);
}

static void check_scenario(const struct scenario *scenario)
{
    ANeuralNetworksModel *model = make_model(scenario, false);
    ANeuralNetworksCompilation *compilation;
    char text[256] = "";

    split_rules("%s", scenario->rules);
    compilation = split_compile(model, 2);
    print_plan(compilation, text, sizeof(text));
    ck_assert_str_eq(text, scenario->plan);
    check_results(compilation, scenario);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

#define EXP(from, to)                                                                              \
    {                                                                                              \
        ANEURALNETWORKS_EXP, {from}, 1, to                                                         \
    }
#define ABS(from, to)                                                                              \
    {                                                                                              \
        ANEURALNETWORKS_ABS, {from}, 1, to                                                         \
    }
#define ADD(a, b, to)                                                                              \
    {                                                                                              \
        ANEURALNETWORKS_ADD, {a, b, 0}, 3, to                                                      \
    }
#define E 2.718282f

TEST(a_result_of_the_model_is_read_by_the_next_part)
{
    check_scenario(&(struct scenario){
        .rules = "0:only=ABS;1:only=EXP",
        .n_operands = 4,
        .n_operations = 2,
        .operations = {ABS(1, 2), EXP(2, 3)},
        .n_outputs = 2,
        .outputs = {3, 2},
        .plan = "partial-0 wave 0: 0; partial-1 wave 1: 1",
        .expected = {E, 1},
    });
}
TEST_END

TEST(an_input_is_read_by_two_parts)
{
    check_scenario(&(struct scenario){
        .rules = "0:only=ABS;1:only=EXP",
        .n_operands = 4,
        .n_operations = 2,
        .operations = {ABS(1, 2), EXP(1, 3)},
        .n_outputs = 2,
        .outputs = {2, 3},
        .plan = "partial-0 wave 0: 0; partial-1 wave 0: 1",
        .expected = {1, 1 / E},
    });
}
TEST_END

TEST(a_constant_is_read_by_two_parts)
{
    check_scenario(&(struct scenario){
        .rules = "0:only=ADD;1:only=EXP+MUL",
        .n_operands = 6,
        .constant = 2,
        .n_operations = 3,
        .operations = {ADD(1, 2, 3), EXP(3, 4), {ANEURALNETWORKS_MUL, {4, 2, 0}, 3, 5}},
        .n_outputs = 1,
        .outputs = {5},
        .plan = "partial-0 wave 0: 0; partial-1 wave 1: 1 2",
        .expected = {2 * E},
    });
}
TEST_END

TEST(a_part_that_reads_constants_alone)
{
    check_scenario(&(struct scenario){
        .rules = "0:only=EXP;1:only=ADD",
        .n_operands = 5,
        .constant = 2,
        .n_operations = 2,
        .operations = {EXP(2, 3), ADD(1, 3, 4)},
        .n_outputs = 1,
        .outputs = {4},
        .plan = "partial-0 wave 0: 0; partial-1 wave 1: 1",
        .expected = {E * E - 1},
    });
}
TEST_END

TEST(a_part_that_nobody_reads)
{
    check_scenario(&(struct scenario){
        .rules = "0:only=EXP;1:only=ABS",
        .n_operands = 4,
        .n_operations = 2,
        .operations = {EXP(1, 2), ABS(1, 3)},
        .n_outputs = 1,
        .outputs = {3},
        .plan = "partial-0 wave 0: 0; partial-1 wave 0: 1",
        .expected = {1},
    });
}
TEST_END

/* Parts go by what they read, not by the order in which operations were added. */
TEST(operations_that_were_added_last_first)
{
    check_scenario(&(struct scenario){
        .rules = "0:only=EXP;1:only=ABS",
        .n_operands = 5,
        .n_operations = 3,
        .operations = {EXP(3, 4), ABS(2, 3), EXP(1, 2)},
        .n_outputs = 1,
        .outputs = {4},
        .plan = "partial-0 wave 0: 2; partial-1 wave 1: 1; partial-0 wave 2: 0",
        .expected = {1.444668f},
    });
}
TEST_END

/* ABS on one device, EXP of that on the next, MAXIMUM of both on the third. */
static ANeuralNetworksCompilation *compile_chain(void)
{
    const struct scenario chain = {
        .n_operands = 5,
        .n_operations = 3,
        .operations = {ABS(1, 2), EXP(2, 3), {ANEURALNETWORKS_MAXIMUM, {2, 3}, 2, 4}},
        .n_outputs = 1,
        .outputs = {4},
    };
    ANeuralNetworksModel *model = make_model(&chain, false);
    ANeuralNetworksCompilation *compilation;

    split_rules("0:only=ABS;1:only=EXP;2:only=MAXIMUM");
    compilation = split_compile(model, 3);
    ANeuralNetworksModel_free(model);
    return compilation;
}

TEST(what_moves_between_parts_is_told)
{
    static const uint32_t expected[][2] = {{0, 1}, {0, 2}, {1, 2}};
    struct nnhal_part_move move = {.size = sizeof(move)};
    struct nnhal_plan plan = {.size = sizeof(plan)};
    ANeuralNetworksCompilation *compilation = compile_chain();

    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_eq(plan.n_parts, 3);
    for (uint32_t i = 0; i < 3; i++) {
        OK(nnhal_compilation_get_move(compilation, i, &move));
        ck_assert_uint_eq(move.n_moves, 3);
        ck_assert_uint_eq(move.from, expected[i][0]);
        ck_assert_uint_eq(move.to, expected[i][1]);
        ck_assert_uint_eq(move.n_bytes, N * sizeof(float));
    }
    ck_assert_int_eq(nnhal_compilation_get_move(compilation, 3, &move), ANEURALNETWORKS_BAD_DATA);
    move = (struct nnhal_part_move){.size = offsetof(struct nnhal_part_move, n_bytes),
                                    .n_bytes = 7};
    OK(nnhal_compilation_get_move(compilation, 2, &move));
    ck_assert(move.from == 1 && move.n_bytes == 7);
    move.size = offsetof(struct nnhal_part_move, is_resident) - 1;
    ck_assert_int_eq(nnhal_compilation_get_move(compilation, 0, &move), ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* Devices that prepare relaxed models alone. */
TEST(every_part_of_a_relaxed_model_is_relaxed)
{
    const struct scenario scenario = {
        .n_operands = 4,
        .n_operations = 2,
        .operations = {ABS(1, 2), EXP(2, 3)},
        .n_outputs = 1,
        .outputs = {3},
        .expected = {E},
    };
    ANeuralNetworksModel *relaxed = make_model(&scenario, true);
    ANeuralNetworksCompilation *compilation;

    split_rules("*:relaxed=1;0:only=ABS;1:only=EXP");
    compilation = split_compile(relaxed, 2);
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    check_results(compilation, &scenario);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(relaxed);
}
TEST_END

/* -- a process that was given up ------------------------------------------------------------------ */

enum { X, TIMES, NONE, DOUBLED, TILED, CURVED, LONG, SHORT, MANY = 70000 };

static void add_tensor(ANeuralNetworksModel *model, int32_t code, uint32_t n)
{
    const ANeuralNetworksOperandType type = {.type = code, .dimensionCount = 1, .dimensions = &n};

    OK(ANeuralNetworksModel_addOperand(model, &type));
}

static void add_operation(ANeuralNetworksModel *model, int32_t type, uint32_t n_inputs,
                          const uint32_t *inputs, uint32_t output)
{
    OK(ANeuralNetworksModel_addOperation(model, type, n_inputs, inputs, 1, &output));
}

/* LONG is made of X, twice as often as TIMES says, SHORT of X alone. Nothing tells the length of TILED
 * before it is computed. */
static ANeuralNetworksModel *make_tiling(void)
{
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const uint32_t inputs[] = {X, TIMES}, outputs[] = {LONG, SHORT};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    add_tensor(model, ANEURALNETWORKS_TENSOR_FLOAT32, N);
    add_tensor(model, ANEURALNETWORKS_TENSOR_INT32, 1);
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    OK(ANeuralNetworksModel_setOperandValue(model, NONE, &none, sizeof(none)));
    add_tensor(model, ANEURALNETWORKS_TENSOR_INT32, 1);
    add_tensor(model, ANEURALNETWORKS_TENSOR_FLOAT32, 0);
    add_tensor(model, ANEURALNETWORKS_TENSOR_FLOAT32, N);
    add_tensor(model, ANEURALNETWORKS_TENSOR_FLOAT32, 0);
    add_tensor(model, ANEURALNETWORKS_TENSOR_FLOAT32, N);
    add_operation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){TIMES, TIMES, NONE}, DOUBLED);
    add_operation(model, ANEURALNETWORKS_TILE, 2, (uint32_t[]){X, DOUBLED}, TILED);
    add_operation(model, ANEURALNETWORKS_EXP, 1, (uint32_t[]){X}, CURVED);
    add_operation(model, ANEURALNETWORKS_ABS, 1, (uint32_t[]){TILED}, LONG);
    add_operation(model, ANEURALNETWORKS_ABS, 1, (uint32_t[]){CURVED}, SHORT);
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 2, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void check_tiling(ANeuralNetworksCompilation *compilation, int32_t times)
{
    static const float x[N] = {-1, -1, -1, -1};
    static float tiled[2 * N * MANY];
    ANeuralNetworksExecution *execution = NULL;
    float curved[N];

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, &times, sizeof(times)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, tiled, sizeof(tiled)));
    OK(ANeuralNetworksExecution_setOutput(execution, 1, NULL, curved, sizeof(curved)));
    OK(ANeuralNetworksExecution_compute(execution));
    for (int32_t i = 0; i < 2 * N * times; i++)
        ck_assert_float_eq(tiled[i], 1);
    for (int32_t i = 0; i < N; i++)
        ck_assert_float_eq_tol(curved[i], 1 / E, 1e-4f);
    ANeuralNetworksExecution_free(execution);
}

TEST(what_one_device_computes_has_no_moves)
{
    struct nnhal_part_move move = {.size = sizeof(move)};
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = make_tiling();

    split_rules("*:time=0.5");
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    ck_assert_int_eq(nnhal_compilation_get_move(compilation, 0, &move), ANEURALNETWORKS_BAD_STATE);
    ANeuralNetworksCompilation_free(compilation);
    compilation = split_compile(model, 2);
    ck_assert_uint_eq(split_count_parts(compilation), 1);
    ck_assert_int_eq(nnhal_compilation_get_move(compilation, 0, &move), ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* The new process of the device says that TILED does not fit, and is asked again, with more room. CURVED
 * stays where the old one could write: both are made a third time. */
TEST(a_death_is_not_forgotten_for_a_value_that_does_not_fit)
{
    struct nnhal_device_counts counts = {.size = sizeof(counts)};
    ANeuralNetworksModel *model = make_tiling();
    ANeuralNetworksCompilation *compilation;

    setenv("NNHAL_MODE", "private", 1);
    split_rules("0:only=ADD+TILE+EXP,die-at=4;1:only=ABS");
    compilation = split_compile(model, 2);
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    for (uint32_t i = 0; i < 3; i++)
        check_tiling(compilation, 1);
    check_tiling(compilation, MANY);
    OK(nnhal_device_get_counts(find_device("partial-0"), &counts));
    ck_assert_uint_eq(counts.n_computed, 3 + 2);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("parts", a_result_of_the_model_is_read_by_the_next_part, an_input_is_read_by_two_parts,
           a_constant_is_read_by_two_parts, a_part_that_reads_constants_alone,
           a_part_that_nobody_reads, operations_that_were_added_last_first,
           what_moves_between_parts_is_told, every_part_of_a_relaxed_model_is_relaxed,
           what_one_device_computes_has_no_moves,
           a_death_is_not_forgotten_for_a_value_that_does_not_fit)
