/* SPDX-License-Identifier: Apache-2.0 */
/* What an application must not do gets its code wherever the driver runs, costs no process and leaves
 * nothing behind. */
#include "support/ended-threads.h"
#include "ways.h"

#include <android/NeuralNetworksExtensions.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 4, BYTES = N * sizeof(float) };

/* What the calls are made on. */
struct subject {
    ANeuralNetworksModel *open, *finished;
    ANeuralNetworksCompilation *unfinished, *compilation, *other;
    ANeuralNetworksExecution *execution, *computed, *foreign;
    ANeuralNetworksBurst *burst;
    ANeuralNetworksEvent *event;
    ANeuralNetworksMemory *memory;
    ANeuralNetworksMemoryDesc *desc;
    const ANeuralNetworksDevice *device;
    float values[3][N];
};

static const uint32_t n_values = N;

/* 3 = 0 * 1 + 2's activation. */
static ANeuralNetworksModel *make_model(bool is_finished)
{
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n_values, 0, 0};
    const uint32_t inputs[] = {0, 1}, all[] = {0, 1, 2}, output = 3;
    const int32_t none = 0;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, all, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output));
    if (is_finished)
        OK(ANeuralNetworksModel_finish(model));
    return model;
}

static ANeuralNetworksCompilation *compile(const struct subject *s, bool is_finished)
{
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_createForDevices(s->finished, &s->device, 1, &compilation));
    if (is_finished)
        OK(ANeuralNetworksCompilation_finish(compilation));
    return compilation;
}

static ANeuralNetworksExecution *bind(struct subject *s, ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    for (int i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_setInput(execution, i, NULL, s->values[i], BYTES));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, s->values[2], BYTES));
    return execution;
}

static void subject_init(struct subject *s)
{
    int fd = memfd_create("misuse", MFD_CLOEXEC);

    *s = (struct subject){.device = ways_device()};
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    OK(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &s->memory));
    close(fd);
    s->open = make_model(false);
    s->finished = make_model(true);
    s->unfinished = compile(s, false);
    s->compilation = compile(s, true);
    s->other = compile(s, true);
    OK(ANeuralNetworksExecution_create(s->compilation, &s->execution));
    s->computed = bind(s, s->compilation);
    OK(ANeuralNetworksExecution_startCompute(s->computed, &s->event));
    OK(ANeuralNetworksEvent_wait(s->event));
    s->foreign = bind(s, s->other);
    OK(ANeuralNetworksBurst_create(s->compilation, &s->burst));
    OK(ANeuralNetworksMemoryDesc_create(&s->desc));
}

static void subject_done(struct subject *s)
{
    ANeuralNetworksMemoryDesc_free(s->desc);
    ANeuralNetworksBurst_free(s->burst);
    ANeuralNetworksEvent_free(s->event);
    ANeuralNetworksExecution_free(s->foreign);
    ANeuralNetworksExecution_free(s->computed);
    ANeuralNetworksExecution_free(s->execution);
    ANeuralNetworksCompilation_free(s->other);
    ANeuralNetworksCompilation_free(s->compilation);
    ANeuralNetworksCompilation_free(s->unfinished);
    ANeuralNetworksModel_free(s->finished);
    ANeuralNetworksModel_free(s->open);
    ANeuralNetworksMemory_free(s->memory);
}

/* -- misuses ------------------------------------------------------------------------------ */

static union {
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst;
    ANeuralNetworksEvent *event;
    ANeuralNetworksMemory *memory;
    bool flag;
    int fd;
    uint32_t number;
    int32_t type;
    int64_t level;
    const char *text;
    ANeuralNetworksDevice *device;
    uint64_t duration;
} out;

static const uint32_t zero;
static const ANeuralNetworksOperandType five = {ANEURALNETWORKS_TENSOR_FLOAT32, 1,
                                                &(const uint32_t){5}, 0, 0};
static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
static const ANeuralNetworksDevice *twice[2];

/* The name of what follows ANeuralNetworks is the row's. */
static void check_code(const char *text, int got, int expected)
{
    ck_assert_msg(got == expected, "%s: %s, not %s", text, nnhal_get_result_name(got),
                  nnhal_get_result_name(expected));
}

#define REFUSED(code, ...)                                                                         \
    check_code(#__VA_ARGS__, ANeuralNetworks##__VA_ARGS__, ANEURALNETWORKS_##code)

static void misuse_device(struct subject *s)
{
    REFUSED(UNEXPECTED_NULL, _getDeviceCount(NULL));
    REFUSED(BAD_DATA, _getDevice(9999, &out.device));
    REFUSED(UNEXPECTED_NULL, _getDevice(0, NULL));
    REFUSED(UNEXPECTED_NULL, Device_getName(NULL, &out.text));
    REFUSED(UNEXPECTED_NULL, Device_getVersion(s->device, NULL));
    REFUSED(UNEXPECTED_NULL, Device_getType(s->device, NULL));
    REFUSED(UNEXPECTED_NULL, Device_getFeatureLevel(NULL, &out.level));
    REFUSED(UNEXPECTED_NULL, Device_getExtensionSupport(s->device, NULL, &out.flag));
    REFUSED(UNEXPECTED_NULL, Device_wait(NULL));
    REFUSED(UNEXPECTED_NULL, Event_wait(NULL));
}

static void misuse_model(struct subject *s)
{
    static const float scale = 1;
    static const ANeuralNetworksSymmPerChannelQuantParams params = {0, 1, &scale};

    REFUSED(BAD_STATE, Model_identifyInputsAndOutputs(s->finished, 1, &zero, 1, &zero));
    REFUSED(UNEXPECTED_NULL, Model_identifyInputsAndOutputs(s->open, 1, NULL, 1, &zero));
    REFUSED(BAD_STATE, Model_setOperandValueFromModel(s->finished, 0, s->finished));
    REFUSED(BAD_STATE, Model_setOperandValueFromModel(s->open, 0, s->open));
    REFUSED(BAD_STATE, Model_setOperandSymmPerChannelQuantParams(s->finished, 0, &params));
    REFUSED(BAD_DATA, Model_setOperandSymmPerChannelQuantParams(s->open, 0, &params));
    REFUSED(BAD_STATE, Model_setOperandExtensionData(s->finished, 0, "x", 1));
    REFUSED(BAD_DATA, Model_setOperandExtensionData(s->open, 0, "x", 1));
    REFUSED(UNEXPECTED_NULL, Model_getExtensionOperandType(s->open, NULL, 0, &out.type));
    REFUSED(UNEXPECTED_NULL, Model_getExtensionOperationType(NULL, "com.no", 0, &out.type));
    REFUSED(BAD_STATE, Model_addOperand(s->finished, &five));
    REFUSED(BAD_STATE, Model_setOperandValue(s->finished, 0, s->values, BYTES));
    REFUSED(BAD_STATE, Model_relaxComputationFloat32toFloat16(s->finished, true));
    REFUSED(BAD_STATE, Model_finish(s->finished));
    REFUSED(BAD_DATA, Model_addOperation(s->open, 9999, 1, &zero, 1, &zero));
    REFUSED(BAD_DATA, Model_setOperandValueFromMemory(s->open, 0, s->memory, 4090, BYTES));
    REFUSED(BAD_STATE, Model_getSupportedOperationsForDevices(s->open, &s->device, 1, &out.flag));
    REFUSED(BAD_DATA, Model_getSupportedOperationsForDevices(s->finished, twice, 2, &out.flag));
}

static void misuse_compilation(struct subject *s)
{
    REFUSED(BAD_STATE, Compilation_create(s->open, &out.compilation));
    REFUSED(BAD_STATE, Compilation_createForDevices(s->open, &s->device, 1, &out.compilation));
    REFUSED(BAD_DATA, Compilation_createForDevices(s->finished, twice, 2, &out.compilation));
    REFUSED(BAD_DATA, Compilation_setPreference(s->unfinished, 77));
    REFUSED(BAD_DATA, Compilation_setPriority(s->unfinished, 77));
    REFUSED(BAD_STATE, Compilation_setPreference(s->compilation, 0));
    REFUSED(BAD_STATE, Compilation_setPriority(s->compilation, ANEURALNETWORKS_PRIORITY_LOW));
    REFUSED(BAD_STATE, Compilation_setTimeout(s->compilation, 1));
    REFUSED(BAD_STATE, Compilation_setCaching(s->compilation, "/tmp", token));
    REFUSED(BAD_STATE, Compilation_finish(s->compilation));
    REFUSED(BAD_STATE,
            Compilation_getPreferredMemoryPaddingForInput(s->unfinished, 0, &out.number));
    REFUSED(BAD_DATA,
            Compilation_getPreferredMemoryAlignmentForOutput(s->compilation, 1, &out.number));
    REFUSED(BAD_DATA,
            Compilation_getPreferredMemoryAlignmentForInput(s->compilation, 2, &out.number));
    REFUSED(UNEXPECTED_NULL,
            Compilation_getPreferredMemoryPaddingForOutput(s->compilation, 0, NULL));
    REFUSED(BAD_DATA, Compilation_addExtensionAttribute(s->unfinished, "com.no", 1, "x", 1));
}

static void misuse_execution(struct subject *s)
{
    REFUSED(BAD_STATE, Execution_create(s->unfinished, &out.execution));
    REFUSED(BAD_STATE, Burst_create(s->unfinished, &out.burst));
    REFUSED(BAD_DATA, Execution_setInput(s->execution, 2, NULL, s->values, BYTES));
    REFUSED(BAD_DATA, Execution_setInput(s->execution, 0, NULL, s->values, BYTES - 1));
    REFUSED(BAD_DATA, Execution_setInput(s->execution, 0, &five, s->values, 20));
    REFUSED(BAD_DATA, Execution_setInputFromMemory(s->execution, 0, NULL, s->memory, 4096, BYTES));
    REFUSED(BAD_DATA, Execution_setOutput(s->execution, 1, NULL, s->values, BYTES));
    REFUSED(BAD_DATA, Execution_setOutputFromMemory(s->execution, 0, NULL, s->memory, 0, 1));
    REFUSED(BAD_STATE, Execution_setInput(s->computed, 0, NULL, s->values, BYTES));
    REFUSED(BAD_STATE, Execution_setOutput(s->computed, 0, NULL, s->values, BYTES));
    REFUSED(BAD_STATE, Execution_enableInputAndOutputPadding(s->computed, true));
    REFUSED(BAD_STATE, Execution_setReusable(s->computed, true));
    REFUSED(BAD_STATE, Execution_setTimeout(s->computed, 1));
    REFUSED(BAD_STATE, Execution_setLoopTimeout(s->computed, 1));
    REFUSED(BAD_STATE, Execution_setMeasureTiming(s->computed, true));
    REFUSED(BAD_STATE, Execution_compute(s->computed));
    REFUSED(BAD_STATE, Execution_startCompute(s->computed, &out.event));
    REFUSED(BAD_STATE, Execution_burstCompute(s->computed, s->burst));
    REFUSED(BAD_STATE, Execution_startComputeWithDependencies(s->computed, NULL, 0, 0, &out.event));
    REFUSED(BAD_DATA, Execution_burstCompute(s->foreign, s->burst));
    REFUSED(BAD_STATE, Execution_getOutputOperandRank(s->execution, 0, &out.number));
    REFUSED(BAD_DATA, Execution_getOutputOperandRank(s->computed, 1, &out.number));
    REFUSED(BAD_DATA, Execution_getOutputOperandDimensions(s->computed, -1, &out.number));
    REFUSED(BAD_STATE, Execution_getDuration(s->computed, 0, &out.duration));
    REFUSED(BAD_DATA, Event_getSyncFenceFd(s->event, &out.fd));
    REFUSED(BAD_DATA, Event_createFromSyncFenceFd(-1, &out.event));
    REFUSED(BAD_DATA, Execution_addExtensionAttribute(s->execution, "com.no", 1, "x", 1));
}

static void misuse_memory(struct subject *s)
{
    REFUSED(BAD_DATA, MemoryDesc_finish(s->desc));
    REFUSED(BAD_STATE, Memory_createFromDesc(s->desc, &out.memory));
    REFUSED(BAD_DATA, MemoryDesc_addInputRole(s->desc, s->unfinished, 0, 1.0f));
    REFUSED(BAD_DATA, MemoryDesc_addInputRole(s->desc, s->compilation, 2, 1.0f));
    REFUSED(BAD_DATA, MemoryDesc_addOutputRole(s->desc, s->compilation, 0, 1.5f));
    REFUSED(UNEXPECTED_NULL, MemoryDesc_addOutputRole(s->desc, NULL, 0, 1.0f));
    REFUSED(UNEXPECTED_NULL, MemoryDesc_setDimensions(s->desc, 1, NULL));
    REFUSED(UNEXPECTED_NULL, Memory_copy(s->memory, NULL));
    REFUSED(OP_FAILED, Memory_createFromFd(4096, PROT_READ, -1, 0, &out.memory));
    REFUSED(UNEXPECTED_NULL, Memory_createFromAHardwareBuffer(NULL, &out.memory));
}

TEST(every_misuse_gets_its_code)
{
    struct ways_formula formula;
    struct subject s;
    pid_t pid;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    OK(ways_formula_run(&formula, 1));
    pid = ways_pid();
    twice[0] = twice[1] = ways_device();
    subject_init(&s);
    misuse_device(&s);
    misuse_model(&s);
    misuse_compilation(&s);
    misuse_execution(&s);
    misuse_memory(&s);
    subject_done(&s);
    OK(ways_formula_run(&formula, 2)); /* others are not disturbed */
    ck_assert_int_eq(ways_pid(), pid);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

CHECK_MAIN("misuse", every_misuse_gets_its_code)
