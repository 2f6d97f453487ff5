/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the memories of a session: an id, and a mapping that never moves
 *
 * A memory is mapped once, when it is imported, and used by address from then
 * on. Prepared models keep the pools of their constants, executions those of
 * their arguments, each with a reference of its own: freeing the id takes
 * nothing away from them. A hardware buffer whose layout is private to somebody
 * is a memory without a mapping: whatever would touch it fails.
 *
 * A memory that the SIGBUS guard has replaced by zero pages is broken for
 * good: what was computed from it, or into it, ends in GENERAL_FAILURE. */
#ifndef NN_HOST_MEMORY_H
#define NN_HOST_MEMORY_H

#include "host/session.h"
#include "shm/region.h"

struct nn_memory {
    struct nn_object object;  /* first */
    struct nn_region *region; /* NULL: cannot be mapped */
    bool is_readable;
    bool is_writable;
    struct nn_quota_charge charge;
    struct nn_quota_charge bytes_charge;
};

/* nn_memory_get() - a reference to the memory of that id, NULL if there is none. */
struct nn_memory *nn_memory_get(struct nn_session *session, uint64_t id);

/* nn_memory_unref() - accepts NULL; returns NULL. */
struct nn_memory *nn_memory_unref(struct nn_memory *memory);

NN_DEFINE_CLEANUP(struct nn_memory, nn_memory_unref)

/* nn_memory_size() - bytes; UINT64_MAX if it cannot be mapped. */
uint64_t nn_memory_size(const struct nn_memory *memory);

/* nn_memory_is_broken() - whether the guard has had to replace it. */
bool nn_memory_is_broken(const struct nn_memory *memory);

#endif
