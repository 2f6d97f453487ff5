/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

#include "support/check-main.h"

TEST(quotas_are_whole_cpus)
{
    ck_assert_uint_eq(nn_cpus_parse_quota("max 100000\n"), 0);
    ck_assert_uint_eq(nn_cpus_parse_quota("200000 100000\n"), 2);
    ck_assert_uint_eq(nn_cpus_parse_quota("150000 100000\n"), 2);
    ck_assert_uint_eq(nn_cpus_parse_quota("1000 100000\n"), 1);
    ck_assert_uint_eq(nn_cpus_parse_quota("99 0\n"), 0);
    ck_assert_uint_eq(nn_cpus_parse_quota(""), 0);
    ck_assert_uint_ge(nn_cpus_allowed(), 1);
}
TEST_END

CHECK_MAIN("cpus", quotas_are_whole_cpus)
