/* SPDX-License-Identifier: Apache-2.0 */
/* One model in parts on two asynchronous devices in turn: they start each other by fences, no thread of the
 * runtime stands in between, a failure counts for the part that fails and no other, and nothing is written
 * after the fence of the whole has told of it. */
#include "line.h"
#include "support/threads.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

/* -- what goes well --------------------------------------------------------------------------- */

TEST(parts_are_queued_while_the_first_one_runs)
{
    line_begin(false);
    for (int round = 0; round < 3; round++) {
        ANeuralNetworksEvent *event = line_launch(0, QUEUE_COMPUTE);

        line_await_queued(N_NODES);
        for (int i = 1; i < N_NODES; i++)
            line_open_gate(i);
        ck_assert_int_eq(line_poll_fence(event, 0), 0);
        line_open_gate(0);
        ck_assert_int_eq(line_poll_fence(event, -1), POLLIN);
        OK(ANeuralNetworksEvent_wait(event));
        ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], NUMBER);
        ck_assert_float_eq(line_result(0)[QUEUE_ACTIVE], 1);
        ANeuralNetworksEvent_free(event);
    }
    ck_assert_uint_eq(line_count_computing(), 0);
    line_finish();
}
TEST_END

TEST(a_line_waits_for_what_it_depends_on)
{
    ANeuralNetworksExecution *second;
    ANeuralNetworksEvent *first_event, *event;

    line_begin(false);
    second = line_make_execution();
    first_event = line_launch(0, QUEUE_COMPUTE);
    event = line_start(second, first_event);
    for (int i = 1; i < N_NODES; i++)
        line_open_gate(i);
    ck_assert_int_eq(line_poll_fence(event, 0), 0);
    line_open_gate(0);
    ck_assert_int_eq(line_poll_fence(event, -1), POLLIN);
    ck_assert_int_eq(line_poll_fence(first_event, 0), POLLIN);
    OK(ANeuralNetworksEvent_wait(event));
    OK(ANeuralNetworksEvent_wait(first_event));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], NUMBER);
    ck_assert_uint_eq(line_count_computing(), 0);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(first_event);
    ANeuralNetworksExecution_free(second);
    line_finish();
}
TEST_END

/* An output that is not of the last part could be written after the last one's fence has told. execute()
 * obeys no gate. */
TEST(an_early_output_is_computed_by_a_thread)
{
    ANeuralNetworksEvent *event;

    line_begin(true);
    event = line_launch(0, QUEUE_COMPUTE);
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], NUMBER);
    ck_assert_double_eq(line_result(1)[QUEUE_NUMBER], 12);
    ANeuralNetworksEvent_free(event);
    line_finish();
}
TEST_END

/* -- failures --------------------------------------------------------------------------------- */

TEST(a_part_that_fails_is_the_only_one_to_blame)
{
    char why[512];

    line_begin(false);
    for (int bad = 0; bad < N_NODES; bad++) {
        struct nnhal_device_counts before[N_DEVICES];
        ANeuralNetworksEvent *event;

        services_count(before);
        event = line_launch(bad, QUEUE_FAIL);
        line_open_gates();
        ck_assert_int_eq(line_poll_fence(event, -1) & POLLERR, POLLERR);
        ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_OP_FAILED);
        nnhal_execution_get_error(stand.execution, why, sizeof(why));
        ck_assert_msg(strstr(why, "as it was told to") != NULL, "%s", why);
        line_check_untouched();
        services_check_blame(before, line_device_of(bad));
        ANeuralNetworksEvent_free(event);
    }
    line_check_runs();
    line_finish();
}
TEST_END

/* What it waits for is still computed, and is for nothing. */
TEST(a_part_that_fails_before_it_begins_is_the_only_one_to_blame)
{
    char why[512];

    line_begin(false);
    for (int bad = 1; bad < N_NODES; bad++) {
        struct nnhal_device_counts before[N_DEVICES];
        ANeuralNetworksEvent *event;

        services_count(before);
        event = line_launch(bad, QUEUE_FAIL_EARLY);
        ck_assert_int_eq(line_poll_fence(event, -1) & POLLERR, POLLERR);
        ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_OP_FAILED);
        nnhal_execution_get_error(stand.execution, why, sizeof(why));
        ck_assert_msg(strstr(why, "before it could begin") != NULL, "%s", why);
        line_check_untouched();
        services_check_blame(before, line_device_of(bad));
        ANeuralNetworksEvent_free(event);
        line_open_gates();
        line_await_queued(0);
    }
    line_check_runs();
    line_finish();
}
TEST_END

TEST(a_line_that_depends_on_a_failure_blames_nobody)
{
    struct nnhal_device_counts before[N_DEVICES];
    ANeuralNetworksExecution *second;
    ANeuralNetworksEvent *first_event, *event;

    line_begin(false);
    second = line_make_execution();
    services_count(before);
    first_event = line_launch(1, QUEUE_FAIL);
    event = line_start(second, first_event);
    line_open_gates();
    ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_OP_FAILED);
    services_check_blame(before, -1);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(first_event), ANEURALNETWORKS_OP_FAILED);
    services_check_blame(before, line_device_of(1));
    line_check_untouched();
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(first_event);
    ANeuralNetworksExecution_free(second);
    line_finish();
}
TEST_END

/* A thread computes while a device is gone, which brings it back. */
TEST(a_part_that_dies_is_the_only_one_to_blame)
{
    if (chain_is_way("embedded"))
        return;
    line_begin(false);
    for (int i = 0; i < 3; i++) {
        struct nnhal_device_counts before[N_DEVICES];

        services_count(before);
        ck_assert_int_eq(line_run(2, QUEUE_DIE), ANEURALNETWORKS_DEAD_OBJECT);
        line_check_untouched();
        services_check_blame(before, line_device_of(2));
        services_restart(line_device_of(2));
        line_check_runs();
    }
    line_finish();
}
TEST_END

/* Another request, so that what lies where values are made is not what they were. */
static void run_with_seven(void)
{
    ANeuralNetworksEvent *event;

    line_check_runs();
    stand.floats[QUEUE_NUMBER] = 7;
    event = line_start(stand.execution, NULL);
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], 70000 + NUMBER);
    ANeuralNetworksEvent_free(event);
}

/* Its inputs are made between the launch and the death. */
TEST(a_part_that_killed_twice_is_not_tried_a_third_time)
{
    struct nnhal_device_counts before[N_DEVICES];
    char why[512];

    if (chain_is_way("embedded"))
        return;
    line_begin(false);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(line_try(2, QUEUE_DIE), ANEURALNETWORKS_DEAD_OBJECT);
        services_restart(line_device_of(2));
        run_with_seven();
    }
    services_count(before);
    ck_assert_int_eq(line_try(2, QUEUE_DIE), ANEURALNETWORKS_DEAD_OBJECT);
    nnhal_execution_get_error(stand.execution, why, sizeof(why));
    ck_assert_msg(strstr(why, "died twice") != NULL, "%s", why);
    services_check_blame(before, line_device_of(2));
    line_check_untouched();
    line_check_runs();
    ck_assert_float_eq(line_result(0)[QUEUE_ACTIVE], 1);
    line_finish();
}
TEST_END

/* The first part waits at its gate, and the others for it. */
static ANeuralNetworksEvent *begin_with_first_part(struct nnhal_device_counts before[N_DEVICES])
{
    line_begin(false);
    services_count(before);
    return line_launch(0, QUEUE_COMPUTE);
}

/* The whole has failed by that at once, and its wait does not wait for the first part. */
TEST(the_whole_fails_where_the_last_one_dies_first)
{
    struct nnhal_device_counts before[N_DEVICES];
    ANeuralNetworksEvent *event;

    if (chain_is_way("embedded"))
        return;
    event = begin_with_first_part(before);
    ck_assert_int_eq(kill(services_pid(services_find(MULTIPLIER)), SIGKILL), 0);
    ck_assert_int_eq(line_poll_fence(event, -1) & POLLERR, POLLERR);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_DEAD_OBJECT);
    services_check_blame(before, MULTIPLIER);
    line_check_untouched();
    ANeuralNetworksEvent_free(event);
    services_restart(MULTIPLIER);
    line_check_runs();
    line_check_runs();
    line_finish();
}
TEST_END

/* A device takes no more that waits: a thread computes the whole, and execute() obeys no gate. The first part
 * makes its value for nothing, while another whole is computed. */
TEST(what_is_computed_for_nothing_disturbs_nobody)
{
    struct nnhal_device_counts before[N_DEVICES];
    ANeuralNetworksExecution *refused;
    ANeuralNetworksEvent *event;

    line_begin(false);
    services_count(before);
    refused = stand.execution;
    stand.floats[QUEUE_NUMBER] = 7;
    line_orders(1)[QUEUE_DEED] = QUEUE_REFUSE;
    event = line_start(refused, NULL);
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], 70000 + NUMBER);
    services_check_blame(before, -1);
    ANeuralNetworksEvent_free(event);
    line_await_queued(1);
    stand.floats += N_PLACES * QUEUE_FLOATS;
    stand.execution = line_make_execution();
    event = line_launch(0, QUEUE_COMPUTE);
    line_await_queued(1 + N_NODES);
    line_open_gate(0);
    line_await_queued(N_NODES);
    stand.floats = stand.all;
    line_open_gate(0);
    line_await_queued(N_NODES - 1);
    stand.floats += N_PLACES * QUEUE_FLOATS;
    line_open_gates();
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], NUMBER);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(refused);
    line_finish();
}
TEST_END

TEST(a_process_that_ends_after_its_part_takes_no_result)
{
    struct nnhal_device_counts before[N_DEVICES];
    ANeuralNetworksEvent *event;

    if (chain_is_way("embedded"))
        return;
    event = begin_with_first_part(before);
    line_open_gates();
    ck_assert_int_eq(line_poll_fence(event, -1), POLLIN);
    ck_assert_int_eq(kill(services_pid(services_find(ADDER)), SIGKILL), 0);
    services_restart(ADDER);
    OK(ANeuralNetworksEvent_wait(event));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], NUMBER);
    services_check_blame(before, -1);
    ANeuralNetworksEvent_free(event);
    line_finish();
}
TEST_END

/* Its death may be known, or be noticed when its part is handed over. */
TEST(a_process_that_was_killed_before_is_replaced)
{
    if (chain_is_way("embedded"))
        return;
    line_begin(false);
    line_check_runs();
    ck_assert_int_eq(kill(services_pid(services_find(MULTIPLIER)), SIGKILL), 0);
    services_restart(MULTIPLIER);
    line_check_runs();
    line_check_runs();
    ck_assert_float_eq(line_result(0)[QUEUE_ACTIVE], 1);
    line_finish();
}
TEST_END

/* One that is stopped is given up. A child is killed. A service may go on later; what waited for it is
 * not computed then. */
TEST(a_process_that_is_stopped_stops_no_wait)
{
    struct nnhal_device_counts before[N_DEVICES];
    ANeuralNetworksEvent *event;
    int32_t pid;

    if (chain_is_way("embedded"))
        return;
    event = begin_with_first_part(before);
    pid = services_pid(services_find(ADDER));
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_DEAD_OBJECT);
    services_check_blame(before, ADDER);
    ANeuralNetworksEvent_free(event);
    if (chain_services[ADDER])
        ck_assert_int_eq(kill(pid, SIGCONT), 0);
    while (count_threads_of(pid, "queue-device").n_threads) /* the connection is gone */
        chain_nap();
    line_check_left_untouched();
    line_check_runs();
    line_check_runs();
    line_finish();
}
TEST_END

CHECK_MAIN("fence-line-" WAY, parts_are_queued_while_the_first_one_runs,
           a_line_waits_for_what_it_depends_on, an_early_output_is_computed_by_a_thread,
           a_part_that_fails_is_the_only_one_to_blame,
           a_part_that_fails_before_it_begins_is_the_only_one_to_blame,
           a_line_that_depends_on_a_failure_blames_nobody,
           a_part_that_dies_is_the_only_one_to_blame,
           a_part_that_killed_twice_is_not_tried_a_third_time,
           the_whole_fails_where_the_last_one_dies_first,
           what_is_computed_for_nothing_disturbs_nobody,
           a_process_that_ends_after_its_part_takes_no_result,
           a_process_that_was_killed_before_is_replaced, a_process_that_is_stopped_stops_no_wait)
