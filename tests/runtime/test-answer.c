/* SPDX-License-Identifier: Apache-2.0 */
/* What a service says of the operations of a model, and what is made of it. */
#include "runtime/model/answer.h"

#include "support/check-main.h"

#include <nnhal/ext.h>

#include <string.h>

enum { N = 4 };

static const uint8_t supported[N] = {1, 0, 0, 0};
static struct nn_rt_answer *answer;

static void take(uint32_t n_whys, const uint8_t *whys, uint32_t n_reasons,
                 const struct nnhal_reason *reasons)
{
    const struct nn_hal_get_supported_operations_reply reply = {.n_supported = N,
                                                                .supported = supported,
                                                                .n_whys = n_whys,
                                                                .whys = whys,
                                                                .n_reasons = n_reasons,
                                                                .reasons = reasons};

    ck_assert_int_eq(nn_rt_answer_new(N, &answer), 0);
    ck_assert_int_eq(nn_rt_answer_take_reply(answer, &reply), 0);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(answer->verdicts[i],
                          supported[i] ? NNHAL_VERDICT_TAKEN : NNHAL_VERDICT_UNSUPPORTED);
}

static void expect(uint32_t i, const char *text)
{
    ck_assert_str_eq(nn_rt_answer_why(answer, i), text);
}

TEST(a_reply_without_reasons_has_empty_ones)
{
    take(0, NULL, 0, NULL);
    for (uint32_t i = 0; i < N; i++)
        expect(i, "");
    nn_rt_answer_free(answer);
}
TEST_END

/* One that is supported has a reason, another one that is too high. */
TEST(reasons_that_make_no_sense_are_left_out)
{
    static const uint8_t whys[N] = {1, 2, 3, 255};
    static const struct nnhal_reason reasons[] = {{"first"}, {"second"}};

    take(N, whys, 2, reasons);
    expect(0, "");
    expect(1, "second");
    expect(2, "");
    expect(3, "");
    nn_rt_answer_free(answer);
}
TEST_END

TEST(a_list_of_another_length_is_left_out)
{
    static const uint8_t whys[2 * N] = {0, 1, 1, 1, 1, 1, 1, 1};
    static const struct nnhal_reason reasons[] = {{"first"}};
    static const uint32_t lengths[] = {1, N - 1, N + 1, 2 * N};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        take(lengths[i], whys, 1, reasons);
        expect(1, "");
        nn_rt_answer_free(answer);
    }
}
TEST_END

/* More than the wire carries: from a host that is no wire. */
TEST(more_reasons_than_there_may_be_are_left_out)
{
    static const uint8_t whys[N] = {0, 1, 65, 66};
    static struct nnhal_reason reasons[NNHAL_MAX_REASONS + 1];

    for (uint32_t i = 0; i <= NNHAL_MAX_REASONS; i++)
        reasons[i].text = "too many";
    take(N, whys, NNHAL_MAX_REASONS + 1, reasons);
    for (uint32_t i = 0; i < N; i++)
        expect(i, "");
    nn_rt_answer_free(answer);
}
TEST_END

TEST(a_reason_is_a_plain_line_of_bounded_length)
{
    static const uint8_t whys[N] = {0, 1, 2, 2};
    static char text[1000];
    static const struct nnhal_reason reasons[] = {{"\033]0;mine\a and\nmore"}, {text}};

    memset(text, 'x', sizeof(text) - 1);
    take(N, whys, 2, reasons);
    expect(1, "?]0;mine? and more");
    ck_assert_uint_eq(strlen(nn_rt_answer_why(answer, 2)), NNHAL_MAX_REASON_BYTES);
    ck_assert_ptr_eq(nn_rt_answer_why(answer, 2), nn_rt_answer_why(answer, 3));
    nn_rt_answer_free(answer);
}
TEST_END

/* All that a device may say, and one sentence of our own. */
TEST(a_part_of_a_model_is_mapped_back)
{
    static const uint32_t operations[N] = {1, 2, 4, 5};
    static const uint8_t whys[N] = {0, 1, 64, 0};
    static struct nnhal_reason reasons[NNHAL_MAX_REASONS];
    struct nn_rt_answer *whole, *part;

    for (uint32_t i = 0; i < NNHAL_MAX_REASONS; i++)
        reasons[i].text = i ? "another" : "first";
    take(N, whys, NNHAL_MAX_REASONS, reasons);
    part = answer;
    ck_assert_int_eq(nn_rt_answer_new(N + 2, &whole), 0);
    memset(whole->verdicts, NNHAL_VERDICT_TOO_OLD, N + 2);
    nn_rt_answer_take_part(whole, part, operations);
    nn_rt_answer_free(part);
    ck_assert_int_eq(nn_rt_answer_explain(whole, NNHAL_VERDICT_TOO_OLD, "too new"), 0);
    answer = whole;
    expect(0, "too new");
    expect(1, "");
    expect(2, "first");
    expect(3, "too new");
    expect(4, "another");
    expect(5, "");
    ck_assert_uint_eq(whole->verdicts[1], NNHAL_VERDICT_TAKEN);
    ck_assert_uint_eq(whole->verdicts[2], NNHAL_VERDICT_UNSUPPORTED);
    nn_rt_answer_free(whole);
}
TEST_END

CHECK_MAIN("answer", a_reply_without_reasons_has_empty_ones,
           reasons_that_make_no_sense_are_left_out, a_list_of_another_length_is_left_out,
           more_reasons_than_there_may_be_are_left_out, a_reason_is_a_plain_line_of_bounded_length,
           a_part_of_a_model_is_mapped_back)
