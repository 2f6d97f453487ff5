/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that lie: descriptors, counters, words, and waiters that are moved. */
#include "shm/ring.h"

#include "base/sys.h"
#include "shm/evflag.h"
#include "shm/region.h"
#include "support/check-main.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOREVER UINT64_MAX
#define SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Offsets of nnhal/fmq.h. */
#define WRITE      64
#define CLAIM      72
#define READ       128
#define GENERATION 192
#define WAITERS    196

struct stand {
    struct nn_ring *ring;
    struct nnhal_fmq_descriptor descriptor;
    uint8_t *bytes; /* what a peer sees */
};

static void setup(struct stand *stand, uint32_t n_elements, uint32_t flavour)
{
    ck_assert_int_eq(nn_ring_new(n_elements, 8, flavour, NULL, &stand->ring), 0);
    nn_ring_descriptor(stand->ring, &stand->descriptor);
    stand->bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, stand->descriptor.fd, 0);
    ck_assert_ptr_ne(stand->bytes, MAP_FAILED);
}

static void done(struct stand *stand)
{
    munmap(stand->bytes, 4096);
    nn_ring_free(stand->ring);
}

static void store64(struct stand *stand, size_t offset, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)(stand->bytes + offset), value, __ATOMIC_SEQ_CST);
}

static uint32_t load32(struct stand *stand, size_t offset)
{
    return __atomic_load_n((uint32_t *)(void *)(stand->bytes + offset), __ATOMIC_SEQ_CST);
}

/* -- descriptors ------------------------------------------------------------ */

static int try_attach(uint32_t n_elements, uint32_t element_size, uint32_t flavour, int fd)
{
    const struct nnhal_fmq_descriptor descriptor = {n_elements, element_size, flavour, fd};
    struct nn_ring *ring = NULL;
    int r = nn_ring_attach(&descriptor, NULL, &ring);

    nn_ring_free(ring);
    return r;
}

TEST(each_wrong_field_of_a_descriptor_is_refused)
{
    struct stand stand;
    int fd;

    setup(&stand, 16, NNHAL_FMQ_SYNCHRONIZED);
    fd = stand.descriptor.fd;
    ck_assert_int_eq(try_attach(16, 8, 1, fd), 0);
    ck_assert_int_eq(try_attach(0, 8, 1, fd), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(16, 0, 1, fd), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(16, 8, 0, fd), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(16, 8, 3, fd), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(16, 8, 1, -1), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(16, 8, 1, INT_MAX), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(1024, 8, 1, fd), NNHAL_FMQ_E_INVALID); /* beyond the file */
    ck_assert_int_eq(try_attach(UINT32_MAX, UINT32_MAX, 1, fd), NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(NNHAL_FMQ_MAX_ELEMENTS, NNHAL_FMQ_MAX_ELEMENT_BYTES, 1, fd),
                     NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(try_attach(UINT32_MAX, 1, 1, fd), NNHAL_FMQ_E_INVALID);
    ck_assert_uint_eq(NNHAL_FMQ_MAX_ELEMENTS, 1 << 24);
    ck_assert_uint_eq(NNHAL_FMQ_MAX_ELEMENT_BYTES, 64 << 10);
    ck_assert_uint_eq(NNHAL_FMQ_MAX_BYTES, 256 << 20);
    stand.bytes[0] ^= 1;
    ck_assert_int_eq(try_attach(16, 8, 1, fd), NNHAL_FMQ_E_INVALID);
    stand.bytes[0] ^= 1;
    stand.bytes[4] = 2;
    ck_assert_int_eq(try_attach(16, 8, 1, fd), NNHAL_FMQ_E_INVALID);
    done(&stand);
}
TEST_END

/* A memfd with a queue's beginning, so large, sealed so. */
static int make_memfd(size_t n_bytes, int seals)
{
    const uint32_t begin[2] = {0x514d464e, 1};
    int fd = memfd_create("peer", MFD_ALLOW_SEALING | MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, begin, sizeof(begin), 0), sizeof(begin));
    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static void expect_memfd(size_t n_bytes, int seals, int expected)
{
    int fd = make_memfd(n_bytes, seals);

    ck_assert_int_eq(try_attach(16, 8, 1, fd), expected);
    close(fd);
}

TEST(files_that_are_no_queue_are_refused)
{
    char path[64];
    int fd, pipes[2], readable;

    expect_memfd(4096, SEALS, 0);
    expect_memfd(4096, 0, NNHAL_FMQ_E_INVALID);
    expect_memfd(4096, F_SEAL_GROW | F_SEAL_SEAL, NNHAL_FMQ_E_INVALID);
    expect_memfd(4096, F_SEAL_SHRINK | F_SEAL_SEAL, NNHAL_FMQ_E_INVALID);
    expect_memfd(4096, F_SEAL_SHRINK | F_SEAL_GROW, NNHAL_FMQ_E_INVALID);
    expect_memfd(4096, SEALS | F_SEAL_WRITE, NNHAL_FMQ_E_INVALID);
    expect_memfd(4095, SEALS, NNHAL_FMQ_E_INVALID);
    expect_memfd(8192, SEALS, NNHAL_FMQ_E_INVALID);
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(try_attach(16, 8, 1, pipes[0]), NNHAL_FMQ_E_INVALID);
    close(pipes[0]);
    close(pipes[1]);
    fd = make_memfd(4096, SEALS);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    readable = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(readable, 0);
    ck_assert_int_eq(try_attach(16, 8, 1, readable), NNHAL_FMQ_E_INVALID);
    close(readable);
    close(fd);
    fd = memfd_create("peer", MFD_HUGETLB | MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, 2 << 20) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        ck_assert_int_eq(try_attach((2 << 20) / 8 - 32, 8, 1, fd), NNHAL_FMQ_E_INVALID);
    else
        puts("huge pages: not tried, this kernel has none");
    close(fd);
}
TEST_END

/* -- counters --------------------------------------------------------------- */

static const uint64_t bad_counters[] = {1, 5, 17, 100, UINT32_MAX, 1ULL << 63, UINT64_MAX};

TEST(a_reader_holds_the_writers_counter_against_the_queue)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(bad_counters); i++) {
        struct stand stand;
        uint64_t values[4] = {0};

        setup(&stand, 4, NNHAL_FMQ_SYNCHRONIZED);
        store64(&stand, WRITE, bad_counters[i]);
        if (bad_counters[i] <= 4) { /* possible: garbage, but no harm */
            ck_assert_int_eq(nn_ring_read(stand.ring, values, 1), 0);
            store64(&stand, WRITE, 0); /* and back is impossible */
        }
        ck_assert_int_eq(nn_ring_read(stand.ring, values, 1), NNHAL_FMQ_E_BROKEN);
        ck_assert_uint_eq(nn_ring_available_to_read(stand.ring), 0);
        store64(&stand, WRITE, 2); /* for good */
        ck_assert_int_eq(nn_ring_read(stand.ring, values, 1), NNHAL_FMQ_E_BROKEN);
        ck_assert_int_eq(nn_ring_read_blocking(stand.ring, values, 1, FOREVER), NNHAL_FMQ_E_BROKEN);
        done(&stand);
    }
}
TEST_END

TEST(a_writer_holds_the_readers_counter_against_its_own)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(bad_counters); i++) {
        struct stand stand;
        const uint64_t values[4] = {0};

        setup(&stand, 4, NNHAL_FMQ_SYNCHRONIZED);
        ck_assert_int_eq(nn_ring_write(stand.ring, values, 4), 0);
        store64(&stand, READ, bad_counters[i]);
        if (bad_counters[i] <= 4) {
            ck_assert_int_eq(nn_ring_write(stand.ring, values, 1), 0);
            store64(&stand, READ, 0);
        }
        ck_assert_int_eq(nn_ring_write(stand.ring, values, 4), NNHAL_FMQ_E_BROKEN);
        ck_assert_uint_eq(nn_ring_available_to_write(stand.ring), 0);
        ck_assert_int_eq(nn_ring_write_blocking(stand.ring, values, 1, FOREVER),
                         NNHAL_FMQ_E_BROKEN);
        done(&stand);
    }
}
TEST_END

/* Also where the counters are looked at for the first time by who asks how much there is. */
TEST(nothing_is_available_of_what_cannot_be)
{
    static const uint32_t flavours[] = {NNHAL_FMQ_SYNCHRONIZED, NNHAL_FMQ_UNSYNCHRONIZED};
    struct stand stand;
    uint64_t value;

    for (int i = 0; i < 2; i++) {
        setup(&stand, 16, flavours[i]);
        store64(&stand, WRITE, 17);
        ck_assert_uint_eq(nn_ring_available_to_read(stand.ring), 0);
        ck_assert_int_eq(nn_ring_read(stand.ring, &value, 1),
                         i == 0 ? NNHAL_FMQ_E_BROKEN : NNHAL_FMQ_E_OVERRUN);
        done(&stand);
    }
    setup(&stand, 16, NNHAL_FMQ_SYNCHRONIZED);
    value = 7;
    ck_assert_int_eq(nn_ring_write(stand.ring, &value, 1), 0);
    store64(&stand, READ, 2);
    ck_assert_uint_eq(nn_ring_available_to_write(stand.ring), 0);
    ck_assert_int_eq(nn_ring_write(stand.ring, &value, 1), NNHAL_FMQ_E_BROKEN);
    done(&stand);
}
TEST_END

TEST(ones_own_counter_is_never_taken_back_from_the_file)
{
    struct stand stand;
    uint64_t values[4] = {7, 8, 9, 10}, out[4];

    setup(&stand, 4, NNHAL_FMQ_SYNCHRONIZED);
    ck_assert_int_eq(nn_ring_write(stand.ring, values, 2), 0);
    ck_assert_int_eq(nn_ring_read(stand.ring, out, 1), 0);
    store64(&stand, READ, 1000);
    ck_assert_int_eq(nn_ring_read(stand.ring, out, 1), 0);
    ck_assert_uint_eq(out[0], 8);
    done(&stand);
}
TEST_END

TEST(a_queue_that_is_impossible_from_the_beginning_is_broken)
{
    struct stand stand;
    struct nn_ring *attached = NULL;
    uint64_t value = 0;

    setup(&stand, 4, NNHAL_FMQ_SYNCHRONIZED);
    store64(&stand, WRITE, 10);
    ck_assert_int_eq(nn_ring_attach(&stand.descriptor, NULL, &attached), 0);
    ck_assert_int_eq(nn_ring_read(attached, &value, 1), NNHAL_FMQ_E_BROKEN);
    ck_assert_int_eq(nn_ring_write(attached, &value, 1), NNHAL_FMQ_E_BROKEN);
    nn_ring_free(attached);
    done(&stand);
}
TEST_END

TEST(counters_of_an_unsynchronized_writer_may_say_anything)
{
    static const size_t offsets[] = {WRITE, CLAIM, READ};
    struct stand stand;
    uint64_t values[4] = {1, 2, 3, 4};

    setup(&stand, 4, NNHAL_FMQ_UNSYNCHRONIZED);
    for (size_t i = 0; i < NN_N_ELEMENTS(offsets) * NN_N_ELEMENTS(bad_counters); i++) {
        int r;

        store64(&stand, offsets[i % 3], bad_counters[i / 3]);
        ck_assert_uint_le(nn_ring_available_to_read(stand.ring), 4);
        r = nn_ring_read(stand.ring, values, (uint32_t)(i % 4 + 1));
        ck_assert(r == 0 || r == NNHAL_FMQ_E_EMPTY || r == NNHAL_FMQ_E_OVERRUN);
        ck_assert_int_eq(nn_ring_write(stand.ring, values, 4), 0);
    }
    done(&stand);
}
TEST_END

/* -- waits ------------------------------------------------------------------ */

struct waiting {
    struct nn_ring *ring;
    int answer;
};

static void *wait_to_read(void *argument)
{
    struct waiting *waiting = argument;
    uint64_t value;

    waiting->answer = nn_ring_read_blocking(waiting->ring, &value, 1, FOREVER);
    return NULL;
}

/* How many waiters of generation the peer can move to the word beside it. */
static long requeue_waiters(struct stand *stand)
{
    return syscall(SYS_futex, stand->bytes + GENERATION, FUTEX_REQUEUE, 0, (void *)(long)INT_MAX,
                   stand->bytes + GENERATION + 64, 0);
}

TEST(a_waiter_that_the_peer_has_moved_away_is_still_ended_by_close)
{
    struct stand stand;
    struct waiting waiting;
    pthread_t thread;

    setup(&stand, 4, NNHAL_FMQ_SYNCHRONIZED);
    waiting = (struct waiting){.ring = stand.ring};
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_to_read, &waiting), 0);
    while (requeue_waiters(&stand) < 1)
        sched_yield();
    /* Wakes of the shared word do not reach it any more. */
    ck_assert_int_eq(
        nn_sys_futex_wake((uint32_t *)(void *)(stand.bytes + GENERATION), INT_MAX, true), 0);
    nn_ring_close(stand.ring);
    pthread_join(thread, NULL);
    ck_assert_int_eq(waiting.answer, NNHAL_FMQ_E_CLOSED);
    done(&stand);
}
TEST_END

/* Without futex_waitv, a wait is short enough to see the close by itself. */
TEST(without_futex_waitv_a_close_is_seen_all_the_same)
{
    struct stand stand;
    struct waiting waiting;
    pthread_t thread;
    uint64_t value;

    setup(&stand, 4, NNHAL_FMQ_SYNCHRONIZED);
    nn_sys_fault_errno = ENOSYS;
    nn_sys_fault = 1;
    ck_assert_int_eq(nn_ring_read_blocking(stand.ring, &value, 1, nn_sys_now_ns() + 30000000),
                     NNHAL_FMQ_E_TIMED_OUT);
    ck_assert_int_eq(nn_sys_fault, 0);
    waiting = (struct waiting){.ring = stand.ring};
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_to_read, &waiting), 0);
    while (load32(&stand, WAITERS) == 0)
        sched_yield();
    nn_ring_close(stand.ring);
    pthread_join(thread, NULL);
    ck_assert_int_eq(waiting.answer, NNHAL_FMQ_E_CLOSED);
    done(&stand);
}
TEST_END

/* A peer whose words change whenever we have looked at them. */
struct restless {
    struct nn_evflag_words words;
    uint64_t limit_ns;
};

static int is_over(void *ctx)
{
    struct restless *restless = ctx;

    __atomic_add_fetch(&restless->words.generation, 1, __ATOMIC_SEQ_CST);
    return nn_sys_now_ns() >= restless->limit_ns;
}

TEST(a_generation_that_never_stays_does_not_move_a_deadline)
{
    struct restless restless = {.limit_ns = nn_sys_now_ns() + 10000000000};
    struct nn_evflag flag;

    nn_evflag_init(&flag, &restless.words);
    ck_assert_int_eq(nn_evflag_wait(&flag, is_over, &restless, nn_sys_now_ns() + 10000000),
                     NNHAL_FMQ_E_TIMED_OUT);
}
TEST_END

/* A peer that writes nonsense to every word all the time: each call returns
 * with one of its answers, and a close ends the last wait. */
static uint32_t peer_must_stop;

static void *scribble(void *argument)
{
    struct stand *stand = argument;
    uint64_t random = 1;

    while (!__atomic_load_n(&peer_must_stop, __ATOMIC_ACQUIRE)) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        __atomic_store_n((uint32_t *)(void *)(stand->bytes + GENERATION + random % 2 * 4),
                         (uint32_t)(random >> 32), __ATOMIC_SEQ_CST);
        store64(stand, random >> 40 & 1 ? WRITE : READ, random >> 60);
    }
    return NULL;
}

TEST(a_scribbling_peer_costs_its_own_queue)
{
    for (uint32_t flavour = 1; flavour <= 2; flavour++) {
        struct stand stand;
        struct waiting waiting;
        pthread_t peer, thread;
        uint64_t values[8] = {0};

        setup(&stand, 8, flavour);
        __atomic_store_n(&peer_must_stop, 0, __ATOMIC_RELEASE);
        ck_assert_int_eq(pthread_create(&peer, NULL, scribble, &stand), 0);
        for (uint32_t i = 0; i < 20000; i++) {
            int r = nn_ring_read(stand.ring, values, i % 8);

            ck_assert(r == 0 || r == NNHAL_FMQ_E_EMPTY || r == NNHAL_FMQ_E_BROKEN ||
                      r == NNHAL_FMQ_E_OVERRUN);
            r = nn_ring_write(stand.ring, values, i % 8);
            ck_assert(r == 0 || r == NNHAL_FMQ_E_FULL || r == NNHAL_FMQ_E_BROKEN);
        }
        waiting = (struct waiting){.ring = stand.ring};
        ck_assert_int_eq(pthread_create(&thread, NULL, wait_to_read, &waiting), 0);
        nn_ring_close(stand.ring);
        pthread_join(thread, NULL);
        __atomic_store_n(&peer_must_stop, 1, __ATOMIC_RELEASE);
        pthread_join(peer, NULL);
        done(&stand);
    }
}
TEST_END

/* -- failures --------------------------------------------------------------- */

TEST(every_system_call_may_fail)
{
    struct nnhal_fmq_descriptor descriptor;
    struct nn_ring *ring = NULL, *attached = NULL;
    struct nn_evflag *flag = NULL;
    int r = -1;

    nn_sys_fault_errno = ENOMEM;
    for (long n = 1; r != 0; n++) {
        nn_sys_fault = n;
        r = nn_ring_new(4, 8, NNHAL_FMQ_SYNCHRONIZED, NULL, &ring);
        ck_assert(r == 0 || r == -ENOMEM);
        ck_assert_int_lt(n, 10);
    }
    nn_sys_fault = 1;
    nn_ring_descriptor(ring, &descriptor);
    ck_assert_int_eq(nn_ring_attach(&descriptor, NULL, &attached), -ENOMEM);
    nn_sys_fault = 1;
    ck_assert_int_eq(nn_evflag_new(&flag), -ENOMEM);
    nn_sys_fault = 0;
    ck_assert_ptr_null(attached);
    ck_assert_ptr_null(flag);
    ck_assert_int_eq(nn_evflag_attach(descriptor.fd, &flag), NNHAL_FMQ_E_INVALID); /* a queue */
    nn_ring_free(ring);
}
TEST_END

CHECK_MAIN("ring-hostile", each_wrong_field_of_a_descriptor_is_refused,
           files_that_are_no_queue_are_refused,
           a_reader_holds_the_writers_counter_against_the_queue,
           a_writer_holds_the_readers_counter_against_its_own,
           nothing_is_available_of_what_cannot_be,
           ones_own_counter_is_never_taken_back_from_the_file,
           a_queue_that_is_impossible_from_the_beginning_is_broken,
           counters_of_an_unsynchronized_writer_may_say_anything,
           a_waiter_that_the_peer_has_moved_away_is_still_ended_by_close,
           without_futex_waitv_a_close_is_seen_all_the_same,
           a_generation_that_never_stays_does_not_move_a_deadline,
           a_scribbling_peer_costs_its_own_queue, every_system_call_may_fail)
