/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum {
    ALIGNMENT = 4,
    FILE_OFFSET = 4099, /* odd, and beyond the first page */
    GUARD_BYTES = 64,
};

#define CPU_USAGE                                                                                  \
    ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN)

static int new_blob(struct nnt_memory *memory)
{
    const AHardwareBuffer_Desc desc = {
        .width = (uint32_t)memory->n_bytes,
        .height = 1,
        .layers = 1,
        .format = AHARDWAREBUFFER_FORMAT_BLOB,
        .usage = CPU_USAGE,
    };

    if (memory->n_bytes > UINT32_MAX || AHardwareBuffer_allocate(&desc, &memory->buffer) != 0)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    return ANeuralNetworksMemory_createFromAHardwareBuffer(memory->buffer, &memory->memory);
}

static int new_file(struct nnt_memory *memory, size_t offset)
{
    int r, fd = memfd_create("nnt", MFD_CLOEXEC);
    size_t n_mapped = offset + memory->n_bytes;
    void *mapping = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)n_mapped) == 0)
        mapping = mmap(NULL, n_mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    }
    memory->mapping = mapping;
    memory->n_mapped = n_mapped;
    memory->bytes = (uint8_t *)mapping + offset;
    r = ANeuralNetworksMemory_createFromFd(memory->n_bytes, PROT_READ | PROT_WRITE, fd, offset,
                                           &memory->memory);
    close(fd);
    return r;
}

int nnt_memory_new(struct nnt_memory *memory, enum nnt_memory_kind kind, size_t n_bytes)
{
    int r;

    *memory = (struct nnt_memory){.kind = kind, .n_bytes = n_bytes > 0 ? n_bytes : 1};
    if (kind == NNT_MEMORY_BLOB)
        r = new_blob(memory);
    else
        r = new_file(memory, kind == NNT_MEMORY_FD_OFFSET ? FILE_OFFSET : 0);
    if (r != OK)
        nnt_memory_free(memory);
    return r;
}

void nnt_memory_free(struct nnt_memory *memory)
{
    ANeuralNetworksMemory_free(memory->memory);
    AHardwareBuffer_release(memory->buffer);
    if (memory->mapping)
        munmap(memory->mapping, memory->n_mapped);
    *memory = (struct nnt_memory){.kind = NNT_MEMORY_PLAIN};
}

int nnt_memory_begin(struct nnt_memory *memory)
{
    void *bytes = NULL;

    if (!memory->buffer)
        return OK;
    if (AHardwareBuffer_lock(memory->buffer, CPU_USAGE, -1, NULL, &bytes) != 0)
        return ANEURALNETWORKS_UNMAPPABLE;
    memory->bytes = bytes;
    return OK;
}

int nnt_memory_end(struct nnt_memory *memory)
{
    return !memory->buffer || AHardwareBuffer_unlock(memory->buffer, NULL) == 0
               ? OK
               : ANEURALNETWORKS_UNMAPPABLE;
}

size_t nnt_memory_place(enum nnt_memory_kind kind, size_t n_bytes, size_t *at)
{
    size_t gap = kind == NNT_MEMORY_GUARDED ? GUARD_BYTES : 0;
    size_t place = (*at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + gap +
                   (kind == NNT_MEMORY_FD_OFFSET ? 1 : 0);

    *at = place + n_bytes + gap;
    return place;
}
