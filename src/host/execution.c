/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution.h"

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

static uint32_t find_prepared(struct nn_session *session, uint64_t id, const char **message,
                              struct nn_arena *arena, struct nn_prepared **ret_prepared)
{
    struct nn_prepared *prepared = nn_prepared_get(session, id);

    if (!prepared)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "%llu is no prepared model of this session, or was freed",
                      (unsigned long long)id);
    *ret_prepared = prepared;
    return NNHAL_NONE;
}

uint32_t nn_execution_new(struct nn_session *session, uint64_t prepared_model,
                          const struct nnhal_request *request, unsigned flags, const char **message,
                          struct nn_arena *arena, struct nn_execution **ret_execution)
{
    _cleanup_(nn_execution_unrefp) struct nn_execution *execution = calloc(1, sizeof(*execution));
    struct nn_prepared *prepared = NULL;
    uint32_t status;

    if (!execution)
        return nn_say_no_memory(message, arena);
    nn_object_init(&execution->object, NN_OBJECT_EXECUTION, execution_destroy);
    nn_arena_init(&execution->arena, 0);
    status = find_prepared(session, prepared_model, message, arena, &prepared);
    if (status == NNHAL_NONE)
        status = nn_binding_init(&execution->binding, session, prepared, request, NULL, flags,
                                 &execution->arena, message, arena);
    if (status == NNHAL_NONE)
        *ret_execution = steal_ptr(&execution);
    return status;
}

uint32_t nn_execution_get(struct nn_session *session, uint64_t id, const char **message,
                          struct nn_arena *arena, struct nn_execution **ret_execution)
{
    struct nn_object *object = nn_objects_get(&session->objects, id, NN_OBJECT_EXECUTION);

    if (!object)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "%llu is no execution of this session, or was freed", (unsigned long long)id);
    *ret_execution = (struct nn_execution *)object;
    return NNHAL_NONE;
}

uint32_t nn_execution_judge_form(uint64_t execution, uint64_t prepared_model,
                                 const struct nnhal_request *request, uint32_t measure,
                                 const char **message, struct nn_arena *arena)
{
    if (measure > 1)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT, "measure is %u, not 0 or 1", measure);
    if (execution != 0 &&
        (prepared_model != 0 || request->n_inputs || request->n_outputs || request->n_pools))
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
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
    struct nn_objects *objects = &((struct nn_session *)hal)->objects;
    uint32_t priority = NNHAL_PRIORITY_MEDIUM;

    if (execution)
        nn_objects_visit(objects, execution, NN_OBJECT_EXECUTION, see_execution, &priority);
    else
        nn_objects_visit(objects, prepared_model, NN_OBJECT_PREPARED, see_prepared, &priority);
    return priority;
}

/* -- reusable executions ------------------------------------------------------- */

uint32_t nn_host_create_execution(struct nn_session *session,
                                  const struct nn_hal_create_execution_args *args,
                                  struct nn_hal_create_execution_reply *reply,
                                  struct nn_arena *arena)
{
    _cleanup_(nn_execution_unrefp) struct nn_execution *execution = NULL;
    uint32_t status;

    status = nn_execution_judge_form(0, args->prepared_model, &args->request, args->measure,
                                     &reply->message, arena);
    if (status == NNHAL_NONE)
        status = nn_execution_new(session, args->prepared_model, &args->request, 0, &reply->message,
                                  arena, &execution);
    if (status == NNHAL_NONE)
        status = nn_session_charge(session, NN_QUOTA_EXECUTIONS, 1, "reusable executions",
                                   &execution->charge, &reply->message, arena);
    if (status != NNHAL_NONE)
        return status;
    execution->measure = args->measure != 0;
    execution->loop_timeout_ns = args->loop_timeout_ns;
    if (nn_objects_add(&session->objects, &execution->object) < 0)
        return nn_say_no_memory(&reply->message, arena);
    reply->execution = execution->object.id;
    return NNHAL_NONE;
}

uint32_t nn_host_free_execution(struct nn_session *session,
                                const struct nn_hal_free_execution_args *args,
                                struct nn_hal_free_execution_reply *reply, struct nn_arena *arena)
{
    nn_objects_remove(&session->objects, args->execution, NN_OBJECT_EXECUTION);
    return NNHAL_NONE;
}

/* -- execute_synchronously ------------------------------------------------------- */

static uint32_t run(const struct nn_binding *binding, const struct nn_binding_run *how,
                    struct nn_hal_execute_synchronously_reply *reply, struct nn_arena *arena)
{
    struct nn_binding_result result;
    uint32_t status = nn_binding_run(binding, how, &result, &reply->message, arena);

    if (status != NNHAL_NONE && status != NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        return status;
    reply->n_output_shapes = result.n_shapes;
    reply->output_shapes = result.shapes;
    reply->timing = result.timing;
    return status;
}

static uint32_t run_reusable(struct nn_session *session,
                             const struct nn_hal_execute_synchronously_args *args,
                             struct nn_hal_execute_synchronously_reply *reply,
                             struct nn_arena *arena)
{
    _cleanup_(nn_execution_unrefp) struct nn_execution *execution = NULL;
    struct nn_binding_run how = {.deadline_ns = args->deadline_ns,
                                 .is_cancelled = &session->is_cancelled};
    uint32_t status;

    status = nn_execution_get(session, args->execution, &reply->message, arena, &execution);
    if (status != NNHAL_NONE)
        return status;
    how.loop_timeout_ns = execution->loop_timeout_ns;
    how.measure = execution->measure;
    return run(&execution->binding, &how, reply, arena);
}

static uint32_t run_once(struct nn_session *session,
                         const struct nn_hal_execute_synchronously_args *args,
                         struct nn_hal_execute_synchronously_reply *reply, struct nn_arena *arena)
{
    const struct nn_binding_run how = {.deadline_ns = args->deadline_ns,
                                       .loop_timeout_ns = args->loop_timeout_ns,
                                       .measure = args->measure != 0,
                                       .is_cancelled = &session->is_cancelled};
    struct nn_prepared *prepared = NULL;
    struct nn_binding binding;
    uint32_t status;

    status = find_prepared(session, args->prepared_model, &reply->message, arena, &prepared);
    if (status != NNHAL_NONE)
        return status;
    status = nn_binding_init(&binding, session, prepared, &args->request, NULL, 0, arena,
                             &reply->message, arena);
    if (status == NNHAL_NONE)
        status = run(&binding, &how, reply, arena);
    nn_binding_done(&binding);
    return status;
}

uint32_t nn_host_execute_synchronously(struct nn_session *session,
                                       const struct nn_hal_execute_synchronously_args *args,
                                       struct nn_hal_execute_synchronously_reply *reply,
                                       struct nn_arena *arena)
{
    uint32_t status = nn_execution_judge_form(args->execution, args->prepared_model, &args->request,
                                              args->measure, &reply->message, arena);

    if (status != NNHAL_NONE)
        return status;
    return args->execution != 0 ? run_reusable(session, args, reply, arena)
                                : run_once(session, args, reply, arena);
}
