/* SPDX-License-Identifier: Apache-2.0 */
/* A session: its device, its memories, its limits, its end. */
#include "host/desk.h"

#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static struct desk desk;

TEST(the_device_tells_what_the_driver_says)
{
    const struct nn_hal_get_device_info_args args = {0};
    struct nn_hal_get_device_info_reply reply;

    desk_open(&desk);
    ck_assert_uint_eq(nn_hal_get_device_info(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    ck_assert_str_eq(reply.name, "fake");
    ck_assert_str_eq(reply.version, "1");
    ck_assert_uint_eq(reply.type, NNHAL_DEVICE_OTHER);
    ck_assert_int_eq(reply.feature_level, NNHAL_FEATURE_LEVEL_8);
    ck_assert_uint_eq(reply.capabilities.n_operand_performance, 2);
    ck_assert_int_eq(reply.pid, getpid());
    ck_assert_uint_eq(reply.n_model_cache_files, 0);
    desk_close(&desk);
}
TEST_END

/* -- memories ------------------------------------------------------------------ */

TEST(malformed_memories_are_invalid)
{
    int fd = memfd_create("memory", MFD_CLOEXEC), pipes[2];
    uint64_t id;

    desk_open(&desk);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_int_eq(pipe(pipes), 0);
#define INVALID(...) ck_assert_uint_eq(desk_import(&desk, __VA_ARGS__, &id), NNHAL_INVALID_ARGUMENT)
    INVALID(-1, NNHAL_MEMORY_ASHMEM, 0, 4096, 0);
    INVALID(pipes[0], NNHAL_MEMORY_ASHMEM, 0, 4096, 0);
    INVALID(fd, NNHAL_MEMORY_ASHMEM, 0, 0, 0);
    INVALID(fd, NNHAL_MEMORY_ASHMEM, 0, 4097, 0);
    INVALID(fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 4096, 1);
    INVALID(fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 1, UINT64_MAX);
    INVALID(fd, NNHAL_MEMORY_MMAP_FD, 0, 4096, 0);
    INVALID(fd, NNHAL_MEMORY_MMAP_FD, PROT_EXEC, 4096, 0);
    INVALID(fd, NNHAL_MEMORY_HARDWARE_BUFFER, 0, 4096, 0);
    INVALID(-1, NNHAL_MEMORY_HARDWARE_BUFFER, 0, 0, 0);
    INVALID(fd, 77, 0, 4096, 0);
#undef INVALID
    close(fd);
    close(pipes[0]);
    close(pipes[1]);
    desk_close(&desk);
}
TEST_END

TEST(what_cannot_be_mapped_is_a_failure)
{
    char path[] = "/tmp/nnhal-test-XXXXXX";
    int writable = mkstemp(path), fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t id;

    desk_open(&desk);
    ck_assert_int_eq(ftruncate(writable, 4096), 0);
    ck_assert_uint_eq(
        desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 4096, 0, &id),
        NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 4096, 0, &id),
                      NNHAL_NONE);
    close(fd);
    close(writable);
    unlink(path);
    desk_close(&desk);
}
TEST_END

TEST(a_memory_is_mapped_once_and_unmapped_with_its_last_user)
{
    struct nn_hal_free_memory_args args;
    struct nn_hal_free_memory_reply reply;
    size_t n_fds, n_mappings;
    uint64_t prepared, execution, memory;

    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    n_fds = count_fds();
    n_mappings = count_mappings("memfd:desk");
    memory = desk_memory(&desk, 4096);
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    /* The test's own mapping, and the host's. */
    ck_assert_uint_eq(count_mappings("memfd:desk"), n_mappings + 2);
    args.memory = memory;
    ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    ck_assert_uint_eq(count_mappings("memfd:desk"), n_mappings + 2);
    desk_free_execution(&desk, execution);
    ck_assert_uint_eq(count_mappings("memfd:desk"), n_mappings + 1);
    ck_assert_uint_eq(count_fds(), n_fds);
    desk_close(&desk);
}
TEST_END

TEST(arguments_are_used_in_place)
{
    uint64_t prepared, memory;
    float *bytes;
    const unsigned char *first;

    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    memory = desk_memory(&desk, 4096);
    bytes = desk_bytes(&desk, memory);
    bytes[0] = 7.0f;
    desk_formula_request(&desk, memory, 16);
    desk.inputs[0].location.offset = 64;
    bytes[16] = 5.0f;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_float_eq(bytes[8], 5.0f);
    first = fake.input_data;
    ck_assert_ptr_eq(fake.output_data, first - 32);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_ptr_eq(fake.input_data, first);
    desk_close(&desk);
}
TEST_END

/* A file that its owner makes smaller during an execution. */
static int shrinking_fd;

static void shrink(struct nnhal_execution *execution)
{
    ck_assert_int_eq(ftruncate(shrinking_fd, 0), 0);
    ck_assert_uint_eq(*(const volatile unsigned char *)execution->inputs[0].data, 0);
}

TEST(a_file_that_shrinks_ends_the_execution_and_nothing_else)
{
    const struct nn_host_session_options options = {.is_service = true};
    uint64_t prepared, memory, shrinking;

    desk_open_with(&desk, &options);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    memory = desk_memory(&desk, 4096);
    shrinking_fd = memfd_create("shrinking", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(shrinking_fd, 4096), 0);
    ck_assert_uint_eq(desk_import(&desk, shrinking_fd, NNHAL_MEMORY_ASHMEM, 0, 4096, 0, &shrinking),
                      NNHAL_NONE);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, shrinking, 0, 16);
    desk_input(&desk, 0, NULL, memory, 0, 16);
    desk_output(&desk, 0, NULL, memory, 16, 16);
    fake.on_execute = shrink;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_ptr_nonnull(strstr(desk.reply.message, "made smaller"));
    fake.on_execute = NULL;
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    close(shrinking_fd);
    desk_close(&desk);
}
TEST_END

/* -- executions ------------------------------------------------------------------ */

TEST(deadlines_and_loop_timeouts_reach_the_driver)
{
    uint64_t prepared, memory, execution;

    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    memory = desk_memory(&desk, 4096);
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(fake.deadline_ns, NNHAL_NO_TIME);
    ck_assert_uint_eq(fake.loop_timeout_ns, NNHAL_DEFAULT_LOOP_TIMEOUT_NS);
    desk.loop_timeout_ns = NNHAL_MAX_LOOP_TIMEOUT_NS + 1;
    desk.deadline_ns = nn_sys_now_ns() + UINT64_C(60000000000);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(fake.deadline_ns, desk.deadline_ns);
    ck_assert_uint_eq(fake.loop_timeout_ns, NNHAL_MAX_LOOP_TIMEOUT_NS);
    desk.loop_timeout_ns = 5;
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    desk.execution = execution;
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_NONE);
    ck_assert_uint_eq(fake.loop_timeout_ns, 5);
    fake.n_executed = 0;
    desk.deadline_ns = nn_sys_now_ns();
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_MISSED_DEADLINE_PERSISTENT);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_MISSED_DEADLINE_PERSISTENT);
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&desk);
}
TEST_END

TEST(a_steady_reusable_execution_takes_no_memory)
{
    uint64_t prepared, memory;
    size_t n_bytes;

    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    memory = desk_memory(&desk, 4096);
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &desk.execution), NNHAL_NONE);
    nn_arena_reset(&desk.arena);
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_NONE);
    n_bytes = desk.arena.n_bytes;
    for (int i = 0; i < 100; i++) {
        nn_arena_reset(&desk.arena);
        ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_NONE);
        ck_assert_uint_eq(desk.arena.n_bytes, n_bytes);
    }
    desk_close(&desk);
}
TEST_END

TEST(freeing_what_does_not_exist_is_no_error)
{
    desk_open(&desk);
#define FREES_NOTHING(method)                                                                      \
    do {                                                                                           \
        const struct nn_hal_##method##_args args = {0};                                            \
        struct nn_hal_##method##_reply reply;                                                      \
                                                                                                   \
        ck_assert_uint_eq(nn_hal_##method(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);      \
    } while (0)
    FREES_NOTHING(free_buffer);
    FREES_NOTHING(free_burst_memory);
    FREES_NOTHING(free_burst);
#undef FREES_NOTHING
    desk_close(&desk);
}
TEST_END

/* -- limits ---------------------------------------------------------------------- */

TEST(a_session_holds_its_limits)
{
    const struct nn_host_session_options options = {
        .uid = 1,
        .limits = {
            .n_memories = 3, .n_prepared_models = 2, .n_executions = 1, .memory_bytes = 16384}};
    int fd = memfd_create("limit", MFD_CLOEXEC);
    uint64_t memory, prepared, id;

    desk_open_with(&desk, &options);
    ck_assert_int_eq(ftruncate(fd, 16384), 0);
    memory = desk_memory(&desk, 4096);
    desk_memory(&desk, 4096);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, 8193, 0, &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, 8192, 0, &id), NNHAL_NONE);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, 1, 0, &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    close(fd);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    ck_assert_uint_eq(desk_try_prepare(&desk, desk_formula(&desk, DIMS(4)), &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &id), NNHAL_NONE);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &prepared),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    desk_free_execution(&desk, id);
    desk_close(&desk);
}
TEST_END

static int inspect_slow(int fd, struct nn_sys_file *ret_file)
{
    (void)fd;
    *ret_file = (struct nn_sys_file){NN_SYS_STALLING_FILE, 16384};
    return 0;
}

static uint32_t may_stall;

static void note_may_stall(struct nnhal_execution *execution)
{
    may_stall = execution->may_stall;
}

TEST(a_driver_is_told_what_may_stall)
{
    const struct nn_host_session_options options = {.uid = 1, .is_service = true};
    const struct nn_sys_fakes fakes = {.inspect = inspect_slow};
    int fd = memfd_create("slow", MFD_CLOEXEC);
    uint64_t memory, slow, prepared;

    desk_open_with(&desk, &options);
    fake.on_execute = note_may_stall;
    ck_assert_int_eq(ftruncate(fd, 16384), 0);
    memory = desk_memory(&desk, 4096);
    nn_sys_fakes = &fakes;
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, 4096, 0, &slow), NNHAL_NONE);
    nn_sys_fakes = NULL;
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(may_stall, 0);
    desk_formula_request(&desk, slow, 16);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(may_stall, 1);
    close(fd);
    desk_close(&desk);
}
TEST_END

TEST(a_file_of_a_disk_that_exceeds_the_limit_is_let_go)
{
    const struct nn_host_session_options options = {.uid = 1, .limits = {.memory_bytes = 8192}};
    const struct nn_sys_fakes fakes = {.inspect = inspect_slow};
    int fd = memfd_create("limit", MFD_CLOEXEC);
    size_t n_fds;
    uint64_t id;

    desk_open_with(&desk, &options);
    n_fds = count_fds();
    nn_sys_fakes = &fakes;
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 8193, 0, &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert(!nn_host_may_stall(desk.hal));
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 8192, 0, &id),
                      NNHAL_NONE);
    ck_assert(nn_host_may_stall(desk.hal));
    nn_sys_fakes = NULL;
    close(fd);
    desk_close(&desk);
}
TEST_END

TEST(sessions_of_a_uid_share_a_limit)
{
    const struct nn_host_session_options options = {.uid = 1,
                                                    .uid_limits = {.n_prepared_models = 2}};
    struct desk second = {.n_memories = 0};
    uint64_t id;

    desk_open_with(&desk, &options);
    ck_assert_int_eq(nn_host_open_session(desk.host, &options, &second.hal), 0);
    desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    id = desk_prepare(&second, desk_formula(&second, DIMS(4)));
    ck_assert_uint_eq(desk_try_prepare(&desk, desk_formula(&desk, DIMS(4)), &id),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    nn_hal_close(second.hal);
    desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    nn_arena_done(&second.arena);
    desk_close(&desk);
}
TEST_END

/* -- the end ---------------------------------------------------------------------- */

static uint32_t blocked_status;

static void *execute_blocked(void *ctx)
{
    blocked_status = desk_execute(&desk, *(uint64_t *)ctx);
    return NULL;
}

TEST(closing_waits_for_calls_and_tells_them_to_end)
{
    pthread_t thread;
    uint64_t prepared;

    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, desk_memory(&desk, 4096), 16);
    fake_gate_close();
    ck_assert_int_eq(pthread_create(&thread, NULL, execute_blocked, &prepared), 0);
    fake_gate_wait(1);
    nn_hal_close(desk.hal);
    ck_assert_uint_eq(fake.was_cancelled, 1);
    ck_assert_uint_eq(fake.n_executed, 1);
    ck_assert_uint_eq(fake.n_released, 1);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(blocked_status, NNHAL_GENERAL_FAILURE);
    desk.hal = NULL;
    desk_close(&desk);
}
TEST_END

TEST(a_cancelled_session_is_a_dead_object)
{
    struct nn_hal_free_memory_args args = {.memory = 1};
    struct nn_hal_free_memory_reply reply;

    desk_open(&desk);
    nn_host_session_cancel(desk.hal);
    ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_DEAD_OBJECT);
    nn_host_session_cancel(desk.hal);
    desk_close(&desk);
}
TEST_END

TEST(closing_leaves_nothing_behind)
{
    size_t n_fds = count_fds(), n_mappings;

    desk_open(&desk);
    n_mappings = count_mappings("memfd:");
    desk_formula_request(&desk, desk_memory(&desk, 4096), 16);
    for (int i = 0; i < 20; i++) {
        uint64_t prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4))), execution;

        ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    }
    desk_close(&desk);
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(count_mappings("memfd:"), n_mappings);
    ck_assert_uint_eq(fake.n_prepared, 20);
}
TEST_END

CHECK_MAIN("session", the_device_tells_what_the_driver_says, malformed_memories_are_invalid,
           what_cannot_be_mapped_is_a_failure,
           a_memory_is_mapped_once_and_unmapped_with_its_last_user, arguments_are_used_in_place,
           a_file_that_shrinks_ends_the_execution_and_nothing_else,
           deadlines_and_loop_timeouts_reach_the_driver,
           a_steady_reusable_execution_takes_no_memory, freeing_what_does_not_exist_is_no_error,
           a_session_holds_its_limits, a_driver_is_told_what_may_stall,
           a_file_of_a_disk_that_exceeds_the_limit_is_let_go, sessions_of_a_uid_share_a_limit,
           closing_waits_for_calls_and_tells_them_to_end, a_cancelled_session_is_a_dead_object,
           closing_leaves_nothing_behind)
