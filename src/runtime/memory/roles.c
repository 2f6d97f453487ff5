/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/roles.h"

#include "base/error.h"
#include "model/infer.h"
#include "model/types.h"

#include <string.h>

int nn_rt_memory_desc_new(ANeuralNetworksMemoryDesc **ret_desc)
{
    ANeuralNetworksMemoryDesc *desc = calloc(1, sizeof(*desc));

    if (!desc)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&desc->object);
    *ret_desc = desc;
    return 0;
}

ANeuralNetworksMemoryDesc *nn_rt_memory_desc_free(ANeuralNetworksMemoryDesc *desc)
{
    if (!desc)
        return NULL;
    nn_rt_roles_done(&desc->roles);
    nn_rt_object_done(&desc->object);
    free(desc);
    return NULL;
}

/* -- roles ------------------------------------------------------------------------ */

bool nn_rt_roles_has(const struct nn_rt_roles *roles, const ANeuralNetworksCompilation *compilation,
                     bool is_input, uint32_t index)
{
    for (uint32_t i = 0; i < roles->n_roles; i++)
        if (roles->roles[i].compilation == compilation && roles->roles[i].is_input == is_input &&
            roles->roles[i].index == index)
            return true;
    return false;
}

int nn_rt_roles_copy(struct nn_rt_roles *ret, const struct nn_rt_roles *roles)
{
    struct nn_rt_role *copy = calloc(roles->n_roles, sizeof(*copy));

    if (!copy)
        return nn_error_origin(-ENOMEM);
    *ret = *roles;
    ret->roles = copy;
    for (uint32_t i = 0; i < roles->n_roles; i++) {
        copy[i] = roles->roles[i];
        nn_rt_compilation_ref(copy[i].compilation);
    }
    return 0;
}

void nn_rt_roles_done(struct nn_rt_roles *roles)
{
    for (uint32_t i = 0; i < roles->n_roles; i++)
        nn_rt_compilation_unref(roles->roles[i].compilation);
    free(roles->roles);
    *roles = (struct nn_rt_roles){0};
}

/* -- of parts ---------------------------------------------------------------------- */

/* Adds a role of a part, or counts it where ret is NULL. */
static uint32_t add_part_role(const struct nn_rt_role *role, const struct nn_rt_plan_part *part,
                              bool is_input, uint32_t index, struct nn_rt_role *ret)
{
    if (ret)
        *ret = (struct nn_rt_role){.compilation = part->compilation,
                                   .is_input = is_input,
                                   .index = index,
                                   .frequency = role->frequency};
    return 1;
}

/* An output of the model that other parts read, too, is an input of theirs. */
static bool is_read_by(const struct nn_rt_role *role, const struct nn_rt_plan_source *source)
{
    const struct nn_rt_plan *plan = role->compilation->plan;

    if (role->is_input)
        return !source->is_value && source->index == role->index;
    return source->is_value && plan->values[source->index].output == role->index;
}

/* Returns: how many; ret NULL: they are counted. */
static uint32_t expand_part(const struct nn_rt_role *role, const struct nn_rt_plan_part *part,
                            struct nn_rt_role *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; part->compilation && i < part->n_inputs; i++)
        if (is_read_by(role, &part->sources[i]))
            n += add_part_role(role, part, true, i, ret ? ret + n : NULL);
    for (uint32_t i = 0; part->compilation && !role->is_input && i < part->n_outputs; i++)
        if (part->targets[i].output == role->index)
            n += add_part_role(role, part, false, i, ret ? ret + n : NULL);
    return n;
}

static uint32_t expand_role(const struct nn_rt_role *role, struct nn_rt_role *ret)
{
    const struct nn_rt_plan *plan = role->compilation->plan;
    uint32_t n = 0;

    if (!nn_rt_compilation_is_split(role->compilation)) {
        if (ret)
            *ret = *role;
        return 1;
    }
    for (uint32_t i = 0; i < plan->n_parts; i++)
        n += expand_part(role, &plan->parts[i], ret ? ret + n : NULL);
    return n;
}

int nn_rt_roles_expand(const struct nn_rt_roles *roles, struct nn_arena *arena,
                       struct nn_rt_role **ret_roles, uint32_t *ret_n_roles)
{
    struct nn_rt_role *expanded;
    uint32_t n = 0;

    for (uint32_t i = 0; i < roles->n_roles; i++)
        n += expand_role(&roles->roles[i], NULL);
    expanded = nn_arena_new_n(arena, struct nn_rt_role, n);
    if (!expanded)
        return nn_error_origin(-ENOMEM);
    n = 0;
    for (uint32_t i = 0; i < roles->n_roles; i++)
        n += expand_role(&roles->roles[i], expanded + n);
    *ret_roles = expanded;
    *ret_n_roles = n;
    return 0;
}

/* -- a descriptor's calls ------------------------------------------------------------ */

static int desc_check_open(const ANeuralNetworksMemoryDesc *desc, struct nn_why *why)
{
    if (!desc->is_finished)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   "finish() was called already: the descriptor cannot be changed any more");
}

/* Android answers BAD_DATA, not BAD_STATE, for a compilation that is not finished. */
static int desc_check_role(const ANeuralNetworksMemoryDesc *desc, const struct nn_rt_role *role,
                           struct nn_why *why)
{
    const struct nn_model_io *io;
    uint32_t n;

    if (nn_rt_compilation_check_finished(role->compilation, why))
        return ANEURALNETWORKS_BAD_DATA;
    io = &role->compilation->finished->io;
    n = role->is_input ? io->n_inputs : io->n_outputs;
    if (role->index >= n)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no %s %u: the model has %u",
                       role->is_input ? "input" : "output", role->index, n);
    if (nn_rt_roles_has(&desc->roles, role->compilation, role->is_input, role->index))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s %u of this compilation is a role already",
                       role->is_input ? "input" : "output", role->index);
    if (!(role->frequency > 0.0f && role->frequency <= 1.0f))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "frequency %g: it must be above 0 and at most 1", (double)role->frequency);
    if (desc->roles.n_roles >= NNHAL_MAX_ROLES)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "at most %d roles are possible",
                       NNHAL_MAX_ROLES);
    return 0;
}

/* What the descriptor knows of dimensions, and more of it: all or nothing. */
static int roles_merge(struct nn_rt_roles *roles, uint32_t rank, const uint32_t *dims,
                       struct nn_why *why)
{
    uint32_t n, merged[NNHAL_MAX_RANK];

    if (!nn_dims_merge(roles->n_dims, roles->dims, rank, dims, &n, merged))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "the dimensions contradict those of the roles or those set before");
    roles->n_dims = n;
    memcpy(roles->dims, merged, n * sizeof(*merged));
    return 0;
}

static int roles_add(struct nn_rt_roles *roles, const struct nn_rt_role *role,
                     const struct nnhal_operand *operand, struct nn_why *why)
{
    struct nn_rt_role *grown;
    int r = 0;

    if (roles->operand)
        r = nn_fail_refused(nn_operand_check_compatible(roles->operand, operand, why));
    if (!r && nn_type_is_scalar(operand->type) && roles->n_dims)
        r = nn_fail(why, ANEURALNETWORKS_BAD_DATA, "a %s has no dimensions, but some were set",
                    nn_type_name(operand->type));
    if (r)
        return r;
    /* Room first: a call that fails changes nothing. */
    grown = reallocarray(roles->roles, roles->n_roles + 1, sizeof(*grown));
    if (!grown)
        return nn_error_origin(-ENOMEM);
    roles->roles = grown;
    r = roles_merge(roles, operand->n_dimensions, operand->dimensions, why);
    if (r)
        return r;
    grown[roles->n_roles] = *role;
    nn_rt_compilation_ref(role->compilation);
    roles->n_roles++;
    if (!roles->operand)
        roles->operand = operand;
    return 0;
}

int nn_rt_memory_desc_add_role(ANeuralNetworksMemoryDesc *desc, const struct nn_rt_role *role,
                               struct nn_why *why)
{
    const struct nn_model_io *io;
    int r = desc_check_open(desc, why);

    if (!r)
        r = desc_check_role(desc, role, why);
    if (r)
        return r;
    io = &role->compilation->finished->io;
    return roles_add(&desc->roles, role,
                     role->is_input ? &io->inputs[role->index] : &io->outputs[role->index], why);
}

int nn_rt_memory_desc_set_dims(ANeuralNetworksMemoryDesc *desc, uint32_t rank, const uint32_t *dims,
                               struct nn_why *why)
{
    int r = desc_check_open(desc, why);

    if (r)
        return r;
    if (rank > NNHAL_MAX_RANK)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "rank %u: at most %d is possible", rank,
                       NNHAL_MAX_RANK);
    if (rank && desc->roles.operand && nn_type_is_scalar(desc->roles.operand->type))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "a %s has no dimensions",
                       nn_type_name(desc->roles.operand->type));
    return roles_merge(&desc->roles, rank, dims, why);
}

int nn_rt_memory_desc_finish(ANeuralNetworksMemoryDesc *desc, struct nn_why *why)
{
    int r = desc_check_open(desc, why);

    if (r)
        return r;
    if (!desc->roles.n_roles)
        return nn_fail(
            why, ANEURALNETWORKS_BAD_DATA,
            "the descriptor has no role: add one with addInputRole() or addOutputRole()");
    desc->is_finished = true;
    return 0;
}
