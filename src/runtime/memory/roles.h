/* SPDX-License-Identifier: Apache-2.0 */
/* roles.h - what a memory is to be used for: inputs and outputs of compilations
 *
 * ANeuralNetworksMemoryDesc collects roles and dimensions, and memories made
 * from it keep a copy. All roles are operands of one kind: type, scale, zero
 * point and extra parameters agree, and what is known of their dimensions adds
 * up. Dims that no role tells stay 0.
 *
 *     OPEN --finish()--> FINISHED, never changes again
 *
 * Compilations are referenced, so that all may be freed in any order.
 * One thread at a time until finish() has returned, then any. */
#ifndef NN_RUNTIME_MEMORY_ROLES_H
#define NN_RUNTIME_MEMORY_ROLES_H

#include "runtime/compilation/compilation.h"

struct nn_rt_role {
    ANeuralNetworksCompilation *compilation;
    bool is_input;
    uint32_t index;
    float frequency; /* of use, above 0 and at most 1 */
};

struct nn_rt_roles {
    uint32_t n_roles;
    struct nn_rt_role *roles;
    const struct nnhal_operand *operand; /* of the first role; NULL: none yet */
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK]; /* of all roles and the descriptor together */
};

struct ANeuralNetworksMemoryDesc {
    struct nn_rt_object object;
    bool is_finished;
    struct nn_rt_roles roles;
};

/* nn_rt_memory_desc_new() - Returns: 0, -ENOMEM. */
int nn_rt_memory_desc_new(ANeuralNetworksMemoryDesc **ret_desc);
ANeuralNetworksMemoryDesc *nn_rt_memory_desc_free(ANeuralNetworksMemoryDesc *desc);

/* One function per call of the API; Returns: as NeuralNetworks.h says, or -ENOMEM. A call that
 * fails changes nothing. */
int nn_rt_memory_desc_add_role(ANeuralNetworksMemoryDesc *desc, const struct nn_rt_role *role,
                               struct nn_why *why);
int nn_rt_memory_desc_set_dims(ANeuralNetworksMemoryDesc *desc, uint32_t rank, const uint32_t *dims,
                               struct nn_why *why);
int nn_rt_memory_desc_finish(ANeuralNetworksMemoryDesc *desc, struct nn_why *why);

/* nn_rt_roles_copy() - with references of its own. Returns: 0, -ENOMEM. */
int nn_rt_roles_copy(struct nn_rt_roles *ret, const struct nn_rt_roles *roles);
void nn_rt_roles_done(struct nn_rt_roles *roles);

/* nn_rt_roles_expand() - the roles as devices have them, in arena: those of a compilation that is
 * computed in parts are its parts', as many as use the argument. Nothing is referenced.
 * Returns: 0, -ENOMEM. */
int nn_rt_roles_expand(const struct nn_rt_roles *roles, struct nn_arena *arena,
                       struct nn_rt_role **ret_roles, uint32_t *ret_n_roles);

/* nn_rt_roles_has() - whether the memory may be this argument. */
bool nn_rt_roles_has(const struct nn_rt_roles *roles, const ANeuralNetworksCompilation *compilation,
                     bool is_input, uint32_t index);

#endif
