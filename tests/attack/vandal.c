/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/vandal.h"

#include "attack/grammar.h"
#include "base/sys.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of nnhal/fmq.h. */
enum {
    WRITE = 64,
    CLAIM = 72,
    READ = 128,
    GENERATION = 192,
    WAITERS = 196,
    ELEMENTS = 256,
    HOT_BYTES = 1024, /* where the next packets lie */
};

const char *vandal_name(enum vandal_kind kind)
{
    static const char *const names[] = {"words", "counters", "packets", "replays", "moves", "all"};

    return names[kind];
}

bool vandal_open(struct vandal *vandal, enum vandal_kind kind, uint64_t seed,
                 const int queue_fds[2])
{
    *vandal = (struct vandal){.kind = kind,
                              .values.state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
    for (int i = 0; i < 2; i++) {
        struct stat status;
        void *bytes;

        if (fstat(queue_fds[i], &status) < 0 || status.st_size <= ELEMENTS)
            return false;
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, queue_fds[i],
                     0);
        if (bytes == MAP_FAILED)
            return false;
        vandal->queues[i].bytes = bytes;
        vandal->queues[i].n_bytes = (size_t)status.st_size;
    }
    return true;
}

void vandal_close(struct vandal *vandal)
{
    for (int i = 0; i < 2; i++)
        if (vandal->queues[i].bytes)
            munmap(vandal->queues[i].bytes, vandal->queues[i].n_bytes);
}

static uint32_t below(struct vandal *vandal, uint32_t n)
{
    return grammar_below(&vandal->values, n);
}

static uint32_t *word_at(const struct vandal *vandal, uint32_t queue, size_t offset)
{
    return (uint32_t *)(void *)(vandal->queues[queue].bytes + offset);
}

/* Near to what is there, or anything. */
static void change_word(struct vandal *vandal, uint32_t *word)
{
    uint32_t value = (uint32_t)values_number(&vandal->values) >> below(vandal, 32);

    if (below(vandal, 2))
        value = __atomic_load_n(word, __ATOMIC_RELAXED) + below(vandal, 5) - 2;
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void change_counter(struct vandal *vandal, uint32_t queue, size_t offset)
{
    uint64_t *counter = (uint64_t *)(void *)(vandal->queues[queue].bytes + offset);
    uint64_t value = values_number(&vandal->values) >> below(vandal, 64);

    if (below(vandal, 4))
        value = __atomic_load_n(counter, __ATOMIC_RELAXED) + below(vandal, 9) - 4;
    __atomic_store_n(counter, value, __ATOMIC_SEQ_CST);
}

static size_t any_element_word(struct vandal *vandal, uint32_t queue)
{
    size_t n_bytes = vandal->queues[queue].n_bytes - ELEMENTS;

    if (n_bytes > HOT_BYTES && below(vandal, 4))
        n_bytes = HOT_BYTES;
    return ELEMENTS + 4 * (size_t)below(vandal, (uint32_t)(n_bytes / 4));
}

static void replay(struct vandal *vandal, uint32_t queue)
{
    uint8_t *bytes = vandal->queues[queue].bytes;
    size_t from = any_element_word(vandal, queue), to = any_element_word(vandal, queue);
    size_t n = 4 * (size_t)below(vandal, 64), end = vandal->queues[queue].n_bytes;

    if (from + n <= end && to + n <= end)
        memmove(bytes + to, bytes + from, n);
    if (!below(vandal, 8))
        change_counter(vandal, queue, queue ? READ : WRITE);
}

static void move_waiters(struct vandal *vandal, uint32_t queue)
{
    uint32_t *word = word_at(vandal, queue, GENERATION);
    size_t elsewhere = below(vandal, 2) ? WAITERS : any_element_word(vandal, queue);

    syscall(SYS_futex, word, FUTEX_REQUEUE, 0, (void *)(uintptr_t)INT_MAX,
            word_at(vandal, queue, elsewhere), 0);
}

void vandal_act(struct vandal *vandal)
{
    static const uint8_t counters[] = {WRITE, CLAIM, READ};
    uint32_t queue = below(vandal, 2);

    switch (vandal->kind) {
    case VANDAL_WORDS:
        change_word(vandal, word_at(vandal, queue, below(vandal, 2) ? WAITERS : GENERATION));
        break;
    case VANDAL_COUNTERS:
        change_counter(vandal, queue, counters[below(vandal, sizeof(counters))]);
        break;
    case VANDAL_PACKETS:
        change_word(vandal, word_at(vandal, queue, any_element_word(vandal, queue)));
        break;
    case VANDAL_REPLAYS:
        replay(vandal, queue);
        break;
    case VANDAL_MOVES:
        move_waiters(vandal, queue);
        break;
    default:
        change_word(
            vandal,
            word_at(vandal, queue,
                    4 * (size_t)below(vandal, (uint32_t)(vandal->queues[queue].n_bytes / 4))));
        break;
    }
    vandal->n_changes++;
    if (!below(vandal, 4))
        nn_sys_futex_wake(word_at(vandal, queue, GENERATION), INT_MAX, true);
}
