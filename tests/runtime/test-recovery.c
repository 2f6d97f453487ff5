/* SPDX-License-Identifier: Apache-2.0 */
/* A device's deaths, at times of the test's own. */
#include "runtime/recovery.h"
#include "runtime/suspects.h"

#include "support/check-main.h"

#define S UINT64_C(1000000000)

TEST(deaths_are_counted_by_the_minute)
{
    struct nn_rt_recovery recovery = {0};

    /* Two a minute for an hour are no reason. */
    for (uint64_t t = 100; t < 3700; t += 31) {
        nn_rt_recovery_note_death(&recovery, t * S);
        ck_assert(!nn_rt_recovery_is_quarantined(&recovery));
        nn_rt_recovery_note_return(&recovery);
    }
    nn_rt_recovery_note_death(&recovery, 5000 * S);
    nn_rt_recovery_note_death(&recovery, 5010 * S);
    ck_assert(!nn_rt_recovery_is_quarantined(&recovery));
    ck_assert_uint_le(nn_rt_recovery_next_attempt(&recovery), 5010 * S);
    nn_rt_recovery_note_death(&recovery, 5059 * S);
    ck_assert(nn_rt_recovery_is_quarantined(&recovery));
    ck_assert_uint_eq(nn_rt_recovery_next_attempt(&recovery),
                      5059 * S + NN_RT_RECOVERY_FIRST_PAUSE_NS);
}
TEST_END

TEST(pauses_grow_to_a_minute_and_a_success_ends_them)
{
    struct nn_rt_recovery recovery = {0};
    uint64_t now_ns = 100 * S, pause_ns = NN_RT_RECOVERY_FIRST_PAUSE_NS;

    nn_rt_recovery_note_death(&recovery, now_ns);
    nn_rt_recovery_note_death(&recovery, now_ns);
    for (int i = 0; i < 20; i++) {
        nn_rt_recovery_note_death(&recovery, now_ns);
        ck_assert_uint_eq(nn_rt_recovery_next_attempt(&recovery), now_ns + pause_ns);
        /* Dies also long after the attempt: nothing has succeeded meanwhile. */
        nn_rt_recovery_note_return(&recovery);
        now_ns += pause_ns + 1000 * S;
        pause_ns = pause_ns * 2 < 60 * S ? pause_ns * 2 : 60 * S;
    }
    nn_rt_recovery_note_success(&recovery);
    ck_assert(!nn_rt_recovery_is_quarantined(&recovery));
    nn_rt_recovery_note_death(&recovery, now_ns);
    nn_rt_recovery_note_death(&recovery, now_ns);
    ck_assert(!nn_rt_recovery_is_quarantined(&recovery));
    nn_rt_recovery_note_death(&recovery, now_ns);
    ck_assert_uint_eq(nn_rt_recovery_next_attempt(&recovery),
                      now_ns + NN_RT_RECOVERY_FIRST_PAUSE_NS);
}
TEST_END

TEST(patience_counts_from_the_death)
{
    struct nn_rt_recovery recovery = {0};

    ck_assert_uint_eq(nn_rt_recovery_end_of_patience(&recovery, 50 * S),
                      50 * S + NN_RT_RECOVERY_PATIENCE_NS);
    nn_rt_recovery_note_death(&recovery, 60 * S);
    nn_rt_recovery_note_death(&recovery, 61 * S); /* an attempt that failed */
    ck_assert_uint_eq(nn_rt_recovery_end_of_patience(&recovery, 99 * S),
                      60 * S + NN_RT_RECOVERY_PATIENCE_NS);
    nn_rt_recovery_note_return(&recovery);
    ck_assert_uint_eq(nn_rt_recovery_end_of_patience(&recovery, 99 * S),
                      99 * S + NN_RT_RECOVERY_PATIENCE_NS);
}
TEST_END

TEST(in_quarantine_a_call_waits_for_the_first_pause_alone)
{
    struct nn_rt_recovery recovery = {0};
    uint64_t now_ns = 70 * S;

    for (int i = 0; i < 3; i++)
        nn_rt_recovery_note_death(&recovery, now_ns);
    ck_assert_uint_eq(nn_rt_recovery_end_of_patience(&recovery, now_ns), now_ns + 750000000);
    ck_assert_uint_lt(nn_rt_recovery_next_attempt(&recovery),
                      nn_rt_recovery_end_of_patience(&recovery, now_ns));
    nn_rt_recovery_note_death(&recovery, now_ns);
    ck_assert_uint_gt(nn_rt_recovery_next_attempt(&recovery),
                      nn_rt_recovery_end_of_patience(&recovery, now_ns));
    now_ns = nn_rt_recovery_next_attempt(&recovery) - S / 10; /* near its end it is waited for */
    ck_assert_uint_lt(nn_rt_recovery_next_attempt(&recovery),
                      nn_rt_recovery_end_of_patience(&recovery, now_ns));
}
TEST_END

TEST(a_request_is_refused_after_two_deaths_for_a_while)
{
    struct nn_rt_suspects suspects = {0};

    nn_rt_suspects_note_death(&suspects, 7, 1, 100 * S);
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, 101 * S));
    nn_rt_suspects_note_death(&suspects, 7, 2, 110 * S);
    ck_assert(nn_rt_suspects_is_refused(&suspects, 7, 110 * S));
    ck_assert(nn_rt_suspects_is_refused(&suspects, 7, 169 * S));
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 8, 169 * S));
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, 170 * S));
    nn_rt_suspects_note_death(&suspects, 7, 3, 170 * S);
    ck_assert(nn_rt_suspects_is_refused(&suspects, 7, 289 * S));
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, 290 * S));
    nn_rt_suspects_note_success(&suspects, 7);
    ck_assert_uint_eq(suspects.n, 0);
    nn_rt_suspects_note_death(&suspects, 7, 4, 300 * S);
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, 300 * S));
}
TEST_END

TEST(a_request_that_goes_on_killing_is_refused_for_an_hour_at_most)
{
    struct nn_rt_suspects suspects = {0};
    uint64_t now_ns = 100 * S, refused_ns = 60 * S;

    nn_rt_suspects_note_death(&suspects, 7, 1, now_ns);
    for (uint64_t death = 2; death < 20; death++) {
        nn_rt_suspects_note_death(&suspects, 7, death, now_ns);
        ck_assert(nn_rt_suspects_is_refused(&suspects, 7, now_ns + refused_ns - 1));
        now_ns += refused_ns;
        ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, now_ns));
        refused_ns = refused_ns * 2 < 3600 * S ? refused_ns * 2 : 3600 * S;
    }
}
TEST_END

/* The tests above use their names. */
TEST(the_times_are_those_that_are_promised)
{
    ck_assert_uint_eq(NN_RT_RECOVERY_PATIENCE_NS, 2 * S);
    ck_assert_uint_eq(NN_RT_RECOVERY_FIRST_PAUSE_NS, 500000000);
    ck_assert_uint_eq(NN_RT_RECOVERY_PROBE_PATIENCE_NS, 750000000);
}
TEST_END

/* As eight threads do that execute one model. */
TEST(one_death_counts_once_for_equal_requests)
{
    struct nn_rt_suspects suspects = {0};

    for (int i = 0; i < 8; i++)
        nn_rt_suspects_note_death(&suspects, 7, 1, 100 * S);
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, 100 * S));
    nn_rt_suspects_note_death(&suspects, 7, 2, 101 * S);
    nn_rt_suspects_note_death(&suspects, 7, 2, 101 * S);
    ck_assert(nn_rt_suspects_is_refused(&suspects, 7, 101 * S));
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 7, 161 * S));
}
TEST_END

TEST(the_oldest_suspect_is_forgotten)
{
    struct nn_rt_suspects suspects = {0};

    for (uint64_t hash = 1; hash <= NN_RT_SUSPECTS_MAX + 1; hash++)
        for (int i = 0; i < 2; i++)
            nn_rt_suspects_note_death(&suspects, hash, (uint64_t)i, hash * S / 10);
    ck_assert_uint_eq(suspects.n, NN_RT_SUSPECTS_MAX);
    ck_assert(!nn_rt_suspects_is_refused(&suspects, 1, 10 * S));
    ck_assert(nn_rt_suspects_is_refused(&suspects, 2, 10 * S));
    ck_assert(nn_rt_suspects_is_refused(&suspects, NN_RT_SUSPECTS_MAX + 1, 10 * S));
}
TEST_END

CHECK_MAIN("recovery", deaths_are_counted_by_the_minute,
           pauses_grow_to_a_minute_and_a_success_ends_them, patience_counts_from_the_death,
           in_quarantine_a_call_waits_for_the_first_pause_alone,
           a_request_is_refused_after_two_deaths_for_a_while,
           a_request_that_goes_on_killing_is_refused_for_an_hour_at_most,
           the_times_are_those_that_are_promised, one_death_counts_once_for_equal_requests,
           the_oldest_suspect_is_forgotten)
