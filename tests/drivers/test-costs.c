/* SPDX-License-Identifier: Apache-2.0 */
/* What parts of a model have taken, as their executions showed it. */
#include "drivers/split.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 4, TIMES = 5, DELAY_US = 2000 };

/* EXP of ABS. */
static ANeuralNetworksModel *make_model(void)
{
    const uint32_t n = N, operands[] = {0, 1, 2};
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i < 3; i++)
        OK(ANeuralNetworksModel_addOperand(model, &type));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ABS, 1, &operands[0], 1,
                                         &operands[1]));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_EXP, 1, &operands[1], 1,
                                         &operands[2]));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &operands[0], 1, &operands[2]));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void run(ANeuralNetworksCompilation *compilation, bool is_measured)
{
    const float in[N] = {0};
    float out[N];
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    if (is_measured)
        OK(ANeuralNetworksExecution_setMeasureTiming(execution, true));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, sizeof(in)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
    OK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
}

static struct nnhal_part_cost find_cost(const ANeuralNetworksCompilation *compilation,
                                        uint32_t part)
{
    struct nnhal_part_cost cost = {.size = sizeof(cost)};

    OK(nnhal_compilation_get_cost(compilation, part, &cost));
    return cost;
}

/* The driver of partial-1 waits before it computes, of which its device knows nothing. */
TEST(each_part_is_measured)
{
    ANeuralNetworksModel *model = make_model();
    ANeuralNetworksCompilation *compilation;
    struct nnhal_part_cost cost;

    split_rules("0:only=ABS;1:only=EXP,delay-us=%d", DELAY_US);
    compilation = split_compile(model, 2);
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    for (uint32_t part = 0; part < 2; part++) {
        cost = find_cost(compilation, part);
        ck_assert_uint_eq(cost.n_computations + cost.total_ns + cost.compute_ns + cost.move_ns +
                              cost.launch_ns,
                          0);
    }
    for (uint32_t i = 0; i < TIMES; i++)
        run(compilation, false);
    for (uint32_t part = 0; part < 2; part++) {
        cost = find_cost(compilation, part);
        ck_assert_uint_eq(cost.n_computations, TIMES);
        ck_assert_uint_gt(cost.compute_ns, 0);
        ck_assert_uint_gt(cost.launch_ns, part * 1000 * DELAY_US);
        ck_assert_uint_ge(cost.total_ns, cost.launch_ns);
        ck_assert_uint_ge(cost.total_ns, cost.compute_ns);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* In and out in one memory. */
static void run_in_line(ANeuralNetworksCompilation *compilation, ANeuralNetworksMemory *memory)
{
    const size_t n_bytes = N * sizeof(float);
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksEvent *event = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, n_bytes));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, n_bytes, n_bytes));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event));
    OK(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
}

/* As far as drivers tell: the second one does not know when the fence signals that it waits for. */
TEST(parts_that_fences_start_are_measured)
{
    static const uint32_t numbers[] = {3, 4};
    ANeuralNetworksModel *model = make_model();
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("values", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, 2 * N * sizeof(float)), 0);
    OK(ANeuralNetworksMemory_createFromFd(2 * N * sizeof(float), PROT_READ | PROT_WRITE, fd, 0,
                                          &memory));
    split_rules("3:only=ABS,async=1;4:only=EXP,async=1");
    compilation = split_compile_on(model, 2, numbers);
    for (uint32_t i = 0; i < TIMES; i++)
        run_in_line(compilation, memory);
    for (uint32_t part = 0; part < 2; part++) {
        struct nnhal_part_cost cost = find_cost(compilation, part);

        ck_assert_uint_eq(cost.n_computations, TIMES);
        ck_assert_uint_gt(cost.compute_ns, 0);
        ck_assert_uint_ge(cost.total_ns, cost.compute_ns);
        ck_assert_uint_eq(cost.launch_ns, 0);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksModel_free(model);
    close(fd);
}
TEST_END

TEST(what_one_device_computes_is_measured_if_it_is_asked_for)
{
    ANeuralNetworksModel *model = make_model();
    ANeuralNetworksCompilation *compilation;

    split_rules(" ");
    compilation = split_compile(model, 1);
    ck_assert_uint_eq(find_cost(compilation, 0).n_computations, 0);
    run(compilation, false);
    ck_assert_uint_eq(find_cost(compilation, 0).n_computations, 0);
    run(compilation, true);
    run(compilation, true);
    ck_assert_uint_eq(find_cost(compilation, 0).n_computations, 2);
    ck_assert_uint_gt(find_cost(compilation, 0).compute_ns, 0);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* It is nothing that the part takes. */
TEST(what_another_device_does_instead_is_not_counted)
{
    ANeuralNetworksModel *model = make_model();
    ANeuralNetworksCompilation *compilation = NULL;

    setenv("NNHAL_DEVICES", "partial-0,partial-1", 1);
    split_rules("0:only=ABS;1:only=EXP,fail=execute");
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    run(compilation, false);
    ck_assert_uint_eq(find_cost(compilation, 0).n_computations, 1);
    ck_assert_uint_eq(find_cost(compilation, 1).n_computations, 0);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(a_cost_that_there_is_not_is_refused)
{
    struct nnhal_part_cost cost = {.size = sizeof(cost), .launch_ns = 7};
    ANeuralNetworksModel *model = make_model();
    ANeuralNetworksCompilation *compilation = NULL;

    split_rules("0:only=ABS;1:only=EXP");
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    ck_assert_int_eq(nnhal_compilation_get_cost(compilation, 0, &cost), ANEURALNETWORKS_BAD_STATE);
    ANeuralNetworksCompilation_free(compilation);
    compilation = split_compile(model, 2);
    ck_assert_int_eq(nnhal_compilation_get_cost(compilation, 2, &cost), ANEURALNETWORKS_BAD_DATA);
    cost.size = offsetof(struct nnhal_part_cost, compute_ns) - 1;
    ck_assert_int_eq(nnhal_compilation_get_cost(compilation, 1, &cost), ANEURALNETWORKS_BAD_DATA);
    cost.size = offsetof(struct nnhal_part_cost, launch_ns);
    OK(nnhal_compilation_get_cost(compilation, 1, &cost));
    ck_assert_uint_eq(cost.launch_ns, 7);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("costs", each_part_is_measured, parts_that_fences_start_are_measured,
           what_one_device_computes_is_measured_if_it_is_asked_for,
           what_another_device_does_instead_is_not_counted, a_cost_that_there_is_not_is_refused)
