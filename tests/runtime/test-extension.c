/* SPDX-License-Identifier: Apache-2.0 */
/* Extensions: prefixes, types and operations that devices have, attributes. */
#include "rt.h"

#include <android/NeuralNetworksExtensions.h>

#include <stdio.h>
#include <string.h>

#define NAME "com.example.test"

enum { SCALAR = 1, TENSOR = 2 }; /* operand types; elements of 3 and 6 bytes */

static const struct nnhal_extension_operand_type types[] = {
    {.type = SCALAR, .is_tensor = 0, .byte_size = 3},
    {.type = TENSOR, .is_tensor = 1, .byte_size = 6},
};

static const struct nnhal_extension extensions[] = {
    {.name = "com.example.other"},
    {.name = NAME, .n_operand_types = 2, .operand_types = types},
};

/* Both devices have the extensions. */
static void init(void)
{
    rt_init();
    fake.driver.n_extensions = 2;
    fake.driver.extensions = extensions;
}

static int32_t type_of(ANeuralNetworksModel *model, uint16_t code)
{
    int32_t type = -1;

    OK(ANeuralNetworksModel_getExtensionOperandType(model, NAME, code, &type));
    return type;
}

static ANeuralNetworksModel *new_model(void)
{
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    return model;
}

static int add_tensor(ANeuralNetworksModel *model, uint16_t code, uint32_t rank, uint32_t n)
{
    const uint32_t dims[] = {n, 1};
    ANeuralNetworksOperandType type = rt_tensor(type_of(model, code), rank, rank ? dims : NULL);

    return ANeuralNetworksModel_addOperand(model, &type);
}

static int add_own_operation(ANeuralNetworksModel *model, const char *name)
{
    const uint32_t in = 0, out = 1;
    ANeuralNetworksOperationType operation = -1;

    OK(ANeuralNetworksModel_getExtensionOperationType(model, name, 7, &operation));
    return ANeuralNetworksModel_addOperation(model, operation, 1, &in, 1, &out);
}

/* Operand 1 = operation 7 of the extension, of operand 0; tensors of n elements. */
static ANeuralNetworksModel *own_model(uint32_t n)
{
    const uint32_t in = 0, out = 1;
    ANeuralNetworksModel *model = new_model();

    OK(add_tensor(model, TENSOR, 1, n));
    OK(add_tensor(model, TENSOR, 1, n));
    OK(add_own_operation(model, NAME));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in, 1, &out));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

TEST(devices_tell_their_extensions)
{
    bool has = false;

    init();
    OK(ANeuralNetworksDevice_getExtensionSupport(RT_FAKE, NAME, &has));
    ck_assert(has);
    OK(ANeuralNetworksDevice_getExtensionSupport(RT_FAKE, "com.example", &has));
    ck_assert(!has);
    NULLED(ANeuralNetworksDevice_getExtensionSupport(NULL, NAME, &has));
    NULLED(ANeuralNetworksDevice_getExtensionSupport(RT_FAKE, NULL, &has));
    NULLED(ANeuralNetworksDevice_getExtensionSupport(RT_FAKE, NAME, NULL));
}
TEST_END

TEST(a_name_has_one_prefix)
{
    ANeuralNetworksModel *a, *b;
    int32_t type = 0, operation = 0, other = 0;
    char name[300];

    init();
    a = new_model();
    b = new_model();
    OK(ANeuralNetworksModel_getExtensionOperandType(a, NAME, 3, &type));
    OK(ANeuralNetworksModel_getExtensionOperationType(b, NAME, 3, &operation));
    ck_assert_int_eq(type, operation);
    ck_assert_int_gt(type, UINT16_MAX);
    ck_assert_int_eq(type & UINT16_MAX, 3);
    OK(ANeuralNetworksModel_getExtensionOperandType(a, "com.example.absent", 3, &other));
    ck_assert_int_ne(type, other);
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    BAD_DATA(ANeuralNetworksModel_getExtensionOperandType(a, name, 0, &type));
    NULLED(ANeuralNetworksModel_getExtensionOperandType(NULL, NAME, 0, &type));
    NULLED(ANeuralNetworksModel_getExtensionOperandType(a, NULL, 0, &type));
    NULLED(ANeuralNetworksModel_getExtensionOperandType(a, NAME, 0, NULL));
    NULLED(ANeuralNetworksModel_getExtensionOperationType(NULL, NAME, 0, &type));
    NULLED(ANeuralNetworksModel_getExtensionOperationType(a, NULL, 0, &type));
    NULLED(ANeuralNetworksModel_getExtensionOperationType(a, NAME, 0, NULL));
    ANeuralNetworksModel_free(a);
    ANeuralNetworksModel_free(b);
}
TEST_END

TEST(prefixes_run_out)
{
    ANeuralNetworksModel *model;
    int32_t type = 0, r = ANEURALNETWORKS_NO_ERROR;
    char name[32];

    init();
    model = new_model();
    for (int i = 0; r == ANEURALNETWORKS_NO_ERROR && i < 40000; i++) {
        snprintf(name, sizeof(name), "com.example.n%d", i);
        r = ANeuralNetworksModel_getExtensionOperandType(model, name, 0, &type);
    }
    BAD_DATA(r);
    ck_assert_int_eq(type, 0x7fff << 16);
    /* What has one keeps it. */
    OK(ANeuralNetworksModel_getExtensionOperandType(model, "com.example.n0", 0, &type));
    ck_assert_int_eq(type, 1 << 16);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(types_are_what_devices_say)
{
    ANeuralNetworksModel *model;
    ANeuralNetworksOperandType unknown = {0};

    init();
    model = new_model();
    OK(add_tensor(model, TENSOR, 1, 4));
    OK(add_tensor(model, TENSOR, 1, 0));
    OK(add_tensor(model, SCALAR, 0, 0));
    BAD_DATA(add_tensor(model, SCALAR, 1, 4));
    BAD_DATA(add_tensor(model, TENSOR, 0, 0));
    BAD_DATA(add_tensor(model, 3, 1, 4));
    BAD_DATA(add_tensor(model, TENSOR, 1, 0x40000000));
    OK(ANeuralNetworksModel_getExtensionOperandType(model, "com.example.absent", 0, &unknown.type));
    BAD_DATA(ANeuralNetworksModel_addOperand(model, &unknown));
    BAD_DATA(add_own_operation(model, "com.example.absent"));
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(constants_have_the_size_that_the_type_says)
{
    static const uint8_t bytes[24];
    ANeuralNetworksMemory *memory;
    ANeuralNetworksModel *model;

    init();
    model = new_model();
    memory = rt_memory(24, &(void *){NULL});
    OK(add_tensor(model, TENSOR, 1, 4));
    OK(add_tensor(model, SCALAR, 0, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 23));
    OK(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 24));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 20));
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 24));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 4));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 3));
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
}
TEST_END

TEST(operands_have_extension_data)
{
    const uint8_t data[4] = {1, 2, 3, 4};
    const float scales[4] = {1, 1, 1, 1};
    const ANeuralNetworksSymmPerChannelQuantParams channels = {0, 4, scales};
    ANeuralNetworksModel *model, *finished;

    init();
    model = new_model();
    OK(add_tensor(model, TENSOR, 1, 4));
    rt_add_tensor(model, 4);
    NULLED(ANeuralNetworksModel_setOperandExtensionData(NULL, 0, data, 4));
    NULLED(ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 4));
    BAD_DATA(ANeuralNetworksModel_setOperandExtensionData(model, 0, data, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandExtensionData(model, 1, data, 4));
    BAD_DATA(ANeuralNetworksModel_setOperandExtensionData(model, 2, data, 4));
    BAD_DATA(ANeuralNetworksModel_setOperandExtensionData(model, -1, data, 4));
    BAD_DATA(ANeuralNetworksModel_setOperandExtensionData(model, 0, data, (1 << 20) + 1));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &channels));
    OK(ANeuralNetworksModel_setOperandExtensionData(model, 0, data, 4));
    OK(ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 0));
    finished = own_model(2);
    BAD_STATE(ANeuralNetworksModel_setOperandExtensionData(finished, 0, data, 4));
    ANeuralNetworksModel_free(finished);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* What the driver was given. */
static struct {
    uint32_t n_prefixes, type, operation, n_data;
    uint8_t data[4];
    uint32_t n_hints, n_execution_hints;
    int32_t token;
    char value[8];
} seen;

static void take_hints(uint32_t n, const struct nnhal_hint *hints)
{
    if (!n)
        return;
    seen.token = hints[0].token;
    memcpy(seen.value, hints[0].value.data, hints[0].value.size);
}

static void see_model(const struct nnhal_prepare *prepare)
{
    const struct nnhal_model *model = prepare->model.model;
    const struct nnhal_operand *operand = &model->main.operands[0];

    seen.n_prefixes = model->n_extension_prefixes;
    if (seen.n_prefixes)
        ck_assert_str_eq(model->extension_prefixes[0].name, NAME);
    seen.type = operand->type;
    seen.operation = model->main.operations[0].type;
    seen.n_data = (uint32_t)operand->extension_data.size;
    if (seen.n_data)
        memcpy(seen.data, operand->extension_data.data, sizeof(seen.data));
    seen.n_hints = prepare->n_hints;
    take_hints(prepare->n_hints, prepare->hints);
}

static void see_execution(struct nnhal_execution *execution)
{
    seen.n_execution_hints = execution->n_hints;
    take_hints(execution->n_hints, execution->hints);
}

TEST(the_driver_gets_types_operations_and_data)
{
    const uint32_t in = 0, out = 1;
    const uint8_t data[4] = {1, 2, 3, 4};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    init();
    model = new_model();
    fake.on_prepare = see_model;
    OK(add_tensor(model, TENSOR, 1, 4));
    OK(add_tensor(model, TENSOR, 1, 4));
    OK(ANeuralNetworksModel_setOperandExtensionData(model, 0, data, sizeof(data)));
    OK(add_own_operation(model, NAME));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in, 1, &out));
    OK(ANeuralNetworksModel_finish(model));
    compilation = rt_compilation_of(model);
    ck_assert_uint_eq(seen.n_prefixes, 1);
    ck_assert_uint_eq(seen.type & UINT16_MAX, TENSOR);
    ck_assert_uint_eq(seen.operation & UINT16_MAX, 7);
    ck_assert_uint_eq(seen.type >> 16, seen.operation >> 16);
    ck_assert_uint_eq(seen.n_data, sizeof(data));
    ck_assert_mem_eq(seen.data, data, sizeof(data));
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(arguments_have_the_size_that_the_type_says)
{
    uint8_t x[12] = "hello", y[12] = {0};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution = NULL;
    uint32_t rank = 0, dims[4] = {0};

    init();
    compilation = rt_compilation_of(own_model(2));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    BAD_DATA(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 11));
    BAD_DATA(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 13));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    BAD_DATA(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, 11));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(x, y, sizeof(x));
    OK(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
    OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
    ck_assert_uint_eq(rank, 1);
    ck_assert_uint_eq(dims[0], 2);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(open_shapes_are_filled_in)
{
    const uint32_t n = 2;
    uint8_t x[12] = "hello", y[30] = {0};
    ANeuralNetworksOperandType type;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksModel *model;
    uint32_t dims[4] = {0};

    init();
    model = own_model(0);
    type = rt_tensor(type_of(model, TENSOR), 1, &n);
    compilation = rt_compilation_of(model);
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_compute(execution));
    OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
    ck_assert_uint_eq(dims[0], n);
    ck_assert_mem_eq(x, y, sizeof(x));
    ck_assert_uint_eq(y[sizeof(x)], 0);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(a_device_without_the_extension_supports_nothing_of_it)
{
    const ANeuralNetworksDevice *devices[1];
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;
    bool supported = true;

    init();
    rt_picky_extensions = false;
    model = own_model(2);
    devices[0] = RT_PICKY;
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, &supported));
    ck_assert(!supported);
    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
    BAD_DATA(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    devices[0] = RT_FAKE;
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, &supported));
    ck_assert(supported);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* -- attributes ----------------------------------------------------------------------- */

static int add_to_compilation(ANeuralNetworksCompilation *compilation, uint16_t code)
{
    return ANeuralNetworksCompilation_addExtensionAttribute(compilation, NAME, code, "abcd", 5);
}

TEST(compilations_have_attributes)
{
    ANeuralNetworksCompilation *compilation = NULL;
    const ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model;

    init();
    fake.on_prepare = see_model;
    model = rt_model();
    device = RT_FAKE;
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    BAD_DATA(add_to_compilation(compilation, 9)); /* not for one listed device */
    ANeuralNetworksCompilation_free(compilation);
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    NULLED(ANeuralNetworksCompilation_addExtensionAttribute(NULL, NAME, 9, "x", 1));
    NULLED(ANeuralNetworksCompilation_addExtensionAttribute(compilation, NULL, 9, "x", 1));
    NULLED(ANeuralNetworksCompilation_addExtensionAttribute(compilation, NAME, 9, NULL, 1));
    BAD_DATA(ANeuralNetworksCompilation_addExtensionAttribute(compilation, NAME, 9, "x", 0));
    BAD_DATA(ANeuralNetworksCompilation_addExtensionAttribute(compilation, NAME, 9, "x", 65537));
    BAD_DATA(ANeuralNetworksCompilation_addExtensionAttribute(compilation, "com.no", 9, "x", 1));
    OK(add_to_compilation(compilation, 9));
    BAD_DATA(add_to_compilation(compilation, 9));
    for (uint16_t i = 10; i < 73; i++)
        OK(add_to_compilation(compilation, i));
    BAD_DATA(add_to_compilation(compilation, 73));
    OK(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(add_to_compilation(compilation, 10));
    ck_assert_uint_eq(seen.n_hints, 64);
    ck_assert_int_eq(seen.token, 2 << 16 | 9); /* the second extension of the device */
    ck_assert_str_eq(seen.value, "abcd");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

static int add_to_execution(ANeuralNetworksExecution *execution, uint16_t code)
{
    return ANeuralNetworksExecution_addExtensionAttribute(execution, NAME, code, "wxyz", 5);
}

/* Computes in three ways: what the application said arrives in each. */
static void expect_hint(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst)
{
    seen.n_execution_hints = 0;
    OK(burst ? ANeuralNetworksExecution_burstCompute(execution, burst)
             : ANeuralNetworksExecution_compute(execution));
    ck_assert_uint_eq(seen.n_execution_hints, 1);
    ck_assert_int_eq(seen.token, 2 << 16 | 4);
    ck_assert_str_eq(seen.value, "wxyz");
}

TEST(executions_have_attributes)
{
    ANeuralNetworksBurst *burst = NULL;
    ANeuralNetworksCompilation *all = NULL;
    ANeuralNetworksExecution *other = NULL;
    ANeuralNetworksModel *model;
    struct rt_run run;

    init();
    fake.on_execute = see_execution;
    rt_run_init(&run);
    NULLED(ANeuralNetworksExecution_addExtensionAttribute(NULL, NAME, 4, "x", 1));
    NULLED(ANeuralNetworksExecution_addExtensionAttribute(run.execution, NULL, 4, "x", 1));
    NULLED(ANeuralNetworksExecution_addExtensionAttribute(run.execution, NAME, 4, NULL, 1));
    OK(add_to_execution(run.execution, 4));
    BAD_DATA(add_to_execution(run.execution, 4));
    expect_hint(run.execution, NULL);
    BAD_STATE(add_to_execution(run.execution, 5));
    rt_run_done(&run);
    rt_run_init(&run);
    OK(ANeuralNetworksExecution_setReusable(run.execution, true));
    OK(add_to_execution(run.execution, 4));
    OK(ANeuralNetworksBurst_create(run.compilation, &burst));
    expect_hint(run.execution, NULL);
    expect_hint(run.execution, burst);
    ANeuralNetworksBurst_free(burst);
    rt_run_done(&run);
    model = rt_model();
    OK(ANeuralNetworksCompilation_create(model, &all));
    OK(ANeuralNetworksCompilation_finish(all));
    OK(ANeuralNetworksExecution_create(all, &other));
    BAD_DATA(add_to_execution(other, 4));
    ANeuralNetworksExecution_free(other);
    ANeuralNetworksCompilation_free(all);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("extension", devices_tell_their_extensions, a_name_has_one_prefix, prefixes_run_out,
           types_are_what_devices_say, constants_have_the_size_that_the_type_says,
           operands_have_extension_data, the_driver_gets_types_operations_and_data,
           arguments_have_the_size_that_the_type_says, open_shapes_are_filled_in,
           a_device_without_the_extension_supports_nothing_of_it, compilations_have_attributes,
           executions_have_attributes)
