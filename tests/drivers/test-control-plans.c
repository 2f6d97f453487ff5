/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of models with control flow, as they are traced: that of the model, then those of its branches,
 * each once. */
#include "drivers/control.h"

static void expect_plans(control_maker make, const char *expected)
{
    char text[4096];

    control_trace_plans(make, text, sizeof(text));
    ck_assert_str_eq(text, expected);
}

/* TANH, or ABS. */
TEST(branches_of_an_if_are_planned)
{
    expect_plans(control_if, "plan: 1 of 1 parts\n"
                             "part 0  wave 0  partial-1 and others  operation 0\n"
                             "partial-0 does not support 0 (IF)\n"
                             "partial-1 does not support 0 (IF)\n"
                             "plan: 1 of 1 parts\n"
                             "part 0  wave 0  partial-0  operation 0\n"
                             "partial-1 was not asked for 0 (TANH)\n"
                             "plan: 1 of 1 parts\n"
                             "part 0  wave 0  partial-1  operation 0\n"
                             "partial-0 does not support 0 (ABS)\n");
}
TEST_END

/* TANH, ADD and, of the count, ADD. */
TEST(a_condition_and_a_body_are_planned)
{
    expect_plans(control_loop, "plan: 1 of 1 parts\n"
                               "part 0  wave 0  partial-1 and others  operation 0\n"
                               "partial-0 does not support 0 (WHILE)\n"
                               "partial-1 does not support 0 (WHILE)\n"
                               "plan: 1 of 1 parts\n"
                               "part 0  wave 0  partial-1  operation 0\n"
                               "partial-0 does not support 0 (LESS)\n"
                               "plan: 2 of 2 parts\n"
                               "part 0  wave 0  partial-0  operation 0\n"
                               "part 1  wave 1  partial-1  operations 1-2\n"
                               "partial-0 does not support 1-2\n"
                               "partial-1 does not support 0 (TANH)\n");
}
TEST_END

/* CONCATENATION, and ADD of the count. */
TEST(a_body_of_unknown_size_is_planned)
{
    expect_plans(control_growing_loop, "plan: 1 of 1 parts\n"
                                       "part 0  wave 0  partial-1 and others  operation 0\n"
                                       "partial-0 does not support 0 (WHILE)\n"
                                       "partial-1 does not support 0 (WHILE)\n"
                                       "plan: 1 of 1 parts\n"
                                       "part 0  wave 0  partial-1  operation 0\n"
                                       "partial-0 does not support 0 (LESS)\n"
                                       "plan: 2 of 2 parts\n"
                                       "part 0  wave 0  partial-0  operation 0\n"
                                       "part 1  wave 0  partial-1  operation 1\n"
                                       "partial-0 does not support 1 (ADD)\n"
                                       "partial-1 does not support 0 (CONCATENATION)\n");
}
TEST_END

/* ADD of the count, the IF, and LOGICAL_NOT of the flag. */
TEST(an_if_within_a_body_is_planned)
{
    expect_plans(control_nested, "plan: 1 of 1 parts\n"
                                 "part 0  wave 0  partial-1 and others  operation 0\n"
                                 "partial-0 does not support 0 (WHILE)\n"
                                 "partial-1 does not support 0 (WHILE)\n"
                                 "plan: 1 of 1 parts\n"
                                 "part 0  wave 0  partial-1  operation 0\n"
                                 "partial-0 does not support 0 (LESS)\n"
                                 "plan: 2 of 2 parts\n"
                                 "part 0  wave 0  partial-1  operations 0, 2\n"
                                 "part 1  wave 0  partial-1 and others  operation 1\n"
                                 "partial-0 does not support 0-2\n"
                                 "partial-1 does not support 1 (IF)\n"
                                 "plan: 1 of 1 parts\n"
                                 "part 0  wave 0  partial-0  operation 0\n"
                                 "partial-1 was not asked for 0 (TANH)\n"
                                 "plan: 1 of 1 parts\n"
                                 "part 0  wave 0  partial-1  operation 0\n"
                                 "partial-0 does not support 0 (ABS)\n");
}
TEST_END

CHECK_MAIN("control-plans", branches_of_an_if_are_planned, a_condition_and_a_body_are_planned,
           a_body_of_unknown_size_is_planned, an_if_within_a_body_is_planned)
