/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a burst's queues that are overwritten while the burst is used: each call ends, rightly
 * or with OP_FAILED, and what comes after works. NN_TEST_ROUNDS says how often (16). */
#include "ways.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

/* A hang is what is longer than any load: a burst is left after 6 s. */
#define HANG_NS (20 * S)

enum {
    MAX_QUEUES = 8,
    N_WORDS = 4,
};

/* Of nnhal/fmq.h: write, read, generation and waiters. */
static const size_t offsets[N_WORDS] = {64, 128, 192, 196};

static uint8_t *queues[MAX_QUEUES];
static uint32_t n_queues;
static struct ways_formula formula;
static uint32_t is_over;

/* The queues of this process are memfds of that name. */
static void map_queues(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    char target[64];
    ssize_t n;

    n_queues = 0;
    while ((entry = readdir(folder)) && n_queues < MAX_QUEUES) {
        n = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (n <= 0)
            continue;
        target[n] = '\0';
        if (!strstr(target, "memfd:nnhal-fmq"))
            continue;
        queues[n_queues] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(entry->d_name),
                                0);
        ck_assert_ptr_ne(queues[n_queues], MAP_FAILED);
        n_queues++;
    }
    closedir(folder);
}

static void unmap_queues(void)
{
    while (n_queues)
        munmap(queues[--n_queues], 4096);
}

static uint32_t draw(unsigned *seed)
{
    return (uint32_t)rand_r(seed);
}

/* 0, all ones, one more, one less, or anything. */
static uint64_t spoil(uint64_t value, unsigned *seed)
{
    const uint64_t values[] = {0, UINT64_MAX, value + 1, value - 1, draw(seed)};

    return values[draw(seed) % 5];
}

static void spoil_word(uint8_t *queue, unsigned *seed)
{
    size_t offset = offsets[draw(seed) % N_WORDS];

    if (offset < 192) {
        uint64_t *word = (uint64_t *)(void *)(queue + offset);

        __atomic_store_n(word, spoil(*word, seed), __ATOMIC_SEQ_CST);
    } else {
        uint32_t *word = (uint32_t *)(void *)(queue + offset);

        __atomic_store_n(word, (uint32_t)spoil(*word, seed), __ATOMIC_SEQ_CST);
    }
}

static void *compute_on(void *argument)
{
    uint32_t *n_calls = argument;

    for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_SEQ_CST); i++) {
        uint64_t begin_ns = ways_now_ns();
        int result = ways_formula_run(&formula, i);

        ck_assert_uint_lt(ways_now_ns() - begin_ns, HANG_NS);
        ck_assert_msg(result == ANEURALNETWORKS_NO_ERROR || result == ANEURALNETWORKS_OP_FAILED,
                      "%d", result);
        __atomic_add_fetch(n_calls, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* Four more calls have ended. */
static void await_calls(const uint32_t *n_calls)
{
    uint32_t before = __atomic_load_n(n_calls, __ATOMIC_SEQ_CST);
    uint64_t begin_ns = ways_now_ns();

    while (__atomic_load_n(n_calls, __ATOMIC_SEQ_CST) - before < 4) {
        ck_assert_uint_lt(ways_now_ns() - begin_ns, 4 * HANG_NS);
        ways_nap(S / 1000);
    }
}

/* A burst of its own each time: one word is enough to break it. */
static void spoil_burst(unsigned *seed)
{
    uint32_t n_calls = 0;
    pthread_t thread;

    ways_formula_bind(&formula, false);
    ways_formula_burst(&formula);
    OK(ways_formula_run(&formula, 1));
    map_queues();
    ck_assert_uint_ge(n_queues, 2);
    __atomic_store_n(&is_over, 0, __ATOMIC_SEQ_CST);
    ck_assert_int_eq(pthread_create(&thread, NULL, compute_on, &n_calls), 0);
    await_calls(&n_calls);
    spoil_word(queues[draw(seed) % n_queues], seed);
    await_calls(&n_calls);
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    unmap_queues();
    OK(ways_formula_run(&formula, 2));
    ANeuralNetworksBurst_free(formula.burst);
    ANeuralNetworksExecution_free(formula.execution);
    formula.burst = NULL;
    formula.execution = NULL;
}

TEST(spoilt_words_end_no_more_than_their_burst)
{
    const char *rounds = getenv("NN_TEST_ROUNDS");
    unsigned seed = 7;

    ways_begin();
    OK(ways_formula_compile(&formula));
    for (int i = 0; i < (rounds ? atoi(rounds) : 16); i++)
        spoil_burst(&seed);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

CHECK_MAIN("words-" WAY, spoilt_words_end_no_more_than_their_burst)
