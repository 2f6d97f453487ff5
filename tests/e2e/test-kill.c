/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that die: the driver's under the application, and applications
 * under the service. NN_TEST_ROUNDS says how often (20). */
#include "ways.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* By when a call is answered. Where kills are counted in earnest nothing else
 * runs on the machine; elsewhere a hang is what is longer than any load. */
static uint64_t bound_ns(void)
{
    return UINT64_C(1000000000) * (getenv("NN_TEST_ROUNDS") ? 2 : 20);
}

static int n_kills(void)
{
    const char *value = getenv("NN_TEST_ROUNDS");

    return value ? atoi(value) : 20;
}

static void revive_service(void)
{
    if (ways_is("service"))
        ways_start_service();
}

static void kill_driver(pid_t pid)
{
    if (ways_is("service"))
        ways_kill_service(SIGKILL);
    else
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
}

TEST(a_dead_driver_is_told_of)
{
    struct ways_formula formula;

    ways_begin();
    setenv("NNHAL_RECOVERY", "off", 1);
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    OK(ways_formula_run(&formula, 1));
    kill_driver(ways_pid());
    IS(DEAD_OBJECT, ways_formula_run(&formula, 2));
    IS(DEAD_OBJECT, ways_formula_run(&formula, 3));
    ways_formula_done(&formula);
    revive_service();
    OK(ANeuralNetworksDevice_wait(ways_device()));
    OK(ways_formula_compile(&formula)); /* new work runs on a new process */
    ways_formula_bind(&formula, true);
    OK(ways_formula_run(&formula, 4));
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

static void survive_deaths(bool on_burst)
{
    struct ways_formula formula;
    size_t n_fds;
    pid_t before;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    if (on_burst)
        ways_formula_burst(&formula);
    OK(ways_formula_run(&formula, 1));
    n_fds = count_fds();
    for (int i = 0; i < 6; i++) {
        before = ways_pid();
        kill_driver(before);
        revive_service();
        OK(ways_formula_run(&formula, i));
        ck_assert_int_ne(ways_pid(), before);
        ck_assert_uint_eq(count_fds(), n_fds);
    }
    ways_formula_done(&formula);
    ways_end();
}

TEST(a_dead_driver_is_replaced)
{
    survive_deaths(false);
}
TEST_END

TEST(a_dead_driver_is_replaced_under_a_burst)
{
    survive_deaths(true);
}
TEST_END

/* -- at random moments --------------------------------------------------------------- */

struct victim {
    pid_t pid;
    uint64_t delay_ns;
};

static void *kill_later(void *argument)
{
    const struct victim *victim = argument;

    ways_nap(victim->delay_ns);
    kill(victim->pid, SIGKILL);
    return NULL;
}

/* One life of an application, under which the driver dies somewhere. */
static void live_once(int seed)
{
    struct victim victim = {.pid = ways_pid(), .delay_ns = (uint64_t)(rand() % 2000000)};
    struct ways_formula formula;
    pthread_t thread;
    int result;

    ck_assert_int_eq(pthread_create(&thread, NULL, kill_later, &victim), 0);
    do {
        uint64_t begin_ns = ways_now_ns();

        result = ways_formula_compile(&formula);
        if (result == ANEURALNETWORKS_NO_ERROR) {
            ways_formula_bind(&formula, seed & 1);
            if (seed & 2)
                ways_formula_burst(&formula);
            for (int i = 0; result == ANEURALNETWORKS_NO_ERROR && i < 5; i++)
                result = ways_formula_run(&formula, i);
        }
        ways_formula_done(&formula);
        ck_assert_uint_lt(ways_now_ns() - begin_ns, bound_ns());
    } while (result == ANEURALNETWORKS_NO_ERROR && kill(victim.pid, 0) == 0);
    if (result != ANEURALNETWORKS_NO_ERROR)
        ck_assert_int_eq(result, ANEURALNETWORKS_DEAD_OBJECT);
    pthread_join(thread, NULL);
    if (ways_is("service"))
        ways_kill_service(SIGKILL); /* buries it */
}

TEST(a_driver_may_die_at_any_moment)
{
    size_t n_fds, n_mappings, n_threads;

    ways_begin();
    setenv("NNHAL_RECOVERY", "off", 1);
    srand((unsigned)getpid());
    live_once(0);
    revive_service();
    OK(ANeuralNetworksDevice_wait(ways_device()));
    n_fds = count_fds();
    n_mappings = count_mappings("memfd:");
    n_threads = count_threads();
    for (int i = 0; i < n_kills(); i++) {
        live_once(i);
        revive_service();
        OK(ANeuralNetworksDevice_wait(ways_device()));
        ck_assert_msg(count_fds() == n_fds, "seed %d, kill %d: %zu descriptors, were %zu",
                      (int)getpid(), i, count_fds(), n_fds);
        ck_assert_uint_eq(count_mappings("memfd:"), n_mappings);
        ck_assert_uint_eq(count_threads(), n_threads);
    }
    ways_end();
}
TEST_END

/* -- applications die under a service -------------------------------------------------- */

/* An application that computes until it is killed. */
static pid_t start_client(void)
{
    pid_t client = fork();

    ck_assert_int_ge(client, 0);
    if (client == 0) {
        execl(CLIENT, CLIENT, NULL);
        _exit(127);
    }
    return client;
}

static size_t count_service_fds(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)ways_service());
    return count_entries(path);
}

/* The service notices a client's end by itself, soon. */
static void wait_for_service_fds(size_t n)
{
    uint64_t limit_ns = ways_now_ns() + bound_ns();

    while (count_service_fds() > n) {
        ck_assert_msg(ways_now_ns() < limit_ns, "the service holds %zu descriptors, held %zu",
                      count_service_fds(), n);
        ways_nap(1000000);
    }
}

static void compute_once(void)
{
    struct ways_formula formula;

    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    OK(ways_formula_run(&formula, 1));
    ways_formula_done(&formula);
}

TEST(an_application_may_die_at_any_moment)
{
    size_t n_fds;

    if (!ways_is("service"))
        return;
    ways_begin();
    srand((unsigned)getpid());
    compute_once();                  /* a service that answers has opened what it needs */
    n_fds = count_service_fds() + 2; /* what it opens for its first burst and keeps */
    for (int i = 0; i < n_kills(); i++) {
        pid_t client = start_client();

        ways_nap((uint64_t)(rand() % 20000000));
        kill(client, SIGKILL);
        ck_assert_int_eq(waitpid(client, NULL, 0), client);
        wait_for_service_fds(n_fds);
        ck_assert_int_eq(kill(ways_service(), 0), 0);
    }
    compute_once(); /* others are served as before */
    ways_end();
}
TEST_END

CHECK_MAIN("kill-" WAY, a_dead_driver_is_told_of, a_dead_driver_is_replaced,
           a_dead_driver_is_replaced_under_a_burst, a_driver_may_die_at_any_moment,
           an_application_may_die_at_any_moment)
