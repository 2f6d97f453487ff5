/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: what goes in comes out, in one thread, two threads and two processes;
 * what a peer must not be able to do is in test-ring-hostile.c. */
#include "shm/ring.h"

#include "base/sanitized.h"
#include "base/sys.h"
#include "shm/evflag.h"
#include "support/check-main.h"
#include "support/fds.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOREVER    UINT64_MAX
#define N_STREAMED 20000

static struct nn_ring *new_ring(uint32_t n, uint32_t size, uint32_t flavour)
{
    struct nn_ring *ring = NULL;

    ck_assert_int_eq(nn_ring_new(n, size, flavour, NULL, &ring), 0);
    return ring;
}

static struct nn_ring *attach(const struct nn_ring *ring)
{
    struct nnhal_fmq_descriptor descriptor;
    struct nn_ring *attached = NULL;

    nn_ring_descriptor(ring, &descriptor);
    ck_assert_int_eq(nn_ring_attach(&descriptor, NULL, &attached), 0);
    return attached;
}

TEST(all_or_nothing_and_in_order)
{
    /* Capacities that are and are not powers of two; odd element sizes. */
    for (uint32_t capacity = 1; capacity <= 9; capacity++)
        for (uint32_t size = 1; size <= 25; size += 8) {
            struct nn_ring *ring = new_ring(capacity, size, NNHAL_FMQ_SYNCHRONIZED);
            uint8_t in[9 * 25], out[9 * 25], next_in = 0, next_out = 0;

            ck_assert_int_eq(nn_ring_read(ring, out, 1), NNHAL_FMQ_E_EMPTY);
            ck_assert_int_eq(nn_ring_write(ring, in, capacity + 1), NNHAL_FMQ_E_TOO_MANY);
            ck_assert_int_eq(nn_ring_read(ring, out, capacity + 1), NNHAL_FMQ_E_TOO_MANY);
            for (uint32_t round = 0; round < 40; round++) {
                uint32_t n = round % capacity + 1, n_free = capacity - n;

                for (uint32_t i = 0; i < n * size; i++)
                    in[i] = next_in++;
                ck_assert_int_eq(nn_ring_write(ring, in, n), 0);
                ck_assert_uint_eq(nn_ring_available_to_read(ring), n);
                ck_assert_uint_eq(nn_ring_available_to_write(ring), n_free);
                ck_assert_int_eq(nn_ring_write(ring, in, n_free + 1),
                                 n_free < capacity ? NNHAL_FMQ_E_FULL : NNHAL_FMQ_E_TOO_MANY);
                if (n < capacity)
                    ck_assert_int_eq(nn_ring_read(ring, out, n + 1), NNHAL_FMQ_E_EMPTY);
                ck_assert_int_eq(nn_ring_read(ring, out, n), 0);
                for (uint32_t i = 0; i < n * size; i++)
                    ck_assert_uint_eq(out[i], next_out++);
            }
            nn_ring_free(ring);
        }
}
TEST_END

TEST(transactions_have_two_spans_and_commit_in_part)
{
    struct nn_ring *ring = new_ring(5, 4, NNHAL_FMQ_SYNCHRONIZED);
    struct nnhal_fmq_transaction transaction;
    uint32_t values[5] = {1, 2, 3, 4, 5}, out[5];

    ck_assert_int_eq(nn_ring_write(ring, values, 3), 0);
    ck_assert_int_eq(nn_ring_read(ring, out, 3), 0);
    ck_assert_int_eq(nn_ring_begin_write(ring, 4, &transaction), 0);
    ck_assert_uint_eq(transaction.spans[0].n_elements, 2);
    ck_assert_uint_eq(transaction.spans[1].n_elements, 2);
    memcpy(transaction.spans[0].elements, values, 8);
    memcpy(transaction.spans[1].elements, values + 2, 8);
    ck_assert_uint_eq(nn_ring_available_to_read(ring), 0);
    ck_assert_int_eq(nn_ring_commit_write(ring, 5), -EINVAL);
    ck_assert_int_eq(nn_ring_commit_write(ring, 3), 0);
    ck_assert_int_eq(nn_ring_commit_write(ring, 1), -EINVAL); /* nothing is begun */
    ck_assert_int_eq(nn_ring_begin_read(ring, 3, &transaction), 0);
    ck_assert_uint_eq(transaction.spans[0].n_elements, 2);
    ck_assert_mem_eq(transaction.spans[1].elements, &values[2], 4);
    ck_assert_int_eq(nn_ring_commit_read(ring, 1), 0);
    ck_assert_int_eq(nn_ring_read(ring, out, 2), 0);
    ck_assert_uint_eq(out[0], 2);
    ck_assert_uint_eq(out[1], 3);
    nn_ring_free(ring);
}
TEST_END

TEST(a_refused_transaction_leaves_nothing_to_commit)
{
    struct nn_ring *ring = new_ring(4, 8, NNHAL_FMQ_SYNCHRONIZED);
    struct nnhal_fmq_transaction transaction;
    uint64_t values[4] = {1, 2, 3, 4};

    ck_assert_int_eq(nn_ring_begin_write(ring, 2, &transaction), 0);
    ck_assert_int_eq(nn_ring_begin_write(ring, 5, &transaction), NNHAL_FMQ_E_TOO_MANY);
    ck_assert_int_eq(nn_ring_commit_write(ring, 1), -EINVAL);
    ck_assert_int_eq(nn_ring_write(ring, values, 2), 0);
    ck_assert_int_eq(nn_ring_begin_read(ring, 2, &transaction), 0);
    ck_assert_int_eq(nn_ring_begin_read(ring, 3, &transaction), NNHAL_FMQ_E_EMPTY);
    ck_assert_int_eq(nn_ring_commit_read(ring, 1), -EINVAL);
    ck_assert_int_eq(nn_ring_begin_write(ring, 2, &transaction), 0);
    ck_assert_int_eq(nn_ring_begin_write(ring, 3, &transaction), NNHAL_FMQ_E_FULL);
    ck_assert_int_eq(nn_ring_commit_write(ring, 1), -EINVAL);
    ck_assert_uint_eq(nn_ring_available_to_read(ring), 2);
    nn_ring_free(ring);
}
TEST_END

TEST(unsynchronized_overwrites_and_says_so)
{
    struct nn_ring *ring = new_ring(4, 8, NNHAL_FMQ_UNSYNCHRONIZED);
    struct nn_ring *late = attach(ring), *later;
    uint64_t value, out[4];

    for (value = 0; value < 4; value++)
        ck_assert_int_eq(nn_ring_write(ring, &value, 1), 0);
    ck_assert_int_eq(nn_ring_read(ring, out, 2), 0);
    ck_assert_uint_eq(out[1], 1);
    for (; value < 7; value++)
        ck_assert_int_eq(nn_ring_write(ring, &value, 1), 0);
    ck_assert_int_eq(nn_ring_read(ring, out, 1), NNHAL_FMQ_E_OVERRUN); /* 2 is gone */
    ck_assert_int_eq(nn_ring_read(ring, out, 1), NNHAL_FMQ_E_EMPTY);
    later = attach(ring); /* begins with the oldest that is there */
    ck_assert_int_eq(nn_ring_read(later, out, 4), 0);
    ck_assert_uint_eq(out[0], 3);
    ck_assert_uint_eq(out[3], 6);
    ck_assert_int_eq(nn_ring_write(ring, &value, 1), 0);
    ck_assert_int_eq(nn_ring_read(ring, out, 1), 0); /* each reader has its own place */
    ck_assert_uint_eq(out[0], 7);
    ck_assert_int_eq(nn_ring_read(later, out, 1), 0);
    ck_assert_uint_eq(out[0], 7);
    ck_assert_int_eq(nn_ring_read(late, out, 1), NNHAL_FMQ_E_OVERRUN);
    nn_ring_free(ring);
    nn_ring_free(late);
    nn_ring_free(later);
}
TEST_END

TEST(an_overtaken_transaction_is_refused)
{
    struct nn_ring *writer = new_ring(4, 8, NNHAL_FMQ_UNSYNCHRONIZED);
    struct nn_ring *reader = attach(writer);
    struct nnhal_fmq_transaction transaction;
    uint64_t values[4] = {1, 2, 3, 4};

    ck_assert_int_eq(nn_ring_write(writer, values, 4), 0);
    ck_assert_int_eq(nn_ring_begin_read(reader, 2, &transaction), 0);
    /* Begun and not committed: write has not moved, the place is being changed. */
    ck_assert_int_eq(nn_ring_begin_write(writer, 1, &transaction), 0);
    ck_assert_int_eq(nn_ring_commit_read(reader, 2), NNHAL_FMQ_E_OVERRUN);
    /* Given up: the place stays spoiled, also for who writes elsewhere. */
    ck_assert_int_eq(nn_ring_begin_write(writer, 0, &transaction), 0);
    nn_ring_free(reader);
    reader = attach(writer);
    ck_assert_int_eq(nn_ring_read(reader, values, 4), NNHAL_FMQ_E_EMPTY);
    ck_assert_int_eq(nn_ring_read(reader, values, 3), 0);
    ck_assert_uint_eq(values[0], 2);
    nn_ring_free(reader);
    nn_ring_free(writer);
}
TEST_END

TEST(waits_end_at_their_deadline)
{
    struct nn_ring *ring = new_ring(1, 8, NNHAL_FMQ_SYNCHRONIZED);
    uint64_t value = 1, begin_ns;

    for (int spins = 0; spins < 2; spins++) {
        nn_ring_set_spin(ring, spins ? 1000000 : 0);
        begin_ns = nn_sys_now_ns();
        ck_assert_int_eq(nn_ring_read_blocking(ring, &value, 1, begin_ns + 5000000),
                         NNHAL_FMQ_E_TIMED_OUT);
        ck_assert_uint_ge(nn_sys_now_ns(), begin_ns + 5000000);
        ck_assert_int_eq(nn_ring_read_blocking(ring, &value, 1, 0), NNHAL_FMQ_E_TIMED_OUT);
    }
    ck_assert_int_eq(nn_ring_write(ring, &value, 1), 0);
    ck_assert_int_eq(nn_ring_write_blocking(ring, &value, 1, nn_sys_now_ns() + 5000000),
                     NNHAL_FMQ_E_TIMED_OUT);
    ck_assert_int_eq(nn_ring_read_blocking(ring, &value, 1, 0), 0); /* it is there */
    nn_ring_free(ring);
}
TEST_END

/* -- two threads, one mapping ---------------------------------------------- */

struct stream {
    struct nn_ring *ring;
    uint32_t n_at_once;
    int last; /* answer */
};

static void *write_stream(void *argument)
{
    struct stream *stream = argument;
    uint64_t values[8];

    for (uint64_t i = 0; i < N_STREAMED; i += stream->n_at_once) {
        for (uint32_t j = 0; j < stream->n_at_once; j++)
            values[j] = i + j;
        stream->last = nn_ring_write_blocking(stream->ring, values, stream->n_at_once, FOREVER);
        if (stream->last != 0)
            return NULL;
    }
    return NULL;
}

static void expect_stream(struct nn_ring *ring, uint32_t n_at_once)
{
    uint64_t values[8];

    for (uint64_t i = 0; i < N_STREAMED; i += n_at_once) {
        ck_assert_int_eq(nn_ring_read_blocking(ring, values, n_at_once, FOREVER), 0);
        for (uint32_t j = 0; j < n_at_once; j++)
            ck_assert_uint_eq(values[j], i + j);
    }
}

static void stream_between_threads(uint32_t capacity, uint32_t n_at_once, uint64_t spin_ns)
{
    struct stream stream = {.ring = new_ring(capacity, 8, NNHAL_FMQ_SYNCHRONIZED),
                            .n_at_once = n_at_once};
    pthread_t thread;

    nn_ring_set_spin(stream.ring, spin_ns);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_stream, &stream), 0);
    expect_stream(stream.ring, n_at_once);
    pthread_join(thread, NULL);
    ck_assert_int_eq(stream.last, 0);
    nn_ring_free(stream.ring);
}

TEST(threads_share_a_queue)
{
    stream_between_threads(1, 1, 0);
    stream_between_threads(7, 1, 0);
    stream_between_threads(7, 4, 0);
    stream_between_threads(8, 8, 2000);
}
TEST_END

static void *read_until_closed(void *argument)
{
    struct stream *stream = argument;
    uint64_t value;

    stream->last = nn_ring_read_blocking(stream->ring, &value, 1, FOREVER);
    return NULL;
}

/* A close may come at any moment. */
TEST(close_ends_a_wait)
{
    for (int round = 0; round < 300; round++) {
        struct stream stream = {.ring = new_ring(1, 8, NNHAL_FMQ_SYNCHRONIZED)};
        pthread_t thread;
        uint64_t value = 0;

        ck_assert_int_eq(pthread_create(&thread, NULL, read_until_closed, &stream), 0);
        for (int i = 0; i < round * 20; i++)
            __asm__ volatile("" ::: "memory");
        nn_ring_close(stream.ring);
        pthread_join(thread, NULL);
        ck_assert_int_eq(stream.last, NNHAL_FMQ_E_CLOSED);
        /* What is there can still be had. */
        ck_assert_int_eq(nn_ring_write_blocking(stream.ring, &value, 1, FOREVER), 0);
        ck_assert_int_eq(nn_ring_write_blocking(stream.ring, &value, 1, FOREVER),
                         NNHAL_FMQ_E_CLOSED);
        ck_assert_int_eq(nn_ring_read_blocking(stream.ring, &value, 1, FOREVER), 0);
        nn_ring_free(stream.ring);
    }
}
TEST_END

struct watcher {
    struct nn_ring *ring;
    uint64_t n_read;
    uint64_t n_overruns;
    bool is_torn;
};

/* Elements of four equal words, rising: a torn or repeated one is seen. */
static void *watch(void *argument)
{
    struct watcher *watcher = argument;
    uint64_t element[4], last = 0;
    int r;

    for (;;) {
        r = nn_ring_read_blocking(watcher->ring, element, 1, FOREVER);
        if (r == NNHAL_FMQ_E_OVERRUN) {
            watcher->n_overruns++;
            continue;
        }
        if (r != 0)
            return NULL;
        watcher->n_read++;
        for (int i = 1; i < 4; i++)
            watcher->is_torn |= element[i] != element[0];
        watcher->is_torn |= element[0] <= last;
        last = element[0];
        if (last == N_STREAMED)
            return NULL;
    }
}

TEST(readers_of_an_unsynchronized_queue_see_whole_elements)
{
    struct nn_ring *ring = new_ring(3, 32, NNHAL_FMQ_UNSYNCHRONIZED);
    struct watcher watchers[2] = {{.ring = attach(ring)}, {.ring = attach(ring)}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, watch, &watchers[i]), 0);
    for (uint64_t i = 1; i <= N_STREAMED; i++) {
        const uint64_t element[4] = {i, i, i, i};

        ck_assert_int_eq(nn_ring_write(ring, element, 1), 0);
    }
    for (int i = 0; i < 2; i++) {
        /* It may have been overtaken at the very end. */
        nn_ring_close(watchers[i].ring);
        pthread_join(threads[i], NULL);
        ck_assert(!watchers[i].is_torn);
        ck_assert_uint_gt(watchers[i].n_read + watchers[i].n_overruns, 0);
        nn_ring_free(watchers[i].ring);
    }
    nn_ring_free(ring);
}
TEST_END

/* -- several queues, one flag ---------------------------------------------- */

struct pair {
    struct nn_ring *rings[2];
};

static int either_can_be_read(void *ctx)
{
    struct pair *pair = ctx;

    return nn_ring_available_to_read(pair->rings[0]) || nn_ring_available_to_read(pair->rings[1]);
}

static void *write_to_both(void *argument)
{
    struct pair *pair = argument;

    for (uint64_t i = 0; i < 2000; i++)
        if (nn_ring_write_blocking(pair->rings[i % 2], &i, 1, FOREVER) != 0)
            return argument;
    return NULL;
}

TEST(one_thread_waits_for_two_queues)
{
    struct nn_evflag *flag = NULL, *same = NULL;
    struct pair pair, peer;
    uint64_t next[2] = {0, 1}, value;
    pthread_t thread;
    void *failed;

    ck_assert_int_eq(nn_evflag_new(&flag), 0);
    ck_assert_int_eq(nn_evflag_attach(nn_evflag_fd(flag), &same), 0);
    for (int i = 0; i < 2; i++) {
        struct nnhal_fmq_descriptor descriptor;

        ck_assert_int_eq(nn_ring_new(2, 8, NNHAL_FMQ_SYNCHRONIZED, flag, &pair.rings[i]), 0);
        nn_ring_descriptor(pair.rings[i], &descriptor);
        ck_assert_int_eq(nn_ring_attach(&descriptor, same, &peer.rings[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, write_to_both, &peer), 0);
    while (next[0] < 2000 || next[1] < 2000) {
        ck_assert_int_eq(nn_evflag_wait(flag, either_can_be_read, &pair, FOREVER), 0);
        for (int i = 0; i < 2; i++)
            while (nn_ring_read(pair.rings[i], &value, 1) == 0) {
                ck_assert_uint_eq(value, next[i]);
                next[i] += 2;
            }
    }
    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
    nn_evflag_close(flag);
    ck_assert_int_eq(nn_evflag_wait(flag, either_can_be_read, &pair, FOREVER), NNHAL_FMQ_E_CLOSED);
    for (int i = 0; i < 2; i++) {
        nn_ring_free(pair.rings[i]);
        nn_ring_free(peer.rings[i]);
    }
    nn_evflag_free(flag);
    nn_evflag_free(same);
}
TEST_END

/* -- two processes --------------------------------------------------------- */

TEST(processes_share_a_queue)
{
    struct nn_ring *ring = new_ring(5, 8, NNHAL_FMQ_SYNCHRONIZED);
    struct nnhal_fmq_descriptor descriptor;
    int status;
    pid_t child;

    nn_ring_descriptor(ring, &descriptor);
    child = fork();
    if (child == 0) {
        struct stream stream = {.n_at_once = 4};

        if (nn_ring_attach(&descriptor, NULL, &stream.ring) != 0)
            _exit(1);
        write_stream(&stream);
        _exit(stream.last ? 1 : 0);
    }
    ck_assert_int_gt(child, 0);
    expect_stream(ring, 4);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    nn_ring_free(ring);
}
TEST_END

/* A writer that dies at any moment: what it has committed is whole and in
 * order, and the reader's wait ends by the close. */
TEST(a_writer_that_is_killed_leaves_whole_elements)
{
    for (int round = 0; round < 20; round++) {
        struct nn_ring *ring = new_ring(5, 24, NNHAL_FMQ_SYNCHRONIZED);
        struct nnhal_fmq_descriptor descriptor;
        uint64_t element[3];
        pid_t child;
        int r;

        nn_ring_descriptor(ring, &descriptor);
        child = fork();
        if (child == 0) {
            struct nn_ring *own;

            if (nn_ring_attach(&descriptor, NULL, &own) != 0)
                _exit(1);
            for (uint64_t i = 0;; i++) {
                const uint64_t next[3] = {i, i, i};

                nn_ring_write_blocking(own, next, 1, FOREVER);
            }
        }
        ck_assert_int_gt(child, 0);
        for (uint64_t i = 0; i < 50 + (uint64_t)round * 7; i++) {
            ck_assert_int_eq(nn_ring_read_blocking(ring, element, 1, FOREVER), 0);
            ck_assert_uint_eq(element[2], i);
        }
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        nn_ring_close(ring);
        while ((r = nn_ring_read_blocking(ring, element, 1, FOREVER)) == 0)
            ck_assert(element[0] == element[1] && element[1] == element[2]);
        ck_assert_int_eq(r, NNHAL_FMQ_E_CLOSED);
        nn_ring_free(ring);
    }
}
TEST_END

TEST(a_forked_child_has_no_mapping)
{
    struct nn_ring *ring = new_ring(5, 8, NNHAL_FMQ_SYNCHRONIZED);
    size_t n_here = count_mappings("nnhal-fmq");
    int status;
    pid_t child;

    ck_assert_uint_eq(n_here, 1);
    child = fork();
    if (child == 0)
        _exit(count_mappings("nnhal-fmq") == 0 ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    nn_ring_free(ring);
}
TEST_END

TEST(nothing_is_left)
{
    size_t n_fds = count_fds(), n_mappings = count_mappings("memfd:"), n_used = 0;

    for (int i = 0; i < 2000; i++) {
        struct nn_ring *ring = new_ring(100, 48, NNHAL_FMQ_SYNCHRONIZED);
        struct nn_ring *attached = attach(ring);
        struct nn_evflag *flag = NULL;

        nn_ring_free(i % 2 ? ring : attached);
        nn_ring_free(i % 2 ? attached : ring);
        ck_assert_int_eq(nn_evflag_new(&flag), 0);
        nn_evflag_free(flag);
        if (i == 100)
            n_used = mallinfo2().uordblks;
    }
    if (!NN_IS_SANITIZED) /* they have allocators of their own, and find leaks themselves */
        ck_assert_uint_lt(mallinfo2().uordblks, n_used + 10000);
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(count_mappings("memfd:"), n_mappings);
}
TEST_END

CHECK_MAIN("ring", all_or_nothing_and_in_order, transactions_have_two_spans_and_commit_in_part,
           a_refused_transaction_leaves_nothing_to_commit, unsynchronized_overwrites_and_says_so,
           an_overtaken_transaction_is_refused, waits_end_at_their_deadline, threads_share_a_queue,
           close_ends_a_wait, readers_of_an_unsynchronized_queue_see_whole_elements,
           one_thread_waits_for_two_queues, processes_share_a_queue,
           a_writer_that_is_killed_leaves_whole_elements, a_forked_child_has_no_mapping,
           nothing_is_left)
