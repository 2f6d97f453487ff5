/* SPDX-License-Identifier: Apache-2.0 */
/* Fenced executions: what they wait for, how they end, and that they do. */
#include "host/fenced-call.h"

#include "base/fence.h"
#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct fenced_call call;

TEST(an_execution_without_fences_runs_and_signals)
{
    float *bytes;

    fenced_call_begin(&call, NULL);
    bytes = desk_bytes(&call.desk, call.memory);
    bytes[0] = 3.0f;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    ck_assert_float_eq(bytes[8], 3.0f);
    desk_close(&call.desk);
}
TEST_END

TEST(information_is_general_failure_until_the_end)
{
    fenced_call_begin(&call, NULL);
    fake_gate_close();
    call.args.measure = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fake_gate_wait(1);
    ck_assert_int_eq(nn_fence_check(call.reply.sync_fence), NN_FENCE_E_ACTIVE);
    ck_assert_uint_eq(fenced_call_get_info(&call).status, NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(fenced_call_get_info(&call).timing_launched.time_in_driver_ns, NNHAL_NO_TIME);
    fake_gate_open();
    ck_assert_int_eq(nn_fence_wait(call.reply.sync_fence, NNHAL_NO_TIME), 0);
    ck_assert_uint_lt(fenced_call_get_info(&call).timing_launched.time_in_driver_ns, UINT64_C(1)
                                                                                         << 40);
    ck_assert_uint_le(fenced_call_get_info(&call).timing_fenced.time_in_driver_ns,
                      fenced_call_get_info(&call).timing_launched.time_in_driver_ns);
    fenced_call_expect_well(&call);
    desk_close(&call.desk);
}
TEST_END

TEST(nothing_runs_before_all_fences_have_signalled)
{
    int signallers[3], fences[3];

    fenced_call_begin(&call, NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(nn_fence_new(&signallers[i], &fences[i]), 0);
    nn_fence_signal(signallers[1]);
    call.args.wait_for = fences;
    call.args.n_wait_for = 3;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    for (int i = 0; i < 3; i++)
        close(fences[i]); /* the host has its own */
    nn_fence_signal(signallers[2]);
    ck_assert_int_eq(nn_fence_wait(call.reply.sync_fence, nn_sys_now_ns() + 20000000),
                     NN_FENCE_E_ACTIVE);
    ck_assert_uint_eq(fake.n_executed, 0);
    nn_fence_signal(signallers[0]);
    fenced_call_expect_well(&call);
    ck_assert_uint_eq(fake.n_executed, 1);
    desk_close(&call.desk);
}
TEST_END

TEST(a_fence_in_error_is_an_error)
{
    int signaller, fence;

    fenced_call_begin(&call, NULL);
    for (int is_early = 0; is_early < 2; is_early++) {
        ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
        call.args.wait_for = &fence;
        call.args.n_wait_for = 1;
        if (is_early)
            close(signaller);
        ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
        close(fence);
        if (!is_early)
            close(signaller);
        fenced_call_expect_error(&call, NNHAL_GENERAL_FAILURE,
                                 "a fence that the execution waits for is in error");
    }
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&call.desk);
}
TEST_END

TEST(a_peer_that_dies_is_a_fence_in_error)
{
    int signaller, fence;
    pid_t child;

    fenced_call_begin(&call, NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    close(signaller); /* the child alone has it */
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    ck_assert_int_eq(nn_fence_check(call.reply.sync_fence), NN_FENCE_E_ACTIVE);
    close(fence);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    fenced_call_expect_error(&call, NNHAL_GENERAL_FAILURE, "is in error");
    desk_close(&call.desk);
}
TEST_END

TEST(one_execution_waits_for_another)
{
    struct nn_hal_execute_fenced_reply first;

    fenced_call_begin(&call, NULL);
    fake_gate_close();
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    first = call.reply;
    call.args.wait_for = &first.sync_fence;
    call.args.n_wait_for = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fake_gate_wait(1);
    ck_assert_uint_eq(fake.n_executing, 1);
    fake_gate_open();
    fenced_call_expect_well(&call);
    close(first.sync_fence);
    ck_assert_uint_eq(fake.n_executed, 2);
    desk_close(&call.desk);
}
TEST_END

TEST(a_failed_execution_is_an_error_with_its_sentence)
{
    fenced_call_begin(&call, NULL);
    fake.execute_status = NNHAL_RESOURCE_EXHAUSTED_PERSISTENT;
    fake.explanation = "no tiles left";
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_error(&call, NNHAL_RESOURCE_EXHAUSTED_PERSISTENT, "no tiles left");
    desk_close(&call.desk);
}
TEST_END

TEST(what_is_no_fence_is_invalid)
{
    int fds[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    fenced_call_begin(&call, NULL);
    ck_assert_int_eq(pipe(fds), 0);
    close(fds[1]);
    call.args.n_wait_for = 1;
    call.args.wait_for = &fds[1];
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    call.args.wait_for = (const int32_t[]){-1};
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    call.args.wait_for = &file;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    call.args.n_wait_for = NNHAL_MAX_FENCES + 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    call.args.wait_for = NULL;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    close(fds[0]);
    close(file);
    desk_close(&call.desk);
}
TEST_END

TEST(a_deadline_ends_the_wait)
{
    int signaller, fence;

    fenced_call_begin(&call, NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    call.args.deadline_ns = nn_sys_now_ns();
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_MISSED_DEADLINE_PERSISTENT);
    call.args.deadline_ns = nn_sys_now_ns() + 500000000;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_error(&call, NNHAL_MISSED_DEADLINE_TRANSIENT, "waited for its fences");
    close(signaller);
    close(fence);
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&call.desk);
}
TEST_END

TEST(a_deadline_during_the_execution_ends_the_fence_at_once)
{
    fenced_call_begin(&call, NULL);
    fake_gate_close();
    call.args.timeout_after_fence_ns = 100000000;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_error(&call, NNHAL_MISSED_DEADLINE_TRANSIENT, "deadline");
    desk_close(&call.desk);
    /* None, if the machine took longer than that to give it a thread. */
    ck_assert_uint_eq(fake.was_cancelled, fake.n_executed);
}
TEST_END

TEST(a_timeout_counts_from_the_fences)
{
    int signaller, fence;

    fenced_call_begin(&call, NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    call.args.timeout_after_fence_ns = 10000000;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    close(fence);
    /* Longer than the timeout: it has not begun to count. */
    ck_assert_int_eq(nn_fence_wait(call.reply.sync_fence, nn_sys_now_ns() + 30000000),
                     NN_FENCE_E_ACTIVE);
    fake_gate_close();
    nn_fence_signal(signaller);
    fenced_call_expect_error(&call, NNHAL_MISSED_DEADLINE_TRANSIENT, "deadline");
    desk_close(&call.desk);
}
TEST_END

TEST(closing_the_session_ends_what_waits_and_what_runs)
{
    size_t n_fds = count_fds();
    int signaller, fence, waiting;

    fenced_call_begin(&call, NULL);
    fake_gate_close();
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fake_gate_wait(1);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    waiting = call.reply.sync_fence;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    nn_hal_close(call.desk.hal);
    call.desk.hal = NULL;
    ck_assert_int_eq(nn_fence_check(waiting), NN_FENCE_E_ERROR);
    ck_assert_int_eq(nn_fence_check(call.reply.sync_fence), NN_FENCE_E_ERROR);
    ck_assert_uint_eq(fake.was_cancelled, 1);
    close(signaller);
    close(fence);
    close(waiting);
    close(call.reply.sync_fence);
    desk_close(&call.desk);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(a_freed_callback_leaves_the_execution_alone)
{
    const struct nn_hal_get_fenced_info_args info_args = {.callback = 12345};
    struct nn_hal_get_fenced_info_reply info;

    fenced_call_begin(&call, NULL);
    fake_gate_close();
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_free_callback(&call);
    fenced_call_free_callback(&call);
    desk_free_prepared(&call.desk, call.prepared);
    fake_gate_open();
    ck_assert_int_eq(nn_fence_wait(call.reply.sync_fence, NNHAL_NO_TIME), 0);
    close(call.reply.sync_fence);
    ck_assert_uint_eq(nn_hal_get_fenced_info(call.desk.hal, &info_args, &info, &call.desk.arena),
                      NNHAL_INVALID_ARGUMENT);
    desk_close(&call.desk);
}
TEST_END

TEST(a_reusable_execution_can_be_fenced_if_its_outputs_are_known)
{
    fenced_call_begin(&call, NULL);
    call.desk.measure = 1;
    ck_assert_uint_eq(desk_create_execution(&call.desk, call.prepared, &call.args.execution),
                      NNHAL_NONE);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    call.args.prepared_model = 0;
    call.args.request = (struct nnhal_request){.n_inputs = 0};
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    ck_assert_uint_eq(fake.measure, 1);
    call.args.execution += 1000;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);

    call.prepared = desk_prepare(&call.desk, desk_formula(&call.desk, 0, NULL));
    desk_begin(&call.desk);
    desk_input(&call.desk, DIMS(4), call.memory, 0, 16);
    desk_input(&call.desk, DIMS(4), call.memory, 16, 16);
    desk_output(&call.desk, 0, NULL, call.memory, 32, 100);
    ck_assert_uint_eq(desk_create_execution(&call.desk, call.prepared, &call.args.execution),
                      NNHAL_NONE);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_INVALID_ARGUMENT);
    desk_close(&call.desk);
}
TEST_END

TEST(fences_and_callbacks_are_limited)
{
    const struct nn_host_session_options options = {.uid = 1,
                                                    .limits = {.n_fenced = 3, .n_fences = 4}};
    struct nn_hal_execute_fenced_reply replies[3];
    int signaller, fence;

    fenced_call_begin(&call, &options);
    fake.writes_nothing = true; /* they share an output */
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
        replies[i] = call.reply;
    }
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    nn_fence_signal(signaller);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(nn_fence_wait(replies[i].sync_fence, NNHAL_NO_TIME), 0);
    /* Ended: the fences are given back, the callbacks are not. */
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    replies[2] = call.reply;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    call.reply = replies[0];
    fenced_call_free_callback(&call);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    for (int i = 0; i < 3; i++)
        close(replies[i].sync_fence);
    close(fence);
    desk_close(&call.desk);
}
TEST_END

CHECK_MAIN("fenced", an_execution_without_fences_runs_and_signals,
           information_is_general_failure_until_the_end,
           nothing_runs_before_all_fences_have_signalled, a_fence_in_error_is_an_error,
           a_peer_that_dies_is_a_fence_in_error, one_execution_waits_for_another,
           a_failed_execution_is_an_error_with_its_sentence, what_is_no_fence_is_invalid,
           a_deadline_ends_the_wait, a_deadline_during_the_execution_ends_the_fence_at_once,
           a_timeout_counts_from_the_fences, closing_the_session_ends_what_waits_and_what_runs,
           a_freed_callback_leaves_the_execution_alone,
           a_reusable_execution_can_be_fenced_if_its_outputs_are_known,
           fences_and_callbacks_are_limited)
