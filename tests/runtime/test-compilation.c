/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, and compilations for them: lists, choice, settings, failures. */
#include "rt.h"

#include <string.h>
#include <unistd.h>

static ANeuralNetworksCompilation *open_for(ANeuralNetworksModel *model,
                                            const ANeuralNetworksDevice *device)
{
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    return compilation;
}

static const char *name_of(const ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksDevice *device = NULL;
    const char *name = NULL;

    OK(nnhal_compilation_get_device(compilation, &device));
    OK(ANeuralNetworksDevice_getName(device, &name));
    return name;
}

TEST(devices_tell_what_they_are)
{
    struct nnhal_where where = {.size = sizeof(where)};
    ANeuralNetworksDevice *device = NULL;
    const char *text = NULL;
    uint32_t count = 0;
    int64_t level = 0;
    int32_t type = 0;

    rt_init();
    OK(ANeuralNetworks_getDeviceCount(&count));
    ck_assert_uint_eq(count, 2);
    BAD_DATA(ANeuralNetworks_getDevice(2, &device));
    OK(ANeuralNetworks_getDevice(0, &device));
    OK(ANeuralNetworksDevice_getName(device, &text));
    ck_assert_str_eq(text, "fake");
    OK(ANeuralNetworksDevice_getVersion(device, &text));
    ck_assert_str_eq(text, "1");
    OK(ANeuralNetworksDevice_getType(device, &type));
    ck_assert_int_eq(type, ANEURALNETWORKS_DEVICE_OTHER);
    OK(ANeuralNetworksDevice_getFeatureLevel(device, &level));
    ck_assert_int_eq(level, ANEURALNETWORKS_FEATURE_LEVEL_8);
    OK(ANeuralNetworksDevice_wait(device));
    OK(nnhal_device_get_where(device, &where));
    ck_assert_uint_eq(where.way, NNHAL_WAY_EMBEDDED);
    ck_assert_str_eq(where.way_name, "embedded");
    ck_assert_str_eq(where.path, "");
    ck_assert_int_eq(where.pid, getpid());
    ck_assert_int_eq(ANeuralNetworks_getRuntimeFeatureLevel(), 1000008);
    ck_assert_uint_eq(ANeuralNetworks_getDefaultLoopTimeout(), 2000000000);
    ck_assert_uint_eq(ANeuralNetworks_getMaximumLoopTimeout(), 15000000000);
}
TEST_END

TEST(where_grows_by_its_size)
{
    struct nnhal_where where = {.size = offsetof(struct nnhal_where, way_name), .path = "mine"};

    rt_init();
    OK(nnhal_device_get_where(RT_FAKE, &where));
    ck_assert_int_eq(where.pid, getpid());
    ck_assert_str_eq(where.path, "mine");
    where.size = 4;
    BAD_DATA(nnhal_device_get_where(RT_FAKE, &where));
}
TEST_END

TEST(lists_of_devices_are_checked)
{
    const ANeuralNetworksDevice *twice[2], *foreign[1] = {(const void *)"x"}, *both[2];
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = rt_model(), *open = rt_open_model(4);
    bool supported[1] = {false};

    rt_init();
    twice[0] = twice[1] = both[0] = RT_FAKE;
    both[1] = RT_PICKY;
    BAD_DATA(ANeuralNetworksCompilation_createForDevices(model, twice, 2, &compilation));
    ck_assert_ptr_null(compilation);
    BAD_DATA(ANeuralNetworksCompilation_createForDevices(model, twice, 0, &compilation));
    BAD_DATA(ANeuralNetworksCompilation_createForDevices(model, foreign, 1, &compilation));
    BAD_STATE(ANeuralNetworksCompilation_createForDevices(open, twice, 2, &compilation));
    BAD_STATE(ANeuralNetworksCompilation_create(open, &compilation));
    BAD_DATA(ANeuralNetworksModel_getSupportedOperationsForDevices(model, twice, 2, supported));
    BAD_DATA(ANeuralNetworksModel_getSupportedOperationsForDevices(model, twice, 0, supported));
    BAD_STATE(ANeuralNetworksModel_getSupportedOperationsForDevices(open, both, 2, supported));
    ck_assert(!supported[0]);
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, both, 2, supported));
    ck_assert(supported[0]);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksModel_free(open);
}
TEST_END

TEST(a_device_that_fails_to_answer_supports_nothing)
{
    const ANeuralNetworksDevice *device[1];
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model = rt_model();
    bool supported[1] = {true};
    char text[256];

    rt_init();
    fake.supported_status = NNHAL_GENERAL_FAILURE;
    fake.explanation = "the moon is full";
    device[0] = RT_FAKE;
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, device, 1, supported));
    ck_assert(!supported[0]);
    compilation = open_for(model, RT_FAKE);
    BAD_DATA(ANeuralNetworksCompilation_finish(compilation));
    nnhal_compilation_get_error(compilation, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "the moon is full"));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(settings_are_checked)
{
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation, *any;

    rt_init();
    model = rt_model();
    compilation = open_for(model, RT_FAKE);
    BAD_DATA(ANeuralNetworksCompilation_setPreference(compilation, -1)); /* Android accepts it */
    BAD_DATA(ANeuralNetworksCompilation_setPreference(compilation, 3));
    OK(ANeuralNetworksCompilation_setPreference(compilation, ANEURALNETWORKS_PREFER_LOW_POWER));
    BAD_DATA(ANeuralNetworksCompilation_setPriority(compilation, 0));
    BAD_DATA(ANeuralNetworksCompilation_setPriority(compilation, 101));
    OK(ANeuralNetworksCompilation_setPriority(compilation, ANEURALNETWORKS_PRIORITY_HIGH));
    OK(ANeuralNetworksCompilation_setTimeout(compilation, 0));
    OK(ANeuralNetworksCompilation_setTimeout(compilation, UINT64_MAX));
    OK(ANeuralNetworksCompilation_create(model, &any));
    BAD_DATA(ANeuralNetworksCompilation_setTimeout(any, 1));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_uint_eq(fake.preference, NNHAL_LOW_POWER);
    ck_assert_uint_eq(fake.priority, NNHAL_PRIORITY_HIGH);
    ANeuralNetworksCompilation_free(any);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(states)
{
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model;
    uint32_t n;

    rt_init();
    model = rt_model();
    compilation = open_for(model, RT_FAKE);
    BAD_STATE(ANeuralNetworksExecution_create(compilation, &execution));
    BAD_STATE(nnhal_compilation_get_device(compilation, &device));
    BAD_STATE(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, 9, &n));
    OK(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(ANeuralNetworksCompilation_setPreference(compilation, -1));
    BAD_STATE(ANeuralNetworksCompilation_setPriority(compilation, -1));
    BAD_STATE(ANeuralNetworksCompilation_setTimeout(compilation, 1));
    OK(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, 1, &n));
    ck_assert_uint_eq(n, 64);
    OK(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation, 1, &n));
    ck_assert_uint_eq(n, 64);
    OK(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(compilation, 0, &n));
    OK(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation, 0, &n));
    BAD_DATA(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, 2, &n));
    BAD_DATA(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation, 2, &n));
    BAD_DATA(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(compilation, 1, &n));
    BAD_DATA(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation, 1, &n));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(a_failed_finish_is_final)
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
    ANeuralNetworksModel *model;

    rt_init();
    model = rt_model();
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        ANeuralNetworksCompilation *compilation = open_for(model, RT_FAKE);
        ANeuralNetworksExecution *execution = (void *)model;
        uint32_t n;

        fake.prepare_status = cases[i].status;
        ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), cases[i].result);
        fake.prepare_status = NNHAL_NONE;
        BAD_STATE(ANeuralNetworksCompilation_finish(compilation));
        BAD_STATE(ANeuralNetworksCompilation_setPreference(compilation, 0));
        BAD_STATE(ANeuralNetworksExecution_create(compilation, &execution));
        ck_assert_ptr_null(execution);
        BAD_STATE(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation, 0, &n));
        ANeuralNetworksCompilation_free(compilation);
    }
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(the_first_device_that_supports_all_is_chosen)
{
    const ANeuralNetworksDevice *list[2];
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *add, *mul;

    rt_init();
    add = rt_model();
    mul = rt_model_of(ANEURALNETWORKS_MUL, 4);
    list[0] = RT_PICKY;
    list[1] = RT_FAKE;
    OK(ANeuralNetworksCompilation_createForDevices(add, list, 2, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_str_eq(name_of(compilation), "picky");
    ANeuralNetworksCompilation_free(compilation);
    OK(ANeuralNetworksCompilation_createForDevices(mul, list, 2, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_str_eq(name_of(compilation), "fake");
    ANeuralNetworksCompilation_free(compilation);
    compilation = open_for(mul, RT_PICKY);
    BAD_DATA(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(add);
    ANeuralNetworksModel_free(mul);
}
TEST_END

TEST(without_a_list_the_next_device_is_tried)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;

    rt_init();
    model = rt_model();
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_str_eq(name_of(compilation), "fake");
    ANeuralNetworksCompilation_free(compilation);

    fake.supported_status = NNHAL_GENERAL_FAILURE;
    ANeuralNetworksModel_free(model);
    model = rt_model();
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_str_eq(name_of(compilation), "picky");
    ANeuralNetworksCompilation_free(compilation);

    picky_prepare_status = NNHAL_GENERAL_FAILURE;
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    FAILS(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(with_a_list_a_failure_is_final)
{
    const ANeuralNetworksDevice *list[2];
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;

    rt_init();
    model = rt_model();
    list[0] = RT_PICKY;
    list[1] = RT_FAKE;
    picky_prepare_status = NNHAL_GENERAL_FAILURE;
    OK(ANeuralNetworksCompilation_createForDevices(model, list, 2, &compilation));
    FAILS(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* PACK came with level 6. */
static ANeuralNetworksModel *model_of_level_6(void)
{
    const uint32_t inputs[] = {0, 1}, input = 1, output = 2, n = 4, dims[] = {1, 4};
    const ANeuralNetworksOperandType scalar = rt_scalar(ANEURALNETWORKS_INT32),
                                     in = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n),
                                     out = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims);
    const int32_t axis = 0;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    OK(ANeuralNetworksModel_addOperand(model, &in));
    OK(ANeuralNetworksModel_addOperand(model, &out));
    OK(ANeuralNetworksModel_setOperandValue(model, 0, &axis, sizeof(axis)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_PACK, 2, inputs, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

TEST(an_older_device_is_not_asked)
{
    const ANeuralNetworksDevice *device[1];
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;
    bool supported[1] = {true};
    int64_t level = 0;
    char text[256];

    rt_init();
    fake.driver.feature_level = NNHAL_FEATURE_LEVEL_5;
    device[0] = RT_FAKE;
    OK(ANeuralNetworksDevice_getFeatureLevel(device[0], &level));
    ck_assert_int_eq(level, ANEURALNETWORKS_FEATURE_LEVEL_5);
    model = model_of_level_6();
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, device, 1, supported));
    ck_assert(!supported[0]);
    compilation = open_for(model, RT_FAKE);
    BAD_DATA(ANeuralNetworksCompilation_finish(compilation));
    nnhal_compilation_get_error(compilation, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "1000006"));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    model = rt_model(); /* level 1 */
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, device, 1, supported));
    ck_assert(supported[0]);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* SPACE_TO_DEPTH by 2 of [1,2,2,1], with its layout (level 3) as a constant. */
static ANeuralNetworksModel *model_with_layout(uint8_t is_nchw)
{
    const uint32_t in_dims[] = {1, 2, 2, 1}, out_dims[] = {1, 1, 1, 4}, inputs[] = {0, 1, 2};
    const uint32_t input = 0, output = 3;
    ANeuralNetworksOperandType in = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 4, in_dims),
                               block = rt_scalar(ANEURALNETWORKS_INT32),
                               layout = rt_scalar(ANEURALNETWORKS_BOOL),
                               out = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 4, out_dims);
    const int32_t two = 2;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &in));
    OK(ANeuralNetworksModel_addOperand(model, &block));
    OK(ANeuralNetworksModel_addOperand(model, &layout));
    OK(ANeuralNetworksModel_addOperand(model, &out));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &two, sizeof(two)));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &is_nchw, sizeof(is_nchw)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_SPACE_TO_DEPTH, 3, inputs, 1,
                                         &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

TEST(a_default_said_asks_for_no_level)
{
    const ANeuralNetworksDevice *device[1];
    bool supported[1];

    rt_init();
    fake.driver.feature_level = NNHAL_FEATURE_LEVEL_1;
    device[0] = RT_FAKE;
    for (uint8_t is_nchw = 0; is_nchw < 2; is_nchw++) {
        ANeuralNetworksModel *model = model_with_layout(is_nchw);

        OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, device, 1, supported));
        ck_assert_int_eq(supported[0], !is_nchw);
        ANeuralNetworksModel_free(model);
    }
}
TEST_END

static uint32_t was_quick;

static void see_quick(const struct nnhal_prepare *prepare)
{
    was_quick = prepare->is_quick;
}

static uint32_t optimize(void *prepared, const struct nnhal_optimize *request)
{
    return NNHAL_GENERAL_FAILURE;
}

/* Who asks, and who wants low power, gets a quick compilation of a driver that knows stages. */
static void expect_stages(bool knows_stages)
{
    rt_init();
    fake.driver.optimize = knows_stages ? optimize : NULL;
    fake.on_prepare = see_quick;
    for (int i = 0; i < 4; i++) {
        bool is_asked = i & 1, is_low_power = i & 2;
        struct nnhal_cache_info info = {.size = sizeof(info)};
        ANeuralNetworksCompilation *compilation;
        ANeuralNetworksModel *model;
        bool is_quick = knows_stages && (is_asked || is_low_power);

        model = rt_model();
        compilation = open_for(model, RT_FAKE);
        OK(nnhal_compilation_set_deferred(compilation, is_asked));
        if (is_low_power)
            OK(ANeuralNetworksCompilation_setPreference(compilation,
                                                        ANEURALNETWORKS_PREFER_LOW_POWER));
        OK(ANeuralNetworksCompilation_finish(compilation));
        BAD_STATE(nnhal_compilation_set_deferred(compilation, 0));
        OK(nnhal_compilation_get_cache_info(compilation, &info));
        ck_assert_uint_eq(was_quick, is_quick);
        ck_assert_uint_eq(info.stage, is_quick ? NNHAL_STAGE_QUICK : NNHAL_STAGE_WHOLE);
        ANeuralNetworksCompilation_free(compilation);
        ANeuralNetworksModel_free(model);
    }
}

TEST(a_deferred_compilation_is_quick)
{
    expect_stages(true);
}
TEST_END

TEST(a_driver_without_stages_does_all_at_once)
{
    expect_stages(false);
}
TEST_END

TEST(a_deadline_reaches_the_driver)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    rt_init();
    model = rt_model();
    compilation = open_for(model, RT_FAKE);
    OK(ANeuralNetworksCompilation_setTimeout(compilation, 1)); /* over before it begins */
    IS(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Memories and models may be freed before what uses them; a file that cannot
 * be mapped is found out when it is first used. */
TEST(memories_are_judged_when_used)
{
    const float zeroes[4] = {0};
    ANeuralNetworksMemory *memory = NULL;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;
    int fds[2];

    rt_init();
    FAILS(ANeuralNetworksMemory_createFromFd(16, 1, -1, 0, &memory));
    ck_assert_ptr_null(memory);
    FAILS(ANeuralNetworksMemory_createFromFd(16, 1, 12345, 0, &memory));
    ck_assert_int_eq(pipe(fds), 0);
    OK(ANeuralNetworksMemory_createFromFd(16, 1, fds[0], 0, &memory));
    model = rt_open_model(4);
    rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, 0, sizeof(zeroes)));
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksMemory_free(memory);
    compilation = open_for(model, RT_FAKE);
    IS(UNMAPPABLE, ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

TEST(errors_have_sentences)
{
    ANeuralNetworksModel *model = rt_open_model(4);
    char text[256], cut[8];
    size_t length;

    rt_init();
    ck_assert_uint_eq(nnhal_model_get_error(model, text, sizeof(text)), 0);
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 77, "1234", 4));
    length = nnhal_model_get_error(model, text, sizeof(text));
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "77"));
    ck_assert_uint_eq(nnhal_model_get_error(model, cut, sizeof(cut)), length);
    ck_assert_int_eq(strncmp(cut, text, 7), 0);
    ck_assert_int_eq(cut[7], 0);
    ck_assert_uint_eq(nnhal_model_get_error(model, NULL, 0), length);
    ck_assert_uint_eq(nnhal_get_last_error(text, sizeof(text)), length);
    NULLED(ANeuralNetworksModel_create(NULL));
    nnhal_get_last_error(text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "ANeuralNetworksModel_create"));
    ck_assert_str_eq(nnhal_get_result_name(ANEURALNETWORKS_DEAD_OBJECT), "DEAD_OBJECT");
    ck_assert_str_eq(nnhal_get_result_name(99), "an unknown code");
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("compilation", devices_tell_what_they_are, where_grows_by_its_size,
           lists_of_devices_are_checked, a_device_that_fails_to_answer_supports_nothing,
           settings_are_checked, states, a_failed_finish_is_final,
           the_first_device_that_supports_all_is_chosen, without_a_list_the_next_device_is_tried,
           with_a_list_a_failure_is_final, an_older_device_is_not_asked,
           a_default_said_asks_for_no_level, a_deferred_compilation_is_quick,
           a_driver_without_stages_does_all_at_once, a_deadline_reaches_the_driver,
           memories_are_judged_when_used, errors_have_sentences)
