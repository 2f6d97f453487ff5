/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that write anything into a burst's queues: each packet gets
 * one answer, or the burst serves no more; nothing else is touched. */
#include "host/burst-line.h"

#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* Offsets of nnhal/fmq.h. */
#define WRITE      64
#define READ       128
#define GENERATION 192
#define WAITERS    196
#define ELEMENTS   256

static struct desk desk;
static struct line line, other; /* the other one notices nothing */
static uint64_t memory, prepared;

/* A model whose requests must say their inputs' shapes. */
static void begin(void)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(0, 0)));
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 2), memory, 0, 16);
    desk_input(&desk, DIMS(2, 2), memory, 16, 16);
    desk_output(&desk, 0, NULL, memory, 32, 16);
    line_open(&line, &desk, prepared, 256, 64);
    line_set_all(&line);
    line_open(&other, &desk, prepared, 64, 64);
    line_set_all(&other);
    line.measure = 1;
}

static void end(void)
{
    ck_assert_uint_eq(line_execute(&other), NNHAL_NONE);
    line_close(&line, true);
    line_close(&other, true);
    desk_close(&desk);
}

/* -- packets ------------------------------------------------------------------ */

/* What a validation suite of Android's puts into packets. */
static struct nnhal_fmq_request_datum bad_datum(uint32_t i)
{
    struct nnhal_fmq_request_datum datum = {.kind = i};

    switch (i) {
    case NNHAL_FMQ_REQUEST_PACKET_INFORMATION:
        datum.of.packet_information.packet_size = 10;
        datum.of.packet_information.n_inputs = 10;
        datum.of.packet_information.n_outputs = 10;
        datum.of.packet_information.n_pools = 10;
        break;
    case NNHAL_FMQ_REQUEST_INPUT_OPERAND_INFORMATION:
        datum.of.input_operand_information.n_dimensions = 10;
        break;
    case NNHAL_FMQ_REQUEST_OUTPUT_OPERAND_INFORMATION:
        datum.of.output_operand_information.n_dimensions = 10;
        break;
    case NNHAL_FMQ_REQUEST_POOL_IDENTIFIER:
        datum.of.pool_identifier.slot = INT32_MAX;
        break;
    case NNHAL_FMQ_REQUEST_MEASURE_TIMING:
        datum.of.measure_timing.measure = 1;
        break;
    default: /* dimensions of 0, and a kind that does not exist */
        break;
    }
    return datum;
}

#define N_BAD 8

static void expect_refused(struct nnhal_fmq_request_datum *data, uint32_t n_data)
{
    line.sequence++;
    for (uint32_t i = 0; i < n_data; i++)
        data[i].sequence = line.sequence;
    line_write(&line, data, n_data);
    line_receive(&line);
    ck_assert_uint_ne(line.result.status, NNHAL_NONE);
    line_expect_refusal(&line, line.result.status);
}

/* The packet with n_removed of its elements at i replaced by added (NULL: none). */
static uint32_t spoil(struct nnhal_fmq_request_datum *spoilt, uint32_t i, uint32_t n_removed,
                      const struct nnhal_fmq_request_datum *added)
{
    uint32_t n = 0;

    for (uint32_t j = 0; j < i; j++)
        spoilt[n++] = line.data[j];
    if (added)
        spoilt[n++] = *added;
    for (uint32_t j = i + n_removed; j < line.n_data; j++)
        spoilt[n++] = line.data[j];
    return n;
}

static bool is_same(const struct nnhal_fmq_request_datum *a,
                    const struct nnhal_fmq_request_datum *b)
{
    return a->kind == b->kind && memcmp(&a->of, &b->of, sizeof(a->of)) == 0;
}

/* Whether a good request in between still works, and only it was executed. */
static void expect_usable(uint32_t *n_executed)
{
    ck_assert_uint_eq(fake.n_executed, *n_executed);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_uint_eq(fake.n_executed, ++*n_executed);
}

TEST(every_mutation_is_refused_and_the_burst_stays_usable)
{
    struct nnhal_fmq_request_datum spoilt[64], bad;
    uint32_t n_mutations = 0, n_executed = 0;

    begin();
    expect_usable(&n_executed); /* so that the good one is remembered */
    for (uint32_t i = 0; i <= line.n_data; i++) {
        for (uint32_t b = 0; b < N_BAD; b++) {
            bad = bad_datum(b);
            expect_refused(spoilt, spoil(spoilt, i, 0, &bad));
            n_mutations++;
            if (i == line.n_data || is_same(&bad, &line.data[i]))
                continue;
            expect_refused(spoilt, spoil(spoilt, i, 1, &bad));
            n_mutations++;
        }
        if (i < line.n_data) {
            expect_refused(spoilt, spoil(spoilt, i, 1, NULL));
            n_mutations++;
        }
        expect_usable(&n_executed);
    }
    ck_assert_uint_gt(n_mutations, 150);
    end();
}
TEST_END

TEST(every_bit_of_every_element_is_judged)
{
    struct nnhal_fmq_request_datum spoilt[64];
    uint32_t n_well = 0;

    begin();
    line_pack(&line);
    for (uint32_t i = 0; i < line.n_data; i++)
        for (uint32_t bit = 0; bit < sizeof(spoilt[0]) * 8; bit++) {
            memcpy(spoilt, line.data, line.n_data * sizeof(spoilt[0]));
            ((uint8_t *)&spoilt[i])[bit / 8] ^= (uint8_t)(1 << bit % 8);
            line.sequence++;
            for (uint32_t j = 0; j < line.n_data; j++)
                spoilt[j].sequence = line.sequence;
            line_write(&line, spoilt, line.n_data);
            line_receive(&line);
            ck_assert_uint_eq(line.result.sequence, line.sequence);
            if (line.result.status == NNHAL_NONE)
                n_well++;
            else
                line_expect_refusal(&line, line.result.status);
        }
    /* Numbers, offsets within the memory, times and the measurement are free. */
    ck_assert_uint_gt(n_well, 32 * line.n_data);
    ck_assert_uint_lt(n_well, 32 * line.n_data + 3 * 64 + 200);
    end();
}
TEST_END

/* Also of a request that is remembered, which is compared and not decoded. */
TEST(what_no_kind_uses_is_0)
{
    struct nnhal_fmq_request_datum spoilt[64];
    uint32_t n_executed = 0, i = 0;

    begin();
    do {
        expect_usable(&n_executed);
        memcpy(spoilt, line.data, line.n_data * sizeof(spoilt[0]));
        spoilt[i].of.words[4] = 1;
        expect_refused(spoilt, line.n_data);
    } while (++i < line.n_data);
    end();
}
TEST_END

static uint64_t seed = 88172645463325252;

static uint32_t next_random(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32) % n;
}

/* Every run of elements with one number, of any content, has one answer. */
TEST(random_packets_in_flight_have_one_answer_each)
{
    enum { N_ROUNDS = 300, N_IN_FLIGHT = 5 };
    struct nnhal_fmq_request_datum spoilt[64];

    begin();
    line_pack(&line);
    for (int round = 0; round < N_ROUNDS; round++) {
        uint32_t first = line.sequence + 1, n = next_random(N_IN_FLIGHT) + 1;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t n_data = next_random(3) ? line.n_data : next_random(40) + 1;

            line.sequence++;
            for (uint32_t j = 0; j < n_data; j++)
                spoilt[j] =
                    line.data[next_random(5) && j < line.n_data ? j : next_random(line.n_data)];
            for (uint32_t k = next_random(4); k > 0; k--)
                ((uint32_t *)(void *)spoilt)[next_random(n_data * 12)] = next_random(UINT32_MAX);
            for (uint32_t j = 0; j < n_data; j++)
                spoilt[j].sequence = line.sequence;
            line_write(&line, spoilt, n_data);
        }
        for (uint32_t i = 0; i < n; i++) {
            line_receive(&line);
            ck_assert_uint_eq(line.result.sequence, first + i);
        }
        nn_arena_reset(&desk.arena);
    }
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(pieces_of_a_packet_are_no_packet)
{
    begin();
    line_pack(&line);
    for (uint32_t i = 0; i < line.n_data; i++)
        line.data[i].sequence = 5;
    line_write(&line, line.data, 2);
    line_receive(&line);
    ck_assert_uint_eq(line.result.sequence, 5);
    ck_assert_uint_eq(line.result.status, NNHAL_GENERAL_FAILURE);
    line_write(&line, line.data + 2, line.n_data - 2);
    line_receive(&line);
    ck_assert_uint_eq(line.result.status, NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

/* -- words --------------------------------------------------------------------- */

static void store64(uint8_t *bytes, size_t offset, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)(bytes + offset), value, __ATOMIC_SEQ_CST);
}

static uint32_t *word_at(uint8_t *bytes, size_t offset)
{
    return (uint32_t *)(void *)(bytes + offset);
}

/* Wakes the waiters, without a look whether there are any. */
static void wake(uint8_t *bytes)
{
    __atomic_add_fetch(word_at(bytes, GENERATION), 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word_at(bytes, GENERATION), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

TEST(an_impossible_counter_ends_its_burst_only)
{
    static const uint64_t counters[] = {UINT64_MAX, 1000000, UINT64_C(1) << 63};

    for (size_t i = 0; i < NN_N_ELEMENTS(counters); i++)
        for (int is_results = 0; is_results < 2; is_results++) {
            uint8_t *bytes;
            size_t n_threads = count_threads();

            begin();
            ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
            bytes = line_map_queue(is_results ? line.results : line.requests);
            store64(bytes, is_results ? READ : WRITE, counters[i]);
            if (is_results)
                for (int j = 0; j < 20; j++) /* until it looks at the counter */
                    line_send(&line);
            else
                wake(bytes);
            line_expect_threads(n_threads + 1); /* it serves no more, and says so */
            ck_assert_int_eq(nn_ring_read(line.results, line.answer, 1), NNHAL_FMQ_E_BROKEN);
            munmap(bytes, LINE_QUEUE_BYTES);
            end();
            line_expect_threads(n_threads);
        }
}
TEST_END

/* As if the page had been cleared: the client cannot know that there is a result. */
TEST(words_that_were_lost_are_written_again)
{
    uint64_t end_ns = nn_sys_now_ns() + UINT64_C(10000000000);
    uint64_t *write, before;
    uint8_t *bytes;

    begin();
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    bytes = line_map_queue(line.results);
    write = (uint64_t *)(void *)(bytes + WRITE);
    before = __atomic_exchange_n(write, 0, __ATOMIC_SEQ_CST);
    ck_assert_uint_gt(before, 0);
    nn_host_session_renew_bursts(desk.hal);
    while (__atomic_load_n(write, __ATOMIC_SEQ_CST) != before)
        ck_assert_uint_lt(nn_sys_now_ns(), end_ns);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    munmap(bytes, LINE_QUEUE_BYTES);
    end();
}
TEST_END

TEST(a_waiter_that_was_moved_away_still_ends)
{
    static uint32_t elsewhere;
    uint8_t *bytes;
    long n_moved = 0;

    begin();
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    bytes = line_map_queue(line.requests);
    for (int i = 0; i < 2000 && n_moved == 0; i++) {
        n_moved = syscall(SYS_futex, word_at(bytes, GENERATION), FUTEX_REQUEUE, 0,
                          (void *)(uintptr_t)INT_MAX, &elsewhere, 0);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    ck_assert_int_ge(n_moved, 0); /* 0: this kernel's futex_waitv is not moved, or not there */
    munmap(bytes, LINE_QUEUE_BYTES);
    end();
}
TEST_END

struct scribbler {
    pthread_t thread;
    uint8_t *bytes;
    _Atomic bool is_ending;
    bool on_elements;
    uint32_t n_bytes; /* of elements that are written to */
};

static void *scribble(void *ctx)
{
    struct scribbler *scribbler = ctx;
    uint64_t state = 1234567;

    while (!scribbler->is_ending) {
        state = state * 6364136223846793005 + 1442695040888963407;
        if (scribbler->on_elements)
            scribbler->bytes[ELEMENTS + (state >> 33) % scribbler->n_bytes] ^= (uint8_t)(state >>
                                                                                         20);
        else
            __atomic_store_n(word_at(scribbler->bytes, (state >> 40) % 2 ? WAITERS : GENERATION),
                             (uint32_t)(state >> 24), __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void start(struct scribbler *scribbler)
{
    scribbler->is_ending = false;
    ck_assert_int_eq(pthread_create(&scribbler->thread, NULL, scribble, scribbler), 0);
}

static void stop(struct scribbler *scribbler)
{
    scribbler->is_ending = true;
    pthread_join(scribbler->thread, NULL);
}

TEST(elements_that_change_while_they_are_read_do_no_harm)
{
    struct scribbler scribbler = {.on_elements = true};
    uint32_t n_answers = 0;

    begin();
    line_pack(&line);
    scribbler.bytes = line_map_queue(line.requests);
    scribbler.n_bytes = 3 * line.n_data * sizeof(line.data[0]);
    start(&scribbler);
    for (int i = 0; i < 2000; i++) {
        line_send(&line);
        /* Numbers change too, so that one packet may become several. */
        while (nn_ring_wait_to_read(line.results, 1, nn_sys_now_ns() + 1000000) == 0) {
            ck_assert_int_eq(nn_burst_receive_result(line.results, line.answer, &line.n_answer), 0);
            n_answers++;
            if (nn_ring_available_to_write(line.requests) == 256)
                break;
        }
    }
    stop(&scribbler);
    ck_assert_uint_ge(n_answers, 500);
    munmap(scribbler.bytes, LINE_QUEUE_BYTES);
    end();
}
TEST_END

/* Wake-ups may be lost then, but not the end. */
TEST(scribbled_words_do_not_hold_the_end_up)
{
    struct scribbler scribbler = {.on_elements = false};

    begin();
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    scribbler.bytes = line_map_queue(line.requests);
    start(&scribbler);
    for (int i = 0; i < 50; i++) {
        nn_ring_write(line.requests, line.data, line.n_data); /* unless it is full */
        wake(scribbler.bytes);
        nn_ring_wait_to_read(line.results, 1, nn_sys_now_ns() + 10000000);
    }
    ck_assert_uint_eq(line_execute(&other), NNHAL_NONE);
    line_close(&line, true); /* while it goes on */
    stop(&scribbler);
    munmap(scribbler.bytes, LINE_QUEUE_BYTES);
    line_close(&other, true);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("burst-hostile", every_mutation_is_refused_and_the_burst_stays_usable,
           every_bit_of_every_element_is_judged, what_no_kind_uses_is_0,
           random_packets_in_flight_have_one_answer_each, pieces_of_a_packet_are_no_packet,
           an_impossible_counter_ends_its_burst_only, words_that_were_lost_are_written_again,
           a_waiter_that_was_moved_away_still_ends,
           elements_that_change_while_they_are_read_do_no_harm,
           scribbled_words_do_not_hold_the_end_up)
