/* SPDX-License-Identifier: Apache-2.0 */
/* domain.h - what a memory made from a descriptor has beyond its bytes
 *
 * Such a memory lies in the device, as a buffer that the device lays out as it
 * likes, or, where that cannot be had and the rules allow it, in a pool of
 * shared memory. Its owner need not know which: it may be used in its roles
 * only, always as a whole, and has a state.
 *
 *     uninitialized --copied into, or output of a success--> initialized
 *           ^------copying or computing into it failed, its driver died---'
 *
 * Its dimensions are those that roles and descriptor agreed on; what they left
 * open each initialization decides. The buffer belongs to one session: when that
 * dies, the next use makes a new one, whose contents are gone.
 * Threads: any. The lock is held while the device makes a buffer, and never
 * while it copies or computes. */
#ifndef NN_RUNTIME_MEMORY_DOMAIN_H
#define NN_RUNTIME_MEMORY_DOMAIN_H

#include "runtime/memory/memory.h"
#include "runtime/memory/roles.h"

struct nn_rt_domain {
    struct nn_rt_roles roles;
    pthread_mutex_t lock; /* of what follows */
    bool is_initialized;
    bool is_lost;    /* the contents went with the driver's process */
    uint32_t n_dims; /* of the contents, while initialized */
    uint32_t dims[NNHAL_MAX_RANK];
    struct nn_rt_session *session; /* that the buffer is of; NULL: a pool of ours */
    uint64_t buffer;
    uint32_t token;
};

/* What the device calls it. */
struct nn_rt_domain_handle {
    uint64_t buffer;
    uint32_t token; /* in requests */
};

/* nn_rt_domain_new_memory() - a memory in the device that all roles belong to. If there is
 * none, or it refuses, in shared memory: only if the size is known, and the roles are of several
 * devices, or no role's compilation has a list of devices. Roles of a compilation that is computed in
 * parts are those of the parts that use the argument.
 * Returns: 0; BAD_STATE; what the device answers; OP_FAILED; -ENOMEM. */
int nn_rt_domain_new_memory(const ANeuralNetworksMemoryDesc *desc, struct nn_why *why,
                            ANeuralNetworksMemory **ret_memory);

/* nn_rt_domain_new_in_device() - the same for finished roles, without shared memory in its place. */
int nn_rt_domain_new_in_device(const struct nn_rt_roles *roles, struct nn_why *why,
                               ANeuralNetworksMemory **ret_memory);

/* nn_rt_domain_check_role() - Returns: 0, BAD_DATA. */
int nn_rt_domain_check_role(const struct nn_rt_domain *domain,
                            const ANeuralNetworksCompilation *compilation, bool is_input,
                            uint32_t index, struct nn_why *why);

/* nn_rt_domain_get_buffer() - the buffer of a memory in a device, for a session; made anew if the
 * one that had it died. Returns: 0; DEAD_OBJECT and what the device answers; -ENOMEM. */
int nn_rt_domain_get_buffer(struct nn_rt_domain *domain, struct nn_rt_session *session,
                            struct nn_why *why, struct nn_rt_domain_handle *ret_handle);

/* nn_rt_domain_get_session() - the same for a caller without a session: the one that the
 * buffer is of. The reference is the caller's.
 * Returns: as nn_rt_domain_get_buffer(). */
int nn_rt_domain_get_session(struct nn_rt_domain *domain, struct nn_why *why,
                             struct nn_rt_session **ret_session,
                             struct nn_rt_domain_handle *ret_handle);

/* nn_rt_domain_check_input() - whether there are contents, of dims that an input allows.
 * Returns: 0; DEAD_OBJECT: they went with the driver's process; OP_FAILED. */
int nn_rt_domain_check_input(struct nn_rt_domain *domain, uint32_t n_dims, const uint32_t *dims,
                             struct nn_why *why);

/* nn_rt_domain_is_lost() - whether it had contents, which went with the driver's process. */
bool nn_rt_domain_is_lost(struct nn_rt_domain *domain);

/* nn_rt_domain_is_gone() - of a memory in a device: that, or it has no buffer any more. */
bool nn_rt_domain_is_gone(struct nn_rt_domain *domain);

/* nn_rt_domain_set_dims() - what became of it: contents of these dimensions. */
void nn_rt_domain_set_dims(struct nn_rt_domain *domain, uint32_t n_dims, const uint32_t *dims);

/* nn_rt_domain_clear() - its contents are not to be used. */
void nn_rt_domain_clear(struct nn_rt_domain *domain);

/* nn_rt_domain_get_dims() - Returns: false if it is not initialized. ret has room for
 * NNHAL_MAX_RANK. */
bool nn_rt_domain_get_dims(struct nn_rt_domain *domain, uint32_t *ret_n, uint32_t *ret);

#endif
