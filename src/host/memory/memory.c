/* SPDX-License-Identifier: Apache-2.0 */
#include "host/memory/memory.h"

#include "base/error.h"
#include "host/methods.h"
#include "host/services.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BUFFER_LEVEL = 3, /* the feature level that has hardware buffers */
};

struct nn_memory *nn_memory_get(struct nn_host_session *session, uint64_t id)
{
    return (struct nn_memory *)nn_objects_get(&session->objects, id, NN_OBJECT_MEMORY);
}

struct nn_memory *nn_memory_unref(struct nn_memory *memory)
{
    if (memory)
        nn_object_unref(&memory->object);
    return NULL;
}

uint64_t nn_memory_size(const struct nn_memory *memory)
{
    return memory->is_opaque ? UINT64_MAX : memory->n_view;
}

bool nn_memory_is_broken(const struct nn_memory *memory)
{
    return nn_region_is_broken(memory->region);
}

bool nn_memory_is_copied(const struct nn_memory *memory)
{
    return memory->is_padded && !memory->driver_memory;
}

static void memory_destroy(struct nn_object *object)
{
    struct nn_memory *memory = (struct nn_memory *)object;

    if (memory->driver_memory && memory->session->host->driver.release_memory)
        memory->session->host->driver.release_memory(memory->driver_memory);
    if (memory->region && nn_region_may_stall(memory->region))
        __atomic_sub_fetch(&memory->session->n_stalling_files, 1, __ATOMIC_RELEASE);
    nn_region_unref(memory->region);
    nn_quota_release(&memory->pages_charge);
    nn_quota_release(&memory->bytes_charge);
    nn_quota_release(&memory->charge);
    free(memory);
}

static bool is_buffer(uint32_t kind)
{
    return kind == NNHAL_MEMORY_HARDWARE_BUFFER_BLOB || kind == NNHAL_MEMORY_HARDWARE_BUFFER;
}

/* What the region needs to know; the form of a memory is judged there. */
static int memory_map(const struct nn_host_session *session,
                      const struct nn_hal_import_memory_args *args, struct nn_region **ret_region)
{
    const struct nn_region_params params = {
        .kind = args->kind,
        .prot = args->prot,
        .size = args->size,
        .offset = args->offset,
        .buffer = is_buffer(args->kind) ? &args->buffer : NULL,
    };
    int fd = fcntl(args->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return nn_error_origin(-errno);
    return nn_error_trace(
        nn_region_import(fd, &params, session->is_service ? NN_REGION_GUARD : 0, ret_region));
}

/* Where arguments lie in it: all of a sized memory, the pixels of a buffer. */
static void find_view(struct nn_memory *memory)
{
    uint64_t offset = 0;

    memory->n_view = nn_region_size(memory->region);
    memory->view = nn_region_data(memory->region);
    if (!memory->is_opaque)
        return;
    if (memory->view &&
        nn_plane_layout_find_packed(&memory->layout.buffer, &offset, &memory->n_view))
        memory->view = (char *)memory->view + offset;
    else
        memory->view = NULL;
    memory->is_padded = !memory->view && nn_region_data(memory->region) &&
                        nn_plane_layout_find_dense(&memory->layout.buffer, &memory->n_view);
}

/* -- the driver's opinion ------------------------------------------------------------ */

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"ashmem", "mmap_fd", "hardware_buffer_blob",
                                        "hardware_buffer"};

    return names[kind];
}

static uint32_t ask_driver(struct nn_memory *memory)
{
    const struct nnhal_driver *driver = &memory->session->host->driver;
    const struct nnhal_memory_handle handle = {
        .size = sizeof(handle),
        .kind = memory->kind,
        .fd = nn_region_fd(memory->region),
        .data = nn_region_data(memory->region),
        .n_bytes = nn_region_size(memory->region),
        .buffer = is_buffer(memory->kind) ? &memory->layout.buffer : NULL,
        .is_writable = memory->is_writable,
    };

    if (!driver->import_memory)
        return NNHAL_NONE;
    nn_services_clear();
    return driver->import_memory(memory->session->host->device, &handle, &memory->driver_memory);
}

static void memory_decode(struct nn_memory *memory)
{
    const char *text = NULL;

    if (ask_driver(memory) != NNHAL_NONE) {
        memory->driver_memory = NULL;
        text = nn_services_explanation() ? nn_services_explanation() : "it does not say why";
    } else if (!memory->view && !memory->is_padded && !memory->driver_memory) {
        text = "its pixels do not lie in rows: allocate it for the CPU, or use a BLOB buffer";
    }
    memory->is_decoded = text == NULL;
    if (text)
        snprintf(memory->refusal, sizeof(memory->refusal), "driver %s cannot decode this %s: %s",
                 memory->session->host->driver.name, kind_name(memory->kind), text);
}

uint32_t nn_memory_check_decoded(struct nn_call *call, const struct nn_memory *memory,
                                 const char *whose, uint32_t i)
{
    if (memory->is_decoded)
        return NNHAL_NONE;
    return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "pool %u of the %s: %s", i, whose,
                        memory->refusal);
}

/* -- import_memory ---------------------------------------------------------------------- */

static uint32_t say_unmapped(struct nn_call *call, const struct nn_hal_import_memory_args *args,
                             int r)
{
    if ((r == NN_REGION_E_INVALID || r == -EBADF) && is_buffer(args->kind))
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "the hardware buffer is malformed: format 0x%x, %u x %u x %u, stride %u, %u "
            "planes and %llu bytes must agree with each other and with the descriptor",
            args->buffer.format, args->buffer.width, args->buffer.height, args->buffer.layers,
            args->buffer.stride, args->buffer.n_planes, (unsigned long long)args->buffer.size);
    if (r == NN_REGION_E_INVALID || r == -EBADF)
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "the memory is malformed: kind %u, %llu bytes at offset %llu, protection %u "
            "must name a part of an open file",
            args->kind, (unsigned long long)args->size, (unsigned long long)args->offset,
            args->prot);
    if (r == NN_REGION_E_UNMAPPABLE)
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "the memory cannot be mapped by the driver's process: use a memfd or a file "
            "that is open for what the memory is used for");
    if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
        return nn_call_fail_no_memory(call);
    return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "the memory cannot be mapped: %s",
                        strerror(-nn_error_fold(r)));
}

/* What it takes of the quota: what it says that it maps. */
static uint64_t n_bytes(const struct nn_hal_import_memory_args *args)
{
    return args->kind == NNHAL_MEMORY_HARDWARE_BUFFER ? args->buffer.size : args->size;
}

/* A page that is not there yet belongs to the process that touches it first; in the application's
 * own process that is the application. */
static uint32_t charge_pages(struct nn_call *call, struct nn_memory *memory)
{
    uint64_t n_bytes = call->session->is_service ? nn_region_fillable(memory->region) : 0;

    return n_bytes ? nn_call_charge_memory(call, n_bytes, &memory->pages_charge) : NNHAL_NONE;
}

static uint32_t memory_import(struct nn_call *call, const struct nn_hal_import_memory_args *args,
                              struct nn_memory *memory, struct nn_hal_import_memory_reply *reply)
{
    uint32_t status;
    int r;

    status = nn_call_charge(call, NN_QUOTA_MEMORIES, 1, "memories", &memory->charge);
    if (status != NNHAL_NONE)
        return status;
    if (is_buffer(args->kind) && call->session->host->level < BUFFER_LEVEL)
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "device %s is of a feature level that knows no hardware buffers: use shared "
            "memory",
            call->session->host->driver.name);
    r = memory_map(call->session, args, &memory->region);
    if (r != 0)
        return say_unmapped(call, args, r);
    if (nn_region_may_stall(memory->region))
        __atomic_add_fetch(&call->session->n_stalling_files, 1, __ATOMIC_RELEASE);
    status = nn_call_charge(call, NN_QUOTA_MEMORY_BYTES, n_bytes(args), "bytes of shared memory",
                            &memory->bytes_charge);
    if (status == NNHAL_NONE)
        status = charge_pages(call, memory);
    if (status != NNHAL_NONE)
        return status;
    memory->kind = args->kind;
    memory->is_opaque = args->kind == NNHAL_MEMORY_HARDWARE_BUFFER;
    memory->is_readable = args->kind != NNHAL_MEMORY_MMAP_FD || (args->prot & PROT_READ);
    memory->is_writable = nn_region_is_writable(memory->region);
    if (is_buffer(args->kind))
        nn_plane_layout_copy(&args->buffer, &memory->layout);
    find_view(memory);
    memory_decode(memory);
    if (nn_objects_add(&call->session->objects, &memory->object) < 0)
        return nn_call_fail_no_memory(call);
    reply->memory = memory->object.id;
    reply->copied_bytes = nn_memory_is_copied(memory) ? memory->n_view : 0;
    return NNHAL_NONE;
}

uint32_t nn_host_import_memory(struct nn_call *call, const struct nn_hal_import_memory_args *args,
                               struct nn_hal_import_memory_reply *reply)
{
    _cleanup_(nn_memory_unrefp) struct nn_memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return nn_call_fail_no_memory(call);
    nn_object_init(&memory->object, NN_OBJECT_MEMORY, memory_destroy);
    memory->session = call->session;
    return memory_import(call, args, memory, reply);
}

uint32_t nn_host_free_memory(struct nn_call *call, const struct nn_hal_free_memory_args *args,
                             struct nn_hal_free_memory_reply *reply)
{
    nn_objects_remove(&call->session->objects, args->memory, NN_OBJECT_MEMORY);
    return NNHAL_NONE;
}
