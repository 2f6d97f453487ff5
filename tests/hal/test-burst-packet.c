/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of bursts: what is encoded comes back; a packet with changed, removed or
 * added elements is refused, and the next packet of the same queue is whole. */
#include "hal/burst-packet.h"

#include "base/arena.h"
#include "shm/ring.h"
#include "support/check-main.h"

#include <stdint.h>
#include <string.h>

#define MAX_DATA 4000

struct made {
    struct nn_burst_request request;
    struct nnhal_request_argument arguments[2][40];
    struct nn_burst_pool pools[40];
    uint32_t dimensions[2][40][NNHAL_MAX_RANK];
};

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((random_state >> 33) % n);
}

static uint32_t make_arguments(struct made *made, int which)
{
    uint32_t n = random_below(6);

    for (uint32_t i = 0; i < n; i++) {
        struct nnhal_request_argument *argument = &made->arguments[which][i];

        *argument = (struct nnhal_request_argument){
            .has_no_value = random_below(2),
            .n_dimensions = random_below(4) ? random_below(5) : 0,
            .dimensions = made->dimensions[which][i],
            .location = {.pool_index = random_below(1000),
                         .offset = (uint64_t)random_below(UINT32_MAX) << 20,
                         .length = random_below(UINT32_MAX)},
        };
        for (uint32_t j = 0; j < argument->n_dimensions; j++)
            made->dimensions[which][i][j] = random_below(UINT32_MAX);
    }
    return n;
}

static void make_request(struct made *made, uint32_t sequence)
{
    made->request = (struct nn_burst_request){
        .sequence = sequence,
        .measure = random_below(2),
        .deadline_ns = random_below(2) ? NNHAL_NO_TIME : random_below(UINT32_MAX),
        .loop_timeout_ns = random_below(2) ? NNHAL_NO_TIME : random_below(UINT32_MAX),
        .n_inputs = make_arguments(made, 0),
        .n_outputs = make_arguments(made, 1),
        .n_pools = random_below(5),
        .inputs = made->arguments[0],
        .outputs = made->arguments[1],
        .pools = made->pools,
    };
    for (uint32_t i = 0; i < made->request.n_pools; i++) {
        bool is_token = random_below(3) == 0;

        made->pools[i].slot = is_token ? -1 : (int32_t)random_below(INT32_MAX);
        made->pools[i].token = is_token ? 1 + random_below(1000) : 0;
    }
}

static void expect_same_arguments(const struct nnhal_request_argument *a,
                                  const struct nnhal_request_argument *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_uint_eq(a[i].has_no_value, b[i].has_no_value);
        ck_assert_uint_eq(a[i].n_dimensions, b[i].n_dimensions);
        ck_assert_mem_eq(&a[i].location, &b[i].location, sizeof(a[i].location));
        if (a[i].n_dimensions)
            ck_assert_mem_eq(a[i].dimensions, b[i].dimensions, a[i].n_dimensions * 4U);
    }
}

TEST(requests_come_back)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    for (uint32_t i = 0; i < 3000; i++) {
        struct nnhal_fmq_request_datum data[MAX_DATA];
        struct nn_burst_request back;
        struct made made;
        uint32_t n;

        make_request(&made, i);
        ck_assert_int_eq(nn_burst_request_encode(&made.request, data, MAX_DATA, &n), 0);
        ck_assert_int_eq(nn_burst_request_encode(&made.request, data, n - 1, &n),
                         NN_BURST_E_TOO_LONG);
        ck_assert_int_eq(nn_burst_request_encode(&made.request, data, n, &n), 0);
        ck_assert_int_eq(nn_burst_request_decode(data, n, &arena, &back), 0);
        ck_assert_uint_eq(back.sequence, i);
        ck_assert_uint_eq(back.measure, made.request.measure);
        ck_assert_uint_eq(back.deadline_ns, made.request.deadline_ns);
        ck_assert_uint_eq(back.loop_timeout_ns, made.request.loop_timeout_ns);
        ck_assert_uint_eq(back.n_inputs, made.request.n_inputs);
        ck_assert_uint_eq(back.n_outputs, made.request.n_outputs);
        ck_assert_uint_eq(back.n_pools, made.request.n_pools);
        expect_same_arguments(back.inputs, made.request.inputs, back.n_inputs);
        expect_same_arguments(back.outputs, made.request.outputs, back.n_outputs);
        if (back.n_pools)
            ck_assert_mem_eq(back.pools, made.pools, back.n_pools * sizeof(made.pools[0]));
        nn_arena_reset(&arena);
    }
    nn_arena_done(&arena);
}
TEST_END

TEST(what_packets_have_no_place_for_is_not_sent)
{
    struct nnhal_fmq_request_datum data[MAX_DATA];
    struct nnhal_request_argument input = {0};
    struct nn_burst_request request = {.n_inputs = 1, .inputs = &input};
    uint32_t n;

    ck_assert_int_eq(nn_burst_request_encode(&request, data, MAX_DATA, &n), 0);
    input.location.padding = 1;
    ck_assert_int_eq(nn_burst_request_encode(&request, data, MAX_DATA, &n), NN_BURST_E_CANNOT);
    input.location.padding = 0;
    input.n_dimensions = NNHAL_MAX_RANK + 1;
    ck_assert_int_eq(nn_burst_request_encode(&request, data, MAX_DATA, &n), NN_BURST_E_CANNOT);
    request.n_inputs = 0;
    request.n_pools = NNHAL_MAX_POOLS + 1;
    ck_assert_int_eq(nn_burst_request_encode(&request, data, MAX_DATA, &n), NN_BURST_E_CANNOT);
}
TEST_END

/* -- changed packets --------------------------------------------------------- */

struct queue {
    struct nn_ring *ring;
    struct nn_arena arena;
    struct nnhal_fmq_request_datum received[MAX_DATA];
};

/* Sends elements and expects that what arrives is no request; then sends a whole
 * request behind it, which arrives. */
static void expect_refused(struct queue *queue, const struct nnhal_fmq_request_datum *data,
                           uint32_t n_data)
{
    struct nnhal_fmq_request_datum whole[MAX_DATA];
    struct nn_burst_request back;
    struct made made;
    uint32_t n, n_whole;

    make_request(&made, 1000);
    ck_assert_int_eq(nn_burst_request_encode(&made.request, whole, MAX_DATA, &n_whole), 0);
    if (n_data)
        ck_assert_int_eq(nn_ring_write(queue->ring, data, n_data), 0);
    ck_assert_int_eq(nn_ring_write(queue->ring, whole, n_whole), 0);
    for (;;) {
        int r;

        nn_arena_reset(&queue->arena);
        ck_assert_int_eq(nn_burst_receive_request(queue->ring, queue->received, &n), 0);
        r = nn_burst_request_decode(queue->received, n, &queue->arena, &back);
        if (r == 0)
            break;
        ck_assert_int_eq(r, NN_BURST_E_VIOLATION);
    }
    /* Only the last one was a request, and nothing of it went with the others. */
    ck_assert_uint_eq(back.sequence, 1000);
    ck_assert_uint_eq(n, n_whole);
    ck_assert_int_eq(nn_burst_receive_request(queue->ring, queue->received, &n), NN_BURST_E_EMPTY);
}

static struct nnhal_fmq_request_datum bad_datum(uint32_t which, uint32_t sequence)
{
    struct nnhal_fmq_request_datum datum = {.kind = which, .sequence = sequence};

    switch (which) {
    case 0:
        datum.of.packet_information.packet_size = 10;
        datum.of.packet_information.n_inputs = 10;
        datum.of.packet_information.n_outputs = 10;
        datum.of.packet_information.n_pools = 10;
        break;
    case 1:
    case 3:
        datum.of.input_operand_information.n_dimensions = 10;
        break;
    case 5:
        datum.of.pool_identifier.slot = INT32_MAX;
        break;
    case 6:
        datum.of.measure_timing.measure = 1;
        break;
    case 7: /* a kind that does not exist */
        datum.of.words[4] = 1;
        break;
    }
    return datum;
}

/* An ADD of two inputs, as the public test suite has it. */
static uint32_t make_add(struct nnhal_fmq_request_datum *data)
{
    const uint32_t dimensions[] = {2, 3};
    const struct nnhal_request_argument argument = {
        .n_dimensions = 2, .dimensions = dimensions, .location = {.length = 24}};
    const struct nnhal_request_argument arguments[] = {argument, argument};
    const struct nn_burst_pool pools[] = {{.slot = 0}, {.slot = -1, .token = 3}};
    const struct nn_burst_request request = {.sequence = 7,
                                             .n_inputs = 2,
                                             .n_outputs = 1,
                                             .n_pools = 2,
                                             .inputs = arguments,
                                             .outputs = arguments,
                                             .pools = pools};
    uint32_t n;

    ck_assert_int_eq(nn_burst_request_encode(&request, data, MAX_DATA, &n), 0);
    return n;
}

TEST(each_element_removed_added_or_changed_is_refused)
{
    struct nnhal_fmq_request_datum data[MAX_DATA], spoilt[MAX_DATA];
    struct queue queue;
    uint32_t n = make_add(data);

    nn_arena_init(&queue.arena, 0);
    ck_assert_int_eq(nn_ring_new(200, sizeof(data[0]), NNHAL_FMQ_SYNCHRONIZED, NULL, &queue.ring),
                     0);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(spoilt, data, i * sizeof(data[0]));
        memcpy(spoilt + i, data + i + 1, (n - i - 1) * sizeof(data[0]));
        expect_refused(&queue, spoilt, n - 1);
    }
    for (uint32_t i = 0; i <= n; i++)
        for (uint32_t which = 0; which < 8; which++) {
            memcpy(spoilt, data, i * sizeof(data[0]));
            spoilt[i] = bad_datum(which, 7);
            memcpy(spoilt + i + 1, data + i, (n - i) * sizeof(data[0]));
            expect_refused(&queue, spoilt, n + 1);
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t which = 0; which < 8; which++) {
            struct nnhal_fmq_request_datum datum = bad_datum(which, 7);

            /* Dimensions, slots and measuring of other values are requests. */
            if (datum.kind == data[i].kind && (which == 2 || which > 3))
                continue;
            memcpy(spoilt, data, n * sizeof(data[0]));
            spoilt[i] = datum;
            expect_refused(&queue, spoilt, n);
        }
    nn_ring_free(queue.ring);
    nn_arena_done(&queue.arena);
}
TEST_END

TEST(counts_are_held_against_the_packet_before_memory_is_taken)
{
    struct nnhal_fmq_request_datum data[2] = {{.kind = 0},
                                              {.kind = NNHAL_FMQ_REQUEST_MEASURE_TIMING}};
    uint32_t *counts[3] = {&data[0].of.packet_information.n_inputs,
                           &data[0].of.packet_information.n_outputs,
                           &data[0].of.packet_information.n_pools};
    struct nn_burst_request back;
    struct nn_arena arena;

    nn_arena_init(&arena, 4096);
    data[0].of.packet_information.packet_size = 2;
    ck_assert_int_eq(nn_burst_request_decode(data, 2, &arena, &back), 0);
    for (int i = 0; i < 3; i++)
        for (int bit = 2; bit < 32; bit++) {
            *counts[i] = UINT32_C(1) << bit;
            ck_assert_int_eq(nn_burst_request_decode(data, 2, &arena, &back), NN_BURST_E_VIOLATION);
            *counts[i] = 0;
        }
    ck_assert_int_eq(nn_burst_request_decode(data, 0, &arena, &back), NN_BURST_E_VIOLATION);
    nn_arena_done(&arena);
}
TEST_END

TEST(memory_may_be_exhausted)
{
    struct nnhal_fmq_request_datum data[MAX_DATA];
    struct nn_burst_request back;
    struct nn_arena arena;
    uint32_t n = make_add(data);

    nn_arena_init(&arena, 1);
    ck_assert_int_eq(nn_burst_request_decode(data, n, &arena, &back), NN_BURST_E_MEMORY);
    nn_arena_done(&arena);
}
TEST_END

TEST(several_requests_in_flight_and_more_than_1024_elements)
{
    static struct nnhal_fmq_request_datum data[MAX_DATA], received[MAX_DATA];
    static struct nnhal_request_argument inputs[1500];
    struct nn_burst_request request = {.n_inputs = 1500, .inputs = inputs}, back;
    struct nn_arena arena;
    struct nn_ring *ring;
    uint32_t n, n_received;

    nn_arena_init(&arena, 0);
    ck_assert_int_eq(nn_ring_new(MAX_DATA, sizeof(data[0]), NNHAL_FMQ_SYNCHRONIZED, NULL, &ring),
                     0);
    for (uint32_t i = 1; i <= 2; i++) {
        request.sequence = i;
        ck_assert_int_eq(nn_burst_request_encode(&request, data, MAX_DATA, &n), 0);
        ck_assert_uint_eq(n, 1502);
        ck_assert_int_eq(nn_ring_write(ring, data, n), 0);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        ck_assert_int_eq(nn_burst_receive_request(ring, received, &n_received), 0);
        ck_assert_uint_eq(n_received, n);
        ck_assert_int_eq(nn_burst_request_decode(received, n, &arena, &back), 0);
        ck_assert_uint_eq(back.sequence, i);
    }
    nn_ring_free(ring);
    nn_arena_done(&arena);
}
TEST_END

/* -- results ----------------------------------------------------------------- */

TEST(results_come_back_and_agree_with_their_status)
{
    const uint32_t dimensions[] = {4, 5, 6};
    const struct nnhal_output_shape shapes[] = {{1, 3, dimensions}, {0, 0, NULL}};
    struct nnhal_fmq_result_datum data[8], changed[8];
    struct nn_burst_result back;
    struct nn_arena arena;
    uint32_t n;

    nn_arena_init(&arena, 0);
    for (uint32_t status = 0; status <= NNHAL_DEAD_OBJECT + 1; status++) {
        bool is_shaped = status == NNHAL_NONE || status == NNHAL_OUTPUT_INSUFFICIENT_SIZE;
        struct nn_burst_result result = nn_burst_refusal(9, status);
        int r = nn_burst_result_encode(&result, data, NN_BURST_REFUSAL_ELEMENTS, &n);

        ck_assert_int_eq(r, status <= NNHAL_DEAD_OBJECT ? 0 : NN_BURST_E_CANNOT);
        result.n_output_shapes = 2;
        result.output_shapes = shapes;
        r = nn_burst_result_encode(&result, data, 8, &n);
        ck_assert_int_eq(r, is_shaped ? 0 : NN_BURST_E_CANNOT);
        if (!is_shaped)
            continue;
        ck_assert_uint_eq(n, 7);
        ck_assert_int_eq(nn_burst_result_encode(&result, changed, 6, &n), NN_BURST_E_TOO_LONG);
        ck_assert_int_eq(nn_burst_result_decode(data, 7, &arena, &back), 0);
        ck_assert_uint_eq(back.status, status);
        ck_assert_uint_eq(back.sequence, 9);
        ck_assert_uint_eq(back.output_shapes[0].dimensions[2], 6);
        ck_assert_uint_eq(back.output_shapes[1].is_sufficient, 0);
        /* Shapes with a status that has none; and any word or length changed. */
        memcpy(changed, data, sizeof(data));
        changed[0].of.packet_information.error_status = NNHAL_GENERAL_FAILURE;
        ck_assert_int_eq(nn_burst_result_decode(changed, 7, &arena, &back), NN_BURST_E_VIOLATION);
        for (uint32_t i = 0; i < 7; i++) {
            ck_assert_int_eq(nn_burst_result_decode(data, i, &arena, &back), NN_BURST_E_VIOLATION);
            memcpy(changed, data, sizeof(data));
            changed[i].of.words[2] = 1; /* used by none */
            ck_assert_int_eq(nn_burst_result_decode(changed, 7, &arena, &back),
                             NN_BURST_E_VIOLATION);
            changed[i] = data[i];
            changed[i].kind ^= 1;
            ck_assert_int_eq(nn_burst_result_decode(changed, 7, &arena, &back),
                             NN_BURST_E_VIOLATION);
        }
    }
    nn_arena_done(&arena);
}
TEST_END

CHECK_MAIN("burst-packet", requests_come_back, what_packets_have_no_place_for_is_not_sent,
           each_element_removed_added_or_changed_is_refused,
           counts_are_held_against_the_packet_before_memory_is_taken, memory_may_be_exhausted,
           several_requests_in_flight_and_more_than_1024_elements,
           results_come_back_and_agree_with_their_status)
