/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device-facts.h"

#include "base/error.h"

#include <string.h>

static int copy_extension(struct nnhal_extension *to, const struct nnhal_extension *from,
                          struct nn_arena *arena)
{
    *to = *from;
    to->name = nn_arena_dup(arena, from->name, strlen(from->name) + 1);
    to->operand_types = nn_arena_dup(arena, from->operand_types,
                                     from->n_operand_types * sizeof(*from->operand_types));
    return to->name && to->operand_types ? 0 : nn_error_origin(-ENOMEM);
}

int nn_rt_device_facts_init(struct nn_rt_device_facts *facts, uint32_t n_extensions,
                            const struct nnhal_extension *extensions)
{
    struct nnhal_extension *copies;
    int r = 0;

    nn_arena_init(&facts->arena, 0);
    copies = nn_arena_new_n(&facts->arena, struct nnhal_extension, n_extensions);
    if (!copies)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < n_extensions; i++)
        r = copy_extension(&copies[i], &extensions[i], &facts->arena);
    if (r)
        return r;
    facts->n_extensions = n_extensions;
    facts->extensions = copies;
    return 0;
}

void nn_rt_device_facts_done(struct nn_rt_device_facts *facts)
{
    nn_arena_done(&facts->arena);
}

const struct nnhal_extension *nn_rt_device_facts_find(const struct nn_rt_device_facts *facts,
                                                      const char *name)
{
    for (uint32_t i = 0; i < facts->n_extensions; i++)
        if (strcmp(facts->extensions[i].name, name) == 0)
            return &facts->extensions[i];
    return NULL;
}
