/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that dies of certain inputs and does not return from others (wild-driver.c). */
#include "ways.h"

#include <nnhal/ext.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)

enum {
    DEADLY = 666,
    ENDLESS = 777,
    N_STUCK = 20, /* more than a service has workers for one client */
};

TEST(a_request_that_killed_twice_is_not_tried_a_third_time)
{
    struct ways_formula formula;
    char text[512] = "";
    pid_t pid;

    if (ways_is("service"))
        return; /* which does not come back by itself here */
    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    OK(ways_formula_run(&formula, 1));
    IS(DEAD_OBJECT, ways_formula_run(&formula, DEADLY));
    OK(ways_formula_run(&formula, 2));
    pid = ways_pid();
    IS(DEAD_OBJECT, ways_formula_run(&formula, DEADLY));
    ck_assert(nnhal_execution_get_error(formula.execution, text, sizeof(text)) > 0);
    ck_assert_msg(strstr(text, "third") != NULL, "%s", text);
    OK(ways_formula_run(&formula, 3));
    ck_assert_int_eq(ways_pid(), pid);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

static void *run_endless(void *argument)
{
    struct ways_formula *formula = argument;
    uint64_t begin_ns = ways_now_ns();
    int result = ways_formula_run(formula, ENDLESS);

    ck_assert_uint_lt(ways_now_ns() - begin_ns, 5 * S);
    ck_assert_msg(result == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
                      result == ANEURALNETWORKS_DEAD_OBJECT,
                  "%d", result);
    return NULL;
}

/* The call ends with its deadline. A private child is killed; a service ends itself half a
 * second later, after which what comes with a new process works. */
TEST(a_driver_that_does_not_return_is_left)
{
    static struct ways_formula formulas[N_STUCK];
    pthread_t threads[N_STUCK];
    uint64_t begin_ns;
    int result;

    setenv("NNHAL_OVERDUE_MS", "500", 1);
    ways_begin();
    for (int i = 0; i < N_STUCK; i++) {
        OK(ways_formula_compile(&formulas[i]));
        ways_formula_bind_within(&formulas[i], i & 1, 200000000);
        OK(ways_formula_run(&formulas[i], i));
    }
    for (int i = 0; i < N_STUCK; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_endless, &formulas[i]), 0);
    for (int i = 0; i < N_STUCK; i++)
        pthread_join(threads[i], NULL);
    if (ways_is("service")) {
        ways_await_service_end(10 * S);
        ways_start_service();
    }
    begin_ns = ways_now_ns();
    do
        result = ways_formula_run(&formulas[0], 4);
    while (result != ANEURALNETWORKS_NO_ERROR && ways_now_ns() - begin_ns < 10 * S);
    OK(result);
    for (int i = 0; i < N_STUCK; i++)
        ways_formula_done(&formulas[i]);
    ways_end();
}
TEST_END

static void *outlast_endless(void *argument)
{
    IS(DEAD_OBJECT, ways_formula_run(argument, ENDLESS));
    return NULL;
}

/* Without deadlines: all workers of the client are occupied, and the service still answers pings,
 * so that nothing is given up. */
TEST(busy_workers_do_not_look_like_a_stopped_service)
{
    static struct ways_formula formulas[N_STUCK];
    pthread_t threads[N_STUCK];

    if (!ways_is("service"))
        return;
    setenv("NNHAL_RECOVERY", "off", 1);
    ways_begin();
    for (int i = 0; i < N_STUCK; i++) {
        OK(ways_formula_compile(&formulas[i]));
        ways_formula_bind(&formulas[i], true);
    }
    for (int i = 0; i < N_STUCK; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, outlast_endless, &formulas[i]), 0);
    ways_nap(6 * S);
    ck_assert_int_eq(ways_pid(), ways_service()); /* the session lives */
    ways_kill_service(SIGKILL);
    for (int i = 0; i < N_STUCK; i++) {
        pthread_join(threads[i], NULL);
        ways_formula_done(&formulas[i]);
    }
    ways_end();
}
TEST_END

CHECK_MAIN("wild-" WAY, a_request_that_killed_twice_is_not_tried_a_third_time,
           a_driver_that_does_not_return_is_left, busy_workers_do_not_look_like_a_stopped_service)
