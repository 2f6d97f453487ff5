/* SPDX-License-Identifier: Apache-2.0 */
/* What a user's requests make the host take is charged before it is taken, refused beyond the
 * limit, and given back. */
#include "host/desk.h"

#include "base/sys.h"
#include "host/session.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <sys/mman.h>

#define MIB (1 << 20)

static struct desk desk;

static void begin_as(const char *limit, bool charges, bool is_service)
{
    const struct nn_host_session_options options = {.uid = 1000, .is_service = is_service};

    setenv("NNHAL_USER_MEMORY", limit, 1);
    fake_charges_memory = charges;
    desk_open_with(&desk, &options);
    unsetenv("NNHAL_USER_MEMORY");
}

static void begin(const char *limit, bool charges)
{
    begin_as(limit, charges, false);
}

static uint64_t used(void)
{
    return desk.host->quota.memory;
}

/* -- the driver asks -------------------------------------------------------------------- */

static void *account;
static uint64_t wanted;

static uint32_t ask(void)
{
    return fake_services()->charge(fake_services()->ctx, account, wanted);
}

static void ask_for_model(const struct nnhal_prepare *prepare)
{
    account = prepare->account;
    fake.prepare_status = ask();
}

static void ask_and_fail(const struct nnhal_prepare *prepare)
{
    account = prepare->account;
    ck_assert_uint_eq(ask(), NNHAL_NONE);
    fake.prepare_status = NNHAL_GENERAL_FAILURE;
}

static void ask_for_execution(struct nnhal_execution *execution)
{
    fake.execute_status = ask();
}

/* The status of preparing a small model, and the sentence. */
static uint32_t try_prepare(uint64_t *ret_prepared, const char **ret_message)
{
    const struct nn_hal_prepare_model_args args = {
        .model = *desk_formula(&desk, DIMS(2, 2)),
        .preference = NNHAL_FAST_SINGLE_ANSWER,
        .priority = NNHAL_PRIORITY_MEDIUM,
        .deadline_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_prepare_model_reply reply;
    uint32_t status = nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena);

    *ret_prepared = reply.prepared_model;
    *ret_message = reply.message;
    return status;
}

TEST(a_driver_is_refused_what_its_user_may_not_have)
{
    uint64_t first, second, before;
    const char *message;

    begin("8M", true);
    before = used();
    wanted = 5 * MIB;
    fake.on_prepare = ask_for_model;
    ck_assert_uint_eq(try_prepare(&first, &message), NNHAL_NONE);
    ck_assert_uint_ge(used(), before + wanted);
    ck_assert_uint_eq(try_prepare(&second, &message), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_ptr_nonnull(strstr(message, "this needs 5.0 MiB; user 1000 may have 8.0 MiB"));
    ck_assert_ptr_nonnull(strstr(message, "5.0 MiB are in use"));
    ck_assert_ptr_nonnull(strstr(message, "NNHAL_USER_MEMORY"));
    /* The driver gives nothing back; the host does. */
    desk_free_prepared(&desk, first);
    ck_assert_uint_eq(used(), before);
    ck_assert_uint_eq(try_prepare(&second, &message), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(a_failed_preparation_gives_back)
{
    uint64_t prepared, before;
    const char *message;

    begin("8M", true);
    before = used();
    wanted = 5 * MIB;
    fake.on_prepare = ask_and_fail;
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(try_prepare(&prepared, &message), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(used(), before);
    desk_close(&desk);
}
TEST_END

TEST(an_execution_is_refused_alone)
{
    uint64_t prepared, memory;
    const char *message;

    begin("8M", true);
    memory = desk_memory(&desk, 4096);
    wanted = 1 * MIB;
    fake.on_prepare = ask_for_model;
    ck_assert_uint_eq(try_prepare(&prepared, &message), NNHAL_NONE);
    fake.on_execute = ask_for_execution;
    wanted = 100 * MIB;
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_ptr_nonnull(strstr(desk.reply.message, "this needs 100.0 MiB"));
    wanted = 1 * MIB;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    /* What a driver gives back twice, or has never asked for, does no harm. */
    fake_services()->uncharge(fake_services()->ctx, account, UINT64_MAX);
    fake_services()->uncharge(fake_services()->ctx, account, 1);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

/* -- the driver does not ask ---------------------------------------------------------------- */

/* Two values in between, of 4 MiB each. */
TEST(a_silent_driver_is_charged_by_estimate)
{
    uint64_t prepared, memory, n_bytes = 4 * MIB, before;

    begin("7M", false);
    memory = desk_memory(&desk, 3 * n_bytes);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(1024, 1024)));
    before = used();
    desk_formula_request(&desk, memory, n_bytes);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_ptr_nonnull(strstr(desk.reply.message, "this needs 8.0 MiB"));
    ck_assert_uint_eq(fake.n_executed, 0);
    ck_assert_uint_eq(used(), before);
    desk_close(&desk);
}
TEST_END

/* -- what the host itself takes ---------------------------------------------------------------- */

static uint32_t n_mmaps;

static void count_mmaps(const char *call, int fd)
{
    n_mmaps += strcmp(call, "mmap") == 0;
}

TEST(a_buffer_is_charged_before_it_is_mapped)
{
    struct desk_buffer buffer;
    struct desk_wish wish;
    uint64_t before;

    begin("8M", false);
    wish = desk_wish(desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(4 * MIB))), 0,
                     -1);
    before = used();
    nn_sys_observer = count_mmaps;
    nn_sys_fault = 1 << 20;
    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(n_mmaps, 0);
    ck_assert_uint_eq(used(), before);
    wish = desk_wish(desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(1 * MIB))), 0,
                     -1);
    before = used();
    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_NONE);
    ck_assert_uint_eq(n_mmaps, 1);
    ck_assert_uint_ge(used(), before + 4 * MIB);
    desk_free_buffer(&desk, buffer.id);
    ck_assert_uint_eq(used(), before);
    nn_sys_fault = 0;
    desk_close(&desk);
}
TEST_END

static int make_file(bool is_filled, bool is_sealed)
{
    int fd = memfd_create("pages", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    static char bytes[6 * MIB];

    ck_assert_int_eq(ftruncate(fd, sizeof(bytes)), 0);
    if (is_filled)
        ck_assert_int_eq((int)pwrite(fd, bytes, sizeof(bytes), 0), (int)sizeof(bytes));
    if (is_sealed)
        ck_assert_int_eq(
            fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), 0);
    return fd;
}

static uint32_t import_file(int fd, uint64_t *ret_memory)
{
    return desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, 6 * MIB, 0, ret_memory);
}

static void free_memory(uint64_t memory)
{
    const struct nn_hal_free_memory_args args = {.memory = memory};
    struct nn_hal_free_memory_reply reply;

    ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
}

/* Pages belong to the process that touches them first, and a client may take them out again. */
TEST(pages_of_a_client_are_charged_where_they_may_become_ours)
{
    int open = make_file(true, false), holes = make_file(false, true), full = make_file(true, true);
    uint64_t first, second, before;

    begin_as("8M", false, true);
    before = used();
    ck_assert_uint_eq(import_file(open, &first), NNHAL_NONE);
    ck_assert_uint_eq(import_file(holes, &second), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(import_file(full, &second), NNHAL_NONE);
    ck_assert_uint_lt(used(), before + 6 * MIB + 8192);
    free_memory(first);
    ck_assert_uint_eq(import_file(holes, &first), NNHAL_NONE);
    free_memory(first);
    free_memory(second);
    ck_assert_uint_eq(used(), before);
    desk_close(&desk);
    begin_as("1M", false, false); /* in the application's own process */
    ck_assert_uint_eq(import_file(open, &first), NNHAL_NONE);
    desk_close(&desk);
    close(open);
    close(holes);
    close(full);
}
TEST_END

/* -- who pays ------------------------------------------------------------------------------ */

TEST(another_user_is_not_refused)
{
    const struct nn_host_session_options options = {.uid = 1001};
    struct nn_hal *own;
    const char *message;
    uint64_t prepared;

    begin("8M", true);
    wanted = 7 * MIB;
    fake.on_prepare = ask_for_model;
    ck_assert_uint_eq(try_prepare(&prepared, &message), NNHAL_NONE);
    ck_assert_uint_eq(try_prepare(&prepared, &message), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    own = desk.hal;
    ck_assert_int_eq(nn_host_open_session(desk.host, &options, &desk.hal), 0);
    ck_assert_uint_eq(try_prepare(&prepared, &message), NNHAL_NONE);
    /* A session that ends gives back what it still has. */
    nn_hal_close(own);
    ck_assert_uint_lt(used(), 8 * MIB);
    desk_close(&desk);
}
TEST_END

TEST(without_a_limit_nothing_is_refused)
{
    const char *message;
    uint64_t prepared;

    fake_charges_memory = true;
    desk_open(&desk);
    wanted = UINT64_C(1) << 50;
    fake.on_prepare = ask_for_model;
    ck_assert_uint_eq(try_prepare(&prepared, &message), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("memory", a_driver_is_refused_what_its_user_may_not_have,
           a_failed_preparation_gives_back, an_execution_is_refused_alone,
           a_silent_driver_is_charged_by_estimate, a_buffer_is_charged_before_it_is_mapped,
           pages_of_a_client_are_charged_where_they_may_become_ours, another_user_is_not_refused,
           without_a_limit_nothing_is_refused)
