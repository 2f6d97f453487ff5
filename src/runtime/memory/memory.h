/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - bytes that devices can reach
 *
 * A memory is a file descriptor with a range: what an application gave
 * (createFromFd, createFromAHardwareBuffer), or a pool of our own for large
 * constants and for arguments given by pointer. Or it lies in a device and has no
 * descriptor (domain.h). It is imported into each session once, when it is first
 * used there, and then known by its id. Models and executions hold references,
 * so that the application may free its handle at any time.
 * Threads: any. */
#ifndef NN_RUNTIME_MEMORY_MEMORY_H
#define NN_RUNTIME_MEMORY_MEMORY_H

#include "runtime/object.h"
#include "runtime/result.h"
#include "runtime/session.h"

#include <android/NeuralNetworksTypes.h>
#include <android/hardware_buffer.h>

struct nn_region;
struct nn_rt_domain;
struct nn_rt_memory_import;

struct ANeuralNetworksMemory {
    struct nn_rt_object object;
    uint32_t kind; /* enum nnhal_memory_kind */
    uint32_t prot;
    uint64_t size;
    uint64_t offset;
    int fd;
    struct nn_region *region;    /* our own pools only */
    AHardwareBuffer *buffer;     /* NULL: it is none */
    struct nn_rt_domain *domain; /* made from a descriptor; NULL: it was not */
    struct nn_rt_domain *(*free_domain)(struct nn_rt_domain *domain); /* NULL without one */
    pthread_mutex_t lock;                                             /* of imports */
    struct nn_rt_memory_import *imports;
    bool was_exposed; /* to a session that ended, and is no longer among them; or for good */
};

/* nn_rt_memory_from_fd() - duplicates fd. Returns: 0, OP_FAILED, -ENOMEM. */
int nn_rt_memory_from_fd(uint64_t size, int prot, int fd, uint64_t offset, struct nn_why *why,
                         ANeuralNetworksMemory **ret_memory);

/* nn_rt_memory_from_buffer() - keeps a reference to buffer. Returns: 0, -ENOMEM. */
int nn_rt_memory_from_buffer(AHardwareBuffer *buffer, ANeuralNetworksMemory **ret_memory);

/* nn_rt_memory_is_opaque() - an image, which arguments can only have as a whole:
 * offset and length are 0. */
bool nn_rt_memory_is_opaque(const ANeuralNetworksMemory *memory);

/* nn_rt_memory_new_pool() - n_bytes of zeroed sealed memory. name is for /proc.
 * Returns: 0, -ENOMEM, -errno. */
int nn_rt_memory_new_pool(const char *name, uint64_t n_bytes, ANeuralNetworksMemory **ret_memory);

/* nn_rt_memory_new_in_device() - without bytes of its own; the caller sets its domain.
 * n_bytes 0: not known. Returns: 0, -ENOMEM. */
int nn_rt_memory_new_in_device(uint64_t n_bytes, ANeuralNetworksMemory **ret_memory);

/* nn_rt_memory_is_in_device() - whether this process cannot reach its bytes. */
bool nn_rt_memory_is_in_device(const ANeuralNetworksMemory *memory);

/* nn_rt_memory_map() - its bytes, as long as the reference is held.
 * Returns: 0; UNMAPPABLE; BAD_DATA; -ENOMEM. */
int nn_rt_memory_map(const ANeuralNetworksMemory *memory, struct nn_why *why,
                     struct nn_region **ret_region);

/* nn_rt_memory_read() - copies bytes, which must lie in it, out of a memory that is not in a device.
 * Returns: 0; as nn_rt_memory_map(). */
int nn_rt_memory_read(const ANeuralNetworksMemory *memory, uint64_t offset, void *ret_bytes,
                      uint64_t n_bytes, struct nn_why *why);

/* nn_rt_memory_data() - where our own pool is mapped. */
uint8_t *nn_rt_memory_data(const ANeuralNetworksMemory *memory);

ANeuralNetworksMemory *nn_rt_memory_ref(ANeuralNetworksMemory *memory);
ANeuralNetworksMemory *nn_rt_memory_unref(ANeuralNetworksMemory *memory);

/* nn_rt_memory_check_range() - whether an argument may lie there: at least one byte,
 * inside the memory, or 0 and 0 for what is used as a whole. Returns: 0, BAD_DATA. */
int nn_rt_memory_check_range(const ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                             struct nn_why *why);

/* nn_rt_memory_import() - its id in a session. May call the device.
 * Returns: 0; UNMAPPABLE, DEAD_OBJECT and what the device answers; -ENOMEM. */
int nn_rt_memory_import(ANeuralNetworksMemory *memory, struct nn_rt_session *session,
                        struct nn_why *why, uint64_t *ret_id);

/* nn_rt_memory_copied_bytes() - what a computation in a session that it was imported into copies for
 * an argument in it: an image with gaps, of which the driver gets a copy without them. */
uint64_t nn_rt_memory_copied_bytes(ANeuralNetworksMemory *memory,
                                   const struct nn_rt_session *session);

/* nn_rt_memory_is_exposed() - whether a session that has ended still may have it mapped: a
 * process that was given up can write to it. */
bool nn_rt_memory_is_exposed(ANeuralNetworksMemory *memory);

/* nn_rt_memory_expose() - from now on it is: a session that lives may write to it at any time. */
void nn_rt_memory_expose(ANeuralNetworksMemory *memory);

/* nn_rt_memory_n_imports() - memories that this process has made known to devices
 * so far: how often one was sent, and mapped by the driver's process. */
uint64_t nn_rt_memory_n_imports(void);

NN_DEFINE_CLEANUP(ANeuralNetworksMemory, nn_rt_memory_unref)

#endif
