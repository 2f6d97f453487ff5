/* SPDX-License-Identifier: Apache-2.0 */
#include "host/memory/constants.h"

void nn_constants_done(struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        nn_memory_unref(constants->memories[i]);
    constants->n_pools = 0;
}

static uint32_t constants_add(struct nn_call *call, struct nn_constants *constants, uint64_t id)
{
    uint32_t i = constants->n_pools;
    struct nn_memory *memory = nn_memory_get(call->session, id);

    if (!memory)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the model is no memory of this session: import it first",
                            i);
    constants->memories[i] = memory;
    constants->n_pools++;
    if (!memory->is_readable)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the model is not readable: import it with PROT_READ", i);
    constants->sizes[i] = nn_region_size(memory->region);
    constants->mapped[i] = (struct nnhal_mapped_pool){
        .data = memory->is_opaque ? NULL : memory->view,
        .size = memory->is_opaque ? 0 : memory->n_view,
        .memory = memory->driver_memory,
    };
    return NNHAL_NONE;
}

bool nn_constants_can_be_in(const struct nn_memory *memory)
{
    return memory->is_decoded && !memory->is_opaque;
}

uint32_t nn_constants_check(struct nn_call *call, const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++) {
        const struct nn_memory *memory = constants->memories[i];
        uint32_t status = nn_memory_check_decoded(call, memory, "model", i);

        if (status != NNHAL_NONE)
            return status;
        if (!nn_constants_can_be_in(memory))
            return nn_call_fail(
                call, NNHAL_GENERAL_FAILURE,
                "pool %u of the model is a hardware buffer that is no BLOB: put constants "
                "into shared memory or a BLOB buffer",
                i);
    }
    return NNHAL_NONE;
}

uint32_t nn_constants_init(struct nn_call *call, struct nn_constants *constants,
                           const struct nnhal_model *model, struct nn_arena *store)
{
    uint32_t status = NNHAL_NONE;

    if (model->n_pools > NNHAL_MAX_POOLS || (model->n_pools && !model->pools))
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "the model has %u pools, at most %d are allowed: put more constants into one",
            model->n_pools, NNHAL_MAX_POOLS);
    constants->memories = nn_arena_new_n(store, struct nn_memory *, model->n_pools);
    constants->mapped = nn_arena_new_n(store, struct nnhal_mapped_pool, model->n_pools);
    constants->sizes = nn_arena_new_n(store, uint64_t, model->n_pools);
    if (!constants->memories || !constants->mapped || !constants->sizes)
        return nn_call_fail_no_memory(call);
    for (uint32_t i = 0; i < model->n_pools && status == NNHAL_NONE; i++)
        status = constants_add(call, constants, model->pools[i]);
    return status;
}

uint32_t nn_constants_access(struct nn_call *call, const struct nn_constants *constants,
                             bool is_begin)
{
    for (uint32_t i = 0; i < constants->n_pools; i++) {
        struct nn_region *region = constants->memories[i]->region;
        int r = is_begin ? nn_region_begin_access(region, false)
                         : nn_region_end_access(region, false);

        if (r < 0)
            return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "pool %u of the model cannot be read",
                                i);
    }
    return NNHAL_NONE;
}

bool nn_constants_are_broken(const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        if (nn_memory_is_broken(constants->memories[i]))
            return true;
    return false;
}
