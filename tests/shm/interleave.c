/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the queue's own code in every order in which its accesses to shared
 * words can happen.
 *
 * ring.c and evflag.c are compiled into this program with a step before each
 * access (shm/word.h) and with a kernel of its own for futexes. The threads of
 * a scenario are coroutines; at each step the scheduler chooses which of them
 * goes on. All choices are tried, depth first, by running the scenario again
 * from its beginning with a recorded prefix of choices. What a thread does next
 * depends only on what it has loaded so far, so that (shared memory, what each
 * thread has loaded, who sleeps) is the whole state: a state that was seen
 * before is not gone into again, which makes the search finite and complete.
 *
 * Found would be: an element that is lost, repeated or torn (the scenarios
 * look), and a lost wake-up: a state in which a party is not done and no party
 * can go on. That the search can find them is shown by spoiling the protocol:
 * see "spoilt" below. */
#include "shm/word.h"

#include "base/sys.h"
#include "shm/evflag.h"
#include "shm/region.h"
#include "shm/ring.h"
#include "support/check-main.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define FOREVER     UINT64_MAX
#define MAX_THREADS 3
#define STACK_BYTES 65536
#define MAX_DEPTH   4096
#define MAX_STATES  (1 << 21)

struct thread {
    ucontext_t context;
    uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));
    void (*main)(void);
    uint64_t history; /* a hash of all that it has loaded, and of its steps */
    struct nn_sys_futex sleeps_on[2];
    size_t n_sleeps_on; /* > 0: asleep */
    bool is_done;
};

static struct thread threads[MAX_THREADS];
static size_t n_threads;
static ucontext_t scheduler;
static struct thread *current; /* NULL: outside of a run */

/* How the protocol is spoilt. */
static enum {
    SOUND,
    NO_WAKE,         /* who commits does not wake */
    NO_LOOK_AGAIN,   /* a waiter sleeps without a look at the generation */
    NO_CLAIM,        /* claims are not stored */
    NO_PRIVATE_WORD, /* a wait is on the shared word alone */
} spoilt;

static char finding[160];

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

void nn_word_step(void)
{
    if (!current)
        return;
    current->history = mix(current->history, 1);
    swapcontext(&current->context, &scheduler);
}

void nn_word_seen(uint64_t value)
{
    if (current)
        current->history = mix(current->history, value);
}

/* -- the kernel of this world ------------------------------------------------ */

static int fake_waitv(const struct nn_sys_futex *futexes, size_t n_futexes)
{
    nn_word_step();
    if (spoilt == NO_PRIVATE_WORD)
        n_futexes = 1;
    for (size_t i = 0; i < n_futexes; i++)
        if (*futexes[i].word != futexes[i].expected && spoilt != NO_LOOK_AGAIN) {
            nn_word_seen(i);
            return -EAGAIN;
        }
    for (size_t i = 0; i < n_futexes; i++)
        current->sleeps_on[i] = futexes[i];
    current->n_sleeps_on = n_futexes;
    swapcontext(&current->context, &scheduler);
    return 0;
}

/* The same word: the two objects have mappings of their own of one file. */
static bool is_same(const uint32_t *a, const uint32_t *b, bool is_shared)
{
    return is_shared ? (uintptr_t)a % 4096 == (uintptr_t)b % 4096 : a == b;
}

static int fake_wake(const uint32_t *word, bool is_shared)
{
    nn_word_step();
    if (spoilt == NO_WAKE)
        return 0;
    for (size_t i = 0; i < n_threads; i++)
        for (size_t j = 0; j < threads[i].n_sleeps_on; j++)
            if (threads[i].sleeps_on[j].is_shared == is_shared &&
                is_same(threads[i].sleeps_on[j].word, word, is_shared)) {
                threads[i].n_sleeps_on = 0;
                threads[i].history = mix(threads[i].history, 3);
            }
    return 0;
}

/* Stores the claim (offset 72 of its page) or does not. */
static void spoil_store64(uint64_t *word, uint64_t value)
{
    if (spoilt != NO_CLAIM || (uintptr_t)word % 4096 != 72)
        nn_word_store64(word, value);
}

#define nn_word_store64(word, value)                        spoil_store64(word, value)
#define nn_sys_futex_waitv(futexes, n_futexes, deadline_ns) fake_waitv(futexes, n_futexes)
#define nn_sys_futex_wake(word, n_waiters, is_shared)       fake_wake(word, is_shared)
#include "../../src/shm/evflag.c"
#include "../../src/shm/ring.c"

/* -- the scenario ------------------------------------------------------------ */

static struct nn_ring *rings[3]; /* [0] is the writer's object */
static uint32_t n_at_once;
static uint64_t n_elements;

static void found(const char *what, uint64_t value)
{
    if (!finding[0])
        snprintf(finding, sizeof(finding), "%s (%llu)", what, (unsigned long long)value);
}

static void writes(void)
{
    for (uint64_t i = 0; i < n_elements; i += n_at_once) {
        uint64_t values[4] = {i + 1, i + 2, i + 3, i + 4};

        if (nn_ring_write_blocking(rings[0], values, n_at_once, FOREVER) != 0)
            found("write failed", i);
    }
}

static void reads_all(void)
{
    for (uint64_t i = 0; i < n_elements; i++) {
        uint64_t value = 0;

        if (nn_ring_read_blocking(rings[1], &value, 1, FOREVER) != 0)
            found("read failed", i);
        if (value != i + 1)
            found("lost, repeated or torn", value);
    }
}

/* Elements of two words, which must be equal, and rise. */
static void writes_pairs(void)
{
    for (uint64_t i = 1; i <= n_elements; i++) {
        const uint64_t pair[2] = {i, i};

        if (nn_ring_write(rings[0], pair, 1) != 0)
            found("write failed", i);
    }
}

static void reads_pairs(void)
{
    uint64_t last = 0;

    for (int i = 0; i < 3; i++) {
        uint64_t pair[2] = {0, 0};
        int r = nn_ring_read(rings[1], pair, 1);

        if (r == 0 && (pair[0] != pair[1] || pair[0] <= last))
            found("torn or repeated", pair[0]);
        if (r == 0)
            last = pair[0];
    }
}

static void reads_until_closed(void)
{
    uint64_t value, next = 1;
    int r;

    while ((r = nn_ring_read_blocking(rings[1], &value, 1, FOREVER)) == 0)
        if (value != next++)
            found("lost, repeated or torn", value);
    if (r != NNHAL_FMQ_E_CLOSED)
        found("not closed", (uint64_t)r);
}

static void closes(void)
{
    nn_ring_close(rings[1]);
}

/* Gives the queue the state that it had when it was made. */
static void reset_ring(struct nn_ring *ring)
{
    struct ring_page *page = ring->page;

    memset(&page->write, 0, nn_region_size(ring->region) - offsetof(struct ring_page, write));
    ring->stop = 0;
    nn_evflag_init(&ring->own_flag, &page->words);
    init_sides(ring);
}

/* What two objects on one file share, and what their owners' threads share. */
static uint64_t hash_world(void)
{
    const uint64_t *words = (const uint64_t *)(const void *)&rings[0]->page->write;
    size_t n_words = (256 - 64) / 8 + rings[0]->n_elements * rings[0]->element_size / 8;
    uint64_t hash = 0;

    for (size_t i = 0; i < n_words; i++)
        hash = mix(hash, words[i]);
    for (int i = 0; i < 2; i++)
        hash = mix(hash, (uint64_t)rings[i]->stop << 32 | rings[i]->own_flag.poke);
    for (size_t i = 0; i < n_threads; i++)
        hash = mix(hash,
                   threads[i].history * 4 + (threads[i].n_sleeps_on > 0) * 2 + threads[i].is_done);
    return hash ? hash : 1;
}

/* -- the search --------------------------------------------------------------- */

static struct {
    uint8_t chosen;
    uint8_t n_choices;
} path[MAX_DEPTH];
static size_t n_path; /* recorded */

static uint64_t *seen;
static size_t n_seen;

/* Returns: whether it is new. */
static bool see(uint64_t state)
{
    size_t place = (size_t)(state % MAX_STATES);

    while (seen[place] && seen[place] != state)
        place = (place + 1) % MAX_STATES;
    if (seen[place])
        return false;
    ck_assert_uint_lt(n_seen++, MAX_STATES / 2);
    seen[place] = state;
    return true;
}

static void thread_main(unsigned index)
{
    threads[index].main();
    threads[index].is_done = true;
    swapcontext(&threads[index].context, &scheduler);
}

static void begin_run(void (*const *mains)(void))
{
    for (int i = 0; i < 2; i++)
        reset_ring(rings[i]);
    for (size_t i = 0; i < n_threads; i++) {
        struct thread *thread = &threads[i];

        thread->main = mains[i];
        thread->history = i;
        thread->n_sleeps_on = 0;
        thread->is_done = false;
        getcontext(&thread->context);
        thread->context.uc_stack.ss_sp = thread->stack;
        thread->context.uc_stack.ss_size = sizeof(thread->stack);
        makecontext(&thread->context, (void (*)(void))(void *)thread_main, 1, (unsigned)i);
    }
}

/* Who can go on. Returns: how many. */
static size_t list_ready(struct thread **ret_ready)
{
    size_t n = 0;

    for (size_t i = 0; i < n_threads; i++)
        if (!threads[i].is_done && threads[i].n_sleeps_on == 0)
            ret_ready[n++] = &threads[i];
    return n;
}

/* One run along the recorded path and then on, always with the first choice,
 * until it ends or comes to a state that is known. */
static void run(void (*const *mains)(void))
{
    struct thread *ready[MAX_THREADS];
    size_t depth, n_ready;

    begin_run(mains);
    for (depth = 0; (n_ready = list_ready(ready)) > 0; depth++) {
        ck_assert_uint_lt(depth, MAX_DEPTH);
        if (depth >= n_path) {
            path[depth].chosen = 0;
            path[depth].n_choices = (uint8_t)n_ready;
            n_path = depth + 1;
        }
        current = ready[path[depth].chosen];
        swapcontext(&scheduler, &current->context);
        current = NULL;
        if (finding[0])
            return;
        if (depth + 1 == n_path && !see(hash_world()))
            return;
    }
    for (size_t i = 0; i < n_threads; i++)
        if (!threads[i].is_done)
            found("sleeps for ever", i);
}

/* To the next path. Returns: whether there is one. */
static bool next_path(void)
{
    while (n_path > 0 && path[n_path - 1].chosen + 1 >= path[n_path - 1].n_choices)
        n_path--;
    if (n_path == 0)
        return false;
    path[n_path - 1].chosen++;
    return true;
}

/* Returns: what was found, "" if nothing. */
static const char *explore(uint32_t capacity, uint32_t size, uint32_t flavour, uint64_t n,
                           uint32_t at_once, void (*const *mains)(void), size_t n_mains)
{
    struct nnhal_fmq_descriptor descriptor;
    size_t n_runs = 0;

    finding[0] = '\0';
    n_path = n_seen = 0;
    n_threads = n_mains;
    n_elements = n;
    n_at_once = at_once;
    seen = calloc(MAX_STATES, sizeof(*seen));
    ck_assert_ptr_nonnull(seen);
    ck_assert_int_eq(nn_ring_new(capacity, size, flavour, NULL, &rings[0]), 0);
    nn_ring_descriptor(rings[0], &descriptor);
    ck_assert_int_eq(nn_ring_attach(&descriptor, NULL, &rings[1]), 0);
    do {
        run(mains);
        n_runs++;
    } while (!finding[0] && next_path());
    printf("%zu states, %zu runs: %s\n", n_seen, n_runs, finding[0] ? finding : "sound");
    nn_ring_free(rings[0]);
    nn_ring_free(rings[1]);
    free(seen);
    return finding;
}

static void (*const stream[])(void) = {writes, reads_all};
static void (*const overwriting[])(void) = {writes_pairs, reads_pairs};
static void (*const closing[])(void) = {writes, reads_until_closed, closes};
static void (*const closing_alone[])(void) = {reads_until_closed, closes};

TEST(no_element_and_no_wake_up_is_lost)
{
    spoilt = SOUND;
    ck_assert_str_eq(explore(1, 8, NNHAL_FMQ_SYNCHRONIZED, 2, 1, stream, 2), "");
    ck_assert_str_eq(explore(3, 8, NNHAL_FMQ_SYNCHRONIZED, 4, 2, stream, 2), "");
    if (getenv("NN_TEST_ROUNDS")) { /* the suite "slow": a quarter of a million states each */
        ck_assert_str_eq(explore(2, 8, NNHAL_FMQ_SYNCHRONIZED, 3, 1, stream, 2), "");
        ck_assert_str_eq(explore(2, 8, NNHAL_FMQ_SYNCHRONIZED, 4, 2, stream, 2), "");
    }
}
TEST_END

TEST(no_element_is_torn)
{
    spoilt = SOUND;
    for (uint32_t capacity = 1; capacity <= 2; capacity++)
        ck_assert_str_eq(explore(capacity, 16, NNHAL_FMQ_UNSYNCHRONIZED, 3, 1, overwriting, 2), "");
}
TEST_END

TEST(every_wait_ends_when_it_is_closed)
{
    spoilt = SOUND;
    ck_assert_str_eq(explore(1, 8, NNHAL_FMQ_SYNCHRONIZED, 1, 1, closing, 3), "");
    ck_assert_str_eq(explore(1, 8, NNHAL_FMQ_SYNCHRONIZED, 1, 1, closing_alone, 2), "");
}
TEST_END

TEST(a_spoilt_protocol_is_found)
{
    spoilt = NO_WAKE;
    ck_assert_str_ne(explore(1, 8, NNHAL_FMQ_SYNCHRONIZED, 2, 1, stream, 2), "");
    spoilt = NO_LOOK_AGAIN;
    ck_assert_str_ne(explore(1, 8, NNHAL_FMQ_SYNCHRONIZED, 2, 1, stream, 2), "");
    spoilt = NO_PRIVATE_WORD;
    ck_assert_str_ne(explore(1, 8, NNHAL_FMQ_SYNCHRONIZED, 1, 1, closing_alone, 2), "");
    spoilt = NO_CLAIM;
    ck_assert_str_ne(explore(1, 16, NNHAL_FMQ_UNSYNCHRONIZED, 3, 1, overwriting, 2), "");
}
TEST_END

CHECK_MAIN("interleave", no_element_and_no_wake_up_is_lost, no_element_is_torn,
           every_wait_ends_when_it_is_closed, a_spoilt_protocol_is_found)
