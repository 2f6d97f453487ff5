/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - the buffers of a session: memory of the device's own (memory domains)
 *
 * A buffer is made for roles, inputs and outputs of prepared models, and serves
 * as nothing else. Requests name it by its token: a random number that is found
 * in its own session only, and never 0.
 *
 *                     copy_from, or an execution with it as output
 *     uninitialized ------------------------------------------------> initialized
 *          ^                                                              |
 *          +---------------- the same, begun and failed ------------------+
 *
 * Admission: readers together, or one writer alone. A request that comes when that
 * cannot be is refused with GENERAL_FAILURE at once; none ever waits. Who
 * was admitted may look at the state and the bytes without a lock, and a
 * writer is the only one who changes them.
 *
 * Shape: what the descriptor and the roles agree on, 0 where they leave it
 * open, never changes; the present dimensions are those of the writer that initialized
 * the buffer last. A buffer whose shape is open grows as outputs need it.
 *
 * Its bytes are this host's, zeroed pages, or the driver's own if it has
 * allocate_buffer() and took the buffer (driver.h). Freeing takes id and token
 * away at once; the bytes go when the last admission ends, even if a
 * reusable execution still holds a reference. */
#ifndef NN_HOST_MEMORY_BUFFER_H
#define NN_HOST_MEMORY_BUFFER_H

#include "host/execution/prepared.h"

/* One thing that a buffer may be used as. */
struct nn_buffer_role {
    uint64_t prepared_model; /* an id: never used twice */
    uint32_t is_output;
    uint32_t index;
};

/* What a buffer's contents lie in. */
struct nn_buffer_store {
    void *bytes;                   /* the host's pages; NULL if they are the driver's */
    size_t mapped_bytes;           /* of the host's pages */
    void *driver_buffer;           /* NULL: the host's */
    uint64_t capacity;             /* bytes that a value may have */
    struct nn_quota_charge charge; /* of capacity, or of what is reserved next */
};

struct nn_buffer {
    struct nn_object object; /* first */
    struct nn_host_session *session;
    struct nn_buffer *next; /* of its chain, guarded by the table's lock */
    uint32_t token;
    uint32_t n_roles;
    struct nn_buffer_role *roles; /* sorted */
    uint32_t type;                /* enum nnhal_operand_type */
    uint32_t n_dimensions;        /* as agreed; 0: a scalar, or the rank is open */
    uint32_t dimensions[NNHAL_MAX_RANK];
    struct nn_quota_charge charge;
    struct nn_quota_charge roles_charge; /* their bytes, beside the value's */

    pthread_mutex_t lock; /* guards the three that follow */
    uint32_t n_readers;
    bool has_writer;
    bool is_freed;

    /* Of the admitted. */
    struct nn_buffer_store store;
    bool is_initialized;
    uint32_t n_present; /* the present dimensions, if it is initialized */
    uint32_t present[NNHAL_MAX_RANK];
};

/* nn_buffer_find() - a reference to the session's buffer of that token, NULL if there is none. */
struct nn_buffer *nn_buffer_find(struct nn_host_session *session, uint32_t token);

/* nn_buffer_unref() - accepts NULL; returns NULL. */
struct nn_buffer *nn_buffer_unref(struct nn_buffer *buffer);

NN_DEFINE_CLEANUP(struct nn_buffer, nn_buffer_unref)

/* nn_buffer_serves_as() - whether the buffer was allocated for that role. */
bool nn_buffer_serves_as(const struct nn_buffer *buffer, const struct nn_prepared *prepared,
                         bool is_output, uint32_t index);

/* nn_buffer_fits() - whether these dimensions agree with the buffer's, 0 being open in either. */
bool nn_buffer_fits(const struct nn_buffer *buffer, uint32_t n_dimensions,
                    const uint32_t *dimensions);

/* nn_buffer_begin() - admission. Returns: NNHAL_NONE, then nn_buffer_end_read() or
 * nn_buffer_end_write() follows; INVALID_ARGUMENT (freed) or GENERAL_FAILURE (in
 * use) with *message set. Never blocks. */
uint32_t nn_buffer_begin(struct nn_call *call, struct nn_buffer *buffer, bool is_write);

void nn_buffer_end_read(struct nn_buffer *buffer);

/* nn_buffer_end_write() - success: the buffer is initialized, with these
 * dimensions, all known; otherwise it is uninitialized. */
void nn_buffer_end_write(struct nn_buffer *buffer, bool is_success, uint32_t n_dimensions,
                         const uint32_t *dimensions);

/* nn_buffer_cancel_write() - of a writer that has changed nothing. */
void nn_buffer_cancel_write(struct nn_buffer *buffer);

/* nn_buffer_charge() - charges a buffer without room for a value of n_bytes, which is to be
 * reserved next. Returns: NNHAL_NONE, RESOURCE_EXHAUSTED_TRANSIENT with *message set. */
uint32_t nn_buffer_charge(struct nn_call *call, struct nn_buffer *buffer, uint64_t n_bytes);

/* nn_buffer_reserve() - room for a value of n_bytes; for the writer. The value
 * that the buffer has stays: a caller that makes room may still be refused. Returns:
 * NNHAL_NONE, RESOURCE_EXHAUSTED_TRANSIENT with *message set. */
uint32_t nn_buffer_reserve(struct nn_call *call, struct nn_buffer *buffer, uint64_t n_bytes);

/* -- making, for allocate.c ------------------------------------------------------ */

/* nn_buffer_new() - a buffer without roles, bytes, token and id. Returns: NULL without memory. */
struct nn_buffer *nn_buffer_new(struct nn_host_session *session);

/* nn_buffer_compare_roles() - the order of struct nn_buffer.roles, for qsort(). */
int nn_buffer_compare_roles(const void *a, const void *b);

/* nn_buffer_publish() - gives it a token and an id. Returns: 0, -errno. */
int nn_buffer_publish(struct nn_buffer *buffer);

#endif
