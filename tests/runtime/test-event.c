/* SPDX-License-Identifier: Apache-2.0 */
/* Computing in the background, beside each other, after each other, after a fork. */
#include "rt.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(an_event_tells_of_the_end)
{
    ANeuralNetworksEvent *event = NULL;
    struct rt_run run;
    uint32_t value;
    int fd = 7;

    rt_init();
    rt_run_init(&run);
    fake_gate_close();
    OK(ANeuralNetworksExecution_startCompute(run.execution, &event));
    fake_gate_wait(1);
    BAD_STATE(ANeuralNetworksExecution_compute(run.execution));
    BAD_STATE(ANeuralNetworksExecution_setReusable(run.execution, true));
    BAD_STATE(ANeuralNetworksExecution_setTimeout(run.execution, 1));
    BAD_STATE(ANeuralNetworksExecution_getOutputOperandRank(run.execution, 0, &value));
    BAD_DATA(ANeuralNetworksEvent_getSyncFenceFd(event, &fd));
    ck_assert_int_eq(fd, -1);
    fake_gate_open();
    OK(ANeuralNetworksEvent_wait(event));
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_mem_eq(run.z, run.x, sizeof(run.x));
    OK(ANeuralNetworksExecution_getOutputOperandRank(run.execution, 0, &value));
    ANeuralNetworksEvent_free(event);
    rt_run_done(&run);
}
TEST_END

/* Android leaks it, and its event may look at what is gone. */
TEST(an_execution_may_be_freed_in_flight)
{
    ANeuralNetworksEvent *event = NULL;
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    fake_gate_close();
    OK(ANeuralNetworksExecution_startCompute(run.execution, &event));
    fake_gate_wait(1);
    rt_run_done(&run);
    ck_assert_uint_eq(fake.n_released, 0);
    fake_gate_open();
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_mem_eq(run.z, run.x, sizeof(run.x));
    ANeuralNetworksEvent_free(event);
}
TEST_END

struct event_attempt {
    ANeuralNetworksExecution *execution;
    int result;
};

static void *slow_compute(void *argument)
{
    struct event_attempt *attempt = argument;

    attempt->result = ANeuralNetworksExecution_compute(attempt->execution);
    return NULL;
}

TEST(two_threads_cannot_compute_one_execution)
{
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    for (int i = 0; i < 20; i++) {
        struct event_attempt first = {.execution = run.execution};
        pthread_t thread;

        fake_gate_close();
        ck_assert_int_eq(pthread_create(&thread, NULL, slow_compute, &first), 0);
        fake_gate_wait(1);
        BAD_STATE(ANeuralNetworksExecution_compute(run.execution));
        fake_gate_open();
        pthread_join(thread, NULL);
        ck_assert_int_eq(first.result, ANEURALNETWORKS_NO_ERROR);
    }
    rt_run_done(&run);
}
TEST_END

TEST(executions_of_one_compilation_run_beside_each_other)
{
    enum { N = 8 };
    float x[N][4], y[4] = {0}, z[N][4];
    ANeuralNetworksExecution *executions[N];
    ANeuralNetworksEvent *events[N];
    struct rt_run run;

    rt_init();
    rt_run_create(&run);
    fake_gate_close();
    for (int i = 0; i < N; i++) {
        x[i][0] = x[i][1] = x[i][2] = x[i][3] = (float)i;
        OK(ANeuralNetworksExecution_create(run.compilation, &executions[i]));
        OK(ANeuralNetworksExecution_setInput(executions[i], 0, NULL, x[i], 16));
        OK(ANeuralNetworksExecution_setInput(executions[i], 1, NULL, y, 16));
        OK(ANeuralNetworksExecution_setOutput(executions[i], 0, NULL, z[i], 16));
        OK(ANeuralNetworksExecution_startCompute(executions[i], &events[i]));
    }
    fake_gate_wait(N); /* all at once */
    fake_gate_open();
    for (int i = 0; i < N; i++) {
        OK(ANeuralNetworksEvent_wait(events[i]));
        ck_assert_mem_eq(z[i], x[i], 16);
        ANeuralNetworksEvent_free(events[i]);
        ANeuralNetworksExecution_free(executions[i]);
    }
    rt_run_done(&run);
}
TEST_END

static void *wait_for(void *event)
{
    return (void *)(intptr_t)ANeuralNetworksEvent_wait(event);
}

/* One finished model, and one finished compilation, in many hands. */
struct shared {
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
};

static void use_compilation(ANeuralNetworksCompilation *compilation)
{
    float x[4] = {1, 2, 3, 4}, z[4];

    for (int i = 0; i < 20; i++) {
        ANeuralNetworksExecution *execution = NULL;

        x[0] = (float)i;
        OK(ANeuralNetworksExecution_create(compilation, &execution));
        OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
        OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, x, sizeof(x)));
        OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
        OK(ANeuralNetworksExecution_compute(execution));
        ck_assert_mem_eq(x, z, sizeof(x));
        ANeuralNetworksExecution_free(execution);
    }
}

static void *use_model(void *argument)
{
    const struct shared *shared = argument;
    const ANeuralNetworksDevice *device = RT_PICKY;
    ANeuralNetworksCompilation *compilation = NULL;
    bool supported[1] = {false};

    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(shared->model, &device, 1, supported));
    ck_assert(supported[0]);
    OK(ANeuralNetworksCompilation_create(shared->model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    use_compilation(compilation);
    use_compilation(shared->compilation);
    ANeuralNetworksCompilation_free(compilation);
    return NULL;
}

TEST(models_and_compilations_are_shared_by_threads)
{
    enum { N = 6 };
    struct shared shared;
    pthread_t threads[N];

    rt_init();
    shared.model = rt_model();
    shared.compilation = rt_compilation();
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_model, &shared), 0);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    ANeuralNetworksCompilation_free(shared.compilation);
    ANeuralNetworksModel_free(shared.model);
    ck_assert_uint_eq(fake.n_prepared, N + 1);
    ck_assert_uint_eq(fake.n_released, N + 1);
}
TEST_END

TEST(any_number_of_threads_may_wait)
{
    enum { N = 4 };
    ANeuralNetworksEvent *event = NULL;
    pthread_t threads[N];
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    fake.execute_status = NNHAL_DEVICE_UNAVAILABLE;
    fake_gate_close();
    OK(ANeuralNetworksExecution_startCompute(run.execution, &event));
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for, event), 0);
    fake_gate_open();
    for (int i = 0; i < N; i++) {
        void *result;

        pthread_join(threads[i], &result);
        ck_assert_int_eq((int)(intptr_t)result, ANEURALNETWORKS_UNAVAILABLE_DEVICE);
    }
    ANeuralNetworksEvent_free(event);
    rt_run_done(&run);
}
TEST_END

static uint32_t signals_are_blocked;

static void see_mask(struct nnhal_execution *execution)
{
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    signals_are_blocked = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1);
}

TEST(our_threads_take_no_signals)
{
    ANeuralNetworksEvent *event = NULL;
    struct rt_run run;

    rt_init();
    fake.on_execute = see_mask;
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_startCompute(run.execution, &event));
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_uint_eq(signals_are_blocked, 1);
    ANeuralNetworksEvent_free(event);
    rt_run_done(&run);
}
TEST_END

/* -- dependencies ------------------------------------------------------------------- */

/* A fence: one end of a pair with a byte queued towards the signaller. */
static void make_fence(int fds[2])
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ck_assert_int_eq(write(fds[0], "", 1), 1);
}

static void signal_fence(int fd)
{
    char byte;

    ck_assert_int_eq(read(fd, &byte, 1), 1);
    ck_assert_int_eq(write(fd, "", 1), 1);
}

TEST(fences_are_events)
{
    ANeuralNetworksEvent *event = NULL;
    int fds[2], copy = -1;

    rt_init();
    BAD_DATA(ANeuralNetworksEvent_createFromSyncFenceFd(-1, &event));
    BAD_DATA(ANeuralNetworksEvent_createFromSyncFenceFd(12345, &event));
    ck_assert_ptr_null(event);
    make_fence(fds);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &event));
    close(fds[0]);
    OK(ANeuralNetworksEvent_getSyncFenceFd(event, &copy));
    ck_assert_int_ge(copy, 0);
    signal_fence(fds[1]);
    OK(ANeuralNetworksEvent_wait(event));
    OK(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    close(copy);
    close(fds[1]);

    make_fence(fds); /* the signalling end is gone */
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &event));
    close(fds[1]);
    FAILS(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    close(fds[0]);
}
TEST_END

/* Android takes descriptor 0 for none. */
TEST(descriptor_0_can_be_a_fence)
{
    ANeuralNetworksEvent *event = NULL;
    int fds[2];

    rt_init();
    make_fence(fds);
    ck_assert_int_eq(dup2(fds[0], 0), 0);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(0, &event));
    signal_fence(fds[1]);
    OK(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
}
TEST_END

TEST(a_computation_waits_for_its_dependencies)
{
    ANeuralNetworksEvent *fence = NULL, *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *on_fence[1], *on_first[1];
    struct rt_run a, b;
    int fds[2];

    rt_init();
    rt_run_init(&a);
    rt_run_init(&b);
    make_fence(fds);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &fence));
    on_fence[0] = fence;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(a.execution, on_fence, 1, 0, &first));
    on_first[0] = first;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(b.execution, on_first, 1, 0, &second));
    ck_assert_uint_eq(fake.n_executed, 0);
    signal_fence(fds[1]);
    OK(ANeuralNetworksEvent_wait(second));
    ck_assert_uint_eq(fake.n_executed, 2);
    OK(ANeuralNetworksEvent_wait(first));
    ck_assert_mem_eq(b.z, b.x, sizeof(b.x));
    ANeuralNetworksEvent_free(second);
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(fence);
    rt_run_done(&a);
    rt_run_done(&b);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

static _Atomic bool is_told, was_late;

/* What a dependency leaves behind goes when the end has been told, or at the latest after 2 s. */
static void release_late(void *prepared)
{
    struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < 200 && !is_told; i++)
        nanosleep(&pause, NULL);
    was_late = !is_told;
    fake.n_released++;
    free(prepared);
}

static void release_slowly(void)
{
    fake.driver.release = release_late;
}

TEST(an_end_does_not_wait_for_what_was_before)
{
    ANeuralNetworksEvent *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *on_first[1];
    struct timespec pause = {.tv_nsec = 10000000};
    struct rt_run a, b;

    fake_on_reset = release_slowly;
    rt_init();
    rt_run_init(&a);
    rt_run_init(&b);
    OK(ANeuralNetworksExecution_startCompute(a.execution, &first));
    OK(ANeuralNetworksEvent_wait(first));
    fake_gate_close();
    on_first[0] = first;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(b.execution, on_first, 1, 0, &second));
    fake_gate_wait(1);
    ANeuralNetworksEvent_free(first);
    rt_run_done(&a);
    ck_assert_uint_eq(fake.n_released, 0);
    fake_gate_open();
    OK(ANeuralNetworksEvent_wait(second));
    is_told = true;
    while (fake.n_released == 0)
        nanosleep(&pause, NULL);
    ck_assert(!was_late);
    ANeuralNetworksEvent_free(second);
    rt_run_done(&b);
    fake_on_reset = NULL;
}
TEST_END

/* Android runs on what the failed one left. */
TEST(a_failed_dependency_fails_what_follows)
{
    ANeuralNetworksEvent *fence = NULL, *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *on_fence[1], *on_first[1];
    struct rt_run a, b;
    int fds[2];

    rt_init();
    rt_run_init(&a);
    rt_run_init(&b);
    make_fence(fds);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &fence));
    on_fence[0] = fence;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(a.execution, on_fence, 1, 0, &first));
    on_first[0] = first;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(b.execution, on_first, 1, 0, &second));
    close(fds[1]);
    FAILS(ANeuralNetworksEvent_wait(second));
    FAILS(ANeuralNetworksEvent_wait(first));
    ck_assert_uint_eq(fake.n_executed, 0);
    ANeuralNetworksEvent_free(second);
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(fence);
    rt_run_done(&a);
    rt_run_done(&b);
    close(fds[0]);
}
TEST_END

/* A fence that never signals, and a computation that does not end. */
TEST(a_deadline_ends_the_wait_for_dependencies)
{
    ANeuralNetworksEvent *fence = NULL, *first = NULL, *second = NULL, *third = NULL;
    const ANeuralNetworksEvent *on_fence[1], *on_first[1];
    struct rt_run a, b, c;
    int fds[2];

    rt_init();
    rt_run_init(&a);
    rt_run_init(&b);
    rt_run_init(&c);
    make_fence(fds);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &fence));
    on_fence[0] = fence;
    fake_gate_close();
    OK(ANeuralNetworksExecution_startCompute(a.execution, &first));
    fake_gate_wait(1);
    on_first[0] = first;
    OK(ANeuralNetworksExecution_setTimeout(b.execution, 50000000));
    OK(ANeuralNetworksExecution_setTimeout(c.execution, 50000000));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(b.execution, on_fence, 1, 0, &second));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(c.execution, on_first, 1, 0, &third));
    IS(MISSED_DEADLINE_TRANSIENT, ANeuralNetworksEvent_wait(second));
    IS(MISSED_DEADLINE_TRANSIENT, ANeuralNetworksEvent_wait(third));
    fake_gate_open();
    OK(ANeuralNetworksEvent_wait(first));
    ck_assert_uint_eq(fake.n_executed, 1);
    ANeuralNetworksEvent_free(third);
    ANeuralNetworksEvent_free(second);
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(fence);
    rt_run_done(&a);
    rt_run_done(&b);
    rt_run_done(&c);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

TEST(dependencies_ask_for_more)
{
    const uint32_t dims[] = {4};
    ANeuralNetworksOperandType four = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims);
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = rt_model();
    ANeuralNetworksEvent *event = NULL;
    struct rt_run run, open = {.x = {1}};

    rt_init();
    open.compilation = rt_compilation_of(rt_model_of(ANEURALNETWORKS_ADD, 0));
    OK(ANeuralNetworksExecution_create(open.compilation, &open.execution));
    OK(ANeuralNetworksExecution_setInput(open.execution, 0, &four, open.x, 16));
    OK(ANeuralNetworksExecution_setInput(open.execution, 1, &four, open.x, 16));
    OK(ANeuralNetworksExecution_setOutput(open.execution, 0, NULL, open.z, 16));
    BAD_DATA(
        ANeuralNetworksExecution_startComputeWithDependencies(open.execution, NULL, 0, 0, &event));
    rt_run_done(&open);

    rt_run_init(&run); /* a duration without one listed device */
    ANeuralNetworksExecution_free(run.execution);
    ANeuralNetworksCompilation_free(run.compilation);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(ANeuralNetworksExecution_create(compilation, &run.execution));
    run.compilation = compilation;
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, run.x, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
    BAD_DATA(
        ANeuralNetworksExecution_startComputeWithDependencies(run.execution, NULL, 0, 1, &event));
    rt_run_done(&run);

    rt_run_init(&run); /* over before it begins */
    OK(ANeuralNetworksExecution_startComputeWithDependencies(run.execution, NULL, 0, 1, &event));
    IS(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    rt_run_done(&run);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* -- started and ended by the device --------------------------------------------------- */

/* z = x, all in one memory: x, y at 0, z at 64. */
struct in_memory {
    struct rt_run run;
    float *x, *z;
};

static void in_memory_init(struct in_memory *all, bool is_reusable)
{
    ANeuralNetworksMemory *memory;
    void *bytes;

    rt_run_create(&all->run);
    memory = rt_memory(4096, &bytes);
    all->x = bytes;
    all->z = all->x + 16;
    all->x[0] = 7;
    OK(ANeuralNetworksExecution_setReusable(all->run.execution, is_reusable));
    OK(ANeuralNetworksExecution_setMeasureTiming(all->run.execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(all->run.execution, 0, NULL, memory, 0, 16));
    OK(ANeuralNetworksExecution_setInputFromMemory(all->run.execution, 1, NULL, memory, 0, 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(all->run.execution, 0, NULL, memory, 64, 16));
    ANeuralNetworksMemory_free(memory);
}

static void take_time(struct nnhal_execution *execution)
{
    execution->timing = (struct nnhal_timing){.time_on_device_ns = 7, .time_in_driver_ns = 11};
}

TEST(a_device_waits_for_fences_by_itself)
{
    ANeuralNetworksEvent *fence = NULL, *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *on_fence[1], *on_first[1];
    struct in_memory a, b;
    uint64_t duration = 0;
    uint32_t rank = 9;
    int fds[2], copy = -1;

    rt_init();
    fake.on_execute = take_time;
    in_memory_init(&a, false);
    in_memory_init(&b, true);
    make_fence(fds);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &fence));
    on_fence[0] = fence;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(a.run.execution, on_fence, 1, 0,
                                                             &first));
    BAD_STATE(ANeuralNetworksExecution_compute(a.run.execution));
    BAD_STATE(ANeuralNetworksExecution_getOutputOperandRank(a.run.execution, 0, &rank));
    on_first[0] = first;
    for (int i = 0; i < 3; i++) {
        OK(ANeuralNetworksExecution_startComputeWithDependencies(b.run.execution, on_first, 1, 0,
                                                                 &second));
        OK(ANeuralNetworksEvent_getSyncFenceFd(second, &copy)); /* others can wait for it */
        close(copy);
        if (i == 0)
            signal_fence(fds[1]);
        OK(ANeuralNetworksEvent_wait(second));
        OK(ANeuralNetworksEvent_wait(second));
        ck_assert_float_eq(b.z[0], 7);
        ANeuralNetworksEvent_free(second);
    }
    OK(ANeuralNetworksEvent_wait(first));
    OK(ANeuralNetworksExecution_getOutputOperandRank(a.run.execution, 0, &rank));
    ck_assert_uint_eq(rank, 1);
    OK(ANeuralNetworksExecution_getDuration(a.run.execution, ANEURALNETWORKS_DURATION_IN_DRIVER,
                                            &duration));
    ck_assert_uint_ge(duration, 7);
    OK(ANeuralNetworksExecution_getDuration(
        a.run.execution, ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE, &duration));
    ck_assert_uint_eq(duration, 7);
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(fence);
    rt_run_done(&a.run);
    rt_run_done(&b.run);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

TEST(a_device_passes_failures_on)
{
    ANeuralNetworksEvent *fence = NULL, *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *on_fence[1], *on_first[1];
    struct in_memory a, b;
    uint64_t duration;
    int fds[2];

    rt_init();
    in_memory_init(&a, false);
    in_memory_init(&b, false);
    make_fence(fds);
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fds[0], &fence));
    on_fence[0] = fence;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(a.run.execution, on_fence, 1, 0,
                                                             &first));
    on_first[0] = first;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(b.run.execution, on_first, 1, 0,
                                                             &second));
    close(fds[1]); /* the signalling end is gone */
    FAILS(ANeuralNetworksEvent_wait(second));
    FAILS(ANeuralNetworksEvent_wait(first));
    ck_assert_uint_eq(fake.n_executed, 0);
    BAD_STATE(ANeuralNetworksExecution_getDuration(a.run.execution, 0, &duration));
    ANeuralNetworksEvent_free(second);
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(fence);
    rt_run_done(&a.run);
    rt_run_done(&b.run);
    close(fds[0]);

    in_memory_init(&a, false); /* codes come through here too */
    fake.execute_status = NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(a.run.execution, NULL, 0, 0, &first));
    IS(RESOURCE_EXHAUSTED_TRANSIENT, ANeuralNetworksEvent_wait(first));
    ANeuralNetworksEvent_free(first);
    rt_run_done(&a.run);
}
TEST_END

/* -- fork ---------------------------------------------------------------------------- */

/* The call answers that, and its sentence says why. */
static void expect_dead(int result)
{
    char text[512] = "";

    IS(DEAD_OBJECT, result);
    nnhal_get_last_error(text, sizeof(text));
    ck_assert_msg(strstr(text, "this process was forked") != NULL, "%s", text);
}

/* What is made in the child is dead as well: the devices are the parent's. */
static void make_in_child(void)
{
    const ANeuralNetworksDevice *device = RT_FAKE;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = rt_model(); /* local, works */

    expect_dead(ANeuralNetworksDevice_wait(device));
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    expect_dead(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    expect_dead(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static int in_child(struct rt_run *run, struct rt_run *flying, ANeuralNetworksEvent *event)
{
    expect_dead(ANeuralNetworksExecution_compute(run->execution));
    expect_dead(ANeuralNetworksExecution_compute(flying->execution));
    expect_dead(ANeuralNetworksEvent_wait(event));
    make_in_child();
    ANeuralNetworksEvent_free(event);
    rt_run_done(run);
    rt_run_done(flying);
    return 0;
}

TEST(a_forked_child_has_dead_objects)
{
    ANeuralNetworksEvent *event = NULL;
    struct rt_run run, flying;
    int status = -1;
    pid_t child;

    rt_init();
    rt_run_init(&run);
    rt_run_init(&flying);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksExecution_compute(run.execution));
    fake_gate_close();
    OK(ANeuralNetworksExecution_startCompute(flying.execution, &event));
    fake_gate_wait(1);
    child = fork();
    if (child == 0)
        _exit(in_child(&run, &flying, event));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    fake_gate_open();
    OK(ANeuralNetworksEvent_wait(event)); /* the parent's are well */
    OK(ANeuralNetworksExecution_compute(run.execution));
    ANeuralNetworksEvent_free(event);
    rt_run_done(&run);
    rt_run_done(&flying);
}
TEST_END

CHECK_MAIN("event", an_event_tells_of_the_end, an_execution_may_be_freed_in_flight,
           two_threads_cannot_compute_one_execution,
           executions_of_one_compilation_run_beside_each_other,
           models_and_compilations_are_shared_by_threads, any_number_of_threads_may_wait,
           our_threads_take_no_signals, fences_are_events, descriptor_0_can_be_a_fence,
           a_computation_waits_for_its_dependencies, an_end_does_not_wait_for_what_was_before,
           a_failed_dependency_fails_what_follows, a_deadline_ends_the_wait_for_dependencies,
           dependencies_ask_for_more, a_device_waits_for_fences_by_itself,
           a_device_passes_failures_on, a_forked_child_has_dead_objects)
