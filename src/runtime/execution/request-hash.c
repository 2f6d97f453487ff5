/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/request-hash.h"

#include "runtime/execution/binding.h"
#include "runtime/model/model-hash.h"
#include "shm/region.h"

static uint64_t hash_add_memory(uint64_t hash, const struct nn_rt_argument *input)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    struct nn_why why = {0};

    if (nn_rt_memory_is_in_device(input->memory) ||
        nn_rt_memory_map(input->memory, &why, &region) != 0 ||
        input->offset > nn_region_size(region) ||
        input->length > nn_region_size(region) - input->offset)
        return hash;
    return nn_rt_hash_add(hash, (const uint8_t *)nn_region_data(region) + input->offset,
                          input->length);
}

uint64_t nn_rt_request_hash(const struct nnhal_model *model,
                            const struct nn_rt_arguments *arguments)
{
    uint64_t hash = nn_rt_model_hash(model);

    for (uint32_t i = 0; i < arguments->n_inputs; i++) {
        const struct nn_rt_argument *input = &arguments->inputs[i];

        hash = nn_rt_hash_add(hash, input->dims, input->n_dims * sizeof(uint32_t));
        if (input->kind == NN_ARGUMENT_POINTER)
            hash = nn_rt_hash_add(hash, input->pointer, input->length);
        else if (input->kind == NN_ARGUMENT_MEMORY)
            hash = hash_add_memory(hash, input);
    }
    return hash;
}
