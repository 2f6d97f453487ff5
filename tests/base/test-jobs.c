/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jobs.h"

#include "support/check-main.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { MAX_SEEN = 4096 };

/* What ran, in order. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n_seen, n_cancelled, n_running, max_running;
    uint64_t seen[MAX_SEEN];
    bool is_open; /* gated jobs may go on */
    bool sigterm_was_open, sigbus_was_open;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct test_job {
    struct nn_job job;
    uint64_t tag;
    bool is_gated;
};

static void run(struct nn_job *job)
{
    struct test_job *test = NN_CONTAINER_OF(job, struct test_job, job);
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pthread_mutex_lock(&board.lock);
    board.sigterm_was_open |= !sigismember(&mask, SIGTERM);
    board.sigbus_was_open |= !sigismember(&mask, SIGBUS);
    board.n_running++;
    if (board.n_running > board.max_running)
        board.max_running = board.n_running;
    pthread_cond_broadcast(&board.changed);
    while (test->is_gated && !board.is_open)
        pthread_cond_wait(&board.changed, &board.lock);
    board.n_running--;
    if (board.n_seen < MAX_SEEN)
        board.seen[board.n_seen] = test->tag;
    board.n_seen++;
    pthread_cond_broadcast(&board.changed);
    pthread_mutex_unlock(&board.lock);
    free(test);
}

static void cancel(struct nn_job *job)
{
    pthread_mutex_lock(&board.lock);
    board.n_cancelled++;
    pthread_mutex_unlock(&board.lock);
    free(NN_CONTAINER_OF(job, struct test_job, job));
}

/* The user of an owner is what precedes its last two digits. */
static int submit(struct nn_jobs *jobs, uint64_t owner, enum nn_jobs_priority priority,
                  uint64_t tag, bool is_gated)
{
    struct test_job *test = calloc(1, sizeof(*test));
    int r;

    test->job = (struct nn_job){
        .user = owner / 100, .owner = owner, .priority = priority, .run = run, .cancel = cancel};
    test->tag = tag;
    test->is_gated = is_gated;
    r = nn_jobs_submit(jobs, &test->job);
    if (r != 0)
        free(test);
    return r;
}

static void wait_running(size_t n)
{
    pthread_mutex_lock(&board.lock);
    while (board.n_running < n)
        pthread_cond_wait(&board.changed, &board.lock);
    pthread_mutex_unlock(&board.lock);
}

static void wait_seen(size_t n)
{
    pthread_mutex_lock(&board.lock);
    while (board.n_seen < n)
        pthread_cond_wait(&board.changed, &board.lock);
    pthread_mutex_unlock(&board.lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&board.lock);
    board.is_open = true;
    pthread_cond_broadcast(&board.changed);
    pthread_mutex_unlock(&board.lock);
}

static size_t n_threads_of_process(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

/* A joined thread may stay in /proc for a moment. */
static void wait_for_threads(size_t n)
{
    time_t end = time(NULL) + 10;

    while (n_threads_of_process() > n && time(NULL) < end)
        sched_yield();
    ck_assert_uint_le(n_threads_of_process(), n);
}

TEST(owners_take_turns_and_have_higher_priorities_first)
{
    static const uint64_t wanted[] = {1, 30, 20, 31, 21, 10, 22, 11, 12, 5};
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 1, 100, &jobs), 0);
    ck_assert_int_eq(submit(jobs, 9, NN_JOBS_MEDIUM, 1, true), 0);
    wait_running(1);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_LOW, 5, false), 0);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(submit(jobs, 1, NN_JOBS_MEDIUM, 10 + i, false), 0);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(submit(jobs, 2, NN_JOBS_MEDIUM, 20 + i, false), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_HIGH, 30, false), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_HIGH, 31, false), 0);
    open_gate();
    wait_seen(NN_N_ELEMENTS(wanted));
    nn_jobs_free(jobs);
    for (size_t i = 0; i < NN_N_ELEMENTS(wanted); i++)
        ck_assert_uint_eq(board.seen[i], wanted[i]);
}
TEST_END

TEST(threads_are_bounded_blocked_for_signals_and_gone_afterwards)
{
    struct nn_jobs *jobs = NULL;
    size_t n_before;

    /* A sanitizer starts a thread of its own with the first one. */
    ck_assert_int_eq(nn_jobs_new("test", 1, 1, &jobs), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_MEDIUM, 0, false), 0);
    wait_seen(1);
    nn_jobs_free(jobs);
    board.n_seen = 0;
    n_before = n_threads_of_process();

    ck_assert_int_eq(nn_jobs_new("test", 3, 1000, &jobs), 0);
    ck_assert_uint_le(n_threads_of_process(), n_before); /* a joined thread may be gone now */
    for (uint64_t i = 0; i < 500; i++)
        ck_assert_int_eq(submit(jobs, i % 7, NN_JOBS_MEDIUM, i, i < 3), 0);
    wait_running(3);
    open_gate();
    wait_seen(500);
    nn_jobs_free(jobs);
    ck_assert_uint_eq(board.max_running, 3);
    wait_for_threads(n_before);
    ck_assert(!board.sigterm_was_open);
    ck_assert(board.sigbus_was_open);
}
TEST_END

TEST(a_full_queue_says_so_and_cancelled_jobs_do_not_run)
{
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 1, 4, &jobs), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_MEDIUM, 1, true), 0);
    wait_running(1);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(submit(jobs, i % 2, NN_JOBS_MEDIUM, 100 + i, false), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_MEDIUM, 9, false), NN_JOBS_E_FULL);
    nn_jobs_cancel_owner(jobs, 1);
    ck_assert_uint_eq(board.n_cancelled, 2);
    nn_jobs_cancel_owner(jobs, 77);
    open_gate();
    wait_seen(3);
    nn_jobs_free(jobs);
    ck_assert_uint_eq(board.n_seen, 3);
    ck_assert_uint_eq(board.n_cancelled, 2);
}
TEST_END

static void *free_pool(void *jobs)
{
    nn_jobs_free(jobs);
    return NULL;
}

TEST(freeing_cancels_what_is_queued_and_waits_for_what_runs)
{
    struct nn_jobs *jobs = NULL;
    pthread_t thread;

    ck_assert_int_eq(nn_jobs_new("test", 1, 10, &jobs), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_MEDIUM, 1, true), 0);
    wait_running(1);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(submit(jobs, 2 + i % 2, (enum nn_jobs_priority)(i % 3), i, false), 0);
    pthread_create(&thread, NULL, free_pool, jobs);
    open_gate();
    pthread_join(thread, NULL);
    ck_assert_uint_eq(board.n_running, 0);
    ck_assert_uint_eq(board.n_seen + board.n_cancelled, 6);
}
TEST_END

TEST(one_user_does_not_get_every_thread)
{
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 3, 100, &jobs), 0);
    nn_jobs_limit(jobs, 2, 0);
    for (uint64_t i = 0; i < 6; i++) /* over three connections */
        ck_assert_int_eq(submit(jobs, 100 + i % 3, NN_JOBS_HIGH, i, true), 0);
    wait_running(2);
    /* The other user's job runs although six of a higher priority came first. */
    ck_assert_int_eq(submit(jobs, 200, NN_JOBS_LOW, 77, false), 0);
    wait_seen(1);
    ck_assert_uint_eq(board.seen[0], 77);
    open_gate();
    wait_seen(7);
    nn_jobs_free(jobs);
    ck_assert_uint_eq(board.max_running, 3);
}
TEST_END

/* Three users below their limit do not take the last thread from a fourth one. */
TEST(the_last_thread_is_left_for_a_user_that_runs_nothing)
{
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 5, 100, &jobs), 0);
    nn_jobs_limit(jobs, 3, 0);
    for (uint64_t i = 0; i < 9; i++)
        ck_assert_int_eq(submit(jobs, 100 * (1 + i % 3), NN_JOBS_HIGH, i, true), 0);
    wait_running(4);
    ck_assert_int_eq(submit(jobs, 400, NN_JOBS_LOW, 77, false), 0);
    wait_seen(1);
    ck_assert_uint_eq(board.seen[0], 77);
    open_gate();
    wait_seen(10);
    nn_jobs_free(jobs);
}
TEST_END

/* Nor do four users that have all threads keep others waiting, which get a thread each. */
TEST(each_user_that_runs_nothing_finds_a_thread)
{
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 5, 100, &jobs), 0);
    nn_jobs_limit(jobs, 3, 0);
    for (uint64_t i = 0; i < 9; i++)
        ck_assert_int_eq(submit(jobs, 100 * (1 + i % 3), NN_JOBS_HIGH, i, true), 0);
    wait_running(4);
    for (uint64_t i = 0; i < 6; i++) /* two of each */
        ck_assert_int_eq(submit(jobs, 400 + 100 * (i % 3), NN_JOBS_LOW, 70 + i, true), 0);
    wait_running(7);
    ck_assert_int_eq(submit(jobs, 700, NN_JOBS_LOW, 77, false), 0);
    wait_seen(1);
    ck_assert_uint_eq(board.seen[0], 77);
    ck_assert_uint_eq(board.max_running, 8);
    open_gate();
    wait_seen(16);
    nn_jobs_free(jobs);
}
TEST_END

TEST(one_owner_leaves_threads_to_the_others_of_its_user)
{
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 4, 100, &jobs), 0);
    nn_jobs_limit(jobs, 3, 2);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(submit(jobs, 101, NN_JOBS_HIGH, i, true), 0);
    wait_running(2);
    ck_assert_int_eq(submit(jobs, 102, NN_JOBS_LOW, 77, false), 0);
    wait_seen(1);
    ck_assert_uint_eq(board.seen[0], 77);
    open_gate();
    wait_seen(6);
    nn_jobs_free(jobs);
}
TEST_END

/* A user with two connections has as many turns as one with one. */
TEST(users_take_turns_and_then_their_owners)
{
    static const uint64_t wanted[] = {1, 10, 30, 20, 31, 11, 32, 21};
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 1, 100, &jobs), 0);
    ck_assert_int_eq(submit(jobs, 900, NN_JOBS_MEDIUM, 1, true), 0);
    wait_running(1);
    for (uint64_t i = 0; i < 2; i++)
        ck_assert_int_eq(submit(jobs, 101, NN_JOBS_MEDIUM, 10 + i, false), 0);
    for (uint64_t i = 0; i < 2; i++)
        ck_assert_int_eq(submit(jobs, 102, NN_JOBS_MEDIUM, 20 + i, false), 0);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(submit(jobs, 201, NN_JOBS_MEDIUM, 30 + i, false), 0);
    open_gate();
    wait_seen(NN_N_ELEMENTS(wanted));
    nn_jobs_free(jobs);
    for (size_t i = 0; i < NN_N_ELEMENTS(wanted); i++)
        ck_assert_uint_eq(board.seen[i], wanted[i]);
}
TEST_END

TEST(a_forked_child_has_no_threads_and_says_so)
{
    struct nn_jobs *jobs = NULL;
    int status;
    pid_t pid;

#ifdef __SANITIZE_ADDRESS__
    return; /* its allocator's lock may be taken by the other thread for ever */
#endif
    ck_assert_int_eq(nn_jobs_new("test", 2, 10, &jobs), 0);
    ck_assert_int_eq(submit(jobs, 1, NN_JOBS_MEDIUM, 1, false), 0);
    wait_seen(1);
    pid = fork();
    if (pid == 0) {
        int r = submit(jobs, 1, NN_JOBS_MEDIUM, 2, false);

        nn_jobs_cancel_owner(jobs, 1);
        nn_jobs_free(jobs);
        _exit(r == -ECHILD ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    nn_jobs_free(jobs);
}
TEST_END

TEST(low_priority_leaves_threads_to_the_same_user)
{
    struct nn_jobs *jobs = NULL;

    ck_assert_int_eq(nn_jobs_new("test", 8, 100, &jobs), 0);
    nn_jobs_limit(jobs, 6, 4);
    nn_jobs_limit_low(jobs, 2);
    for (uint64_t i = 0; i < 40; i++)
        ck_assert_int_eq(submit(jobs, 100, NN_JOBS_LOW, i, true), 0);
    wait_running(2);
    ck_assert_int_eq(submit(jobs, 100, NN_JOBS_HIGH, 100, false), 0);
    wait_seen(1);
    ck_assert_uint_eq(board.seen[0], 100);
    ck_assert_uint_eq(board.n_running, 2);
    open_gate();
    wait_seen(41);
    nn_jobs_free(jobs);
}
TEST_END

struct noted_job {
    struct nn_job job;
    pthread_t thread;
    bool has_run;
};

static void run_noted(struct nn_job *job)
{
    struct noted_job *noted = NN_CONTAINER_OF(job, struct noted_job, job);

    pthread_mutex_lock(&board.lock);
    noted->thread = pthread_self();
    noted->has_run = true;
    pthread_cond_broadcast(&board.changed);
    pthread_mutex_unlock(&board.lock);
}

static pthread_t run_on_any(struct nn_jobs *jobs)
{
    struct noted_job noted = {.job = {.priority = NN_JOBS_MEDIUM, .run = run_noted}};

    ck_assert_int_eq(nn_jobs_submit(jobs, &noted.job), 0);
    pthread_mutex_lock(&board.lock);
    while (!noted.has_run)
        pthread_cond_wait(&board.changed, &board.lock);
    pthread_mutex_unlock(&board.lock);
    return noted.thread;
}

/* So that those that are not needed any more end, though there always is some work. */
TEST(the_thread_that_was_idle_last_works_first)
{
    enum { N_THREADS = 8, N_ROUNDS = 64 };
    const struct timespec nap = {.tv_nsec = 2000000}; /* until it is idle again */
    pthread_t threads[N_ROUNDS];
    struct nn_jobs *jobs;
    size_t n_threads = 0;

    ck_assert_int_eq(nn_jobs_new("test", N_THREADS, 100, &jobs), 0);
    for (uint64_t i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(submit(jobs, 100, NN_JOBS_MEDIUM, i, true), 0);
    wait_running(N_THREADS);
    open_gate();
    wait_seen(N_THREADS);
    for (int i = 0; i < N_ROUNDS; i++) {
        size_t j = 0;

        nanosleep(&nap, NULL);
        threads[n_threads] = run_on_any(jobs);
        while (!pthread_equal(threads[j], threads[n_threads]))
            j++;
        n_threads += j == n_threads;
    }
    ck_assert_uint_lt(n_threads, N_THREADS / 2);
    nn_jobs_free(jobs);
}
TEST_END

CHECK_MAIN("jobs", owners_take_turns_and_have_higher_priorities_first,
           threads_are_bounded_blocked_for_signals_and_gone_afterwards,
           a_full_queue_says_so_and_cancelled_jobs_do_not_run,
           freeing_cancels_what_is_queued_and_waits_for_what_runs,
           one_user_does_not_get_every_thread, the_last_thread_is_left_for_a_user_that_runs_nothing,
           each_user_that_runs_nothing_finds_a_thread,
           one_owner_leaves_threads_to_the_others_of_its_user,
           users_take_turns_and_then_their_owners, a_forked_child_has_no_threads_and_says_so,
           low_priority_leaves_threads_to_the_same_user, the_thread_that_was_idle_last_works_first)
