/* SPDX-License-Identifier: Apache-2.0 */
/* allocate.c - what a buffer is asked for, judged and made */
#include "base/arith.h"
#include "host/memory/buffer.h"
#include "host/methods.h"
#include "host/services.h"
#include "model/infer.h"

#include <string.h>

/* Bytes that a buffer of open shape begins with: the page that it has anyway. */
#define OPEN_BYTES 4096

/* What is asked for, as far as it was understood. */
struct wish {
    struct nn_call *call;
    const struct nn_hal_allocate_args *args;
    struct nn_prepared **prepared; /* references to args' prepared models */
    uint32_t n_prepared;
    uint32_t n_roles;
    struct nnhal_driver_role *roles;
    struct nn_buffer_role *ids;   /* of the roles */
    struct nnhal_operand operand; /* of the first role, with the dimensions of all */
    uint32_t dimensions[NNHAL_MAX_RANK];
};

/* -- prepared models --------------------------------------------------------------- */

static uint32_t check_counts(struct wish *wish)
{
    const struct nn_hal_allocate_args *args = wish->args;

    if (args->n_prepared_models == 0 || args->n_prepared_models > NNHAL_MAX_ROLES ||
        !args->prepared_models)
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "a buffer is for 1 to %d prepared models, %u are given",
                            NNHAL_MAX_ROLES, args->n_prepared_models);
    if (args->n_input_roles > NNHAL_MAX_ROLES || args->n_output_roles > NNHAL_MAX_ROLES ||
        (args->n_input_roles && !args->input_roles) ||
        (args->n_output_roles && !args->output_roles))
        return nn_call_fail(
            wish->call, NNHAL_INVALID_ARGUMENT,
            "a buffer has at most %d roles as input and as output, %u and %u are given",
            NNHAL_MAX_ROLES, args->n_input_roles, args->n_output_roles);
    if (args->n_input_roles + args->n_output_roles == 0)
        return nn_call_fail(
            wish->call, NNHAL_INVALID_ARGUMENT,
            "a buffer without a role cannot be used: say of which model it is to be an "
            "input or an output");
    if (args->n_dimensions > NNHAL_MAX_RANK || (args->n_dimensions && !args->dimensions))
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "the buffer's rank is %u, at most %d is supported", args->n_dimensions,
                            NNHAL_MAX_RANK);
    return NNHAL_NONE;
}

static uint32_t find_prepared(struct wish *wish)
{
    const struct nn_hal_allocate_args *args = wish->args;

    wish->prepared = nn_arena_new_n(wish->call->arena, struct nn_prepared *,
                                    args->n_prepared_models);
    if (!wish->prepared)
        return nn_call_fail_no_memory(wish->call);
    for (uint32_t i = 0; i < args->n_prepared_models; i++) {
        wish->prepared[i] = nn_prepared_get(wish->call->session, args->prepared_models[i]);
        if (!wish->prepared[i])
            return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                                "%llu is no prepared model of this session, or was freed",
                                (unsigned long long)args->prepared_models[i]);
        wish->n_prepared++;
    }
    return NNHAL_NONE;
}

/* -- roles --------------------------------------------------------------------------- */

/* Takes up what the operand of one more role says. */
static uint32_t merge_operand(struct wish *wish, const struct nnhal_operand *operand)
{
    struct nn_why why = {.text = ""};
    uint32_t n;

    if (wish->n_roles == 0) {
        wish->operand = *operand;
        if (operand->n_dimensions)
            memcpy(wish->dimensions, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
        wish->operand.dimensions = wish->dimensions;
        return NNHAL_NONE;
    }
    if (nn_operand_check_compatible(&wish->operand, operand, &why) != 0)
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "role %u asks for something else than those before: %s", wish->n_roles,
                            why.text);
    nn_dims_merge(wish->operand.n_dimensions, wish->dimensions, operand->n_dimensions,
                  operand->dimensions, &n, wish->dimensions);
    wish->operand.n_dimensions = n;
    return NNHAL_NONE;
}

static uint32_t add_role(struct wish *wish, const struct nnhal_buffer_role *role, bool is_output)
{
    const struct nn_prepared *prepared;
    const struct nn_model_io *io;
    uint32_t n, status;

    if (role->model_index >= wish->n_prepared)
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "role %u is of prepared model %u, %u are given", wish->n_roles,
                            role->model_index, wish->n_prepared);
    prepared = wish->prepared[role->model_index];
    io = &prepared->io;
    n = is_output ? io->n_outputs : io->n_inputs;
    if (role->io_index >= n)
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "role %u is %s %u, the model has %u", wish->n_roles,
                            is_output ? "output" : "input", role->io_index, n);
    if (!(role->frequency > 0.0f && role->frequency <= 1.0f))
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "role %u has frequency %g: it must be above 0 and at most 1",
                            wish->n_roles, (double)role->frequency);
    status = merge_operand(wish,
                           is_output ? &io->outputs[role->io_index] : &io->inputs[role->io_index]);
    if (status != NNHAL_NONE)
        return status;
    wish->roles[wish->n_roles] = (struct nnhal_driver_role){.prepared = prepared->driver_prepared,
                                                            .is_output = is_output,
                                                            .index = role->io_index,
                                                            .frequency = role->frequency};
    wish->ids[wish->n_roles++] = (struct nn_buffer_role){
        .prepared_model = prepared->object.id, .is_output = is_output, .index = role->io_index};
    return NNHAL_NONE;
}

/* Sorted, so that equal ones are neighbors; a model may have been listed twice. */
static uint32_t check_distinct(struct wish *wish)
{
    qsort(wish->ids, wish->n_roles, sizeof(wish->ids[0]), nn_buffer_compare_roles);
    for (uint32_t i = 1; i < wish->n_roles; i++)
        if (nn_buffer_compare_roles(&wish->ids[i - 1], &wish->ids[i]) == 0)
            return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                                "%s %u of a prepared model is a role twice",
                                wish->ids[i].is_output ? "output" : "input", wish->ids[i].index);
    return NNHAL_NONE;
}

static uint32_t add_roles(struct wish *wish)
{
    const struct nn_hal_allocate_args *args = wish->args;
    uint32_t n = args->n_input_roles + args->n_output_roles, status = NNHAL_NONE;

    wish->roles = nn_arena_new_n(wish->call->arena, struct nnhal_driver_role, n);
    wish->ids = nn_arena_new_n(wish->call->arena, struct nn_buffer_role, n);
    if (!wish->roles || !wish->ids)
        return nn_call_fail_no_memory(wish->call);
    for (uint32_t i = 0; i < args->n_input_roles && status == NNHAL_NONE; i++)
        status = add_role(wish, &args->input_roles[i], false);
    for (uint32_t i = 0; i < args->n_output_roles && status == NNHAL_NONE; i++)
        status = add_role(wish, &args->output_roles[i], true);
    return status == NNHAL_NONE ? check_distinct(wish) : status;
}

/* -- the shape ------------------------------------------------------------------------ */

static uint32_t check_shape(struct wish *wish)
{
    const struct nn_hal_allocate_args *args = wish->args;
    struct nnhal_operand *operand = &wish->operand;
    uint64_t n_bytes;
    uint32_t n;

    if (nn_type_bytes(operand->type) == 0)
        return nn_call_fail(wish->call, NNHAL_GENERAL_FAILURE,
                            "buffers hold no values of extension and OEM types: use shared memory");
    if (nn_type_is_scalar(operand->type) && args->n_dimensions)
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "the buffer is for a scalar, which has no dimensions, and has rank %u",
                            args->n_dimensions);
    if (!nn_dims_merge(operand->n_dimensions, wish->dimensions, args->n_dimensions,
                       args->dimensions, &n, wish->dimensions))
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "the buffer's dimensions contradict those of its roles");
    operand->n_dimensions = n;
    if (!nn_operand_bytes(operand->type, n, wish->dimensions, &n_bytes))
        return nn_call_fail(wish->call, NNHAL_INVALID_ARGUMENT,
                            "the buffer's size does not fit 32 bits");
    return NNHAL_NONE;
}

/* -- making ----------------------------------------------------------------------------- */

/* Offers the buffer to the driver, which may leave it to us. */
static uint32_t ask_driver(struct wish *wish, struct nn_buffer *buffer)
{
    const struct nn_host *host = wish->call->session->host;
    const struct nnhal_allocate allocate = {
        .size = sizeof(allocate),
        .operand = &wish->operand,
        .n_roles = wish->n_roles,
        .roles = wish->roles,
    };

    void *driver_buffer = NULL;
    uint32_t status;

    if (!host->driver.allocate_buffer)
        return NNHAL_NONE;
    nn_services_clear();
    status = host->driver.allocate_buffer(host->device, &allocate, &driver_buffer);
    if (status == NNHAL_NONE)
        buffer->store.driver_buffer = driver_buffer;
    return nn_call_check_driver(wish->call, status, "allocate_buffer");
}

static uint64_t first_bytes(const struct nn_buffer *buffer)
{
    uint64_t n_bytes = OPEN_BYTES;

    if (nn_dims_known(buffer->type, buffer->n_dimensions, buffer->dimensions))
        nn_operand_bytes(buffer->type, buffer->n_dimensions, buffer->dimensions, &n_bytes);
    return n_bytes;
}

static uint32_t buffer_charge(struct wish *wish, struct nn_buffer *buffer, uint64_t n_bytes)
{
    uint32_t status = nn_call_charge(wish->call, NN_QUOTA_BUFFERS, 1, "buffers", &buffer->charge);

    if (status != NNHAL_NONE)
        return status;
    return nn_call_charge(wish->call, NN_QUOTA_BUFFER_BYTES, n_bytes, "bytes of buffers",
                          &buffer->roles_charge);
}

static uint32_t buffer_make(struct wish *wish, struct nn_buffer *buffer)
{
    size_t n_bytes = wish->n_roles * sizeof(wish->ids[0]);
    uint32_t status = buffer_charge(wish, buffer, n_bytes);

    if (status != NNHAL_NONE)
        return status;
    buffer->roles = malloc(n_bytes);
    if (!buffer->roles)
        return nn_call_fail_no_memory(wish->call);
    memcpy(buffer->roles, wish->ids, n_bytes);
    buffer->n_roles = wish->n_roles;
    buffer->type = wish->operand.type;
    buffer->n_dimensions = wish->operand.n_dimensions;
    memcpy(buffer->dimensions, wish->dimensions, sizeof(buffer->dimensions));
    status = nn_buffer_charge(wish->call, buffer, first_bytes(buffer));
    if (status == NNHAL_NONE)
        status = ask_driver(wish, buffer);
    return status == NNHAL_NONE ? nn_buffer_reserve(wish->call, buffer, first_bytes(buffer))
                                : status;
}

static uint32_t wish_check(struct wish *wish)
{
    uint32_t status = check_counts(wish);

    if (status == NNHAL_NONE)
        status = find_prepared(wish);
    if (status == NNHAL_NONE)
        status = add_roles(wish);
    return status == NNHAL_NONE ? check_shape(wish) : status;
}

static uint32_t buffer_allocate(struct wish *wish, struct nn_hal_allocate_reply *reply)
{
    _cleanup_(nn_buffer_unrefp) struct nn_buffer *buffer = nn_buffer_new(wish->call->session);
    uint32_t status;

    if (!buffer)
        return nn_call_fail_no_memory(wish->call);
    status = wish_check(wish);
    if (status == NNHAL_NONE)
        status = buffer_make(wish, buffer);
    if (status != NNHAL_NONE)
        return status;
    if (nn_buffer_publish(buffer) < 0)
        return nn_call_fail_no_memory(wish->call);
    reply->buffer = buffer->object.id;
    reply->token = buffer->token;
    return NNHAL_NONE;
}

uint32_t nn_host_allocate(struct nn_call *call, const struct nn_hal_allocate_args *args,
                          struct nn_hal_allocate_reply *reply)
{
    struct wish wish = {.call = call, .args = args};
    uint32_t status = buffer_allocate(&wish, reply);

    for (uint32_t i = 0; i < wish.n_prepared; i++)
        nn_prepared_unref(wish.prepared[i]);
    return status;
}
