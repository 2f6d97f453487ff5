/* SPDX-License-Identifier: Apache-2.0 */
/* The library as a table, and what it tells of itself. */
#include "caching.h"

#include <android/NeuralNetworksSupportLibraryImpl.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static NnApiSLDriverImplFL5 *get_table(void)
{
    return (NnApiSLDriverImplFL5 *)ANeuralNetworks_getSLDriverImpl();
}

TEST(the_table_has_every_function)
{
    const NnApiSLDriverImplFL8 *table = (const NnApiSLDriverImplFL8 *)get_table();
    const size_t first = offsetof(NnApiSLDriverImplFL5, ANeuralNetworksBurst_create);

    ck_assert_int_eq(table->base.base.implFeatureLevel, ANEURALNETWORKS_FEATURE_LEVEL_8);
    for (size_t at = first; at < sizeof(*table); at += sizeof(void *)) {
        void *member;

        memcpy(&member, (const char *)table + at, sizeof(member));
        ck_assert_msg(member != NULL, "the member at %zu is missing", at);
    }
}
TEST_END

/* Through the table alone. */
TEST(a_model_is_computed_through_the_table)
{
    const NnApiSLDriverImplFL5 *table = get_table();
    const ANeuralNetworksDevice *device;
    ANeuralNetworksDevice *found = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksModel *model;
    float x[4] = {1, 2, 3, 4}, y[4] = {0}, z[4] = {0};

    rt_init();
    model = rt_model();
    OK(table->ANeuralNetworks_getDevice(0, &found));
    device = found;
    OK(table->ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(table->ANeuralNetworksCompilation_finish(compilation));
    OK(table->ANeuralNetworksExecution_create(compilation, &execution));
    OK(table->ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(table->ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(table->ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(table->ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(x, z, sizeof(z));
    table->ANeuralNetworksExecution_free(execution);
    table->ANeuralNetworksCompilation_free(compilation);
    table->ANeuralNetworksModel_free(model);
}
TEST_END

/* -- devices ---------------------------------------------------------------------------- */

static const struct nnhal_extension_operand_type types[] = {
    {.type = 1, .is_tensor = 0, .byte_size = 3},
    {.type = 2, .is_tensor = 1, .byte_size = 6},
};
static const struct nnhal_extension extension = {"com.example.test", 2, 0, types};

static void sum_types(SL_ANeuralNetworksExtensionOperandTypeInformation type, void *context)
{
    *(uint32_t *)context += type.type * 100u + type.byteSize * 10u + type.isTensor;
}

static void count_performance(SL_ANeuralNetworksOperandPerformanceInfo info, void *context)
{
    ck_assert_float_eq(info.performanceInfo.execTime, 0.5f);
    *(uint32_t *)context += 1;
}

TEST(devices_tell_extensions_and_performance)
{
    SL_ANeuralNetworksPerformanceInfo info = {0};
    uint32_t n = 0, sum = 0, n_model = 9, n_data = 9;
    const char *name = NULL;

    rt_init();
    fake.driver.n_extensions = 1;
    fake.driver.extensions = &extension;
    OK(SL_ANeuralNetworksDevice_getVendorExtensionCount(RT_FAKE, &n));
    ck_assert_uint_eq(n, 1);
    OK(SL_ANeuralNetworksDevice_getVendorExtensionName(RT_FAKE, 0, &name));
    ck_assert_str_eq(name, extension.name);
    BAD_DATA(SL_ANeuralNetworksDevice_getVendorExtensionName(RT_FAKE, 1, &name));
    OK(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(RT_FAKE, 0, &sum,
                                                                             sum_types));
    ck_assert_uint_eq(sum, 100 + 30 + 200 + 60 + 1);
    BAD_DATA(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(RT_FAKE, 1, &sum,
                                                                                   sum_types));
    for (int32_t kind = 0; kind < 4; kind++) {
        OK(SL_ANeuralNetworksDevice_getPerformanceInfo(RT_FAKE, kind, &info));
        ck_assert_float_eq(info.execTime, 0.5f);
        ck_assert_float_eq(info.powerUsage, 0.5f);
    }
    BAD_DATA(SL_ANeuralNetworksDevice_getPerformanceInfo(RT_FAKE, 4, &info));
    sum = 0;
    OK(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(RT_FAKE, &sum, count_performance));
    ck_assert_uint_eq(sum, 2);
    OK(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(RT_FAKE, &n_model, &n_data));
    ck_assert_uint_eq(n_model + n_data, 0);
}
TEST_END

TEST(pointers_must_not_be_null)
{
    SL_ANeuralNetworksPerformanceInfo info;
    const char *name;
    uint32_t n;

    rt_init();
    NULLED(SL_ANeuralNetworksDevice_getVendorExtensionCount(NULL, &n));
    NULLED(SL_ANeuralNetworksDevice_getVendorExtensionCount(RT_FAKE, NULL));
    NULLED(SL_ANeuralNetworksDevice_getVendorExtensionName(NULL, 0, &name));
    NULLED(SL_ANeuralNetworksDevice_getVendorExtensionName(RT_FAKE, 0, NULL));
    NULLED(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(NULL, 0, NULL,
                                                                                 sum_types));
    NULLED(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(RT_FAKE, 0, NULL,
                                                                                 NULL));
    NULLED(SL_ANeuralNetworksDevice_getPerformanceInfo(NULL, 0, &info));
    NULLED(SL_ANeuralNetworksDevice_getPerformanceInfo(RT_FAKE, 0, NULL));
    NULLED(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(NULL, NULL, count_performance));
    NULLED(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(RT_FAKE, NULL, NULL));
    NULLED(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(NULL, &n, &n));
    NULLED(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(RT_FAKE, NULL, &n));
    NULLED(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(RT_FAKE, &n, NULL));
}
TEST_END

/* -- caching ------------------------------------------------------------------------------ */

static int open_file(const char *name)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", caching_folder, name);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* Returns: how the files were used. */
static uint32_t compile_with_files(void)
{
    const int model_fd = open_file("mine-m"), data_fd = open_file("mine-d");
    struct nnhal_cache_info info = {.size = sizeof(info)};
    ANeuralNetworksCompilation *compilation = NULL;
    const ANeuralNetworksDevice *device = RT_FAKE;
    ANeuralNetworksModel *model = rt_model();

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, &model_fd, 1, &data_fd, 1,
                                                       token_a));
    close(model_fd); /* they were duplicated */
    close(data_fd);
    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(nnhal_compilation_get_cache_info(compilation, &info));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return info.outcome;
}

TEST(files_of_the_application_are_a_cache)
{
    char path[128];

    caching_init(4096);
    ck_assert_uint_eq(compile_with_files(), NNHAL_CACHE_COMPILED);
    ck_assert_uint_eq(compile_with_files(), NNHAL_CACHE_HIT);
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    ck_assert_uint_eq(caching_counts->n_from_cache, 1);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/mine-%c", caching_folder, "md"[i]);
        ck_assert_int_eq(unlink(path), 0);
    }
    caching_done();
}
TEST_END

TEST(wrong_files_are_refused)
{
    const int closed = -1, two[] = {0, 1};
    ANeuralNetworksCompilation *compilation = NULL;
    const ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model;

    caching_init(4096);
    device = RT_FAKE;
    model = rt_model();
#define SET(n_model, model_fds, n_data, data_fds, token)                                           \
    SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, model_fds, n_model, data_fds,     \
                                                    n_data, token)
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    BAD_DATA(SET(1, two, 1, two, token_a));
    ANeuralNetworksCompilation_free(compilation);
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    BAD_DATA(SET(2, two, 1, two, token_a));
    BAD_DATA(SET(1, two, 0, NULL, token_a));
    BAD_DATA(SET(1, &closed, 1, two, token_a));
    NULLED(SET(1, NULL, 1, two, token_a));
    NULLED(SET(1, two, 1, NULL, token_a));
    NULLED(SET(1, two, 1, two, NULL));
    OK(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(SET(1, two, 1, two, token_a));
    ANeuralNetworksCompilation_free(compilation);
    compilation = NULL;
    NULLED(SET(1, two, 1, two, token_a));
#undef SET
    ANeuralNetworksModel_free(model);
    caching_done();
}
TEST_END

/* -- diagnostics ------------------------------------------------------------------------------ */

static struct {
    uint32_t n_compilations, n_executions;
    int32_t session, code;
    char ids[64];
    uint8_t hash[32];
    ANeuralNetworksDiagnosticDataClass input, output;
    ANeuralNetworksDiagnosticExecutionMode mode;
    uint64_t duration_ns, driver_ns;
    bool is_cached, has_control_flow, has_open_shapes;
} told;

static int context;

static void on_compilation(const void *ctx, const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    const NnApiSLDriverImplFL5 *table = get_table();

    ck_assert_ptr_eq(ctx, &context);
    told.n_compilations++;
    told.session = table->SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(info);
    ck_assert_int_eq(table->SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(info),
                     ANEURALNETWORKS_FEATURE_LEVEL_8);
    memcpy(told.hash, table->SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(info),
           sizeof(told.hash));
    snprintf(told.ids, sizeof(told.ids), "%s",
             table->SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(info));
    told.code = table->SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(info);
    told.input = table->SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(info);
    told.output = table->SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(info);
    told.duration_ns = SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(info);
    told.is_cached = SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(info);
    told.has_control_flow = SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(info);
    told.has_open_shapes = SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(info);
}

static void on_execution(const void *ctx, const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    ck_assert_ptr_eq(ctx, &context);
    ck_assert_int_eq(SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(info), told.session);
    ck_assert_int_eq(SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(info),
                     ANEURALNETWORKS_FEATURE_LEVEL_8);
    ck_assert_mem_eq(SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(info), told.hash,
                     sizeof(told.hash));
    snprintf(told.ids, sizeof(told.ids), "%s",
             SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(info));
    told.code = (int32_t)SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(info);
    told.mode = SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(info);
    told.input = SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(info);
    told.output = SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(info);
    told.duration_ns = SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(info);
    told.driver_ns = SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(info);
    ck_assert_uint_eq(SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(info),
                      UINT64_MAX);
    told.is_cached = SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(info);
    told.has_control_flow = SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(info);
    told.has_open_shapes = SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(info);
    told.n_executions++;
}

static void listen(void)
{
    rt_init();
    SL_ANeuralNetworksDiagnostic_registerCallbacks(on_compilation, on_execution, &context);
}

TEST(compilations_are_told)
{
    ANeuralNetworksCompilation *compilation;
    uint8_t hash[32];

    listen();
    compilation = rt_compilation();
    ck_assert_uint_eq(told.n_compilations, 1);
    ck_assert_int_gt(told.session, 0);
    ck_assert_str_eq(told.ids, "fake=1");
    ck_assert_int_eq(told.code, ANEURALNETWORKS_NO_ERROR);
    ck_assert_int_eq(told.input, ANNDIAG_DATA_CLASS_FLOAT32);
    ck_assert_int_eq(told.output, ANNDIAG_DATA_CLASS_FLOAT32);
    ck_assert(told.duration_ns > 0 && told.duration_ns < UINT64_MAX);
    ck_assert(!told.is_cached && !told.has_control_flow && !told.has_open_shapes);
    memcpy(hash, told.hash, sizeof(hash));
    ANeuralNetworksCompilation_free(compilation);
    /* The same structure, and another one. */
    compilation = rt_compilation();
    ck_assert_mem_eq(told.hash, hash, sizeof(hash));
    ANeuralNetworksCompilation_free(compilation);
    compilation = rt_compilation_of(rt_model_of(ANEURALNETWORKS_MUL, 4));
    ck_assert_mem_ne(told.hash, hash, sizeof(hash));
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(failures_are_told)
{
    const ANeuralNetworksDevice *device;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;
    struct rt_run run;

    listen();
    device = RT_PICKY;
    model = rt_model_of(ANEURALNETWORKS_MUL, 4);
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    BAD_DATA(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_int_eq(told.code, ANEURALNETWORKS_BAD_DATA);
    ck_assert_str_eq(told.ids, "");
    BAD_STATE(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_uint_eq(told.n_compilations, 1);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    rt_run_init(&run);
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    FAILS(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(told.n_executions, 1);
    ck_assert_int_eq(told.code, ANEURALNETWORKS_OP_FAILED);
    ck_assert_str_eq(told.ids, "fake=1");
    rt_run_done(&run);
}
TEST_END

static void expect_mode(ANeuralNetworksDiagnosticExecutionMode mode, uint32_t n)
{
    ck_assert_uint_eq(told.n_executions, n);
    ck_assert_int_eq(told.mode, mode);
    ck_assert_int_eq(told.code, ANEURALNETWORKS_NO_ERROR);
    ck_assert_str_eq(told.ids, "fake=1");
    ck_assert(told.duration_ns < UINT64_MAX);
}

TEST(executions_are_told_however_they_run)
{
    ANeuralNetworksBurst *burst = NULL;
    ANeuralNetworksEvent *event = NULL;
    struct rt_run run;

    listen();
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(ANeuralNetworksExecution_setMeasureTiming(run.execution, true));
    OK(ANeuralNetworksExecution_compute(run.execution));
    expect_mode(ANNDIAG_EXECUTION_MODE_SYNC, 1);
    ck_assert(told.driver_ns < UINT64_MAX);
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    OK(ANeuralNetworksExecution_burstCompute(run.execution, burst));
    expect_mode(ANNDIAG_EXECUTION_MODE_BURST, 2);
    ANeuralNetworksBurst_free(burst);
    OK(ANeuralNetworksExecution_startCompute(run.execution, &event));
    OK(ANeuralNetworksEvent_wait(event));
    expect_mode(ANNDIAG_EXECUTION_MODE_ASYNC, 3);
    ANeuralNetworksEvent_free(event);
    OK(ANeuralNetworksExecution_startComputeWithDependencies(run.execution, NULL, 0, 0, &event));
    OK(ANeuralNetworksEvent_wait(event));
    expect_mode(ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS, 4);
    ANeuralNetworksEvent_free(event);
    /* There is no listener any more. */
    SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_uint_eq(told.n_executions, 4);
    rt_run_done(&run);
}
TEST_END

/* fake takes MUL alone, which picky does not. */
static uint32_t support_mul(void *device, const struct nnhal_driver_model *model,
                            uint8_t *supported)
{
    for (uint32_t i = 0; i < model->model->main.n_operations; i++)
        supported[i] = model->model->main.operations[i].type == NNHAL_OP_MUL;
    return NNHAL_NONE;
}

static void take_mul(void)
{
    fake.driver.get_supported_operations = support_mul;
}

/* a * b + b, of which each device computes an operation. */
static ANeuralNetworksCompilation *compile_shared(void)
{
    const uint32_t inputs[] = {0, 1}, outputs[] = {4};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i < 5; i++)
        i == 2 ? rt_add_fuse(model) : rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(rt_binary(model, ANEURALNETWORKS_MUL, 0, 1, 2, 3));
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 3, 1, 2, 4));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    return compilation;
}

/* So many executions from now on fail. */
static uint32_t n_failing;

static void fail_next(struct nnhal_execution *execution)
{
    fake.execute_status = n_failing ? NNHAL_GENERAL_FAILURE : NNHAL_NONE;
    n_failing -= n_failing > 0;
}

static void compute_shared(ANeuralNetworksCompilation *compilation, uint32_t n_failures, int result,
                           const char *ids)
{
    ANeuralNetworksExecution *execution = NULL;
    float values[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    for (int32_t i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_setInput(execution, i, NULL, values[i], sizeof(values[i])));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, values[2], sizeof(values[2])));
    n_failing = n_failures;
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), result);
    ck_assert_int_eq(told.code, result);
    ck_assert_str_eq(told.ids, ids);
    ANeuralNetworksExecution_free(execution);
}

/* "picky" stands last in the list here, and computes the part that "fake" fails. */
TEST(devices_of_all_parts_are_told)
{
    ANeuralNetworksCompilation *compilation;

    fake_on_reset = take_mul;
    listen();
    fake.on_execute = fail_next;
    compilation = compile_shared();
    ck_assert_uint_eq(told.n_compilations, 1);
    ck_assert_str_eq(told.ids, "fake=1,picky=1");
    compute_shared(compilation, 0, ANEURALNETWORKS_NO_ERROR, "fake=1,picky=1");
    compute_shared(compilation, 1, ANEURALNETWORKS_NO_ERROR, "picky=1");
    compute_shared(compilation, 100, ANEURALNETWORKS_OP_FAILED, "fake=1,picky=1");
    compute_shared(compilation, 0, ANEURALNETWORKS_NO_ERROR, "fake=1,picky=1");
    ck_assert_uint_eq(told.n_compilations, 1);
    ck_assert_uint_eq(told.n_executions, 4);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

CHECK_MAIN("support-library", the_table_has_every_function, a_model_is_computed_through_the_table,
           devices_tell_extensions_and_performance, pointers_must_not_be_null,
           files_of_the_application_are_a_cache, wrong_files_are_refused, compilations_are_told,
           failures_are_told, executions_are_told_however_they_run, devices_of_all_parts_are_told)
