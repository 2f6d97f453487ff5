/* SPDX-License-Identifier: Apache-2.0 */
/* The sample's extension as an application uses it: FROM_FIXED on tensors of fixed-point numbers. */
#include "ways.h"

#include <android/NeuralNetworksExtensions.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "com.example.sample"

/* z = FROM_FIXED(x) + y, with bits behind the point; 0: none are stated. */
static ANeuralNetworksModel *make_model(uint32_t bits)
{
    const uint32_t n = 4, x = 0, floats = 1, add[] = {1, 2, 3}, z = 4, in[] = {0, 2};
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    ANeuralNetworksOperandType fixed = {0, 1, &n, 0, 0};
    ANeuralNetworksOperationType from_fixed = 0;
    ANeuralNetworksModel *model = NULL;
    const int32_t none = 0;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_getExtensionOperandType(model, NAME, 0, &fixed.type));
    OK(ANeuralNetworksModel_getExtensionOperationType(model, NAME, 0, &from_fixed));
    OK(ANeuralNetworksModel_addOperand(model, &fixed));
    for (int i = 1; i < 5; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 3 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof(none)));
    if (bits)
        OK(ANeuralNetworksModel_setOperandExtensionData(model, 0, &bits, sizeof(bits)));
    OK(ANeuralNetworksModel_addOperation(model, from_fixed, 1, &x, 1, &floats));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* With a cache in that folder, unless it is NULL. Returns: the code of finish(). */
static int compile_model(uint32_t bits, const char *cache, ANeuralNetworksCompilation **compilation)
{
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = "fixed";
    const ANeuralNetworksDevice *device = ways_device();
    ANeuralNetworksModel *model = make_model(bits);

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, compilation));
    ANeuralNetworksModel_free(model);
    if (cache)
        OK(ANeuralNetworksCompilation_setCaching(*compilation, cache, token));
    return ANeuralNetworksCompilation_finish(*compilation);
}

static void expect_sum(ANeuralNetworksCompilation *compilation, float one)
{
    const int16_t x[4] = {256, -256, 128, 0};
    const float y[4] = {1, 2, 3, 4};
    ANeuralNetworksExecution *execution = NULL;
    float z[4] = {0};

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    IS(BAD_DATA, ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 7));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(ANeuralNetworksExecution_compute(execution));
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq(z[i], (float)x[i] / 256 * one + y[i]);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

TEST(the_extension_computes)
{
    ANeuralNetworksCompilation *compilation = NULL;

    ways_begin();
    OK(compile_model(0, NULL, &compilation));
    expect_sum(compilation, 1);
    OK(compile_model(4, NULL, &compilation));
    expect_sum(compilation, 16);
    /* Only the driver knows what its data means. */
    IS(BAD_DATA, compile_model(16, NULL, &compilation));
    ANeuralNetworksCompilation_free(compilation);
    ways_end();
}
TEST_END

TEST(other_devices_lack_it)
{
    const ANeuralNetworksDevice *sample, *reference = NULL;
    ANeuralNetworksDevice *last = NULL;
    ANeuralNetworksModel *model;
    uint32_t n = 0;
    bool has = false, supported[2];

    ways_begin();
    sample = ways_device();
    OK(ANeuralNetworks_getDeviceCount(&n));
    OK(ANeuralNetworks_getDevice(n - 1, &last));
    reference = last;
    OK(ANeuralNetworksDevice_getExtensionSupport(sample, NAME, &has));
    ck_assert(has);
    OK(ANeuralNetworksDevice_getExtensionSupport(reference, NAME, &has));
    ck_assert(!has);
    model = make_model(0);
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &sample, 1, supported));
    ck_assert(supported[0] && supported[1]);
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &reference, 1, supported));
    ck_assert(!supported[0] && supported[1]);
    ANeuralNetworksModel_free(model);
    ways_end();
}
TEST_END

/* In a process of its own, in which the prefix is another one. Returns: the cache's outcome. */
static int compile_in_child(const char *cache, bool is_later)
{
    struct nnhal_cache_info info = {.size = sizeof(info)};
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = NULL;
    int32_t type;
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        OK(ANeuralNetworksModel_create(&model));
        if (is_later)
            OK(ANeuralNetworksModel_getExtensionOperandType(model, "com.other", 0, &type));
        ANeuralNetworksModel_free(model);
        OK(compile_model(4, cache, &compilation));
        OK(nnhal_compilation_get_cache_info(compilation, &info));
        expect_sum(compilation, 16);
        exit((int)info.outcome); /* which waits until the entry is written */
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(a_cache_serves_the_next_process)
{
    char cache[] = "/tmp/nnhal-e2e-cache-XXXXXX", command[64];

    ways_begin();
    ck_assert_ptr_nonnull(mkdtemp(cache));
    ck_assert_int_eq(compile_in_child(cache, false), NNHAL_CACHE_COMPILED);
    ck_assert_int_eq(compile_in_child(cache, true), NNHAL_CACHE_HIT);
    snprintf(command, sizeof(command), "rm -r %s", cache);
    ck_assert_int_eq(system(command), 0);
    ways_end();
}
TEST_END

CHECK_MAIN("extension", the_extension_computes, other_devices_lack_it,
           a_cache_serves_the_next_process)
