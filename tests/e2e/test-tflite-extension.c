/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal.tflite as an application uses it: which device has it, what is computed, what is refused. */
#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <nnhal/ext.h>
#include <nnhal/tflite-extension.h>

#include "support/check-main.h"

#include <stdlib.h>
#include <string.h>

#define OK(call)       ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)
#define IS(code, call) ck_assert_int_eq((call), ANEURALNETWORKS_##code)

static const uint32_t dims[] = {2, 3}, one = 1, two = 2;
static const ANeuralNetworksOperandType reals = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0};
static const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};

static void use_reference(void)
{
    setenv("NNHAL_DRIVER_PATH", "", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
}

static ANeuralNetworksDevice *reference_device(void)
{
    ANeuralNetworksDevice *device = NULL;

    use_reference();
    OK(ANeuralNetworks_getDevice(0, &device));
    return device;
}

static ANeuralNetworksModel *model_new(void)
{
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    return model;
}

static int32_t operation_type(ANeuralNetworksModel *model, uint16_t operation)
{
    ANeuralNetworksOperationType type = 0;

    OK(ANeuralNetworksModel_getExtensionOperationType(model, NNHAL_TFLITE_EXTENSION, operation,
                                                      &type));
    return type;
}

static ANeuralNetworksOperandType integers(ANeuralNetworksModel *model, const uint32_t *n)
{
    ANeuralNetworksOperandType type = {.dimensionCount = 1, .dimensions = n};

    OK(ANeuralNetworksModel_getExtensionOperandType(model, NNHAL_TFLITE_EXTENSION,
                                                    NNHAL_TFLITE_TENSOR_INT64, &type.type));
    return type;
}

/* One operation: operand 0 is the input, the last of n_inputs + 1 the output. */
static void finish_model(ANeuralNetworksModel *model, uint16_t operation, uint32_t n_inputs)
{
    const uint32_t inputs[] = {0, 1, 2}, output = n_inputs;

    OK(ANeuralNetworksModel_addOperation(model, operation_type(model, operation), n_inputs, inputs,
                                         1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
}

/* The index of the largest of each row of [2, 3]. */
static ANeuralNetworksModel *arg_max_model(void)
{
    ANeuralNetworksModel *model = model_new();
    const ANeuralNetworksOperandType result = integers(model, &two);
    const int32_t axis = -1;

    OK(ANeuralNetworksModel_addOperand(model, &reals));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &axis, sizeof(axis)));
    OK(ANeuralNetworksModel_addOperand(model, &result));
    finish_model(model, NNHAL_TFLITE_ARG_MAX, 2);
    return model;
}

/* An operation on [2, 3] that makes an output of this type. */
static ANeuralNetworksModel *unary_model(uint16_t operation, const ANeuralNetworksOperandType *out)
{
    ANeuralNetworksModel *model = model_new();

    OK(ANeuralNetworksModel_addOperand(model, &reals));
    OK(ANeuralNetworksModel_addOperand(model, out));
    finish_model(model, operation, 1);
    return model;
}

static ANeuralNetworksCompilation *compile(ANeuralNetworksModel *model, int wanted)
{
    const ANeuralNetworksDevice *device = reference_device();
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), wanted);
    return compilation;
}

TEST(an_index_of_64_bits_is_computed)
{
    const float x[] = {1, 5, 2, -3, -4, -1};
    int64_t indices[2] = {-1, -1};
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksModel *model = arg_max_model();
    ANeuralNetworksCompilation *compilation = compile(model, ANEURALNETWORKS_NO_ERROR);

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    IS(BAD_DATA, ANeuralNetworksExecution_setOutput(execution, 0, NULL, indices, 15));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, indices, sizeof(indices)));
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_int_eq(indices[0], 1);
    ck_assert_int_eq(indices[1], 2);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* The device judges what the library leaves to it. */
static void expect_refused(ANeuralNetworksModel *model)
{
    const ANeuralNetworksDevice *device = reference_device();
    bool is_supported = true;

    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, &is_supported));
    ck_assert(!is_supported);
    ANeuralNetworksCompilation_free(compile(model, ANEURALNETWORKS_BAD_DATA));
    ANeuralNetworksModel_free(model);
}

TEST(what_is_no_operation_of_it_is_refused)
{
    ANeuralNetworksOperandType result;
    ANeuralNetworksModel *model;
    const uint8_t data = 1;

    use_reference();
    expect_refused(unary_model(NNHAL_TFLITE_SHAPE, &reals));
    expect_refused(unary_model(NNHAL_TFLITE_FLOOR_MOD, &reals));
    expect_refused(unary_model(999, &reals));
    model = model_new();
    result = integers(model, &two);
    OK(ANeuralNetworksModel_addOperand(model, &reals));
    OK(ANeuralNetworksModel_addOperand(model, &result));
    OK(ANeuralNetworksModel_setOperandExtensionData(model, 1, &data, 1));
    finish_model(model, NNHAL_TFLITE_SHAPE, 1);
    expect_refused(model);
}
TEST_END

/* SCATTER_ND of one number into [2] at a place that the input says. */
static ANeuralNetworksModel *scatter_model(void)
{
    const uint32_t where[] = {1, 1};
    const ANeuralNetworksOperandType index = {ANEURALNETWORKS_TENSOR_INT32, 2, where, 0, 0};
    const ANeuralNetworksOperandType real = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &one, 0, 0};
    const ANeuralNetworksOperandType shape = {ANEURALNETWORKS_TENSOR_INT32, 1, &one, 0, 0};
    const ANeuralNetworksOperandType out = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &two, 0, 0};
    ANeuralNetworksModel *model = model_new();
    const float five = 5;
    const int32_t n = 2;

    OK(ANeuralNetworksModel_addOperand(model, &index));
    OK(ANeuralNetworksModel_addOperand(model, &real));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &five, sizeof(five)));
    OK(ANeuralNetworksModel_addOperand(model, &shape));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &n, sizeof(n)));
    OK(ANeuralNetworksModel_addOperand(model, &out));
    finish_model(model, NNHAL_TFLITE_SCATTER_ND, 3);
    return model;
}

static int scatter_at(ANeuralNetworksCompilation *compilation, int32_t at, float *out, char *text)
{
    ANeuralNetworksExecution *execution = NULL;
    int r;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, &at, sizeof(at)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, 2 * sizeof(*out)));
    r = ANeuralNetworksExecution_compute(execution);
    nnhal_execution_get_error(execution, text, 400);
    ANeuralNetworksExecution_free(execution);
    return r;
}

TEST(an_index_outside_of_the_shape_ends_the_execution)
{
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    float out[2] = {-1, -1};
    char text[400];

    use_reference();
    model = scatter_model();
    compilation = compile(model, ANEURALNETWORKS_NO_ERROR);
    OK(scatter_at(compilation, 1, out, text));
    ck_assert_float_eq(out[0], 0);
    ck_assert_float_eq(out[1], 5);
    IS(OP_FAILED, scatter_at(compilation, 2, out, text));
    ck_assert_msg(strstr(text, "index 2 is outside [0, 2)"), "%s", text);
    IS(OP_FAILED, scatter_at(compilation, -1, out, text));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* The codes that a driver has inside are its own. */
TEST(no_model_has_the_codes_of_the_inside)
{
    const uint32_t in = 0, out = 1;
    ANeuralNetworksModel *model;

    use_reference();
    model = model_new();
    IS(BAD_DATA, ANeuralNetworksModel_addOperand(model, &(ANeuralNetworksOperandType){.type = 16}));
    OK(ANeuralNetworksModel_addOperand(model, &reals));
    OK(ANeuralNetworksModel_addOperand(model, &reals));
    IS(BAD_DATA,
       ANeuralNetworksModel_addOperation(model, 0x8000 + NNHAL_TFLITE_ROUND, 1, &in, 1, &out));
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(devices_tell_that_they_have_it)
{
    bool has = false;

    OK(ANeuralNetworksDevice_getExtensionSupport(reference_device(), NNHAL_TFLITE_EXTENSION, &has));
    ck_assert(has);
}
TEST_END

CHECK_MAIN("tflite-extension", devices_tell_that_they_have_it, an_index_of_64_bits_is_computed,
           what_is_no_operation_of_it_is_refused, an_index_outside_of_the_shape_ends_the_execution,
           no_model_has_the_codes_of_the_inside)
