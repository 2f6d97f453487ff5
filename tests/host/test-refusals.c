/* SPDX-License-Identifier: Apache-2.0 */
/* Why operations are not supported: what a driver says, and what the host has to say itself. */
#include "host/desk.h"

#include "hal/channel.h"
#include "hal/proxy.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/loopback.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_MANY 70

static struct desk desk;
static struct nn_hal_get_supported_operations_reply reply;

static void say(uint32_t operation, const char *text)
{
    fake_services()->refuse(fake_services()->ctx, operation, text);
}

static void ask_about(const struct nnhal_model *model)
{
    const struct nn_hal_get_supported_operations_args args = {.model = *model};

    ck_assert_uint_eq(nn_hal_get_supported_operations(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_NONE);
}

/* The sentence of an operation, NULL: it has none. */
static const char *find_reason(uint32_t i)
{
    ck_assert_uint_lt(i, reply.n_supported);
    ck_assert(reply.n_whys == reply.n_supported || reply.n_whys == 0);
    if (!reply.n_whys || !reply.whys[i])
        return NULL;
    ck_assert_uint_eq(reply.supported[i], 0);
    ck_assert_uint_le(reply.whys[i], reply.n_reasons);
    return reply.reasons[reply.whys[i] - 1].text;
}

/* The session as a client of this minor version of the wire has it. */
static void speak(uint32_t minor)
{
    struct nn_hal_channel *channel = loopback_channel(desk.hal, NULL);

    channel->minor = minor;
    ck_assert_int_eq(nn_hal_proxy_new(channel, &desk.hal), 0);
}

/* Operation 0 is supported, in spite of what is said of it. */
static void refuse_two(const struct nnhal_driver_model *model, uint8_t *supported)
{
    supported[1] = supported[2] = 0;
    say(0, "it is supported");
    say(1, "this is not the last word");
    say(1, "the filter is too large");
    say(3, "there is no such operation");
    say(UINT32_MAX, "nor this one");
}

static void expect_two(void)
{
    ck_assert_uint_eq(reply.n_supported, 3);
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 0, 0}), 3);
    ck_assert_ptr_null(find_reason(0));
    ck_assert_str_eq(find_reason(1), "the filter is too large");
    ck_assert_ptr_null(find_reason(2));
}

TEST(a_refusal_has_its_sentence)
{
    desk_open(&desk);
    fake.on_supported = refuse_two;
    ask_about(desk_formula(&desk, DIMS(4)));
    expect_two();
    speak(NN_HAL_MINOR);
    ask_about(desk_formula(&desk, DIMS(4)));
    expect_two();
    desk_close(&desk);
}
TEST_END

TEST(an_older_client_gets_what_it_knows)
{
    desk_open(&desk);
    fake.on_supported = refuse_two;
    speak(2);
    ask_about(desk_formula(&desk, DIMS(4)));
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 0, 0}), 3);
    ck_assert_uint_eq(reply.n_whys, 0);
    ck_assert_uint_eq(reply.n_reasons, 0);
    desk_close(&desk);
}
TEST_END

static void refuse_in_silence(const struct nnhal_driver_model *model, uint8_t *supported)
{
    supported[1] = 0;
    say(1, NULL);
    say(1, "");
}

TEST(a_driver_may_say_nothing)
{
    desk_open(&desk);
    fake.on_supported = refuse_in_silence;
    ask_about(desk_formula(&desk, DIMS(4)));
    ck_assert_uint_eq(reply.supported[1], 0);
    ck_assert_uint_eq(reply.n_whys, 0);
    ck_assert_uint_eq(reply.n_reasons, 0);
    desk_close(&desk);
}
TEST_END

static void refuse_in_prepare(const struct nnhal_prepare *prepare)
{
    say(1, "too late");
}

TEST(it_counts_while_the_driver_is_asked)
{
    desk_open(&desk);
    fake.on_prepare = refuse_in_prepare;
    desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    say(1, "too late");
    fake.on_supported = refuse_in_silence;
    ask_about(desk_formula(&desk, DIMS(4)));
    ck_assert_ptr_null(find_reason(1));
    desk_close(&desk);
}
TEST_END

/* -- bounds ------------------------------------------------------------------------ */

/* A row of RELUs: more of them than a maker has room for. */
static const struct nnhal_model *make_row(void)
{
    static const uint32_t dims[] = {2};
    static struct nnhal_operand operands[N_MANY + 1];
    static struct nnhal_operation operations[N_MANY];
    static uint32_t indexes[N_MANY + 1];
    static struct nnhal_model model;

    for (uint32_t i = 0; i <= N_MANY; i++) {
        indexes[i] = i;
        operands[i] = (struct nnhal_operand){.type = NNHAL_TENSOR_FLOAT32,
                                             .lifetime = i == 0        ? NNHAL_SUBGRAPH_INPUT
                                                         : i == N_MANY ? NNHAL_SUBGRAPH_OUTPUT
                                                                       : NNHAL_TEMPORARY_VARIABLE,
                                             .n_dimensions = 1,
                                             .dimensions = dims};
    }
    for (uint32_t i = 0; i < N_MANY; i++)
        operations[i] = (struct nnhal_operation){NNHAL_OP_RELU,  1, &indexes[i], 1, 0,
                                                 &indexes[i + 1]};
    model.main = (struct nnhal_subgraph){.n_operands = N_MANY + 1,
                                         .n_operations = N_MANY,
                                         .n_input_indexes = 1,
                                         .n_output_indexes = 1,
                                         .operands = operands,
                                         .operations = operations,
                                         .input_indexes = &indexes[0],
                                         .output_indexes = &indexes[N_MANY]};
    return &model;
}

static const char *number(uint32_t i)
{
    static char text[32];

    snprintf(text, sizeof(text), "reason %u", i);
    return text;
}

/* Each has one of its own, then the last of all has the first's. */
static void refuse_many(const struct nnhal_driver_model *model, uint8_t *supported)
{
    memset(supported, 0, N_MANY);
    for (uint32_t i = 0; i < N_MANY; i++)
        say(i, number(i));
    say(N_MANY - 1, number(0));
}

TEST(so_many_sentences_are_kept_and_no_more)
{
    desk_open(&desk);
    fake.on_supported = refuse_many;
    speak(NN_HAL_MINOR);
    ask_about(make_row());
    ck_assert_uint_eq(reply.n_reasons, NNHAL_MAX_REASONS);
    for (uint32_t i = 0; i < NNHAL_MAX_REASONS; i++)
        ck_assert_str_eq(find_reason(i), number(i));
    for (uint32_t i = NNHAL_MAX_REASONS; i < N_MANY - 1; i++)
        ck_assert_ptr_null(find_reason(i));
    ck_assert_str_eq(find_reason(N_MANY - 1), number(0));
    desk_close(&desk);
}
TEST_END

static char long_text[2 * NNHAL_MAX_REASON_BYTES];

static void refuse_at_length(const struct nnhal_driver_model *model, uint8_t *supported)
{
    supported[0] = supported[1] = 0;
    say(0, long_text);
    say(1, "a\nb\033[2Jc\xc2\x85"
           "d\xe2\x82"
           "e");
}

/* A character in the middle of the cut is left out. */
TEST(a_sentence_is_a_plain_line_of_bounded_length)
{
    desk_open(&desk);
    memset(long_text, 'x', sizeof(long_text) - 1);
    memcpy(long_text + NNHAL_MAX_REASON_BYTES - 2, "\xe2\x82\xac", 3);
    fake.on_supported = refuse_at_length;
    speak(NN_HAL_MINOR);
    ask_about(desk_formula(&desk, DIMS(4)));
    ck_assert_uint_eq(strlen(find_reason(0)), NNHAL_MAX_REASON_BYTES - 2);
    ck_assert_mem_eq(find_reason(0), long_text, NNHAL_MAX_REASON_BYTES - 2);
    ck_assert_str_eq(find_reason(1), "a b?[2Jc??d??e");
    desk_close(&desk);
}
TEST_END

/* -- the host's own ------------------------------------------------------------------ */

static uint32_t take_no_file(void *device, const struct nnhal_memory_handle *handle, void **ret)
{
    fake_services()->explain(fake_services()->ctx, "files are beyond this device");
    return NNHAL_GENERAL_FAILURE;
}

/* RELU of the input; the input and a constant of a pool added. */
static const struct nnhal_model *make_pooled(uint64_t pool)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint32_t x, c, none, y, z;

    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(4));
    c = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_CONSTANT_REFERENCE, DIMS(4));
    graph->operands[c].location = (struct nnhal_data_location){.offset = 8, .length = 16};
    none = maker_i32(&desk.maker, graph, NNHAL_FUSED_NONE);
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(4));
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(4));
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &y);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, c, none), 1, &z);
    desk.maker.n_pools = 1;
    desk.maker.pools[0] = pool;
    return maker_bind(&desk.maker);
}

TEST(constants_out_of_reach_are_the_reason)
{
    int fd = memfd_create("pool", MFD_CLOEXEC);
    uint64_t pool;

    fake_reset();
    fake.driver.import_memory = take_no_file;
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &desk.host), 0);
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &desk.hal), 0);
    nn_arena_init(&desk.arena, 0);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(
        desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 4096, 0, &pool),
        NNHAL_NONE);
    close(fd);
    ask_about(make_pooled(pool));
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 0}), 2);
    ck_assert_ptr_null(find_reason(0));
    ck_assert_ptr_nonnull(strstr(find_reason(1), "files are beyond this device"));
    desk_close(&desk);
}
TEST_END

/* An operation of an extension that the driver does not have. */
TEST(an_extension_that_the_driver_lacks_is_the_reason)
{
    static const struct nnhal_extension_prefix prefix = {.name = "com.example.absent", .prefix = 7};
    struct nnhal_model model;

    desk_open(&desk);
    model = *desk_formula(&desk, DIMS(4));
    desk.maker.graphs[0].operations[2].type = 7u << 16 | 1;
    model.n_extension_prefixes = 1;
    model.extension_prefixes = &prefix;
    ask_about(&model);
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 1, 0}), 3);
    ck_assert_ptr_null(find_reason(0));
    ck_assert_ptr_nonnull(strstr(find_reason(2), "extension"));
    desk_close(&desk);
}
TEST_END

/* -- what no execution can compute ------------------------------------------------------- */

/* y = RELU(x) of four; s = ADD(y, c, 0) of three more; t = ADD(y, x, 999); z = ADD(x, u, 0), u of a shape
 * that is not known; w = RELU(z). */
static const struct nnhal_model *make_impossible(void)
{
    static const float three[3];
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint32_t x, u, c, none, odd, y, s, t, z, w;

    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(4));
    u = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, 0, NULL);
    c = maker_constant(&desk.maker, graph, NNHAL_TENSOR_FLOAT32, three, sizeof(three), DIMS(3));
    none = maker_i32(&desk.maker, graph, NNHAL_FUSED_NONE);
    odd = maker_i32(&desk.maker, graph, 999);
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, 0, NULL);
    s = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, 0, NULL);
    t = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(4));
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, 0, NULL);
    w = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(5));
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &y);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(y, c, none), 1, &s);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(y, x, odd), 1, &t);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, u, none), 1, &z);
    maker_operation(graph, NNHAL_OP_RELU, 1, &z, 1, &w);
    return maker_bind(&desk.maker);
}

TEST(what_is_impossible_is_refused_in_the_name_of_a_driver_that_takes_all)
{
    desk_open(&desk);
    speak(NN_HAL_MINOR);
    ask_about(make_impossible());
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 0, 0, 1, 1}), 5);
    ck_assert_str_eq(find_reason(1), "ADD: the shapes of inputs 0 and 1 cannot be broadcast");
    ck_assert_str_eq(find_reason(2), "ADD: the fused activation is 999, it must be 0 to 3");
    desk_close(&desk);
}
TEST_END

static void refuse_the_impossible(const struct nnhal_driver_model *model, uint8_t *supported)
{
    supported[1] = supported[2] = 0;
    say(1, "three is an odd number");
}

TEST(a_driver_that_refuses_it_keeps_its_own_sentence)
{
    desk_open(&desk);
    fake.on_supported = refuse_the_impossible;
    ask_about(make_impossible());
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 0, 0, 1, 1}), 5);
    ck_assert_str_eq(find_reason(1), "three is an odd number");
    ck_assert_str_eq(find_reason(2), "ADD: the fused activation is 999, it must be 0 to 3");
    desk_close(&desk);
}
TEST_END

TEST(the_device_that_leaves_it_to_the_execution_takes_it)
{
    desk_open(&desk);
    nn_host_take_impossible(desk.host);
    ask_about(make_impossible());
    ck_assert_mem_eq(reply.supported, ((const uint8_t[]){1, 1, 1, 1, 1}), 5);
    ck_assert_uint_eq(reply.n_reasons, 0);
    desk_free_prepared(&desk, desk_prepare(&desk, make_impossible()));
    desk_close(&desk);
}
TEST_END

/* y = MEAN(x) of four by n axes, the last of which is there no more. */
static const struct nnhal_model *make_mean(uint32_t n)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    int32_t *axes = calloc(n, sizeof(*axes));
    const struct nnhal_model *model;
    uint32_t x, a, keep, y;

    axes[n - 1] = 1;
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(4));
    a = maker_constant(&desk.maker, graph, NNHAL_TENSOR_INT32, axes, n * sizeof(*axes), 1, &n);
    keep = maker_i32(&desk.maker, graph, 1);
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1));
    maker_operation(graph, NNHAL_OP_MEAN, DIMS(x, a, keep), 1, &y);
    model = maker_bind(&desk.maker);
    free(axes);
    return model;
}

/* A constant may be long, and read by thousands of operations: it is left to the execution then. */
TEST(long_constants_are_not_judged)
{
    desk_open(&desk);
    ask_about(make_mean(1000));
    ck_assert_uint_eq(reply.supported[0], 0);
    ask_about(make_mean(1025));
    ck_assert_uint_eq(reply.supported[0], 1);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("refusals", a_refusal_has_its_sentence, an_older_client_gets_what_it_knows,
           a_driver_may_say_nothing, it_counts_while_the_driver_is_asked,
           so_many_sentences_are_kept_and_no_more, a_sentence_is_a_plain_line_of_bounded_length,
           constants_out_of_reach_are_the_reason, an_extension_that_the_driver_lacks_is_the_reason,
           what_is_impossible_is_refused_in_the_name_of_a_driver_that_takes_all,
           a_driver_that_refuses_it_keeps_its_own_sentence,
           the_device_that_leaves_it_to_the_execution_takes_it, long_constants_are_not_judged)
