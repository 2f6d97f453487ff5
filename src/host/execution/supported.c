/* SPDX-License-Identifier: Apache-2.0 */
/* supported.c - which operations of a model the driver is to execute */
#include "host/methods.h"
#include "host/execution/prepare.h"
#include "host/services.h"
#include "host/execution/extensions.h"

/* Which model is asked about, and where its constants lie. */
struct question {
    const struct nn_host *host;
    const struct nnhal_model *model;
    const struct nn_constants *constants;
};

/* What no driver is asked to execute, though models may contain it: operations
 * that are there for the sake of a client, such as belong to extensions that the
 * driver lacks, and such as read a constant that lies where it cannot reach it. */
static bool is_refused(const struct question *question, const struct nnhal_subgraph *subgraph,
                       uint32_t i)
{
    const struct nnhal_operation *operation = &subgraph->operations[i];
    struct nn_operation_facts facts;

    if (nn_operation_validate(subgraph->operands, subgraph->n_operands, operation, &facts, NULL) !=
            0 ||
        facts.is_tolerated ||
        !nn_extensions_allow(question->host, question->model, subgraph, operation))
        return true;
    for (uint32_t j = 0; j < operation->n_inputs; j++) {
        const struct nnhal_operand *operand = &subgraph->operands[operation->inputs[j]];

        if (operand->lifetime == NNHAL_CONSTANT_REFERENCE &&
            !nn_constants_can_be_in(question->constants->memories[operand->location.pool_index]))
            return true;
    }
    return false;
}

static bool any_is_refused(const struct question *question, const struct nnhal_subgraph *subgraphs,
                           uint32_t n)
{
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t i = 0; i < subgraphs[g].n_operations; i++)
            if (is_refused(question, &subgraphs[g], i))
                return true;
    return false;
}

/* Control flow is refused where a subgraph has such an operation, whichever it is. */
static void operations_refuse(const struct question *question, uint8_t *supported)
{
    const struct nnhal_model *model = question->model;
    bool is_inside = any_is_refused(question, model->referenced, model->n_referenced);

    for (uint32_t i = 0; i < model->main.n_operations; i++) {
        uint32_t type = model->main.operations[i].type;

        if (is_refused(question, &model->main, i) ||
            (is_inside && (type == NNHAL_OP_IF || type == NNHAL_OP_WHILE)))
            supported[i] = 0;
    }
}

static bool has_all_mapped(const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        if (constants->memories[i]->is_opaque)
            return false;
    return true;
}

static uint32_t ask_driver(struct nn_call *call, const struct nnhal_model *model,
                           const struct nn_constants *constants,
                           struct nn_hal_get_supported_operations_reply *reply)
{
    const struct nn_host *host = call->session->host;
    const struct nnhal_driver_model driver_model = {
        .model = model,
        .n_pools = constants->n_pools,
        .pools = constants->mapped,
    };
    struct nn_call aside = *call; /* a refusal is an answer here, not a failure */
    struct nn_quota_charge charge = {.account = NULL};
    struct nn_model_facts facts;
    uint8_t *supported;
    uint32_t status;

    status = nn_prepare_check_model(call, model, constants, &facts);
    if (status == NNHAL_NONE)
        status = nn_constants_access(call, constants, true);
    if (status != NNHAL_NONE)
        return status;
    supported = nn_arena_new_n(call->arena, uint8_t, model->main.n_operations);
    if (!supported)
        return nn_call_fail_no_memory(call);
    nn_services_clear();
    /* A driver is not asked about what it might look for where nothing is. */
    if (has_all_mapped(constants))
        status = nn_call_charge_memory(call, nn_prepare_model_bytes(model, constants), &charge);
    if (has_all_mapped(constants) && status == NNHAL_NONE)
        status = nn_call_check_driver(
            call, host->driver.get_supported_operations(host->device, &driver_model, supported),
            "get_supported_operations");
    nn_quota_release(&charge);
    nn_constants_access(call, constants, false);
    if (status != NNHAL_NONE)
        return status;
    for (uint32_t i = 0; i < model->main.n_operations; i++)
        supported[i] = supported[i] != 0;
    if (facts.has_tolerated || facts.has_extensions ||
        nn_constants_check(&aside, constants) != NNHAL_NONE)
        operations_refuse(&(struct question){host, model, constants}, supported);
    reply->supported = supported;
    reply->n_supported = model->main.n_operations;
    return NNHAL_NONE;
}

uint32_t nn_host_get_supported_operations(struct nn_call *call,
                                          const struct nn_hal_get_supported_operations_args *args,
                                          struct nn_hal_get_supported_operations_reply *reply)
{
    struct nn_constants constants = {.n_pools = 0};
    uint32_t status;

    status = nn_constants_init(call, &constants, &args->model, call->arena);
    if (status == NNHAL_NONE)
        status = ask_driver(call, &args->model, &constants, reply);
    nn_constants_done(&constants);
    return status;
}
