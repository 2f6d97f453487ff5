/* SPDX-License-Identifier: Apache-2.0 */
#include "base/variable.h"

#include "support/check-main.h"

#include <stdlib.h>

TEST(a_respelt_variable_is_read_by_both_names)
{
    setenv("NNHAL_OPTIMISE_AFTER", "7", 1);
    unsetenv("NNHAL_OPTIMIZE_AFTER");
    ck_assert_str_eq(nn_variable_get(NN_VARIABLE_OPTIMIZE_AFTER), "7");
    setenv("NNHAL_OPTIMIZE_AFTER", "8", 1);
    ck_assert_str_eq(nn_variable_get(NN_VARIABLE_OPTIMIZE_AFTER), "8");
}
TEST_END

TEST(a_choice_is_one_of_its_names_or_none)
{
    static const char *const names[] = {"auto", "service", NULL};

    unsetenv("NNHAL_MODE");
    ck_assert_ptr_null(nn_variable_get(NN_VARIABLE_MODE));
    ck_assert_int_eq(nn_variable_choose(NN_VARIABLE_MODE, names), -1);
    setenv("NNHAL_MODE", "service", 1);
    ck_assert_int_eq(nn_variable_choose(NN_VARIABLE_MODE, names), 1);
    ck_assert(nn_variable_is(NN_VARIABLE_MODE, "service"));
    setenv("NNHAL_MODE", "serv", 1);
    ck_assert_int_eq(nn_variable_choose(NN_VARIABLE_MODE, names), -1);
    ck_assert(!nn_variable_is(NN_VARIABLE_MODE, "service"));
}
TEST_END

CHECK_MAIN("variable", a_respelt_variable_is_read_by_both_names,
           a_choice_is_one_of_its_names_or_none)
