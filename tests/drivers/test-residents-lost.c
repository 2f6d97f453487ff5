/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in a device's own memory goes with its process: it is made again, and never missed or stale. */
#include "drivers/residents.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND_KILLS ",die-at=2"

static const struct residents_choices plain;

/* more: what the processes that start from now on do. */
static void have_buffers(const char *more)
{
    split_rules(RESIDENTS_RULES, 100, more);
}

static void init(struct residents *residents, bool is_listed)
{
    residents_init(residents, &plain, is_listed);
    ck_assert_uint_eq(split_count_residents(residents->compilation), 1);
}

/* Who computed the sum, and by the reference's help or not. */
static void expect_planned(const struct residents *residents)
{
    struct nnhal_part_info info = {.size = sizeof(info)};

    OK(nnhal_execution_get_part(residents->execution, 2, &info));
    ck_assert_uint_eq(info.n_parts, 3);
    ck_assert_ptr_eq(info.device, find_device("partial-0"));
    ck_assert_ptr_eq(info.planned, info.device);
}

/* Its first process ends in the sum, when EXP is in its memory. */
static void lose_in_the_sum(bool is_listed, bool is_reusable)
{
    struct residents residents;

    have_buffers(SECOND_KILLS);
    init(&residents, is_listed);
    have_buffers("");
    residents_execute(&residents, is_reusable);
    for (int i = 0; i < 3; i++) {
        residents_compute(&residents);
        expect_planned(&residents);
        if (!is_reusable)
            residents_execute(&residents, false);
    }
    residents_done(&residents);
}

TEST(listed_devices_compute_again_what_was_lost)
{
    lose_in_the_sum(true, false);
}
TEST_END

TEST(devices_of_the_user_compute_again_what_was_lost)
{
    lose_in_the_sum(false, false);
}
TEST_END

TEST(an_execution_that_repeats_computes_again_what_was_lost)
{
    lose_in_the_sum(true, true);
}
TEST_END

/* Also when it is lost in each process. */
TEST(what_is_lost_again_is_in_shared_memory)
{
    struct residents residents;

    have_buffers(SECOND_KILLS);
    init(&residents, true);
    residents_compute(&residents);
    expect_planned(&residents);
    residents_done(&residents);
}
TEST_END

static void kill_device(void)
{
    struct nnhal_where where = {.size = sizeof(where)};
    ANeuralNetworksDevice *device = find_device("partial-0");
    pid_t pid;

    OK(nnhal_device_get_where(device, &where));
    pid = where.pid;
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    while (where.pid == pid) {
        usleep(1000);
        OK(nnhal_device_get_where(device, &where));
    }
}

/* Executions find buffers of a process that is gone. */
TEST(buffers_that_went_between_executions_are_made_again)
{
    struct residents residents;

    have_buffers("");
    init(&residents, true);
    kill_device();
    residents_compute(&residents);
    residents_execute(&residents, true);
    residents_compute(&residents);
    kill_device();
    residents_compute(&residents);
    expect_planned(&residents);
    residents_done(&residents);
}
TEST_END

/* All that can be read of the sum's inputs is the same in both requests. */
TEST(a_request_is_not_refused_for_what_another_has_killed)
{
    static const float another[RESIDENTS_N] = {0.5f, -1.25f, 2.5f, 0.75f};
    struct residents residents;

    for (int i = 0; i < 2; i++) {
        have_buffers(SECOND_KILLS);
        init(&residents, true);
        have_buffers("");
        residents_compute(&residents);
        if (i == 0) {
            kill_device();
            residents_done(&residents);
        }
    }
    residents.x = another;
    residents_execute(&residents, false);
    residents_compute(&residents);
    expect_planned(&residents);
    residents_done(&residents);
}
TEST_END

TEST(without_recovery_the_application_is_told)
{
    struct residents residents;

    setenv("NNHAL_RECOVERY", "off", 1);
    have_buffers(SECOND_KILLS);
    init(&residents, true);
    ck_assert_int_eq(ANeuralNetworksExecution_compute(residents.execution),
                     ANEURALNETWORKS_DEAD_OBJECT);
    residents_done(&residents);
}
TEST_END

/* Every computation of it ends its process: nothing can stay in its memory. */
TEST(the_reference_computes_for_a_device_that_always_dies)
{
    struct nnhal_part_info info = {.size = sizeof(info)};
    struct residents residents;

    have_buffers(",die=1");
    init(&residents, false);
    residents_compute(&residents);
    OK(nnhal_execution_get_part(residents.execution, 0, &info));
    ck_assert_ptr_ne(info.device, find_device("partial-0"));
    residents_done(&residents);
}
TEST_END

CHECK_MAIN("residents-lost", listed_devices_compute_again_what_was_lost,
           devices_of_the_user_compute_again_what_was_lost,
           an_execution_that_repeats_computes_again_what_was_lost,
           what_is_lost_again_is_in_shared_memory,
           buffers_that_went_between_executions_are_made_again,
           a_request_is_not_refused_for_what_another_has_killed,
           without_recovery_the_application_is_told,
           the_reference_computes_for_a_device_that_always_dies)
