/* SPDX-License-Identifier: Apache-2.0 */
#include "host/memory.h"

#include "base/error.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

struct nn_memory *nn_memory_get(struct nn_session *session, uint64_t id)
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
    return memory->region ? nn_region_size(memory->region) : UINT64_MAX;
}

bool nn_memory_is_broken(const struct nn_memory *memory)
{
    return memory->region && nn_region_is_broken(memory->region);
}

static void memory_destroy(struct nn_object *object)
{
    struct nn_memory *memory = (struct nn_memory *)object;

    nn_region_unref(memory->region);
    nn_quota_release(&memory->bytes_charge);
    nn_quota_release(&memory->charge);
    free(memory);
}

/* What the region needs to know; the form of a memory is judged there. */
static int map(const struct nn_session *session, const struct nn_hal_import_memory_args *args,
               struct nn_region **ret_region)
{
    const struct nn_region_params params = {
        .kind = args->kind,
        .prot = args->prot,
        .size = args->size,
        .offset = args->offset,
    };
    int fd = fcntl(args->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return nn_error_origin(-errno);
    return nn_error_trace(
        nn_region_import(fd, &params, session->is_service ? NN_REGION_GUARD : 0, ret_region));
}

static uint32_t say_unmapped(const struct nn_hal_import_memory_args *args, int r,
                             struct nn_hal_import_memory_reply *reply, struct nn_arena *arena)
{
    if (r == NN_REGION_E_INVALID || r == -EBADF)
        return nn_say(&reply->message, arena, NNHAL_INVALID_ARGUMENT,
                      "the memory is malformed: kind %u, %llu bytes at offset %llu, protection %u "
                      "must name a part of an open file",
                      args->kind, (unsigned long long)args->size, (unsigned long long)args->offset,
                      args->prot);
    if (r == NN_REGION_E_UNMAPPABLE)
        return nn_say(&reply->message, arena, NNHAL_GENERAL_FAILURE,
                      "the memory cannot be mapped by the driver's process: use a memfd or a file "
                      "that is open for what the memory is used for");
    if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
        return nn_say_no_memory(&reply->message, arena);
    return nn_say(&reply->message, arena, NNHAL_GENERAL_FAILURE, "the memory cannot be mapped: %s",
                  strerror(-nn_error_fold(r)));
}

static uint32_t import(struct nn_session *session, const struct nn_hal_import_memory_args *args,
                       struct nn_memory *memory, struct nn_hal_import_memory_reply *reply,
                       struct nn_arena *arena)
{
    uint32_t status;
    int r;

    status = nn_session_charge(session, NN_QUOTA_MEMORIES, 1, "memories", &memory->charge,
                               &reply->message, arena);
    if (status != NNHAL_NONE)
        return status;
    if (args->kind == NNHAL_MEMORY_HARDWARE_BUFFER) {
        if (args->size != 0 || fcntl(args->fd, F_GETFD) < 0)
            return say_unmapped(args, NN_REGION_E_INVALID, reply, arena);
    } else {
        status = nn_session_charge(session, NN_QUOTA_MEMORY_BYTES, args->size,
                                   "bytes of shared memory", &memory->bytes_charge, &reply->message,
                                   arena);
        if (status != NNHAL_NONE)
            return status;
        r = map(session, args, &memory->region);
        if (r != 0)
            return say_unmapped(args, r, reply, arena);
        memory->is_readable = args->kind != NNHAL_MEMORY_MMAP_FD || (args->prot & PROT_READ);
        memory->is_writable = nn_region_is_writable(memory->region);
    }
    if (nn_objects_add(&session->objects, &memory->object) < 0)
        return nn_say_no_memory(&reply->message, arena);
    reply->memory = memory->object.id;
    return NNHAL_NONE;
}

uint32_t nn_host_import_memory(struct nn_session *session,
                               const struct nn_hal_import_memory_args *args,
                               struct nn_hal_import_memory_reply *reply, struct nn_arena *arena)
{
    _cleanup_(nn_memory_unrefp) struct nn_memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return nn_say_no_memory(&reply->message, arena);
    nn_object_init(&memory->object, NN_OBJECT_MEMORY, memory_destroy);
    return import(session, args, memory, reply, arena);
}

uint32_t nn_host_free_memory(struct nn_session *session, const struct nn_hal_free_memory_args *args,
                             struct nn_hal_free_memory_reply *reply, struct nn_arena *arena)
{
    nn_objects_remove(&session->objects, args->memory, NN_OBJECT_MEMORY);
    return NNHAL_NONE;
}
