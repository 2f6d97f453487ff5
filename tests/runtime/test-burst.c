/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts by the rules of the API: who may compute when, and in which order
 * everything may be freed. */
#include "rt.h"
#include "support/fds.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(a_burst_needs_a_finished_compilation)
{
    const ANeuralNetworksDevice *device;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksBurst *burst = (ANeuralNetworksBurst *)1;
    ANeuralNetworksModel *model;

    rt_init();
    device = RT_FAKE;
    model = rt_model();
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    BAD_STATE(ANeuralNetworksBurst_create(compilation, &burst));
    ck_assert_ptr_null(burst);
    fake.prepare_status = NNHAL_GENERAL_FAILURE;
    FAILS(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(ANeuralNetworksBurst_create(compilation, &burst));
    ck_assert_ptr_null(burst);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(reusable_and_single_executions_compute_on_it)
{
    ANeuralNetworksBurst *burst = NULL;
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    ck_assert_uint_eq(count_mappings("nnhal-fmq"), 0); /* in one process nothing is queued */
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    for (int i = 0; i < 20; i++) {
        ANeuralNetworksExecution *single = NULL;
        float z[4] = {0};

        run.x[0] = (float)i;
        OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
        ck_assert_mem_eq(run.z, run.x, sizeof(run.x));
        OK(ANeuralNetworksExecution_compute(run.execution));
        OK(ANeuralNetworksExecution_create(run.compilation, &single));
        OK(ANeuralNetworksExecution_setInput(single, 0, NULL, run.x, sizeof(run.x)));
        OK(ANeuralNetworksExecution_setInput(single, 1, NULL, run.y, sizeof(run.y)));
        OK(ANeuralNetworksExecution_setOutput(single, 0, NULL, z, sizeof(z)));
        OK(ANeuralNetworksExecution_burstCompute(single, burst));
        ck_assert_mem_eq(z, run.x, sizeof(z));
        BAD_STATE(ANeuralNetworksExecution_burstCompute(single, burst));
        BAD_STATE(ANeuralNetworksExecution_compute(single));
        ANeuralNetworksExecution_free(single);
    }
    ANeuralNetworksBurst_free(burst);
    OK(ANeuralNetworksExecution_compute(run.execution));
    rt_run_done(&run);
}
TEST_END

static uint32_t n_open, n_opened;

static uint32_t note_opened(void *prepared)
{
    (void)prepared;
    n_open++;
    n_opened++;
    return 1;
}

static void note_closed(void *prepared)
{
    (void)prepared;
    n_open--;
}

TEST(a_driver_in_this_process_is_told_of_bursts)
{
    ANeuralNetworksBurst *bursts[3] = {NULL};
    struct rt_run run;

    rt_init();
    fake.driver.burst_opened = note_opened;
    fake.driver.burst_closed = note_closed;
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(n_opened, 0);
    for (uint32_t i = 0; i < 3; i++) {
        OK(ANeuralNetworksBurst_create(run.compilation, &bursts[i]));
        ck_assert_uint_eq(n_open, i + 1);
        OK(ANeuralNetworksExecution_burstCompute(run.execution, bursts[i]));
    }
    for (uint32_t i = 0; i < 3; i++)
        ANeuralNetworksBurst_free(bursts[i]);
    ck_assert_uint_eq(n_open, 0);
    ck_assert_uint_eq(n_opened, 3);
    rt_run_done(&run);
}
TEST_END

static _Atomic uint32_t n_by_executor; /* counted by the burst's thread */
static uint32_t n_closed_executors;

static uint32_t execute_by_executor(void *ctx, const struct nnhal_burst_request *request)
{
    n_by_executor++;
    return fake.driver.execute(ctx, request->execution);
}

static void close_executor(void *ctx)
{
    n_closed_executors++;
}

static uint32_t open_executor(void *prepared, struct nnhal_burst_executor *executor)
{
    executor->ctx = prepared;
    executor->execute = execute_by_executor;
    executor->close = close_executor;
    return NNHAL_NONE;
}

TEST(a_driver_in_this_process_executes_bursts_its_own_way)
{
    ANeuralNetworksBurst *burst = NULL;
    struct rt_run run;

    rt_init();
    fake.driver.open_executor = open_executor;
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    for (uint32_t i = 0; i < 3; i++) {
        run.x[0] = (float)i;
        OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
        ck_assert_mem_eq(run.z, run.x, sizeof(run.x));
        ck_assert_uint_eq(n_by_executor, i + 1);
    }
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(n_by_executor, 3);
    ANeuralNetworksBurst_free(burst);
    ck_assert_uint_eq(n_closed_executors, 1);
    rt_run_done(&run);
}
TEST_END

TEST(an_execution_of_another_compilation_is_refused_and_stays_as_it_was)
{
    ANeuralNetworksBurst *burst = NULL;
    struct rt_run run, other;

    rt_init();
    rt_run_init(&run);
    rt_run_init(&other);
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    BAD_DATA(ANeuralNetworksExecution_burstCompute(other.execution, burst));
    OK(ANeuralNetworksExecution_compute(other.execution));
    OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    ANeuralNetworksBurst_free(burst);
    rt_run_done(&run);
    rt_run_done(&other);
}
TEST_END

TEST(what_is_missing_completes_the_execution_as_with_compute)
{
    ANeuralNetworksBurst *burst = NULL;
    struct rt_run run;

    rt_init();
    rt_run_create(&run);
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    BAD_DATA(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    BAD_STATE(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    BAD_STATE(ANeuralNetworksExecution_setReusable(run.execution, true));
    ANeuralNetworksBurst_free(burst);
    rt_run_done(&run);
}
TEST_END

struct burst_attempt {
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst;
    int result;
};

static void *compute_burst(void *argument)
{
    struct burst_attempt *attempt = argument;

    attempt->result = ANeuralNetworksExecution_burstCompute(attempt->execution, attempt->burst);
    return NULL;
}

TEST(one_computation_at_a_time_and_another_burst_is_free)
{
    ANeuralNetworksBurst *burst = NULL, *free_one = NULL;
    ANeuralNetworksExecution *second = NULL;
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    OK(ANeuralNetworksBurst_create(run.compilation, &free_one));
    OK(ANeuralNetworksExecution_create(run.compilation, &second));
    OK(ANeuralNetworksExecution_setReusable(second, true));
    OK(ANeuralNetworksExecution_setInput(second, 0, NULL, run.x, sizeof(run.x)));
    OK(ANeuralNetworksExecution_setInput(second, 1, NULL, run.y, sizeof(run.y)));
    OK(ANeuralNetworksExecution_setOutput(second, 0, NULL, run.y, sizeof(run.y)));
    for (int i = 0; i < 20; i++) {
        struct burst_attempt attempts[2] = {{run.execution, burst, -1}, {second, free_one, -1}};
        pthread_t threads[2];

        fake_gate_close();
        ck_assert_int_eq(pthread_create(&threads[0], NULL, compute_burst, &attempts[0]), 0);
        fake_gate_wait(1);
        BAD_STATE(ANeuralNetworksExecution_burstCompute(second, burst));
        BAD_STATE(ANeuralNetworksExecution_burstCompute(run.execution, free_one));
        ck_assert_int_eq(pthread_create(&threads[1], NULL, compute_burst, &attempts[1]), 0);
        fake_gate_wait(2);
        fake_gate_open();
        for (int j = 0; j < 2; j++) {
            pthread_join(threads[j], NULL);
            ck_assert_int_eq(attempts[j].result, ANEURALNETWORKS_NO_ERROR);
        }
        OK(ANeuralNetworksExecution_burstCompute(second, burst));
    }
    ANeuralNetworksExecution_free(second);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksBurst_free(free_one);
    rt_run_done(&run);
}
TEST_END

TEST(failures_timing_and_deadlines_are_those_of_compute)
{
    ANeuralNetworksBurst *burst = NULL;
    struct rt_run run;
    uint64_t duration = 0;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksExecution_setMeasureTiming(run.execution, true));
    OK(ANeuralNetworksExecution_setTimeout(run.execution, UINT64_C(3600000000000)));
    OK(ANeuralNetworksExecution_setLoopTimeout(run.execution, 77));
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    ck_assert_uint_ne(fake.deadline_ns, NNHAL_NO_TIME);
    ck_assert_uint_eq(fake.loop_timeout_ns, 77);
    ck_assert_uint_eq(fake.measure, 1);
    OK(ANeuralNetworksExecution_getDuration(run.execution, ANEURALNETWORKS_DURATION_IN_DRIVER,
                                            &duration));
    fake.execute_status = NNHAL_MISSED_DEADLINE_PERSISTENT;
    IS(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksExecution_burstCompute(run.execution, burst));
    BAD_STATE(ANeuralNetworksExecution_getDuration(run.execution,
                                                   ANEURALNETWORKS_DURATION_IN_DRIVER, &duration));
    fake.execute_status = NNHAL_NONE;
    OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    ANeuralNetworksBurst_free(burst);
    rt_run_done(&run);
}
TEST_END

enum { COMPILATION, EXECUTION, BURST, MEMORY, N_OBJECTS };

static void free_object(void **objects, int which)
{
    switch (which) {
    case COMPILATION:
        ANeuralNetworksCompilation_free(objects[which]);
        break;
    case EXECUTION:
        ANeuralNetworksExecution_free(objects[which]);
        break;
    case BURST:
        ANeuralNetworksBurst_free(objects[which]);
        break;
    default:
        ANeuralNetworksMemory_free(objects[which]);
    }
}

TEST(objects_may_be_freed_in_any_order)
{
    for (int order = 0; order < 24; order++) {
        int left[N_OBJECTS] = {COMPILATION, EXECUTION, BURST, MEMORY};
        void *objects[N_OBJECTS], *bytes;
        ANeuralNetworksExecution *execution = NULL;
        ANeuralNetworksBurst *burst = NULL;
        ANeuralNetworksCompilation *compilation;
        ANeuralNetworksMemory *memory;

        rt_init();
        compilation = rt_compilation();
        memory = rt_memory(48, &bytes);
        OK(ANeuralNetworksBurst_create(compilation, &burst));
        OK(ANeuralNetworksExecution_create(compilation, &execution));
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 16));
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memory, 16, 16));
        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 32, 16));
        OK(ANeuralNetworksExecution_burstCompute(execution, burst));
        objects[COMPILATION] = compilation;
        objects[EXECUTION] = execution;
        objects[BURST] = burst;
        objects[MEMORY] = memory;
        for (int n = N_OBJECTS, rest = order; n > 0; rest /= n, n--) {
            int i = rest % n, which = left[i];

            free_object(objects, which);
            memmove(&left[i], &left[i + 1], (size_t)(n - i - 1) * sizeof(left[0]));
        }
        ck_assert_uint_eq(fake.n_released, fake.n_prepared);
    }
}
TEST_END

static int in_child(struct rt_run *run, ANeuralNetworksBurst *burst)
{
    ANeuralNetworksBurst *another = NULL;

    IS(DEAD_OBJECT, ANeuralNetworksExecution_burstCompute(run->execution, burst));
    IS(DEAD_OBJECT, ANeuralNetworksBurst_create(run->compilation, &another));
    ck_assert_ptr_null(another);
    ANeuralNetworksBurst_free(burst);
    rt_run_done(run);
    return 0;
}

TEST(a_forked_child_has_dead_bursts)
{
    ANeuralNetworksBurst *burst = NULL;
    struct rt_run run;
    int status = -1;
    pid_t child;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    child = fork();
    if (child == 0)
        _exit(in_child(&run, burst));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    ANeuralNetworksBurst_free(burst);
    rt_run_done(&run);
}
TEST_END

CHECK_MAIN("burst", a_burst_needs_a_finished_compilation,
           reusable_and_single_executions_compute_on_it, a_driver_in_this_process_is_told_of_bursts,
           a_driver_in_this_process_executes_bursts_its_own_way,
           an_execution_of_another_compilation_is_refused_and_stays_as_it_was,
           what_is_missing_completes_the_execution_as_with_compute,
           one_computation_at_a_time_and_another_burst_is_free,
           failures_timing_and_deadlines_are_those_of_compute, objects_may_be_freed_in_any_order,
           a_forked_child_has_dead_bursts)
