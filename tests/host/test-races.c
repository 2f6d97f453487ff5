/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that are freed while others use them: every call ends with a status that
 * makes sense, nothing is used after it is gone, nothing remains. */
#include "host/desk.h"

#include "base/fence.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <pthread.h>

enum {
    N_ROUNDS = 400,
};

static struct desk desk;
static uint64_t memory;
static uint64_t prepared, execution; /* atomic: change under everybody's feet */
static uint32_t is_over;

static uint64_t load(const uint64_t *id)
{
    return __atomic_load_n(id, __ATOMIC_SEQ_CST);
}

static bool over(void)
{
    return __atomic_load_n(&is_over, __ATOMIC_SEQ_CST) != 0;
}

/* Either it was there, or it was not any more. */
static void expect_either(uint32_t status)
{
    ck_assert_msg(status == NNHAL_NONE || status == NNHAL_INVALID_ARGUMENT, "status %u", status);
}

static void *execute_again_and_again(void *ctx)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    while (!over()) {
        struct nn_hal_execute_synchronously_args args = {
            .execution = load(&execution),
            .deadline_ns = NNHAL_NO_TIME,
            .loop_timeout_ns = NNHAL_NO_TIME,
        };
        struct nn_hal_execute_synchronously_reply reply;

        expect_either(nn_hal_execute_synchronously(desk.hal, &args, &reply, &arena));
        args.execution = 0;
        args.prepared_model = load(&prepared);
        args.request = desk.request;
        expect_either(nn_hal_execute_synchronously(desk.hal, &args, &reply, &arena));
        nn_arena_reset(&arena);
    }
    nn_arena_done(&arena);
    return NULL;
}

static void *fence_again_and_again(void *ctx)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    while (!over()) {
        const struct nn_hal_execute_fenced_args args = {
            .execution = load(&execution),
            .deadline_ns = NNHAL_NO_TIME,
            .loop_timeout_ns = NNHAL_NO_TIME,
            .timeout_after_fence_ns = NNHAL_NO_TIME,
        };
        struct nn_hal_free_fenced_callback_args free_args;
        struct nn_hal_free_fenced_callback_reply free_reply;
        struct nn_hal_execute_fenced_reply reply;
        uint32_t status = nn_hal_execute_fenced(desk.hal, &args, &reply, &arena);

        expect_either(status);
        if (status != NNHAL_NONE)
            continue;
        free_args.callback = reply.callback;
        nn_hal_free_fenced_callback(desk.hal, &free_args, &free_reply, &arena);
        ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), 0);
        close(reply.sync_fence);
        nn_arena_reset(&arena);
    }
    nn_arena_done(&arena);
    return NULL;
}

/* One generation: new ids take the place of the old ones, which are freed. */
static void replace(void)
{
    const struct nn_hal_prepare_model_args args = {.model = desk.maker.model,
                                                   .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_create_execution_args create_args = {.request = desk.request,
                                                       .loop_timeout_ns = NNHAL_NO_TIME};
    struct nn_hal_create_execution_reply create_reply;
    struct nn_hal_prepare_model_reply reply;
    uint64_t old_prepared, old_execution;

    ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    create_args.prepared_model = reply.prepared_model;
    ck_assert_uint_eq(nn_hal_create_execution(desk.hal, &create_args, &create_reply, &desk.arena),
                      NNHAL_NONE);
    old_prepared = __atomic_exchange_n(&prepared, reply.prepared_model, __ATOMIC_SEQ_CST);
    old_execution = __atomic_exchange_n(&execution, create_reply.execution, __ATOMIC_SEQ_CST);
    desk_free_prepared(&desk, old_prepared);
    desk_free_execution(&desk, old_execution);
    nn_arena_reset(&desk.arena);
}

static void begin(void)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    desk_formula(&desk, DIMS(4));
    desk_formula_request(&desk, memory, 16);
    fake.writes_nothing = true; /* outputs are shared by all threads here */
    replace();
}

TEST(freeing_races_executing)
{
    pthread_t threads[3];

    begin();
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL,
                                        i < 2 ? execute_again_and_again : fence_again_and_again,
                                        NULL),
                         0);
    for (int i = 0; i < N_ROUNDS; i++)
        replace();
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    desk_close(&desk);
    ck_assert_uint_eq(fake.n_prepared, N_ROUNDS + 1);
}
TEST_END

static void *execute_until_dead(void *ctx)
{
    struct nn_arena arena;
    uint32_t status;

    nn_arena_init(&arena, 0);
    do {
        const struct nn_hal_execute_synchronously_args args = {.execution = load(&execution),
                                                               .deadline_ns = NNHAL_NO_TIME};
        struct nn_hal_execute_synchronously_reply reply;

        status = nn_hal_execute_synchronously(desk.hal, &args, &reply, &arena);
        nn_arena_reset(&arena);
        ck_assert_msg(status == NNHAL_NONE || status == NNHAL_DEAD_OBJECT, "status %u", status);
    } while (status == NNHAL_NONE);
    nn_arena_done(&arena);
    return NULL;
}

TEST(cancelling_races_executing)
{
    pthread_t threads[3];

    begin();
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, execute_until_dead, NULL), 0);
    while (fake.n_executed < 100)
        sched_yield();
    nn_host_session_cancel(desk.hal);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    desk_close(&desk);
}
TEST_END

static void *open_and_close(void *ctx)
{
    for (int i = 0; i < 100; i++) {
        const struct nn_hal_get_device_info_args args = {0};
        struct nn_hal_get_device_info_reply reply;
        struct nn_arena arena;
        struct nn_hal *hal;

        nn_arena_init(&arena, 0);
        ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &hal), 0);
        ck_assert_uint_eq(nn_hal_get_device_info(hal, &args, &reply, &arena), NNHAL_NONE);
        nn_hal_close(hal);
        nn_arena_done(&arena);
    }
    return NULL;
}

TEST(sessions_come_and_go_on_many_threads)
{
    pthread_t threads[4];

    desk_open(&desk);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("races", freeing_races_executing, cancelling_races_executing,
           sessions_come_and_go_on_many_threads)
