/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the memories of a session: an id, and a mapping that never moves
 *
 * A memory is mapped once, when it is imported, and used by address from then
 * on. Prepared models keep the pools of their constants, executions those of
 * their arguments, each with a reference of its own: freeing the id takes
 * nothing away from them.
 *
 * The driver is asked once whether it can decode a memory (import_memory in
 * nnhal/driver.h). One that it cannot decode has an id all the same; what is
 * asked of it fails with the driver's sentence. A hardware buffer is used as a
 * whole: where its pixels lie without gaps they are a tensor's bytes, its view.
 * Where its rows have gaps it is padded: a driver that takes memories as they
 * are uses it so, others a copy (picture.h). What no CPU reads is for the former alone.
 *
 * A memory that the SIGBUS guard has replaced by zero pages is broken for
 * good: what was computed from it, or into it, ends in GENERAL_FAILURE. */
#ifndef NN_HOST_MEMORY_MEMORY_H
#define NN_HOST_MEMORY_MEMORY_H

#include "host/call.h"
#include "host/session.h"
#include "shm/plane-layout.h"
#include "shm/region.h"

struct nn_memory {
    struct nn_object object;         /* first */
    struct nn_host_session *session; /* outlives it */
    struct nn_region *region;
    uint32_t kind;   /* enum nnhal_memory_kind */
    bool is_opaque;  /* a hardware_buffer */
    bool is_padded;  /* one that has no view, but n_view bytes of pixels */
    void *view;      /* NULL: there is none */
    uint64_t n_view; /* bytes */
    bool is_readable;
    bool is_writable;
    bool is_decoded;               /* the driver can use it */
    void *driver_memory;           /* what the driver keeps of it, or NULL */
    char refusal[256];             /* why not */
    struct nn_plane_layout layout; /* of hardware buffers */
    struct nn_quota_charge charge;
    struct nn_quota_charge bytes_charge;
    struct nn_quota_charge pages_charge; /* pages that touching it may make ours */
};

/* nn_memory_get() - a reference to the memory of that id, NULL if there is none. */
struct nn_memory *nn_memory_get(struct nn_host_session *session, uint64_t id);

/* nn_memory_unref() - accepts NULL; returns NULL. */
struct nn_memory *nn_memory_unref(struct nn_memory *memory);

NN_DEFINE_CLEANUP(struct nn_memory, nn_memory_unref)

/* nn_memory_size() - bytes; UINT64_MAX of one that is used as a whole. */
uint64_t nn_memory_size(const struct nn_memory *memory);

/* nn_memory_is_copied() - whether each argument in it is a copy, which has n_view bytes (picture.h). */
bool nn_memory_is_copied(const struct nn_memory *memory);

/* nn_memory_is_broken() - whether the guard has had to replace it. */
bool nn_memory_is_broken(const struct nn_memory *memory);

/* nn_memory_check_decoded() - whether the driver can use it. whose ("model",
 * "request") and i say which pool it is, for the sentence.
 * Returns: NNHAL_NONE, GENERAL_FAILURE with *message set. */
uint32_t nn_memory_check_decoded(struct nn_call *call, const struct nn_memory *memory,
                                 const char *whose, uint32_t i);

#endif
