/* SPDX-License-Identifier: Apache-2.0 */
/* supported.c - which operations of a model the driver is to execute */
#include "host/methods.h"
#include "host/execution/prepare.h"
#include "host/services.h"
#include "host/execution/extensions.h"
#include "host/execution/impossible.h"
#include "host/execution/refusals.h"

/* Which model is asked about, where its constants lie, and what was said of it. */
struct question {
    const struct nn_host *host;
    const struct nnhal_model *model;
    const struct nn_constants *constants;
    struct nn_refusals refusals;
};

static const char *refuse_constants(const struct question *question,
                                    const struct nnhal_subgraph *subgraph,
                                    const struct nnhal_operation *operation)
{
    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        const struct nnhal_operand *operand = &subgraph->operands[operation->inputs[i]];
        const struct nn_memory *memory;

        if (operand->lifetime != NNHAL_CONSTANT_REFERENCE)
            continue;
        memory = question->constants->memories[operand->location.pool_index];
        if (!nn_constants_can_be_in(memory))
            return memory->is_decoded
                       ? "a constant of it is in a hardware buffer that is no BLOB: put "
                         "constants into shared memory or a BLOB buffer"
                       : memory->refusal;
    }
    return NULL;
}

/* What no driver is asked to execute, though models may contain it: operations
 * that are there for the sake of a client, such as belong to extensions that the
 * driver lacks, and such as read a constant that lies where it cannot reach it.
 * Returns: a sentence; NULL: it may be asked. */
static const char *refuse_operation(const struct question *question,
                                    const struct nnhal_subgraph *subgraph, uint32_t i)
{
    const struct nnhal_operation *operation = &subgraph->operations[i];
    struct nn_operation_facts facts;

    if (nn_operation_validate(subgraph->operands, subgraph->n_operands, operation, &facts, NULL) !=
            0 ||
        facts.is_tolerated)
        return "models may have it with these operands, and no device executes it";
    if (!nn_extensions_allow(question->host, question->model, subgraph, operation))
        return "the driver lacks the extension that it, or an operand of it, belongs to";
    return refuse_constants(question, subgraph, operation);
}

static const char *refuse_any(const struct question *question,
                              const struct nnhal_subgraph *subgraphs, uint32_t n)
{
    const char *refusal = NULL;

    for (uint32_t g = 0; g < n && !refusal; g++)
        for (uint32_t i = 0; i < subgraphs[g].n_operations && !refusal; i++)
            refusal = refuse_operation(question, &subgraphs[g], i);
    return refusal;
}

/* Control flow is refused where a subgraph has such an operation, whichever it is. */
static void refuse_operations(struct question *question, uint8_t *supported)
{
    const struct nnhal_model *model = question->model;
    const char *inner = refuse_any(question, model->referenced, model->n_referenced);

    for (uint32_t i = 0; i < model->main.n_operations; i++) {
        uint32_t type = model->main.operations[i].type;
        const char *refusal = refuse_operation(question, &model->main, i);

        if (!refusal && inner && (type == NNHAL_OP_IF || type == NNHAL_OP_WHILE))
            refusal = "an operation of a subgraph is not supported";
        if (!refusal)
            continue;
        supported[i] = 0;
        nn_refusals_add(&question->refusals, i, refusal);
    }
}

static bool has_all_mapped(const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        if (constants->memories[i]->is_opaque)
            return false;
    return true;
}

static uint32_t ask_driver(struct nn_call *call, struct question *question, uint8_t *supported)
{
    const struct nn_host *host = question->host;
    const struct nnhal_driver_model model = {
        .model = question->model,
        .n_pools = question->constants->n_pools,
        .pools = question->constants->mapped,
    };
    struct nn_quota_charge charge = {.account = NULL};
    uint32_t status;

    status = nn_call_charge_memory(
        call, nn_prepare_model_bytes(question->model, question->constants), &charge);
    if (status != NNHAL_NONE)
        return status;
    nn_services_clear();
    nn_services_collect(&question->refusals);
    status = host->driver.get_supported_operations(host->device, &model, supported);
    nn_services_collect(NULL);
    status = nn_call_check_driver(call, status, "get_supported_operations");
    nn_quota_release(&charge);
    return status;
}

/* A driver is not asked about what it might look for where nothing is. */
static void refuse_unmapped(struct question *question)
{
    for (uint32_t i = 0; i < question->model->main.n_operations; i++)
        nn_refusals_add(&question->refusals, i,
                        "the driver is not asked about a model with constants in a hardware buffer "
                        "that is no BLOB");
}

static uint32_t find_supported(struct nn_call *call, struct question *question, uint8_t *supported)
{
    struct nn_call aside = *call; /* a refusal is an answer here, not a failure */
    struct nn_model_facts facts;
    uint32_t status = nn_prepare_check_model(call, question->model, question->constants, &facts);

    if (status == NNHAL_NONE)
        status = nn_constants_access(call, question->constants, true);
    if (status != NNHAL_NONE)
        return status;
    if (has_all_mapped(question->constants))
        status = ask_driver(call, question, supported);
    else
        refuse_unmapped(question);
    nn_constants_access(call, question->constants, false);
    if (status != NNHAL_NONE)
        return status;
    for (uint32_t i = 0; i < question->model->main.n_operations; i++)
        supported[i] = supported[i] != 0;
    if (facts.has_tolerated || facts.has_extensions ||
        nn_constants_check(&aside, question->constants) != NNHAL_NONE)
        refuse_operations(question, supported);
    if (!question->host->takes_impossible &&
        nn_impossible_refuse(question->model, &question->refusals, supported) < 0)
        return nn_call_fail_no_memory(call);
    return NNHAL_NONE;
}

static uint32_t answer_question(struct nn_call *call, struct question *question,
                                struct nn_hal_get_supported_operations_reply *reply)
{
    uint32_t n = question->model->main.n_operations, status;
    uint8_t *supported = nn_arena_new_n(call->arena, uint8_t, n);

    if (!supported)
        return nn_call_fail_no_memory(call);
    nn_refusals_init(&question->refusals, n, call->arena);
    status = find_supported(call, question, supported);
    if (status != NNHAL_NONE)
        return status;
    reply->supported = supported;
    reply->n_supported = n;
    nn_refusals_tell(&question->refusals, reply);
    return NNHAL_NONE;
}

uint32_t nn_host_get_supported_operations(struct nn_call *call,
                                          const struct nn_hal_get_supported_operations_args *args,
                                          struct nn_hal_get_supported_operations_reply *reply)
{
    struct nn_constants constants = {.n_pools = 0};
    struct question question = {call->session->host, &args->model, &constants, {.arena = NULL}};
    uint32_t status;

    status = nn_constants_init(call, &constants, &args->model, call->arena);
    if (status == NNHAL_NONE)
        status = answer_question(call, &question, reply);
    nn_constants_done(&constants);
    return status;
}
