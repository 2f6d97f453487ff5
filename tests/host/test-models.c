/* SPDX-License-Identifier: Apache-2.0 */
/* Models: what reaches a driver, and what stays of them. */
#include "host/desk.h"

#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <sys/mman.h>

static struct desk desk;

static uint32_t get_supported(const struct nnhal_model *model,
                              struct nn_hal_get_supported_operations_reply *reply)
{
    const struct nn_hal_get_supported_operations_args args = {.model = *model};
    uint32_t status = nn_hal_get_supported_operations(desk.hal, &args, reply, &desk.arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(*reply);
    return status;
}

TEST(supported_operations_are_ones_and_zeroes)
{
    struct nn_hal_get_supported_operations_reply reply;
    const struct nnhal_model *model;

    desk_open(&desk);
    model = desk_formula(&desk, DIMS(4));
    ck_assert_uint_eq(get_supported(model, &reply), NNHAL_NONE);
    ck_assert_uint_eq(reply.n_supported, 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(reply.supported[i], 1);
    fake.supported_status = NNHAL_DEVICE_UNAVAILABLE;
    ck_assert_uint_eq(get_supported(model, &reply), NNHAL_DEVICE_UNAVAILABLE);
    desk_close(&desk);
}
TEST_END

TEST(a_model_that_breaks_a_rule_reaches_no_driver)
{
    struct nn_hal_get_supported_operations_reply reply;
    uint64_t id;

    desk_open(&desk);
    desk_formula(&desk, DIMS(4));
    desk.maker.graphs[0].lists[0][0][0] = 77;
    ck_assert_uint_eq(get_supported(&desk.maker.model, &reply), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_try_prepare(&desk, &desk.maker.model, &id), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(fake.n_prepared, 0);
    desk_close(&desk);
}
TEST_END

TEST(preference_priority_and_deadline_are_checked)
{
    struct nn_hal_prepare_model_args args = {.deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_prepare_model_reply reply;

    desk_open(&desk);
    args.model = *desk_formula(&desk, DIMS(4));
    args.preference = 3;
    ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_INVALID_ARGUMENT);
    desk_expect_failure(reply);
    args.preference = NNHAL_SUSTAINED_SPEED;
    args.priority = 3;
    ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_INVALID_ARGUMENT);
    desk_expect_failure(reply);
    args.priority = NNHAL_PRIORITY_HIGH;
    args.deadline_ns = nn_sys_now_ns();
    ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_MISSED_DEADLINE_PERSISTENT);
    desk_expect_failure(reply);
    ck_assert_uint_eq(fake.n_prepared, 0);
    args.deadline_ns = NNHAL_NO_TIME;
    ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    ck_assert_uint_eq(fake.preference, NNHAL_SUSTAINED_SPEED);
    ck_assert_uint_eq(fake.priority, NNHAL_PRIORITY_HIGH);
    desk_close(&desk);
}
TEST_END

/* x + constant, the constant in a pool. */
static const struct nnhal_model *make_pooled(uint64_t pool)
{
    struct maker *maker = &desk.maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, c, none, z;

    maker_init(maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(4));
    c = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_CONSTANT_REFERENCE, DIMS(4));
    graph->operands[c].location = (struct nnhal_data_location){.offset = 8, .length = 16};
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(4));
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, c, none), 1, &z);
    maker->n_pools = 1;
    maker->pools[0] = pool;
    return maker_bind(maker);
}

static struct nnhal_mapped_pool seen_pool;

static void see_pool(const struct nnhal_prepare *prepare)
{
    ck_assert_uint_eq(prepare->model.n_pools, 1);
    seen_pool = prepare->model.pools[0];
}

TEST(pools_stay_mapped_while_the_prepared_model_lives)
{
    struct nn_hal_free_memory_args args;
    struct nn_hal_free_memory_reply reply;
    uint64_t memory, prepared;

    desk_open(&desk);
    memory = desk_memory(&desk, 24);
    memset(desk_bytes(&desk, memory), 9, 24);
    fake.on_prepare = see_pool;
    prepared = desk_prepare(&desk, make_pooled(memory));
    args.memory = memory;
    ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    ck_assert_uint_eq(seen_pool.size, 24);
    for (int i = 0; i < 24; i++)
        ck_assert_uint_eq(seen_pool.data[i], 9);
    desk_free_prepared(&desk, prepared);
    desk_close(&desk);
}
TEST_END

/* A file that its owner makes smaller during a preparation. */
static int shrinking_fd;

static void shrink_pool(const struct nnhal_prepare *prepare)
{
    ck_assert_int_eq(ftruncate(shrinking_fd, 0), 0);
    ck_assert_uint_eq(*(const volatile uint8_t *)prepare->model.pools[0].data, 0);
}

TEST(a_pool_that_shrinks_ends_the_preparation)
{
    const struct nn_host_session_options options = {.is_service = true};
    uint64_t pool, id;

    desk_open_with(&desk, &options);
    shrinking_fd = memfd_create("shrinking", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(shrinking_fd, 4096), 0);
    ck_assert_uint_eq(desk_import(&desk, shrinking_fd, NNHAL_MEMORY_ASHMEM, 0, 4096, 0, &pool),
                      NNHAL_NONE);
    fake.on_prepare = shrink_pool;
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(pool), &id), NNHAL_GENERAL_FAILURE);
    close(shrinking_fd);
    desk_close(&desk);
    ck_assert_uint_eq(fake.n_released, 1);
}
TEST_END

TEST(pools_that_cannot_hold_constants_are_refused)
{
    struct nn_hal_get_supported_operations_reply reply;
    int fd = memfd_create("pool", MFD_CLOEXEC);
    uint64_t small, buffer, unreadable, id;

    desk_open(&desk);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    small = desk_memory(&desk, 23);
    buffer = desk_buffer(&desk, 1024, 0);
    ck_assert_uint_eq(
        desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_WRITE, 4096, 0, &unreadable), NNHAL_NONE);
    close(fd);
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(12345), &id), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(small), &id), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(unreadable), &id),
                      NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(buffer), &id), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(get_supported(make_pooled(buffer), &reply), NNHAL_NONE);
    for (uint32_t i = 0; i < reply.n_supported; i++)
        ck_assert_uint_eq(reply.supported[i], 0);
    ck_assert_uint_eq(get_supported(make_pooled(12345), &reply), NNHAL_INVALID_ARGUMENT);
    make_pooled(small);
    desk.maker.model.n_pools = NNHAL_MAX_POOLS + 1;
    ck_assert_uint_eq(desk_try_prepare(&desk, &desk.maker.model, &id), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

/* The form of UNIDIRECTIONAL_SEQUENCE_LSTM that a client hands over though no
 * device executes it: a character per input, '-' one that is omitted. */
static void add_tolerated(struct maker_graph *graph)
{
    static const char inputs[] = "S-SSS-SSS----III--SZiffb----";
    uint32_t list[MAKER_LIST], n = 0, out;

    for (; inputs[n]; n++) {
        char type = inputs[n];

        list[n] = maker_operand(graph,
                                type == 'Z'   ? NNHAL_TENSOR_QUANT16_SYMM
                                : type == 'I' ? NNHAL_TENSOR_INT32
                                : type == 'i' ? NNHAL_INT32
                                : type == 'f' ? NNHAL_FLOAT32
                                : type == 'b' ? NNHAL_BOOL
                                              : NNHAL_TENSOR_QUANT8_ASYMM_SIGNED,
                                type == '-' ? NNHAL_NO_VALUE : NNHAL_SUBGRAPH_INPUT, 0, NULL);
    }
    out = maker_operand(graph, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, NNHAL_SUBGRAPH_OUTPUT, 0, NULL);
    maker_operation(graph, NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM, n, list, 1, &out);
}

TEST(what_no_device_executes_reaches_no_driver)
{
    struct nn_hal_get_supported_operations_reply reply;
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint64_t id;
    uint32_t x, z;

    desk_open(&desk);
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(4));
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(4));
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &z);
    add_tolerated(graph);
    ck_assert_uint_eq(get_supported(maker_bind(&desk.maker), &reply), NNHAL_NONE);
    ck_assert_uint_eq(reply.n_supported, 2);
    ck_assert_uint_eq(reply.supported[0], 1);
    ck_assert_uint_eq(reply.supported[1], 0);
    ck_assert_uint_eq(desk_try_prepare(&desk, &desk.maker.model, &id), NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(neither_does_control_flow_that_leads_there)
{
    struct nn_hal_get_supported_operations_reply reply;
    struct maker_graph *graph = &desk.maker.graphs[0], *branch = &desk.maker.graphs[1];
    uint32_t list[MAKER_LIST] = {0}, n = 0, out;
    uint64_t id;

    desk_open(&desk);
    maker_init(&desk.maker, 3);
    add_tolerated(branch);
    add_tolerated(&desk.maker.graphs[2]);
    list[n++] = maker_operand(graph, NNHAL_TENSOR_BOOL8, NNHAL_SUBGRAPH_INPUT, DIMS(1));
    list[n++] = maker_reference(graph, 0);
    list[n++] = maker_reference(graph, 1);
    for (uint32_t i = 0; i < branch->n_inputs; i++)
        list[n++] = maker_operand(graph, branch->operands[branch->inputs[i]].type,
                                  NNHAL_SUBGRAPH_INPUT, 0, NULL);
    out = maker_operand(graph, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, NNHAL_SUBGRAPH_OUTPUT, 0, NULL);
    maker_operation(graph, NNHAL_OP_IF, n, list, 1, &out);
    ck_assert_uint_eq(get_supported(maker_bind(&desk.maker), &reply), NNHAL_NONE);
    ck_assert_uint_eq(reply.supported[0], 0);
    ck_assert_uint_eq(desk_try_prepare(&desk, &desk.maker.model, &id), NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(a_driver_gets_nothing_newer_than_its_level)
{
    struct nn_hal_get_supported_operations_reply reply;
    const struct nnhal_model *model;
    uint64_t id;

    fake_reset();
    memset(&desk, 0, sizeof(desk));
    fake.driver.feature_level = NNHAL_FEATURE_LEVEL_1;
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &desk.host), 0);
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &desk.hal), 0);
    model = desk_formula(&desk, DIMS(4));
    ck_assert_uint_eq(desk_try_prepare(&desk, model, &id), NNHAL_NONE);
    desk.maker.graphs[0].operations[2].type = NNHAL_OP_ABS;
    ck_assert_uint_eq(desk_try_prepare(&desk, model, &id), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(get_supported(model, &reply), NNHAL_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(reply.message, "feature level 3"));
    desk_close(&desk);
}
TEST_END

TEST(models_are_charged_with_their_pools)
{
    const struct nn_host_session_options options = {.uid = 1, .limits = {.model_bytes = 8192}};
    uint64_t small, large, id;

    desk_open_with(&desk, &options);
    small = desk_memory(&desk, 4096);
    large = desk_memory(&desk, 8192);
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(large), &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    for (int i = 0; i < 3; i++) {
        id = desk_prepare(&desk, make_pooled(small));
        desk_free_prepared(&desk, id);
    }
    desk_prepare(&desk, make_pooled(small));
    ck_assert_uint_eq(desk_try_prepare(&desk, make_pooled(small), &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("models", supported_operations_are_ones_and_zeroes,
           a_model_that_breaks_a_rule_reaches_no_driver,
           preference_priority_and_deadline_are_checked,
           pools_stay_mapped_while_the_prepared_model_lives,
           a_pool_that_shrinks_ends_the_preparation, pools_that_cannot_hold_constants_are_refused,
           what_no_device_executes_reaches_no_driver, neither_does_control_flow_that_leads_there,
           a_driver_gets_nothing_newer_than_its_level, models_are_charged_with_their_pools)
