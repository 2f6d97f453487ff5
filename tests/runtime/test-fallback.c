/* SPDX-License-Identifier: Apache-2.0 */
/* test-fallback.c - the device that stands last computes what another one fails */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

static _Atomic unsigned n_failures; /* still to come */

static void fail_for_a_while(struct nnhal_execution *execution)
{
    fake.execute_status = n_failures > 0 ? NNHAL_GENERAL_FAILURE : NNHAL_NONE;
    if (n_failures > 0)
        n_failures--;
}

/* The next n executions fail, on any device. */
static void fail_next(unsigned n)
{
    n_failures = n;
    fake.on_execute = fail_for_a_while;
}

static ANeuralNetworksCompilation *compile_model(void)
{
    ANeuralNetworksModel *model = rt_model();
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    return compilation;
}

static int compute_once(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution = NULL;
    float x[4] = {1, 2, 3, 4}, y[4] = {0}, z[4] = {0};
    int r;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    r = ANeuralNetworksExecution_compute(execution);
    if (r == ANEURALNETWORKS_NO_ERROR)
        ck_assert_mem_eq(z, x, sizeof(z));
    ANeuralNetworksExecution_free(execution);
    return r;
}

TEST(the_last_device_helps_out)
{
    ANeuralNetworksCompilation *compilation;

    rt_init();
    compilation = compile_model();
    fail_next(1);
    OK(compute_once(compilation));
    ck_assert_uint_eq(fake.n_prepared, 2);
    /* It keeps what it prepared, and the first device is asked first again. */
    fail_next(1);
    OK(compute_once(compilation));
    ck_assert_uint_eq(fake.n_prepared, 2);
    ck_assert_uint_eq(fake.n_executed, 4);
    OK(compute_once(compilation));
    ck_assert_uint_eq(fake.n_executed, 5);
    ANeuralNetworksCompilation_free(compilation);
    ck_assert_uint_eq(fake.n_released, 2);
}
TEST_END

TEST(if_it_fails_too_the_first_failure_stands)
{
    ANeuralNetworksCompilation *compilation;

    rt_init();
    compilation = compile_model();
    fail_next(2);
    FAILS(compute_once(compilation));
    ck_assert_uint_eq(fake.n_executed, 2);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(a_listed_device_gets_no_help)
{
    ANeuralNetworksCompilation *compilation;

    rt_init();
    compilation = rt_compilation();
    fail_next(1);
    FAILS(compute_once(compilation));
    ck_assert_uint_eq(fake.n_executed, 1);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(it_can_be_switched_off)
{
    ANeuralNetworksCompilation *compilation;

    rt_init();
    setenv("NNHAL_FALLBACK", "off", 1);
    compilation = compile_model();
    fail_next(1);
    FAILS(compute_once(compilation));
    ck_assert_uint_eq(fake.n_executed, 1);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* Of an operation that each maker has for itself, no other device knows the meaning. */
TEST(an_operation_of_a_maker_gets_no_help)
{
    ANeuralNetworksCompilation *compilation = NULL;
    const uint32_t inputs[] = {0, 1}, output = 2;
    ANeuralNetworksModel *model = NULL;

    rt_init();
    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 3; i++)
        rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_addOperation(model, 10000, 2, inputs, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    OK(compute_once(compilation));
    fail_next(1);
    FAILS(compute_once(compilation));
    ck_assert_uint_eq(fake.n_executed, 2);
    ck_assert_uint_eq(fake.n_prepared, 1);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

static const ANeuralNetworksMemory *state_of(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

/* What lies in the failing device is brought to the other, and the result back. */
TEST(memories_of_the_device_come_along)
{
    static const float values[] = {4, 3, 2, 1};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution = NULL;
    const ANeuralNetworksMemory *in, *out;
    ANeuralNetworksMemory *bytes;
    float y[4] = {0};
    void *mapped = NULL;

    rt_init();
    compilation = compile_model();
    in = state_of(compilation);
    out = state_of(compilation);
    bytes = rt_memory(sizeof(values), &mapped);
    memcpy(mapped, values, sizeof(values));
    OK(ANeuralNetworksMemory_copy(bytes, in));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, in, 0, 0));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, out, 0, 0));
    fail_next(1);
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_uint_eq(fake.n_executed, 2);
    memset(mapped, 0, sizeof(values));
    OK(ANeuralNetworksMemory_copy(out, bytes));
    ck_assert_mem_eq(mapped, values, sizeof(values));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free((ANeuralNetworksMemory *)in);
    ANeuralNetworksMemory_free((ANeuralNetworksMemory *)out);
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

static struct nnhal_device_counts counts_of(ANeuralNetworksDevice *device)
{
    struct nnhal_device_counts counts = {.size = sizeof(counts)};

    OK(nnhal_device_get_counts(device, &counts));
    return counts;
}

/* An execution with its own arguments, for compile_model(). */
static ANeuralNetworksExecution *open_execution(ANeuralNetworksCompilation *compilation)
{
    static float x[4] = {1, 2, 3, 4}, y[4], z[4];
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    return execution;
}

TEST(who_computed_and_why_is_told)
{
    struct nnhal_part_info part = {.size = sizeof(part)};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;

    rt_init();
    compilation = compile_model();
    execution = open_execution(compilation);
    BAD_STATE(nnhal_execution_get_part(execution, 0, &part));
    OK(ANeuralNetworksExecution_compute(execution));
    OK(nnhal_execution_get_part(execution, 0, &part));
    ck_assert_uint_eq(part.n_parts, 1);
    ck_assert_ptr_eq(part.device, RT_FAKE);
    ck_assert_ptr_eq(part.planned, RT_FAKE);
    ck_assert_str_eq(part.why, "");
    BAD_DATA(nnhal_execution_get_part(execution, 1, &part));
    fake.explanation = "the coil is hot";
    fail_next(1);
    OK(ANeuralNetworksExecution_compute(execution));
    OK(nnhal_execution_get_part(execution, 0, &part));
    ck_assert_ptr_eq(part.device, RT_PICKY);
    ck_assert_ptr_eq(part.planned, RT_FAKE);
    ck_assert_ptr_nonnull(strstr(part.why, "the coil is hot"));
    /* The next computation starts anew. */
    OK(ANeuralNetworksExecution_compute(execution));
    OK(nnhal_execution_get_part(execution, 0, &part));
    ck_assert_ptr_eq(part.device, RT_FAKE);
    ck_assert_str_eq(part.why, "");
    fail_next(2);
    FAILS(ANeuralNetworksExecution_compute(execution));
    BAD_STATE(nnhal_execution_get_part(execution, 0, &part));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(devices_count_what_they_computed)
{
    struct nnhal_device_counts small = {.size = sizeof(size_t)};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksEvent *event = NULL;
    ANeuralNetworksExecution *execution;

    rt_init();
    compilation = compile_model();
    execution = open_execution(compilation);
    OK(ANeuralNetworksExecution_compute(execution));
    fail_next(1);
    OK(ANeuralNetworksExecution_startCompute(execution, &event));
    OK(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    ck_assert_uint_eq(counts_of(RT_FAKE).n_computed, 1);
    ck_assert_uint_eq(counts_of(RT_FAKE).n_failed, 1);
    ck_assert_uint_eq(counts_of(RT_FAKE).n_helped, 0);
    ck_assert_uint_eq(counts_of(RT_PICKY).n_computed, 1);
    ck_assert_uint_eq(counts_of(RT_PICKY).n_failed, 0);
    ck_assert_uint_eq(counts_of(RT_PICKY).n_helped, 1);
    fail_next(2);
    FAILS(ANeuralNetworksExecution_compute(execution));
    ck_assert_uint_eq(counts_of(RT_FAKE).n_failed, 2);
    BAD_DATA(nnhal_device_get_counts(RT_FAKE, &small));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

CHECK_MAIN("fallback", the_last_device_helps_out, if_it_fails_too_the_first_failure_stands,
           a_listed_device_gets_no_help, it_can_be_switched_off,
           an_operation_of_a_maker_gets_no_help, memories_of_the_device_come_along,
           who_computed_and_why_is_told, devices_count_what_they_computed)
