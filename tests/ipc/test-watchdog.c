/* SPDX-License-Identifier: Apache-2.0 */
/* Pings, at times of the test's own. */
#include "ipc/watchdog.h"

#include "support/check-main.h"

#define S UINT64_C(1000000000)

TEST(three_unanswered_pings_are_the_end)
{
    struct nn_watchdog watchdog = {0};

    for (uint64_t t = 100; t < 103; t++) {
        ck_assert_int_eq(nn_watchdog_look(&watchdog, t * S), NN_WATCHDOG_PING);
        ck_assert_int_eq(nn_watchdog_look(&watchdog, t * S + S / 2), NN_WATCHDOG_WAIT);
    }
    ck_assert_int_eq(nn_watchdog_look(&watchdog, 103 * S - 1), NN_WATCHDOG_WAIT);
    ck_assert_int_eq(nn_watchdog_look(&watchdog, 103 * S), NN_WATCHDOG_GIVE_UP);
}
TEST_END

TEST(an_answer_begins_anew)
{
    struct nn_watchdog watchdog = {0};

    for (uint64_t t = 100; t < 1000; t++) {
        ck_assert_int_eq(nn_watchdog_look(&watchdog, t * S), NN_WATCHDOG_PING);
        if (t % 3 == 0)
            nn_watchdog_note_answer(&watchdog);
    }
}
TEST_END

CHECK_MAIN("watchdog", three_unanswered_pings_are_the_end, an_answer_begins_anew)
