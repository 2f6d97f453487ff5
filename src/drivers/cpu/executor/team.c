/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/team.h"

#include "base/cpus.h"
#include "base/error.h"
#include "base/sys.h"
#include "base/thread.h"

#include <nnhal/driver.h>

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum {
    MAX_THREADS = 64,
    MAX_REGIONS = 16,
    MAX_CHUNKS = 0xffff,
    LINGER_NS = 150000,      /* longer than most gaps between two loops, also of two executions */
    CALLER_SPIN_NS = 100000, /* what helpers have begun seldom takes longer; a wake costs 15 us */
    TURN_SPIN_NS = 10000,    /* a helper may not have begun: it waits for the caller's turn */
    SPINS_PER_LOOK = 64,     /* at the clock */
    NO_LIMIT = INT_MAX,
};

/* One parallel loop. What helpers look at lies in one cache line, which the caller fills in one go:
 * to fetch a line from another CPU takes longer than many a chunk. */
struct region {
    _Alignas(128) _Atomic uint64_t state; /* generation << 32 | end << 16 | next */
    nn_chunks_fn fn;
    void *ctx;
    const struct nnhal_turn *turn;
    _Atomic uint32_t n_threads; /* that may come, the caller included; at least 2 */
    _Atomic uint32_t n_chunks;
    _Atomic uint32_t n_most;               /* chunks of a claim */
    _Atomic int32_t n_slots;               /* for helpers; NO_LIMIT: as many as there are */
    _Alignas(128) _Atomic uint32_t n_done; /* chunks by helpers, of all loops so far */
    _Atomic uint32_t n_wanted;             /* n_done that ends the loop, if the caller waits */
    _Atomic uint32_t is_waiting;           /* the caller sleeps on n_done, or is about to */
    _Alignas(128) _Atomic uint32_t is_taken;
};

struct nn_team {
    struct region regions[MAX_REGIONS];
    _Alignas(128) _Atomic uint32_t wake; /* futex: changes whenever sleepers should look */
    _Atomic uint32_t n_asleep;
    _Atomic uint32_t is_ending;
    _Atomic uint32_t is_started;
    pthread_mutex_t lock; /* starting */
    unsigned n_threads;
    unsigned n_started;
    pthread_t threads[MAX_THREADS];
};

struct worker {
    struct nn_team *team;
    unsigned number;
};

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint32_t state_next(uint64_t state)
{
    return (uint32_t)(state & 0xffff);
}

static uint32_t state_end(uint64_t state)
{
    return (uint32_t)(state >> 16 & 0xffff);
}

static bool state_has_chunks(uint64_t state)
{
    return state_next(state) < state_end(state);
}

/* Claimed chunks keep the caller, and with it the turn. */
static void chunks_run(const struct region *region, uint32_t first, uint32_t end, unsigned worker)
{
    const struct nnhal_turn *turn = worker > 0 ? region->turn : NULL;

    if (turn)
        turn->enter(turn->host);
    region->fn(region->ctx, first, end, worker);
    if (turn)
        turn->leave(turn->host);
}

/* How many chunks are claimed at once: first most of a thread's part of all, then some of what is
 * left. Fewer claims cost less, since each takes the line away from the other CPUs; what the first ones
 * leave evens out who came late or was interrupted. The numbers may be a later loop's: then the
 * claim fails. */
static uint32_t claim_size(const struct region *region, uint64_t state, bool is_first)
{
    uint32_t n_threads = atomic_load_explicit(&region->n_threads, memory_order_relaxed);
    uint32_t n_chunks = atomic_load_explicit(&region->n_chunks, memory_order_relaxed);
    uint32_t n_most = atomic_load_explicit(&region->n_most, memory_order_relaxed);
    uint32_t n_left = state_end(state) - state_next(state), n = n_left / (2 * n_threads);

    if (is_first) {
        n = n_chunks * 7 / (8 * n_threads);
        n = n < n_left / 2 ? n : n_left / 2;
    }
    n = n < n_most ? n : n_most;
    return n ? n : 1;
}

/* Claims chunks of the region until none is left in this generation: the caller from the front,
 * helpers from the back. Returns: how many chunks it has run. */
static uint32_t worker_run(struct region *region, uint64_t state, unsigned worker)
{
    uint64_t generation = state >> 32;
    uint32_t n_run = 0;

    while (state >> 32 == generation && state_has_chunks(state)) {
        uint32_t n = claim_size(region, state, n_run == 0);
        uint32_t first = worker == 0 ? state_next(state) : state_end(state) - n;
        uint64_t claimed = worker == 0 ? state + n : state - ((uint64_t)n << 16);

        if (!atomic_compare_exchange_weak(&region->state, &state, claimed))
            continue;
        chunks_run(region, first, first + n, worker);
        n_run += n;
        state = atomic_load(&region->state);
    }
    return n_run;
}

/* Returns: whether a helper may come; it gives the slot back. */
static bool region_take_slot(struct region *region)
{
    int32_t n = atomic_load(&region->n_slots);

    if (n == NO_LIMIT)
        return true;
    while (n > 0)
        if (atomic_compare_exchange_weak(&region->n_slots, &n, n - 1))
            return true;
    return false;
}

static void region_give_slot(struct region *region)
{
    int32_t n = atomic_load(&region->n_slots);

    while (n != NO_LIMIT && !atomic_compare_exchange_weak(&region->n_slots, &n, n + 1))
        ;
}

/* Chunks are counted when no more are left to claim: once for each helper. Pairs with the caller's
 * load in wait_done(): it sees what the chunks wrote. */
static void region_help(struct region *region, uint64_t state, unsigned worker)
{
    uint32_t n_run = worker_run(region, state, worker), n_done;

    if (n_run == 0)
        return;
    n_done = atomic_fetch_add(&region->n_done, n_run) + n_run;
    if (atomic_load(&region->is_waiting) && n_done == atomic_load(&region->n_wanted))
        nn_sys_futex_wake((uint32_t *)&region->n_done, 1, false);
}

static bool help_somewhere(struct nn_team *team, unsigned worker)
{
    bool has_helped = false;

    for (unsigned i = 0; i < MAX_REGIONS; i++) {
        uint64_t state = atomic_load(&team->regions[i].state);

        if (state_has_chunks(state) && region_take_slot(&team->regions[i])) {
            region_help(&team->regions[i], state, worker);
            region_give_slot(&team->regions[i]);
            has_helped = true;
        }
    }
    return has_helped;
}

/* The sleeper counts itself before it looks once more: a caller that put work out before sees
 * it in n_asleep and wakes it, or the sleeper sees the work. */
static void sleep_until_woken(struct nn_team *team, unsigned worker)
{
    uint32_t seen = atomic_load(&team->wake);

    atomic_fetch_add(&team->n_asleep, 1);
    if (!atomic_load(&team->is_ending) && !help_somewhere(team, worker))
        nn_sys_futex_wait((uint32_t *)&team->wake, seen, UINT64_MAX, false);
    atomic_fetch_sub(&team->n_asleep, 1);
}

/* Where a loop was, the next is near: spinning costs less than a wake. Returns: whether it came. */
static bool linger(struct nn_team *team, unsigned worker)
{
    uint64_t end_ns = nn_sys_now_ns() + LINGER_NS;

    do {
        for (unsigned i = 0; i < SPINS_PER_LOOK; i++) {
            if (help_somewhere(team, worker))
                return true;
            cpu_relax();
        }
    } while (!atomic_load(&team->is_ending) && nn_sys_now_ns() < end_ns);
    return false;
}

static void *worker_main(void *arg)
{
    struct worker worker = *(struct worker *)arg;
    struct nn_team *team = worker.team;

    free(arg);
    while (!atomic_load(&team->is_ending))
        if (!linger(team, worker.number))
            sleep_until_woken(team, worker.number);
    return NULL;
}

static int start_one(struct nn_team *team)
{
    struct worker *worker = malloc(sizeof(*worker));
    int r;

    if (!worker)
        return nn_error_origin(-ENOMEM);
    *worker = (struct worker){team, team->n_started + 1};
    r = nn_thread_start("nnhal-cpu", worker_main, worker, &team->threads[team->n_started]);
    if (r < 0) {
        free(worker);
        return nn_error_trace(r);
    }
    team->n_started++;
    return 0;
}

/* A team that cannot have all its threads works with those it got. */
static void team_start(struct nn_team *team)
{
    pthread_mutex_lock(&team->lock);
    if (!atomic_load(&team->is_started)) {
        while (team->n_started + 1 < team->n_threads && start_one(team) == 0)
            ;
        atomic_store(&team->is_started, 1);
    }
    pthread_mutex_unlock(&team->lock);
}

int nn_team_new(unsigned n_threads, struct nn_team **ret_team)
{
    struct nn_team *team = aligned_alloc(128, sizeof(*team));

    if (!team)
        return nn_error_origin(-ENOMEM);
    memset(team, 0, sizeof(*team));
    team->n_threads = n_threads ? n_threads : nn_cpus_allowed();
    if (team->n_threads > MAX_THREADS)
        team->n_threads = MAX_THREADS;
    pthread_mutex_init(&team->lock, NULL);
    *ret_team = team;
    return 0;
}

struct nn_team *nn_team_free(struct nn_team *team)
{
    if (!team)
        return NULL;
    atomic_store(&team->is_ending, 1);
    atomic_fetch_add(&team->wake, 1);
    nn_sys_futex_wake((uint32_t *)&team->wake, INT_MAX, false);
    for (unsigned i = 0; i < team->n_started; i++)
        pthread_join(team->threads[i], NULL);
    pthread_mutex_destroy(&team->lock);
    free(team);
    return NULL;
}

unsigned nn_team_size(const struct nn_team *team)
{
    return team->n_threads;
}

bool nn_team_is_awake(const struct nn_team *team)
{
    return atomic_load(&team->is_started) && atomic_load(&team->n_asleep) < team->n_started;
}

/* None is free when more executions than regions split loops at once; the loop then runs on
 * its caller alone. */
static struct region *take_region(struct nn_team *team)
{
    for (unsigned i = 0; i < MAX_REGIONS; i++) {
        uint32_t expected = 0;

        if (!atomic_load(&team->regions[i].is_taken) &&
            atomic_compare_exchange_strong(&team->regions[i].is_taken, &expected, 1))
            return &team->regions[i];
    }
    return NULL;
}

/* No system call while all workers spin. */
static void wake_helpers(struct nn_team *team, uint32_t n_wanted)
{
    uint32_t n_asleep = atomic_load(&team->n_asleep);

    if (n_asleep == 0)
        return;
    atomic_fetch_add(&team->wake, 1);
    nn_sys_futex_wake((uint32_t *)&team->wake, (int)(n_wanted < n_asleep ? n_wanted : n_asleep),
                      false);
}

/* Returns: whether n_done is reached soon enough to wait for it awake. */
static bool spin_until_done(const struct region *region, uint32_t n_done)
{
    uint64_t end_ns = 0;

    do {
        for (unsigned i = 0; i < SPINS_PER_LOOK; i++) {
            if (atomic_load(&region->n_done) == n_done)
                return true;
            cpu_relax();
        }
        end_ns = end_ns ? end_ns : nn_sys_now_ns() + (region->turn ? TURN_SPIN_NS : CALLER_SPIN_NS);
    } while (nn_sys_now_ns() < end_ns);
    return false;
}

static void wait_done(struct region *region, uint32_t n_done)
{
    uint32_t n_now;

    if (spin_until_done(region, n_done))
        return;
    atomic_store(&region->n_wanted, n_done);
    /* Pairs with the load in region_help(): either the last one to finish sees the
     * flag, or the futex sees that n_done has changed. */
    atomic_store(&region->is_waiting, 1);
    /* A helper that waits for its turn may wait for this thread's. */
    if (region->turn)
        region->turn->leave(region->turn->host);
    while ((n_now = atomic_load(&region->n_done)) != n_done)
        nn_sys_futex_wait((uint32_t *)&region->n_done, n_now, UINT64_MAX, false);
    if (region->turn)
        region->turn->enter(region->turn->host);
    atomic_store(&region->is_waiting, 0);
}

/* Puts the loop where helpers find it. Returns: its first state. */
static uint64_t region_publish(struct region *region, uint32_t n_chunks, uint32_t n_most,
                               uint32_t n_helpers, nn_chunks_fn fn, void *ctx)
{
    uint64_t generation = (atomic_load_explicit(&region->state, memory_order_relaxed) >> 32) + 1;
    uint64_t state = generation << 32 | (uint64_t)n_chunks << 16;

    region->fn = fn;
    region->ctx = ctx;
    atomic_store_explicit(&region->n_threads, n_helpers + 1, memory_order_relaxed);
    atomic_store_explicit(&region->n_chunks, n_chunks, memory_order_relaxed);
    atomic_store_explicit(&region->n_most, n_most, memory_order_relaxed);
    atomic_store_explicit(&region->n_slots, region->turn ? (int32_t)n_helpers : NO_LIMIT,
                          memory_order_relaxed);
    /* Pairs with the load in help_somewhere(): all of the above comes before it. */
    atomic_store(&region->state, state);
    return state;
}

void nn_team_run(struct nn_team *team, const struct nnhal_turn *turn, uint32_t n_chunks,
                 uint32_t n_most, nn_chunks_fn fn, void *ctx)
{
    struct region *region = NULL;
    uint32_t n_helpers = team->n_threads - 1, n_free, n_before;
    uint64_t state;

    if (turn && n_helpers > 0) {
        n_free = turn->n_helpers(turn->host);
        n_helpers = n_free < n_helpers ? n_free : n_helpers;
    }
    if (n_chunks > 1 && n_chunks <= MAX_CHUNKS && n_helpers > 0)
        region = take_region(team);
    if (!region) {
        fn(ctx, 0, n_chunks, 0);
        return;
    }
    if (!atomic_load(&team->is_started))
        team_start(team);
    n_before = atomic_load(&region->n_done);
    region->turn = turn;
    state = region_publish(region, n_chunks, n_most, n_helpers, fn, ctx);
    wake_helpers(team, n_helpers < n_chunks - 1 ? n_helpers : n_chunks - 1);
    wait_done(region, n_before + n_chunks - worker_run(region, state, 0));
    atomic_store(&region->is_taken, 0);
}
