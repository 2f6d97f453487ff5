/* SPDX-License-Identifier: Apache-2.0 */
/* Why a device of a plan does not compute an operation: a code, and a sentence of its driver.
 * in-mode.py says to the devices: 0:not=RELU,level=27;1:not=FLOOR. */
#include "drivers/split.h"

#include <stdlib.h>
#include <string.h>

enum { N = SPLIT_CHAIN_FLOATS, N_CHAIN = SPLIT_CHAIN_N };

static const uint32_t row_dims[] = {N};
static const ANeuralNetworksOperandType row = {
    .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = row_dims};

static void expect(const ANeuralNetworksCompilation *compilation, const char *device,
                   uint32_t operation, uint32_t verdict, const char *why)
{
    struct nnhal_operation_verdict said = {.size = sizeof(said)};

    OK(nnhal_compilation_get_verdict(compilation, find_device(device), operation, &said));
    ck_assert_uint_eq(said.verdict, verdict);
    ck_assert_str_eq(said.why, why);
}

#define NEWER "it, or the model as a whole, is newer than the device, which knows feature level 27"

/* Operations count as the application added them: backwards. partial-0 was asked about two of them. */
TEST(an_operation_has_the_sentence_of_each_device)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    model = split_chain(false, true);
    compilation = split_compile(model, 2);
    ck_assert_uint_eq(split_count_parts(compilation), 3);
    expect(compilation, "partial-0", 3, NNHAL_VERDICT_UNSUPPORTED, "told to take all but RELU");
    expect(compilation, "partial-0", 2, NNHAL_VERDICT_TOO_OLD, NEWER);
    expect(compilation, "partial-0", 1, NNHAL_VERDICT_TAKEN, "");
    expect(compilation, "partial-0", 0, NNHAL_VERDICT_TOO_OLD, NEWER);
    expect(compilation, "partial-1", 3, NNHAL_VERDICT_TAKEN, "");
    expect(compilation, "partial-1", 2, NNHAL_VERDICT_TAKEN, "");
    expect(compilation, "partial-1", 1, NNHAL_VERDICT_UNSUPPORTED, "told to take all but FLOOR");
    expect(compilation, "partial-1", 0, NNHAL_VERDICT_TAKEN, "");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

static void expect_failure(ANeuralNetworksModel *model, uint32_t n_devices, const char *sentence)
{
    const ANeuralNetworksDevice *devices[2] = {find_device("partial-1"), find_device("partial-0")};
    ANeuralNetworksCompilation *compilation = NULL;
    static const char call[] = "ANeuralNetworksCompilation_finish: ";
    char why[512];

    OK(ANeuralNetworksCompilation_createForDevices(model, devices, n_devices, &compilation));
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_BAD_DATA);
    nnhal_compilation_get_error(compilation, why, sizeof(why));
    ck_assert_uint_gt(strlen(why), strlen(call));
    ck_assert_str_eq(why + strlen(call), sentence);
    ANeuralNetworksCompilation_free(compilation);
}

/* ADD of four floats and five, which no execution can compute. */
static ANeuralNetworksModel *make_impossible(void)
{
    static const uint32_t five[] = {5}, inputs[] = {0, 1, 2}, output = 3;
    const ANeuralNetworksOperandType other = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = five};
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &row));
    OK(ANeuralNetworksModel_addOperand(model, &other));
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperand(model, &row));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

TEST(finish_says_why_as_well)
{
    ANeuralNetworksModel *model;

    model = split_chain(false, true);
    expect_failure(model, 1,
                   "partial-1 does not support operation 1 (FLOOR): told to take all but FLOOR");
    ANeuralNetworksModel_free(model);
    model = make_impossible();
    expect_failure(
        model, 2,
        "none of 2 devices takes operation 0 (ADD); partial-1: ADD: the shapes of inputs "
        "0 and 1 cannot be broadcast");
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(questions_that_make_no_sense_are_refused)
{
    struct nnhal_operation_verdict said = {.size = sizeof(said)};
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;

    model = split_chain(false, true);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    ck_assert_int_eq(nnhal_compilation_get_verdict(compilation, find_device("partial-0"), 0, &said),
                     ANEURALNETWORKS_BAD_STATE);
    ANeuralNetworksCompilation_free(compilation);
    compilation = split_compile(model, 2);
    ck_assert_int_eq(
        nnhal_compilation_get_verdict(compilation, find_device("partial-0"), N_CHAIN, &said),
        ANEURALNETWORKS_BAD_DATA);
    ck_assert_int_eq(
        nnhal_compilation_get_verdict(compilation, find_device("nnapi-reference"), 0, &said),
        ANEURALNETWORKS_BAD_DATA);
    said.size = offsetof(struct nnhal_operation_verdict, verdict);
    ck_assert_int_eq(nnhal_compilation_get_verdict(compilation, find_device("partial-0"), 0, &said),
                     ANEURALNETWORKS_BAD_DATA);
    said = (struct nnhal_operation_verdict){.size = offsetof(struct nnhal_operation_verdict, why),
                                            .why = "mine"};
    OK(nnhal_compilation_get_verdict(compilation, find_device("partial-0"), 0, &said));
    ck_assert_uint_eq(said.verdict, NNHAL_VERDICT_TOO_OLD);
    ck_assert_str_eq(said.why, "mine");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* -- devices that fail: in this process alone, where rules can change -------------------------- */

TEST(a_device_that_fails_says_why)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;

    if (strcmp(getenv("NNHAL_MODE"), "embedded") != 0)
        return;
    split_rules("*:time=9;0:time=0.1,fail=supported;1:time=0.2,lie=1;2:time=0.3");
    model = split_chain(false, true);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    expect(compilation, "partial-0", 0, NNHAL_VERDICT_UNREACHED,
           "driver partial-0: told not to answer");
    expect(compilation, "partial-1", 0, NNHAL_VERDICT_REFUSED,
           "driver partial-1: these operations are too many together");
    expect(compilation, "partial-2", 0, NNHAL_VERDICT_TAKEN, "");
    expect(compilation, "nnapi-reference", 0, NNHAL_VERDICT_UNASKED, "");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("reasons", an_operation_has_the_sentence_of_each_device, finish_says_why_as_well,
           questions_that_make_no_sense_are_refused, a_device_that_fails_says_why)
