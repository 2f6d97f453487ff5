/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver returns is checked before it is used. */
#include "host/desk.h"

#include "support/check-main.h"
#include "support/fake-driver.h"

static struct desk desk;
static uint64_t memory, prepared;

/* A model of these dimensions, x and y of [2,3], an output of capacity bytes. */
static void begin(uint32_t n_dimensions, const uint32_t *dimensions, uint64_t capacity)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, n_dimensions, dimensions));
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 3), memory, 0, 24);
    desk_input(&desk, DIMS(2, 3), memory, 24, 24);
    desk_output(&desk, 0, NULL, memory, 48, capacity);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
}

/* The execution fails, and the sentence blames the driver and says words. */
static void expect_lie(const char *words)
{
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_msg(strstr(desk.reply.message, "driver fake is defective"), "%s", desk.reply.message);
    ck_assert_msg(strstr(desk.reply.message, words), "\"%s\" does not say \"%s\"",
                  desk.reply.message, words);
    fake.on_execute = NULL;
    fake.execute_status = NNHAL_NONE;
    fake.writes_nothing = false;
}

static void change_known_dimension(struct nnhal_execution *execution)
{
    execution->outputs[0].dimensions[1] = 4;
}

static void change_rank(struct nnhal_execution *execution)
{
    execution->outputs[0].n_dimensions = 1;
}

static void exceed_ranks(struct nnhal_execution *execution)
{
    execution->outputs[0].n_dimensions = NNHAL_MAX_RANK + 1;
}

static void outgrow_capacity(struct nnhal_execution *execution)
{
    execution->outputs[0].dimensions[0] = 1000;
}

static void overflow_size(struct nnhal_execution *execution)
{
    execution->outputs[0].n_dimensions = 3;
    for (int i = 0; i < 3; i++)
        execution->outputs[0].dimensions[i] = UINT32_MAX;
}

static void claim_insufficient(struct nnhal_execution *execution)
{
    execution->outputs[0].is_insufficient = 1;
    fake.execute_status = NNHAL_OUTPUT_INSUFFICIENT_SIZE;
}

static void mark_insufficient_only(struct nnhal_execution *execution)
{
    execution->outputs[0].is_insufficient = 1;
    execution->outputs[0].dimensions[0] = 1000;
}

TEST(shapes_that_were_agreed_stay)
{
    begin(DIMS(2, 3), 24);
    fake.on_execute = change_known_dimension;
    expect_lie("output 0 has a shape that contradicts");
    fake.on_execute = change_rank;
    expect_lie("output 0 has a shape that contradicts");
    fake.on_execute = exceed_ranks;
    expect_lie("output 0 has a shape that contradicts");
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(partly_known_shapes_keep_what_is_known)
{
    begin(DIMS(0, 3), 100);
    fake.on_execute = change_known_dimension;
    expect_lie("output 0 has a shape that contradicts");
    fake.on_execute = change_rank;
    expect_lie("output 0 has a shape that contradicts");
    desk_close(&desk);
}
TEST_END

TEST(an_output_is_not_larger_than_its_memory)
{
    begin(0, NULL, 100);
    fake.on_execute = outgrow_capacity;
    expect_lie("does not fit");
    fake.on_execute = overflow_size;
    expect_lie("does not fit");
    desk_close(&desk);
}
TEST_END

TEST(a_driver_that_does_nothing_is_seen)
{
    begin(0, NULL, 100);
    fake.writes_nothing = true;
    expect_lie("output 0 has no rank");
    desk_close(&desk);
}
TEST_END

TEST(an_agreed_shape_cannot_be_too_large)
{
    begin(DIMS(2, 3), 24);
    fake.on_execute = claim_insufficient;
    expect_lie("too large though its shape was agreed");
    desk_close(&desk);
}
TEST_END

TEST(what_fits_is_not_insufficient)
{
    begin(0, NULL, 100);
    fake.on_execute = claim_insufficient;
    expect_lie("too large but fits");
    desk_close(&desk);
}
TEST_END

TEST(status_and_outputs_tell_the_same)
{
    begin(0, NULL, 100);
    fake.execute_status = NNHAL_OUTPUT_INSUFFICIENT_SIZE;
    expect_lie("0 outputs are said to be too large, and execute() returned 3");
    fake.on_execute = mark_insufficient_only;
    expect_lie("1 outputs are said to be too large, and execute() returned 0");
    desk_close(&desk);
}
TEST_END

TEST(a_status_is_a_status)
{
    begin(DIMS(2, 3), 24);
    fake.execute_status = NNHAL_DEAD_OBJECT;
    expect_lie("execute() returned 9");
    fake.execute_status = UINT32_MAX;
    expect_lie("execute() returned 4294967295");
    desk_close(&desk);
}
TEST_END

static bool is_late(uint32_t status)
{
    return status == NNHAL_MISSED_DEADLINE_TRANSIENT || status == NNHAL_MISSED_DEADLINE_PERSISTENT;
}

TEST(failures_are_passed_on_with_the_drivers_sentence)
{
    const uint32_t statuses[] = {NNHAL_DEVICE_UNAVAILABLE,
                                 NNHAL_GENERAL_FAILURE,
                                 NNHAL_INVALID_ARGUMENT,
                                 NNHAL_MISSED_DEADLINE_TRANSIENT,
                                 NNHAL_MISSED_DEADLINE_PERSISTENT,
                                 NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
                                 NNHAL_RESOURCE_EXHAUSTED_PERSISTENT};

    begin(DIMS(2, 3), 24);
    for (size_t i = 0; i < NN_N_ELEMENTS(statuses); i++) {
        fake.execute_status = statuses[i];
        fake.explanation = NULL;
        ck_assert_uint_eq(desk_execute(&desk, prepared), statuses[i]);
        ck_assert_ptr_nonnull(strstr(desk.reply.message, is_late(statuses[i])
                                                             ? "the deadline passed in execute()"
                                                             : "does not say why"));
        fake.explanation = "too hot";
        ck_assert_uint_eq(desk_execute(&desk, prepared), statuses[i]);
        ck_assert_str_eq(desk.reply.message, "driver fake: too hot");
    }
    desk_close(&desk);
}
TEST_END

static void explain_nothing(struct nnhal_execution *execution)
{
    fake.explanation = NULL;
}

TEST(an_old_sentence_is_not_told_twice)
{
    begin(DIMS(2, 3), 24);
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    fake.explanation = "once";
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    fake.on_execute = explain_nothing;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_ptr_null(strstr(desk.reply.message, "once"));
    desk_close(&desk);
}
TEST_END

TEST(insufficient_memory_is_an_outcome_with_shapes)
{
    begin(0, NULL, 100);
    desk.outputs[0].location.length = 20;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_uint_eq(desk.reply.n_output_shapes, 1);
    ck_assert_uint_eq(desk.reply.output_shapes[0].is_sufficient, 0);
    ck_assert_uint_eq(desk.reply.output_shapes[0].n_dimensions, 2);
    ck_assert_uint_eq(desk.reply.output_shapes[0].dimensions[0], 2);
    ck_assert_uint_eq(desk.reply.output_shapes[0].dimensions[1], 3);
    ck_assert_ptr_nonnull(desk.reply.message);
    desk_close(&desk);
}
TEST_END

static void claim_impossible_times(struct nnhal_execution *execution)
{
    execution->timing = (struct nnhal_timing){UINT64_C(1) << 62, UINT64_C(1) << 61};
}

TEST(times_make_sense_or_are_absent)
{
    begin(DIMS(2, 3), 24);
    fake.on_execute = claim_impossible_times;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(desk.reply.timing.time_in_driver_ns, NNHAL_NO_TIME);
    ck_assert_uint_eq(desk.reply.timing.time_on_device_ns, NNHAL_NO_TIME);
    ck_assert_uint_eq(fake.measure, 0);
    desk.measure = 1;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(fake.measure, 1);
    ck_assert_uint_lt(desk.reply.timing.time_in_driver_ns, UINT64_C(1) << 61);
    ck_assert_uint_eq(desk.reply.timing.time_on_device_ns, NNHAL_NO_TIME);
    desk_close(&desk);
}
TEST_END

TEST(preparations_are_checked_too)
{
    uint64_t id;

    begin(DIMS(2, 3), 24);
    fake.prepare_status = NNHAL_OUTPUT_INSUFFICIENT_SIZE;
    ck_assert_uint_eq(desk_try_prepare(&desk, desk_formula(&desk, DIMS(2, 3)), &id),
                      NNHAL_GENERAL_FAILURE);
    fake.prepare_status = 77;
    ck_assert_uint_eq(desk_try_prepare(&desk, desk_formula(&desk, DIMS(2, 3)), &id),
                      NNHAL_GENERAL_FAILURE);
    fake.prepare_status = NNHAL_RESOURCE_EXHAUSTED_PERSISTENT;
    ck_assert_uint_eq(desk_try_prepare(&desk, desk_formula(&desk, DIMS(2, 3)), &id),
                      NNHAL_RESOURCE_EXHAUSTED_PERSISTENT);
    ck_assert_uint_eq(fake.n_prepared, 1);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("lies", shapes_that_were_agreed_stay, partly_known_shapes_keep_what_is_known,
           an_output_is_not_larger_than_its_memory, a_driver_that_does_nothing_is_seen,
           an_agreed_shape_cannot_be_too_large, what_fits_is_not_insufficient,
           status_and_outputs_tell_the_same, a_status_is_a_status,
           failures_are_passed_on_with_the_drivers_sentence, an_old_sentence_is_not_told_twice,
           insufficient_memory_is_an_outcome_with_shapes, times_make_sense_or_are_absent,
           preparations_are_checked_too)
