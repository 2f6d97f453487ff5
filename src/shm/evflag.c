/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/evflag.h"

#include "base/error.h"
#include "base/sys.h"
#include "shm/region.h"
#include "shm/word.h"

#include <nnhal/types.h>

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define POLL_NS UINT64_C(10000000)

#define FLAG_MAGIC   UINT32_C(0x474c464e) /* "NFLG" */
#define FLAG_VERSION 1

struct flag_page {
    uint32_t magic;
    uint32_t version;
    uint8_t reserved[184];
    struct nn_evflag_words words;
};

_Static_assert(offsetof(struct flag_page, words) == 192, "nnhal/fmq.h");
_Static_assert(offsetof(struct nn_evflag_words, n_waiters) == 4, "nnhal/fmq.h");

void nn_evflag_init(struct nn_evflag *flag, struct nn_evflag_words *words)
{
    *flag = (struct nn_evflag){.words = words};
}

void nn_evflag_wake(struct nn_evflag *flag)
{
    /* The caller has published its counter, and a waiter is counted before its last look at
     * that counter: either the waiter is seen here, or it sees the counter and does not sleep. */
    if (nn_word_load32(&flag->words->n_waiters) != 0)
        nn_evflag_wake_uncounted(flag);
}

void nn_evflag_wake_uncounted(struct nn_evflag *flag)
{
    nn_word_add32(&flag->words->generation, 1);
    nn_sys_futex_wake(&flag->words->generation, INT_MAX, true);
}

void nn_evflag_poke(struct nn_evflag *flag)
{
    nn_word_add32(&flag->poke, 1);
    nn_sys_futex_wake(&flag->poke, INT_MAX, false);
}

void nn_evflag_close(struct nn_evflag *flag)
{
    nn_word_store32(&flag->is_closed, 1);
    nn_evflag_poke(flag);
}

/* Sleeps on the shared word alone, so shortly that a close is seen soon. */
static int sleep_until_poll(struct nn_evflag *flag, uint32_t generation, uint64_t deadline_ns)
{
    uint64_t poll_ns = nn_sys_now_ns() + POLL_NS;
    int r = nn_sys_futex_wait(&flag->words->generation, generation,
                              poll_ns < deadline_ns ? poll_ns : deadline_ns, true);

    return r == -ETIMEDOUT && poll_ns < deadline_ns ? 0 : r;
}

/* Sleeps while both words are as they were. Returns: 0 (look again),
 * NNHAL_FMQ_E_TIMED_OUT, -errno. */
static int sleep_on(struct nn_evflag *flag, uint32_t generation, uint32_t poke,
                    uint64_t deadline_ns)
{
    const struct nn_sys_futex futexes[2] = {
        {.word = &flag->words->generation, .expected = generation, .is_shared = true},
        {.word = &flag->poke, .expected = poke, .is_shared = false},
    };
    int r = -ENOSYS;

    if (!__atomic_load_n(&flag->is_polled, __ATOMIC_RELAXED)) {
        r = nn_sys_futex_waitv(futexes, 2, deadline_ns);
        if (r == -ENOSYS || r == -EPERM) { /* EPERM: a filter that does not know it */
            __atomic_store_n(&flag->is_polled, 1, __ATOMIC_RELAXED);
            r = -ENOSYS;
        }
    }
    if (r == -ENOSYS)
        r = sleep_until_poll(flag, generation, deadline_ns);
    if (r == -EAGAIN)
        return 0;
    return r == -ETIMEDOUT ? NNHAL_FMQ_E_TIMED_OUT : nn_error_trace(r);
}

/* With this thread among the waiters: the generation is loaded before the last
 * look, and the poke before is_closed. */
static int wait_counted(struct nn_evflag *flag, int (*is_ready)(void *ctx), void *ctx,
                        uint64_t deadline_ns)
{
    int r = 0;

    for (;;) {
        uint32_t poke = nn_word_load32(&flag->poke);
        uint32_t generation = nn_word_load32(&flag->words->generation);

        if (is_ready(ctx))
            return 0;
        if (nn_word_load32(&flag->is_closed))
            return NNHAL_FMQ_E_CLOSED;
        if (r != 0)
            return r;
        r = sleep_on(flag, generation, poke, deadline_ns);
        /* A peer that never lets the generation be does not move the deadline. */
        if (r == 0 && deadline_ns != UINT64_MAX && nn_sys_now_ns() >= deadline_ns)
            r = NNHAL_FMQ_E_TIMED_OUT;
    }
}

int nn_evflag_wait(struct nn_evflag *flag, int (*is_ready)(void *ctx), void *ctx,
                   uint64_t deadline_ns)
{
    int r;

    if (is_ready(ctx))
        return 0;
    /* Counted before the last look in wait_counted(): see nn_evflag_wake(). */
    nn_word_add32(&flag->words->n_waiters, 1);
    nn_word_fence();
    r = wait_counted(flag, is_ready, ctx, deadline_ns);
    nn_word_add32(&flag->words->n_waiters, UINT32_MAX);
    return r;
}

static int finish_mapping(struct nn_region **region, struct nn_region **ret_region)
{
    /* A forked child would be a second writer of the same counters. */
    if (madvise(nn_region_data(*region), nn_region_size(*region), MADV_DONTFORK) < 0)
        return nn_error_origin(-errno);
    *ret_region = steal_ptr(region);
    return 0;
}

int nn_region_new_sealed(const char *name, size_t n_bytes, struct nn_region **ret_region)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    int r = nn_region_new(name, n_bytes, &region);

    if (r != 0)
        return nn_error_fold(r);
    return finish_mapping(&region, ret_region);
}

int nn_region_map_sealed(int fd, size_t n_bytes, struct nn_region **ret_region)
{
    const struct nn_region_params params = {.kind = NNHAL_MEMORY_ASHMEM, .size = n_bytes};
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const int unwanted = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    struct stat status;
    int own_fd, seals = fcntl(fd, F_GET_SEALS), r;

    /* With these seals no access can fault, so that no guard is needed; F_SEAL_SEAL keeps
     * them as they are found here. Both sides write counters: sealed against writing, a queue
     * is of no use. */
    if (seals < 0 || (seals & wanted) != wanted || (seals & unwanted))
        return NNHAL_FMQ_E_INVALID;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || (uint64_t)status.st_size != n_bytes ||
        (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        return NNHAL_FMQ_E_INVALID;
    own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own_fd < 0)
        return nn_error_origin(-errno);
    r = nn_region_import(own_fd, &params, 0, &region);
    if (r != 0)
        return r > 0 ? NNHAL_FMQ_E_INVALID : nn_error_trace(r);
    return finish_mapping(&region, ret_region);
}

static int flag_alloc(struct nn_region **region, struct nn_evflag **ret_flag)
{
    struct flag_page *page = nn_region_data(*region);
    struct nn_evflag *flag = malloc(sizeof(*flag));

    if (!flag)
        return nn_error_origin(-ENOMEM);
    nn_evflag_init(flag, &page->words);
    flag->region = steal_ptr(region);
    *ret_flag = flag;
    return 0;
}

int nn_evflag_new(struct nn_evflag **ret_flag)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    struct flag_page *page;
    int r = nn_region_new_sealed("nnhal-evflag", (size_t)sysconf(_SC_PAGESIZE), &region);

    if (r < 0)
        return nn_error_trace(r);
    page = nn_region_data(region);
    page->magic = FLAG_MAGIC;
    page->version = FLAG_VERSION;
    return flag_alloc(&region, ret_flag);
}

int nn_evflag_attach(int fd, struct nn_evflag **ret_flag)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    const struct flag_page *page;
    int r = nn_region_map_sealed(fd, (size_t)sysconf(_SC_PAGESIZE), &region);

    if (r != 0)
        return r;
    page = nn_region_data(region);
    if (page->magic != FLAG_MAGIC || page->version != FLAG_VERSION)
        return NNHAL_FMQ_E_INVALID;
    return flag_alloc(&region, ret_flag);
}

int nn_evflag_fd(const struct nn_evflag *flag)
{
    return nn_region_fd(flag->region);
}

struct nn_evflag *nn_evflag_free(struct nn_evflag *flag)
{
    if (flag)
        nn_region_unref(flag->region);
    free(flag);
    return NULL;
}
