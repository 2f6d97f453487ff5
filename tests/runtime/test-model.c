/* SPDX-License-Identifier: Apache-2.0 */
/* Building models: states, arguments, values, order. */
#include "rt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int add_operation(ANeuralNetworksModel *model, int32_t type, uint32_t rank,
                         const uint32_t *dims, float scale, int32_t zero_point)
{
    const ANeuralNetworksOperandType operand = {type, rank, dims, scale, zero_point};

    return ANeuralNetworksModel_addOperand(model, &operand);
}

static ANeuralNetworksModel *empty_model(void)
{
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    return model;
}

/* Of the maker of a device: not among the names of the NDK. */
enum { OEM_SCALAR = 10000, OEM_TENSOR = 10001 };

TEST(operands_obey_their_types)
{
    static const struct {
        int32_t type;
        uint32_t rank;
        float scale;
        int32_t zero_point;
        int result;
    } cases[] = {
        {ANEURALNETWORKS_FLOAT32, 0, 0, 0, 0},
        {ANEURALNETWORKS_FLOAT32, 1, 0, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_FLOAT32, 0, 1, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_FLOAT32, 2, 0, 0, 0},
        {ANEURALNETWORKS_TENSOR_FLOAT32, 0, 0, 0, 0}, /* unknown rank */
        {ANEURALNETWORKS_TENSOR_FLOAT32, 1, 0.5f, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_FLOAT32, 1, 0, 1, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_INT32, 1, 0.5f, 0, 0},
        {ANEURALNETWORKS_TENSOR_INT32, 1, -0.5f, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 0.5f, 255, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 0.5f, 256, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 0.5f, -1, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 0, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, INFINITY, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, NAN, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 1, 0.5f, -128, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 1, 0.5f, 128, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 1, 0.5f, 1, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, 1, 0.5f, 65535, 0},
        {ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 1, 0.5f, 0, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, 0, 0, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, 1, 0, ANEURALNETWORKS_BAD_DATA},
        {ANEURALNETWORKS_BOOL, 0, 0, 0, 0},
        {ANEURALNETWORKS_TENSOR_BOOL8, 1, 0, 0, 0},
        {ANEURALNETWORKS_MODEL, 0, 0, 0, 0},
        {16, 0, 0, 0, ANEURALNETWORKS_BAD_DATA},
        {-1, 0, 0, 0, ANEURALNETWORKS_BAD_DATA},
        {0x10000, 0, 0, 0, ANEURALNETWORKS_BAD_DATA},
    };
    const uint32_t dims[] = {2, 0};
    ANeuralNetworksModel *model = empty_model();

    for (size_t i = 0; i < N_ELEMENTS(cases); i++)
        ck_assert_msg(add_operation(model, cases[i].type, cases[i].rank,
                                    cases[i].rank ? dims : NULL, cases[i].scale,
                                    cases[i].zero_point) == cases[i].result,
                      "case %zu", i);
    BAD_DATA(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 1, NULL, 0, 0));
    BAD_DATA(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 0, dims, 0, 0));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* What only a maker's driver knows has a type of its own, and any bytes. */
TEST(operands_of_a_maker_are_bytes)
{
    const uint32_t four[] = {4}, in[] = {0}, out[] = {1};
    ANeuralNetworksModel *model = empty_model();
    const uint8_t bytes[8] = {1, 2, 3};

    BAD_DATA(add_operation(model, OEM_SCALAR, 1, four, 0, 0));
    OK(add_operation(model, OEM_SCALAR, 0, NULL, 0, 0));
    OK(add_operation(model, OEM_TENSOR, 1, four, 0, 0));
    OK(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 8));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 4));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 5));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, out)); /* constants */
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(operand_sizes_are_64_bits)
{
    const uint32_t fits[] = {0x10000, 0x3fff}, wraps[] = {0x10000, 0x10000, 4};
    const uint32_t unknown[] = {0x10000, 0, 0x10000};
    ANeuralNetworksModel *model = empty_model();

    OK(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 2, fits, 0, 0));
    BAD_DATA(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 2, wraps, 0, 0));
    BAD_DATA(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 3, wraps, 0, 0));
    BAD_DATA(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 3, unknown, 0, 0));
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(finished_models_do_not_change)
{
    ANeuralNetworksOperandType type = rt_scalar(ANEURALNETWORKS_INT32);
    ANeuralNetworksModel *model = rt_model(), *value = rt_model(), *open = rt_open_model(4);
    ANeuralNetworksMemory *memory = rt_memory(64, NULL);
    ANeuralNetworksSymmPerChannelQuantParams params = {0, 0, NULL};
    const uint32_t list[] = {0};

    BAD_STATE(ANeuralNetworksModel_addOperand(model, &type));
    BAD_STATE(ANeuralNetworksModel_setOperandValue(model, 99, list, 4));
    BAD_STATE(ANeuralNetworksModel_setOperandValueFromMemory(model, 99, memory, 0, 4));
    BAD_STATE(ANeuralNetworksModel_setOperandValueFromModel(model, 99, value));
    BAD_STATE(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 99, &params));
    BAD_STATE(ANeuralNetworksModel_addOperation(model, 999, 1, list, 1, list));
    BAD_STATE(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, list, 0, list));
    BAD_STATE(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true));
    BAD_STATE(ANeuralNetworksModel_finish(model));
    /* A value must be finished too; that comes before the index. */
    BAD_STATE(ANeuralNetworksModel_setOperandValueFromModel(value, 0, open));
    BAD_STATE(ANeuralNetworksModel_setOperandValueFromModel(open, 99, open));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromModel(open, 99, value));
    ANeuralNetworksModel_free(open);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksModel_free(value);
    ANeuralNetworksMemory_free(memory);
}
TEST_END

TEST(refused_models_can_only_be_freed)
{
    ANeuralNetworksModel *model = empty_model();
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksOperandType type = rt_scalar(ANEURALNETWORKS_INT32);
    char text[256];

    rt_init();
    BAD_DATA(ANeuralNetworksModel_finish(model)); /* empty */
    ck_assert_uint_gt(nnhal_model_get_error(model, text, sizeof(text)), 0);
    ck_assert_ptr_nonnull(strstr(text, "ANeuralNetworksModel_finish"));
    BAD_STATE(ANeuralNetworksModel_finish(model));
    BAD_STATE(ANeuralNetworksModel_addOperand(model, &type));
    BAD_STATE(ANeuralNetworksCompilation_create(model, &compilation));
    ck_assert_ptr_null(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(values_must_fit)
{
    const float four[4] = {0};
    const uint32_t n = 4, unknown = 0;
    ANeuralNetworksModel *model = empty_model();

    OK(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0));
    OK(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 1, &unknown, 0, 0));
    OK(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 0, NULL, 0, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 3, four, 16));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, -1, four, 16));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 0, four, 15));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 0, four, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 1, four, 16));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 2, four, 16));
    OK(ANeuralNetworksModel_setOperandValue(model, 0, four, 16));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, NULL, 0));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Android adds offset and length in 32 bits, where these wrap around. */
TEST(memory_ranges_are_64_bits)
{
    ANeuralNetworksMemory *memory = rt_memory(4096, NULL);
    ANeuralNetworksModel *model = rt_open_model(8);
    const uint32_t n = 8;

    OK(add_operation(model, ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, 0xfffffff0, 32));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, SIZE_MAX - 15, 32));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, (size_t)1 << 32, 32));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, 4096 - 31, 32));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, 0,
                                                            ((size_t)1 << 32) + 32));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, 0, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 5, memory, 0, 32));
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, memory, 4096 - 32, 32));
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
}
TEST_END

static float seen[64];
static uint32_t n_seen;

/* Remembers the value of operand 1, a constant of 64 floats. */
static void see_constant(const struct nnhal_prepare *prepare)
{
    const struct nnhal_operand *operand = &prepare->model.model->main.operands[1];

    n_seen++;
    ck_assert_uint_eq(operand->location.length, sizeof(seen));
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE)
        memcpy(seen,
               prepare->model.pools[operand->location.pool_index].data + operand->location.offset,
               sizeof(seen));
    else
        ck_abort_msg("256 bytes belong in a pool");
}

/* z = x + c, c not yet set. */
static ANeuralNetworksModel *model_with_constant(void)
{
    const int32_t none = 0;
    const uint32_t inputs[] = {0}, outputs[] = {3};
    ANeuralNetworksModel *model = empty_model();

    rt_add_tensor(model, 64);
    rt_add_tensor(model, 64);
    rt_add_fuse(model);
    rt_add_tensor(model, 64);
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 1, 2, 3));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
    return model;
}

/* Android keeps the pointer until finish(), and clients crashed there. */
TEST(large_values_are_copied_when_they_are_set)
{
    ANeuralNetworksModel *model = model_with_constant();
    float *values = malloc(sizeof(seen));

    rt_init();
    fake.on_prepare = see_constant;
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    OK(ANeuralNetworksModel_setOperandValue(model, 1, values, sizeof(seen)));
    memset(values, 0xff, sizeof(seen));
    free(values);
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksCompilation_free(rt_compilation_of(model));
    ck_assert_uint_eq(n_seen, 1);
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(seen[i], (float)i);
}
TEST_END

/* Android aborts when a large value is replaced, or lets the old one win. */
TEST(the_last_value_counts)
{
    ANeuralNetworksModel *model = model_with_constant();
    ANeuralNetworksMemory *memory;
    float values[64] = {0};
    void *bytes;

    rt_init();
    fake.on_prepare = see_constant;
    memory = rt_memory(sizeof(seen), &bytes);
    ((float *)bytes)[5] = 42;
    OK(ANeuralNetworksModel_setOperandValue(model, 1, values, sizeof(values)));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, NULL, 0));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, values, sizeof(values)));
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 0, sizeof(values)));
    ANeuralNetworksMemory_free(memory); /* the model keeps it */
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksCompilation_free(rt_compilation_of(model));
    ck_assert_float_eq(seen[5], 42);
}
TEST_END

TEST(channel_scales)
{
    const uint32_t dims[] = {2, 3}, n = 3;
    const float scales[] = {1, 2, 3}, zero[] = {1, 0, 3}, huge[] = {1, INFINITY, 3};
    const ANeuralNetworksSymmPerChannelQuantParams good = {1, 3, scales}, dim = {2, 3, scales},
                                                   count = {0, 3, scales}, null = {1, 3, NULL},
                                                   none = {1, 0, scales}, bad = {1, 3, zero},
                                                   inf = {1, 3, huge};
    ANeuralNetworksModel *model = empty_model();

    OK(add_operation(model, ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 2, dims, 0, 0));
    OK(add_operation(model, ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 1, &n, 1, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 2, &good));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 1, &good));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &dim));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &count));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &null));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &none));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &bad));
    BAD_DATA(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &inf));
    OK(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &good));
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(operations_are_judged_when_added)
{
    const uint32_t three[] = {0, 1, 2}, two[] = {0, 1}, far[] = {0, 1, 9}, types[] = {0, 2, 2};
    const uint32_t out = 3, far_out = 9;
    ANeuralNetworksModel *model = rt_open_model(4);

    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 2, two, 1, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, far, 1, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, three, 1, &far_out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, types, 1, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 0, three, 1, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, three, 0, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, 106, 3, three, 1, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, -1, 3, three, 1, &out));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, 0x10000, 3, three, 1, &out));
    OK(ANeuralNetworksModel_finish(model)); /* nothing of that was added */
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Android leaves half of a refused list behind. */
TEST(a_refused_list_of_arguments_changes_nothing)
{
    const uint32_t good_in[] = {0, 1}, good_out[] = {3}, far[] = {9}, constant[] = {2};
    const uint32_t twice[] = {0, 0}, both[] = {0};
    ANeuralNetworksModel *model = rt_open_model(4);

    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, good_in, 1, far));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, far, 1, good_out));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, constant, 1, good_out));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, good_in, 1, constant));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, twice, 1, good_out));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, good_in, 2, twice));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, good_in, 1, both));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, good_in, 1, good_out));
    BAD_DATA(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, good_in, 0, good_out));
    BAD_DATA(ANeuralNetworksModel_setOperandValue(model, 0, good_in, 16)); /* an input */
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, good_in, 1, good_out)); /* again */
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* A chain t0 -> t1 -> ... with operations given last first. */
TEST(operations_may_come_in_any_order)
{
    enum { N = 5 };
    const uint32_t inputs[] = {1}, outputs[] = {1 + N};
    const int32_t none = 0;
    ANeuralNetworksModel *model = empty_model();
    const ANeuralNetworksDevice *picky[1];
    bool supported[N];

    rt_init();
    picky[0] = RT_PICKY;
    rt_add_fuse(model);
    OK(ANeuralNetworksModel_setOperandValue(model, 0, &none, 4));
    for (uint32_t i = 0; i <= N; i++)
        rt_add_tensor(model, 4);
    for (uint32_t i = N; i > 0; i--)
        OK(rt_binary(model, i == 2 ? ANEURALNETWORKS_MUL : ANEURALNETWORKS_ADD, i, i, 0, i + 1));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    /* Answers come in the order of adding: the MUL was the fourth. */
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, picky, 1, supported));
    for (uint32_t i = 0; i < N; i++)
        ck_assert_int_eq(supported[i], i != 3);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(graphs_must_be_whole)
{
    const uint32_t inputs[] = {0, 1}, outputs[] = {3};
    ANeuralNetworksModel *model;

    model = rt_open_model(4); /* written twice */
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 1, 1, 2, 3));
    BAD_DATA(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);

    model = rt_open_model(4); /* writes an input */
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 1, 1, 2, 0));
    BAD_DATA(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);

    model = rt_open_model(4); /* reads what nothing writes */
    rt_add_tensor(model, 4);
    rt_add_tensor(model, 4);
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 4, 2, 5));
    BAD_DATA(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);

    model = rt_open_model(4); /* a circle */
    rt_add_tensor(model, 4);
    rt_add_tensor(model, 4);
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 5, 2, 4));
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 4, 2, 5));
    BAD_DATA(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);

    model = empty_model(); /* an output that nothing writes */
    rt_add_tensor(model, 4);
    rt_add_tensor(model, 4);
    rt_add_fuse(model);
    rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    BAD_DATA(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);

    model = empty_model(); /* inputs and outputs not said */
    rt_add_tensor(model, 4);
    rt_add_fuse(model);
    rt_add_tensor(model, 4);
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 0, 1, 2));
    BAD_DATA(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* IF with two branches that share nothing but are the same model. */
TEST(models_are_values)
{
    const uint32_t one = 1, if_inputs[] = {0, 1, 2, 3, 4}, outputs[] = {5}, inputs[] = {0, 3, 4};
    ANeuralNetworksModel *branch = rt_model(), *model = empty_model();
    ANeuralNetworksOperandType type = rt_scalar(ANEURALNETWORKS_MODEL);

    rt_init();
    OK(add_operation(model, ANEURALNETWORKS_TENSOR_BOOL8, 1, &one, 0, 0));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    rt_add_tensor(model, 4);
    rt_add_tensor(model, 4);
    rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 1, branch));
    /* No else branch yet; then one input less and one of another type than the branches take. */
    BAD_DATA(
        ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5, if_inputs, 1, outputs));
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 2, branch));
    BAD_DATA(
        ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4, if_inputs, 1, outputs));
    BAD_DATA(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5,
                                               (const uint32_t[]){0, 1, 2, 3, 0}, 1, outputs));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromModel(model, 5, branch));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromModel(model, 6, branch));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5, if_inputs, 1, outputs));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(branch); /* the outer model keeps it */
    ANeuralNetworksCompilation_free(rt_compilation_of(model));
}
TEST_END

static uint32_t n_referenced;

static void see_referenced(const struct nnhal_prepare *prepare)
{
    n_referenced = prepare->model.model->n_referenced;
}

static ANeuralNetworksModel *wrap_in_if(const ANeuralNetworksModel *a,
                                        const ANeuralNetworksModel *b)
{
    const uint32_t one = 1, if_inputs[] = {0, 1, 2, 3, 0}, outputs[] = {4}, inputs[] = {0, 3};
    ANeuralNetworksOperandType type = rt_scalar(ANEURALNETWORKS_MODEL);
    ANeuralNetworksModel *model = empty_model();
    int r;

    OK(add_operation(model, ANEURALNETWORKS_TENSOR_BOOL8, 1, &one, 0, 0));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    rt_add_tensor(model, 4);
    rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 1, a));
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 2, b));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5, if_inputs, 1, outputs));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    r = ANeuralNetworksModel_finish(model);
    if (r != ANEURALNETWORKS_NO_ERROR)
        ck_assert_int_eq(r, ANEURALNETWORKS_BAD_DATA);
    return model;
}

/* f(x, flag) of 4 floats and a flag, so that it can stand in an IF of its own kind. */
static ANeuralNetworksModel *leaf_model(void)
{
    const uint32_t one = 1, inputs[] = {0, 3}, outputs[] = {2};
    const int32_t none = 0;
    ANeuralNetworksModel *model = empty_model();

    rt_add_tensor(model, 4);
    rt_add_fuse(model);
    rt_add_tensor(model, 4);
    OK(add_operation(model, ANEURALNETWORKS_TENSOR_BOOL8, 1, &one, 0, 0));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &none, 4));
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 0, 1, 2));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* Each level refers to the one below twice: counted once each, not 2^n times. */
TEST(shared_subgraphs_are_sent_once)
{
    ANeuralNetworksModel *a = leaf_model(), *b = leaf_model(), *model;

    rt_init();
    fake.on_prepare = see_referenced;
    model = wrap_in_if(a, b);
    ANeuralNetworksModel_free(a);
    ANeuralNetworksModel_free(b);
    ANeuralNetworksCompilation_free(rt_compilation_of(model));
    ck_assert_uint_eq(n_referenced, 2);
    a = leaf_model();
    model = wrap_in_if(a, a);
    ANeuralNetworksModel_free(a);
    ANeuralNetworksCompilation_free(rt_compilation_of(model));
    ck_assert_uint_eq(n_referenced, 1);
}
TEST_END

CHECK_MAIN("model", operands_of_a_maker_are_bytes, operands_obey_their_types,
           operand_sizes_are_64_bits, finished_models_do_not_change,
           refused_models_can_only_be_freed, values_must_fit, memory_ranges_are_64_bits,
           large_values_are_copied_when_they_are_set, the_last_value_counts, channel_scales,
           operations_are_judged_when_added, a_refused_list_of_arguments_changes_nothing,
           operations_may_come_in_any_order, graphs_must_be_whole, models_are_values,
           shared_subgraphs_are_sent_once)
