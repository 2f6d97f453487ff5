/* SPDX-License-Identifier: Apache-2.0 */
/* A driver's process that is stopped: every wait for it ends, and what comes after works. In
 * the way "private" the child is killed and another takes its place; a service goes on when
 * it is told to. */
#include "ways.h"

#include "support/lateness.h"

#include <nnhal/ext.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

/* Which a busy machine keeps to, too, and what may pass after it. */
#define TIMEOUT_NS S
#define GRACE_NS   (50 * S / 1000)

static void stop_driver(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ways_nap(S / 20); /* until all of its threads have stopped */
}

/* Its new parent may not have reaped it yet. */
static bool is_gone(pid_t pid)
{
    char path[64], state = 'X';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return true;
    ck_assert_int_eq(fscanf(file, "%*d %*s %c", &state), 1);
    fclose(file);
    return state == 'Z' || state == 'X';
}

static void continue_driver(pid_t pid)
{
    if (ways_is("service"))
        ck_assert_int_eq(kill(pid, SIGCONT), 0);
    else
        ck_assert_msg(is_gone(pid), "the private child was left alive");
}

/* Calls with a deadline, when the process is stopped before them. */
static void miss_deadline(enum ways_path path)
{
    struct ways_formula formula;
    uint64_t begin_ns;
    pid_t pid;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind_within(&formula, path == WAYS_BURST || path == WAYS_FENCED, TIMEOUT_NS);
    if (path == WAYS_BURST)
        ways_formula_burst(&formula);
    for (int i = 0; i < 20; i++)
        OK(ways_formula_run_by(path, &formula, i));
    pid = ways_pid();
    stop_driver(pid);
    begin_ns = ways_now_ns();
    IS(MISSED_DEADLINE_TRANSIENT, ways_formula_run_by(path, &formula, 1));
    ck_assert_uint_lt(ways_now_ns() - begin_ns, TIMEOUT_NS + GRACE_NS + late_ns());
    continue_driver(pid);
    for (int i = 0; i < 20; i++) {
        int result = ways_formula_run_by(path, &formula, i);

        /* A private child may take longer to come back. */
        ck_assert(result == ANEURALNETWORKS_NO_ERROR ||
                  result == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
                  result == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT);
        if (result != ANEURALNETWORKS_NO_ERROR)
            ways_nap(S / 5);
    }
    OK(ways_formula_run_by(path, &formula, 2));
    ways_formula_done(&formula);
    ways_end();
}

TEST(a_stopped_process_misses_the_deadline)
{
    miss_deadline(WAYS_COMPUTE);
}
TEST_END

TEST(a_stopped_process_misses_the_deadline_of_a_burst)
{
    miss_deadline(WAYS_BURST);
}
TEST_END

TEST(a_stopped_process_misses_the_deadline_of_an_event)
{
    miss_deadline(WAYS_EVENT);
}
TEST_END

TEST(a_stopped_process_misses_the_deadline_of_what_it_would_start)
{
    miss_deadline(WAYS_FENCED);
}
TEST_END

/* Without a deadline: three pings decide, and then the call is made again. */
static void outlast(enum ways_path path)
{
    struct ways_formula formula;
    uint64_t begin_ns;
    pid_t pid;
    int result;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, path == WAYS_FENCED);
    if (path == WAYS_BURST)
        ways_formula_burst(&formula);
    OK(ways_formula_run_by(path, &formula, 1));
    pid = ways_pid();
    stop_driver(pid);
    begin_ns = ways_now_ns();
    result = ways_formula_run_by(path, &formula, 2);
    ck_assert_uint_lt(ways_now_ns() - begin_ns, 20 * S);
    if (ways_is("service"))
        ck_assert_int_eq(result, ANEURALNETWORKS_DEAD_OBJECT);
    else
        ck_assert_int_eq(result, ANEURALNETWORKS_NO_ERROR); /* of another child */
    continue_driver(pid);
    begin_ns = ways_now_ns();
    while (ways_formula_run_by(path, &formula, 3) != ANEURALNETWORKS_NO_ERROR)
        ck_assert_uint_lt(ways_now_ns() - begin_ns, 20 * S);
    ways_formula_done(&formula);
    ways_end();
}

TEST(a_stopped_process_is_given_up)
{
    outlast(WAYS_COMPUTE);
}
TEST_END

TEST(a_stopped_process_is_given_up_in_a_burst)
{
    outlast(WAYS_BURST);
}
TEST_END

TEST(a_stopped_process_is_given_up_with_an_event)
{
    outlast(WAYS_EVENT);
}
TEST_END

TEST(a_stopped_process_is_given_up_that_would_start)
{
    outlast(WAYS_FENCED);
}
TEST_END

/* More names of the service's socket: to the runtime they are services of their own. */
static void link_sockets(bool is_there)
{
    const char *folder = getenv("NNHAL_SOCKET_PATH");
    char from[128], to[128];

    snprintf(from, sizeof(from), "%s/sample.sock", folder);
    for (int i = 0; i < 3; i++) {
        snprintf(to, sizeof(to), "%s/other%d.sock", folder, i);
        ck_assert_int_eq(is_there ? link(from, to) : unlink(to), 0);
    }
}

TEST(a_stopped_service_costs_the_list_of_devices_a_second)
{
    uint64_t begin_ns = ways_now_ns();
    uint32_t n_devices = 9;

    if (!ways_is("service"))
        return;
    ways_begin();
    link_sockets(true);
    stop_driver(ways_service());
    begin_ns = ways_now_ns();
    OK(ANeuralNetworks_getDeviceCount(&n_devices));
    ck_assert_uint_lt(ways_now_ns() - begin_ns, S + late_ns());
    begin_ns = ways_now_ns();
    OK(ANeuralNetworks_getDeviceCount(&n_devices));
    ck_assert_uint_lt(ways_now_ns() - begin_ns, S / 2);
    continue_driver(ways_service());
    link_sockets(false);
    ways_end();
}
TEST_END

CHECK_MAIN("hang-" WAY, a_stopped_process_misses_the_deadline,
           a_stopped_process_misses_the_deadline_of_a_burst,
           a_stopped_process_misses_the_deadline_of_an_event,
           a_stopped_process_misses_the_deadline_of_what_it_would_start,
           a_stopped_process_is_given_up, a_stopped_process_is_given_up_in_a_burst,
           a_stopped_process_is_given_up_with_an_event,
           a_stopped_process_is_given_up_that_would_start,
           a_stopped_service_costs_the_list_of_devices_a_second)
