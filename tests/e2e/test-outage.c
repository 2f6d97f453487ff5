/* SPDX-License-Identifier: Apache-2.0 */
/* A driver's process that is gone for a while, or dies again at once, under
 * threads that go on calling: some calls may end with DEAD_OBJECT meanwhile, but
 * all threads compute again when it is back. NN_TEST_ROUNDS says how many outages
 * are drawn from the seed (6, so that there are 8 with those of tests of their own; 60 and 62 in the
 * suite slow), and with it they last up to 5 s instead of 300 ms. */
#include "ways.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { MAX_CALLERS = 32, N_EVENTS = 64 };

/* A hang is what is longer than any load of the machine. */
#define HANG_NS UINT64_C(20000000000)
/* A loaded machine lets a child look dead more often than it is killed: the pauses between attempts
 * grow then, one after the other up to 16 s. A model that was being prepared at two deaths in a row
 * is refused for a minute. */
#define HEALING_NS UINT64_C(120000000000)
#define EVENT_NS   UINT64_C(40000000000)
#define MS         UINT64_C(1000000)

struct caller {
    pthread_t thread;
    struct ways_formula formula;
    uint64_t pause_ns;
    uint32_t n_successes; /* in a row; atomic */
    bool on_burst;
};

struct outage {
    uint32_t n_callers;
    uint32_t n_kills;
    uint64_t length_ns;
    uint64_t pause_ns;
};

static uint32_t is_over;
static uint32_t last_seed; /* no request twice: one that saw two deaths is refused for a while */

static void *call_repeatedly(void *argument)
{
    struct caller *caller = argument;

    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        uint64_t begin_ns = ways_now_ns();
        int seed = (int)__atomic_add_fetch(&last_seed, 1, __ATOMIC_RELAXED);
        int result = ways_formula_run(&caller->formula, seed);

        ck_assert_uint_lt(ways_now_ns() - begin_ns, HANG_NS);
        if (result == ANEURALNETWORKS_NO_ERROR) {
            __atomic_add_fetch(&caller->n_successes, 1, __ATOMIC_RELAXED);
        } else {
            ck_assert_int_eq(result, ANEURALNETWORKS_DEAD_OBJECT);
            __atomic_store_n(&caller->n_successes, 0, __ATOMIC_RELAXED);
        }
        ways_nap(caller->pause_ns);
    }
    return NULL;
}

static void start_callers(struct caller *callers, const struct outage *outage)
{
    is_over = 0;
    for (uint32_t i = 0; i < outage->n_callers; i++) {
        callers[i] = (struct caller){.pause_ns = outage->pause_ns, .on_burst = i % 4 == 3};
        OK(ways_formula_compile(&callers[i].formula));
        ways_formula_bind(&callers[i].formula, i & 1);
        if (callers[i].on_burst)
            ways_formula_burst(&callers[i].formula);
        OK(ways_formula_run(&callers[i].formula,
                            (int)__atomic_add_fetch(&last_seed, 1, __ATOMIC_RELAXED)));
    }
    for (uint32_t i = 0; i < outage->n_callers; i++)
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call_repeatedly, &callers[i]), 0);
}

/* Counted anew from now on, so that what is seen came after the return. */
static void expect_all_work(struct caller *callers, const struct outage *outage)
{
    uint64_t limit_ns = ways_now_ns() + HEALING_NS;

    for (uint32_t i = 0; i < outage->n_callers; i++)
        __atomic_store_n(&callers[i].n_successes, 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < outage->n_callers; i++)
        while (__atomic_load_n(&callers[i].n_successes, __ATOMIC_RELAXED) < 3) {
            ck_assert_msg(ways_now_ns() < limit_ns,
                          "compilation %u of %u has not healed (%u kills, %llu ms, every %llu ms)",
                          i, outage->n_callers, outage->n_kills,
                          (unsigned long long)(outage->length_ns / MS),
                          (unsigned long long)(outage->pause_ns / MS));
            ways_nap(MS);
        }
}

static void end_callers(struct caller *callers, const struct outage *outage)
{
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < outage->n_callers; i++) {
        pthread_join(callers[i].thread, NULL);
        ways_formula_done(&callers[i].formula);
    }
}

/* A private child comes back with the next call, whose process is killed in turn. */
static void kill_driver(uint64_t length_ns)
{
    if (ways_is("service")) {
        ways_kill_service(SIGKILL);
        ways_nap(length_ns);
        ways_start_service();
    } else {
        pid_t pid = ways_pid();

        if (pid > 0)
            kill(pid, SIGKILL);
        ways_nap(length_ns);
    }
}

static void survive_outage(const struct outage *outage)
{
    struct caller *callers = calloc(outage->n_callers, sizeof(*callers));

    ck_assert_ptr_nonnull(callers);
    start_callers(callers, outage);
    for (uint32_t i = 0; i < outage->n_kills; i++)
        kill_driver(outage->length_ns);
    expect_all_work(callers, outage);
    end_callers(callers, outage);
    free(callers);
}

TEST(twenty_ms_under_twenty_calls_a_second)
{
    const struct outage outage = {1, 1, 200 * MS, 20 * MS};

    ways_begin();
    survive_outage(&outage);
    ways_end();
}
TEST_END

TEST(two_and_three_kills_under_four_compilations)
{
    struct outage outage = {4, 2, 30 * MS, 5 * MS};

    ways_begin();
    survive_outage(&outage);
    outage.n_kills = 3;
    survive_outage(&outage);
    ways_end();
}
TEST_END

/* As many as the library has threads for computations are on their way when the process dies, so
 * that each thread waits for its model to be prepared again. */
TEST(as_many_events_as_there_are_threads)
{
    static struct ways_formula formulas[N_EVENTS];
    ANeuralNetworksEvent *events[N_EVENTS];
    uint64_t begin_ns;
    pid_t pid;

    ways_begin();
    for (int i = 0; i < N_EVENTS; i++) {
        OK(ways_formula_compile(&formulas[i]));
        ways_formula_bind_within(&formulas[i], i & 1, EVENT_NS);
        ways_formula_fill(&formulas[i], i);
    }
    pid = ways_pid();
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    for (int i = 0; i < N_EVENTS; i++)
        OK(ANeuralNetworksExecution_startCompute(formulas[i].execution, &events[i]));
    ways_nap(300 * MS);
    kill(pid, SIGKILL);
    if (ways_is("service")) {
        ways_await_service_end(HANG_NS);
        ways_nap(20 * MS);
        ways_start_service();
    }
    begin_ns = ways_now_ns();
    for (int i = 0; i < N_EVENTS; i++) {
        OK(ANeuralNetworksEvent_wait(events[i]));
        ways_formula_check(&formulas[i]);
        ANeuralNetworksEvent_free(events[i]);
    }
    ck_assert_uint_lt(ways_now_ns() - begin_ns, EVENT_NS / 2);
    for (int i = 0; i < N_EVENTS; i++)
        ways_formula_done(&formulas[i]);
    ways_end();
}
TEST_END

static uint64_t draw(unsigned *seed, uint64_t from, uint64_t to)
{
    return from + (uint64_t)rand_r(seed) % (to - from + 1);
}

TEST(outages_of_all_lengths)
{
    const char *rounds = getenv("NN_TEST_ROUNDS");
    unsigned seed = 12;

    ways_begin();
    for (int i = 0; i < (rounds ? atoi(rounds) : 6); i++) {
        struct outage outage = {
            .n_callers = (uint32_t)draw(&seed, 1, rounds ? MAX_CALLERS : 8),
            .n_kills = (uint32_t)draw(&seed, 1, 3),
            .length_ns = draw(&seed, 5, rounds ? 5000 : 300) * MS,
            .pause_ns = draw(&seed, 2, rounds ? 1000 : 50) * MS,
        };

        survive_outage(&outage);
    }
    ways_end();
}
TEST_END

CHECK_MAIN("outage-" WAY, twenty_ms_under_twenty_calls_a_second,
           two_and_three_kills_under_four_compilations, as_many_events_as_there_are_threads,
           outages_of_all_lengths)
