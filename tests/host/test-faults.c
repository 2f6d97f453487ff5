/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation, or the n-th system call, fails: every call ends with a
 * status that says so, nothing leaks, and the session works on. */
#include "host/desk.h"

#include "base/fence.h"
#include "base/sys.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <sys/mman.h>
#include <sys/resource.h>

static struct desk desk;
static int memory_fd;
static struct nn_arena arena;

/* What one client does from beginning to end; ends where something fails.
 * No assertions here: they allocate. */
struct story {
    struct nn_hal *hal;
    uint64_t memory, small, prepared, execution;
    int fence;
    uint32_t status; /* of the call that failed, or NNHAL_NONE */
};

static bool tell_import(struct story *story)
{
    struct nn_hal_import_memory_args args = {
        .kind = NNHAL_MEMORY_ASHMEM, .size = 4096, .fd = memory_fd};
    struct nn_hal_import_memory_reply reply;

    story->status = nn_hal_import_memory(story->hal, &args, &reply, &arena);
    story->memory = reply.memory;
    if (story->status != NNHAL_NONE)
        return false;
    args.size = 16; /* as a buffer has */
    story->status = nn_hal_import_memory(story->hal, &args, &reply, &arena);
    story->small = reply.memory;
    return story->status == NNHAL_NONE;
}

static bool tell_prepare(struct story *story)
{
    const struct nn_hal_get_supported_operations_args ask = {.model = desk.maker.model};
    const struct nn_hal_prepare_model_args args = {.model = desk.maker.model,
                                                   .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_get_supported_operations_reply answer;
    struct nn_hal_prepare_model_reply reply;

    story->status = nn_hal_get_supported_operations(story->hal, &ask, &answer, &arena);
    if (story->status != NNHAL_NONE)
        return false;
    story->status = nn_hal_prepare_model(story->hal, &args, &reply, &arena);
    story->prepared = reply.prepared_model;
    return story->status == NNHAL_NONE;
}

static struct nnhal_request request_of(const struct story *story)
{
    desk.pools[0].memory = story->memory;
    return desk.request;
}

static bool tell_execute(struct story *story)
{
    const struct nn_hal_create_execution_args create = {.prepared_model = story->prepared,
                                                        .request = request_of(story)};
    struct nn_hal_execute_synchronously_args args = {.prepared_model = story->prepared,
                                                     .request = request_of(story),
                                                     .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_execute_synchronously_reply reply;
    struct nn_hal_create_execution_reply created;

    story->status = nn_hal_execute_synchronously(story->hal, &args, &reply, &arena);
    if (story->status == NNHAL_NONE)
        story->status = nn_hal_create_execution(story->hal, &create, &created, &arena);
    if (story->status != NNHAL_NONE)
        return false;
    story->execution = created.execution;
    args = (struct nn_hal_execute_synchronously_args){.execution = created.execution,
                                                      .deadline_ns = NNHAL_NO_TIME};
    story->status = nn_hal_execute_synchronously(story->hal, &args, &reply, &arena);
    return story->status == NNHAL_NONE;
}

/* A buffer as the model's first input: filled, executed with, read. */
static bool tell_buffer(struct story *story)
{
    const struct nnhal_buffer_role role = {.frequency = 1.0f};
    const struct nn_hal_allocate_args args = {.n_prepared_models = 1,
                                              .prepared_models = &story->prepared,
                                              .n_input_roles = 1,
                                              .input_roles = &role};
    struct nnhal_request_argument inputs[2] = {{.location = {.pool_index = 1}}, desk.inputs[1]};
    struct nn_hal_execute_synchronously_args execute = {.prepared_model = story->prepared,
                                                        .request = request_of(story),
                                                        .deadline_ns = NNHAL_NO_TIME};
    struct nnhal_request_pool pools[2] = {desk.pools[0]};
    struct nn_hal_execute_synchronously_reply executed;
    struct nn_hal_copy_from_args fill;
    struct nn_hal_copy_from_reply filled;
    struct nn_hal_copy_to_args fetch;
    struct nn_hal_copy_to_reply fetched;
    struct nn_hal_allocate_reply reply;

    story->status = nn_hal_allocate(story->hal, &args, &reply, &arena);
    if (story->status != NNHAL_NONE)
        return false;
    fill = (struct nn_hal_copy_from_args){.buffer = reply.buffer, .memory = story->small};
    story->status = nn_hal_copy_from(story->hal, &fill, &filled, &arena);
    if (story->status != NNHAL_NONE)
        return false;
    pools[1].token = reply.token;
    execute.request.inputs = inputs;
    execute.request.pools = pools;
    execute.request.n_pools = 2;
    story->status = nn_hal_execute_synchronously(story->hal, &execute, &executed, &arena);
    if (story->status != NNHAL_NONE)
        return false;
    fetch = (struct nn_hal_copy_to_args){.buffer = reply.buffer, .memory = story->small};
    story->status = nn_hal_copy_to(story->hal, &fetch, &fetched, &arena);
    return story->status == NNHAL_NONE;
}

static void tell_fenced(struct story *story)
{
    const struct nn_hal_execute_fenced_args args = {.prepared_model = story->prepared,
                                                    .request = request_of(story),
                                                    .deadline_ns = NNHAL_NO_TIME,
                                                    .timeout_after_fence_ns = NNHAL_NO_TIME};
    struct nn_hal_get_fenced_info_args info_args;
    struct nn_hal_get_fenced_info_reply info;
    struct nn_hal_execute_fenced_reply reply;

    story->status = nn_hal_execute_fenced(story->hal, &args, &reply, &arena);
    if (story->status != NNHAL_NONE)
        return;
    nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME);
    close(reply.sync_fence);
    info_args.callback = reply.callback;
    story->status = nn_hal_get_fenced_info(story->hal, &info_args, &info, &arena);
    if (story->status == NNHAL_NONE)
        story->status = info.status;
}

/* Returns: whether a session could be opened at all. */
static bool tell(struct story *story)
{
    *story = (struct story){.hal = NULL};
    if (nn_host_open_session(desk.host, NULL, &story->hal) < 0)
        return false;
    if (tell_import(story) && tell_prepare(story) && tell_execute(story) && tell_buffer(story))
        tell_fenced(story);
    return true;
}

static void begin(void)
{
    desk_open(&desk);
    desk_formula(&desk, DIMS(4));
    desk_formula_request(&desk, 1, 16);
    memory_fd = memfd_create("faults", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(memory_fd, 4096), 0);
    nn_arena_init(&arena, 0);
}

static void end(void)
{
    nn_arena_done(&arena);
    close(memory_fd);
    desk_close(&desk);
}

/* After a fault: the same session does the whole story again. */
static void expect_recovery(struct story *story)
{
    bool is_well = tell_import(story) && tell_prepare(story) && tell_execute(story) &&
                   tell_buffer(story);

    if (is_well)
        tell_fenced(story);
    ck_assert_uint_eq(story->status, NNHAL_NONE);
    nn_hal_close(story->hal);
}

TEST(any_allocation_may_fail)
{
    size_t n_fds, n_mappings;
    bool is_done = false;

    begin();
    n_fds = count_fds();
    n_mappings = count_mappings("memfd:faults");
    for (long n = 1; !is_done; n++) {
        struct story story;
        bool is_open;

        fail_alloc_arm(n);
        is_open = tell(&story);
        is_done = fail_alloc_disarm();
        ck_assert_msg(story.status == NNHAL_NONE ||
                          story.status == NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
                      "allocation %ld: status %u", n, story.status);
        if (is_open)
            expect_recovery(&story);
        nn_arena_done(&arena); /* the caller's own allocations fail too */
        ck_assert_uint_eq(fake.n_prepared, fake.n_released);
        ck_assert_uint_eq(count_mappings("memfd:faults"), n_mappings);
        ck_assert_int_lt(n, 1000);
    }
    /* The watcher's three descriptors came and stay with the host. */
    ck_assert_uint_le(count_fds(), n_fds + 3);
    n_fds = count_fds();
    end();
    ck_assert_uint_lt(count_fds(), n_fds);
}
TEST_END

TEST(opening_a_host_may_fail)
{
    size_t n_fds = count_fds();
    bool is_done = false;

    fake_reset();
    for (long n = 1; !is_done; n++) {
        struct nn_host *host = NULL;
        int r;

        fail_alloc_arm(n);
        r = nn_host_open_builtin(fake_main, NULL, NULL, &host);
        is_done = fail_alloc_disarm();
        ck_assert_int_eq(r, is_done ? 0 : -ENOMEM);
        nn_host_unref(host);
        ck_assert_uint_eq(fake.n_opened, fake.n_closed);
    }
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(any_system_call_may_fail)
{
    const int errors[] = {ENOMEM, EMFILE, EACCES};
    uint32_t expected[] = {NNHAL_RESOURCE_EXHAUSTED_TRANSIENT, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
                           NNHAL_GENERAL_FAILURE};

    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(errors); i++) {
        struct story story;

        /* The only one that a call of the HAL makes is mmap. */
        nn_sys_fault_errno = errors[i];
        nn_sys_fault = 1;
        ck_assert(tell(&story));
        nn_sys_fault = 0;
        ck_assert_uint_eq(story.status, expected[i]);
        ck_assert_uint_eq(story.memory, 0);
        expect_recovery(&story);
    }
    end();
}
TEST_END

/* No descriptor is left: what needs one fails, and everything else goes on. */
TEST(descriptors_may_run_out)
{
    struct rlimit limit, none;
    struct story story;
    size_t n_fds;

    begin();
    ck_assert(tell(&story));
    ck_assert_uint_eq(story.status, NNHAL_NONE);
    n_fds = count_fds();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    tell_import(&story);
    none.rlim_cur = limit.rlim_cur;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_uint_eq(story.status, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(story.memory, 0);
    ck_assert(tell_import(&story));
    none.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    tell_fenced(&story);
    none.rlim_cur = limit.rlim_cur;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_uint_eq(story.status, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    expect_recovery(&story);
    ck_assert_uint_le(count_fds(), n_fds);
    end();
}
TEST_END

static void expect_sample_survives(const struct nnhal_model *model)
{
    bool is_done = false;

    for (long n = 1; !is_done; n++) {
        const struct nn_hal_prepare_model_args args = {.model = *model,
                                                       .deadline_ns = NNHAL_NO_TIME};
        struct nn_hal_execute_synchronously_args execute = {.request = desk.request,
                                                            .deadline_ns = NNHAL_NO_TIME};
        struct nn_hal_execute_synchronously_reply executed;
        struct nn_hal_prepare_model_reply reply;
        uint32_t status;

        fail_alloc_arm(n);
        status = nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena);
        execute.prepared_model = reply.prepared_model;
        if (status == NNHAL_NONE)
            status = nn_hal_execute_synchronously(desk.hal, &execute, &executed, &desk.arena);
        is_done = fail_alloc_disarm();
        ck_assert_uint_eq(status, is_done ? NNHAL_NONE : NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
        desk_free_prepared(&desk, reply.prepared_model);
        nn_arena_done(&desk.arena);
    }
}

TEST(the_drivers_allocations_may_fail)
{
    uint64_t memory;

    /* The host gives the sample its memory, so that it fails here too. */
    desk_open_sample(&desk, NULL);
    memory = desk_memory(&desk, 4096);
    desk_formula_request(&desk, memory, 16);
    expect_sample_survives(desk_formula(&desk, DIMS(4)));
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("faults", any_allocation_may_fail, opening_a_host_may_fail, any_system_call_may_fail,
           descriptors_may_run_out, the_drivers_allocations_may_fail)
