/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers that take memories as they are: what they are shown, what they keep,
 * and what follows when they cannot decode one. */
#include "host/desk.h"

#include "support/check-main.h"
#include "support/fake-driver.h"

#include <android/hardware_buffer.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct desk desk;

/* What the driver was shown last, and what it answers. */
static struct nnhal_memory_handle shown;
static struct nnhal_hardware_buffer shown_buffer;
static uint32_t n_imported, n_released, refused_kind = UINT32_MAX;
static bool keeps;
static int kept[16];

static uint32_t take(void *device, const struct nnhal_memory_handle *handle, void **ret_memory)
{
    struct stat status;

    ck_assert_uint_eq(handle->size, sizeof(*handle));
    ck_assert_int_eq(fstat(handle->fd, &status), 0);
    shown = *handle;
    if (handle->buffer)
        shown_buffer = *handle->buffer;
    if (handle->kind == refused_kind)
        return NNHAL_GENERAL_FAILURE;
    if (keeps)
        *ret_memory = &kept[n_imported % NN_N_ELEMENTS(kept)];
    n_imported++;
    return NNHAL_NONE;
}

static void give_back(void *memory_of_driver)
{
    ck_assert_ptr_nonnull(memory_of_driver);
    n_released++;
}

/* What the last execution had. */
static struct nnhal_input seen_input;
static struct nnhal_output seen_output;

static void see(struct nnhal_execution *execution)
{
    seen_input = execution->inputs[0];
    seen_output = execution->outputs[0];
}

static uint64_t prepared, memory;

static void begin(void)
{
    fake_reset();
    fake.driver.import_memory = take;
    fake.driver.release_memory = give_back;
    fake.on_execute = see;
    fake.writes_nothing = true;
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &desk.host), 0);
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &desk.hal), 0);
    nn_arena_init(&desk.arena, 0);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(6)));
    memory = desk_memory(&desk, 4096);
}

static uint32_t execute(uint64_t input, uint64_t output, uint64_t length)
{
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, input, 0, length);
    desk_input(&desk, 0, NULL, memory, 2048, 24);
    desk_output(&desk, 0, NULL, output, 0, length);
    return desk_execute(&desk, prepared);
}

TEST(a_driver_sees_each_memory_once_and_whole)
{
    uint64_t buffer;

    begin();
    ck_assert_uint_eq(n_imported, 1);
    ck_assert_uint_eq(shown.kind, NNHAL_MEMORY_ASHMEM);
    ck_assert_uint_eq(shown.n_bytes, 4096);
    ck_assert_ptr_nonnull(shown.data);
    ck_assert_ptr_null(shown.buffer);
    ck_assert_uint_eq(shown.is_writable, 1);
    buffer = desk_buffer(&desk, 6, 1);
    ck_assert_uint_eq(shown.kind, NNHAL_MEMORY_HARDWARE_BUFFER);
    ck_assert_ptr_null(shown.data); /* the order of its pixels is unknown */
    ck_assert_uint_eq(shown_buffer.format, AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM);
    ck_assert_uint_eq(shown_buffer.width, 6);
    ck_assert_uint_eq(shown_buffer.modifier, 1);
    ck_assert_uint_eq(shown_buffer.stride, 6);
    ck_assert_uint_eq(shown_buffer.n_planes, 1);
    ck_assert_uint_eq(n_imported, 2);
    /* It kept nothing: a view is what it wants, and there is none. */
    ck_assert_uint_eq(execute(buffer, desk_buffer(&desk, 6, 0), 0), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&desk);
    ck_assert_uint_eq(n_released, 0);
}
TEST_END

TEST(what_a_driver_keeps_comes_with_every_argument)
{
    uint64_t odd, wide;

    keeps = true;
    begin();
    odd = desk_buffer(&desk, 6, 1);
    wide = desk_buffer(&desk, 7, 0);
    ck_assert_uint_eq(execute(odd, wide, 0), NNHAL_NONE);
    ck_assert_ptr_null(seen_input.data);
    ck_assert_ptr_eq(seen_input.memory, &kept[1]);
    ck_assert_ptr_null(seen_output.data); /* 28 bytes of pixels are not the tensor's 24 */
    ck_assert_ptr_eq(seen_output.memory, &kept[2]);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, memory, 100, 24);
    desk_input(&desk, 0, NULL, memory, 0, 24);
    desk_output(&desk, 0, NULL, memory, 333, 24);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_ptr_eq(seen_input.memory, &kept[0]);
    ck_assert_uint_eq(seen_input.offset, 100);
    ck_assert_ptr_nonnull(seen_input.data);
    ck_assert_uint_eq(seen_output.offset, 333);
    desk_close(&desk);
    ck_assert_uint_eq(n_released, 3);
}
TEST_END

/* Eight by two pixels of YUV, the bytes of six floats, in rows of 64 bytes. Returns: what an execution
 * is said to copy of it. */
static uint64_t import_camera(uint64_t *ret_memory)
{
    const struct nnhal_buffer_plane planes[] = {{0, 64, 1}, {128, 64, 1}, {192, 64, 1}};
    const struct nn_hal_import_memory_args args = {
        .kind = NNHAL_MEMORY_HARDWARE_BUFFER,
        .buffer = {.format = AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420,
                   .width = 8,
                   .height = 2,
                   .layers = 1,
                   .size = 256,
                   .stride = 64,
                   .n_planes = 3,
                   .planes = planes},
        .fd = memfd_create("camera", MFD_CLOEXEC),
    };
    struct nn_hal_import_memory_reply reply = {0};

    ck_assert_int_eq(ftruncate(args.fd, 256), 0);
    ck_assert_uint_eq(nn_hal_import_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    close(args.fd);
    *ret_memory = reply.memory;
    return reply.copied_bytes;
}

static uint32_t execute_camera(uint64_t camera)
{
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, camera, 0, 0);
    desk_input(&desk, 0, NULL, memory, 2048, 24);
    desk_output(&desk, 0, NULL, memory, 0, 24);
    return desk_execute(&desk, prepared);
}

TEST(a_driver_that_takes_strides_gets_pictures_as_they_are)
{
    uint64_t camera;

    keeps = true;
    begin();
    ck_assert_uint_eq(import_camera(&camera), 0);
    ck_assert_uint_eq(shown_buffer.n_planes, 3);
    ck_assert_uint_eq(shown_buffer.stride, 64);
    ck_assert_uint_eq(execute_camera(camera), NNHAL_NONE);
    ck_assert_ptr_null(seen_input.data);
    ck_assert_ptr_eq(seen_input.memory, &kept[1]);
    ck_assert_uint_eq(nn_host_copied_bytes(desk.host), 0);
    /* One that keeps nothing gets a copy without the gaps. */
    keeps = false;
    ck_assert_uint_eq(import_camera(&camera), 24);
    ck_assert_uint_eq(execute_camera(camera), NNHAL_NONE);
    ck_assert_ptr_nonnull(seen_input.data);
    ck_assert_uint_eq(nn_host_copied_bytes(desk.host), 24);
    desk_close(&desk);
}
TEST_END

TEST(what_a_driver_refuses_fails_with_its_sentence)
{
    int fd = memfd_create("refused", MFD_CLOEXEC);
    uint64_t refused;

    refused_kind = NNHAL_MEMORY_MMAP_FD;
    begin();
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(
        desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 4096, 0, &refused),
        NNHAL_NONE);
    close(fd);
    ck_assert_uint_eq(execute(refused, memory, 24), NNHAL_GENERAL_FAILURE);
    ck_assert_ptr_nonnull(strstr(desk.reply.message, "cannot decode this mmap_fd"));
    ck_assert_uint_eq(execute(memory, refused, 24), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(fake.n_executed, 0);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("handles", a_driver_sees_each_memory_once_and_whole,
           what_a_driver_keeps_comes_with_every_argument,
           a_driver_that_takes_strides_gets_pictures_as_they_are,
           what_a_driver_refuses_fails_with_its_sentence)
