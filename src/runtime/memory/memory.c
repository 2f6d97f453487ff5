/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/memory.h"

#include "base/arena.h"
#include "base/arith.h"
#include "base/error.h"
#include "runtime/memory/hardware-buffer.h"
#include "shm/region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

struct nn_rt_memory_import {
    struct nn_rt_memory_import *next;
    struct nn_rt_session *session;
    uint64_t id;
    uint64_t copied_bytes; /* for each argument in it: as the device says, at most all of it */
};

static uint64_t n_imports;

uint64_t nn_rt_memory_n_imports(void)
{
    return __atomic_load_n(&n_imports, __ATOMIC_RELAXED);
}

static int memory_new(ANeuralNetworksMemory **ret_memory)
{
    ANeuralNetworksMemory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&memory->object);
    pthread_mutex_init(&memory->lock, NULL);
    memory->fd = -1;
    *ret_memory = memory;
    return 0;
}

int nn_rt_memory_from_fd(uint64_t size, int prot, int fd, uint64_t offset, struct nn_why *why,
                         ANeuralNetworksMemory **ret_memory)
{
    _cleanup_(nn_rt_memory_unrefp) ANeuralNetworksMemory *memory = NULL;
    int r;

    r = memory_new(&memory);
    if (r < 0)
        return nn_error_trace(r);
    /* The application may close its descriptor. Never 0 to 2: a program that closes them and opens
     * others would write into the memory. */
    memory->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (memory->fd < 0)
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "file descriptor %d cannot be duplicated: %m", fd);
    memory->kind = NNHAL_MEMORY_MMAP_FD;
    memory->prot = (uint32_t)prot;
    memory->size = size;
    memory->offset = offset;
    *ret_memory = steal_ptr(&memory);
    return 0;
}

int nn_rt_memory_from_buffer(AHardwareBuffer *buffer, ANeuralNetworksMemory **ret_memory)
{
    const struct nnhal_hardware_buffer *layout = nn_rt_hardware_buffer_layout(buffer);
    ANeuralNetworksMemory *memory = NULL;
    int r;

    r = memory_new(&memory);
    if (r < 0)
        return nn_error_trace(r);
    memory->buffer = nn_rt_hardware_buffer_ref(buffer);
    memory->kind = NNHAL_MEMORY_HARDWARE_BUFFER;
    if (layout->format == AHARDWAREBUFFER_FORMAT_BLOB) {
        memory->kind = NNHAL_MEMORY_HARDWARE_BUFFER_BLOB;
        memory->size = layout->width;
    }
    *ret_memory = memory;
    return 0;
}

bool nn_rt_memory_is_opaque(const ANeuralNetworksMemory *memory)
{
    return memory->kind == NNHAL_MEMORY_HARDWARE_BUFFER;
}

int nn_rt_memory_new_pool(const char *name, uint64_t n_bytes, ANeuralNetworksMemory **ret_memory)
{
    _cleanup_(nn_rt_memory_unrefp) ANeuralNetworksMemory *memory = NULL;
    int r;

    r = memory_new(&memory);
    if (r < 0)
        return nn_error_trace(r);
    r = nn_region_new(name, n_bytes, &memory->region);
    if (r)
        return nn_error_fold(r);
    memory->kind = NNHAL_MEMORY_ASHMEM;
    memory->prot = PROT_READ | PROT_WRITE;
    memory->size = n_bytes;
    *ret_memory = steal_ptr(&memory);
    return 0;
}

int nn_rt_memory_new_in_device(uint64_t n_bytes, ANeuralNetworksMemory **ret_memory)
{
    ANeuralNetworksMemory *memory;
    int r;

    r = memory_new(&memory);
    if (r < 0)
        return nn_error_trace(r);
    memory->size = n_bytes;
    *ret_memory = memory;
    return 0;
}

bool nn_rt_memory_is_in_device(const ANeuralNetworksMemory *memory)
{
    return memory->domain && !memory->region;
}

/* The descriptor that a device gets. */
static int memory_fd(const ANeuralNetworksMemory *memory)
{
    if (memory->buffer)
        return nn_rt_hardware_buffer_fd(memory->buffer);
    return memory->region ? nn_region_fd(memory->region) : memory->fd;
}

int nn_rt_memory_map(const ANeuralNetworksMemory *memory, struct nn_why *why,
                     struct nn_region **ret_region)
{
    const struct nn_region_params params = {
        .kind = memory->kind,
        .prot = memory->prot,
        .size = memory->size,
        .offset = memory->offset,
        .buffer = memory->buffer ? nn_rt_hardware_buffer_layout(memory->buffer) : NULL,
    };
    int r, fd;

    if (memory->region) {
        *ret_region = nn_region_ref(memory->region);
        return 0;
    }
    fd = fcntl(memory_fd(memory), F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return nn_error_origin(-errno);
    r = nn_region_import(fd, &params, 0, ret_region);
    if (r == NN_REGION_E_INVALID || r == NN_REGION_E_UNMAPPABLE)
        return nn_fail(why, ANEURALNETWORKS_UNMAPPABLE,
                       "the memory's file cannot be mapped: %llu bytes at offset %llu",
                       (unsigned long long)memory->size, (unsigned long long)memory->offset);
    return nn_error_fold(r);
}

int nn_rt_memory_read(const ANeuralNetworksMemory *memory, uint64_t offset, void *ret_bytes,
                      uint64_t n_bytes, struct nn_why *why)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    int r = nn_rt_memory_map(memory, why, &region);

    if (r)
        return r;
    if (!nn_range_fits(offset, n_bytes, nn_region_size(region)))
        return nn_fail(why, ANEURALNETWORKS_UNMAPPABLE, "the memory is smaller than it was");
    r = nn_region_begin_access(region, false);
    if (r)
        return nn_error_trace(r);
    memcpy(ret_bytes, (const uint8_t *)nn_region_data(region) + offset, n_bytes);
    return nn_error_trace(nn_region_end_access(region, false));
}

uint8_t *nn_rt_memory_data(const ANeuralNetworksMemory *memory)
{
    return memory->region ? nn_region_data(memory->region) : NULL;
}

ANeuralNetworksMemory *nn_rt_memory_ref(ANeuralNetworksMemory *memory)
{
    nn_rt_object_ref(&memory->object);
    return memory;
}

static void import_free(struct nn_rt_memory_import *import)
{
    struct nn_hal_free_memory_args args = {.memory = import->id};
    struct nn_hal_free_memory_reply reply = {0};
    struct nn_arena arena;

    if (nn_rt_session_is_alive(import->session)) {
        nn_rt_session_bursts_drop_memory(&import->session->bursts, import->id, true);
        nn_arena_init(&arena, 0);
        nn_hal_free_memory(import->session->hal, &args, &reply, &arena);
        nn_arena_done(&arena);
    }
    nn_rt_session_unref(import->session);
    free(import);
}

ANeuralNetworksMemory *nn_rt_memory_unref(ANeuralNetworksMemory *memory)
{
    if (!memory || !nn_rt_object_unref(&memory->object))
        return NULL;
    while (memory->imports) {
        struct nn_rt_memory_import *import = memory->imports;

        memory->imports = import->next;
        import_free(import);
    }
    if (memory->domain)
        memory->free_domain(memory->domain);
    nn_region_unref(memory->region);
    nn_rt_hardware_buffer_unref(memory->buffer);
    closep(&memory->fd);
    pthread_mutex_destroy(&memory->lock);
    nn_rt_object_done(&memory->object);
    free(memory);
    return NULL;
}

int nn_rt_memory_check_range(const ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                             struct nn_why *why)
{
    if (memory->domain)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a memory made from a descriptor holds inputs and outputs of its roles, "
                       "no constants");
    if (nn_rt_memory_is_opaque(memory))
        return offset == 0 && length == 0
                   ? 0
                   : nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                             "offset %llu and length %llu: a hardware buffer that is no BLOB is "
                             "used as a whole, with 0 and 0",
                             (unsigned long long)offset, (unsigned long long)length);
    if (length && nn_range_fits(offset, length, memory->size))
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                   "%llu bytes at offset %llu do not lie in a memory of %llu bytes",
                   (unsigned long long)length, (unsigned long long)offset,
                   (unsigned long long)memory->size);
}

/* A copy has no more bytes than there are. */
static uint64_t bound_copies(const ANeuralNetworksMemory *memory, uint64_t n_bytes)
{
    uint64_t n_most = memory->buffer ? nn_rt_hardware_buffer_layout(memory->buffer)->size
                                     : memory->size;

    return n_bytes < n_most ? n_bytes : n_most;
}

/* Under the lock, so that two threads do not import the same memory twice. */
static int import_now(ANeuralNetworksMemory *memory, struct nn_rt_session *session,
                      struct nn_why *why, uint64_t *ret_id)
{
    struct nn_hal_import_memory_args args = {
        .kind = memory->kind,
        .prot = memory->prot,
        .size = memory->size,
        .offset = memory->offset,
        .fd = memory_fd(memory),
    };
    struct nn_hal_import_memory_reply reply = {0};
    struct nn_rt_memory_import *import;
    struct nn_arena arena;
    uint32_t status;
    int r;

    import = calloc(1, sizeof(*import));
    if (!import)
        return nn_error_origin(-ENOMEM);
    if (memory->buffer)
        args.buffer = *nn_rt_hardware_buffer_layout(memory->buffer);
    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(session,
                                        nn_hal_import_memory(session->hal, &args, &reply, &arena));
    r = nn_fail_status(why, status, "memory", reply.message);
    nn_arena_done(&arena);
    if (r) {
        free(import);
        /* A range or a protection that the file does not have shows here only. */
        return status == NNHAL_INVALID_ARGUMENT || status == NNHAL_GENERAL_FAILURE
                   ? ANEURALNETWORKS_UNMAPPABLE
                   : r;
    }
    *import = (struct nn_rt_memory_import){memory->imports, nn_rt_session_ref(session),
                                           reply.memory, bound_copies(memory, reply.copied_bytes)};
    memory->imports = import;
    __atomic_add_fetch(&n_imports, 1, __ATOMIC_RELAXED);
    *ret_id = import->id;
    return 0;
}

bool nn_rt_memory_is_exposed(ANeuralNetworksMemory *memory)
{
    bool is_exposed;

    pthread_mutex_lock(&memory->lock);
    is_exposed = memory->was_exposed;
    for (struct nn_rt_memory_import *import = memory->imports; import; import = import->next)
        is_exposed |= !nn_rt_session_is_alive(import->session);
    pthread_mutex_unlock(&memory->lock);
    return is_exposed;
}

void nn_rt_memory_expose(ANeuralNetworksMemory *memory)
{
    pthread_mutex_lock(&memory->lock);
    memory->was_exposed = true;
    pthread_mutex_unlock(&memory->lock);
}

/* Drops imports into sessions that ended, each of which holds a socket. A process that was given up may
 * write all the same. */
static void forget_dead(ANeuralNetworksMemory *memory)
{
    struct nn_rt_memory_import **link = &memory->imports;

    while (*link) {
        struct nn_rt_memory_import *import = *link;

        if (nn_rt_session_is_alive(import->session)) {
            link = &import->next;
            continue;
        }
        *link = import->next;
        memory->was_exposed = true;
        import_free(import);
    }
}

/* Under the lock. */
static const struct nn_rt_memory_import *find_import(const ANeuralNetworksMemory *memory,
                                                     const struct nn_rt_session *session)
{
    const struct nn_rt_memory_import *import = memory->imports;

    while (import && import->session != session)
        import = import->next;
    return import;
}

uint64_t nn_rt_memory_copied_bytes(ANeuralNetworksMemory *memory,
                                   const struct nn_rt_session *session)
{
    const struct nn_rt_memory_import *import;
    uint64_t n_bytes;

    if (!nn_rt_memory_is_opaque(memory))
        return 0;
    pthread_mutex_lock(&memory->lock);
    import = find_import(memory, session);
    n_bytes = import ? import->copied_bytes : 0;
    pthread_mutex_unlock(&memory->lock);
    return n_bytes;
}

int nn_rt_memory_import(ANeuralNetworksMemory *memory, struct nn_rt_session *session,
                        struct nn_why *why, uint64_t *ret_id)
{
    const struct nn_rt_memory_import *import;
    int r = 0;

    if (!nn_rt_session_is_alive(session))
        return nn_fail_status(why, NNHAL_DEAD_OBJECT, "memory", NULL);
    pthread_mutex_lock(&memory->lock);
    import = find_import(memory, session);
    if (import) {
        *ret_id = import->id;
    } else {
        forget_dead(memory);
        r = import_now(memory, session, why, ret_id);
    }
    pthread_mutex_unlock(&memory->lock);
    return r;
}
