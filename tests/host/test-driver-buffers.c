/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that a driver holds itself: what it may refuse and leave, what it must
 * not say, and that a layout of its own shows nowhere. */
#include "host/desk.h"

#include "support/check-main.h"
#include "support/fake-driver.h"

static struct desk desk;
static uint64_t prepared, memory;
static struct desk_wish wish;

/* -- a driver that does what it is told -------------------------------------------- */

static void begin(void)
{
    fake_holds_buffers = true;
    desk_open(&desk);
    memory = desk_memory(&desk, 24);
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(2, 3)));
    wish = desk_wish(prepared, 0, 0);
}

static void expect_message(const char *message, const char *words)
{
    ck_assert_msg(strstr(message, words), "\"%s\" does not say \"%s\"", message, words);
}

TEST(a_driver_refuses_and_its_sentence_is_passed_on)
{
    const struct nn_hal_allocate_args args = {
        .n_prepared_models = 1,
        .prepared_models = &prepared,
        .n_input_roles = 1,
        .input_roles = &(const struct nnhal_buffer_role){.frequency = 1.0f},
    };
    struct nn_hal_allocate_reply reply;

    begin();
    fake.allocate_status = NNHAL_GENERAL_FAILURE;
    fake.explanation = "the device's memory is full";
    ck_assert_uint_eq(nn_hal_allocate(desk.hal, &args, &reply, &desk.arena), NNHAL_GENERAL_FAILURE);
    desk_expect_failure(reply);
    expect_message(reply.message, "the device's memory is full");
    fake.allocate_status = 77;
    ck_assert_uint_eq(nn_hal_allocate(desk.hal, &args, &reply, &desk.arena), NNHAL_GENERAL_FAILURE);
    expect_message(reply.message, "is defective");
    fake.allocate_status = NNHAL_RESOURCE_EXHAUSTED_PERSISTENT;
    ck_assert_uint_eq(nn_hal_allocate(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_RESOURCE_EXHAUSTED_PERSISTENT);
    desk_close(&desk);
    ck_assert_uint_eq(fake.n_buffers, 0);
}
TEST_END

TEST(a_driver_leaves_a_buffer_to_the_host)
{
    struct desk_buffer buffer;

    begin();
    fake.leaves_buffer = true;
    buffer = desk_allocate(&desk, &wish);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_NONE);
    desk_close(&desk);
    ck_assert_uint_eq(fake.n_buffers, 0);
}
TEST_END

TEST(a_copy_that_the_driver_fails_leaves_no_value)
{
    struct desk_buffer buffer;

    begin();
    buffer = desk_allocate(&desk, &wish);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_NONE);
    fake.copy_status = NNHAL_DEVICE_UNAVAILABLE;
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_DEVICE_UNAVAILABLE);
    fake.copy_status = NNHAL_OUTPUT_INSUFFICIENT_SIZE; /* no status of a copy */
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_GENERAL_FAILURE);
    fake.copy_status = NNHAL_NONE;
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_NONE);
    fake.copy_status = NNHAL_DEVICE_UNAVAILABLE;
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_DEVICE_UNAVAILABLE);
    fake.copy_status = NNHAL_NONE;
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(a_freed_buffer_is_released_at_once_though_an_execution_knows_it)
{
    struct desk_buffer buffer;
    uint64_t execution;

    begin();
    buffer = desk_allocate(&desk, &wish);
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, buffer.token);
    desk_input(&desk, 0, NULL, memory, 0, 24);
    desk_output(&desk, 0, NULL, desk_memory(&desk, 24), 0, 24);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    desk_free_buffer(&desk, buffer.id);
    ck_assert_uint_eq(fake.n_released_buffers, 1);
    desk.execution = execution;
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

/* -- the sample, with rows of its own length ---------------------------------------- */

static void begin_sample(const char *line, uint32_t n, const uint32_t *dimensions)
{
    char path[] = "/tmp/nnhal-held-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, line, strlen(line)), (ssize_t)strlen(line));
    close(fd);
    desk_open_sample(&desk, path);
    unlink(path);
    prepared = desk_prepare(&desk, desk_formula(&desk, n, dimensions));
    wish = desk_wish(prepared, 0, 0);
}

/* n rows of 3 floats in a memory, from first on. */
static uint64_t rows(uint32_t n, float first)
{
    uint64_t of = desk_memory(&desk, 12 * n);
    float *floats = desk_bytes(&desk, of);

    for (uint32_t i = 0; i < 3 * n; i++)
        floats[i] = first + (float)i;
    return of;
}

/* z = x * y + x, x and z in buffers; and z once more into a memory. */
static void expect_formula(struct desk_buffer x, struct desk_buffer z, uint32_t n)
{
    uint64_t x_memory = rows(n, 1.0f), y_memory = rows(n, 0.5f);
    uint64_t z_memory = desk_memory(&desk, 12 * n), direct = desk_memory(&desk, 12 * n);
    const float *a = desk_bytes(&desk, x_memory), *b = desk_bytes(&desk, y_memory);
    const float *c = desk_bytes(&desk, z_memory);

    ck_assert_uint_eq(desk_copy_from(&desk, x.id, x_memory, DIMS(n, 3)), NNHAL_NONE);
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, x.token);
    desk_input(&desk, DIMS(n, 3), y_memory, 0, 12ULL * n);
    desk_output_token(&desk, 0, NULL, z.token);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_to(&desk, z.id, z_memory), NNHAL_NONE);
    for (uint32_t i = 0; i < 3 * n; i++)
        ck_assert_float_eq(c[i], a[i] * b[i] + a[i]);
    desk.request.n_outputs = 0;
    desk_output(&desk, DIMS(n, 3), direct, 0, 12ULL * n);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_mem_eq(desk_bytes(&desk, direct), c, 12 * n);
}

TEST(rows_of_its_own_length_show_nowhere)
{
    static const char *const lines[] = {"buffers OWN OPEN\n", "buffers HOST OPEN\n", ""};
    static const uint32_t n_rows[] = {2, 700, 1};

    for (size_t i = 0; i < NN_N_ELEMENTS(lines); i++) {
        struct desk_buffer x, z;

        begin_sample(lines[i], DIMS(2, 3));
        x = desk_allocate(&desk, &wish);
        z = desk_allocate(&desk, &wish);
        expect_formula(x, z, 2);
        desk_close(&desk);
        begin_sample(lines[i], DIMS(0, 3));
        x = desk_allocate(&desk, &wish);
        z = desk_allocate(&desk, &wish);
        for (size_t j = 0; j < NN_N_ELEMENTS(n_rows); j++)
            expect_formula(x, z, n_rows[j]);
        desk_close(&desk);
    }
}
TEST_END

TEST(a_shape_that_is_open_may_be_refused)
{
    static const char *const lines[] = {"buffers OWN\n", "buffers HOST\n", "buffers\n"};

    for (size_t i = 0; i < NN_N_ELEMENTS(lines); i++) {
        struct desk_buffer buffer;

        begin_sample(lines[i], DIMS(0, 3));
        ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_GENERAL_FAILURE);
        wish.n_dimensions = 2;
        wish.dimensions = (const uint32_t[]){2, 3};
        ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer),
                          i < 2 ? NNHAL_NONE : NNHAL_GENERAL_FAILURE);
        desk_close(&desk);
    }
}
TEST_END

CHECK_MAIN("held", a_driver_refuses_and_its_sentence_is_passed_on,
           a_driver_leaves_a_buffer_to_the_host, a_copy_that_the_driver_fails_leaves_no_value,
           a_freed_buffer_is_released_at_once_though_an_execution_knows_it,
           rows_of_its_own_length_show_nowhere, a_shape_that_is_open_may_be_refused)
