/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/extensions.h"

#include "base/arith.h"

#include <string.h>

/* The driver's extension that a type or operation belongs to; NULL: it has none of that name. */
static const struct nnhal_extension *extension_find(const struct nn_host *host,
                                                    const struct nnhal_model *model, uint32_t type)
{
    const struct nnhal_driver *driver = &host->driver;
    const char *name = NULL;

    for (uint32_t i = 0; i < model->n_extension_prefixes; i++)
        if (model->extension_prefixes[i].prefix == type >> 16)
            name = model->extension_prefixes[i].name;
    for (uint32_t i = 0; name && i < driver->n_extensions; i++)
        if (strcmp(driver->extensions[i].name, name) == 0)
            return &driver->extensions[i];
    return NULL;
}

static const struct nnhal_extension_operand_type *
operand_type_find(const struct nn_host *host, const struct nnhal_model *model, uint32_t type)
{
    const struct nnhal_extension *extension = extension_find(host, model, type);

    for (uint32_t i = 0; extension && i < extension->n_operand_types; i++)
        if (extension->operand_types[i].type == (type & UINT16_MAX))
            return &extension->operand_types[i];
    return NULL;
}

static bool has_operand_types(const struct nn_host *host, const struct nnhal_model *model,
                              const struct nnhal_operand *operands, const uint32_t *indexes,
                              uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t type = operands[indexes[i]].type;

        if (nn_type_is_extension(type) && !operand_type_find(host, model, type))
            return false;
    }
    return true;
}

bool nn_extensions_allow(const struct nn_host *host, const struct nnhal_model *model,
                         const struct nnhal_subgraph *subgraph,
                         const struct nnhal_operation *operation)
{
    if (nn_type_is_extension(operation->type) && !extension_find(host, model, operation->type))
        return false;
    return has_operand_types(host, model, subgraph->operands, operation->inputs,
                             operation->n_inputs) &&
           has_operand_types(host, model, subgraph->operands, operation->outputs,
                             operation->n_outputs);
}

static uint32_t check_operand(struct nn_call *call, const struct nnhal_model *model,
                              const struct nnhal_operand *operand)
{
    const struct nn_host *host = call->session->host;
    const struct nnhal_extension_operand_type *type = operand_type_find(host, model, operand->type);
    bool is_constant = operand->lifetime == NNHAL_CONSTANT_COPY ||
                       operand->lifetime == NNHAL_CONSTANT_REFERENCE;
    uint64_t n_bytes;

    if (!type)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "device %s has no operand type %#x of an extension", host->driver.name,
                            operand->type);
    if (!type->is_tensor && operand->n_dimensions)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "operand type %#x is a scalar and has no dimensions", operand->type);
    if (!is_constant)
        return NNHAL_NONE;
    if (!nn_dims_product(operand->n_dimensions, operand->dimensions, &n_bytes) ||
        !nn_mul_u64(n_bytes, type->byte_size, &n_bytes) || n_bytes != operand->location.length)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "a constant of type %#x has %llu bytes, not what its dimensions need",
                            operand->type, (unsigned long long)operand->location.length);
    return NNHAL_NONE;
}

static uint32_t check_subgraph(struct nn_call *call, const struct nnhal_model *model,
                               const struct nnhal_subgraph *subgraph)
{
    uint32_t status = NNHAL_NONE;

    for (uint32_t i = 0; i < subgraph->n_operands && status == NNHAL_NONE; i++)
        if (nn_type_is_extension(subgraph->operands[i].type))
            status = check_operand(call, model, &subgraph->operands[i]);
    for (uint32_t i = 0; i < subgraph->n_operations && status == NNHAL_NONE; i++) {
        uint32_t type = subgraph->operations[i].type;

        if (nn_type_is_extension(type) && !extension_find(call->session->host, model, type))
            status = nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                                  "device %s lacks the extension of operation %#x",
                                  call->session->host->driver.name, type);
    }
    return status;
}

uint32_t nn_extensions_check(struct nn_call *call, const struct nnhal_model *model)
{
    uint32_t status = check_subgraph(call, model, &model->main);

    for (uint32_t i = 0; i < model->n_referenced && status == NNHAL_NONE; i++)
        status = check_subgraph(call, model, &model->referenced[i]);
    return status;
}

/* Whose sizes are asked for. */
struct size_source {
    const struct nn_host *host;
    const struct nnhal_model *model;
};

static uint32_t size_of(const void *ctx, uint32_t type)
{
    const struct size_source *source = ctx;
    const struct nnhal_extension_operand_type *found = operand_type_find(source->host,
                                                                         source->model, type);

    return found ? found->byte_size : 0;
}

void nn_extensions_size_io(const struct nn_host *host, const struct nnhal_model *model,
                           struct nn_model_io *io)
{
    const struct size_source source = {host, model};

    nn_model_io_size_extensions(io, size_of, &source);
}

/* -- attributes ------------------------------------------------------------------------- */

uint32_t nn_hints_check(struct nn_call *call, uint32_t n_hints, const struct nnhal_hint *hints)
{
    const struct nnhal_driver *driver = &call->session->host->driver;

    if (n_hints > NNHAL_MAX_HINTS)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT, "%u attributes, at most %d are possible",
                            n_hints, NNHAL_MAX_HINTS);
    for (uint32_t i = 0; i < n_hints; i++) {
        uint32_t place = (uint32_t)hints[i].token >> 16;

        if (place == 0 || place > driver->n_extensions)
            return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                                "attribute %u is of extension %u, device %s has %u", i, place,
                                driver->name, driver->n_extensions);
    }
    return NNHAL_NONE;
}

const struct nnhal_hint *nn_hints_copy(uint32_t n_hints, const struct nnhal_hint *hints,
                                       struct nn_arena *arena)
{
    struct nnhal_hint *copies = nn_arena_new_n(arena, struct nnhal_hint, n_hints);

    for (uint32_t i = 0; copies && i < n_hints; i++) {
        copies[i] = hints[i];
        copies[i].value.data = nn_arena_dup(arena, hints[i].value.data, hints[i].value.size);
        if (!copies[i].value.data)
            return NULL;
    }
    return copies;
}
