/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between buffers and memories of every kind that has a size. */
#include "host/desk.h"

#include "host/memory/buffer.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <sys/mman.h>

static const uint32_t types[] = {NNHAL_TENSOR_FLOAT32, NNHAL_TENSOR_FLOAT16,
                                 NNHAL_TENSOR_QUANT8_ASYMM, NNHAL_TENSOR_INT32};
static const uint32_t sized_kinds[] = {NNHAL_MEMORY_ASHMEM, NNHAL_MEMORY_MMAP_FD,
                                       NNHAL_MEMORY_HARDWARE_BUFFER_BLOB};

static struct desk desk;
static struct desk_buffer buffer;

/* A buffer of that type, as an input and an output of dimensions, and this description. */
static void begin(uint32_t type, uint32_t n, const uint32_t *dimensions, uint32_t n_desc,
                  const uint32_t *desc)
{
    struct desk_wish wish;

    fake_holds_buffers = NN_TEST_HELD_BY_DRIVER;
    desk_open(&desk);
    wish = desk_wish(desk_prepare(&desk, desk_sum(&desk, type, n, dimensions)), 0, 0);
    wish.n_dimensions = n_desc;
    wish.dimensions = desc;
    buffer = desk_allocate(&desk, &wish);
}

static void begin_fixed(void)
{
    begin(NNHAL_TENSOR_FLOAT32, DIMS(2, 3), 0, NULL);
}

static uint64_t filled_memory(size_t n_bytes, uint8_t first)
{
    uint64_t memory = desk_memory(&desk, n_bytes);
    uint8_t *bytes = desk_bytes(&desk, memory);

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(first + i);
    return memory;
}

static void expect_value(uint64_t memory, size_t n_bytes)
{
    uint64_t copy = desk_memory(&desk, n_bytes);

    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, copy), NNHAL_NONE);
    ck_assert_mem_eq(desk_bytes(&desk, copy), desk_bytes(&desk, memory), n_bytes);
}

TEST(what_goes_in_comes_out)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        size_t n_bytes = 6 * nn_type_bytes(types[i]);
        uint64_t memory;

        begin(types[i], DIMS(2, 3), 0, NULL);
        memory = filled_memory(n_bytes, 1);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_NONE);
        expect_value(memory, n_bytes);
        memory = filled_memory(n_bytes, 100);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, DIMS(2, 3)), NNHAL_NONE);
        expect_value(memory, n_bytes);
        desk_close(&desk);
    }
}
TEST_END

/* 24 bytes of a file of that kind; a mapped one begins at an odd place. */
static uint64_t memory_of(uint32_t kind, uint8_t **ret_bytes)
{
    const off_t offset = kind == NNHAL_MEMORY_MMAP_FD ? 4099 : 0;
    int fd = memfd_create("copies", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint64_t memory;

    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    *ret_bytes = (uint8_t *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) + offset;
    ck_assert_uint_eq(
        desk_import(&desk, fd, kind, PROT_READ | PROT_WRITE, 24, (uint64_t)offset, &memory),
        NNHAL_NONE);
    close(fd);
    return memory;
}

TEST(every_sized_kind_of_memory_serves)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(sized_kinds); i++)
        for (size_t j = 0; j < NN_N_ELEMENTS(sized_kinds); j++) {
            uint8_t *from_bytes, *to_bytes;
            uint64_t from, to;

            begin_fixed();
            from = memory_of(sized_kinds[i], &from_bytes);
            to = memory_of(sized_kinds[j], &to_bytes);
            memset(from_bytes, 0x5a, 24);
            ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, from, 0, NULL), NNHAL_NONE);
            ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, to), NNHAL_NONE);
            ck_assert_mem_eq(to_bytes, from_bytes, 24);
            ck_assert_uint_eq(to_bytes[24], 0);
            desk_close(&desk);
        }
}
TEST_END

TEST(what_was_never_written_is_not_given_out)
{
    begin_fixed();
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, desk_memory(&desk, 24)),
                      NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
    begin(NNHAL_TENSOR_FLOAT32, 0, NULL, 0, NULL);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, desk_memory(&desk, 24)),
                      NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(sizes_are_equal)
{
    const size_t sizes[] = {1, 20, 23, 25, 28, 48, 4096};

    begin_fixed();
    for (size_t i = 0; i < NN_N_ELEMENTS(sizes); i++) {
        uint64_t memory = desk_memory(&desk, sizes[i]);

        /* The size comes first, before whether there is a value. */
        ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL),
                          NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, DIMS(2, 3)),
                          NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, filled_memory(24, 1), 0, NULL),
                          NNHAL_NONE);
        ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_INVALID_ARGUMENT);
    }
    desk_close(&desk);
}
TEST_END

TEST(dimensions_agree)
{
    const struct {
        uint32_t n;
        uint32_t dimensions[3];
    } bad[] = {{1, {6}},    {3, {2, 3, 1}}, {2, {3, 2}}, {2, {2, 4}},
               {2, {0, 3}}, {2, {0, 0}},    {2, {2, 0}}};
    uint64_t memory;

    begin_fixed();
    memory = desk_memory(&desk, 24);
    for (size_t i = 0; i < NN_N_ELEMENTS(bad); i++)
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, bad[i].n, bad[i].dimensions),
                          NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(an_open_shape_is_given_and_may_change)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        uint32_t element = nn_type_bytes(types[i]);
        uint64_t small, large;

        begin(types[i], DIMS(0, 3), 0, NULL);
        small = filled_memory(6 * element, 1);
        large = filled_memory(3000 * 3 * element, 9);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, small, 0, NULL), NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, small, DIMS(0, 3)),
                          NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, small, DIMS(3, 2)),
                          NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, small, DIMS(2, 3)), NNHAL_NONE);
        expect_value(small, 6 * element);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, large, DIMS(3000, 3)), NNHAL_NONE);
        expect_value(large, 3000 * 3 * element);
        ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, small), NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, small, DIMS(2, 3)), NNHAL_NONE);
        expect_value(small, 6 * element);
        desk_close(&desk);
    }
}
TEST_END

TEST(the_description_closes_a_shape)
{
    begin(NNHAL_TENSOR_FLOAT32, 0, NULL, DIMS(2, 3));
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, filled_memory(24, 1), 0, NULL), NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, filled_memory(24, 1), DIMS(3, 2)),
                      NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_failed_copy_leaves_no_value)
{
    uint64_t memory;

    begin_fixed();
    memory = filled_memory(24, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_NONE);
        expect_value(memory, 24);
        if (i == 0)
            ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, desk_memory(&desk, 20), 0, NULL),
                              NNHAL_INVALID_ARGUMENT);
        else if (i == 1)
            ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, DIMS(3, 2)),
                              NNHAL_INVALID_ARGUMENT);
        else
            ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, 12345, 0, NULL),
                              NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_GENERAL_FAILURE);
    }
    desk_close(&desk);
}
TEST_END

TEST(both_sides_exist)
{
    uint64_t memory;

    begin_fixed();
    memory = desk_memory(&desk, 24);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, 0, 0, NULL), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, buffer.id), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_to(&desk, memory, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_from(&desk, 0, memory, 0, NULL), NNHAL_INVALID_ARGUMENT);
    desk_free_buffer(&desk, buffer.id);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, memory, 0, NULL), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(protection_fits_the_direction)
{
    int fd = memfd_create("copies", MFD_CLOEXEC);
    uint64_t readable, writable;

    begin_fixed();
    ck_assert_int_eq(ftruncate(fd, 24), 0);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 24, 0, &readable),
                      NNHAL_NONE);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_WRITE, 24, 0, &writable),
                      NNHAL_NONE);
    close(fd);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, writable, 0, NULL), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, readable, 0, NULL), NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, readable), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, writable), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(an_image_is_a_failure)
{
    uint64_t opaque;

    begin_fixed();
    opaque = desk_buffer(&desk, 6, 0);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, opaque, 0, NULL), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, opaque), NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(a_buffer_grows_within_its_limits)
{
    const struct nn_host_session_options options = {
        .limits = {.buffer_bytes = 8192 + 2 * sizeof(struct nn_buffer_role)}};
    struct desk_wish wish;

    fake_holds_buffers = NN_TEST_HELD_BY_DRIVER;
    desk_open_with(&desk, &options);
    wish = desk_wish(desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, 0, NULL)), 0, 0);
    buffer = desk_allocate(&desk, &wish);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, desk_memory(&desk, 8192), DIMS(2048)),
                      NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, desk_memory(&desk, 8196), DIMS(2049)),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, desk_memory(&desk, 8192)),
                      NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, desk_memory(&desk, 8192), DIMS(2048)),
                      NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("copies", what_goes_in_comes_out, every_sized_kind_of_memory_serves,
           what_was_never_written_is_not_given_out, sizes_are_equal, dimensions_agree,
           an_open_shape_is_given_and_may_change, the_description_closes_a_shape,
           a_failed_copy_leaves_no_value, both_sides_exist, protection_fits_the_direction,
           an_image_is_a_failure, a_buffer_grows_within_its_limits)
