/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of an extension's type between the parts of a model, whose size only the devices know. */
#include "drivers/split.h"

#include <android/NeuralNetworksExtensions.h>

#include <string.h>

#define NAME "com.example.fixed"

enum { N = 6, MANY = 3000 };

/* Floats to fixed-point numbers on one device and back on another, twice. dim 0: it is not known. */
static ANeuralNetworksModel *make_chain(uint32_t dim)
{
    static const uint32_t first = 0, last = 4;
    const ANeuralNetworksOperandType floats = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &dim};
    ANeuralNetworksOperandType fixed = {.dimensionCount = 1, .dimensions = &dim};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_getExtensionOperandType(model, NAME, 0, &fixed.type));
    for (uint32_t i = first; i <= last; i++)
        OK(ANeuralNetworksModel_addOperand(model, i % 2 ? &fixed : &floats));
    for (uint32_t i = first; i < last; i++) {
        ANeuralNetworksOperationType operation = 0;
        const uint32_t out = i + 1;

        OK(ANeuralNetworksModel_getExtensionOperationType(model, NAME, i % 2, &operation));
        OK(ANeuralNetworksModel_addOperation(model, operation, 1, &i, 1, &out));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &first, 1, &last));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static ANeuralNetworksCompilation *compile(ANeuralNetworksModel *model)
{
    const ANeuralNetworksDevice *devices[] = {find_device("to-fixed"), find_device("from-fixed")};
    ANeuralNetworksCompilation *compilation = NULL;

    ck_assert(devices[0] && devices[1]);
    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 2, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_uint_eq(split_count_parts(compilation), 4);
    return compilation;
}

/* What remains of a number is what 8 bits behind the point hold. */
static void run(ANeuralNetworksCompilation *compilation, uint32_t n)
{
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksExecution *execution = NULL;
    float *in = calloc(n, sizeof(*in)), *out = calloc(n, sizeof(*out));
    uint32_t dim = 0;

    for (uint32_t i = 0; i < n; i++)
        in[i] = (float)(i % 100) + 0.25f + 1.0f / 1024;
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, in, n * sizeof(*in)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, n * sizeof(*out)));
    for (int i = 0; i < 2; i++) {
        memset(out, 0xee, n * sizeof(*out));
        OK(ANeuralNetworksExecution_compute(execution));
        OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &dim));
        ck_assert_uint_eq(dim, n);
        for (uint32_t j = 0; j < n; j++)
            ck_assert_float_eq(out[j], (float)(j % 100) + 0.25f);
    }
    ANeuralNetworksExecution_free(execution);
    free(in);
    free(out);
}

TEST(values_whose_shape_the_model_says)
{
    ANeuralNetworksModel *model = make_chain(N);
    ANeuralNetworksCompilation *compilation = compile(model);
    struct nnhal_plan plan = {.size = sizeof(plan)};

    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_eq(plan.parts[1].move_bytes, N * sizeof(int16_t));
    ck_assert_uint_eq(plan.parts[2].move_bytes, N * sizeof(float));
    run(compilation, N);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(values_whose_shape_only_the_device_says)
{
    ANeuralNetworksModel *model = make_chain(0);
    ANeuralNetworksCompilation *compilation = compile(model);

    run(compilation, N);
    run(compilation, MANY);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("fixed", values_whose_shape_the_model_says, values_whose_shape_only_the_device_says)
