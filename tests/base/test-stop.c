/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include "base/sys.h"
#include "support/check-main.h"

#include <stdlib.h>
#include <string.h>

static unsigned n_looks;

static void look_counted(void)
{
    n_looks++;
}

TEST(first_reason_stays)
{
    uint32_t is_cancelled = 0;
    struct nn_stop stop = {.deadline_ns = UINT64_MAX, .is_cancelled = &is_cancelled};

    ck_assert_int_eq(nn_stop_look(NULL), 0);
    ck_assert_int_eq(nn_stop_look(&stop), 0);
    stop.deadline_ns = nn_sys_now_ns();
    ck_assert_int_eq(nn_stop_outcome(&stop), 0);
    ck_assert_int_eq(nn_stop_look(&stop), NN_STOP_E_DEADLINE);
    is_cancelled = 1;
    ck_assert_int_eq(nn_stop_look(&stop), NN_STOP_E_DEADLINE);
    ck_assert_int_eq(nn_stop_outcome(&stop), NN_STOP_E_DEADLINE);
    stop = (struct nn_stop){.deadline_ns = UINT64_MAX, .is_cancelled = &is_cancelled};
    ck_assert_int_eq(nn_stop_look(&stop), NN_STOP_E_CANCELLED);
}
TEST_END

TEST(a_pace_looks_when_it_has_spent_enough)
{
    struct nn_stop stop = {.deadline_ns = UINT64_MAX};
    struct nn_pace pace = nn_pace(&stop);

    nn_stop_observer = look_counted;
    for (unsigned i = 0; i < 100; i++)
        ck_assert(!nn_pace_ends(&pace, NN_PACE_NS / 10));
    ck_assert_uint_ge(n_looks, 8);
    ck_assert_uint_le(n_looks, 10);
    n_looks = 0;
    ck_assert(!nn_pace_ends(&pace, SIZE_MAX));
    ck_assert_uint_eq(n_looks, 1);
    stop.deadline_ns = 0;
    ck_assert(nn_pace_ends(&pace, SIZE_MAX));
    ck_assert(nn_pace_ends(&pace, 0));
    nn_stop_observer = NULL;
}
TEST_END

TEST(long_pieces_of_memory_are_left)
{
    enum { N = 4 << 20 };
    struct nn_stop stop = {.deadline_ns = UINT64_MAX};
    struct nn_pace pace = nn_pace(&stop);
    char *from = malloc(N), *to = malloc(N);

    ck_assert(from && to);
    n_looks = 0;
    nn_stop_observer = look_counted;
    nn_pace_fill(&pace, from, 'a', N);
    nn_pace_copy(&pace, to, from, N);
    nn_stop_observer = NULL;
    ck_assert_uint_ge(n_looks, 8);
    ck_assert_int_eq(memcmp(from, to, N), 0);
    ck_assert_int_eq(to[N - 1], 'a');
    stop.deadline_ns = 0;
    nn_pace_fill(&pace, from, 'b', N);
    nn_pace_copy(&pace, to, from, N);
    ck_assert_int_eq(from[N - 1], 'a');
    ck_assert_int_eq(to[N - 1], 'a');
    free(from);
    free(to);
}
TEST_END

CHECK_MAIN("stop", first_reason_stays, a_pace_looks_when_it_has_spent_enough,
           long_pieces_of_memory_are_left)
