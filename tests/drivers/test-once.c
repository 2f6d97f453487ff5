/* SPDX-License-Identifier: Apache-2.0 */
/* Values of unknown size between devices: what a device has computed it is not asked for once more to
 * make room, wherever the size follows from something. */
#include "drivers/split.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The rows of MANY are larger than the room that a value of unknown size is given: 1 MiB and four times
 * as much as it is made of. */
enum { N = 4096, TIMES = 300, MANY = N * TIMES, ROUNDS = 9 };

/* The most that there is: a busy machine has to end the loop, too. */
#define LOOP_LIMIT_NS UINT64_C(15000000000)

static const uint32_t one[] = {1}, open_row[] = {0}, row[] = {N};

/* -- models ---------------------------------------------------------------------------------- */

static uint32_t add_times(struct builder *b, uint32_t graph, int32_t n)
{
    return builder_constant(b, graph, NNHAL_TENSOR_INT32, 1, one, 0, 0, &n, sizeof(n), 0);
}

/* The row TIMES times, or once. */
static uint32_t add_tiling(struct builder *b, int32_t n)
{
    uint32_t graph = builder_add_graph(b), inputs[2], out;

    inputs[0] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);
    inputs[1] = add_times(b, graph, n);
    out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, open_row);
    builder_operation(b, graph, NNHAL_OP_TILE, 2, inputs, 1, &out);
    return graph;
}

static void add_abs(struct builder *b, uint32_t in)
{
    uint32_t out = split_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, open_row);

    builder_operation(b, 0, NNHAL_OP_ABS, 1, &in, 1, &out);
}

/* [row, flag] -> the row TIMES times, or once */
static uint32_t add_if(struct builder *b, uint32_t lifetime)
{
    uint32_t chosen = split_row(b, 0, lifetime, open_row);
    uint32_t in = split_row(b, 0, NNHAL_SUBGRAPH_INPUT, row);
    const uint32_t inputs[] = {builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0),
                               builder_subgraph(b, 0, add_tiling(b, TIMES)),
                               builder_subgraph(b, 0, add_tiling(b, 1)), in};

    builder_operation(b, 0, NNHAL_OP_IF, 4, inputs, 1, &chosen);
    return chosen;
}

static void make_if(struct builder *b)
{
    add_if(b, NNHAL_SUBGRAPH_OUTPUT);
}

static void make_if_between(struct builder *b)
{
    add_abs(b, add_if(b, NNHAL_TEMPORARY_VARIABLE));
}

/* [row, count] -> count < ROUNDS */
static uint32_t add_condition(struct builder *b)
{
    static const float limit = ROUNDS;
    uint32_t graph = builder_add_graph(b), inputs[2], out;

    split_row(b, graph, NNHAL_SUBGRAPH_INPUT, open_row);
    inputs[0] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, one);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &limit, 4, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    builder_operation(b, graph, NNHAL_OP_LESS, 2, inputs, 1, &out);
    return graph;
}

/* [row, count] -> [row twice, count + 1] */
static uint32_t add_body(struct builder *b)
{
    static const float step = 1;
    uint32_t graph = builder_add_graph(b), inputs[3], out;

    inputs[0] = inputs[1] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, open_row);
    inputs[2] = builder_i32(b, graph, 0);
    out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, open_row);
    builder_operation(b, graph, NNHAL_OP_CONCATENATION, 3, inputs, 1, &out);
    inputs[0] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, one);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &step, 4, 0);
    out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, one);
    builder_operation(b, graph, NNHAL_OP_ADD, 3, inputs, 1, &out);
    return graph;
}

/* [row, count] -> the row twice as often in each round */
static void make_while(struct builder *b)
{
    uint32_t between = split_row(b, 0, NNHAL_TEMPORARY_VARIABLE, open_row);
    const uint32_t outputs[] = {between, split_row(b, 0, NNHAL_TEMPORARY_VARIABLE, one)};
    const uint32_t inputs[] = {builder_subgraph(b, 0, add_condition(b)),
                               builder_subgraph(b, 0, add_body(b)),
                               split_row(b, 0, NNHAL_SUBGRAPH_INPUT, open_row),
                               split_row(b, 0, NNHAL_SUBGRAPH_INPUT, one)};

    builder_operation(b, 0, NNHAL_OP_WHILE, 4, inputs, 2, outputs);
    add_abs(b, between);
}

/* [row, n] -> the row 2 * n times, and 2 * n */
static void make_doubled(struct builder *b)
{
    struct builder_graph *graph = &b->graphs[0];
    uint32_t in = split_row(b, 0, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t n = builder_input(b, 0, NNHAL_TENSOR_INT32, 1, one, 0, 0);
    uint32_t doubled = builder_temporary(b, 0, NNHAL_TENSOR_INT32, 1, one, 0, 0);
    uint32_t tiled = split_row(b, 0, NNHAL_TEMPORARY_VARIABLE, open_row);
    const uint32_t sum[] = {n, n, builder_i32(b, 0, 0)}, tile[] = {in, doubled};

    builder_operation(b, 0, NNHAL_OP_ADD, 3, sum, 1, &doubled);
    builder_operation(b, 0, NNHAL_OP_TILE, 2, tile, 1, &tiled);
    add_abs(b, tiled);
    graph->operands[doubled].lifetime = NNHAL_SUBGRAPH_OUTPUT;
    graph->outputs[graph->n_outputs++] = doubled;
}

/* -- running them ---------------------------------------------------------------------------- */

struct stand {
    struct builder b;
    struct split_models models;
    ANeuralNetworksCompilation *compilation;
    float in[N];
};

static void stand_init(struct stand *stand, void (*make)(struct builder *b), const char *rules)
{
    builder_init(&stand->b, 1);
    make(&stand->b);
    split_rules("%s", rules);
    split_models_init(&stand->models, &stand->b, false);
    stand->compilation = split_compile(stand->models.graphs[0], 2);
    for (uint32_t i = 0; i < N; i++)
        stand->in[i] = -(float)i;
}

static void stand_done(struct stand *stand)
{
    ANeuralNetworksCompilation_free(stand->compilation);
    split_models_done(&stand->models);
    builder_done(&stand->b);
}

static struct nnhal_device_counts count(const char *device)
{
    struct nnhal_device_counts counts = {.size = sizeof(counts)};

    OK(nnhal_device_get_counts(find_device(device), &counts));
    return counts;
}

/* An execution whose row has n_in floats of the stand's, and whose result has n_out. */
static ANeuralNetworksExecution *begin(struct stand *stand, uint32_t n_in, const void *second,
                                       size_t n_second, float *out, uint32_t n_out)
{
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n_in};
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(stand->compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, stand->in, n_in * sizeof(float)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, second, n_second));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, n_out * sizeof(float)));
    return execution;
}

static void check_row(const float *out, uint32_t n_in, uint32_t n_out)
{
    uint32_t n_right = 0;

    while (n_right < n_out && out[n_right] == (float)(n_right % n_in))
        n_right++;
    ck_assert_uint_eq(n_right, n_out);
}

/* -- tests ------------------------------------------------------------------------------------- */

static float result[2 * MANY];

TEST(a_branch_is_computed_once)
{
    const uint8_t truth = 1;
    ANeuralNetworksExecution *execution;
    struct stand stand;

    stand_init(&stand, make_if_between, "0:only=TILE;1:only=ABS");
    execution = begin(&stand, N, &truth, sizeof(truth), result, MANY);
    OK(ANeuralNetworksExecution_compute(execution));
    check_row(result, N, MANY);
    ck_assert_uint_eq(count("partial-0").n_computed, 1);
    ck_assert_uint_eq(count("partial-1").n_computed, 1);
    ck_assert_uint_eq(count("partial-0").n_short + count("partial-1").n_short, 0);
    ANeuralNetworksExecution_free(execution);
    stand_done(&stand);
}
TEST_END

/* An output of the application's that is too small is told of before anything is computed. */
TEST(a_branch_whose_output_is_too_small_is_not_computed)
{
    const uint8_t truth = 1;
    uint32_t n_dims0 = 0;
    ANeuralNetworksExecution *execution;
    struct stand stand;

    stand_init(&stand, make_if, "0:only=TILE;1:only=ABS");
    execution = begin(&stand, N, &truth, sizeof(truth), result, MANY - 1);
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution),
                     ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_int_eq(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &n_dims0),
                     ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_uint_eq(n_dims0, MANY);
    ck_assert_uint_eq(count("partial-0").n_computed + count("partial-0").n_short, 0);
    ANeuralNetworksExecution_free(execution);
    stand_done(&stand);
}
TEST_END

/* Each round needs more room than there is, and so does what the loop ends with. */
TEST(a_growing_loop_has_as_many_rounds_as_it_needs)
{
    const float none = 0;
    ANeuralNetworksExecution *execution;
    struct stand stand;

    stand_init(&stand, make_while, "0:only=CONCATENATION;1:only=ADD+LESS+ABS");
    execution = begin(&stand, N, &none, sizeof(none), result, N << ROUNDS);
    OK(ANeuralNetworksExecution_setLoopTimeout(execution, LOOP_LIMIT_NS));
    OK(ANeuralNetworksExecution_compute(execution));
    check_row(result, N, N << ROUNDS);
    ck_assert_uint_eq(count("partial-0").n_computed, ROUNDS);
    ck_assert_uint_eq(count("partial-1").n_computed, (ROUNDS + 1) + ROUNDS + 1);
    ck_assert_uint_eq(count("partial-0").n_short + count("partial-1").n_short, 0);
    ANeuralNetworksExecution_free(execution);
    stand_done(&stand);
}
TEST_END

static ANeuralNetworksMemory *make_memory(void)
{
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("doubled", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, sizeof(int32_t)), 0);
    OK(ANeuralNetworksMemory_createFromFd(sizeof(int32_t), PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    return memory;
}

static void run_doubled(struct stand *stand, int32_t n)
{
    ANeuralNetworksMemory *memory = make_memory();
    ANeuralNetworksExecution *execution = begin(stand, N, &n, sizeof(n), result, MANY * 2);

    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 1, NULL, memory, 0, sizeof(n)));
    OK(ANeuralNetworksExecution_compute(execution));
    check_row(result, N, 2 * N * (uint32_t)n);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
}

TEST(a_shape_is_read_where_the_application_wants_it)
{
    struct stand stand;

    stand_init(&stand, make_doubled, "0:only=ADD+ABS;1:only=TILE");
    run_doubled(&stand, TIMES);
    ck_assert_uint_eq(count("partial-1").n_computed, 1);
    ck_assert_uint_eq(count("partial-1").n_short, 0);
    stand_done(&stand);
}
TEST_END

/* Its device alone can tell how large a value is that follows from what it computes itself. */
TEST(the_size_of_a_value_is_not_forgotten)
{
    struct stand stand;

    stand_init(&stand, make_doubled, "0:only=ADD+TILE;1:only=ABS");
    run_doubled(&stand, 1);
    ck_assert_uint_eq(count("partial-0").n_short, 0);
    for (uint32_t i = 0; i < 3; i++)
        run_doubled(&stand, TIMES);
    ck_assert_uint_eq(count("partial-0").n_short, 1);
    ck_assert_uint_eq(count("partial-0").n_computed, 4);
    stand_done(&stand);
}
TEST_END

CHECK_MAIN("once", a_branch_is_computed_once, a_branch_whose_output_is_too_small_is_not_computed,
           a_growing_loop_has_as_many_rounds_as_it_needs,
           a_shape_is_read_where_the_application_wants_it, the_size_of_a_value_is_not_forgotten)
