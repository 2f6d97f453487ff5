/* SPDX-License-Identifier: Apache-2.0 */
#include "base/permits.h"

#include "support/check-main.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

enum { A = 1000, B = 1001 };

#define MS UINT64_C(1000000)

/* The time, which stands still unless a test moves it. */
static _Atomic uint64_t now_ns = 1000 * MS;

static uint64_t test_clock(void)
{
    return now_ns;
}

/* A thread that enters, and leaves when it is told to. */
struct work {
    struct nn_permits *permits;
    struct nn_permit permit;
    uint64_t user;
    enum nn_jobs_priority priority;
    uint32_t is_cancelled;
    uint64_t deadline_ns; /* 0: none */
    _Atomic uint32_t has_entered, is_over, gives_way;
    pthread_t thread;
};

static void *work_main(void *argument)
{
    struct work *work = argument;

    work->permit.deadline_ns = work->deadline_ns ? work->deadline_ns : UINT64_MAX;
    work->permit.is_cancelled = &work->is_cancelled;
    nn_permit_begin(&work->permit, work->permits, work->user, work->priority);
    work->has_entered = 1;
    while (!work->is_over) {
        if (work->gives_way)
            nn_permit_give_way(&work->permit);
        sched_yield();
    }
    nn_permit_end(&work->permit);
    return NULL;
}

static void work_start(struct work *work, struct nn_permits *permits, uint64_t user,
                       enum nn_jobs_priority priority)
{
    work->permits = permits;
    work->user = user;
    work->priority = priority;
    pthread_create(&work->thread, NULL, work_main, work);
}

static void work_end(struct work *work)
{
    work->is_over = 1;
    pthread_join(work->thread, NULL);
}

static void wait_running(struct nn_permits *permits, uint64_t user, size_t n)
{
    while (nn_permits_n_running(permits, user) != n)
        sched_yield();
}

static void wait_waiting(struct nn_permits *permits, uint64_t user, size_t n)
{
    while (nn_permits_n_waiting(permits, user) != n)
        sched_yield();
}

/* A user that computes for a moment. */
static void compute_once(struct nn_permits *permits, uint64_t user)
{
    struct nn_permit permit = {.deadline_ns = UINT64_MAX};

    nn_permit_begin(&permit, permits, user, NN_JOBS_MEDIUM);
    ck_assert_uint_eq(nn_permits_n_running(permits, user), 1);
    nn_permit_end(&permit);
}

/* All of them, of which some may wait for others to end. */
static void works_end(struct work *works, size_t n)
{
    for (size_t i = 0; i < n; i++)
        works[i].is_over = 1;
    for (size_t i = 0; i < n; i++)
        pthread_join(works[i].thread, NULL);
}

TEST(a_user_alone_has_all_cpus)
{
    struct work works[8] = {0};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(4, test_clock, &permits), 0);
    for (size_t i = 0; i < 4; i++)
        work_start(&works[i], permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 4);
    ck_assert_uint_eq(*nn_permit_is_wanted(&works[0].permit), 0);
    for (size_t i = 4; i < 8; i++)
        work_start(&works[i], permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 4);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 4);
    works_end(works, 8);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 0);
    nn_permits_free(permits);
}
TEST_END

TEST(nothing_is_counted_where_there_is_one_user)
{
    struct nn_permit permit = {.deadline_ns = UINT64_MAX};

    nn_permit_begin(&permit, NULL, A, NN_JOBS_MEDIUM);
    nn_permit_give_way(&permit);
    nn_permit_leave(&permit);
    nn_permit_enter(&permit);
    nn_permit_end(&permit);
    ck_assert_ptr_null(nn_permit_is_wanted(&permit));
    ck_assert_uint_eq(nn_permit_n_helpers(&permit), UINT32_MAX);
}
TEST_END

/* On n_cpus CPUs (up to 8), of eight threads of a user wanted go on while another user is
 * recent. */
static void expect_half(size_t n_cpus, size_t wanted)
{
    struct work works[8] = {0};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(n_cpus, test_clock, &permits), 0);
    for (size_t i = 0; i < 8; i++) {
        works[i].gives_way = 1;
        work_start(&works[i], permits, A, NN_JOBS_MEDIUM);
    }
    wait_running(permits, A, n_cpus);
    wait_waiting(permits, A, 8 - n_cpus);
    compute_once(permits, B);
    wait_running(permits, A, wanted);
    ck_assert_uint_eq(nn_permits_n_waiting(permits, A), 8 - wanted);
    /* It computes at once, as often as it likes. */
    for (size_t i = 0; i < 100; i++)
        compute_once(permits, B);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), wanted);
    now_ns += 99 * MS;
    nn_permits_wake(permits);
    compute_once(permits, B);
    ck_assert_uint_le(nn_permits_n_running(permits, A), wanted);
    now_ns += 100 * MS;
    nn_permits_wake(permits);
    wait_running(permits, A, n_cpus);
    works_end(works, 8);
    nn_permits_free(permits);
}

TEST(half_of_the_cpus_while_another_user_is_recent)
{
    expect_half(1, 1);
    expect_half(2, 1);
    expect_half(3, 1);
    expect_half(4, 2);
    expect_half(8, 4);
}
TEST_END

TEST(work_that_begins_waits_for_its_own_user_alone)
{
    struct work works[3] = {0};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    compute_once(permits, B);
    work_start(&works[0], permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 1);
    work_start(&works[1], permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 1);
    ck_assert_uint_eq(*nn_permit_is_wanted(&works[0].permit), 1);
    compute_once(permits, B);
    work_start(&works[2], permits, B, NN_JOBS_MEDIUM);
    wait_running(permits, B, 1);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 1);
    work_end(&works[0]);
    wait_running(permits, A, 1);
    work_end(&works[1]);
    work_end(&works[2]);
    nn_permits_free(permits);
}
TEST_END

/* A thread of a driver looks every 250 us (base/stop.h) to 1 ms. */
TEST(higher_priorities_of_a_user_overtake_what_runs)
{
    struct work low = {.gives_way = 1}, medium = {.gives_way = 1}, high = {.gives_way = 1};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    compute_once(permits, B);
    work_start(&low, permits, A, NN_JOBS_LOW);
    wait_running(permits, A, 1);
    work_start(&medium, permits, A, NN_JOBS_MEDIUM);
    while (!medium.has_entered)
        sched_yield();
    work_start(&high, permits, A, NN_JOBS_HIGH);
    while (!high.has_entered)
        sched_yield();
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 1);
    ck_assert_uint_eq(nn_permits_n_waiting(permits, A), 2);
    work_end(&high);
    work_end(&medium);
    work_end(&low);
    nn_permits_free(permits);
}
TEST_END

TEST(low_priority_gives_way_to_the_others_of_all_users)
{
    struct work low[2] = {{.gives_way = 1}, {.gives_way = 1}}, high[2] = {0};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    work_start(&low[0], permits, A, NN_JOBS_LOW);
    work_start(&low[1], permits, A, NN_JOBS_LOW);
    wait_running(permits, A, 2);
    /* One CPU is left, then none; the user of the others is not limited by it. */
    work_start(&high[0], permits, B, NN_JOBS_HIGH);
    wait_running(permits, A, 1);
    work_start(&high[1], permits, B, NN_JOBS_MEDIUM);
    wait_running(permits, B, 2);
    wait_running(permits, A, 0);
    ck_assert_uint_eq(nn_permits_n_waiting(permits, A), 2);
    work_end(&high[0]);
    wait_running(permits, A, 1);
    work_end(&high[1]);
    now_ns += 100 * MS;
    nn_permits_wake(permits);
    wait_running(permits, A, 2);
    work_end(&low[0]);
    work_end(&low[1]);
    nn_permits_free(permits);
}
TEST_END

TEST(equals_take_turns_and_what_begins_passes_them)
{
    struct work works[2] = {{.gives_way = 1}, {.gives_way = 1}}, late = {.gives_way = 1};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    compute_once(permits, B);
    work_start(&works[0], permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 1);
    work_start(&works[1], permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 1);
    for (size_t i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_uint_eq(works[1].has_entered, 0);
    now_ns += 5 * MS;
    while (!works[1].has_entered)
        sched_yield();
    work_start(&late, permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 2);
    now_ns += NN_PERMITS_TURN_NS;
    while (!late.has_entered)
        sched_yield();
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 1);
    work_end(&late);
    work_end(&works[0]);
    work_end(&works[1]);
    nn_permits_free(permits);
}
TEST_END

TEST(a_wait_ends_though_no_thread_gives_way)
{
    struct work holder = {0}, waits = {0}, has_deadline = {0}, is_dead = {0};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    compute_once(permits, B);
    work_start(&holder, permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 1);
    has_deadline.deadline_ns = now_ns + 20 * MS;
    work_start(&has_deadline, permits, A, NN_JOBS_MEDIUM);
    work_start(&is_dead, permits, A, NN_JOBS_MEDIUM);
    work_start(&waits, permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 3);
    __atomic_store_n(&is_dead.is_cancelled, 1, __ATOMIC_RELAXED);
    nn_permits_wake(permits);
    wait_running(permits, A, 2);
    while (!is_dead.has_entered)
        sched_yield();
    now_ns += 20 * MS;
    nn_permits_wake(permits);
    wait_running(permits, A, 3);
    now_ns += NN_PERMITS_WAIT_NS;
    nn_permits_wake(permits);
    wait_running(permits, A, 4);
    work_end(&holder);
    work_end(&waits);
    work_end(&has_deadline);
    work_end(&is_dead);
    nn_permits_free(permits);
}
TEST_END

TEST(threads_that_are_stuck_cost_one_wait)
{
    struct work works[3] = {{0}, {.gives_way = 1}, {.gives_way = 1}}, first = {0}, other = {0};
    struct work *stuck = &works[0];
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    work_start(&other, permits, B, NN_JOBS_MEDIUM);
    wait_running(permits, B, 1);
    work_start(stuck, permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 1);
    work_start(&first, permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 1);
    now_ns += NN_PERMITS_WAIT_NS;
    nn_permits_wake(permits);
    wait_running(permits, A, 2);
    work_end(&first);
    /* It counts for nothing now. */
    for (int i = 0; i < 3; i++) {
        struct nn_permit permit = {.deadline_ns = UINT64_MAX};

        nn_permit_begin(&permit, permits, A, NN_JOBS_MEDIUM);
        nn_permit_end(&permit);
    }
    /* It goes on: the user has one thread again. */
    work_start(&works[1], permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 2);
    ck_assert_uint_eq(*nn_permit_is_wanted(&stuck->permit), 1);
    stuck->gives_way = 1;
    wait_running(permits, A, 1);
    wait_waiting(permits, A, 1);
    work_start(&works[2], permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 2);
    works_end(works, 3);
    work_end(&other);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 0);
    nn_permits_free(permits);
}
TEST_END

static void *help(void *permit)
{
    nn_permit_enter(permit);
    return NULL;
}

/* The threads of one work are stuck together and go on together: its first look counts all of
 * them again. */
TEST(a_team_that_was_stuck_is_counted_again)
{
    struct nn_permit team = {.deadline_ns = UINT64_MAX}, late = {.deadline_ns = UINT64_MAX};
    struct work waits = {0}, alone = {0};
    struct nn_permits *permits;
    pthread_t helper;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    nn_permit_begin(&team, permits, A, NN_JOBS_MEDIUM);
    pthread_create(&helper, NULL, help, &team);
    pthread_join(helper, NULL);
    work_start(&waits, permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 1);
    now_ns += NN_PERMITS_WAIT_NS;
    nn_permits_wake(permits);
    wait_running(permits, A, 3);
    work_end(&waits);
    nn_permit_begin(&late, permits, A, NN_JOBS_MEDIUM); /* two stuck ones count for nothing */
    nn_permit_end(&late);
    nn_permit_give_way(&team);
    work_start(&alone, permits, A, NN_JOBS_MEDIUM);
    wait_waiting(permits, A, 1);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 2);
    nn_permit_leave(&team);
    wait_running(permits, A, 2);
    nn_permit_end(&team);
    work_end(&alone);
    nn_permits_free(permits);
}
TEST_END

/* Calls of low priority of another user wait for CPUs, which threads that are stuck do not use. */
TEST(threads_that_are_stuck_use_no_cpu)
{
    struct work stuck[2] = {{0}}, low = {0};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    for (size_t i = 0; i < 2; i++)
        work_start(&stuck[i], permits, A, NN_JOBS_MEDIUM);
    wait_running(permits, A, 2);
    work_start(&low, permits, B, NN_JOBS_LOW);
    wait_waiting(permits, B, 1);
    now_ns += NN_PERMITS_WAIT_NS;
    nn_permits_wake(permits);
    wait_running(permits, B, 1);
    work_end(&low);
    low = (struct work){0};
    work_start(&low, permits, B, NN_JOBS_LOW);
    wait_running(permits, B, 1);
    work_end(&low);
    works_end(stuck, 2);
    nn_permits_free(permits);
}
TEST_END

TEST(helpers_come_where_a_cpu_is_free)
{
    struct nn_permit a = {.deadline_ns = UINT64_MAX}, b = {.deadline_ns = UINT64_MAX};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(4, test_clock, &permits), 0);
    nn_permit_begin(&a, permits, A, NN_JOBS_MEDIUM);
    ck_assert_uint_eq(nn_permit_n_helpers(&a), 3);
    nn_permit_begin(&b, permits, B, NN_JOBS_MEDIUM);
    ck_assert_uint_eq(nn_permit_n_helpers(&a), 1);
    nn_permit_enter(&a);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 2);
    ck_assert_uint_eq(nn_permit_n_helpers(&a), 0);
    ck_assert_uint_eq(nn_permit_n_helpers(&b), 1);
    nn_permit_end(&b);
    ck_assert_uint_eq(nn_permit_n_helpers(&a), 0);
    /* No call says that the other user is quiet. */
    now_ns += 100 * MS;
    ck_assert_uint_eq(nn_permit_n_helpers(&a), 2);
    nn_permit_leave(&a);
    ck_assert_uint_eq(nn_permit_n_helpers(&a), 3);
    nn_permit_end(&a);
    nn_permits_free(permits);
}
TEST_END

/* Many users, threads and priorities: no count goes astray, nothing is left waiting. */
static void *work_mix(void *argument)
{
    struct nn_permits *permits = argument;
    static _Atomic uint32_t n_started;
    uint32_t seed = ++n_started;

    for (uint32_t i = 0; i < 300; i++) {
        /* Waits that end at once are those that find threads stuck. */
        struct nn_permit permit = {.deadline_ns = i % 7 ? UINT64_MAX : 0};

        seed = seed * 1103515245 + 12345;
        nn_permit_begin(&permit, permits, seed >> 16 & 3, NN_JOBS_MEDIUM);
        nn_permit_set_priority(&permit, (enum nn_jobs_priority)((seed >> 18) % 3));
        nn_permit_give_way(&permit);
        nn_permit_leave(&permit);
        nn_permit_enter(&permit);
        nn_permit_give_way(&permit);
        nn_permit_end(&permit);
    }
    return NULL;
}

TEST(counts_are_whole_after_any_mix)
{
    struct nn_permits *permits;
    pthread_t threads[8];

    ck_assert_int_eq(nn_permits_new(2, NULL, &permits), 0);
    for (size_t i = 0; i < NN_N_ELEMENTS(threads); i++)
        pthread_create(&threads[i], NULL, work_mix, permits);
    for (size_t i = 0; i < NN_N_ELEMENTS(threads); i++)
        pthread_join(threads[i], NULL);
    for (uint64_t user = 0; user < 4; user++) {
        ck_assert_uint_eq(nn_permits_n_running(permits, user), 0);
        ck_assert_uint_eq(nn_permits_n_waiting(permits, user), 0);
    }
    nn_permits_free(permits);
}
TEST_END

TEST(opened_work_counts_from_its_first_thread)
{
    struct nn_permit permit = {.deadline_ns = UINT64_MAX};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    nn_permit_open(&permit, permits, A, NN_JOBS_MEDIUM);
    ck_assert_ptr_nonnull(nn_permit_is_wanted(&permit));
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 0);
    nn_permit_enter(&permit);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 1);
    nn_permit_leave(&permit);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 0);
    nn_permit_end(&permit);
    ck_assert_ptr_null(nn_permit_is_wanted(&permit));
    nn_permit_open(&permit, NULL, A, NN_JOBS_MEDIUM);
    ck_assert_ptr_null(nn_permit_is_wanted(&permit));
    nn_permit_end(&permit);
    nn_permits_free(permits);
}
TEST_END

/* As a driver may that leaves and enters by itself. */
TEST(who_leaves_too_often_or_never_is_counted_right)
{
    struct nn_permit permit = {.deadline_ns = UINT64_MAX};
    struct nn_permits *permits;

    ck_assert_int_eq(nn_permits_new(2, test_clock, &permits), 0);
    nn_permit_begin(&permit, permits, A, NN_JOBS_MEDIUM);
    nn_permit_leave(&permit);
    nn_permit_leave(&permit);
    nn_permit_give_way(&permit);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 0);
    nn_permit_end(&permit);
    nn_permit_open(&permit, permits, A, NN_JOBS_MEDIUM);
    nn_permit_leave(&permit);
    nn_permit_enter(&permit);
    nn_permit_enter(&permit);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 2);
    nn_permit_end(&permit);
    ck_assert_uint_eq(nn_permits_n_running(permits, A), 0);
    nn_permits_free(permits);
}
TEST_END

CHECK_MAIN("permits", a_user_alone_has_all_cpus, nothing_is_counted_where_there_is_one_user,
           half_of_the_cpus_while_another_user_is_recent,
           work_that_begins_waits_for_its_own_user_alone,
           higher_priorities_of_a_user_overtake_what_runs,
           low_priority_gives_way_to_the_others_of_all_users,
           equals_take_turns_and_what_begins_passes_them, a_wait_ends_though_no_thread_gives_way,
           threads_that_are_stuck_cost_one_wait, a_team_that_was_stuck_is_counted_again,
           threads_that_are_stuck_use_no_cpu, helpers_come_where_a_cpu_is_free,
           counts_are_whole_after_any_mix, opened_work_counts_from_its_first_thread,
           who_leaves_too_often_or_never_is_counted_right)
