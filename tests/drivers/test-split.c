/* SPDX-License-Identifier: Apache-2.0 */
/* What several devices compute together has the bits of what one computes alone. */
#include "cpu/random-model.h"
#include "drivers/split.h"
#include "support/threads.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SIDE = RANDOM_SMALL,
    MAX_BYTES = 4 * SIDE * SIDE * RANDOM_CHANNELS,
    ROUNDS = 150,
    N_DEVICES = 5,
    FIRST_ASYNCHRONOUS = 3, /* of the devices; the last one is, too */
    N_LOOPS = 3,            /* at most */
};

/* Accelerators, so slow that their branches are worth sharing. Some are asynchronous, some have memory of
 * their own. */
#define DEVICE_RULES                                                                               \
    "*:type=accelerator,time=900;"                                                                 \
    "1:buffers=100;2:buffers=100;3:async=1;4:async=1,buffers=100;"

struct results {
    uint8_t bytes[2][MAX_BYTES];
    uint32_t dims[2][4];
};

/* -- the end of a graph ---------------------------------------------------------- */

/* What output 0 of a random model goes through. A second input decides how. */
enum tail {
    TAIL_NONE,
    TAIL_IF,    /* which of two graphs */
    TAIL_WHILE, /* how often */
    TAIL_SLICE, /* the shape, which may be empty */
    TAIL_N,
};

/* Whether dimensions are left to the execution. */
static bool is_open(uint32_t seed)
{
    return seed % 3 == 0;
}

static enum tail choose_tail(uint32_t seed)
{
    return (enum tail)(seed / 3 % TAIL_N);
}

static uint32_t add_like(struct builder *b, uint32_t graph, const struct nnhal_operand *like,
                         uint32_t lifetime)
{
    struct builder_graph *g = &b->graphs[graph];
    uint32_t operand = builder_operand(b, graph, like->type, lifetime, like->n_dimensions,
                                       like->dimensions, like->scale, like->zero_point);

    if (lifetime == NNHAL_SUBGRAPH_INPUT)
        g->inputs[g->n_inputs++] = operand;
    if (lifetime == NNHAL_SUBGRAPH_OUTPUT)
        g->outputs[g->n_outputs++] = operand;
    return operand;
}

/* A graph of one operation on one tensor. */
static uint32_t add_branch(struct builder *b, uint32_t operation, const struct nnhal_operand *like)
{
    uint32_t graph = builder_add_graph(b);
    uint32_t in = add_like(b, graph, like, NNHAL_SUBGRAPH_INPUT);
    uint32_t out = add_like(b, graph, like, NNHAL_SUBGRAPH_OUTPUT);

    builder_operation(b, graph, operation, 1, &in, 1, &out);
    return graph;
}

static void add_if(struct builder *b, const struct nnhal_operand *like, uint32_t in, uint32_t out)
{
    static const uint32_t one[] = {1};
    const uint32_t inputs[] = {
        builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0),
        builder_subgraph(b, 0, add_branch(b, NNHAL_OP_RELU, like)),
        builder_subgraph(b, 0, add_branch(b, NNHAL_OP_HARD_SWISH, like)),
        in,
    };

    builder_operation(b, 0, NNHAL_OP_IF, 4, inputs, 1, &out);
}

/* [image, count] -> count < N_LOOPS */
static uint32_t add_condition(struct builder *b, const struct nnhal_operand *like)
{
    static const uint32_t one[] = {1};
    static const float limit = N_LOOPS;
    uint32_t graph = builder_add_graph(b), inputs[2], out;

    add_like(b, graph, like, NNHAL_SUBGRAPH_INPUT);
    inputs[0] = builder_input(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &limit, 4, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    builder_operation(b, graph, NNHAL_OP_LESS, 2, inputs, 1, &out);
    return graph;
}

/* [image, count] -> [image after one more HARD_SWISH, count + 1] */
static uint32_t add_body(struct builder *b, const struct nnhal_operand *like)
{
    static const uint32_t one[] = {1};
    static const float step = 1;
    uint32_t graph = add_branch(b, NNHAL_OP_HARD_SWISH, like), inputs[3], out;

    inputs[0] = builder_input(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &step, 4, 0);
    inputs[2] = builder_i32(b, graph, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    builder_operation(b, graph, NNHAL_OP_ADD, 3, inputs, 1, &out);
    return graph;
}

static void add_while(struct builder *b, const struct nnhal_operand *like, uint32_t in,
                      uint32_t out)
{
    static const uint32_t one[] = {1};
    const uint32_t count = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    const uint32_t inputs[] = {builder_subgraph(b, 0, add_condition(b, like)),
                               builder_subgraph(b, 0, add_body(b, like)), in, count};
    const uint32_t outputs[] = {out, builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_WHILE, 4, inputs, 2, outputs);
}

static void add_slice(struct builder *b, uint32_t in, uint32_t out)
{
    static const uint32_t four[] = {4};
    static const int32_t begins[4] = {0};
    const uint32_t inputs[] = {
        in, builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, four, 0, 0, begins, sizeof(begins), 0),
        builder_input(b, 0, NNHAL_TENSOR_INT32, 1, four, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_SLICE, 3, inputs, 1, &out);
}

/* Output 0 becomes what the tail and a RELU make of it. */
static void add_tail(struct builder *b, enum tail tail)
{
    struct builder_graph *graph = &b->graphs[0];
    uint32_t in = graph->outputs[0], between, out;
    struct nnhal_operand like = graph->operands[in];
    uint32_t dims[4];

    if (tail == TAIL_NONE)
        return;
    graph->operands[in].lifetime = NNHAL_TEMPORARY_VARIABLE;
    memcpy(dims, like.dimensions, sizeof(dims));
    if (tail == TAIL_SLICE)
        dims[1] = 0;
    like.dimensions = dims;
    between = add_like(b, 0, &like, NNHAL_TEMPORARY_VARIABLE);
    out = add_like(b, 0, &like, NNHAL_SUBGRAPH_OUTPUT);
    graph->outputs[0] = out;
    graph->n_outputs--;
    if (tail == TAIL_IF)
        add_if(b, &like, in, between);
    else if (tail == TAIL_WHILE)
        add_while(b, &like, in, between);
    else
        add_slice(b, in, between);
    builder_operation(b, 0, NNHAL_OP_RELU, 1, &between, 1, &out);
}

/* The second input of a model with a tail. Returns: its bytes. */
static size_t fill_decision(enum tail tail, uint32_t seed, void *ret)
{
    const float count = (float)(seed / 12 % (N_LOOPS + 2));
    const uint8_t truth = seed / 12 % 2;
    const int32_t sizes[4] = {-1, (int32_t)(seed / 12 % (SIDE + 1)), -1, -1};

    switch (tail) {
    case TAIL_IF:
        memcpy(ret, &truth, sizeof(truth));
        return sizeof(truth);
    case TAIL_WHILE:
        memcpy(ret, &count, sizeof(count));
        return sizeof(count);
    default:
        memcpy(ret, sizes, sizeof(sizes));
        return sizeof(sizes);
    }
}

/* -- running it --------------------------------------------------------------------- */

static uint32_t bytes_of(const struct builder *b, uint32_t operand)
{
    const struct nnhal_operand *o = &b->graphs[0].operands[operand];
    uint32_t n = o->type == NNHAL_TENSOR_FLOAT32 ? 4 : 1;

    for (uint32_t i = 0; i < o->n_dimensions; i++)
        n *= o->dimensions[i];
    return n;
}

static void fill_input(const struct builder *b, uint32_t seed, uint8_t *input)
{
    uint32_t n = bytes_of(b, b->graphs[0].inputs[0]);
    uint32_t type = b->graphs[0].operands[b->graphs[0].inputs[0]].type;

    for (uint32_t i = 0; i < n; i++)
        input[i] = (uint8_t)(builder_random(&seed) >> 7);
    for (uint32_t i = 0; type == NNHAL_TENSOR_FLOAT32 && i < n / 4; i++) {
        float x = builder_random_float(&seed, -2, 2);

        memcpy(input + 4 * (size_t)i, &x, 4);
    }
}

/* How an execution is started: they have the same results. */
enum way {
    WAY_COMPUTE,
    WAY_EVENT,
    WAY_BURST,
    WAY_TWICE,
    WAY_FENCED, /* behind a fence, everything in a memory */
    WAY_N,
};

static void run_way(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution *execution,
                    enum way way, struct results *ret)
{
    ANeuralNetworksEvent *event = NULL;
    ANeuralNetworksBurst *burst = NULL;

    switch (way) {
    case WAY_EVENT:
        OK(ANeuralNetworksExecution_startCompute(execution, &event));
        OK(ANeuralNetworksEvent_wait(event));
        ANeuralNetworksEvent_free(event);
        return;
    case WAY_BURST:
        OK(ANeuralNetworksBurst_create(compilation, &burst));
        OK(ANeuralNetworksExecution_burstCompute(execution, burst));
        ANeuralNetworksBurst_free(burst);
        return;
    case WAY_TWICE:
        OK(ANeuralNetworksExecution_compute(execution));
        memset(ret->bytes, 0xee, sizeof(ret->bytes));
        OK(ANeuralNetworksExecution_compute(execution));
        return;
    default:
        OK(ANeuralNetworksExecution_compute(execution));
    }
}

static void set_inputs(const struct builder *b, ANeuralNetworksExecution *execution, uint32_t seed,
                       uint8_t inputs[2][MAX_BYTES])
{
    const ANeuralNetworksOperandType type = split_input_type(b, 0);

    fill_input(b, seed, inputs[0]);
    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, inputs[0],
                                         bytes_of(b, b->graphs[0].inputs[0])));
    if (b->graphs[0].n_inputs > 1)
        OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, inputs[1],
                                             fill_decision(choose_tail(seed), seed, inputs[1])));
}

/* The rows of an execution in one memory. */
struct shared {
    ANeuralNetworksMemory *memory;
    uint8_t (*rows)[MAX_BYTES]; /* two inputs, two outputs */
};

static void shared_init(struct shared *shared)
{
    size_t n_bytes = 4 * sizeof(*shared->rows);
    int fd = memfd_create("rows", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    shared->rows = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(shared->rows, MAP_FAILED);
    memset(shared->rows, 0xee, n_bytes);
    OK(ANeuralNetworksMemory_createFromFd(n_bytes, PROT_READ | PROT_WRITE, fd, 0, &shared->memory));
    close(fd);
}

static void shared_done(struct shared *shared)
{
    ANeuralNetworksMemory_free(shared->memory);
    munmap(shared->rows, 4 * sizeof(*shared->rows));
}

static void set_shared(const struct builder *b, ANeuralNetworksExecution *execution, uint32_t seed,
                       const struct shared *shared)
{
    const ANeuralNetworksOperandType type = split_input_type(b, 0);

    fill_input(b, seed, shared->rows[0]);
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &type, shared->memory, 0,
                                                   bytes_of(b, b->graphs[0].inputs[0])));
    if (b->graphs[0].n_inputs > 1)
        OK(ANeuralNetworksExecution_setInputFromMemory(
            execution, 1, NULL, shared->memory, MAX_BYTES,
            fill_decision(choose_tail(seed), seed, shared->rows[1])));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t n_bytes = bytes_of(b, b->graphs[0].outputs[i]);

        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, (int32_t)i, NULL, shared->memory,
                                                        (2 + (size_t)i) * MAX_BYTES,
                                                        n_bytes ? n_bytes : MAX_BYTES));
    }
}

/* Launched before the fence that it waits for tells. */
static void start_behind_fence(ANeuralNetworksExecution *execution)
{
    int fence = eventfd(0, EFD_CLOEXEC);
    ANeuralNetworksEvent *before = NULL, *event = NULL;

    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fence, &before));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(
        execution, (const ANeuralNetworksEvent *const *)&before, 1, 0, &event));
    ck_assert_int_eq(eventfd_write(fence, 1), 0);
    OK(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(before);
    close(fence);
}

/* Shapes that only an execution tells have no fence: those are computed at once. */
static void run_fenced(const struct builder *b, ANeuralNetworksExecution *execution, uint32_t seed,
                       struct results *ret)
{
    struct shared shared;

    shared_init(&shared);
    set_shared(b, execution, seed, &shared);
    if (!is_open(seed) && choose_tail(seed) != TAIL_SLICE)
        start_behind_fence(execution);
    else
        OK(ANeuralNetworksExecution_compute(execution));
    memcpy(ret->bytes, shared.rows + 2, sizeof(ret->bytes));
    shared_done(&shared);
}

static void run_at_pointers(const struct builder *b, ANeuralNetworksCompilation *compilation,
                            ANeuralNetworksExecution *execution, enum way way, uint32_t seed,
                            struct results *ret)
{
    uint8_t inputs[2][MAX_BYTES];

    set_inputs(b, execution, seed, inputs);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t n_bytes = bytes_of(b, b->graphs[0].outputs[i]);

        OK(ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, ret->bytes[i],
                                              n_bytes ? n_bytes : MAX_BYTES));
    }
    run_way(compilation, execution, way, ret);
}

static void run(const struct builder *b, ANeuralNetworksCompilation *compilation, enum way way,
                uint32_t seed, struct results *ret)
{
    ANeuralNetworksExecution *execution = NULL;

    memset(ret, 0xee, sizeof(*ret));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    if (way == WAY_TWICE)
        OK(ANeuralNetworksExecution_setReusable(execution, true));
    if (way == WAY_FENCED)
        run_fenced(b, execution, seed, ret);
    else
        run_at_pointers(b, compilation, execution, way, seed, ret);
    for (uint32_t i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, (int32_t)i,
                                                               ret->dims[i]));
    ANeuralNetworksExecution_free(execution);
}

/* -- devices ---------------------------------------------------------------------------- */

/* Whether no device takes control flow, so that the runtime runs it and branches are dealt. */
static bool is_control_shared(uint32_t seed)
{
    return seed / 24 % 2;
}

/* Two or three of all, in any order. Each operation is dealt to one of them; some sets take others
 * as well, so that costs decide. */
static uint32_t choose_devices(uint32_t seed, uint32_t numbers[N_DEVICES])
{
    static const uint32_t more[] = {0, 0, 30, 70};
    uint32_t n = 2 + seed % 2, random = seed * 2654435761u + 1;
    char rules[256] = "";
    size_t length = 0;

    for (uint32_t i = 0; i < N_DEVICES; i++)
        numbers[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = i + builder_random(&random) % (N_DEVICES - i), number = numbers[j];

        numbers[j] = numbers[i];
        numbers[i] = number;
        length += (size_t)snprintf(rules + length, sizeof(rules) - length,
                                   "%u:deal=%u,turn=%u,seed=%u,more=%u%s;", number, n, i, seed,
                                   more[builder_random(&random) % 4],
                                   is_control_shared(seed) ? ",not=IF+WHILE" : "");
    }
    split_rules(DEVICE_RULES "%s", rules);
    return n;
}

/* What was seen of an execution. */
struct sight {
    uint32_t n_parts;
    uint32_t n_residents; /* values that stay in a device */
    bool was_line;        /* its parts started each other by fences */
};

/* Where a thread computes a part, its call takes longer than the driver says that it had it; of what a
 * fence has begun nothing but the latter is known. */
static bool was_line(const ANeuralNetworksCompilation *compilation, uint32_t n_parts)
{
    bool is_line = n_parts > 1;

    for (uint32_t i = 0; i < n_parts; i++) {
        struct nnhal_part_cost cost = {.size = sizeof(cost)};

        OK(nnhal_compilation_get_cost(compilation, i, &cost));
        is_line &= cost.n_computations == 1 && cost.launch_ns == 0;
    }
    return is_line;
}

/* What a device takes is asked once for a model: each compilation has models of its own. */
static struct sight compute(const struct builder *b, uint32_t n_devices, const uint32_t *numbers,
                            enum way way, uint32_t seed, struct results *ret)
{
    ANeuralNetworksCompilation *compilation;
    struct split_models models;
    struct sight sight;

    split_models_init(&models, b, is_open(seed));
    compilation = split_compile_on(models.graphs[0], n_devices, numbers);
    sight.n_parts = split_count_parts(compilation);
    sight.n_residents = split_count_residents(compilation);
    run(b, compilation, way, seed, ret);
    sight.was_line = was_line(compilation, sight.n_parts);
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    return sight;
}

/* What the deal came to. */
struct tally {
    uint32_t n_split;                /* graphs in several parts */
    uint32_t n_asynchronous_triples; /* behind fences */
    uint32_t n_residents;            /* values that stay in a device */
    uint32_t n_fenced;               /* behind fences, in several parts, of known shapes */
    uint32_t n_lines;                /* of these: most have outputs of an early part, too */
};

static bool is_asynchronous_triple(uint32_t n_devices, const uint32_t *numbers)
{
    bool is_there = false;

    for (uint32_t i = 0; i < n_devices; i++)
        is_there |= numbers[i] >= FIRST_ASYNCHRONOUS;
    return is_there && n_devices == 3;
}

static void check_bits(const struct results *expected, const struct results *got, uint32_t seed)
{
    ck_assert_msg(memcmp(expected, got, sizeof(*got)) == 0, "graph %u differs", seed);
}

static void compare(uint32_t seed, struct tally *tally)
{
    static const uint32_t plain = 0, asynchronous = FIRST_ASYNCHRONOUS;
    const struct random_choices choices = {.seed = seed};
    enum way way = (enum way)(seed / 2 % WAY_N);
    uint32_t n_devices, numbers[N_DEVICES] = {0};
    static struct results expected, got;
    struct sight sight;
    struct builder b;

    builder_init(&b, 1);
    random_model_make(&b, &choices, SIDE);
    add_tail(&b, choose_tail(seed));
    split_rules(DEVICE_RULES);
    compute(&b, 1, &plain, WAY_COMPUTE, seed, &expected);
    if (way == WAY_FENCED) {
        compute(&b, 1, &asynchronous, way, seed, &got);
        check_bits(&expected, &got, seed);
    }
    n_devices = choose_devices(seed, numbers);
    sight = compute(&b, n_devices, numbers, way, seed, &got);
    tally->n_split += sight.n_parts > 1;
    tally->n_fenced += way == WAY_FENCED && sight.n_parts > 1 && !is_open(seed);
    tally->n_lines += sight.was_line;
    tally->n_residents += sight.n_residents;
    tally->n_asynchronous_triples += way == WAY_FENCED &&
                                     is_asynchronous_triple(n_devices, numbers);
    check_bits(&expected, &got, seed);
    builder_done(&b);
}

TEST(random_graphs_split_at_random_have_the_same_bits)
{
    const char *text = getenv("NN_TEST_ROUNDS");
    uint32_t rounds = text ? (uint32_t)strtoul(text, NULL, 10) : ROUNDS;
    struct tally tally = {0};

    for (uint32_t seed = 0; seed < rounds; seed++)
        compare(seed, &tally);
    ck_assert_uint_gt(tally.n_split, rounds * 3 / 4);
    ck_assert_uint_gt(tally.n_asynchronous_triples, 0);
    ck_assert_uint_gt(tally.n_residents, 0);
    ck_assert_uint_gt(tally.n_fenced, 0);
    ck_assert_uint_ge(20 * tally.n_lines, tally.n_fenced);
    ck_assert_uint_gt(count_threads_of(getpid(), "fence-queue").n_threads, 0);
}
TEST_END

CHECK_MAIN("split", random_graphs_split_at_random_have_the_same_bits)
