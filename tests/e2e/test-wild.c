/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that dies of certain inputs, does not return from others, and goes on writing after
 * its caller has left (wild-driver.c). */
#include "ways.h"

#include "support/lateness.h"

#include <nnhal/ext.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

/* Of calls that a busy machine is to answer in time, too. */
#define TIMEOUT_NS S

enum {
    DEADLY = 666,
    ENDLESS = 777,
    SCRIBBLING = 888,
    UNTIL_DEADLINE = 999,
    N_STUCK = 20, /* more than a service has workers for one client */
};

struct killer {
    struct ways_formula formula;
    enum ways_path path;
};

/* The runtime tries it twice by itself, but once if it is the device that waits. */
static void *compute_deadly(void *argument)
{
    struct killer *killer = argument;

    for (int i = killer->path == WAYS_FENCED ? 0 : 1; i < 2; i++)
        IS(DEAD_OBJECT, ways_formula_run_by(killer->path, &killer->formula, DEADLY));
    return NULL;
}

/* A service is started again by this thread, since it ends with the thread that started it; a
 * private child is started by the runtime. */
static void let_it_kill(struct killer *killer)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, compute_deadly, killer), 0);
    if (ways_is("service")) {
        ways_await_service_end(20 * S);
        ways_spawn_service();
        ways_await_service_end(20 * S);
        ways_start_service();
    }
    pthread_join(thread, NULL);
}

/* The third time it is refused, with a sentence, and no process dies. */
static void kill_twice(enum ways_path path)
{
    struct killer killer = {.path = path};
    struct ways_formula *formula = &killer.formula;
    char text[512] = "";
    pid_t pid;

    ways_begin();
    OK(ways_formula_compile(formula));
    ways_formula_bind(formula, path == WAYS_FENCED);
    if (path == WAYS_BURST)
        ways_formula_burst(formula);
    OK(ways_formula_run_by(path, formula, 1));
    let_it_kill(&killer);
    OK(ways_formula_run_by(path, formula, 2));
    pid = ways_pid();
    IS(DEAD_OBJECT, ways_formula_run_by(path, formula, DEADLY));
    ck_assert(nnhal_execution_get_error(formula->execution, text, sizeof(text)) > 0);
    ck_assert_msg(strstr(text, "third") != NULL, "%s", text);
    OK(ways_formula_run_by(path, formula, 3));
    ck_assert_int_eq(ways_pid(), pid);
    ways_formula_done(formula);
    ways_end();
}

TEST(a_request_that_killed_twice_is_not_tried_a_third_time)
{
    kill_twice(WAYS_COMPUTE);
}
TEST_END

TEST(nor_in_a_burst)
{
    kill_twice(WAYS_BURST);
}
TEST_END

TEST(nor_with_an_event)
{
    kill_twice(WAYS_EVENT);
}
TEST_END

TEST(nor_by_the_device_itself)
{
    kill_twice(WAYS_FENCED);
}
TEST_END

/* Until its device has told of a success. */
static void launch_and_await(struct ways_formula *formula, ANeuralNetworksEvent **ret_event)
{
    struct pollfd fence = {.events = POLLIN};

    ways_formula_fill(formula, 1);
    OK(ANeuralNetworksExecution_startComputeWithDependencies(formula->execution, NULL, 0, 0,
                                                             ret_event));
    OK(ANeuralNetworksEvent_getSyncFenceFd(*ret_event, &fence.fd));
    ck_assert_int_eq(poll(&fence, 1, -1), 1);
    ck_assert_int_eq(fence.revents & (POLLIN | POLLERR), POLLIN);
    close(fence.fd);
}

static void kill_and_collect(ANeuralNetworksEvent *event)
{
    if (ways_is("service"))
        ways_kill_service(SIGKILL);
    else
        ck_assert_int_eq(kill(ways_pid(), SIGKILL), 0);
    IS(DEAD_OBJECT, ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    if (ways_is("service"))
        ways_start_service();
}

/* Its process dies twice before it is asked for the rest. */
TEST(a_request_of_whose_success_a_fence_has_told_is_no_suspect)
{
    struct ways_formula formula;
    ANeuralNetworksEvent *event;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    OK(ways_formula_run(&formula, 2));
    for (int i = 0; i < 2; i++) {
        launch_and_await(&formula, &event);
        kill_and_collect(event);
        OK(ways_formula_run(&formula, 2));
    }
    OK(ways_formula_run_by(WAYS_FENCED, &formula, 1));
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

/* Requests that kill, none twice. */
static int run_deadly(struct ways_formula *formula, int i)
{
    ways_formula_fill(formula, DEADLY);
    formula->y[0] = (float)i;
    return ANeuralNetworksExecution_compute(formula->execution);
}

/* After three deaths a call that comes too early is told when the next attempt is; one that
 * comes then works, and its success forgives. */
TEST(a_quarantine_is_said_and_lifted_by_a_success)
{
    struct ways_formula formula;
    char text[512] = "";
    uint64_t begin_ns;

    if (ways_is("service"))
        return; /* which does not come back by itself here */
    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    OK(ways_formula_run(&formula, 1));
    for (int i = 0; i < 6 && !strstr(text, "it is started again in"); i++) {
        IS(DEAD_OBJECT, run_deadly(&formula, i));
        nnhal_execution_get_error(formula.execution, text, sizeof(text));
    }
    ck_assert_msg(strstr(text, "it is started again in") != NULL, "%s", text);
    begin_ns = ways_now_ns();
    while (ways_formula_run(&formula, 2) != ANEURALNETWORKS_NO_ERROR) {
        ck_assert_uint_lt(ways_now_ns() - begin_ns, 20 * S);
        ways_nap(S / 100);
    }
    ck_assert_int_eq(kill(ways_pid(), SIGKILL), 0);
    OK(ways_formula_run(&formula, 3));
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* Another application of the service, which computes without an end and ends if a call fails. */
static pid_t start_other(void)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        execl(CLIENT, CLIENT, NULL);
        _exit(127);
    }
    return pid;
}

static void end_other(pid_t pid)
{
    ways_nap(S);
    ck_assert_msg(waitpid(pid, NULL, WNOHANG) == 0, "a call of the other application failed");
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* The call ends with its deadline. A private child is killed; a service ends itself half a
 * second later, after which what comes with a new process works. Calls of another application
 * are made again by its runtime, and do not fail. */
TEST(a_driver_that_does_not_return_is_left)
{
    static struct ways_formula formulas[N_STUCK];
    pthread_t threads[N_STUCK];
    uint64_t begin_ns;
    pid_t other = 0;
    int result;

    setenv("NNHAL_OVERDUE_MS", "500", 1);
    ways_begin();
    if (ways_is("service"))
        other = start_other();
    for (int i = 0; i < N_STUCK; i++) {
        OK(ways_formula_compile(&formulas[i]));
        ways_formula_bind_within(&formulas[i], i & 1, TIMEOUT_NS);
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
    if (other)
        end_other(other);
    for (int i = 0; i < N_STUCK; i++)
        ways_formula_done(&formulas[i]);
    ways_end();
}
TEST_END

static const char *error_of(const struct ways_formula *formula)
{
    static char text[512];

    nnhal_execution_get_error(formula->execution, text, sizeof(text));
    return text;
}

/* The driver still writes to arguments that its caller has left: memory that it has is not used
 * for other calls, and neither are the queues of a burst. */
static void outlast_scribbling(bool on_burst)
{
    struct ways_formula formula;
    uint64_t begin_ns;
    bool is_back = false;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind_within(&formula, false, TIMEOUT_NS);
    if (on_burst)
        ways_formula_burst(&formula);
    for (int i = 0; i < 20; i++)
        OK(ways_formula_run(&formula, i));
    IS(MISSED_DEADLINE_TRANSIENT, ways_formula_run(&formula, SCRIBBLING));
    begin_ns = ways_now_ns();
    for (int i = 1; ways_now_ns() - begin_ns < (is_back ? 5 : 20) * S / 2; i++) {
        int result = ways_formula_run(&formula, i % 600);

        /* Until there is a process again, and on a machine that is busy, the deadline passes. */
        ck_assert_msg(result == ANEURALNETWORKS_NO_ERROR ||
                          result == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
                          result == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT,
                      "%s", error_of(&formula));
        is_back = is_back || result == ANEURALNETWORKS_NO_ERROR;
        ways_nap(S / 1000);
    }
    ck_assert(is_back);
    ways_formula_done(&formula);
    ways_end();
}

TEST(arguments_that_were_left_are_not_used_again)
{
    outlast_scribbling(false);
}
TEST_END

TEST(a_burst_that_was_left_is_not_used_again)
{
    outlast_scribbling(true);
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

static void *miss_deadline(void *argument)
{
    IS(MISSED_DEADLINE_TRANSIENT, ways_formula_run(argument, UNTIL_DEADLINE));
    return NULL;
}

/* A service that was stopped for longer than a driver may be overdue goes on as the same process:
 * its driver could not look at the deadline either. */
TEST(a_stopped_service_does_not_blame_its_driver)
{
    struct ways_formula formula;
    uint64_t begin_ns;
    pthread_t thread;
    pid_t pid;

    if (!ways_is("service"))
        return;
    setenv("NNHAL_OVERDUE_MS", "500", 1);
    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind_within(&formula, true, S / 5);
    OK(ways_formula_run(&formula, 1));
    pid = ways_pid();
    ck_assert_int_eq(pthread_create(&thread, NULL, miss_deadline, &formula), 0);
    ways_nap(S / 10);
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ways_nap(2 * S);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    pthread_join(thread, NULL);
    begin_ns = ways_now_ns();
    do
        ck_assert_uint_lt(ways_now_ns() - begin_ns, 10 * S);
    while (ways_formula_run(&formula, 2) != ANEURALNETWORKS_NO_ERROR ||
           ways_now_ns() - begin_ns < S);
    ck_assert_int_eq(ways_pid(), pid);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* No deadline ends the call of a client that is gone, but the service need not keep a worker for it. */
TEST(a_driver_that_does_not_return_to_the_dead_is_left)
{
    struct ways_formula formula = {0};
    uint64_t begin_ns;
    pid_t pid;

    if (!ways_is("service"))
        return;
    setenv("NNHAL_OVERDUE_MS", "500", 1);
    ways_begin();
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setenv("NNHAL_RECOVERY", "off", 1);
        OK(ways_formula_compile(&formula));
        ways_formula_bind(&formula, false);
        ways_formula_run(&formula, ENDLESS);
        _exit(1);
    }
    ways_nap(S);
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ways_await_service_end(10 * S);
    ways_start_service();
    begin_ns = ways_now_ns();
    while (ways_formula_compile(&formula) != ANEURALNETWORKS_NO_ERROR)
        ck_assert_uint_lt(ways_now_ns() - begin_ns, 10 * S);
    ways_formula_bind(&formula, false);
    OK(ways_formula_run(&formula, 2));
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* It has half of the time that is for all of them. */
TEST(a_driver_that_never_opens_is_left_out_of_the_list)
{
    ANeuralNetworksDevice *device = NULL;
    uint64_t begin_ns = ways_now_ns();
    const char *name = NULL;

    if (!ways_is("private"))
        return;
    ways_begin();
    setenv("NNHAL_DRIVER_PATH", SAMPLE_FOLDER ":" BUILD_ROOT "/nnhal-drivers", 1);
    setenv("WILD_OPEN", "1", 1);
    OK(ANeuralNetworks_getDevice(0, &device));
    OK(ANeuralNetworksDevice_getName(device, &name));
    ck_assert_str_eq(name, "nnhal-cpu");
    ck_assert_uint_gt(ways_now_ns() - begin_ns, 10 * S);
    ck_assert_uint_lt(ways_now_ns() - begin_ns, 20 * S + late_ns());
    begin_ns = ways_now_ns();
    OK(ANeuralNetworks_getDevice(0, &device));
    ck_assert_uint_lt(ways_now_ns() - begin_ns, S);
    ways_end();
}
TEST_END

CHECK_MAIN("wild-" WAY, a_request_that_killed_twice_is_not_tried_a_third_time, nor_in_a_burst,
           nor_with_an_event, nor_by_the_device_itself,
           a_request_of_whose_success_a_fence_has_told_is_no_suspect,
           a_quarantine_is_said_and_lifted_by_a_success, a_driver_that_does_not_return_is_left,
           arguments_that_were_left_are_not_used_again, a_burst_that_was_left_is_not_used_again,
           busy_workers_do_not_look_like_a_stopped_service,
           a_stopped_service_does_not_blame_its_driver,
           a_driver_that_does_not_return_to_the_dead_is_left,
           a_driver_that_never_opens_is_left_out_of_the_list)
