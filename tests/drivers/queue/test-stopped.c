/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of executions over two asynchronous devices, one of whose processes is stopped: every wait
 * ends, with the code that it deserves, and what does not depend on that process computes. */
#include "graph.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* What depends on node 0, and a node that does not. */
static const struct node after_stopped[] = {
    {.device = LEFT, .number = 1},
    {.device = RIGHT, .n_after = 1, .after = {0}, .number = 12},
    {.device = RIGHT, .n_after = 2, .after = {1, 0}, .number = 122},
    {.device = RIGHT, .number = 2},
};

enum { N_STOPPED = sizeof(after_stopped) / sizeof(after_stopped[0]) };

/* A timeout that a busy machine keeps to while it launches a graph. Where it has passed before the
 * process is stopped, the results are the same. */
#define LATER_NS UINT64_C(3000000000)

static uint64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

static void *wait_for_one(void *node)
{
    return (void *)(intptr_t)ANeuralNetworksEvent_wait(((struct node *)node)->event);
}

/* Returns: the process. */
static int32_t stop_left(void)
{
    int32_t pid = chain_pid(LEFT);

    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    return pid;
}

/* A private driver was killed by then. */
static void continue_left(int32_t pid)
{
    if (chain_services[LEFT])
        ck_assert_int_eq(kill(pid, SIGCONT), 0);
}

/* Every thread, and every time. */
static void wait_for_both_ends(struct node *node, int expected)
{
    pthread_t thread;
    void *result;

    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_one, node), 0);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(node->event), expected);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_int_eq((intptr_t)result, expected);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(node->event), expected);
}

/* A thread of the runtime waits for what is before it, as z is no memory. */
static void run_job_after(struct node *node)
{
    const ANeuralNetworksEvent *after = node->event;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksEvent *event = NULL;
    float z[QUEUE_FLOATS];

    OK(ANeuralNetworksExecution_create(chain_compilations[RIGHT], &execution));
    for (int i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, i, NULL, graph.memory, 0,
                                                       N_BYTES));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution, &after, 1, 0, &event));
    ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_OP_FAILED);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
}

/* The end is asked for first: no thread waits for the stopped process. What was given up is so for
 * every wait, also while its process is still stopped. */
static void wait_for_what_is_stopped(uint64_t timeout_ns, int expected)
{
    struct node nodes[N_STOPPED];
    uint64_t begin_s;
    int32_t pid;

    chain_begin();
    memcpy(nodes, after_stopped, sizeof(nodes));
    graph_make(nodes, N_STOPPED);
    OK(ANeuralNetworksExecution_setTimeout(nodes[0].execution, timeout_ns));
    graph_launch();
    pid = stop_left();
    for (int i = 1; i < N_STOPPED; i++) /* node 0 does not begin before all threads have stopped */
        graph_open_gate(i);
    begin_s = now_s();
    wait_for_both_ends(&nodes[2], ANEURALNETWORKS_OP_FAILED);
    ck_assert_uint_lt(now_s() - begin_s, LIMIT_S / 2);
    wait_for_both_ends(&nodes[1], ANEURALNETWORKS_OP_FAILED);
    run_job_after(&nodes[1]);
    wait_for_both_ends(&nodes[0], expected);
    OK(ANeuralNetworksEvent_wait(nodes[3].event));
    ck_assert_double_eq(nodes[3].z[QUEUE_NUMBER], nodes[3].number);
    graph_free_events();
    continue_left(pid);
    graph_free();
    chain_finish();
}

TEST(a_stopped_process_ends_what_depends_on_it)
{
    wait_for_what_is_stopped(0, ANEURALNETWORKS_DEAD_OBJECT);
}
TEST_END

TEST(a_deadline_that_no_process_keeps_ends_what_depends_on_it)
{
    wait_for_what_is_stopped(LATER_NS, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
}
TEST_END

/* What is launched after a computation that was given up. */
TEST(nothing_waits_for_what_was_given_up)
{
    struct node nodes[2] = {after_stopped[0], after_stopped[1]};
    int32_t pid;

    chain_begin();
    graph_make(nodes, 2);
    OK(ANeuralNetworksExecution_setTimeout(nodes[0].execution, LATER_NS));
    graph_launch_node(&nodes[0]);
    pid = stop_left();
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[0].event),
                     ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    graph_launch_node(&nodes[1]);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[1].event), ANEURALNETWORKS_OP_FAILED);
    graph_free_events();
    continue_left(pid);
    graph_free();
    chain_finish();
}
TEST_END

/* Both are of the process that is stopped: what was given up is told to it by the deadline, too, which
 * is shorter than what a process has to answer pings. */
TEST(nothing_waits_for_the_stopped_process_itself)
{
    struct node nodes[2] = {after_stopped[0], after_stopped[0]};
    uint64_t begin_s;
    int result;
    int32_t pid;

    chain_begin();
    nodes[1].n_after = 1;
    nodes[1].after[0] = 0;
    graph_make(nodes, 2);
    for (int i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_setTimeout(nodes[i].execution, LATER_NS / 3));
    graph_launch();
    pid = stop_left();
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[0].event),
                     ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    begin_s = now_s();
    result = ANeuralNetworksEvent_wait(nodes[1].event);
    ck_assert(result == ANEURALNETWORKS_OP_FAILED || result == ANEURALNETWORKS_DEAD_OBJECT);
    ck_assert_uint_le(now_s() - begin_s, 2);
    graph_free_events();
    continue_left(pid);
    graph_free();
    chain_finish();
}
TEST_END

static ANeuralNetworksCompilation *compile_for_reference(void)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = chain_model();
    ANeuralNetworksDevice *last = NULL;
    uint32_t n = 0;

    OK(ANeuralNetworks_getDeviceCount(&n));
    OK(ANeuralNetworks_getDevice(n - 1, &last));
    OK(ANeuralNetworksCompilation_createForDevices(
        model, (const ANeuralNetworksDevice *const[]){last}, 1, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    return compilation;
}

/* Adds z of a node to itself, in a thread of the runtime, which waits for the node. */
static void check_double(struct node *node)
{
    ANeuralNetworksCompilation *compilation = compile_for_reference();
    const ANeuralNetworksEvent *after = node->event;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksEvent *event = NULL;
    float z[QUEUE_FLOATS];

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    for (int i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, i, NULL, graph.memory,
                                                       graph_place_of_z(0), N_BYTES));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution, &after, 1, 0, &event));
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_double_eq(z[QUEUE_NUMBER], 2 * node->number);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

/* One that has ended is known by its fence; its process, which another thread asks for the result, is
 * stopped by then. */
TEST(what_depends_on_one_that_has_ended_asks_no_process)
{
    struct node node = after_stopped[0];
    pthread_t thread;
    void *result;
    int32_t pid;

    chain_begin();
    graph_make(&node, 1);
    graph_launch_node(&node);
    graph_open_gate(0);
    ck_assert_int_eq(graph_poll_fence(0, -1), POLLIN);
    pid = stop_left();
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_one, &node), 0);
    check_double(&node);
    kill(pid, SIGCONT); /* it may have been killed */
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert((intptr_t)result == ANEURALNETWORKS_NO_ERROR ||
              (intptr_t)result == ANEURALNETWORKS_DEAD_OBJECT);
    graph_free();
    chain_finish();
}
TEST_END

/* The fence has told that the deadline was missed; its process is stopped before it is asked. */
TEST(a_process_that_is_stopped_after_its_deadline_has_missed_it)
{
    struct node node = after_stopped[0];
    int32_t pid;

    chain_begin();
    graph_make(&node, 1);
    node.orders[QUEUE_DEED] = QUEUE_HANG;
    OK(ANeuralNetworksExecution_setTimeout(node.execution, LATER_NS));
    graph_launch_node(&node);
    graph_open_gate(0);
    ck_assert_int_ne(graph_poll_fence(0, -1) & POLLERR, 0);
    pid = stop_left();
    ck_assert_int_eq(ANeuralNetworksEvent_wait(node.event),
                     ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    continue_left(pid);
    graph_free();
    chain_finish();
}
TEST_END

/* z of one device, x of the other. */
static ANeuralNetworksMemory *make_shared(void)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, chain_compilations[LEFT], 0, 1));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, chain_compilations[RIGHT], 0, 1));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

/* With node 0's order, and from its x, unless another memory has it. */
static ANeuralNetworksExecution *make_execution(int which, ANeuralNetworksMemory *x,
                                                ANeuralNetworksMemory *z)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(chain_compilations[which], &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, x ? x : graph.memory, 0,
                                                   x ? 0 : N_BYTES));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, graph.memory,
                                                   graph_place_of_y(0), N_BYTES));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, z ? z : graph.memory,
                                                    z ? 0 : graph_place_of_z(0), z ? 0 : N_BYTES));
    return execution;
}

/* Returns: what the launch said, or the wait for its end. */
static int compute_fenced(ANeuralNetworksExecution *execution)
{
    ANeuralNetworksEvent *event = NULL;
    int r = ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event);

    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return r;
}

/* A launch that was left may have reached the device all the same. */
TEST(a_launch_that_was_left_leaves_no_contents)
{
    struct node node = after_stopped[0];
    ANeuralNetworksExecution *writers[2], *reader;
    ANeuralNetworksMemory *shared;
    int32_t pid;

    chain_begin();
    shared = make_shared();
    graph_make(&node, 1);
    graph_open_gate(0);
    for (int i = 0; i < 2; i++)
        writers[i] = make_execution(LEFT, NULL, shared);
    reader = make_execution(RIGHT, shared, NULL);
    OK(compute_fenced(writers[0]));
    OK(ANeuralNetworksExecution_setTimeout(writers[1], 500000000));
    pid = stop_left();
    ck_assert_int_eq(compute_fenced(writers[1]), ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    ck_assert_int_eq(compute_fenced(reader), ANEURALNETWORKS_OP_FAILED);
    continue_left(pid);
    for (int i = 0; i < 2; i++)
        ANeuralNetworksExecution_free(writers[i]);
    ANeuralNetworksExecution_free(reader);
    graph_free();
    ANeuralNetworksMemory_free(shared);
    chain_finish();
}
TEST_END
CHECK_MAIN("stopped-" WAY, a_stopped_process_ends_what_depends_on_it,
           a_deadline_that_no_process_keeps_ends_what_depends_on_it,
           nothing_waits_for_what_was_given_up, nothing_waits_for_the_stopped_process_itself,
           what_depends_on_one_that_has_ended_asks_no_process,
           a_process_that_is_stopped_after_its_deadline_has_missed_it,
           a_launch_that_was_left_leaves_no_contents)
