/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of executions over two asynchronous devices: no thread stands in between, and a failure
 * reaches what depends on it and nothing else. */
#include "graph.h"
#include "support/threads.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A chain over both devices, in turn. */
static struct node chain[] = {{.device = LEFT, .number = 1},
                              {.device = RIGHT, .n_after = 1, .after = {0}, .number = 12},
                              {.device = LEFT, .n_after = 1, .after = {1}, .number = 121},
                              {.device = RIGHT, .n_after = 1, .after = {2}, .number = 1212}};
/* -- threads of a process -------------------------------------------------------------- */

/* Of all threads that might stand between the links: those of the host that watch fences or run
 * what they hold back, and those of the runtime that compute. */
static struct thread_count count_between(void)
{
    static const char *const between[] = {"nnhal-watcher", "nnhal-fenced", "nn-compute"};
    const int32_t pids[] = {getpid(), chain_pid(LEFT), chain_pid(RIGHT)};
    struct thread_count all = {0};

    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
        for (size_t j = 0; j < sizeof(pids) / sizeof(pids[0]); j++) {
            struct thread_count count = count_threads_of(pids[j], between[i]);

            all.n_threads += count.n_threads;
            all.n_asleep += count.n_asleep;
            all.n_woken += count.n_woken;
        }
    return all;
}

/* A thread has its name a little after it began. */
static void await_threads(int which, const char *name, unsigned n)
{
    for (int i = 0; count_threads_of(chain_pid(which), name).n_threads < n; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        chain_nap();
    }
}

/* When all of them sleep. */
static struct thread_count settle(void)
{
    struct thread_count count;

    for (int i = 0; i < N_DEVICES; i++)
        await_threads(i, "nnhal-watcher", chain_is_way("embedded") ? N_DEVICES : 1);
    count = count_between();
    for (int i = 0; count.n_asleep < count.n_threads; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        chain_nap();
        count = count_between();
    }
    return count;
}
/* -- tests -------------------------------------------------------------------------------- */

TEST(a_chain_runs_on_the_devices_alone)
{
    struct thread_count before, after;

    chain_begin();
    graph_make(chain, 4);
    for (int i = 1; i < 4; i++)
        graph_open_gate(i);
    graph_launch();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(graph_poll_fence(i, 0), 0);
    before = settle();
    graph_open_gate(0);
    ck_assert_int_eq(graph_poll_fence(3, -1), POLLIN);
    after = count_between();
    ck_assert_uint_eq(after.n_threads, before.n_threads);
    ck_assert_uint_eq(after.n_woken, before.n_woken);
    for (int i = 0; i < N_DEVICES; i++)
        ck_assert_uint_eq(count_threads_of(chain_pid(i), "nnhal-fenced").n_threads, 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(graph_poll_fence(i, 0), POLLIN);
        OK(ANeuralNetworksEvent_wait(chain[i].event));
        ck_assert_double_eq(chain[i].z[QUEUE_NUMBER], chain[i].number);
        ck_assert_float_eq(chain[i].z[QUEUE_ACTIVE], i > 0);
    }
    graph_free();
    chain_finish();
}
TEST_END

/* Two chains, and one node where they meet. */
static const struct node meeting[] = {
    {.device = LEFT, .number = 1},
    {.device = RIGHT, .n_after = 1, .after = {0}, .number = 12},
    {.device = LEFT, .n_after = 1, .after = {1}, .number = 121},
    {.device = RIGHT, .n_after = 1, .after = {2}, .number = 1212},
    {.device = RIGHT, .number = 2},
    {.device = LEFT, .n_after = 1, .after = {4}, .number = 21},
    {.device = RIGHT, .n_after = 2, .after = {1, 5}, .number = 122},
};

enum { N_MEETING = sizeof(meeting) / sizeof(meeting[0]) };

static bool depends_on(const struct node *nodes, int i, int bad)
{
    if (i == bad)
        return true;
    for (uint32_t j = 0; j < nodes[i].n_after; j++)
        if (depends_on(nodes, nodes[i].after[j], bad))
            return true;
    return false;
}

static void check_reach(int bad, int expected)
{
    for (int i = 0; i < graph.n_nodes; i++) {
        const struct node *node = &graph.nodes[i];
        bool is_reached = depends_on(graph.nodes, i, bad);
        int result;

        ck_assert_int_eq(graph_poll_fence(i, -1) & POLLERR ? 1 : 0, is_reached);
        result = ANeuralNetworksEvent_wait(node->event);
        if (i == bad)
            ck_assert_int_eq(result, expected);
        else if (is_reached)
            ck_assert_int_eq(result, ANEURALNETWORKS_OP_FAILED);
        else
            ck_assert_int_eq(result, ANEURALNETWORKS_NO_ERROR);
        if (result == ANEURALNETWORKS_NO_ERROR)
            ck_assert_double_eq(node->z[QUEUE_NUMBER], node->number);
    }
}

/* A failure counts for its device alone. */
static void spoil(int bad, enum queue_deed deed, int expected)
{
    struct nnhal_device_counts before[N_DEVICES];
    struct node nodes[N_MEETING];

    memcpy(nodes, meeting, sizeof(nodes));
    graph_make(nodes, N_MEETING);
    nodes[bad].orders[QUEUE_DEED] = (float)deed;
    if (deed == QUEUE_HANG)
        OK(ANeuralNetworksExecution_setTimeout(nodes[bad].execution, 300000000));
    services_count(before);
    graph_launch();
    for (int i = 0; i < N_MEETING; i++)
        graph_open_gate(i);
    check_reach(bad, expected);
    services_check_blame(before, nodes[bad].device);
    graph_free();
}

TEST(a_failure_reaches_what_depends_on_it)
{
    chain_begin();
    for (int bad = 0; bad < N_MEETING; bad++)
        spoil(bad, QUEUE_FAIL, ANEURALNETWORKS_OP_FAILED);
    chain_finish();
}
TEST_END

TEST(a_late_one_reaches_what_depends_on_it)
{
    chain_begin();
    for (int bad = 0; bad < N_MEETING; bad++)
        spoil(bad, QUEUE_HANG, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    chain_finish();
}
TEST_END

/* What has ended by then stays as it is, what the process still had dies with it. */
TEST(a_death_reaches_what_depends_on_it)
{
    struct node nodes[N_MEETING];

    if (chain_is_way("embedded"))
        return;
    chain_begin();
    memcpy(nodes, meeting, sizeof(nodes));
    graph_make(nodes, N_MEETING);
    nodes[2].orders[QUEUE_DEED] = QUEUE_DIE;
    graph_launch();
    for (int i = 0; i < N_MEETING; i++)
        if (i != 2)
            graph_open_gate(i);
    for (int i = 0; i < N_MEETING; i++)
        if (!depends_on(nodes, i, 2)) {
            OK(ANeuralNetworksEvent_wait(nodes[i].event));
            ck_assert_double_eq(nodes[i].z[QUEUE_NUMBER], nodes[i].number);
        }
    graph_open_gate(2);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[2].event), ANEURALNETWORKS_DEAD_OBJECT);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[3].event), ANEURALNETWORKS_OP_FAILED);
    graph_free();
    chain_finish();
}
TEST_END
/* -- a client that dies --------------------------------------------------------------------- */

/* In a process of its own: launches what will never begin, says so, and waits to be killed. */
static void be_victim(int told)
{
    struct node nodes[N_MEETING];

    chain_find_devices();
    memcpy(nodes, meeting, sizeof(nodes));
    graph_make(nodes, N_MEETING);
    graph_launch();
    if (write(told, "x", 1) == 1)
        pause();
    _exit(1);
}

TEST(a_client_that_dies_leaves_nothing)
{
    int ends[2];
    pid_t child;
    char byte;

    if (!chain_is_way("service"))
        return;
    chain_provide_devices();
    ck_assert_int_eq(pipe(ends), 0);
    child = fork(); /* before this process uses the runtime */
    if (child == 0)
        be_victim(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    chain_find_devices();
    for (int i = 0; i < N_DEVICES; i++)
        await_threads(i, "queue-device", 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    for (int i = 0; i < N_DEVICES; i++)
        while (count_threads_of(chain_pid(i), "queue-device").n_threads > 0)
            chain_nap();
    close(ends[0]);
    close(ends[1]);
    chain_finish();
}
TEST_END
CHECK_MAIN("chain-" WAY, a_chain_runs_on_the_devices_alone, a_failure_reaches_what_depends_on_it,
           a_late_one_reaches_what_depends_on_it, a_death_reaches_what_depends_on_it,
           a_client_that_dies_leaves_nothing)
