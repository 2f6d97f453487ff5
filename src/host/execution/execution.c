/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/execution.h"

#include "host/methods.h"

#include <string.h>

/* -- the object -------------------------------------------------------------- */

static void execution_destroy(struct nn_object *object)
{
    struct nn_execution *execution = (struct nn_execution *)object;

    nn_binding_done(&execution->binding);
    nn_arena_done(&execution->arena);
    nn_quota_release(&execution->charge);
    free(execution);
}

struct nn_execution *nn_execution_unref(struct nn_execution *execution)
{
    if (execution)
        nn_object_unref(&execution->object);
    return NULL;
}

static uint32_t find_prepared(struct nn_call *call, uint64_t id, struct nn_prepared **ret_prepared)
{
    struct nn_prepared *prepared = nn_prepared_get(call->session, id);

    if (!prepared)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%llu is no prepared model of this session, or was freed",
                            (unsigned long long)id);
    *ret_prepared = prepared;
    return NNHAL_NONE;
}

uint32_t nn_execution_new(struct nn_call *call, uint64_t prepared_model,
                          const struct nn_binding_source *source,
                          struct nn_execution **ret_execution)
{
    _cleanup_(nn_execution_unrefp) struct nn_execution *execution = calloc(1, sizeof(*execution));
    struct nn_prepared *prepared = NULL;
    uint32_t status;

    if (!execution)
        return nn_call_fail_no_memory(call);
    nn_object_init(&execution->object, NN_OBJECT_EXECUTION, execution_destroy);
    nn_arena_init(&execution->arena, 0);
    execution->arena.meter = &call->session->meter;
    status = find_prepared(call, prepared_model, &prepared);
    if (status == NNHAL_NONE)
        status = nn_binding_init(call, &execution->binding, prepared, source, &execution->arena);
    if (status == NNHAL_NONE)
        *ret_execution = steal_ptr(&execution);
    return status;
}

uint32_t nn_execution_get(struct nn_call *call, uint64_t id, struct nn_execution **ret_execution)
{
    struct nn_object *object = nn_objects_get(&call->session->objects, id, NN_OBJECT_EXECUTION);

    if (!object)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%llu is no execution of this session, or was freed",
                            (unsigned long long)id);
    *ret_execution = (struct nn_execution *)object;
    return NNHAL_NONE;
}

uint32_t nn_execution_check_form(struct nn_call *call, uint64_t execution, uint64_t prepared_model,
                                 const struct nnhal_request *request, uint32_t measure)
{
    if (measure > 1)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT, "measure is %u, not 0 or 1", measure);
    if (execution != 0 &&
        (prepared_model != 0 || request->n_inputs || request->n_outputs || request->n_pools))
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "a reusable execution has its request already: leave it empty");
    return NNHAL_NONE;
}

/* -- priorities ---------------------------------------------------------------- */

static void see_execution(const struct nn_object *object, void *ctx)
{
    *(uint32_t *)ctx = ((const struct nn_execution *)object)->binding.prepared->priority;
}

static void see_prepared(const struct nn_object *object, void *ctx)
{
    *(uint32_t *)ctx = ((const struct nn_prepared *)object)->priority;
}

uint32_t nn_host_priority(struct nn_hal *hal, uint64_t prepared_model, uint64_t execution)
{
    struct nn_objects *objects = &((struct nn_host_session *)hal)->objects;
    uint32_t priority = NNHAL_PRIORITY_MEDIUM;

    if (execution)
        nn_objects_visit(objects, execution, NN_OBJECT_EXECUTION, see_execution, &priority);
    else
        nn_objects_visit(objects, prepared_model, NN_OBJECT_PREPARED, see_prepared, &priority);
    return priority;
}

/* -- reusable executions ------------------------------------------------------- */

uint32_t nn_host_create_execution(struct nn_call *call,
                                  const struct nn_hal_create_execution_args *args,
                                  struct nn_hal_create_execution_reply *reply)
{
    const struct nn_binding_source source = {
        .request = &args->request, .n_hints = args->n_hints, .hints = args->hints};
    _cleanup_(nn_execution_unrefp) struct nn_execution *execution = NULL;
    uint32_t status;

    status = nn_execution_check_form(call, 0, args->prepared_model, &args->request, args->measure);
    if (status == NNHAL_NONE)
        status = nn_execution_new(call, args->prepared_model, &source, &execution);
    if (status == NNHAL_NONE)
        status = nn_call_charge(call, NN_QUOTA_EXECUTIONS, 1, "reusable executions",
                                &execution->charge);
    if (status != NNHAL_NONE)
        return status;
    execution->measure = args->measure != 0;
    execution->loop_timeout_ns = args->loop_timeout_ns;
    if (nn_objects_add(&call->session->objects, &execution->object) < 0)
        return nn_call_fail_no_memory(call);
    reply->execution = execution->object.id;
    return NNHAL_NONE;
}

uint32_t nn_host_free_execution(struct nn_call *call, const struct nn_hal_free_execution_args *args,
                                struct nn_hal_free_execution_reply *reply)
{
    nn_objects_remove(&call->session->objects, args->execution, NN_OBJECT_EXECUTION);
    return NNHAL_NONE;
}

/* -- execute_synchronously ------------------------------------------------------- */

/* What is to be run, and how: a reusable execution, or a binding for this call alone. */
struct sync_target {
    struct nn_execution *execution; /* NULL: binding is ours */
    struct nn_binding own;
    const struct nn_binding *binding;
    struct nn_binding_run how;
};

static uint32_t target_init(struct nn_call *call,
                            const struct nn_hal_execute_synchronously_args *args,
                            struct sync_target *target)
{
    struct nn_prepared *prepared = NULL;
    uint32_t status;

    *target = (struct sync_target){.binding = &target->own,
                                   .how = {.deadline_ns = args->deadline_ns,
                                           .loop_timeout_ns = args->loop_timeout_ns,
                                           .measure = args->measure != 0,
                                           .is_cancelled = &call->session->is_cancelled}};
    status = nn_execution_check_form(call, args->execution, args->prepared_model, &args->request,
                                     args->measure);
    if (status != NNHAL_NONE)
        return status;
    if (args->execution) {
        status = nn_execution_get(call, args->execution, &target->execution);
        if (status != NNHAL_NONE)
            return status;
        target->binding = &target->execution->binding;
        target->how.loop_timeout_ns = target->execution->loop_timeout_ns;
        target->how.measure = target->execution->measure;
        return NNHAL_NONE;
    }
    status = find_prepared(call, args->prepared_model, &prepared);
    if (status != NNHAL_NONE)
        return status;
    return nn_binding_init(call, &target->own, prepared,
                           &(struct nn_binding_source){.request = &args->request,
                                                       .n_hints = args->n_hints,
                                                       .hints = args->hints},
                           call->arena);
}

static void target_done(struct sync_target *target)
{
    if (target->execution)
        nn_execution_unref(target->execution);
    else
        nn_binding_done(&target->own);
}

uint32_t nn_host_execute_synchronously(struct nn_call *call,
                                       const struct nn_hal_execute_synchronously_args *args,
                                       struct nn_hal_execute_synchronously_reply *reply)
{
    struct nn_binding_result result;
    struct sync_target target;
    uint32_t status = target_init(call, args, &target);

    if (status == NNHAL_NONE) {
        nn_call_set_priority(call, target.binding->prepared->priority);
        status = nn_binding_run(call, target.binding, &target.how, &result);
        if (status == NNHAL_NONE || status == NNHAL_OUTPUT_INSUFFICIENT_SIZE) {
            reply->n_output_shapes = result.n_shapes;
            reply->output_shapes = result.shapes;
            reply->timing = result.timing;
        }
    }
    target_done(&target);
    return status;
}
