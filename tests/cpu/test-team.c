/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/team.h"

#include "cpu/builder.h"
#include "support/check-main.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CHUNKS = 500, MAX_WORKERS = 8 };

struct count {
    _Atomic uint32_t n_times[MAX_CHUNKS];
    _Atomic uint32_t is_busy[MAX_WORKERS]; /* workers inside a chunk of this loop */
    _Atomic uint32_t n_clashes;
    unsigned n_workers;
    uint32_t n_most;
    _Atomic uint32_t longest;   /* range of one call */
    uint32_t plain[MAX_CHUNKS]; /* written without atomics: the loop's end makes it visible */
};

static void count_chunks(void *ctx, uint32_t first, uint32_t end, unsigned worker)
{
    struct count *count = ctx;

    if (worker >= count->n_workers || atomic_fetch_add(&count->is_busy[worker], 1) != 0)
        atomic_fetch_add(&count->n_clashes, 1);
    for (uint32_t n = atomic_load(&count->longest);
         n < end - first && !atomic_compare_exchange_weak(&count->longest, &n, end - first);)
        ;
    for (uint32_t chunk = first; chunk < end; chunk++) {
        atomic_fetch_add(&count->n_times[chunk], 1);
        count->plain[chunk] += chunk + 1;
    }
    if (worker < count->n_workers)
        atomic_fetch_sub(&count->is_busy[worker], 1);
}

/* A loop that finds all regions taken is one call for all chunks. */
static void expect_short(struct count *count, uint32_t n_chunks)
{
    uint32_t longest = atomic_load(&count->longest);

    ck_assert(longest <= (count->n_most ? count->n_most : 1) || longest == n_chunks);
}

static void run_and_check(struct nn_team *team, uint32_t n_chunks)
{
    struct count count;

    memset(&count, 0, sizeof(count));
    count.n_workers = nn_team_size(team);
    count.n_most = n_chunks % 5;
    nn_team_run(team, NULL, n_chunks, count.n_most, count_chunks, &count);
    ck_assert_uint_eq(atomic_load(&count.n_clashes), 0);
    if (count.n_workers > 1 && n_chunks > 1)
        expect_short(&count, n_chunks);
    for (uint32_t i = 0; i < n_chunks; i++) {
        ck_assert_uint_eq(atomic_load(&count.n_times[i]), 1);
        ck_assert_uint_eq(count.plain[i], i + 1);
    }
}

TEST(every_chunk_runs_once)
{
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        struct nn_team *team;

        ck_assert_int_eq(nn_team_new(n_threads, &team), 0);
        ck_assert_uint_eq(nn_team_size(team), n_threads);
        for (uint32_t n = 0; n < 300; n++)
            run_and_check(team, n % MAX_CHUNKS);
        ck_assert_ptr_null(nn_team_free(team));
    }
}
TEST_END

/* In 2 s at most. */
static void wait_until_asleep(const struct nn_team *team)
{
    for (int i = 0; i < 20000 && nn_team_is_awake(team); i++)
        usleep(100);
    ck_assert(!nn_team_is_awake(team));
}

TEST(workers_that_sleep_are_woken_or_not_needed)
{
    struct nn_team *team;

    ck_assert_int_eq(nn_team_new(3, &team), 0);
    ck_assert(!nn_team_is_awake(team));
    for (uint32_t n = 0; n < 100; n++) {
        run_and_check(team, 7);
        wait_until_asleep(team);
    }
    nn_team_free(team);
}
TEST_END

static void *run_many(void *arg)
{
    for (uint32_t n = 0; n < 200; n++)
        run_and_check(arg, 1 + n % 40);
    return NULL;
}

TEST(several_loops_at_once)
{
    struct nn_team *team;
    pthread_t threads[20]; /* more than there are regions */

    ck_assert_int_eq(nn_team_new(4, &team), 0);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, team), 0);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    nn_team_free(team);
}
TEST_END

struct signals {
    _Atomic uint32_t n_begun;
    sigset_t blocked; /* of the threads that are not the caller */
};

/* Both threads have a chunk, in either order. */
static void look_at_signals(void *ctx, uint32_t first, uint32_t end, unsigned worker)
{
    struct signals *signals = ctx;

    (void)first;
    (void)end;
    atomic_fetch_add(&signals->n_begun, 1);
    while (atomic_load(&signals->n_begun) < 2)
        sched_yield();
    if (worker != 0)
        pthread_sigmask(SIG_SETMASK, NULL, &signals->blocked);
}

/* A memory that shrinks while a worker reads it raises SIGBUS there: blocked, it
 * would end the service and not reach the handler that repairs the memory. */
TEST(workers_leave_their_own_faults_unblocked)
{
    struct signals signals = {.n_begun = 0};
    struct nn_team *team;

    ck_assert_int_eq(nn_team_new(2, &team), 0);
    nn_team_run(team, NULL, 2, 1, look_at_signals, &signals);
    ck_assert(!sigismember(&signals.blocked, SIGBUS));
    ck_assert(sigismember(&signals.blocked, SIGTERM));
    nn_team_free(team);
}
TEST_END

struct slow {
    _Atomic uint32_t n_begun;
    uint32_t n_done; /* by helpers; without atomics, as in the first test */
};

/* Both threads have a chunk. The helper's takes longer than the caller waits awake. */
static void dawdle(void *ctx, uint32_t first, uint32_t end, unsigned worker)
{
    struct slow *slow = ctx;

    (void)first;
    (void)end;
    atomic_fetch_add(&slow->n_begun, 1);
    while (atomic_load(&slow->n_begun) < 2)
        sched_yield();
    if (worker == 0)
        return;
    usleep(5000);
    slow->n_done++;
}

TEST(a_caller_that_sleeps_is_woken_when_all_is_done)
{
    struct nn_team *team;

    ck_assert_int_eq(nn_team_new(2, &team), 0);
    for (unsigned i = 0; i < 10; i++) {
        struct slow slow = {.n_begun = 0};

        nn_team_run(team, NULL, 2, 1, dawdle, &slow);
        ck_assert_uint_eq(slow.n_done, 1);
    }
    nn_team_free(team);
}
TEST_END

/* A page that never comes would keep the team from everybody else. */
TEST(what_may_stall_is_computed_by_its_own_thread)
{
    enum { N = 1 << 20 };
    static float x[N], y[N];
    const uint32_t n = N;
    uint32_t operands[3];
    struct builder_run run;
    struct builder b;
    void *prepared;

    builder_init(&b, 2);
    operands[0] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 1, &n, 0, 0);
    operands[1] = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 1, &n, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &operands[0], 1, &operands[1]);
    prepared = builder_prepare(&b);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, x, sizeof(x));
    builder_run_output(&run, 0, y, sizeof(y));
    for (uint32_t may_stall = 2; may_stall-- > 0;) {
        run.execution.may_stall = may_stall;
        ck_assert_uint_eq(b.driver->execute(prepared, &run.execution), NNHAL_NONE);
        ck_assert_uint_eq(b.driver->burst_opened(prepared), may_stall ? 1 : 2);
        b.driver->burst_closed(prepared);
    }
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

TEST(team_without_work_ends)
{
    struct nn_team *team;

    ck_assert_int_eq(nn_team_new(0, &team), 0);
    ck_assert_uint_ge(nn_team_size(team), 1);
    nn_team_free(team);
    nn_team_free(NULL);
}
TEST_END

CHECK_MAIN("team", every_chunk_runs_once, workers_that_sleep_are_woken_or_not_needed,
           several_loops_at_once, workers_leave_their_own_faults_unblocked,
           a_caller_that_sleeps_is_woken_when_all_is_done,
           what_may_stall_is_computed_by_its_own_thread, team_without_work_ends)
