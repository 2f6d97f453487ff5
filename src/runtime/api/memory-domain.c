/* SPDX-License-Identifier: Apache-2.0 */
/* memory-domain.c - memories in devices: descriptors, creation, copies */
#include "runtime/api/api.h"
#include "runtime/memory/domain.h"
#include "runtime/memory/copy.h"

/* -- descriptors ----------------------------------------------------------------- */

_public_ int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc **desc)
{
    struct nn_why why = {0};

    if (!desc)
        return nn_api_null(__func__);
    *desc = NULL;
    return nn_api_end(__func__, NULL, nn_rt_memory_desc_new(desc), &why);
}

_public_ void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc *desc)
{
    nn_rt_memory_desc_free(desc);
}

static int desc_add_role(const char *function, ANeuralNetworksMemoryDesc *desc,
                         const struct nn_rt_role *role)
{
    struct nn_why why = {0};

    if (!desc || !role->compilation)
        return nn_api_null(function);
    return nn_api_end(function, &desc->object, nn_rt_memory_desc_add_role(desc, role, &why), &why);
}

_public_ int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc *desc,
                                                    const ANeuralNetworksCompilation *compilation,
                                                    uint32_t index, float frequency)
{
    const struct nn_rt_role role = {(ANeuralNetworksCompilation *)compilation, true, index,
                                    frequency};

    return desc_add_role(__func__, desc, &role);
}

_public_ int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc *desc,
                                                     const ANeuralNetworksCompilation *compilation,
                                                     uint32_t index, float frequency)
{
    const struct nn_rt_role role = {(ANeuralNetworksCompilation *)compilation, false, index,
                                    frequency};

    return desc_add_role(__func__, desc, &role);
}

_public_ int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank,
                                                     const uint32_t *dimensions)
{
    struct nn_why why = {0};

    if (!desc || (!dimensions && rank))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &desc->object,
                      nn_rt_memory_desc_set_dims(desc, rank, dimensions, &why), &why);
}

_public_ int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc *desc)
{
    struct nn_why why = {0};

    if (!desc)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &desc->object, nn_rt_memory_desc_finish(desc, &why), &why);
}

/* -- memories ---------------------------------------------------------------------- */

_public_ int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc,
                                                  ANeuralNetworksMemory **memory)
{
    struct nn_why why = {0};

    if (memory)
        *memory = NULL;
    if (!desc || !memory)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &desc->object, nn_rt_domain_new_memory(desc, &why, memory), &why);
}

_public_ int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src,
                                        const ANeuralNetworksMemory *dst)
{
    struct nn_why why = {0};

    if (!src || !dst)
        return nn_api_null(__func__);
    return nn_api_end(
        __func__, &dst->object,
        nn_rt_memory_copy((ANeuralNetworksMemory *)src, (ANeuralNetworksMemory *)dst, &why), &why);
}
