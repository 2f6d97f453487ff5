/* SPDX-License-Identifier: Apache-2.0 */
/* Real dma-bufs and real fences of a kernel: vgem's, in a virtual machine. The
 * program is root there, and its machine has nothing else to do. */
#include "dmabuf/vgem.h"
#include "e2e/ways.h"

#include <android/hardware_buffer.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CPU ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN)

static int card;

/* A frame of a device: 4 pixels of 4 bytes, which are a tensor of 4 floats. */
struct frame {
    uint32_t handle;
    uint32_t pitch;
    uint64_t size;
    int fd;
    AHardwareBuffer *buffer;
    ANeuralNetworksMemory *memory;
};

static void begin(void)
{
    card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
    ck_assert_msg(card >= 0, "no vgem: %s", strerror(errno));
    ways_begin();
}

static void make_frame(struct frame *frame, bool is_blob)
{
    struct vgem_create dumb = {.width = 4, .height = 1, .bpp = 32};
    struct vgem_export prime = {.flags = O_CLOEXEC | O_RDWR};
    struct nnhal_buffer_plane plane = {.pixel_bytes = 4};
    struct nnhal_hardware_buffer layout = {
        .format = is_blob ? AHARDWAREBUFFER_FORMAT_BLOB : AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
        .height = 1,
        .layers = 1,
        .usage = CPU,
    };

    ck_assert_msg(ioctl(card, VGEM_CREATE, &dumb) == 0, "dumb: %m");
    prime.handle = dumb.handle;
    ck_assert_msg(ioctl(card, VGEM_EXPORT, &prime) == 0, "prime: %m");
    *frame = (struct frame){
        .handle = dumb.handle, .pitch = dumb.pitch, .size = dumb.size, .fd = prime.fd};
    plane.row_bytes = dumb.pitch;
    layout.width = is_blob ? (uint32_t)dumb.size : 4;
    layout.stride = is_blob ? layout.width : dumb.pitch / 4;
    layout.size = dumb.size;
    layout.n_planes = is_blob ? 0 : 1;
    layout.planes = is_blob ? NULL : &plane;
    ck_assert_int_eq(nnhal_hardware_buffer_import(dup(prime.fd), &layout, &frame->buffer), 0);
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(frame->buffer, &frame->memory));
}

static void drop_frame(struct frame *frame)
{
    struct vgem_destroy destroy = {.handle = frame->handle};

    ANeuralNetworksMemory_free(frame->memory);
    AHardwareBuffer_release(frame->buffer);
    close(frame->fd);
    ioctl(card, VGEM_DESTROY, &destroy);
}

static void write_frame(struct frame *frame, const float *values)
{
    void *bytes = NULL;

    ck_assert_int_eq(AHardwareBuffer_lock(frame->buffer, CPU, -1, NULL, &bytes), 0);
    memcpy(bytes, values, 16);
    ck_assert_int_eq(AHardwareBuffer_unlock(frame->buffer, NULL), 0);
}

static void expect_frame(struct frame *frame, const float *values)
{
    void *bytes = NULL;

    ck_assert_int_eq(
        AHardwareBuffer_lock(frame->buffer, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, NULL, &bytes),
        0);
    ck_assert_mem_eq(bytes, values, 16);
    ck_assert_int_eq(AHardwareBuffer_unlock(frame->buffer, NULL), 0);
}

/* z = relu(x * y + x) with x and z in frames. */
static ANeuralNetworksExecution *bind(struct ways_formula *formula, struct frame *x, float *y,
                                      struct frame *z, bool is_blob)
{
    ANeuralNetworksExecution *execution = NULL;
    size_t length = is_blob ? 16 : 0;

    OK(ANeuralNetworksExecution_create(formula->compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, x->memory, 0, length));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, z->memory, 0, length));
    return execution;
}

static const float in[4] = {1, -2, 3, 4}, expected[4] = {2, 2, 0, 12};
static float factor[4] = {1, -2, -2, 2};

TEST(frames_of_a_device_are_tensors_in_place)
{
    struct ways_formula formula;
    struct frame x, z;

    begin();
    OK(ways_formula_compile(&formula));
    for (int is_blob = 0; is_blob < 2; is_blob++) {
        struct nnhal_hardware_buffer_info info = {.size = sizeof(info)};
        ANeuralNetworksExecution *execution;
        uint64_t n_copied;

        make_frame(&x, is_blob);
        make_frame(&z, is_blob);
        ck_assert_int_eq(nnhal_hardware_buffer_get_info(x.buffer, &info), 0);
        ck_assert_str_eq(info.backing_name, "imported");
        write_frame(&x, in);
        execution = bind(&formula, &x, factor, &z, is_blob);
        n_copied = nnhal_get_copied_bytes();
        OK(ANeuralNetworksExecution_compute(execution));
        ck_assert_uint_eq(nnhal_get_copied_bytes() - n_copied, 16); /* y alone */
        expect_frame(&z, expected);
        ANeuralNetworksExecution_free(execution);
        drop_frame(&x);
        drop_frame(&z);
    }
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* A fence of the device on the frame, and a sync_file that tells of it. */
static int attach_fence(struct frame *frame, uint32_t *ret_fence)
{
    struct vgem_attach attach = {.handle = frame->handle, .flags = VGEM_WRITE};
    struct dma_buf_export_sync_file export = {.flags = DMA_BUF_SYNC_READ, .fd = -1};

    ck_assert_msg(ioctl(card, VGEM_ATTACH, &attach) == 0, "attach: %m");
    ck_assert_msg(ioctl(frame->fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export) == 0, "export: %m");
    *ret_fence = attach.fence;
    return export.fd;
}

static void signal_fence(uint32_t fence)
{
    struct vgem_signal signal = {.fence = fence};

    ck_assert_msg(ioctl(card, VGEM_SIGNAL, &signal) == 0, "signal: %m");
}

static bool has_signalled(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

TEST(an_execution_waits_for_the_fence_of_a_device)
{
    struct ways_formula formula;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksEvent *after = NULL, *done = NULL;
    const ANeuralNetworksEvent *list[1];
    struct frame x, z;
    int sync_file, result_fd = -1;
    uint32_t fence;

    begin();
    OK(ways_formula_compile(&formula));
    make_frame(&x, false);
    make_frame(&z, false);
    write_frame(&x, in);
    execution = bind(&formula, &x, factor, &z, false);
    sync_file = attach_fence(&x, &fence);
    ck_assert(!has_signalled(sync_file));
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(sync_file, &after));
    list[0] = after;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution, list, 1, 0, &done));
    ways_nap(100000000);
    if (ANeuralNetworksEvent_getSyncFenceFd(done, &result_fd) == ANEURALNETWORKS_NO_ERROR) {
        ck_assert(!has_signalled(result_fd));
        close(result_fd);
    }
    signal_fence(fence);
    OK(ANeuralNetworksEvent_wait(done));
    expect_frame(&z, expected);
    ck_assert(has_signalled(sync_file));
    close(sync_file);
    ANeuralNetworksEvent_free(after);
    ANeuralNetworksEvent_free(done);
    ANeuralNetworksExecution_free(execution);
    drop_frame(&x);
    drop_frame(&z);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

TEST(a_lock_waits_for_the_fence_of_a_device)
{
    struct frame x;
    uint32_t fence;
    int sync_file;
    void *bytes;

    begin();
    make_frame(&x, false);
    sync_file = attach_fence(&x, &fence);
    signal_fence(fence);
    ck_assert_int_eq(AHardwareBuffer_lock(x.buffer, CPU, sync_file, NULL, &bytes), 0);
    ck_assert_int_eq(AHardwareBuffer_unlock(x.buffer, NULL), 0);
    ck_assert_int_eq(fcntl(sync_file, F_GETFD), -1); /* it was closed */
    drop_frame(&x);
    ways_end();
}
TEST_END

TEST(what_contradicts_the_dma_buf_is_refused)
{
    struct nnhal_buffer_plane plane = {.row_bytes = 16, .pixel_bytes = 4};
    struct nnhal_hardware_buffer layout = {
        .format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
        .width = 4,
        .height = 1,
        .layers = 1,
        .usage = CPU,
        .stride = 4,
        .n_planes = 1,
        .planes = &plane,
    };
    AHardwareBuffer *buffer = NULL;
    struct frame x;

    begin();
    make_frame(&x, false);
    layout.size = x.size + 1;
    ck_assert_int_eq(nnhal_hardware_buffer_import(dup(x.fd), &layout, &buffer), -EINVAL);
    layout.size = x.size;
    layout.height = 100000;
    ck_assert_int_eq(nnhal_hardware_buffer_import(dup(x.fd), &layout, &buffer), -EINVAL);
    drop_frame(&x);
    ways_end();
}
TEST_END

CHECK_MAIN("dmabuf", frames_of_a_device_are_tensors_in_place,
           an_execution_waits_for_the_fence_of_a_device, a_lock_waits_for_the_fence_of_a_device,
           what_contradicts_the_dma_buf_is_refused)
