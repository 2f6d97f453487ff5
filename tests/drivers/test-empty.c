/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors without elements between parts: no device can be given one as an input. */
#include "drivers/split.h"

#include <string.h>

enum { N = 4, MAX = 3 * N };

/* Operands of the models. */
enum {
    X,
    END,   /* of the slice: how many elements it has */
    BEGIN, /* and constants */
    STRIDES,
    MASK,
    AXIS,
    PADDINGS,
    SLICED,
    OUTPUT,
    OTHER,
    N_OPERANDS,
};

static void add_operand(ANeuralNetworksModel *model, int32_t code, uint32_t rank, uint32_t n0,
                        uint32_t n1)
{
    const uint32_t dims[2] = {n0, n1};
    const ANeuralNetworksOperandType type = {
        .type = code, .dimensionCount = rank, .dimensions = rank ? dims : NULL};

    OK(ANeuralNetworksModel_addOperand(model, &type));
}

static void set_constant(ANeuralNetworksModel *model, int32_t operand, const int32_t *value,
                         size_t n)
{
    OK(ANeuralNetworksModel_setOperandValue(model, operand, value, n * sizeof(*value)));
}

/* SLICED = the first elements of X, and no operation that reads it yet. */
static ANeuralNetworksModel *begin_model(void)
{
    static const int32_t zero[2] = {0, 0}, one[2] = {1, 1};
    const uint32_t inputs[] = {X, BEGIN, END, STRIDES, MASK, MASK, MASK}, output = SLICED;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    add_operand(model, ANEURALNETWORKS_TENSOR_FLOAT32, 1, N, 0);
    for (uint32_t i = END; i <= STRIDES; i++)
        add_operand(model, ANEURALNETWORKS_TENSOR_INT32, 1, 1, 0);
    add_operand(model, ANEURALNETWORKS_INT32, 0, 0, 0);
    add_operand(model, ANEURALNETWORKS_INT32, 0, 0, 0);
    add_operand(model, ANEURALNETWORKS_TENSOR_INT32, 2, 1, 2);
    for (uint32_t i = SLICED; i < N_OPERANDS; i++)
        add_operand(model, ANEURALNETWORKS_TENSOR_FLOAT32, 1, 0, 0);
    set_constant(model, BEGIN, zero, 1);
    set_constant(model, STRIDES, one, 1);
    set_constant(model, MASK, zero, 1);
    set_constant(model, AXIS, zero, 1);
    set_constant(model, PADDINGS, one, 2);
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_STRIDED_SLICE, 7, inputs, 1,
                                         &output));
    return model;
}

static ANeuralNetworksModel *end_model(ANeuralNetworksModel *model)
{
    const uint32_t inputs[] = {X, END}, outputs[] = {OUTPUT, OTHER};

    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 2, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* OTHER = the positive of SLICED, OUTPUT = SLICED, OTHER and X behind each other. */
static ANeuralNetworksModel *make_concatenation(void)
{
    const uint32_t sliced = SLICED, inputs[] = {SLICED, OTHER, X, AXIS},
                   outputs[] = {OTHER, OUTPUT};
    ANeuralNetworksModel *model = begin_model();

    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, &sliced, 1, &outputs[0]));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CONCATENATION, 4, inputs, 1,
                                         &outputs[1]));
    return end_model(model);
}

/* OUTPUT = SLICED with a zero at each end, OTHER = |X|. */
static ANeuralNetworksModel *make_padding(void)
{
    const uint32_t x = X, inputs[] = {SLICED, PADDINGS}, outputs[] = {OUTPUT, OTHER};
    ANeuralNetworksModel *model = begin_model();

    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_PAD, 2, inputs, 1, &outputs[0]));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ABS, 1, &x, 1, &outputs[1]));
    return end_model(model);
}

struct run {
    float x[N];
    int32_t end;
    float output[MAX], other[MAX];
};

static ANeuralNetworksExecution *start(ANeuralNetworksCompilation *compilation, struct run *run)
{
    static const float x[N] = {-1, 2, -3, 4};
    ANeuralNetworksExecution *execution = NULL;

    memcpy(run->x, x, sizeof(x));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, run->x, sizeof(run->x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, &run->end, sizeof(run->end)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, run->output, sizeof(run->output)));
    OK(ANeuralNetworksExecution_setOutput(execution, 1, NULL, run->other, sizeof(run->other)));
    return execution;
}

static uint32_t length_of(ANeuralNetworksExecution *execution, int32_t output)
{
    uint32_t rank = 0, n = 0;

    OK(ANeuralNetworksExecution_getOutputOperandRank(execution, output, &rank));
    ck_assert_uint_eq(rank, 1);
    OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, output, &n));
    return n;
}

/* X, and before it the first n of X twice, the second time 0 instead of what is below it. */
static void check_concatenation(ANeuralNetworksExecution *execution, const struct run *run)
{
    uint32_t n = (uint32_t)run->end;

    ck_assert_uint_eq(length_of(execution, 0), 2 * n + N);
    ck_assert_uint_eq(length_of(execution, 1), n);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_float_eq(run->output[i], run->x[i]);
        ck_assert_float_eq(run->output[n + i], run->x[i] < 0 ? 0 : run->x[i]);
        ck_assert_float_eq(run->other[i], run->output[n + i]);
    }
    for (uint32_t i = 0; i < N; i++)
        ck_assert_float_eq(run->output[2 * n + i], run->x[i]);
}

/* What is empty changes from one computation of an execution to the next. */
TEST(a_concatenation_does_without_what_is_empty)
{
    static const int32_t ends[] = {2, 0, 0, 3, 0};
    ANeuralNetworksModel *model = make_concatenation();
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst = NULL;
    struct run run;

    split_rules("0:only=STRIDED_SLICE;1:not=STRIDED_SLICE");
    compilation = split_compile(model, 2);
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    execution = start(compilation, &run);
    OK(ANeuralNetworksBurst_create(compilation, &burst));
    for (size_t i = 0; i < 2 * sizeof(ends) / sizeof(ends[0]); i++) {
        run.end = ends[i / 2];
        memset(run.output, 0xee, sizeof(run.output));
        if (i % 2)
            OK(ANeuralNetworksExecution_burstCompute(execution, burst));
        else
            OK(ANeuralNetworksExecution_compute(execution));
        check_concatenation(execution, &run);
    }
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* A device that makes a part and fails to make what is left of it says why. */
TEST(a_device_that_does_not_prepare_the_rest_is_told_of)
{
    ANeuralNetworksModel *model = make_concatenation();
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    struct run run;
    char why[256];

    split_rules("0:only=STRIDED_SLICE;1:not=STRIDED_SLICE");
    compilation = split_compile(model, 2);
    execution = start(compilation, &run);
    run.end = 0;
    split_rules("0:only=STRIDED_SLICE;1:not=STRIDED_SLICE,fail=prepare");
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_OP_FAILED);
    nnhal_execution_get_error(execution, why, sizeof(why));
    ck_assert_ptr_nonnull(strstr(why, "told not to prepare"));
    split_rules("0:only=STRIDED_SLICE;1:not=STRIDED_SLICE");
    OK(ANeuralNetworksExecution_compute(execution));
    check_concatenation(execution, &run);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* A padding would make something of nothing, which NNAPI refuses. */
TEST(an_operation_that_needs_elements_fails)
{
    ANeuralNetworksModel *model = make_padding();
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    struct run run;
    char why[256];

    split_rules("0:only=STRIDED_SLICE;1:not=STRIDED_SLICE");
    compilation = split_compile(model, 2);
    execution = start(compilation, &run);
    run.end = 1;
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_uint_eq(length_of(execution, 0), 3);
    run.end = 0;
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_OP_FAILED);
    nnhal_execution_get_error(execution, why, sizeof(why));
    ck_assert_ptr_nonnull(strstr(why, "is empty"));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("empty", a_concatenation_does_without_what_is_empty,
           a_device_that_does_not_prepare_the_rest_is_told_of,
           an_operation_that_needs_elements_fails)
