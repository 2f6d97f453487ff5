/* SPDX-License-Identifier: Apache-2.0 */
/* Fenced executions: what they wait for, how they end, and that they do. */
#include "host/desk.h"

#include "base/fence.h"
#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct desk desk;
static uint64_t memory, prepared;
static struct nn_hal_execute_fenced_args args;
static struct nn_hal_execute_fenced_reply reply;

static void begin(const struct nn_host_session_options *options)
{
    desk_open_with(&desk, options);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    args = (struct nn_hal_execute_fenced_args){
        .prepared_model = prepared,
        .request = desk.request,
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = NNHAL_NO_TIME,
        .timeout_after_fence_ns = NNHAL_NO_TIME,
    };
}

static uint32_t launch(void)
{
    uint32_t status = nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    return status;
}

static struct nn_hal_get_fenced_info_reply get_info(void)
{
    const struct nn_hal_get_fenced_info_args info_args = {.callback = reply.callback};
    struct nn_hal_get_fenced_info_reply info;

    ck_assert_uint_eq(nn_hal_get_fenced_info(desk.hal, &info_args, &info, &desk.arena), NNHAL_NONE);
    return info;
}

static void free_callback(void)
{
    const struct nn_hal_free_fenced_callback_args free_args = {.callback = reply.callback};
    struct nn_hal_free_fenced_callback_reply free_reply;

    ck_assert_uint_eq(nn_hal_free_fenced_callback(desk.hal, &free_args, &free_reply, &desk.arena),
                      NNHAL_NONE);
}

/* Waits for the end, which must be an error with this status. */
static void expect_error(uint32_t status, const char *words)
{
    struct nn_hal_get_fenced_info_reply info;

    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), NN_FENCE_E_ERROR);
    close(reply.sync_fence);
    info = get_info();
    ck_assert_uint_eq(info.status, status);
    ck_assert_msg(info.message && strstr(info.message, words), "\"%s\" does not say \"%s\"",
                  info.message, words);
    free_callback();
}

static void expect_well(void)
{
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), 0);
    close(reply.sync_fence);
    ck_assert_uint_eq(get_info().status, NNHAL_NONE);
    free_callback();
}

TEST(an_execution_without_fences_runs_and_signals)
{
    float *bytes;

    begin(NULL);
    bytes = desk_bytes(&desk, memory);
    bytes[0] = 3.0f;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    expect_well();
    ck_assert_float_eq(bytes[8], 3.0f);
    desk_close(&desk);
}
TEST_END

TEST(information_is_general_failure_until_the_end)
{
    begin(NULL);
    fake_gate_close();
    args.measure = 1;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    fake_gate_wait(1);
    ck_assert_int_eq(nn_fence_check(reply.sync_fence), NN_FENCE_E_ACTIVE);
    ck_assert_uint_eq(get_info().status, NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(get_info().timing_launched.time_in_driver_ns, NNHAL_NO_TIME);
    fake_gate_open();
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), 0);
    ck_assert_uint_lt(get_info().timing_launched.time_in_driver_ns, UINT64_C(1) << 40);
    ck_assert_uint_le(get_info().timing_fenced.time_in_driver_ns,
                      get_info().timing_launched.time_in_driver_ns);
    expect_well();
    desk_close(&desk);
}
TEST_END

TEST(nothing_runs_before_all_fences_have_signalled)
{
    int signallers[3], fences[3];

    begin(NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(nn_fence_new(&signallers[i], &fences[i]), 0);
    nn_fence_signal(signallers[1]);
    args.wait_for = fences;
    args.n_wait_for = 3;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    for (int i = 0; i < 3; i++)
        close(fences[i]); /* the host has its own */
    nn_fence_signal(signallers[2]);
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, nn_sys_now_ns() + 20000000),
                     NN_FENCE_E_ACTIVE);
    ck_assert_uint_eq(fake.n_executed, 0);
    nn_fence_signal(signallers[0]);
    expect_well();
    ck_assert_uint_eq(fake.n_executed, 1);
    desk_close(&desk);
}
TEST_END

TEST(a_fence_in_error_is_an_error)
{
    int signaller, fence;

    begin(NULL);
    for (int is_early = 0; is_early < 2; is_early++) {
        ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
        args.wait_for = &fence;
        args.n_wait_for = 1;
        if (is_early)
            close(signaller);
        ck_assert_uint_eq(launch(), NNHAL_NONE);
        close(fence);
        if (!is_early)
            close(signaller);
        expect_error(NNHAL_GENERAL_FAILURE, "a fence that the execution waits for is in error");
    }
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&desk);
}
TEST_END

TEST(a_peer_that_dies_is_a_fence_in_error)
{
    int signaller, fence;
    pid_t child;

    begin(NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    close(signaller); /* the child alone has it */
    args.wait_for = &fence;
    args.n_wait_for = 1;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    ck_assert_int_eq(nn_fence_check(reply.sync_fence), NN_FENCE_E_ACTIVE);
    close(fence);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    expect_error(NNHAL_GENERAL_FAILURE, "is in error");
    desk_close(&desk);
}
TEST_END

TEST(one_execution_waits_for_another)
{
    struct nn_hal_execute_fenced_reply first;

    begin(NULL);
    fake_gate_close();
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    first = reply;
    args.wait_for = &first.sync_fence;
    args.n_wait_for = 1;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    fake_gate_wait(1);
    ck_assert_uint_eq(fake.n_executing, 1);
    fake_gate_open();
    expect_well();
    close(first.sync_fence);
    ck_assert_uint_eq(fake.n_executed, 2);
    desk_close(&desk);
}
TEST_END

TEST(a_failed_execution_is_an_error_with_its_sentence)
{
    begin(NULL);
    fake.execute_status = NNHAL_RESOURCE_EXHAUSTED_PERSISTENT;
    fake.explanation = "no tiles left";
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    expect_error(NNHAL_RESOURCE_EXHAUSTED_PERSISTENT, "no tiles left");
    desk_close(&desk);
}
TEST_END

TEST(what_is_no_fence_is_invalid)
{
    int fds[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    begin(NULL);
    ck_assert_int_eq(pipe(fds), 0);
    close(fds[1]);
    args.n_wait_for = 1;
    args.wait_for = &fds[1];
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    args.wait_for = (const int32_t[]){-1};
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    args.wait_for = &file;
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    args.n_wait_for = NNHAL_MAX_FENCES + 1;
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    args.wait_for = NULL;
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    close(fds[0]);
    close(file);
    desk_close(&desk);
}
TEST_END

TEST(a_deadline_ends_the_wait)
{
    int signaller, fence;

    begin(NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    args.wait_for = &fence;
    args.n_wait_for = 1;
    args.deadline_ns = nn_sys_now_ns();
    ck_assert_uint_eq(launch(), NNHAL_MISSED_DEADLINE_PERSISTENT);
    args.deadline_ns = nn_sys_now_ns() + 500000000;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    expect_error(NNHAL_MISSED_DEADLINE_TRANSIENT, "waited for its fences");
    close(signaller);
    close(fence);
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&desk);
}
TEST_END

TEST(a_deadline_during_the_execution_ends_the_fence_at_once)
{
    begin(NULL);
    fake_gate_close();
    args.timeout_after_fence_ns = 100000000;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    expect_error(NNHAL_MISSED_DEADLINE_TRANSIENT, "deadline");
    desk_close(&desk);
    /* None, if the machine took longer than that to give it a thread. */
    ck_assert_uint_eq(fake.was_cancelled, fake.n_executed);
}
TEST_END

TEST(a_timeout_counts_from_the_fences)
{
    int signaller, fence;

    begin(NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    args.wait_for = &fence;
    args.n_wait_for = 1;
    args.timeout_after_fence_ns = 10000000;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    close(fence);
    /* Longer than the timeout: it has not begun to count. */
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, nn_sys_now_ns() + 30000000),
                     NN_FENCE_E_ACTIVE);
    fake_gate_close();
    nn_fence_signal(signaller);
    expect_error(NNHAL_MISSED_DEADLINE_TRANSIENT, "deadline");
    desk_close(&desk);
}
TEST_END

TEST(closing_the_session_ends_what_waits_and_what_runs)
{
    size_t n_fds = count_fds();
    int signaller, fence, waiting;

    begin(NULL);
    fake_gate_close();
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    fake_gate_wait(1);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    args.wait_for = &fence;
    args.n_wait_for = 1;
    waiting = reply.sync_fence;
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    nn_hal_close(desk.hal);
    desk.hal = NULL;
    ck_assert_int_eq(nn_fence_check(waiting), NN_FENCE_E_ERROR);
    ck_assert_int_eq(nn_fence_check(reply.sync_fence), NN_FENCE_E_ERROR);
    ck_assert_uint_eq(fake.was_cancelled, 1);
    close(signaller);
    close(fence);
    close(waiting);
    close(reply.sync_fence);
    desk_close(&desk);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(a_freed_callback_leaves_the_execution_alone)
{
    const struct nn_hal_get_fenced_info_args info_args = {.callback = 12345};
    struct nn_hal_get_fenced_info_reply info;

    begin(NULL);
    fake_gate_close();
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    free_callback();
    free_callback();
    desk_free_prepared(&desk, prepared);
    fake_gate_open();
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), 0);
    close(reply.sync_fence);
    ck_assert_uint_eq(nn_hal_get_fenced_info(desk.hal, &info_args, &info, &desk.arena),
                      NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_reusable_execution_can_be_fenced_if_its_outputs_are_known)
{
    begin(NULL);
    desk.measure = 1;
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &args.execution), NNHAL_NONE);
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    args.prepared_model = 0;
    args.request = (struct nnhal_request){.n_inputs = 0};
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    expect_well();
    ck_assert_uint_eq(fake.measure, 1);
    args.execution += 1000;
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);

    prepared = desk_prepare(&desk, desk_formula(&desk, 0, NULL));
    desk_begin(&desk);
    desk_input(&desk, DIMS(4), memory, 0, 16);
    desk_input(&desk, DIMS(4), memory, 16, 16);
    desk_output(&desk, 0, NULL, memory, 32, 100);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &args.execution), NNHAL_NONE);
    ck_assert_uint_eq(launch(), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(fences_and_callbacks_are_limited)
{
    const struct nn_host_session_options options = {.uid = 1,
                                                    .limits = {.n_fenced = 3, .n_fences = 4}};
    struct nn_hal_execute_fenced_reply replies[3];
    int signaller, fence;

    begin(&options);
    fake.writes_nothing = true; /* they share an output */
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    args.wait_for = &fence;
    args.n_wait_for = 1;
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(launch(), NNHAL_NONE);
        replies[i] = reply;
    }
    ck_assert_uint_eq(launch(), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    nn_fence_signal(signaller);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(nn_fence_wait(replies[i].sync_fence, NNHAL_NO_TIME), 0);
    /* Ended: the fences are given back, the callbacks are not. */
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    replies[2] = reply;
    ck_assert_uint_eq(launch(), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    reply = replies[0];
    free_callback();
    ck_assert_uint_eq(launch(), NNHAL_NONE);
    expect_well();
    for (int i = 0; i < 3; i++)
        close(replies[i].sync_fence);
    close(fence);
    desk_close(&desk);
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
