/* SPDX-License-Identifier: Apache-2.0 */
/* What an application sees is the same in all three ways; only the process is
 * another. */
#include "ways.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(the_formula_is_right)
{
    struct ways_formula formula;
    uint64_t before;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    for (int i = 0; i < 10; i++)
        OK(ways_formula_run(&formula, i));
    ways_formula_done(&formula);
    before = nnhal_get_copied_bytes();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    for (int i = 0; i < 10; i++)
        OK(ways_formula_run(&formula, i));
    ck_assert_uint_eq(nnhal_get_copied_bytes(), before);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

TEST(it_runs_where_it_says)
{
    ways_begin();
    if (ways_is("embedded"))
        ck_assert_int_eq(ways_pid(), getpid());
    else if (ways_is("service"))
        ck_assert_int_eq(ways_pid(), ways_service());
    else
        ck_assert_int_ne(ways_pid(), getpid());
    ways_end();
}
TEST_END

TEST(unsupported_operations_are_told_apart)
{
    const uint32_t n = 4, div[] = {0, 1, 2}, add[] = {3, 1, 2}, in[] = {0, 1}, t = 3, z = 4;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const ANeuralNetworksDevice *device;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = NULL;
    const int32_t none = 0;
    bool supported[2];
    char text[300];

    ways_begin();
    device = ways_device();
    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 5; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    /* In an order in which they cannot run. */
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_DIV, 3, div, 1, &t));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported));
    ck_assert_int_eq(supported[0], true);
    ck_assert_int_eq(supported[1], false);
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    IS(BAD_DATA, ANeuralNetworksCompilation_finish(compilation));
    nnhal_compilation_get_error(compilation, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "DIV"));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ways_end();
}
TEST_END

static void *run_many(void *argument)
{
    struct ways_formula formula;

    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, (intptr_t)argument & 1);
    for (int i = 0; i < 100; i++)
        OK(ways_formula_run(&formula, i));
    ways_formula_done(&formula);
    return NULL;
}

TEST(threads_share_the_device)
{
    enum { N_THREADS = 6 };
    pthread_t threads[N_THREADS];

    ways_begin();
    for (intptr_t i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, (void *)i), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    ways_end();
}
TEST_END

TEST(events_and_timing)
{
    struct ways_formula formula;
    ANeuralNetworksEvent *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *after[1];
    ANeuralNetworksExecution *executions[2];
    float x[4] = {1, 2, 3, 4}, z[2][4];
    uint64_t driver = 0, device = 0;

    ways_begin();
    OK(ways_formula_compile(&formula));
    for (int i = 0; i < 2; i++) {
        OK(ANeuralNetworksExecution_create(formula.compilation, &executions[i]));
        OK(ANeuralNetworksExecution_setInput(executions[i], 0, NULL, i ? z[0] : x, 16));
        OK(ANeuralNetworksExecution_setInput(executions[i], 1, NULL, x, 16));
        OK(ANeuralNetworksExecution_setOutput(executions[i], 0, NULL, z[i], 16));
        OK(ANeuralNetworksExecution_setMeasureTiming(executions[i], true));
    }
    OK(ANeuralNetworksExecution_startCompute(executions[0], &first));
    after[0] = first;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(executions[1], after, 1, 0, &second));
    OK(ANeuralNetworksEvent_wait(second));
    ck_assert_float_eq(z[1][1], (2 * 2 + 2) * 2 + (2 * 2 + 2)); /* x * y + x of x * y + x */
    OK(ANeuralNetworksExecution_getDuration(executions[1], ANEURALNETWORKS_DURATION_IN_DRIVER,
                                            &driver));
    OK(ANeuralNetworksExecution_getDuration(executions[1], ANEURALNETWORKS_DURATION_ON_HARDWARE,
                                            &device));
    ck_assert_uint_lt(driver, UINT64_MAX);
    ck_assert(device == UINT64_MAX || device <= driver);
    ANeuralNetworksEvent_free(second);
    ANeuralNetworksEvent_free(first);
    for (int i = 0; i < 2; i++)
        ANeuralNetworksExecution_free(executions[i]);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

TEST(devices_wait_for_each_other)
{
    ANeuralNetworksEvent *first = NULL, *second = NULL;
    const ANeuralNetworksEvent *after[1];
    struct ways_formula a, b;
    int fence = -1;

    ways_begin();
    OK(ways_formula_compile(&a));
    OK(ways_formula_compile(&b));
    ways_formula_bind(&a, true);
    ways_formula_bind(&b, true);
    for (int i = 1; i < 20; i++) {
        a.x[0] = b.x[0] = (float)i;
        a.y[0] = b.y[0] = 2;
        OK(ANeuralNetworksExecution_startComputeWithDependencies(a.execution, NULL, 0, 0, &first));
        after[0] = first;
        OK(ANeuralNetworksExecution_startComputeWithDependencies(b.execution, after, 1, 0,
                                                                 &second));
        OK(ANeuralNetworksEvent_getSyncFenceFd(second, &fence));
        close(fence);
        OK(ANeuralNetworksEvent_wait(second));
        ck_assert_float_eq(b.z[0], (float)(3 * i));
        ANeuralNetworksEvent_free(second);
        ANeuralNetworksEvent_free(first);
        ck_assert_float_eq(a.z[0], (float)(3 * i));
    }
    ways_formula_done(&a);
    ways_formula_done(&b);
    ways_end();
}
TEST_END

/* In this process it would be the application's own SIGBUS. */
TEST(a_file_that_shrinks_ends_its_computation_only)
{
    struct ways_formula formula, other;
    ANeuralNetworksMemory *memory = NULL;
    float z[4];
    int fd;

    if (ways_is("embedded"))
        return;
    ways_begin();
    fd = memfd_create("shrinks", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(fd, 2 << 20), 0);
    OK(ANeuralNetworksMemory_createFromFd(2 << 20, PROT_READ | PROT_WRITE, fd, 0, &memory));
    OK(ways_formula_compile(&formula));
    OK(ANeuralNetworksExecution_create(formula.compilation, &formula.execution));
    OK(ANeuralNetworksExecution_setReusable(formula.execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(formula.execution, 0, NULL, memory, 1 << 20,
                                                   16));
    OK(ANeuralNetworksExecution_setInputFromMemory(formula.execution, 1, NULL, memory, 0, 16));
    OK(ANeuralNetworksExecution_setOutput(formula.execution, 0, NULL, z, sizeof(z)));
    ANeuralNetworksMemory_free(memory);
    OK(ANeuralNetworksExecution_compute(formula.execution));
    ck_assert_float_eq(z[0], 0);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    IS(OP_FAILED, ANeuralNetworksExecution_compute(formula.execution));
    OK(ways_formula_compile(&other));
    ways_formula_bind(&other, false);
    OK(ways_formula_run(&other, 1));
    ways_formula_done(&other);
    ways_formula_done(&formula);
    close(fd);
    ways_end();
}
TEST_END

TEST(a_forked_child_leaves_the_parent_alone)
{
    struct ways_formula formula;
    int status = -1;
    pid_t child;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    OK(ways_formula_run(&formula, 1));
    child = fork();
    if (child == 0) {
        IS(DEAD_OBJECT, ANeuralNetworksExecution_compute(formula.execution));
        ways_formula_done(&formula);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    OK(ways_formula_run(&formula, 2));
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

TEST(nothing_is_left)
{
    struct ways_formula formula;
    size_t n_fds, n_mappings;

    ways_begin();
    ways_device();
    n_fds = count_fds();
    n_mappings = count_mappings("memfd:");
    for (int i = 0; i < 20; i++) {
        OK(ways_formula_compile(&formula));
        ways_formula_bind(&formula, i & 1);
        OK(ways_formula_run(&formula, i));
        ways_formula_done(&formula);
    }
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(count_mappings("memfd:"), n_mappings);
    ways_end();
}
TEST_END

CHECK_MAIN("ways-" WAY, the_formula_is_right, it_runs_where_it_says,
           unsupported_operations_are_told_apart, threads_share_the_device, events_and_timing,
           devices_wait_for_each_other, a_file_that_shrinks_ends_its_computation_only,
           a_forked_child_leaves_the_parent_alone, nothing_is_left)
