/* SPDX-License-Identifier: Apache-2.0 */
/* Values between two parts of one device stay in a buffer of that device, which counts who reads and
 * writes it. */
#include "drivers/partial/buffers.h"
#include "drivers/residents.h"

#include <stdio.h>
#include <stdlib.h>

enum { BYTES = RESIDENTS_BYTES, MANY = 100 };

static const struct residents_choices plain;
static struct buffer_counts counts;

static void have_buffers(int n)
{
    char text[32];

    snprintf(text, sizeof(text), "%llx", (unsigned long long)(uintptr_t)&counts);
    setenv("NN_TEST_BUFFERS", text, 1);
    split_rules(RESIDENTS_RULES, n, "");
}

static void expect_counts(uint32_t n_made, uint32_t n_written, uint32_t n_read)
{
    ck_assert_uint_eq(counts.n_made, n_made);
    ck_assert_uint_eq(counts.n_written, n_written);
    ck_assert_uint_eq(counts.n_read, n_read);
    ck_assert_uint_eq(counts.n_copied_in, 0);
    ck_assert_uint_eq(counts.n_copied_out, 0);
}

/* -- where values lie ---------------------------------------------------------------------- */

/* Three executions, and one buffer for all: it is written and read in the device alone. */
TEST(a_value_between_parts_of_one_device_stays_there)
{
    struct residents residents;

    have_buffers(MANY);
    residents_init(&residents, &plain, true);
    ck_assert_uint_eq(split_count_residents(residents.compilation), 1);
    ck_assert_uint_eq(residents_get_moved(&residents), BYTES); /* of ABS */
    for (uint32_t i = 1; i <= 3; i++) {
        residents_compute(&residents);
        expect_counts(1, i, i);
        residents_execute(&residents, false);
    }
    residents_done(&residents);
    ck_assert_uint_eq(counts.n_released, 1);
}
TEST_END

static void expect_shared(const struct residents_choices *choices, uint64_t expected_bytes)
{
    struct residents residents;

    residents_init(&residents, choices, true);
    ck_assert_uint_eq(split_count_residents(residents.compilation), 0);
    ck_assert_uint_eq(residents_get_moved(&residents), expected_bytes);
    if (choices->is_exp_output)
        OK(ANeuralNetworksExecution_setOutput(residents.execution, 1, NULL, residents.exp, BYTES));
    residents_compute(&residents);
    if (choices->is_exp_output)
        residents_check_exp(residents.exp, 1);
    expect_counts(0, 0, 0);
    residents_done(&residents);
}

TEST(a_device_without_memory_of_its_own_has_none)
{
    have_buffers(0);
    expect_shared(&plain, 2 * BYTES);
}
TEST_END

/* The plan tells it. */
TEST(a_device_that_makes_no_buffer_has_none)
{
    have_buffers(MANY);
    ck_assert_ptr_nonnull(find_device("partial-0"));
    have_buffers(0);
    expect_shared(&plain, 2 * BYTES);
}
TEST_END

TEST(a_value_of_open_shape_is_shared)
{
    have_buffers(MANY);
    expect_shared(&(const struct residents_choices){.is_open = true}, 0);
}
TEST_END

TEST(an_output_of_the_model_is_shared)
{
    have_buffers(MANY);
    expect_shared(&(const struct residents_choices){.is_exp_output = true}, 2 * BYTES);
}
TEST_END

TEST(a_value_that_another_device_reads_is_shared)
{
    struct residents residents;

    have_buffers(MANY);
    residents_init(&residents, &(const struct residents_choices){.is_abs_of_exp = true}, true);
    ck_assert_uint_eq(split_count_residents(residents.compilation), 0);
    OK(ANeuralNetworksExecution_compute(residents.execution));
    residents_check_exp(residents.sum, 2);
    expect_counts(0, 0, 0);
    residents_done(&residents);
}
TEST_END

/* EXP(x) and, of FLOOR(x), the elements that a second input says, one after the other. */
static ANeuralNetworksModel *make_slicing_model(void)
{
    enum { X, SIZES, BEGINS, AXIS, EXP, FLOOR, SLICE, OUT, N_OPERANDS };
    static const uint32_t one = 1, n = RESIDENTS_N, open = 0, inputs[] = {X, SIZES}, out = OUT;
    static const uint32_t exp = EXP, floor = FLOOR, slice = SLICE,
                          of_slice[] = {FLOOR, BEGINS, SIZES}, of_out[] = {EXP, SLICE, AXIS};
    static const int32_t zero = 0;
    const ANeuralNetworksOperandType types[N_OPERANDS] = {
        [X] = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0},
        [SIZES] = {ANEURALNETWORKS_TENSOR_INT32, 1, &one, 0, 0},
        [BEGINS] = {ANEURALNETWORKS_TENSOR_INT32, 1, &one, 0, 0},
        [AXIS] = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0},
        [EXP] = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0},
        [FLOOR] = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0},
        [SLICE] = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &open, 0, 0},
        [OUT] = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &open, 0, 0},
    };
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i < N_OPERANDS; i++)
        OK(ANeuralNetworksModel_addOperand(model, &types[i]));
    OK(ANeuralNetworksModel_setOperandValue(model, BEGINS, &zero, sizeof(zero)));
    OK(ANeuralNetworksModel_setOperandValue(model, AXIS, &zero, sizeof(zero)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_EXP, 1, inputs, 1, &exp));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FLOOR, 1, inputs, 1, &floor));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_SLICE, 3, of_slice, 1, &slice));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CONCATENATION, 3, of_out, 1, &out));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &out));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* Without the empty slice the last part is another one, in no role of a buffer. */
TEST(what_is_left_of_a_part_reads_shared_memory)
{
    struct residents residents = {.model = make_slicing_model()};
    const int32_t size = 0;

    have_buffers(MANY);
    split_rules("0:not=SLICE,buffers=100;1:only=SLICE");
    residents.compilation = split_compile(residents.model, 2);
    ck_assert_uint_eq(split_count_parts(residents.compilation), 3);
    residents_execute(&residents, false);
    OK(ANeuralNetworksExecution_setInput(residents.execution, 1, NULL, &size, sizeof(size)));
    OK(ANeuralNetworksExecution_compute(residents.execution));
    residents_check_exp(residents.sum, 1);
    residents_done(&residents);
}
TEST_END

/* -- executions --------------------------------------------------------------------------- */

TEST(an_execution_that_repeats_keeps_its_buffer)
{
    ANeuralNetworksBurst *burst = NULL;
    struct residents residents;

    have_buffers(MANY);
    residents_init(&residents, &plain, true);
    residents_execute(&residents, true);
    OK(ANeuralNetworksBurst_create(residents.compilation, &burst));
    for (uint32_t i = 1; i <= 5; i++) {
        residents_compute(&residents);
        OK(ANeuralNetworksExecution_burstCompute(residents.execution, burst));
        residents_check_sum(&residents);
        expect_counts(1, 2 * i, 2 * i);
    }
    ANeuralNetworksBurst_free(burst);
    residents_done(&residents);
}
TEST_END

/* One that may repeat keeps its buffer. Where the device makes no other, shared memory serves. */
TEST(an_execution_without_a_buffer_does_without)
{
    ANeuralNetworksExecution *first;
    struct residents residents;

    have_buffers(1);
    residents_init(&residents, &plain, true);
    residents_execute(&residents, true);
    residents_compute(&residents);
    expect_counts(1, 1, 1);
    first = residents.execution;
    residents.execution = NULL;
    residents_execute(&residents, true);
    residents_compute(&residents);
    expect_counts(1, 1, 1);
    ANeuralNetworksExecution_free(first);
    residents_execute(&residents, false);
    residents_compute(&residents);
    expect_counts(1, 2, 2);
    residents_done(&residents);
}
TEST_END

/* -- failures ------------------------------------------------------------------------------- */

/* The reference computes what the device fails: into its buffer, and from it. */
TEST(a_part_that_fails_is_computed_elsewhere_with_what_lies_in_the_device)
{
    struct residents residents;

    have_buffers(MANY);
    residents_init(&residents, &plain, false);
    split_rules(RESIDENTS_RULES, MANY, ",fail=execute");
    residents_compute(&residents);
    ck_assert_uint_eq(counts.n_copied_in, 1);
    ck_assert_uint_eq(counts.n_copied_out, 1);
    ck_assert_uint_eq(counts.n_written + counts.n_read, 0);
    have_buffers(MANY);
    residents_execute(&residents, false);
    residents_compute(&residents);
    ck_assert_uint_eq(counts.n_written, 1);
    ck_assert_uint_eq(counts.n_made, 1);
    residents_done(&residents);
}
TEST_END

CHECK_MAIN("residents", a_value_between_parts_of_one_device_stays_there,
           a_device_without_memory_of_its_own_has_none, a_device_that_makes_no_buffer_has_none,
           a_value_of_open_shape_is_shared, an_output_of_the_model_is_shared,
           a_value_that_another_device_reads_is_shared, what_is_left_of_a_part_reads_shared_memory,
           an_execution_that_repeats_keeps_its_buffer, an_execution_without_a_buffer_does_without,
           a_part_that_fails_is_computed_elsewhere_with_what_lies_in_the_device)
