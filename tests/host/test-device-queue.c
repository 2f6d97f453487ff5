/* SPDX-License-Identifier: Apache-2.0 */
/* Fenced executions that a driver takes into a queue of its own: a scripted driver, which also
 * ends them late, twice, never, or while they are being given up. */
#include "host/fenced-call.h"

#include "base/fence.h"
#include "base/sys.h"
#include "host/execution/overdue.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

enum { MAX_TAKEN = 64 };

/* -- the driver --------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* of what follows */
    struct nnhal_fenced *taken[MAX_TAKEN];
    uint64_t ids[MAX_TAKEN];
    uint32_t n_taken, n_cancelled;
    uint64_t cancelled_id;
    uint32_t refusal;    /* what execute_fenced() returns */
    bool ends_at_once;   /* in execute_fenced() */
    bool ends_cancelled; /* in cancel_fenced() */
} queue;

/* The honest work: every output gets the bytes of input 0. */
static void compute(const struct nnhal_execution *execution)
{
    for (uint32_t i = 0; i < execution->n_outputs; i++)
        memcpy(execution->outputs[i].data, execution->inputs[0].data, execution->inputs[0].size);
}

static void end(uint64_t id, uint32_t status)
{
    if (status != NNHAL_NONE && fake.explanation)
        fake_services()->explain(fake_services()->ctx, fake.explanation);
    fake_services()->end_fenced(fake_services()->ctx, id, status);
}

static uint32_t queue_execute_fenced(void *driver_prepared, struct nnhal_fenced *fenced)
{
    uint64_t id = fenced->id;

    pthread_mutex_lock(&queue.lock);
    if (queue.n_taken < MAX_TAKEN) {
        queue.taken[queue.n_taken] = fenced;
        queue.ids[queue.n_taken++] = id;
    }
    pthread_mutex_unlock(&queue.lock);
    if (queue.ends_at_once) {
        compute(fenced->execution);
        end(id, NNHAL_NONE);
    }
    if (queue.refusal != NNHAL_NONE && fake.explanation)
        fake_services()->explain(fake_services()->ctx, fake.explanation);
    return queue.refusal;
}

static void queue_cancel_fenced(void *driver_prepared, uint64_t id)
{
    pthread_mutex_lock(&queue.lock);
    queue.n_cancelled++;
    queue.cancelled_id = id;
    pthread_mutex_unlock(&queue.lock);
    if (queue.ends_cancelled)
        end(id, NNHAL_GENERAL_FAILURE);
}

static uint32_t count_cancelled(void)
{
    uint32_t n;

    pthread_mutex_lock(&queue.lock);
    n = queue.n_cancelled;
    pthread_mutex_unlock(&queue.lock);
    return n;
}

static void await_cancelled(uint32_t n)
{
    while (count_cancelled() < n)
        sched_yield();
}

static void take_table(void)
{
    fake.driver.execute_fenced = queue_execute_fenced;
    fake.driver.cancel_fenced = queue_cancel_fenced;
}

/* -- the client ----------------------------------------------------------------- */

static struct fenced_call call;

static void begin(const struct nn_host_session_options *options)
{
    memset(&queue, 0, sizeof(queue));
    pthread_mutex_init(&queue.lock, NULL);
    fake_on_reset = take_table;
    fenced_call_begin(&call, options);
}

/* -- going well -------------------------------------------------------------------- */

TEST(the_driver_gets_the_fences_and_the_execution_at_once)
{
    int signaller, fence, number;
    float *bytes;

    begin(NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    bytes = desk_bytes(&call.desk, call.memory);
    bytes[0] = 3.0f;
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    close(fence); /* the driver has its own */
    ck_assert_uint_eq(queue.n_taken, 1);
    ck_assert_uint_eq(queue.taken[0]->n_fences, 1);
    ck_assert_int_eq(nn_fence_check(queue.taken[0]->fences[0]), NN_FENCE_E_ACTIVE);
    ck_assert_uint_eq(queue.taken[0]->execution->outputs[0].dimensions[0], 4);
    ck_assert_uint_eq(queue.taken[0]->execution->may_stall, 0);
    ck_assert_uint_eq(fenced_call_get_info(&call).status, NNHAL_GENERAL_FAILURE);
    nn_fence_signal(signaller);
    ck_assert_int_eq(nn_fence_wait(queue.taken[0]->fences[0], NNHAL_NO_TIME), 0);
    ck_assert_int_eq(nn_fence_check(call.reply.sync_fence), NN_FENCE_E_ACTIVE);
    compute(queue.taken[0]->execution);
    number = queue.taken[0]->fences[0];
    end(queue.ids[0], NNHAL_NONE);
    /* The fence was closed: its number is another's from now on. */
    ck_assert_int_eq(dup2(STDERR_FILENO, number), number);
    fenced_call_expect_well(&call);
    ck_assert_int_ge(fcntl(number, F_GETFD), 0);
    close(number);
    ck_assert_float_eq(bytes[8], 3.0f);
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&call.desk);
}
TEST_END

TEST(it_may_end_before_the_launch_returns)
{
    begin(NULL);
    queue.ends_at_once = true;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    desk_close(&call.desk);
}
TEST_END

TEST(each_end_signals_its_own_fence)
{
    struct nn_hal_execute_fenced_reply replies[3];

    begin(NULL);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
        replies[i] = call.reply;
    }
    for (int i = 2; i >= 0; i--) {
        ck_assert_int_eq(nn_fence_check(replies[i].sync_fence), NN_FENCE_E_ACTIVE);
        end(queue.ids[i], NNHAL_NONE);
        call.reply = replies[i];
        fenced_call_expect_well(&call);
    }
    desk_close(&call.desk);
}
TEST_END

TEST(times_are_the_drivers_if_they_make_sense)
{
    begin(NULL);
    call.args.measure = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    ck_assert_uint_eq(queue.taken[0]->execution->measure, 1);
    queue.taken[0]->execution->timing = (struct nnhal_timing){1, 2};
    end(queue.ids[0], NNHAL_NONE);
    ck_assert_uint_eq(fenced_call_get_info(&call).timing_fenced.time_on_device_ns, 1);
    ck_assert_uint_eq(fenced_call_get_info(&call).timing_fenced.time_in_driver_ns, 2);
    ck_assert_uint_ge(fenced_call_get_info(&call).timing_launched.time_in_driver_ns, 2);
    fenced_call_expect_well(&call);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    queue.taken[1]->execution->timing = (struct nnhal_timing){1000 * S, 1000 * S};
    end(queue.ids[1], NNHAL_NONE);
    ck_assert_uint_le(fenced_call_get_info(&call).timing_fenced.time_in_driver_ns,
                      fenced_call_get_info(&call).timing_launched.time_in_driver_ns);
    fenced_call_expect_well(&call);
    desk_close(&call.desk);
}
TEST_END

TEST(what_was_freed_lives_until_the_end)
{
    struct nn_hal_free_memory_reply free_reply;
    float *bytes;

    begin(NULL);
    bytes = desk_bytes(&call.desk, call.memory);
    bytes[0] = 5.0f;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_free_callback(&call);
    desk_free_prepared(&call.desk, call.prepared);
    ck_assert_uint_eq(nn_hal_free_memory(call.desk.hal,
                                         &(struct nn_hal_free_memory_args){.memory = call.memory},
                                         &free_reply, &call.desk.arena),
                      NNHAL_NONE);
    ck_assert_uint_eq(fake.n_released, 0);
    compute(queue.taken[0]->execution);
    end(queue.ids[0], NNHAL_NONE);
    ck_assert_int_eq(nn_fence_wait(call.reply.sync_fence, NNHAL_NO_TIME), 0);
    ck_assert_uint_eq(fake.n_released, 1);
    ck_assert_float_eq(bytes[8], 5.0f);
    close(call.reply.sync_fence);
    desk_close(&call.desk);
}
TEST_END

/* -- what does not suit ---------------------------------------------------------------- */

TEST(a_limit_that_counts_from_the_fences_is_the_hosts)
{
    int signaller, fence;

    begin(NULL);
    call.args.timeout_after_fence_ns = 1000 * S;
    queue.ends_at_once = true;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    ck_assert_uint_eq(queue.n_taken, 1); /* it counts from the launch */
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    nn_fence_signal(signaller);
    fenced_call_expect_well(&call);
    close(fence);
    ck_assert_uint_eq(queue.n_taken, 1);
    ck_assert_uint_eq(fake.n_executed, 1);
    desk_close(&call.desk);
}
TEST_END

TEST(buffers_are_admitted_by_the_host)
{
    struct desk_wish wish;
    struct desk_buffer buffer;

    begin(NULL);
    wish = desk_wish(call.prepared, -1, 0);
    buffer = desk_allocate(&call.desk, &wish);
    desk_begin(&call.desk);
    desk_input(&call.desk, DIMS(4), call.memory, 0, 16);
    desk_input(&call.desk, DIMS(4), call.memory, 16, 16);
    desk_output_token(&call.desk, DIMS(4), buffer.token);
    call.args.request = call.desk.request;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    ck_assert_uint_eq(queue.n_taken, 0);
    ck_assert_uint_eq(fake.n_executed, 1);
    desk_free_buffer(&call.desk, buffer.id);
    desk_close(&call.desk);
}
TEST_END

/* -- failing ------------------------------------------------------------------------------ */

TEST(what_the_driver_refuses_was_not_launched)
{
    size_t n_fds;

    begin(NULL);
    queue.refusal = NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    fake.explanation = "the queue is full";
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_ptr_nonnull(strstr(call.reply.message, "the queue is full"));
    n_fds = count_fds();
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(count_fds(), n_fds);
    queue.refusal = NNHAL_NONE;
    queue.ends_at_once = true;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    desk_close(&call.desk);
}
TEST_END

TEST(a_failure_is_an_error_with_its_sentence)
{
    begin(NULL);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fake.explanation = "no tiles left";
    end(queue.ids[0], NNHAL_RESOURCE_EXHAUSTED_PERSISTENT);
    fenced_call_expect_error(&call, NNHAL_RESOURCE_EXHAUSTED_PERSISTENT, "no tiles left");
    /* The sentence was for that failure only. */
    fake.explanation = NULL;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    end(queue.ids[1], NNHAL_GENERAL_FAILURE);
    fenced_call_expect_error(&call, NNHAL_GENERAL_FAILURE, "does not say why");
    desk_close(&call.desk);
}
TEST_END

TEST(a_lie_is_an_error)
{
    begin(NULL);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    queue.taken[0]->execution->outputs[0].dimensions[0] = 5;
    end(queue.ids[0], NNHAL_NONE);
    fenced_call_expect_error(&call, NNHAL_GENERAL_FAILURE, "is defective");
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    end(queue.ids[1], NNHAL_OUTPUT_INSUFFICIENT_SIZE);
    fenced_call_expect_error(&call, NNHAL_GENERAL_FAILURE, "is defective");
    desk_close(&call.desk);
}
TEST_END

TEST(ending_twice_or_nothing_does_no_harm)
{
    begin(NULL);
    end(12345, NNHAL_NONE);
    end(0, NNHAL_NONE);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    end(queue.ids[0], NNHAL_NONE);
    end(queue.ids[0], NNHAL_GENERAL_FAILURE);
    fenced_call_expect_well(&call);
    queue.ends_at_once = true;
    queue.refusal = NNHAL_GENERAL_FAILURE; /* and it has ended it */
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fenced_call_expect_well(&call);
    desk_close(&call.desk);
}
TEST_END

/* -- late ------------------------------------------------------------------------------------ */

TEST(a_deadline_ends_the_fence_and_tells_the_driver)
{
    int signaller, fence;

    begin(NULL);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    call.args.deadline_ns = nn_sys_now_ns() + S;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    ck_assert_uint_eq(queue.taken[0]->execution->deadline_ns, call.args.deadline_ns);
    ck_assert_int_eq(nn_fence_wait(call.reply.sync_fence, NNHAL_NO_TIME), NN_FENCE_E_ERROR);
    await_cancelled(1);
    ck_assert_uint_eq(queue.cancelled_id, queue.ids[0]);
    ck_assert_uint_eq(*queue.taken[0]->execution->is_cancelled, 1);
    /* It is still the driver's. */
    ck_assert_int_eq(nn_fence_check(queue.taken[0]->fences[0]), NN_FENCE_E_ACTIVE);
    compute(queue.taken[0]->execution);
    end(queue.ids[0], NNHAL_NONE);
    fenced_call_expect_error(&call, NNHAL_MISSED_DEADLINE_TRANSIENT, "deadline");
    close(signaller);
    close(fence);
    desk_close(&call.desk);
    ck_assert_uint_eq(queue.n_cancelled, 1);
}
TEST_END

TEST(others_go_on_beside_one_that_is_late)
{
    struct nn_hal_execute_fenced_reply late;

    begin(NULL);
    call.args.deadline_ns = nn_sys_now_ns() + S;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    late = call.reply;
    call.args.deadline_ns = NNHAL_NO_TIME;
    ck_assert_int_eq(nn_fence_wait(late.sync_fence, NNHAL_NO_TIME), NN_FENCE_E_ERROR);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    end(queue.ids[1], NNHAL_NONE);
    fenced_call_expect_well(&call);
    await_cancelled(1);
    end(queue.ids[0], NNHAL_MISSED_DEADLINE_TRANSIENT);
    call.reply = late;
    fenced_call_expect_error(&call, NNHAL_MISSED_DEADLINE_TRANSIENT, "deadline");
    desk_close(&call.desk);
}
TEST_END

TEST(closing_the_session_waits_for_the_driver)
{
    size_t n_fds = count_fds();
    int signaller, fence;

    begin(NULL);
    queue.ends_cancelled = true;
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    call.args.wait_for = &fence;
    call.args.n_wait_for = 1;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    close(fence);
    nn_hal_close(call.desk.hal);
    call.desk.hal = NULL;
    ck_assert_uint_eq(queue.n_cancelled, 1);
    ck_assert_int_eq(nn_fence_check(call.reply.sync_fence), NN_FENCE_E_ERROR);
    ck_assert_uint_eq(fake.n_prepared, fake.n_released);
    close(signaller);
    close(call.reply.sync_fence);
    desk_close(&call.desk);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

static void *close_session(void *hal)
{
    nn_hal_close(hal);
    return NULL;
}

/* The fence does not wait for the driver. */
TEST(closing_the_session_ends_the_fence_at_once)
{
    pthread_t thread;
    int fence;

    begin(NULL);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    fence = call.reply.sync_fence;
    ck_assert_int_eq(pthread_create(&thread, NULL, close_session, call.desk.hal), 0);
    ck_assert_int_eq(nn_fence_wait(fence, nn_sys_now_ns() + 20 * S), NN_FENCE_E_ERROR);
    end(queue.ids[0], NNHAL_NONE);
    pthread_join(thread, NULL);
    ck_assert_int_eq(nn_fence_check(fence), NN_FENCE_E_ERROR);
    close(fence);
    call.desk.hal = NULL;
    desk_close(&call.desk);
}
TEST_END

TEST(fences_are_limited_until_the_driver_ends)
{
    const struct nn_host_session_options options = {.uid = 1,
                                                    .limits = {.n_fenced = 2, .n_fences = 3}};
    struct nn_hal_execute_fenced_reply first, second;

    begin(&options);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    first = call.reply;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    second = call.reply;
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(queue.n_taken, 2);
    call.reply = second;
    end(queue.ids[1], NNHAL_NONE);
    fenced_call_expect_well(&call);
    ck_assert_uint_eq(fenced_call_launch(&call), NNHAL_NONE);
    end(queue.ids[2], NNHAL_NONE);
    fenced_call_expect_well(&call);
    call.reply = first;
    end(queue.ids[0], NNHAL_NONE);
    fenced_call_expect_well(&call);
    desk_close(&call.desk);
}
TEST_END

/* A process of its own, as a service's is. Returns: how it ended. */
static int in_a_child(void (*play)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        setenv("NNHAL_OVERDUE_MS", "100", 1);
        nn_overdue_enable();
        play();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void miss_deadline(void)
{
    begin(NULL);
    do
        call.args.deadline_ns = nn_sys_now_ns() + 100 * MS;
    while (fenced_call_launch(&call) != NNHAL_NONE);
    pause();
}

static void give_up_session(void)
{
    begin(NULL);
    fenced_call_launch(&call);
    nn_hal_close(call.desk.hal);
}

TEST(a_driver_that_never_ends_loses_its_process)
{
    ck_assert_uint_eq(NN_OVERDUE_MS, 10000); /* the tests are less patient */
    ck_assert_int_eq(in_a_child(miss_deadline), 3);
    ck_assert_int_eq(in_a_child(give_up_session), 3);
}
TEST_END

/* -- at the same time --------------------------------------------------------------------------- */

enum { N_ROUNDS = 400, N_CLIENTS = 3 };

static _Atomic bool is_over;

/* Ends what was taken, the newest first, well or not. */
static void *drive(void *argument)
{
    unsigned turn = 0;

    while (!is_over) {
        uint64_t id = 0;

        pthread_mutex_lock(&queue.lock);
        if (queue.n_taken)
            id = queue.ids[--queue.n_taken];
        pthread_mutex_unlock(&queue.lock);
        if (id)
            end(id, turn++ % 3 ? NNHAL_NONE : NNHAL_GENERAL_FAILURE);
        else
            sched_yield();
    }
    return NULL;
}

static void *launch_many(void *argument)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    for (int i = 0; i < N_ROUNDS; i++) {
        struct nn_hal_execute_fenced_args own = call.args;
        struct nn_hal_execute_fenced_reply own_reply;
        struct nn_hal_free_fenced_callback_args free_args;
        struct nn_hal_free_fenced_callback_reply free_reply;

        if (i % 4 == 0)
            own.deadline_ns = nn_sys_now_ns() + (uint64_t)(i % 16) * 10000;
        if (nn_hal_execute_fenced(call.desk.hal, &own, &own_reply, &arena) == NNHAL_NONE) {
            if (i % 2)
                nn_fence_wait(own_reply.sync_fence, NNHAL_NO_TIME);
            close(own_reply.sync_fence);
            free_args.callback = own_reply.callback;
            nn_hal_free_fenced_callback(call.desk.hal, &free_args, &free_reply, &arena);
        }
        nn_arena_reset(&arena);
    }
    nn_arena_done(&arena);
    return NULL;
}

TEST(launches_ends_and_deadlines_at_the_same_time)
{
    pthread_t driver, clients[N_CLIENTS];

    begin(NULL);
    ck_assert_int_eq(pthread_create(&driver, NULL, drive, NULL), 0);
    for (int i = 0; i < N_CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&clients[i], NULL, launch_many, NULL), 0);
    for (int i = 0; i < N_CLIENTS; i++)
        pthread_join(clients[i], NULL);
    nn_hal_close(call.desk.hal);
    call.desk.hal = NULL;
    is_over = true;
    pthread_join(driver, NULL);
    desk_close(&call.desk);
}
TEST_END

CHECK_MAIN("device-queue", the_driver_gets_the_fences_and_the_execution_at_once,
           it_may_end_before_the_launch_returns, each_end_signals_its_own_fence,
           times_are_the_drivers_if_they_make_sense, what_was_freed_lives_until_the_end,
           a_limit_that_counts_from_the_fences_is_the_hosts, buffers_are_admitted_by_the_host,
           what_the_driver_refuses_was_not_launched, a_failure_is_an_error_with_its_sentence,
           a_lie_is_an_error, ending_twice_or_nothing_does_no_harm,
           a_deadline_ends_the_fence_and_tells_the_driver, others_go_on_beside_one_that_is_late,
           closing_the_session_waits_for_the_driver, closing_the_session_ends_the_fence_at_once,
           fences_are_limited_until_the_driver_ends, a_driver_that_never_ends_loses_its_process,
           launches_ends_and_deadlines_at_the_same_time)
