/* SPDX-License-Identifier: Apache-2.0 */
/* IF and WHILE that no device takes, while devices take what they run.
 *
 * partial-0 has TANH and CONCATENATION, partial-1 the rest. What they compute together has the bits
 * of what one device computes alone. */
#include "drivers/split.h"

#include <stdlib.h>
#include <string.h>

enum { N = 4, MAX = 64, ROUNDS = 4 };

#define SHARED     "0:only=TANH+CONCATENATION;1:only=ADD+LESS+ABS+LOGICAL_NOT"
#define UNASKED_OF "*:only=LOGISTIC;"

static const uint32_t one[] = {1}, row[] = {N}, open_row[] = {0};

/* What a model is run with, and what becomes of it. */
struct trial {
    float in[N];
    float count;     /* where a loop begins */
    uint8_t is_true; /* the condition of IF */
    uint32_t n_out;  /* floats that there is room for */
    uint64_t loop_timeout_ns;
    int result;
    uint32_t n_dims0; /* of output 0 */
    float out[MAX];
};

static const struct trial usual = {.in = {0.5f, -1, 2, -3}, .is_true = 1, .n_out = MAX};

/* -- graphs ---------------------------------------------------------------------------- */

static uint32_t add_row(struct builder *b, uint32_t graph, uint32_t lifetime, const uint32_t *dims)
{
    struct builder_graph *g = &b->graphs[graph];
    uint32_t operand = builder_operand(b, graph, NNHAL_TENSOR_FLOAT32, lifetime, 1, dims, 0, 0);

    if (lifetime == NNHAL_SUBGRAPH_INPUT)
        g->inputs[g->n_inputs++] = operand;
    if (lifetime == NNHAL_SUBGRAPH_OUTPUT)
        g->outputs[g->n_outputs++] = operand;
    return operand;
}

/* [row, count, ...] -> count < ROUNDS */
static uint32_t add_condition(struct builder *b, const uint32_t *dims, bool has_flag)
{
    static const float limit = ROUNDS;
    uint32_t graph = builder_add_graph(b), inputs[2], out;

    add_row(b, graph, NNHAL_SUBGRAPH_INPUT, dims);
    inputs[0] = add_row(b, graph, NNHAL_SUBGRAPH_INPUT, one);
    if (has_flag)
        builder_input(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &limit, 4, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    builder_operation(b, graph, NNHAL_OP_LESS, 2, inputs, 1, &out);
    return graph;
}

/* The second output of a body is the second input and step more. */
static void add_count(struct builder *b, uint32_t graph, float step)
{
    uint32_t inputs[3], out;

    inputs[0] = add_row(b, graph, NNHAL_SUBGRAPH_INPUT, one);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &step, 4, 0);
    inputs[2] = builder_i32(b, graph, 0);
    out = add_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, one);
    builder_operation(b, graph, NNHAL_OP_ADD, 3, inputs, 1, &out);
}

/* [row, count] -> [tanh(row) + row, count + step] */
static uint32_t add_body(struct builder *b, float step)
{
    uint32_t graph = builder_add_graph(b), inputs[3], out;
    uint32_t in = add_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);

    inputs[0] = builder_temporary(b, graph, NNHAL_TENSOR_FLOAT32, 1, row, 0, 0);
    inputs[1] = in;
    inputs[2] = builder_i32(b, graph, 0);
    out = add_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, row);
    builder_operation(b, graph, NNHAL_OP_TANH, 1, &in, 1, inputs);
    builder_operation(b, graph, NNHAL_OP_ADD, 3, inputs, 1, &out);
    add_count(b, graph, step);
    return graph;
}

/* [row, count] -> [row twice, count + 1] */
static uint32_t add_growing_body(struct builder *b)
{
    uint32_t graph = builder_add_graph(b), inputs[3], out;

    inputs[0] = inputs[1] = add_row(b, graph, NNHAL_SUBGRAPH_INPUT, open_row);
    inputs[2] = builder_i32(b, graph, 0);
    out = add_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, open_row);
    builder_operation(b, graph, NNHAL_OP_CONCATENATION, 3, inputs, 1, &out);
    add_count(b, graph, 1);
    return graph;
}

static uint32_t add_branch(struct builder *b, uint32_t operation)
{
    uint32_t graph = builder_add_graph(b);
    uint32_t in = add_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t out = add_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, row);

    builder_operation(b, graph, operation, 1, &in, 1, &out);
    return graph;
}

static void add_if(struct builder *b, uint32_t graph, uint32_t condition, uint32_t in, uint32_t out)
{
    const uint32_t inputs[] = {condition, builder_subgraph(b, graph, add_branch(b, NNHAL_OP_TANH)),
                               builder_subgraph(b, graph, add_branch(b, NNHAL_OP_ABS)), in};

    builder_operation(b, graph, NNHAL_OP_IF, 4, inputs, 1, &out);
}

static void make_if(struct builder *b)
{
    uint32_t in = add_row(b, 0, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t out = add_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, row);

    add_if(b, 0, builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0), in, out);
}

static void make_while(struct builder *b, uint32_t condition, uint32_t body, const uint32_t *dims)
{
    const uint32_t inputs[] = {builder_subgraph(b, 0, condition), builder_subgraph(b, 0, body),
                               add_row(b, 0, NNHAL_SUBGRAPH_INPUT, dims),
                               add_row(b, 0, NNHAL_SUBGRAPH_INPUT, one)};
    const uint32_t outputs[] = {add_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, dims),
                                builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_WHILE, 4, inputs, 2, outputs);
}

static void make_loop(struct builder *b)
{
    make_while(b, add_condition(b, row, false), add_body(b, 1), row);
}

static void make_endless_loop(struct builder *b)
{
    make_while(b, add_condition(b, row, false), add_body(b, 0), row);
}

static void make_growing_loop(struct builder *b)
{
    make_while(b, add_condition(b, open_row, false), add_growing_body(b), open_row);
}

/* [row, count, flag] -> [tanh(row) or |row|, count + 1, not flag] */
static uint32_t add_choosing_body(struct builder *b)
{
    uint32_t graph = builder_add_graph(b), flag, out;
    uint32_t in = add_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t chosen = add_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, row);

    add_count(b, graph, 1);
    flag = builder_input(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    add_if(b, graph, flag, in, chosen);
    builder_operation(b, graph, NNHAL_OP_LOGICAL_NOT, 1, &flag, 1, &out);
    return graph;
}

static void make_nested(struct builder *b)
{
    const uint32_t inputs[] = {builder_subgraph(b, 0, add_condition(b, row, true)),
                               builder_subgraph(b, 0, add_choosing_body(b)),
                               add_row(b, 0, NNHAL_SUBGRAPH_INPUT, row),
                               add_row(b, 0, NNHAL_SUBGRAPH_INPUT, one),
                               builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0)};
    const uint32_t outputs[] = {add_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, row),
                                builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0),
                                builder_temporary(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_WHILE, 5, inputs, 3, outputs);
}

/* -- running it -------------------------------------------------------------------------- */

/* The row, then what else the model has: a count, a flag, or both. */
static void set_inputs(const struct builder *b, ANeuralNetworksExecution *execution,
                       const struct trial *trial)
{
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = row};

    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, trial->in, sizeof(trial->in)));
    for (uint32_t i = 1; i < b->graphs[0].n_inputs; i++) {
        bool is_flag = b->graphs[0].operands[b->graphs[0].inputs[i]].type == NNHAL_TENSOR_BOOL8;
        const void *data = is_flag ? (const void *)&trial->is_true : &trial->count;

        OK(ANeuralNetworksExecution_setInput(execution, (int32_t)i, NULL, data, is_flag ? 1 : 4));
    }
}

static void run(const struct builder *b, ANeuralNetworksCompilation *compilation,
                struct trial *trial)
{
    bool is_open = b->graphs[0].operands[b->graphs[0].outputs[0]].dimensions[0] == 0;
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    if (trial->loop_timeout_ns)
        OK(ANeuralNetworksExecution_setLoopTimeout(execution, trial->loop_timeout_ns));
    set_inputs(b, execution, trial);
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial->out,
                                          (is_open ? trial->n_out : N) * sizeof(float)));
    trial->result = ANeuralNetworksExecution_compute(execution);
    if (trial->result == ANEURALNETWORKS_NO_ERROR ||
        trial->result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
        ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &trial->n_dims0);
    ANeuralNetworksExecution_free(execution);
}

typedef void (*maker)(struct builder *b);

/* A model with a compilation for the first devices of a list, or for any (0). */
struct stand {
    struct builder b;
    struct split_models models;
    ANeuralNetworksCompilation *compilation;
};

static void stand_init(struct stand *stand, maker make, const char *rules, uint32_t n_devices)
{
    *stand = (struct stand){.compilation = NULL};
    builder_init(&stand->b, 1);
    make(&stand->b);
    split_rules("%s", rules);
    split_models_init(&stand->models, &stand->b, false);
    if (n_devices) {
        stand->compilation = split_compile(stand->models.graphs[0], n_devices);
        return;
    }
    OK(ANeuralNetworksCompilation_create(stand->models.graphs[0], &stand->compilation));
    OK(ANeuralNetworksCompilation_finish(stand->compilation));
}

static void stand_done(struct stand *stand)
{
    ANeuralNetworksCompilation_free(stand->compilation);
    split_models_done(&stand->models);
    builder_done(&stand->b);
}

static void run_on(maker make, const char *rules, uint32_t n_devices, struct trial *trial)
{
    struct stand stand;

    stand_init(&stand, make, rules, n_devices);
    run(&stand.b, stand.compilation, trial);
    stand_done(&stand);
}

static void check_same(maker make, const struct trial *given)
{
    struct trial alone = *given, shared = *given;

    run_on(make, " ", 1, &alone);
    run_on(make, SHARED, 2, &shared);
    ck_assert_int_eq(shared.result, alone.result);
    ck_assert_uint_eq(shared.n_dims0, alone.n_dims0);
    ck_assert_mem_eq(shared.out, alone.out, sizeof(alone.out));
}

/* -- tests -------------------------------------------------------------------------------- */

TEST(a_branch_is_computed_by_the_device_that_takes_it)
{
    struct trial trial = usual;

    for (trial.is_true = 0; trial.is_true < 2; trial.is_true++)
        check_same(make_if, &trial);
}
TEST_END

TEST(a_body_is_computed_by_two_devices)
{
    struct trial trial = usual;

    /* From as many rounds as there are to none. */
    for (trial.count = 0; trial.count <= ROUNDS; trial.count++)
        check_same(make_loop, &trial);
}
TEST_END

TEST(a_body_chooses_between_devices_in_each_round)
{
    struct trial trial = usual;

    for (trial.is_true = 0; trial.is_true < 2; trial.is_true++)
        check_same(make_nested, &trial);
}
TEST_END

TEST(what_a_loop_carries_grows)
{
    struct trial trial = usual;

    for (trial.count = 0; trial.count <= ROUNDS; trial.count++)
        check_same(make_growing_loop, &trial);
}
TEST_END

TEST(an_output_that_is_too_small_is_told_of)
{
    struct trial trial = usual;

    trial.n_out = 2 * N;
    run_on(make_growing_loop, SHARED, 2, &trial);
    ck_assert_int_eq(trial.result, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_uint_eq(trial.n_dims0, N << ROUNDS);
}
TEST_END

TEST(an_endless_loop_ends_with_its_timeout)
{
    struct trial trial = usual;

    trial.loop_timeout_ns = 10000000;
    run_on(make_endless_loop, SHARED, 2, &trial);
    ck_assert_int_eq(trial.result, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
}
TEST_END

/* An execution that is computed again keeps its places, and begins anew. */
TEST(a_loop_is_computed_again_with_other_numbers)
{
    ANeuralNetworksExecution *execution = NULL;
    struct trial trial = usual;
    struct stand stand;
    float first[N];

    stand_init(&stand, make_loop, SHARED, 2);
    OK(ANeuralNetworksExecution_create(stand.compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    set_inputs(&stand.b, execution, &trial);
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial.out, N * sizeof(float)));
    OK(ANeuralNetworksExecution_compute(execution));
    memcpy(first, trial.out, sizeof(first));
    trial.count = ROUNDS;
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(trial.out, trial.in, sizeof(trial.in));
    trial.count = 0;
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(trial.out, first, sizeof(first));
    ANeuralNetworksExecution_free(execution);
    stand_done(&stand);
}
TEST_END

/* Before it is compiled. */
static bool is_promised(struct builder *b)
{
    const ANeuralNetworksDevice *devices[] = {split_device("partial-0"), split_device("partial-1")};
    struct split_models models;
    bool supported = false;

    split_models_init(&models, b, false);
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(models.graphs[0], devices, 2,
                                                             &supported));
    split_models_done(&models);
    return supported;
}

TEST(what_devices_share_is_promised_and_nothing_else)
{
    struct builder b;

    builder_init(&b, 1);
    make_loop(&b);
    split_rules(SHARED);
    ck_assert(is_promised(&b));
    split_rules("0:only=TANH;1:only=ADD");
    ck_assert(!is_promised(&b));
    split_rules(SHARED);
    setenv("NNHAL_PARTITION", "off", 1);
    ck_assert(!is_promised(&b));
    builder_done(&b);
}
TEST_END

static uint64_t count_computed(const char *name)
{
    struct nnhal_device_counts counts = {.size = sizeof(counts)};

    OK(nnhal_device_get_counts(split_device(name), &counts));
    return counts.n_computed;
}

TEST(the_reference_computes_no_loop_that_devices_share)
{
    struct trial trial = usual;
    struct stand stand;

    stand_init(&stand, make_loop, UNASKED_OF SHARED, 0);
    run(&stand.b, stand.compilation, &trial);
    OK(trial.result);
    ck_assert_uint_eq(count_computed("nnapi-reference"), 0);
    ck_assert_uint_eq(count_computed("partial-0"), ROUNDS);
    stand_done(&stand);
}
TEST_END

/* Not prepared whole on the one device that there is, which takes no IF. */
TEST(one_device_computes_what_is_nested)
{
    struct trial trial = usual;
    struct stand stand;

    setenv("NNHAL_DEVICES", "partial-0", 1);
    stand_init(&stand, make_nested, "0:only=TANH+ADD+LESS+ABS+LOGICAL_NOT", 0);
    run(&stand.b, stand.compilation, &trial);
    OK(trial.result);
    ck_assert_uint_eq(count_computed("nnapi-reference"), 0);
    /* A body is more than one computation: what stands beside the IF, and a branch. */
    ck_assert_uint_ge(count_computed("partial-0"), ROUNDS + 1 + 2 * ROUNDS);
    stand_done(&stand);
}
TEST_END

TEST(a_condition_that_was_never_written_is_not_false)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *memory = NULL;
    struct trial trial = usual;
    struct stand stand;

    stand_init(&stand, make_if, SHARED, 2);
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, stand.compilation, 1, 1));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    OK(ANeuralNetworksExecution_create(stand.compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, trial.in, sizeof(trial.in)));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memory, 0, 0));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial.out, N * sizeof(float)));
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_OP_FAILED);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksMemoryDesc_free(desc);
    stand_done(&stand);
}
TEST_END

TEST(nothing_is_shared_if_the_user_says_so)
{
    const ANeuralNetworksDevice *devices[2];
    ANeuralNetworksCompilation *compilation = NULL;
    struct split_models models;
    struct builder b;

    builder_init(&b, 1);
    make_loop(&b);
    split_rules(SHARED);
    setenv("NNHAL_PARTITION", "off", 1);
    split_models_init(&models, &b, false);
    devices[0] = split_device("partial-0");
    devices[1] = split_device("partial-1");
    OK(ANeuralNetworksCompilation_createForDevices(models.graphs[0], devices, 2, &compilation));
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    builder_done(&b);
}
TEST_END

/* In a process of its own, which ends in its third computation. */
static void run_with_death(struct trial *trial)
{
    setenv("NNHAL_MODE", "private", 1);
    run_on(make_loop, SHARED ";0:die-at=3", 2, trial);
}

/* It is started again, and the round is computed again from what the one before has left. */
TEST(a_device_that_dies_in_round_three_is_asked_again)
{
    const uint32_t whole[] = {2};
    struct trial alone = usual, shared = usual;
    ANeuralNetworksCompilation *compilation;
    struct split_models models;
    struct builder b;

    run_with_death(&shared);
    OK(shared.result);
    builder_init(&b, 1);
    make_loop(&b);
    split_models_init(&models, &b, false);
    compilation = split_compile_on(models.graphs[0], 1, whole);
    run(&b, compilation, &alone);
    OK(alone.result);
    ck_assert_mem_eq(shared.out, alone.out, sizeof(alone.out));
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    builder_done(&b);
}
TEST_END

TEST(without_recovery_a_death_in_round_three_is_told_of)
{
    struct trial trial = usual;

    setenv("NNHAL_RECOVERY", "off", 1);
    run_with_death(&trial);
    ck_assert_int_eq(trial.result, ANEURALNETWORKS_DEAD_OBJECT);
}
TEST_END

CHECK_MAIN("control", a_branch_is_computed_by_the_device_that_takes_it,
           a_body_is_computed_by_two_devices, a_body_chooses_between_devices_in_each_round,
           what_a_loop_carries_grows, an_output_that_is_too_small_is_told_of,
           an_endless_loop_ends_with_its_timeout, a_loop_is_computed_again_with_other_numbers,
           what_devices_share_is_promised_and_nothing_else,
           the_reference_computes_no_loop_that_devices_share, one_device_computes_what_is_nested,
           a_condition_that_was_never_written_is_not_false, nothing_is_shared_if_the_user_says_so,
           a_device_that_dies_in_round_three_is_asked_again,
           without_recovery_a_death_in_round_three_is_told_of)
