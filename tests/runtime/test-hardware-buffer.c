/* SPDX-License-Identifier: Apache-2.0 */
/* AHardwareBuffer and ASharedMemory as an application sees them. */
#include "rt.h"

#include "base/cleanup.h"
#include "base/fence.h"
#include "hal/hal.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "support/fds.h"

#include <android/sharedmem.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ  ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN)
#define WRITE ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY)

static AHardwareBuffer *buffer_allocate(uint32_t format, uint32_t width, uint32_t height,
                                        uint64_t usage)
{
    const AHardwareBuffer_Desc desc = {
        .width = width, .height = height, .layers = 1, .format = format, .usage = usage};
    AHardwareBuffer *buffer = NULL;

    ck_assert_int_eq(AHardwareBuffer_allocate(&desc, &buffer), 0);
    return buffer;
}

static struct nnhal_hardware_buffer_info info_of(const AHardwareBuffer *buffer)
{
    struct nnhal_hardware_buffer_info info = {.size = sizeof(info)};

    ck_assert_int_eq(nnhal_hardware_buffer_get_info(buffer, &info), 0);
    return info;
}

TEST(a_buffer_is_what_was_asked_for_and_gone_afterwards)
{
    size_t n_fds = count_fds(), n_mappings = count_mappings("nnhal-buffer");
    AHardwareBuffer *buffer = buffer_allocate(AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 30, 20,
                                              READ | WRITE);
    struct nnhal_hardware_buffer_info info = info_of(buffer);
    AHardwareBuffer_Desc desc;

    AHardwareBuffer_describe(buffer, &desc);
    ck_assert_uint_eq(desc.width, 30);
    ck_assert_uint_eq(desc.height, 20);
    ck_assert_uint_eq(desc.layers, 1);
    ck_assert_uint_eq(desc.format, AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM);
    ck_assert_uint_eq(desc.usage, READ | WRITE);
    ck_assert_uint_eq(desc.stride, 30);
    ck_assert_int_eq(AHardwareBuffer_isSupported(&desc), 1);
    ck_assert_uint_le(info.backing, NNHAL_BACKING_MEMFD);
    ck_assert_uint_gt(strlen(info.backing_name), 3);
    ck_assert_uint_eq(info.layout->size, 1800);
    AHardwareBuffer_acquire(buffer);
    AHardwareBuffer_release(buffer);
    AHardwareBuffer_describe(buffer, &desc);
    AHardwareBuffer_release(buffer);
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(count_mappings("nnhal-buffer"), n_mappings);
}
TEST_END

TEST(descriptions_that_make_no_buffer_are_refused)
{
    const AHardwareBuffer_Desc good = {
        .width = 4, .height = 4, .layers = 1, .format = 1, .usage = READ};
    AHardwareBuffer_Desc bad[8];
    const int codes[8] = {-EINVAL, -EINVAL, -EINVAL, -ENOTSUP, -ENOTSUP, -EINVAL, -EINVAL, -EINVAL};
    AHardwareBuffer *buffer = NULL;

    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].width = 0;
    bad[1].height = 0;
    bad[2].layers = 0;
    bad[3].format = 99;
    bad[4].usage = AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT;
    bad[5].rfu0 = 1;
    bad[6].rfu1 = 1;
    bad[7].format = AHARDWAREBUFFER_FORMAT_BLOB;
    ck_assert_int_eq(AHardwareBuffer_isSupported(&good), 1);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(AHardwareBuffer_allocate(&bad[i], &buffer), codes[i]);
        ck_assert_int_eq(AHardwareBuffer_isSupported(&bad[i]), 0);
    }
    ck_assert_ptr_null(buffer);
    ck_assert_int_eq(AHardwareBuffer_allocate(NULL, &buffer), -EINVAL);
    ck_assert_int_eq(AHardwareBuffer_allocate(&good, NULL), -EINVAL);
    ck_assert_int_eq(AHardwareBuffer_isSupported(NULL), 0);
}
TEST_END

TEST(what_is_written_under_a_lock_is_read_under_the_next)
{
    AHardwareBuffer *buffer = buffer_allocate(AHARDWAREBUFFER_FORMAT_R16_UINT, 5, 3, READ | WRITE);
    const ARect rects[] = {{0, 0, 5, 3}, {1, 1, 2, 2}};
    const ARect bad[] = {{0, 0, 6, 3}, {0, 0, 5, 4}, {-1, 0, 5, 3}, {2, 0, 2, 3}, {0, 3, 5, 1}};
    int32_t pixel_bytes = 0, row_bytes = 0, fence = 7;
    void *bytes = NULL, *again = NULL;

    ck_assert_int_eq(
        AHardwareBuffer_lockAndGetInfo(buffer, WRITE, -1, NULL, &bytes, &pixel_bytes, &row_bytes),
        0);
    ck_assert_int_eq(pixel_bytes, 2);
    ck_assert_int_eq(row_bytes, 10);
    memset(bytes, 0x5a, 30);
    /* One writer, and no reader beside it. */
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, -1, NULL, &again), -EBUSY);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, WRITE, -1, NULL, &again), -EBUSY);
    ck_assert_int_eq(AHardwareBuffer_unlock(buffer, &fence), 0);
    ck_assert_int_eq(fence, -1);
    /* Readers together. */
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, -1, &rects[i], &again), 0);
    ck_assert_ptr_eq(again, bytes);
    ck_assert_int_eq(((uint8_t *)again)[29], 0x5a);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, WRITE, -1, NULL, &again), -EBUSY);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(AHardwareBuffer_unlock(buffer, NULL), 0);
    ck_assert_int_eq(AHardwareBuffer_unlock(buffer, NULL), -EINVAL);
    for (size_t i = 0; i < N_ELEMENTS(bad); i++)
        ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, -1, &bad[i], &again), -EINVAL);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, 0, -1, NULL, &again), -EINVAL);
    ck_assert_int_eq(
        AHardwareBuffer_lock(buffer, AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE, -1, NULL, &again),
        -EINVAL);
    AHardwareBuffer_release(buffer);
    buffer = buffer_allocate(AHARDWAREBUFFER_FORMAT_R16_UINT, 5, 3, READ);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, WRITE, -1, NULL, &again), -EINVAL);
    AHardwareBuffer_release(buffer);
}
TEST_END

TEST(planes_are_locked_together)
{
    AHardwareBuffer *yuv = buffer_allocate(AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 8, 6, READ | WRITE);
    AHardwareBuffer *blob = buffer_allocate(AHARDWAREBUFFER_FORMAT_BLOB, 100, 1, READ | WRITE);
    AHardwareBuffer_Planes planes;
    int32_t pixel_bytes, row_bytes;
    void *bytes;

    ck_assert_int_eq(AHardwareBuffer_lockPlanes(yuv, WRITE, -1, NULL, &planes), 0);
    ck_assert_uint_eq(planes.planeCount, 3);
    ck_assert_uint_eq(planes.planes[0].rowStride, 8);
    ck_assert_uint_eq(planes.planes[1].rowStride, 4);
    ck_assert_uint_eq(planes.planes[2].pixelStride, 1);
    ck_assert_ptr_eq(planes.planes[1].data, (uint8_t *)planes.planes[0].data + 48);
    ck_assert_ptr_eq(planes.planes[2].data, (uint8_t *)planes.planes[1].data + 12);
    ck_assert_int_eq(AHardwareBuffer_unlock(yuv, NULL), 0);
    ck_assert_int_eq(AHardwareBuffer_lock(yuv, WRITE, -1, NULL, &bytes), -EINVAL);
    ck_assert_int_eq(AHardwareBuffer_lockPlanes(blob, WRITE, -1, NULL, &planes), -EINVAL);
    ck_assert_int_eq(
        AHardwareBuffer_lockAndGetInfo(blob, WRITE, -1, NULL, &bytes, &pixel_bytes, &row_bytes), 0);
    ck_assert_int_eq(pixel_bytes, -1);
    ck_assert_int_eq(row_bytes, -1);
    AHardwareBuffer_release(yuv);
    AHardwareBuffer_release(blob);
}
TEST_END

TEST(a_lock_waits_for_its_fence_and_closes_it)
{
    AHardwareBuffer *buffer = buffer_allocate(AHARDWAREBUFFER_FORMAT_R8_UNORM, 4, 4, READ);
    size_t n_fds = count_fds();
    int signaller, fence;
    void *bytes;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    nn_fence_signal(signaller);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, fence, NULL, &bytes), 0);
    ck_assert_int_eq(AHardwareBuffer_unlock(buffer, NULL), 0);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    close(signaller);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, fence, NULL, &bytes), -EIO);
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    close(signaller);
    ck_assert_int_eq(AHardwareBuffer_lock(NULL, READ, fence, NULL, &bytes), -EINVAL);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, 12345, NULL, &bytes), -EINVAL);
    ck_assert_uint_eq(count_fds(), n_fds);
    AHardwareBuffer_release(buffer);
}
TEST_END

/* -- handles --------------------------------------------------------------------- */

static int ends[2];

static void open_ends(int type)
{
    ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_ends(void)
{
    close(ends[0]);
    close(ends[1]);
}

TEST(a_handle_brings_the_same_memory)
{
    const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
    size_t n_fds = count_fds();

    for (size_t i = 0; i < N_ELEMENTS(types); i++) {
        AHardwareBuffer *sent = buffer_allocate(AHARDWAREBUFFER_FORMAT_YCbCr_P010, 4, 4,
                                                READ | WRITE);
        AHardwareBuffer *received = NULL;
        AHardwareBuffer_Planes theirs, ours;
        AHardwareBuffer_Desc desc;

        open_ends(types[i]);
        ck_assert_int_eq(AHardwareBuffer_sendHandleToUnixSocket(sent, ends[0]), 0);
        ck_assert_int_eq(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &received), 0);
        AHardwareBuffer_describe(received, &desc);
        ck_assert_uint_eq(desc.format, AHARDWAREBUFFER_FORMAT_YCbCr_P010);
        ck_assert_uint_eq(info_of(received).backing, NNHAL_BACKING_IMPORTED);
        ck_assert_int_eq(AHardwareBuffer_lockPlanes(sent, WRITE, -1, NULL, &theirs), 0);
        memset(theirs.planes[1].data, 0x77, 16);
        ck_assert_int_eq(AHardwareBuffer_unlock(sent, NULL), 0);
        ck_assert_int_eq(AHardwareBuffer_lockPlanes(received, READ, -1, NULL, &ours), 0);
        ck_assert_mem_eq(ours.planes[2].data, "\x77\x77", 2);
        ck_assert_int_eq(AHardwareBuffer_unlock(received, NULL), 0);
        AHardwareBuffer_release(sent);
        AHardwareBuffer_release(received);
        close_ends();
    }
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

/* One message with fds, n of them. */
static void send_raw(const void *bytes, size_t n_bytes, const int *fds, size_t n)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = n_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (n > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS,
                                          .cmsg_len = CMSG_LEN(n * sizeof(int))};
        memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
    }
    ck_assert_int_eq(sendmsg(ends[0], &message, 0), (ssize_t)n_bytes);
}

/* What a good sender sends. */
static size_t record_handle(uint8_t *bytes, size_t n_bytes, int *ret_fd)
{
    AHardwareBuffer *buffer = buffer_allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 8, 8,
                                              READ | WRITE);
    ssize_t n;

    ck_assert_int_eq(AHardwareBuffer_sendHandleToUnixSocket(buffer, ends[0]), 0);
    n = recv(ends[1], bytes, n_bytes, 0);
    ck_assert_int_gt(n, 0);
    *ret_fd = dup(info_of(buffer).fd);
    AHardwareBuffer_release(buffer);
    return (size_t)n;
}

static int buffer_receive(void)
{
    AHardwareBuffer *buffer = NULL;
    int r = AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &buffer);

    AHardwareBuffer_release(buffer);
    return r;
}

TEST(a_handle_is_believed_in_nothing)
{
    uint8_t good[256], bad[256];
    size_t n_fds, n_bytes, n_accepted = 0;
    int fd, unsealed = memfd_create("unsealed", MFD_CLOEXEC), small, pipe_fds[2];

    open_ends(SOCK_SEQPACKET);
    n_bytes = record_handle(good, sizeof(good), &fd);
    ck_assert_int_eq(ftruncate(unsealed, 4096), 0);
    small = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(small, 255), 0);
    ck_assert_int_eq(fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    ck_assert_int_eq(pipe(pipe_fds), 0);
    n_fds = count_fds();
    send_raw(good, n_bytes, &fd, 1);
    ck_assert_int_eq(buffer_receive(), 0);
    /* The wrong number of descriptors, too little, too much. */
    send_raw(good, n_bytes, NULL, 0);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    send_raw(good, n_bytes, (int[]){fd, fd}, 2);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    send_raw(good, n_bytes, (int[]){fd, fd, fd}, 3);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    send_raw(good, n_bytes - 1, &fd, 1);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    memcpy(bad, good, n_bytes);
    send_raw(bad, n_bytes + 1, &fd, 1);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    /* Descriptors that are none, are too small, or can shrink. */
    send_raw(good, n_bytes, &small, 1);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    send_raw(good, n_bytes, &unsealed, 1);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    send_raw(good, n_bytes, &pipe_fds[0], 1);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    send_raw(good, n_bytes, &ends[0], 1);
    ck_assert_int_eq(buffer_receive(), -EPROTO);
    /* Every byte spoilt: what is accepted all the same lies within the file. */
    for (size_t i = 0; i < n_bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            AHardwareBuffer *buffer = NULL;
            void *bytes = NULL;
            int r;

            memcpy(bad, good, n_bytes);
            bad[i] ^= (uint8_t)(1 << bit);
            send_raw(bad, n_bytes, &fd, 1);
            r = AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &buffer);
            ck_assert(r == 0 || r == -EPROTO);
            n_accepted += r == 0;
            if (r == 0 && AHardwareBuffer_lock(buffer, READ, -1, NULL, &bytes) == 0) {
                AHardwareBuffer_Desc desc;

                AHardwareBuffer_describe(buffer, &desc);
                ck_assert_uint_eq(((volatile uint8_t *)bytes)[desc.stride * desc.height - 1], 0);
                AHardwareBuffer_unlock(buffer, NULL);
            }
            AHardwareBuffer_release(buffer);
        }
    ck_assert_uint_gt(n_accepted, 0);
    ck_assert_uint_eq(count_fds(), n_fds);
    close(ends[0]);
    ck_assert_int_eq(buffer_receive(), -EPIPE);
    close(ends[1]);
    ck_assert_int_eq(buffer_receive(), -EBADF);
}
TEST_END

/* -- imports ----------------------------------------------------------------------- */

TEST(a_foreign_descriptor_is_imported_or_refused_and_gone)
{
    const struct nnhal_buffer_plane plane = {.row_bytes = 64, .pixel_bytes = 1};
    struct nnhal_hardware_buffer layout = {
        .format = AHARDWAREBUFFER_FORMAT_R8_UNORM,
        .width = 60,
        .height = 4,
        .layers = 1,
        .usage = READ,
        .size = 256,
        .stride = 64,
        .n_planes = 1,
        .planes = &plane,
    };
    size_t n_fds = count_fds();
    AHardwareBuffer *buffer = NULL;
    void *bytes;

    ck_assert_int_eq(
        nnhal_hardware_buffer_import(ASharedMemory_create("camera", 4096), &layout, &buffer), 0);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, -1, NULL, &bytes), 0);
    ck_assert_int_eq(AHardwareBuffer_unlock(buffer, NULL), 0);
    AHardwareBuffer_release(buffer);
    /* In an order of its own: no CPU reads it. */
    layout.modifier = 1;
    ck_assert_int_eq(
        nnhal_hardware_buffer_import(ASharedMemory_create("camera", 4096), &layout, &buffer), 0);
    ck_assert_int_eq(AHardwareBuffer_lock(buffer, READ, -1, NULL, &bytes), -ENOTSUP);
    AHardwareBuffer_release(buffer);
    layout.modifier = 0;
    ck_assert_int_eq(
        nnhal_hardware_buffer_import(memfd_create("loose", MFD_CLOEXEC), &layout, &buffer),
        -EINVAL);
    layout.size = 5000;
    ck_assert_int_eq(
        nnhal_hardware_buffer_import(ASharedMemory_create("camera", 4096), &layout, &buffer),
        -EINVAL);
    ck_assert_int_eq(nnhal_hardware_buffer_import(dup(0), NULL, &buffer), -EINVAL);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

/* -- memories of buffers -------------------------------------------------------------- */

TEST(images_are_arguments_as_a_whole_and_blobs_are_memories)
{
    const uint32_t n = 64;
    AHardwareBuffer *image = buffer_allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 2, 2,
                                             READ | WRITE);
    AHardwareBuffer *blob = buffer_allocate(AHARDWAREBUFFER_FORMAT_BLOB, 300, 1, READ | WRITE);
    ANeuralNetworksMemory *of_image = NULL, *of_blob = NULL;
    ANeuralNetworksOperandType type;
    ANeuralNetworksModel *model;
    struct rt_run run;
    void *bytes;

    rt_init();
    NULLED(ANeuralNetworksMemory_createFromAHardwareBuffer(NULL, &of_image));
    NULLED(ANeuralNetworksMemory_createFromAHardwareBuffer(image, NULL));
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(image, &of_image));
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(blob, &of_blob));
    ck_assert_int_eq(AHardwareBuffer_lock(image, WRITE, -1, NULL, &bytes), 0);
    memcpy(bytes, (float[4]){1, 2, 3, 4}, 16);
    ck_assert_int_eq(AHardwareBuffer_unlock(image, NULL), 0);
    AHardwareBuffer_release(image); /* the memory keeps it */

    rt_run_create(&run);
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, run.y, 16));
    BAD_DATA(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, of_image, 0, 16));
    BAD_DATA(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, of_image, 4, 0));
    OK(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, of_image, 0, 0));
    BAD_DATA(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, of_blob, 0, 0));
    BAD_DATA(
        ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, of_blob, 290, 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, of_blob, 33, 16));
    OK(ANeuralNetworksExecution_compute(run.execution));
    ck_assert_int_eq(AHardwareBuffer_lock(blob, READ, -1, NULL, &bytes), 0);
    ck_assert_mem_eq((uint8_t *)bytes + 33, ((float[4]){1, 2, 3, 4}), 16);
    ck_assert_int_eq(AHardwareBuffer_unlock(blob, NULL), 0);
    rt_run_done(&run);

    /* Constants: from a blob, never from an image. */
    type = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n);
    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, of_image, 0, 256));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, of_image, 0, 0));
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, of_blob, 45, 256));
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, of_blob, 44, 256));
    BAD_DATA(ANeuralNetworksMemory_copy(of_image, of_blob));
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(of_image);
    ANeuralNetworksMemory_free(of_blob);
    AHardwareBuffer_release(blob);
}
TEST_END

/* What a GPU writes has rows that begin at multiples of 64 bytes. */
TEST(a_padded_image_is_an_argument_too)
{
    AHardwareBuffer *image = buffer_allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 2, 2,
                                             READ | WRITE | AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER);
    ANeuralNetworksMemory *memory = NULL;
    AHardwareBuffer_Desc desc;
    struct rt_run run;
    uint8_t *bytes;

    rt_init();
    AHardwareBuffer_describe(image, &desc);
    ck_assert_uint_gt(desc.stride, 2);
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(image, &memory));
    ck_assert_int_eq(AHardwareBuffer_lock(image, WRITE, -1, NULL, (void **)&bytes), 0);
    memcpy(bytes, (float[2]){1, 2}, 8);
    memcpy(bytes + 4 * (size_t)desc.stride, (float[2]){3, 4}, 8);
    ck_assert_int_eq(AHardwareBuffer_unlock(image, NULL), 0);
    rt_run_create(&run);
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, NULL, run.y, 16));
    OK(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, memory, 0, 0));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
    OK(ANeuralNetworksExecution_compute(run.execution));
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_float_eq(run.z[i], (float)(i + 1));
    rt_run_done(&run);
    ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(image);
}
TEST_END

/* -- ASharedMemory ---------------------------------------------------------------------- */

static const struct nn_hal_ops *honest;

static uint32_t import_with_a_lie(struct nn_hal *hal, const struct nn_hal_import_memory_args *args,
                                  struct nn_hal_import_memory_reply *reply, struct nn_arena *arena)
{
    uint32_t status = honest->import_memory(hal, args, reply, arena);

    reply->copied_bytes = UINT64_MAX;
    return status;
}

TEST(no_device_copies_more_of_an_image_than_there_is)
{
    AHardwareBuffer *buffer;
    ANeuralNetworksMemory *memory = NULL;
    struct nn_rt_session *session = NULL;
    struct nn_hal_ops lying;
    struct nn_why why = {0};
    uint64_t id;

    rt_init();
    buffer = buffer_allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 4, 2, READ | WRITE);
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory));
    OK(nn_rt_device_get_session(RT_FAKE, &why, &session));
    honest = session->hal->ops;
    lying = *honest;
    lying.import_memory = import_with_a_lie;
    session->hal->ops = &lying;
    OK(nn_rt_memory_import(memory, session, &why, &id));
    session->hal->ops = honest;
    ck_assert_uint_eq(nn_rt_memory_copied_bytes(memory, session), info_of(buffer).layout->size);
    ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(buffer);
    nn_rt_session_unref(session);
}
TEST_END

TEST(shared_memory_keeps_its_size_and_loses_the_right_to_be_written)
{
    int fd = ASharedMemory_create("pool", 5000), other = memfd_create("other", MFD_CLOEXEC);
    void *before;

    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(ASharedMemory_getSize(fd), 8192);
    ck_assert_int_eq(ftruncate(fd, 0), -1);
    before = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(before, MAP_FAILED);
    ck_assert_int_eq(ASharedMemory_setProt(fd, PROT_READ | PROT_WRITE), 0);
    ck_assert_int_eq(ASharedMemory_setProt(fd, PROT_READ), 0);
    ck_assert_int_eq(ASharedMemory_setProt(fd, PROT_READ), 0);
    ck_assert_ptr_eq(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    memset(before, 1, 8192); /* what is mapped stays so */
    munmap(before, 8192);
    ck_assert_int_eq(ASharedMemory_setProt(fd, PROT_READ | PROT_WRITE), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(ASharedMemory_setProt(fd, PROT_EXEC), -1);
    close(fd);
    ck_assert_int_eq(ASharedMemory_setProt(fd, PROT_READ), -1);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(ASharedMemory_setProt(other, PROT_READ), -1);
    ck_assert_uint_eq(ASharedMemory_getSize(other), 0);
    ck_assert_uint_eq(ASharedMemory_getSize(-1), 0);
    close(other);
    ck_assert_int_eq(ASharedMemory_create("pool", 0), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(ASharedMemory_create("pool", SIZE_MAX), -1);
    fd = ASharedMemory_create(NULL, 1);
    ck_assert_uint_eq(ASharedMemory_getSize(fd), 4096);
    close(fd);
}
TEST_END

CHECK_MAIN("buffer", a_buffer_is_what_was_asked_for_and_gone_afterwards,
           descriptions_that_make_no_buffer_are_refused,
           what_is_written_under_a_lock_is_read_under_the_next, planes_are_locked_together,
           a_lock_waits_for_its_fence_and_closes_it, a_handle_brings_the_same_memory,
           a_handle_is_believed_in_nothing, a_foreign_descriptor_is_imported_or_refused_and_gone,
           images_are_arguments_as_a_whole_and_blobs_are_memories,
           a_padded_image_is_an_argument_too, no_device_copies_more_of_an_image_than_there_is,
           shared_memory_keeps_its_size_and_loses_the_right_to_be_written)
