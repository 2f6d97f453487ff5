/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a burst and the host's, in one process: so that what both
 * cost together can be counted. */
#include "hal/burst.h"

#include "base/sys.h"
#include "host/desk.h"
#include "shm/spin.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"

#include <string.h>

struct pair {
    struct desk desk;
    struct nn_burst *burst;
    struct nn_burst_packet *packet;
    struct nn_arena arena;
    uint64_t memory;
    float *x, *y, *z;
};

static struct nn_burst *known; /* to the listener, as a session would */

static void get_memories(void *ctx, const struct nn_hal_get_memories_event *event)
{
    (void)ctx;
    ck_assert_uint_eq(event->burst, nn_burst_id(known));
    nn_burst_resend_memories(known, event->slots, event->n_slots);
}

static void pair_open(struct pair *pair)
{
    const struct nn_host_session_options options = {.listener = {.get_memories = get_memories}};
    const struct nn_burst_pack_options how = {false, NNHAL_NO_TIME};
    struct nn_burst_params params = {
        .n_request_elements = 64, .n_result_elements = 64, .spin_ns = NN_SPIN_UNLIMITED};
    static const uint32_t dimensions[] = {4};
    uint32_t status;

    *pair = (struct pair){.burst = NULL};
    desk_open_with(&pair->desk, &options);
    nn_arena_init(&pair->arena, 0);
    params.prepared_model = desk_prepare(&pair->desk, desk_formula(&pair->desk, 1, dimensions));
    pair->memory = desk_memory(&pair->desk, 4096);
    pair->x = desk_bytes(&pair->desk, pair->memory);
    pair->y = pair->x + 4;
    pair->z = pair->x + 8;
    desk_formula_request(&pair->desk, pair->memory, 16);
    ck_assert_int_eq(nn_burst_open(pair->desk.hal, &params, &status, &pair->burst), 0);
    known = pair->burst;
    ck_assert_int_eq(nn_burst_pack(pair->burst, &pair->desk.request, &how, &pair->packet), 0);
}

static void pair_close(struct pair *pair)
{
    nn_burst_packet_free(pair->packet);
    nn_burst_free(pair->burst, true);
    nn_arena_done(&pair->arena);
    desk_close(&pair->desk);
}

/* Makes no assertions: they take memory. */
static bool execute(struct pair *pair)
{
    struct nn_hal_execute_synchronously_reply reply = {0};
    uint32_t status = NNHAL_GENERAL_FAILURE;

    nn_arena_reset(&pair->arena);
    return nn_burst_execute(pair->burst, pair->packet, NNHAL_NO_TIME, &pair->arena, &status,
                            &reply) == 0 &&
           status == NNHAL_NONE && reply.n_output_shapes == 1;
}

TEST(a_steady_burst_costs_neither_side_memory_or_system_calls)
{
    const long many = 1000000;
    struct pair pair;
    bool is_well = true;

    setenv("NNHAL_BURST_SPIN_US", "1000000", 1);
    pair_open(&pair);
    for (int i = 0; i < 100; i++)
        ck_assert(execute(&pair));
    fail_alloc_arm(1);
    nn_sys_fault = many;
    for (int i = 0; i < 10000 && is_well; i++) {
        pair.x[0] = (float)i;
        is_well = execute(&pair) && pair.z[0] == pair.x[0];
    }
    ck_assert(fail_alloc_disarm());
    ck_assert_int_ge(nn_sys_fault, many - 100); /* a side that was put to sleep for 1 s waits */
    nn_sys_fault = 0;
    ck_assert(is_well);
    pair_close(&pair);
}
TEST_END

TEST(a_slot_that_the_device_lost_is_filled_again)
{
    struct pair pair;

    pair_open(&pair);
    for (int i = 0; i < 20; i++) {
        const struct nn_hal_free_burst_memory_args args = {nn_burst_id(pair.burst), 0};
        struct nn_hal_free_burst_memory_reply reply;

        pair.x[1] = (float)i;
        ck_assert(execute(&pair));
        ck_assert_float_eq(pair.z[1], pair.x[1]);
        ck_assert_uint_eq(nn_hal_free_burst_memory(pair.desk.hal, &args, &reply, &pair.desk.arena),
                          NNHAL_NONE);
    }
    pair_close(&pair);
}
TEST_END

TEST(what_is_new_in_a_memory_is_seen)
{
    struct pair pair;

    pair_open(&pair);
    for (int i = 0; i < 1000; i++) {
        for (int j = 0; j < 4; j++)
            pair.x[j] = (float)(i * 4 + j);
        ck_assert(execute(&pair));
        ck_assert_mem_eq(pair.z, pair.x, 16);
    }
    pair_close(&pair);
}
TEST_END

CHECK_MAIN("burst-client", a_steady_burst_costs_neither_side_memory_or_system_calls,
           a_slot_that_the_device_lost_is_filled_again, what_is_new_in_a_memory_is_seen)
