/* SPDX-License-Identifier: Apache-2.0 */
/* Slots, bursts and sessions that go while their burst executes: every request is
 * answered or its burst is gone, nothing is used after it is gone. */
#include "host/burst-line.h"

#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <pthread.h>

enum {
    N_ROUNDS = 300,
    N_IN_FLIGHT = 4,
};

static struct desk desk;
static struct line line;
static uint64_t memory, prepared;
static uint32_t is_over;

static bool over(void)
{
    return __atomic_load_n(&is_over, __ATOMIC_SEQ_CST) != 0;
}

static void begin(void)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    fake.writes_nothing = true; /* outputs are shared by all bursts here */
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
}

/* Calls of a thread of its own; the desk's arena is the main thread's. */
static void *replace_slot(void *ctx)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    while (!over()) {
        const struct nn_hal_free_burst_memory_args free_args = {.burst = line.burst};
        const struct nn_hal_set_burst_memory_args set_args = {.burst = line.burst,
                                                              .memory = memory};
        struct nn_hal_free_burst_memory_reply free_reply;
        struct nn_hal_set_burst_memory_reply set_reply;

        ck_assert_uint_eq(nn_hal_free_burst_memory(desk.hal, &free_args, &free_reply, &arena),
                          NNHAL_NONE);
        ck_assert_uint_eq(nn_hal_set_burst_memory(desk.hal, &set_args, &set_reply, &arena),
                          NNHAL_NONE);
        nn_arena_reset(&arena);
    }
    nn_arena_done(&arena);
    return NULL;
}

static void send_and_receive(void)
{
    for (int i = 0; i < N_IN_FLIGHT; i++)
        line_send(&line);
    for (int i = 0; i < N_IN_FLIGHT; i++) {
        line_receive(&line);
        ck_assert_msg(line.result.status == NNHAL_NONE ||
                          line.result.status == NNHAL_GENERAL_FAILURE, /* the slot was empty */
                      "status %u", line.result.status);
    }
    nn_arena_reset(&desk.arena);
}

TEST(slots_are_replaced_while_they_are_used)
{
    pthread_t thread;

    begin();
    line_pack(&line);
    ck_assert_int_eq(pthread_create(&thread, NULL, replace_slot, NULL), 0);
    for (int i = 0; i < N_ROUNDS; i++)
        send_and_receive();
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    line_close(&line, true);
    desk_close(&desk);
}
TEST_END

TEST(bursts_are_freed_while_they_execute)
{
    begin();
    for (int i = 0; i < N_ROUNDS; i++) {
        line_pack(&line);
        for (int j = 0; j < i % N_IN_FLIGHT; j++)
            line_send(&line);
        line_close(&line, true);
        line_open(&line, &desk, prepared, 64, 64);
        line_set_all(&line);
        nn_arena_reset(&desk.arena);
    }
    line_close(&line, true);
    desk_close(&desk);
}
TEST_END

TEST(sessions_end_while_their_bursts_execute)
{
    for (int i = 0; i < N_ROUNDS / 10; i++) {
        begin();
        line_pack(&line);
        for (int j = 0; j < i % N_IN_FLIGHT; j++)
            line_send(&line);
        if (i % 2)
            nn_host_session_cancel(desk.hal);
        desk_close(&desk);
        line_close(&line, false);
    }
}
TEST_END

CHECK_MAIN("burst-races", slots_are_replaced_while_they_are_used,
           bursts_are_freed_while_they_execute, sessions_end_while_their_bursts_execute)
