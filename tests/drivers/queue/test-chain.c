/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of executions over two asynchronous devices: no thread stands in between, and a failure
 * reaches what depends on it and nothing else. */
#include "queue-driver.h"

#include "support/check-main.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)

enum { LEFT, RIGHT, N_DEVICES };
enum { N_BYTES = QUEUE_FLOATS * sizeof(float) };
enum { LIMIT_S = 30 };

static const char *const names[N_DEVICES] = {"left", "right"};
static char folder[] = "/tmp/nnhal-chain-XXXXXX";
static pid_t services[N_DEVICES];
static ANeuralNetworksDevice *devices[N_DEVICES];
static ANeuralNetworksCompilation *compilations[N_DEVICES];

static bool is_way(const char *way)
{
    return strcmp(WAY, way) == 0;
}

static void nap(void)
{
    const struct timespec duration = {.tv_nsec = 2000000};

    nanosleep(&duration, NULL);
}

/* -- devices --------------------------------------------------------------------- */

static void socket_path(int which, char *path, size_t n_bytes)
{
    snprintf(path, n_bytes, "%s/%s.sock", folder, names[which]);
}

static void start_service(int which)
{
    pid_t parent = getpid();
    char path[64];

    socket_path(which, path, sizeof(path));
    services[which] = fork();
    if (services[which] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execl(BUILD_ROOT "/nnhal-host", "nnhal-host", names[which], NULL);
        _exit(127);
    }
    for (int i = 0; access(path, F_OK) != 0; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        nap();
    }
}

static ANeuralNetworksModel *make_model(void)
{
    const uint32_t n = QUEUE_FLOATS, add[] = {0, 1, 2}, in[] = {0, 1}, z = 3;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void find_device(int which)
{
    const char *name;
    uint32_t n = 0;

    OK(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;

        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworksDevice_getName(device, &name));
        if (strcmp(name, names[which]) == 0)
            devices[which] = device;
    }
    ck_assert_ptr_nonnull(devices[which]);
}

static void compile(int which)
{
    const ANeuralNetworksDevice *device = devices[which];
    ANeuralNetworksModel *model = make_model();

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilations[which]));
    OK(ANeuralNetworksCompilation_finish(compilations[which]));
    ANeuralNetworksModel_free(model);
}

static void provide_devices(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("NNHAL_MODE", WAY, 1);
    setenv("NNHAL_DRIVER_PATH", DRIVER_FOLDER, 1);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
    setenv("NNHAL_HOST", BUILD_ROOT "/nnhal-host", 1);
    for (int i = 0; i < N_DEVICES; i++)
        if (is_way("service"))
            start_service(i);
}

static void find_devices(void)
{
    for (int i = 0; i < N_DEVICES; i++) {
        find_device(i);
        compile(i);
    }
}

#ifdef __SANITIZE_THREAD__
/* Drivers end before this process does. The thread of a connection to one ends with it, and is
 * joined when the device is opened anew, which is not done here. */
__attribute__((__visibility__("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

static void begin(void)
{
    provide_devices();
    find_devices();
}

static void finish(void)
{
    char path[64];

    for (int i = 0; i < N_DEVICES; i++) {
        ANeuralNetworksCompilation_free(compilations[i]);
        if (!services[i])
            continue;
        kill(services[i], SIGTERM);
        waitpid(services[i], NULL, 0);
        socket_path(i, path, sizeof(path));
        unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

/* -- nodes of a graph of executions -------------------------------------------------- */

enum { MAX_NODES = 8, MAX_AFTER = 2 };

struct node {
    int device;
    uint32_t n_after;
    int after[MAX_AFTER]; /* earlier nodes; the first one's result is its x */
    double number;        /* that it makes, from x = 0 */

    ANeuralNetworksExecution *execution;
    ANeuralNetworksEvent *event;
    float *orders, *z;
};

static struct {
    struct node *nodes;
    int n_nodes;
    ANeuralNetworksMemory *memory;
    float *floats;
} graph;

static const size_t graph_bytes = (2 * MAX_NODES + 1) * N_BYTES;

/* Memory: x of those without one, then y and z of each node. */
static size_t place_of_y(int i)
{
    return (size_t)(1 + 2 * i) * N_BYTES;
}

static size_t place_of_z(int i)
{
    return place_of_y(i) + N_BYTES;
}

static void node_make(int i)
{
    struct node *node = &graph.nodes[i];
    size_t x = node->n_after ? place_of_z(node->after[0]) : 0;

    node->orders = graph.floats + place_of_y(i) / sizeof(float);
    node->z = graph.floats + place_of_z(i) / sizeof(float);
    OK(ANeuralNetworksExecution_create(compilations[node->device], &node->execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(node->execution, 0, NULL, graph.memory, x,
                                                   N_BYTES));
    OK(ANeuralNetworksExecution_setInputFromMemory(node->execution, 1, NULL, graph.memory,
                                                   place_of_y(i), N_BYTES));
    OK(ANeuralNetworksExecution_setOutputFromMemory(node->execution, 0, NULL, graph.memory,
                                                    place_of_z(i), N_BYTES));
}

static void graph_make(struct node *nodes, int n_nodes)
{
    int fd = memfd_create("chain", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, (off_t)graph_bytes), 0);
    graph.floats = mmap(NULL, graph_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(graph.floats, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(graph_bytes, PROT_READ | PROT_WRITE, fd, 0,
                                          &graph.memory));
    close(fd);
    graph.nodes = nodes;
    graph.n_nodes = n_nodes;
    for (int i = 0; i < n_nodes; i++)
        node_make(i);
}

static void node_launch(struct node *node)
{
    const ANeuralNetworksEvent *after[MAX_AFTER];

    for (uint32_t i = 0; i < node->n_after; i++)
        after[i] = graph.nodes[node->after[i]].event;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(node->execution, after, node->n_after,
                                                             0, &node->event));
}

static void graph_launch(void)
{
    for (int i = 0; i < graph.n_nodes; i++)
        node_launch(&graph.nodes[i]);
}

/* Until it is open, a node that could compute waits. */
static void open_gate(int i)
{
    ((volatile float *)graph.nodes[i].orders)[QUEUE_GATE] = 1;
}

static void graph_free_events(void)
{
    for (int i = 0; i < graph.n_nodes; i++) {
        ANeuralNetworksEvent_free(graph.nodes[i].event);
        graph.nodes[i].event = NULL;
    }
}

static void graph_free(void)
{
    graph_free_events();
    for (int i = 0; i < graph.n_nodes; i++)
        ANeuralNetworksExecution_free(graph.nodes[i].execution);
    ANeuralNetworksMemory_free(graph.memory);
    munmap(graph.floats, graph_bytes);
}

/* Without asking the device: by the fence alone. */
static int poll_fence(int i, int timeout_ms)
{
    struct pollfd fd = {.events = POLLIN};
    int n;

    OK(ANeuralNetworksEvent_getSyncFenceFd(graph.nodes[i].event, &fd.fd));
    n = poll(&fd, 1, timeout_ms);
    close(fd.fd);
    return n == 1 ? fd.revents & (POLLIN | POLLERR) : 0;
}

/* A chain over both devices, in turn. */
static struct node chain[] = {{.device = LEFT, .number = 1},
                              {.device = RIGHT, .n_after = 1, .after = {0}, .number = 12},
                              {.device = LEFT, .n_after = 1, .after = {1}, .number = 121},
                              {.device = RIGHT, .n_after = 1, .after = {2}, .number = 1212}};

/* -- threads of a process -------------------------------------------------------------- */

static int32_t device_pid(int which)
{
    struct nnhal_where where = {.size = sizeof(where)};

    OK(nnhal_device_get_where(devices[which], &where));
    return where.pid;
}

static bool read_line_of(const char *path, const char *word, char *line, int n_bytes)
{
    FILE *file = fopen(path, "re");
    bool is_found = false;

    while (file && !is_found && fgets(line, n_bytes, file))
        is_found = strncmp(line, word, strlen(word)) == 0;
    if (file)
        fclose(file);
    return is_found;
}

struct count {
    unsigned n_threads;
    unsigned n_asleep;     /* of them */
    unsigned long n_woken; /* how often they have gone to sleep, which is how often they woke */
};

static void count_thread(const char *task, const char *name, struct count *count)
{
    char path[320], line[256];

    snprintf(path, sizeof(path), "%s/status", task);
    if (!read_line_of(path, "Name:", line, sizeof(line)) || !strstr(line, name))
        return;
    count->n_threads++;
    if (read_line_of(path, "State:", line, sizeof(line)))
        count->n_asleep += strstr(line, "S (") != NULL;
    if (read_line_of(path, "voluntary_ctxt_switches:", line, sizeof(line)))
        count->n_woken += strtoul(line + strlen("voluntary_ctxt_switches:"), NULL, 10);
}

/* The threads of process pid whose names begin so. */
static struct count count_threads_of(int32_t pid, const char *name)
{
    struct count count = {0};
    char path[32], task[300];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(task, sizeof(task), "%s/%s", path, entry->d_name);
        count_thread(task, name, &count);
    }
    if (dir)
        closedir(dir);
    return count;
}

/* Of all threads that might stand between the links: those of the host that watch fences or run
 * what they hold back, and those of the runtime that compute. */
static struct count count_between(void)
{
    static const char *const between[] = {"nnhal-watcher", "nnhal-fenced", "nn-compute"};
    const int32_t pids[] = {getpid(), device_pid(LEFT), device_pid(RIGHT)};
    struct count all = {0};

    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
        for (size_t j = 0; j < sizeof(pids) / sizeof(pids[0]); j++) {
            struct count count = count_threads_of(pids[j], between[i]);

            all.n_threads += count.n_threads;
            all.n_asleep += count.n_asleep;
            all.n_woken += count.n_woken;
        }
    return all;
}

/* A thread has its name a little after it began. */
static void await_threads(int which, const char *name, unsigned n)
{
    for (int i = 0; count_threads_of(device_pid(which), name).n_threads < n; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        nap();
    }
}

/* When all of them sleep. */
static struct count settle(void)
{
    struct count count;

    for (int i = 0; i < N_DEVICES; i++)
        await_threads(i, "nnhal-watcher", is_way("embedded") ? N_DEVICES : 1);
    count = count_between();
    for (int i = 0; count.n_asleep < count.n_threads; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        nap();
        count = count_between();
    }
    return count;
}

/* -- tests -------------------------------------------------------------------------------- */

TEST(a_chain_runs_on_the_devices_alone)
{
    struct count before, after;

    begin();
    graph_make(chain, 4);
    for (int i = 1; i < 4; i++)
        open_gate(i);
    graph_launch();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(poll_fence(i, 0), 0);
    before = settle();
    open_gate(0);
    ck_assert_int_eq(poll_fence(3, -1), POLLIN);
    after = count_between();
    ck_assert_uint_eq(after.n_threads, before.n_threads);
    ck_assert_uint_eq(after.n_woken, before.n_woken);
    for (int i = 0; i < N_DEVICES; i++)
        ck_assert_uint_eq(count_threads_of(device_pid(i), "nnhal-fenced").n_threads, 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(poll_fence(i, 0), POLLIN);
        OK(ANeuralNetworksEvent_wait(chain[i].event));
        ck_assert_double_eq(chain[i].z[QUEUE_NUMBER], chain[i].number);
        ck_assert_float_eq(chain[i].z[QUEUE_ACTIVE], i > 0);
    }
    graph_free();
    finish();
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

        ck_assert_int_eq(poll_fence(i, -1) & POLLERR ? 1 : 0, is_reached);
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

static void spoil(int bad, enum queue_deed deed, int expected)
{
    struct node nodes[N_MEETING];

    memcpy(nodes, meeting, sizeof(nodes));
    graph_make(nodes, N_MEETING);
    nodes[bad].orders[QUEUE_DEED] = (float)deed;
    if (deed == QUEUE_HANG)
        OK(ANeuralNetworksExecution_setTimeout(nodes[bad].execution, 300000000));
    graph_launch();
    for (int i = 0; i < N_MEETING; i++)
        open_gate(i);
    check_reach(bad, expected);
    graph_free();
}

TEST(a_failure_reaches_what_depends_on_it)
{
    begin();
    for (int bad = 0; bad < N_MEETING; bad++)
        spoil(bad, QUEUE_FAIL, ANEURALNETWORKS_OP_FAILED);
    finish();
}
TEST_END

TEST(a_late_one_reaches_what_depends_on_it)
{
    begin();
    for (int bad = 0; bad < N_MEETING; bad++)
        spoil(bad, QUEUE_HANG, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    finish();
}
TEST_END

/* What has ended by then stays as it is, what the process still had dies with it. */
TEST(a_death_reaches_what_depends_on_it)
{
    struct node nodes[N_MEETING];

    if (is_way("embedded"))
        return;
    begin();
    memcpy(nodes, meeting, sizeof(nodes));
    graph_make(nodes, N_MEETING);
    nodes[2].orders[QUEUE_DEED] = QUEUE_DIE;
    graph_launch();
    for (int i = 0; i < N_MEETING; i++)
        if (i != 2)
            open_gate(i);
    for (int i = 0; i < N_MEETING; i++)
        if (!depends_on(nodes, i, 2)) {
            OK(ANeuralNetworksEvent_wait(nodes[i].event));
            ck_assert_double_eq(nodes[i].z[QUEUE_NUMBER], nodes[i].number);
        }
    open_gate(2);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[2].event), ANEURALNETWORKS_DEAD_OBJECT);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[3].event), ANEURALNETWORKS_OP_FAILED);
    graph_free();
    finish();
}
TEST_END

/* -- a process that is stopped ------------------------------------------------------------ */

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
    int32_t pid = device_pid(LEFT);

    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    return pid;
}

/* A private driver was killed by then. */
static void continue_left(int32_t pid)
{
    if (services[LEFT])
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

    OK(ANeuralNetworksExecution_create(compilations[RIGHT], &execution));
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

    if (is_way("embedded"))
        return;
    begin();
    memcpy(nodes, after_stopped, sizeof(nodes));
    graph_make(nodes, N_STOPPED);
    OK(ANeuralNetworksExecution_setTimeout(nodes[0].execution, timeout_ns));
    graph_launch();
    pid = stop_left();
    for (int i = 1; i < N_STOPPED; i++) /* node 0 does not begin before all threads have stopped */
        open_gate(i);
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
    finish();
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
    struct node nodes[2] = {chain[0], chain[1]};
    int32_t pid;

    if (is_way("embedded"))
        return;
    begin();
    graph_make(nodes, 2);
    OK(ANeuralNetworksExecution_setTimeout(nodes[0].execution, LATER_NS));
    node_launch(&nodes[0]);
    pid = stop_left();
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[0].event),
                     ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    node_launch(&nodes[1]);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(nodes[1].event), ANEURALNETWORKS_OP_FAILED);
    graph_free_events();
    continue_left(pid);
    graph_free();
    finish();
}
TEST_END

/* Both are of the process that is stopped: what was given up is told to it by the deadline, too, which
 * is shorter than what a process has to answer pings. */
TEST(nothing_waits_for_the_stopped_process_itself)
{
    struct node nodes[2] = {chain[0], chain[0]};
    uint64_t begin_s;
    int result;
    int32_t pid;

    if (is_way("embedded"))
        return;
    begin();
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
    finish();
}
TEST_END

static ANeuralNetworksCompilation *compile_for_reference(void)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = make_model();
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
                                                       place_of_z(0), N_BYTES));
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
    struct node node = chain[0];
    pthread_t thread;
    void *result;
    int32_t pid;

    if (is_way("embedded"))
        return;
    begin();
    graph_make(&node, 1);
    node_launch(&node);
    open_gate(0);
    ck_assert_int_eq(poll_fence(0, -1), POLLIN);
    pid = stop_left();
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_one, &node), 0);
    check_double(&node);
    kill(pid, SIGCONT); /* it may have been killed */
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert((intptr_t)result == ANEURALNETWORKS_NO_ERROR ||
              (intptr_t)result == ANEURALNETWORKS_DEAD_OBJECT);
    graph_free();
    finish();
}
TEST_END

/* The fence has told that the deadline was missed; its process is stopped before it is asked. */
TEST(a_process_that_is_stopped_after_its_deadline_has_missed_it)
{
    struct node node = chain[0];
    int32_t pid;

    if (is_way("embedded"))
        return;
    begin();
    graph_make(&node, 1);
    node.orders[QUEUE_DEED] = QUEUE_HANG;
    OK(ANeuralNetworksExecution_setTimeout(node.execution, LATER_NS));
    node_launch(&node);
    open_gate(0);
    ck_assert_int_ne(poll_fence(0, -1) & POLLERR, 0);
    pid = stop_left();
    ck_assert_int_eq(ANeuralNetworksEvent_wait(node.event),
                     ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
    continue_left(pid);
    graph_free();
    finish();
}
TEST_END

/* z of one device, x of the other. */
static ANeuralNetworksMemory *make_shared(void)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilations[LEFT], 0, 1));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilations[RIGHT], 0, 1));
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

    OK(ANeuralNetworksExecution_create(compilations[which], &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, x ? x : graph.memory, 0,
                                                   x ? 0 : N_BYTES));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, graph.memory, place_of_y(0),
                                                   N_BYTES));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, z ? z : graph.memory,
                                                    z ? 0 : place_of_z(0), z ? 0 : N_BYTES));
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
    struct node node = chain[0];
    ANeuralNetworksExecution *writers[2], *reader;
    ANeuralNetworksMemory *shared;
    int32_t pid;

    if (is_way("embedded"))
        return;
    begin();
    shared = make_shared();
    graph_make(&node, 1);
    open_gate(0);
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
    finish();
}
TEST_END

/* -- a client that dies --------------------------------------------------------------------- */

/* In a process of its own: launches what will never begin, says so, and waits to be killed. */
static void be_victim(int told)
{
    struct node nodes[N_MEETING];

    find_devices();
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

    if (!is_way("service"))
        return;
    provide_devices();
    ck_assert_int_eq(pipe(ends), 0);
    child = fork(); /* before this process uses the runtime */
    if (child == 0)
        be_victim(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    find_devices();
    for (int i = 0; i < N_DEVICES; i++)
        await_threads(i, "queue-device", 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    for (int i = 0; i < N_DEVICES; i++)
        while (count_threads_of(device_pid(i), "queue-device").n_threads > 0)
            nap();
    close(ends[0]);
    close(ends[1]);
    finish();
}
TEST_END

CHECK_MAIN("chain-" WAY, a_chain_runs_on_the_devices_alone, a_failure_reaches_what_depends_on_it,
           a_late_one_reaches_what_depends_on_it, a_death_reaches_what_depends_on_it,
           a_stopped_process_ends_what_depends_on_it,
           a_deadline_that_no_process_keeps_ends_what_depends_on_it,
           nothing_waits_for_what_was_given_up, nothing_waits_for_the_stopped_process_itself,
           what_depends_on_one_that_has_ended_asks_no_process,
           a_process_that_is_stopped_after_its_deadline_has_missed_it,
           a_launch_that_was_left_leaves_no_contents, a_client_that_dies_leaves_nothing)
