/* SPDX-License-Identifier: Apache-2.0 */
/* Executions: arguments, states, shapes, results. */
#include "rt.h"

#include <string.h>

static const uint32_t dims4[] = {4};

static ANeuralNetworksOperandType float_type(uint32_t rank, const uint32_t *dims)
{
    return rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, rank, dims);
}

TEST(arguments_are_checked)
{
    const uint32_t dims5[] = {5}, two[] = {2, 2};
    ANeuralNetworksOperandType five = float_type(1, dims5), square = float_type(2, two),
                               four = float_type(1, dims4), null = float_type(1, NULL),
                               ints = rt_tensor(ANEURALNETWORKS_TENSOR_INT32, 1, dims4);
    struct rt_run run;

    rt_init();
    rt_run_create(&run);
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, -1, NULL, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 2, NULL, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 999, NULL, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 15));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 17));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 0));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &five, run.x, 20));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &square, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &null, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, &four, run.x, 16));
    BAD_STATE(ANeuralNetworksExecution_setInput(run.execution, 0, &four, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setOutput(run.execution, 1, NULL, run.z, 16));
    BAD_DATA(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 12));
    BAD_DATA(ANeuralNetworksExecution_setOutput(run.execution, 0, &five, run.z, 20));
    BAD_DATA(
        ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, ((size_t)1 << 32) + 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
    BAD_STATE(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, NULL, 0)); /* omitted */
    rt_run_done(&run);
    /* Of a type the dimensions alone are compared, as in Android. */
    rt_run_create(&run);
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, &ints, run.x, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, &ints, run.z, 16));
    rt_run_done(&run);
}
TEST_END

TEST(memory_arguments_are_checked)
{
    ANeuralNetworksMemory *memory;
    struct rt_run run;

    rt_init();
    rt_run_create(&run);
    memory = rt_memory(4096, NULL);
#define SET(offset, length)                                                                        \
    ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, memory, offset, length)
    BAD_DATA(SET(0, 0));
    BAD_DATA(SET(4081, 16));
    BAD_DATA(SET(0xfffffff0, 0x20)); /* wraps in 32 bits, as Android counts */
    BAD_DATA(SET(SIZE_MAX - 7, 16));
    BAD_DATA(SET((size_t)1 << 32, 16));
    BAD_DATA(SET(0, ((size_t)1 << 32) + 16));
    BAD_DATA(SET(0, 15));
    BAD_DATA(SET(0, 17));
    OK(SET(4080, 16));
    BAD_STATE(SET(4080, 16));
    BAD_DATA(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, memory,
                                                          0xfffffff0, 0x20));
    OK(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, memory, 0, 16));
    ANeuralNetworksMemory_free(memory);
    rt_run_done(&run);
}
TEST_END

TEST(pointers_are_copied_and_counted)
{
    uint64_t before;
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    before = nnhal_get_copied_bytes();
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_mem_eq(run.z, run.x, sizeof(run.x));
    ck_assert_uint_eq(nnhal_get_copied_bytes() - before, 48);
    rt_run_done(&run);
}
TEST_END

TEST(memories_are_used_in_place)
{
    ANeuralNetworksMemory *in, *out;
    float *x, *z;
    uint64_t before;
    struct rt_run run;
    void *bytes;

    rt_init();
    rt_run_create(&run);
    in = rt_memory(8192, &bytes);
    x = (float *)((char *)bytes + 4);
    out = rt_memory(64, &bytes);
    z = bytes;
    memcpy(x, run.x, 16);
    OK(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, in, 4, 16));
    OK(ANeuralNetworksExecution_setInputFromMemory(run.execution, 1, NULL, in, 100, 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, out, 0, 16));
    ANeuralNetworksMemory_free(in);
    ANeuralNetworksMemory_free(out);
    before = nnhal_get_copied_bytes();
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_mem_eq(z, run.x, 16);
    ck_assert_uint_eq(nnhal_get_copied_bytes() - before, 0);
    rt_run_done(&run);
}
TEST_END

TEST(objects_may_be_freed_in_any_order)
{
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    ANeuralNetworksCompilation_free(run.compilation);
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_mem_eq(run.z, run.x, sizeof(run.x));
    ANeuralNetworksExecution_free(run.execution);
    ck_assert_uint_eq(fake.n_released, 1);
}
TEST_END

TEST(padding)
{
    float padded[16] = {1, 2, 3, 4}, out[16];
    struct rt_run run;

    rt_init();
    rt_run_create(&run);
    OK(ANeuralNetworksExecution_enableInputAndOutputPadding(run.execution, true));
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, padded, 64));
    BAD_STATE(ANeuralNetworksExecution_enableInputAndOutputPadding(run.execution, false));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, padded, 15));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, padded, 16));
    memset(out, 0x55, sizeof(out));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, out, 64));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_mem_eq(out, padded, 16);
    for (size_t i = 16; i < 64; i++) /* what is beyond is not touched */
        ck_assert_uint_eq(((unsigned char *)out)[i], 0x55);
    rt_run_done(&run);
}
TEST_END

/* Whichever argument was set first. */
TEST(padding_is_enabled_before_arguments_are_set)
{
    for (int i = 0; i < 4; i++) {
        ANeuralNetworksMemory *memory;
        struct rt_run run;

        rt_init();
        rt_run_create(&run);
        memory = rt_memory(64, NULL);
        if (i == 0)
            OK(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 16));
        else if (i == 1)
            OK(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, memory, 0, 16));
        else if (i == 2)
            OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
        else
            OK(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, memory, 0, 16));
        BAD_STATE(ANeuralNetworksExecution_enableInputAndOutputPadding(run.execution, true));
        ANeuralNetworksMemory_free(memory);
        rt_run_done(&run);
    }
}
TEST_END

TEST(padding_in_memories)
{
    ANeuralNetworksMemory *memory;
    struct rt_run run;
    void *bytes;

    rt_init();
    rt_run_create(&run);
    memory = rt_memory(128, &bytes);
    memcpy(bytes, run.x, 16);
    OK(ANeuralNetworksExecution_enableInputAndOutputPadding(run.execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, memory, 0, 64));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, run.y, 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, memory, 64, 64));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_mem_eq((char *)bytes + 64, run.x, 16);
    ANeuralNetworksMemory_free(memory);
    rt_run_done(&run);
}
TEST_END

/* Everything, in a given state after the first computation began. */
static void check_setters_refuse(struct rt_run *run)
{
    ANeuralNetworksMemory *memory = rt_memory(64, NULL);

    BAD_STATE(ANeuralNetworksExecution_setInput(run->execution, 99, NULL, run->x, 16));
    BAD_STATE(ANeuralNetworksExecution_setInputFromMemory(run->execution, 0, NULL, memory, 0, 16));
    BAD_STATE(ANeuralNetworksExecution_setOutput(run->execution, 0, NULL, run->z, 16));
    BAD_STATE(ANeuralNetworksExecution_setOutputFromMemory(run->execution, 0, NULL, memory, 0, 16));
    BAD_STATE(ANeuralNetworksExecution_enableInputAndOutputPadding(run->execution, true));
    BAD_STATE(ANeuralNetworksExecution_setReusable(run->execution, true));
    BAD_STATE(ANeuralNetworksExecution_setMeasureTiming(run->execution, true));
    BAD_STATE(ANeuralNetworksExecution_setTimeout(run->execution, 1));
    BAD_STATE(ANeuralNetworksExecution_setLoopTimeout(run->execution, 1));
    ANeuralNetworksMemory_free(memory);
}

static void check_no_results(struct rt_run *run)
{
    uint64_t duration = 1;
    uint32_t value;

    BAD_STATE(ANeuralNetworksExecution_getOutputOperandRank(run->execution, 0, &value));
    BAD_STATE(ANeuralNetworksExecution_getOutputOperandDimensions(run->execution, 0, &value));
    BAD_STATE(ANeuralNetworksExecution_getDuration(run->execution, 0, &duration));
    ck_assert_uint_eq(duration, UINT64_MAX);
}

TEST(an_execution_computes_once)
{
    ANeuralNetworksEvent *event;
    struct rt_run run;
    uint32_t value = 9;

    rt_init();
    rt_run_init(&run);
    check_no_results(&run);
    OK(ANeuralNetworksExecution_compute(run.execution));
    BAD_STATE(ANeuralNetworksExecution_compute(run.execution));
    BAD_STATE(ANeuralNetworksExecution_startCompute(run.execution, &event));
    BAD_STATE(
        ANeuralNetworksExecution_startComputeWithDependencies(run.execution, NULL, 0, 0, &event));
    ck_assert_ptr_null(event);
    check_setters_refuse(&run);
    OK(ANeuralNetworksExecution_getOutputOperandRank(run.execution, 0, &value));
    ck_assert_uint_eq(value, 1);
    OK(ANeuralNetworksExecution_getOutputOperandDimensions(run.execution, 0, &value));
    ck_assert_uint_eq(value, 4);
    BAD_DATA(ANeuralNetworksExecution_getOutputOperandRank(run.execution, -1, &value));
    BAD_DATA(ANeuralNetworksExecution_getOutputOperandRank(run.execution, 999, &value));
    BAD_DATA(ANeuralNetworksExecution_getOutputOperandDimensions(run.execution, 1, &value));
    rt_run_done(&run);
}
TEST_END

TEST(a_reusable_one_computes_again)
{
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, false));
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    for (int i = 0; i < 5; i++) {
        run.x[0] = (float)i;
        OK(ANeuralNetworksExecution_compute(run.execution));
        ck_assert_float_eq(run.z[0], (float)i);
        check_setters_refuse(&run);
    }
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    FAILS(ANeuralNetworksExecution_compute(run.execution));
    check_no_results(&run);
    fake.execute_status = NNHAL_NONE;
    OK(ANeuralNetworksExecution_compute(run.execution));
    rt_run_done(&run);
}
TEST_END

TEST(missing_arguments_use_an_execution_up)
{
    struct rt_run run;

    rt_init();
    rt_run_create(&run);
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
    BAD_DATA(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(fake.n_executed, 0);
    check_setters_refuse(&run);
    check_no_results(&run);
    BAD_STATE(ANeuralNetworksExecution_compute(run.execution));
    rt_run_done(&run);

    rt_run_create(&run);
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_compute(run.execution));
    rt_run_done(&run);
}
TEST_END

TEST(codes_come_through)
{
    static const struct {
        uint32_t status;
        int result;
    } cases[] = {
        {NNHAL_DEVICE_UNAVAILABLE, ANEURALNETWORKS_UNAVAILABLE_DEVICE},
        {NNHAL_GENERAL_FAILURE, ANEURALNETWORKS_OP_FAILED},
        {NNHAL_MISSED_DEADLINE_TRANSIENT, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT},
        {NNHAL_MISSED_DEADLINE_PERSISTENT, ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT},
        {NNHAL_RESOURCE_EXHAUSTED_TRANSIENT, ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT},
        {NNHAL_RESOURCE_EXHAUSTED_PERSISTENT, ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT},
    };
    char text[256];

    rt_init();
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        ANeuralNetworksEvent *event = NULL;
        struct rt_run run;

        rt_run_init(&run);
        fake.execute_status = cases[i].status;
        fake.explanation = "too hot";
        OK(ANeuralNetworksExecution_setReusable(run.execution, true));
        ck_assert_int_eq(ANeuralNetworksExecution_compute(run.execution), cases[i].result);
        nnhal_execution_get_error(run.execution, text, sizeof(text));
        ck_assert_ptr_nonnull(strstr(text, "too hot"));
        /* Android makes OP_FAILED of most on this path. */
        OK(ANeuralNetworksExecution_startCompute(run.execution, &event));
        ck_assert_int_eq(ANeuralNetworksEvent_wait(event), cases[i].result);
        nnhal_get_last_error(text, sizeof(text));
        ck_assert_ptr_nonnull(strstr(text, "too hot"));
        check_no_results(&run);
        ANeuralNetworksEvent_free(event);
        rt_run_done(&run);
    }
}
TEST_END

/* A compilation that is not of one listed device: neither deadlines nor timing. Finishes and frees it. */
static void check_untimed(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    BAD_DATA(ANeuralNetworksExecution_setTimeout(execution, 1));
    BAD_DATA(ANeuralNetworksExecution_setMeasureTiming(execution, true));
    OK(ANeuralNetworksExecution_setLoopTimeout(execution, 1));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

TEST(timeouts)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = rt_model();
    struct rt_run run;

    rt_init();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksExecution_setTimeout(run.execution, 3600000000000));
    OK(ANeuralNetworksExecution_setLoopTimeout(run.execution, 12345));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_lt(fake.deadline_ns, UINT64_MAX);
    ck_assert_uint_eq(fake.loop_timeout_ns, 12345);
    rt_run_done(&run);

    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setTimeout(run.execution, 1));
    IS(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksExecution_compute(run.execution));
    rt_run_done(&run);

    rt_run_init(&run); /* none; more than the maximum is the maximum */
    OK(ANeuralNetworksExecution_setTimeout(run.execution, 0));
    OK(ANeuralNetworksExecution_setLoopTimeout(run.execution, UINT64_MAX));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(fake.deadline_ns, UINT64_MAX);
    ck_assert_uint_eq(fake.loop_timeout_ns, 15000000000);
    rt_run_done(&run);

    OK(ANeuralNetworksCompilation_create(model, &compilation));
    check_untimed(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

static void take_time(struct nnhal_execution *execution)
{
    execution->timing = (struct nnhal_timing){.time_on_device_ns = 7, .time_in_driver_ns = 11};
}

/* Deadlines and timing are for compilations with one listed device. */
TEST(two_devices_have_no_timeouts_and_no_timing)
{
    ANeuralNetworksCompilation *compilation = NULL;
    const ANeuralNetworksDevice *both[2];
    ANeuralNetworksModel *model;

    rt_init();
    both[0] = RT_FAKE;
    both[1] = RT_PICKY;
    model = rt_model();
    OK(ANeuralNetworksCompilation_createForDevices(model, both, 2, &compilation));
    BAD_DATA(ANeuralNetworksCompilation_setTimeout(compilation, 1));
    check_untimed(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(durations)
{
    struct rt_run run;
    uint64_t duration = 0;

    rt_init();
    fake.on_execute = take_time;
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setMeasureTiming(run.execution, true));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(fake.measure, 1);
    OK(ANeuralNetworksExecution_getDuration(run.execution, ANEURALNETWORKS_DURATION_ON_HARDWARE,
                                            &duration));
    ck_assert_uint_eq(duration, 7);
    OK(ANeuralNetworksExecution_getDuration(run.execution, ANEURALNETWORKS_DURATION_IN_DRIVER,
                                            &duration));
    ck_assert_uint_ge(duration, 7);
    BAD_DATA(ANeuralNetworksExecution_getDuration(run.execution, 4, &duration));
    ck_assert_uint_eq(duration, UINT64_MAX);
    BAD_DATA(ANeuralNetworksExecution_getDuration(run.execution, -1, &duration));
    rt_run_done(&run);

    rt_run_init(&run); /* not asked for */
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(fake.measure, 0);
    BAD_STATE(ANeuralNetworksExecution_getDuration(run.execution, 0, &duration));
    ck_assert_uint_eq(duration, UINT64_MAX);
    rt_run_done(&run);
}
TEST_END

/* -- unknown dimensions --------------------------------------------------------------- */

static void open_dynamic(struct rt_run *run)
{
    run->compilation = rt_compilation_of(rt_model_of(ANEURALNETWORKS_ADD, 0));
    OK(ANeuralNetworksExecution_create(run->compilation, &run->execution));
}

TEST(open_dimensions_are_said_by_the_execution)
{
    const uint32_t unknown[] = {0}, dims_huge[] = {0x40000000}, dims_wrap[] = {0x40000004};
    ANeuralNetworksOperandType four = float_type(1, dims4), open = float_type(1, unknown),
                               huge = float_type(1, dims_huge), wraps = float_type(1, dims_wrap);
    struct rt_run run = {.x = {1, 2, 3, 4}};
    float z[8] = {0};
    uint32_t value = 0;

    rt_init();
    open_dynamic(&run);
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &open, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &four, run.x, 12));
    /* Products that 32 bits would cut to 0 and to 16. */
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &huge, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setInput(run.execution, 0, &wraps, run.x, 16));
    BAD_DATA(ANeuralNetworksExecution_setOutput(run.execution, 0, &huge, z, 16));
    BAD_DATA(ANeuralNetworksExecution_setOutput(run.execution, 0, &wraps, z, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, &four, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, &four, run.x, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, z, 32)); /* room for more */
    OK(ANeuralNetworksExecution_compute(run.execution));
    OK(ANeuralNetworksExecution_getOutputOperandDimensions(run.execution, 0, &value));
    ck_assert_uint_eq(value, 4);
    ck_assert_mem_eq(z, run.x, 16);
    ck_assert_float_eq(z[4], 0);
    rt_run_done(&run);
}
TEST_END

TEST(too_small_buffers_are_told)
{
    ANeuralNetworksOperandType four = float_type(1, dims4);
    struct rt_run run = {.x = {1, 2, 3, 4}};
    uint32_t value = 0;
    uint64_t duration;

    rt_init();
    open_dynamic(&run);
    OK(ANeuralNetworksExecution_setMeasureTiming(run.execution, true));
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, &four, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, &four, run.x, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 12));
    IS(OUTPUT_INSUFFICIENT_SIZE, ANeuralNetworksExecution_compute(run.execution));
    IS(OUTPUT_INSUFFICIENT_SIZE,
       ANeuralNetworksExecution_getOutputOperandRank(run.execution, 0, &value));
    ck_assert_uint_eq(value, 1);
    IS(OUTPUT_INSUFFICIENT_SIZE,
       ANeuralNetworksExecution_getOutputOperandDimensions(run.execution, 0, &value));
    ck_assert_uint_eq(value, 4);
    BAD_STATE(ANeuralNetworksExecution_getDuration(run.execution, 0, &duration));
    rt_run_done(&run);
}
TEST_END

/* Android keeps dimensions of the run before. */
TEST(a_reusable_one_learns_dimensions_anew)
{
    ANeuralNetworksOperandType four = float_type(1, dims4);
    struct rt_run run = {.x = {1, 2, 3, 4}};
    uint32_t value = 0;
    float z[4];

    rt_init();
    open_dynamic(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, &four, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, &four, run.x, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, z, 16));
    for (int i = 0; i < 3; i++) {
        OK(ANeuralNetworksExecution_compute(run.execution));
        OK(ANeuralNetworksExecution_getOutputOperandDimensions(run.execution, 0, &value));
        ck_assert_uint_eq(value, 4);
    }
    rt_run_done(&run);
}
TEST_END

CHECK_MAIN("execution", arguments_are_checked, memory_arguments_are_checked,
           pointers_are_copied_and_counted, memories_are_used_in_place,
           objects_may_be_freed_in_any_order, padding, padding_in_memories,
           padding_is_enabled_before_arguments_are_set, two_devices_have_no_timeouts_and_no_timing,
           an_execution_computes_once, a_reusable_one_computes_again,
           missing_arguments_use_an_execution_up, codes_come_through, timeouts, durations,
           open_dimensions_are_said_by_the_execution, too_small_buffers_are_told,
           a_reusable_one_learns_dimensions_anew)
