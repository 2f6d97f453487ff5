/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/hardware-buffer.h"

#include "base/error.h"
#include "base/fence.h"
#include "runtime/object.h"
#include "shm/region.h"

#define CPU_READ  ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_READ_MASK)
#define CPU_WRITE ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK)

enum {
    LOCKED_BY_WRITER = -1,
};

struct AHardwareBuffer {
    uint32_t n_refs;
    enum nn_backing backing;
    int32_t locks; /* readers, or LOCKED_BY_WRITER; atomic */
    struct nn_region *region;
    struct nn_plane_layout layout;
};

/* -- making ------------------------------------------------------------------- */

static AHardwareBuffer *buffer_new(void)
{
    AHardwareBuffer *buffer = calloc(1, sizeof(*buffer));

    if (buffer)
        buffer->n_refs = 1;
    return buffer;
}

AHardwareBuffer *nn_rt_hardware_buffer_ref(AHardwareBuffer *buffer)
{
    if (buffer)
        nn_ref(&buffer->n_refs);
    return buffer;
}

AHardwareBuffer *nn_rt_hardware_buffer_unref(AHardwareBuffer *buffer)
{
    if (buffer && nn_unref(&buffer->n_refs)) {
        nn_region_unref(buffer->region);
        free(buffer);
    }
    return NULL;
}

/* Maps what buffer->layout speaks of. Consumes fd. */
static int buffer_take_fd(AHardwareBuffer *buffer, int fd)
{
    const struct nnhal_hardware_buffer *layout = &buffer->layout.buffer;
    bool is_blob = layout->format == AHARDWAREBUFFER_FORMAT_BLOB;
    const struct nn_region_params params = {
        .kind = is_blob ? NNHAL_MEMORY_HARDWARE_BUFFER_BLOB : NNHAL_MEMORY_HARDWARE_BUFFER,
        .size = is_blob ? layout->width : 0,
        .buffer = layout,
    };
    int r = nn_region_import(fd, &params, 0, &buffer->region);

    return r > 0 ? nn_error_origin(-EINVAL) : nn_error_trace(r);
}

static int layout_of(const AHardwareBuffer_Desc *desc, struct nn_plane_layout *ret_layout)
{
    const struct nnhal_hardware_buffer like = {
        .format = desc->format,
        .width = desc->width,
        .height = desc->height,
        .layers = desc->layers,
        .usage = desc->usage,
    };

    if (desc->rfu0 != 0 || desc->rfu1 != 0)
        return nn_error_origin(-EINVAL);
    switch (nn_plane_layout_init(&like, ret_layout)) {
    case 0:
        return 0;
    case NN_PLANE_LAYOUT_E_UNSUPPORTED:
        return nn_error_origin(-ENOTSUP);
    default:
        return nn_error_origin(-EINVAL);
    }
}

int nn_rt_hardware_buffer_check(const AHardwareBuffer_Desc *desc)
{
    struct nn_plane_layout layout;

    return layout_of(desc, &layout);
}

int nn_rt_hardware_buffer_new(const AHardwareBuffer_Desc *desc, AHardwareBuffer **ret_buffer)
{
    _cleanup_(nn_rt_hardware_buffer_unrefp) AHardwareBuffer *buffer = buffer_new();
    int r, fd = -1;

    if (!buffer)
        return nn_error_origin(-ENOMEM);
    r = layout_of(desc, &buffer->layout);
    if (r == 0)
        r = nn_backing_new(buffer->layout.buffer.size, &buffer->backing, &fd);
    if (r == 0)
        r = buffer_take_fd(buffer, fd);
    if (r < 0)
        return nn_error_trace(r);
    *ret_buffer = steal_ptr(&buffer);
    return 0;
}

int nn_rt_hardware_buffer_import(int fd, const struct nnhal_hardware_buffer *layout,
                                 AHardwareBuffer **ret_buffer)
{
    _cleanup_(nn_rt_hardware_buffer_unrefp) AHardwareBuffer *buffer = NULL;
    _cleanup_(closep) int own = fd;
    int r;

    if (layout->n_planes > NNHAL_MAX_PLANES || (layout->n_planes && !layout->planes))
        return nn_error_origin(-EINVAL);
    buffer = buffer_new();
    if (!buffer)
        return nn_error_origin(-ENOMEM);
    buffer->backing = NN_BACKING_IMPORTED;
    nn_plane_layout_copy(layout, &buffer->layout);
    r = buffer_take_fd(buffer, steal_fd(&own));
    if (r < 0)
        return nn_error_trace(r);
    /* Its pages would vanish under a mapping of ours, which is a signal. */
    if (nn_region_can_shrink(buffer->region))
        return nn_error_origin(-EPERM);
    *ret_buffer = steal_ptr(&buffer);
    return 0;
}

const struct nnhal_hardware_buffer *nn_rt_hardware_buffer_layout(const AHardwareBuffer *buffer)
{
    return &buffer->layout.buffer;
}

int nn_rt_hardware_buffer_fd(const AHardwareBuffer *buffer)
{
    return nn_region_fd(buffer->region);
}

enum nn_backing nn_rt_hardware_buffer_backing(const AHardwareBuffer *buffer)
{
    return buffer->backing;
}

/* -- locks --------------------------------------------------------------------- */

static bool rect_is_inside(const struct nnhal_hardware_buffer *layout, const ARect *rect)
{
    return rect->left >= 0 && rect->top >= 0 && rect->left < rect->right &&
           rect->top < rect->bottom && (uint32_t)rect->right <= layout->width &&
           (uint32_t)rect->bottom <= layout->height;
}

/* As on Android, a buffer can be locked only for what it was allocated for. */
static int check_lock(const AHardwareBuffer *buffer, uint64_t usage, const ARect *rect)
{
    const struct nnhal_hardware_buffer *layout = &buffer->layout.buffer;
    bool reads = (usage & CPU_READ) != 0, writes = (usage & CPU_WRITE) != 0;

    if ((usage & ~(CPU_READ | CPU_WRITE)) || (!reads && !writes) ||
        (reads && !(layout->usage & CPU_READ)) || (writes && !(layout->usage & CPU_WRITE)) ||
        (rect && !rect_is_inside(layout, rect)))
        return nn_error_origin(-EINVAL);
    if (!nn_region_data(buffer->region))
        return nn_error_origin(-ENOTSUP);
    if (writes && !nn_region_is_writable(buffer->region))
        return nn_error_origin(-EACCES);
    return 0;
}

static int wait_for(int fence)
{
    if (fence < 0)
        return 0;
    switch (nn_fence_wait(fence, UINT64_MAX)) {
    case 0:
        return 0;
    case NN_FENCE_E_ERROR:
        return nn_error_origin(-EIO);
    default:
        return nn_error_origin(-EINVAL);
    }
}

/* A reader more, or the only writer. Acquire: pairs with the release in drop_lock(). */
static int take_lock(AHardwareBuffer *buffer, bool is_writer)
{
    int32_t locks = __atomic_load_n(&buffer->locks, __ATOMIC_RELAXED);

    do
        if (locks == LOCKED_BY_WRITER || (is_writer && locks > 0) || locks == INT32_MAX)
            return nn_error_origin(-EBUSY);
    while (!__atomic_compare_exchange_n(&buffer->locks, &locks,
                                        is_writer ? LOCKED_BY_WRITER : locks + 1, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    return 0;
}

static int drop_lock(AHardwareBuffer *buffer)
{
    int32_t locks = __atomic_load_n(&buffer->locks, __ATOMIC_RELAXED);

    do
        if (locks == 0)
            return nn_error_origin(-EINVAL);
    while (!__atomic_compare_exchange_n(&buffer->locks, &locks,
                                        locks == LOCKED_BY_WRITER ? 0 : locks - 1, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return 0;
}

int nn_rt_hardware_buffer_lock(AHardwareBuffer *buffer, uint64_t usage, int fence,
                               const ARect *rect, uint8_t **ret_data)
{
    _cleanup_(closep) int own = fence;
    bool is_writer = (usage & CPU_WRITE) != 0;
    int r;

    r = check_lock(buffer, usage, rect);
    if (r == 0)
        r = wait_for(own);
    if (r == 0)
        r = take_lock(buffer, is_writer);
    if (r < 0)
        return nn_error_trace(r);
    r = nn_region_begin_access(buffer->region, is_writer);
    if (r < 0) {
        drop_lock(buffer);
        return nn_error_trace(r);
    }
    *ret_data = nn_region_data(buffer->region);
    return 0;
}

int nn_rt_hardware_buffer_unlock(AHardwareBuffer *buffer)
{
    int32_t locks = __atomic_load_n(&buffer->locks, __ATOMIC_RELAXED);
    int r, end;

    if (locks == 0)
        return nn_error_origin(-EINVAL);
    end = nn_region_end_access(buffer->region, locks == LOCKED_BY_WRITER);
    r = drop_lock(buffer);
    return nn_error_trace(r < 0 ? r : end);
}
