/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/domain.h"

#include "base/error.h"
#include "base/log.h"
#include "model/infer.h"
#include "model/types.h"
#include "runtime/compilation/renewal.h"

#include <string.h>

/* -- a buffer in the device ----------------------------------------------------------- */

/* What allocate() takes. Each role brings its own entry of prepared models; the
 * same one may stand there more than once. */
struct allocation {
    struct nn_rt_session *session;
    const ANeuralNetworksDevice *device;
    uint64_t *prepared_models;
    uint32_t n_held;
    struct nn_rt_prepared **held; /* so that none is freed before the call */
    struct nnhal_buffer_role *input_roles;
    struct nnhal_buffer_role *output_roles;
    struct nn_hal_allocate_args args;
};

static void allocation_add_role(struct allocation *allocation, const struct nn_rt_role *role,
                                uint64_t prepared_model)
{
    struct nn_hal_allocate_args *args = &allocation->args;
    struct nnhal_buffer_role *to = role->is_input
                                       ? &allocation->input_roles[args->n_input_roles++]
                                       : &allocation->output_roles[args->n_output_roles++];
    uint32_t i = 0;

    while (i < args->n_prepared_models && allocation->prepared_models[i] != prepared_model)
        i++;
    if (i == args->n_prepared_models)
        allocation->prepared_models[args->n_prepared_models++] = prepared_model;
    *to = (struct nnhal_buffer_role){
        .model_index = i, .io_index = role->index, .frequency = role->frequency};
}

static int call_allocate(struct allocation *allocation, const struct nn_rt_roles *roles,
                         struct nn_arena *arena, struct nn_why *why,
                         struct nn_hal_allocate_reply *reply)
{
    struct nn_hal_allocate_args *args = &allocation->args;
    uint32_t status;

    args->n_dimensions = roles->n_dims;
    args->dimensions = roles->dims;
    args->prepared_models = allocation->prepared_models;
    args->input_roles = allocation->input_roles;
    args->output_roles = allocation->output_roles;
    status = nn_rt_session_check_status(
        allocation->session, nn_hal_allocate(allocation->session->hal, args, reply, arena));
    return nn_fail_status(why, status, allocation->device->name, reply->message);
}

/* The prepared model of a role, alive: a session that died is no reason to fail. */
static int get_prepared(const struct nn_rt_role *role, struct nn_why *why,
                        struct nn_rt_prepared **ret_prepared)
{
    struct nn_rt_prepared *prepared;
    int r;

    prepared = nn_rt_compilation_get_prepared(role->compilation);
    if (!nn_rt_session_is_alive(prepared->session)) {
        r = nn_rt_compilation_renew(role->compilation, prepared, why);
        nn_rt_prepared_unref(prepared);
        if (r)
            return r;
        prepared = nn_rt_compilation_get_prepared(role->compilation);
    }
    *ret_prepared = prepared;
    return 0;
}

static int add_live_role(struct allocation *allocation, const struct nn_rt_role *role,
                         struct nn_rt_prepared *prepared, struct nn_why *why)
{
    if (!allocation->session) {
        allocation->session = nn_rt_session_ref(prepared->session);
        allocation->device = prepared->device;
        if (prepared->device->feature_level < NNHAL_FEATURE_LEVEL_4)
            return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "%s has no memories of its own",
                           prepared->device->name);
    }
    if (prepared->session != allocation->session && prepared->device == allocation->device)
        return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       "%s: its process died while the memory was made; try again",
                       prepared->device->name);
    if (prepared->session != allocation->session)
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "the roles belong to more than one device");
    allocation_add_role(allocation, role, prepared->id);
    return 0;
}

/* Whether the runtime reads or writes it itself. */
static bool has_control(uint32_t n, const struct nn_rt_role *expanded)
{
    for (uint32_t i = 0; i < n; i++)
        if (nn_rt_compilation_is_control(expanded[i].compilation))
            return true;
    return false;
}

/* A part that reads an empty tensor is prepared anew without it, in no role of any buffer: where
 * shapes are open, what a device computes is not known when its buffer is made. */
static bool has_open_parts(const struct nn_rt_roles *roles)
{
    for (uint32_t i = 0; i < roles->n_roles; i++)
        if (nn_rt_compilation_is_split(roles->roles[i].compilation) &&
            roles->roles[i].compilation->plan->is_open)
            return true;
    return false;
}

static int add_roles(struct allocation *allocation, const struct nn_rt_roles *roles,
                     struct nn_arena *arena, struct nn_why *why)
{
    struct nn_rt_role *expanded = NULL;
    uint32_t n = 0;
    int r = nn_rt_roles_expand(roles, arena, &expanded, &n);

    if (!r && (!n || n > NNHAL_MAX_ROLES || has_open_parts(roles) || has_control(n, expanded)))
        r = nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                    "the parts of a role's compilation cannot share a device's memory");
    if (r)
        return r;
    allocation->prepared_models = nn_arena_new_n(arena, uint64_t, n);
    allocation->input_roles = nn_arena_new_n(arena, struct nnhal_buffer_role, n);
    allocation->output_roles = nn_arena_new_n(arena, struct nnhal_buffer_role, n);
    allocation->held = nn_arena_new_n(arena, struct nn_rt_prepared *, n);
    if (!allocation->prepared_models || !allocation->input_roles || !allocation->output_roles ||
        !allocation->held)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < n; i++) {
        struct nn_rt_prepared *prepared = NULL;

        r = get_prepared(&expanded[i], why, &prepared);
        if (!r) {
            allocation->held[allocation->n_held++] = prepared;
            r = add_live_role(allocation, &expanded[i], prepared, why);
        }
    }
    return r;
}

static int make_buffer(struct nn_rt_domain *domain, struct allocation *allocation,
                       struct nn_arena *arena, struct nn_why *why)
{
    struct nn_hal_allocate_reply reply = {0};
    int r = add_roles(allocation, &domain->roles, arena, why);

    if (!r)
        r = call_allocate(allocation, &domain->roles, arena, why, &reply);
    while (allocation->n_held)
        nn_rt_prepared_unref(allocation->held[--allocation->n_held]);
    if (r)
        return r;
    domain->buffer = reply.buffer;
    domain->token = reply.token;
    return 0;
}

static int try_to_allocate(struct nn_rt_domain *domain, struct nn_why *why)
{
    struct allocation allocation = {0};
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    r = make_buffer(domain, &allocation, &arena, why);
    nn_arena_done(&arena);
    if (r) {
        nn_rt_session_unref(allocation.session);
        return r;
    }
    domain->session = allocation.session;
    return 0;
}

/* Gives the domain a buffer, in the session that all roles are in now. That the device's process has
 * died may be noticed by this call first: once more, then, on what was prepared again. */
static int domain_allocate(struct nn_rt_domain *domain, struct nn_why *why)
{
    int r = try_to_allocate(domain, why);

    return r == ANEURALNETWORKS_DEAD_OBJECT ? try_to_allocate(domain, why) : r;
}

static void free_buffer(struct nn_rt_domain *domain)
{
    const struct nn_hal_free_buffer_args args = {.buffer = domain->buffer};
    struct nn_hal_free_buffer_reply reply = {0};
    struct nn_arena arena;

    if (!domain->session)
        return;
    if (nn_rt_session_is_alive(domain->session)) {
        nn_arena_init(&arena, 0);
        nn_hal_free_buffer(domain->session->hal, &args, &reply, &arena);
        nn_arena_done(&arena);
    }
    domain->session = nn_rt_session_unref(domain->session);
    domain->buffer = 0;
    domain->token = 0;
}

/* -- making and ending ------------------------------------------------------------------ */

/* Whether more than one device is to use it, or a compilation is computed in parts. */
static bool has_several_devices(const struct nn_rt_roles *roles)
{
    for (uint32_t i = 0; i < roles->n_roles; i++)
        if (nn_rt_compilation_is_split(roles->roles[i].compilation) ||
            roles->roles[i].compilation->device != roles->roles[0].compilation->device)
            return true;
    return false;
}

static bool is_listed(const struct nn_rt_roles *roles)
{
    for (uint32_t i = 0; i < roles->n_roles; i++)
        if (roles->roles[i].compilation->is_explicit)
            return true;
    return false;
}

/* A list of devices asks for this device's memory: shared memory in its place would hide that it has
 * none. Where several devices compute, it is what all of them have. */
static bool can_use_pool(const struct nn_rt_roles *roles, uint64_t *ret_bytes)
{
    if (is_listed(roles) && !has_several_devices(roles))
        return false;
    return nn_dims_known(roles->operand->type, roles->n_dims, roles->dims) &&
           nn_io_bytes(roles->operand, roles->n_dims, roles->dims, ret_bytes) && *ret_bytes;
}

static int domain_new(const struct nn_rt_roles *roles, struct nn_rt_domain **ret_domain)
{
    struct nn_rt_domain *domain = calloc(1, sizeof(*domain));
    int r;

    if (!domain)
        return nn_error_origin(-ENOMEM);
    r = nn_rt_roles_copy(&domain->roles, roles);
    if (r) {
        free(domain);
        return r;
    }
    pthread_mutex_init(&domain->lock, NULL);
    *ret_domain = domain;
    return 0;
}

static struct nn_rt_domain *domain_free(struct nn_rt_domain *domain)
{
    if (!domain)
        return NULL;
    free_buffer(domain);
    nn_rt_roles_done(&domain->roles);
    pthread_mutex_destroy(&domain->lock);
    free(domain);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_domain, domain_free)

static void set_domain(ANeuralNetworksMemory *memory, struct nn_rt_domain **domain)
{
    memory->domain = steal_ptr(domain);
    memory->free_domain = domain_free;
}

int nn_rt_domain_new_in_device(const struct nn_rt_roles *roles, struct nn_why *why,
                               ANeuralNetworksMemory **ret_memory)
{
    _cleanup_(domain_freep) struct nn_rt_domain *domain = NULL;
    uint64_t n_bytes = 0;
    int r = domain_new(roles, &domain);

    if (!r)
        r = domain_allocate(domain, why);
    if (r)
        return r;
    nn_io_bytes(roles->operand, roles->n_dims, roles->dims, &n_bytes);
    r = nn_rt_memory_new_in_device(n_bytes, ret_memory);
    if (!r)
        set_domain(*ret_memory, &domain);
    return r;
}

static int new_in_pool(const struct nn_rt_roles *roles, uint64_t n_bytes,
                       ANeuralNetworksMemory **ret_memory)
{
    _cleanup_(domain_freep) struct nn_rt_domain *domain = NULL;
    int r = domain_new(roles, &domain);

    if (!r)
        r = nn_rt_memory_new_pool("nnhal-domain", n_bytes, ret_memory);
    if (!r)
        set_domain(*ret_memory, &domain);
    return r;
}

int nn_rt_domain_new_memory(const ANeuralNetworksMemoryDesc *desc, struct nn_why *why,
                            ANeuralNetworksMemory **ret_memory)
{
    uint64_t n_bytes = 0;
    int r;

    if (!desc->is_finished)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "the descriptor is not finished");
    r = nn_rt_domain_new_in_device(&desc->roles, why, ret_memory);
    if (r <= 0 || !can_use_pool(&desc->roles, &n_bytes))
        return r;
    nn_log("memory", NN_LOG_INFO, "%s; shared memory serves instead", why->text);
    return new_in_pool(&desc->roles, n_bytes, ret_memory);
}

/* -- use ---------------------------------------------------------------------------------- */

int nn_rt_domain_check_role(const struct nn_rt_domain *domain,
                            const ANeuralNetworksCompilation *compilation, bool is_input,
                            uint32_t index, struct nn_why *why)
{
    if (nn_rt_roles_has(&domain->roles, compilation, is_input, index))
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                   "the memory's descriptor does not name %s %u of this compilation as a role",
                   is_input ? "input" : "output", index);
}

int nn_rt_domain_get_session(struct nn_rt_domain *domain, struct nn_why *why,
                             struct nn_rt_session **ret_session,
                             struct nn_rt_domain_handle *ret_handle)
{
    int r = 0;

    pthread_mutex_lock(&domain->lock);
    /* The contents went with the session: the next use has to write first. */
    if (!domain->session || !nn_rt_session_is_alive(domain->session)) {
        domain->is_lost |= domain->is_initialized;
        domain->is_initialized = false;
        free_buffer(domain);
        r = domain_allocate(domain, why);
    }
    if (!r) {
        *ret_session = nn_rt_session_ref(domain->session);
        *ret_handle = (struct nn_rt_domain_handle){domain->buffer, domain->token};
    }
    pthread_mutex_unlock(&domain->lock);
    return r;
}

int nn_rt_domain_get_buffer(struct nn_rt_domain *domain, struct nn_rt_session *session,
                            struct nn_why *why, struct nn_rt_domain_handle *ret_handle)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *own = NULL;
    int r = nn_rt_domain_get_session(domain, why, &own, ret_handle);

    if (!r && own != session)
        r = nn_fail_status(why, NNHAL_DEAD_OBJECT, "memory", NULL);
    return r;
}

bool nn_rt_domain_get_dims(struct nn_rt_domain *domain, uint32_t *ret_n, uint32_t *ret)
{
    bool is_initialized;

    pthread_mutex_lock(&domain->lock);
    is_initialized = domain->is_initialized &&
                     (!domain->session || nn_rt_session_is_alive(domain->session));
    *ret_n = domain->n_dims;
    memcpy(ret, domain->dims, sizeof(domain->dims));
    pthread_mutex_unlock(&domain->lock);
    return is_initialized;
}

int nn_rt_domain_check_input(struct nn_rt_domain *domain, uint32_t n_dims, const uint32_t *dims,
                             struct nn_why *why)
{
    uint32_t n, held[NNHAL_MAX_RANK], n_merged, merged[NNHAL_MAX_RANK];

    if (nn_rt_domain_is_lost(domain))
        return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       "the memory's contents went with the driver's process: write it again");
    if (!nn_rt_domain_get_dims(domain, &n, held))
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "the memory is not initialized: copy into it, or compute into it, first");
    if (!nn_dims_merge(n, held, n_dims, dims, &n_merged, merged))
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "the memory's contents have other dimensions than the input");
    return 0;
}

void nn_rt_domain_set_dims(struct nn_rt_domain *domain, uint32_t n_dims, const uint32_t *dims)
{
    pthread_mutex_lock(&domain->lock);
    domain->is_initialized = true;
    domain->is_lost = false;
    domain->n_dims = n_dims;
    if (n_dims)
        memcpy(domain->dims, dims, n_dims * sizeof(*dims));
    pthread_mutex_unlock(&domain->lock);
}

bool nn_rt_domain_is_lost(struct nn_rt_domain *domain)
{
    bool is_lost;

    pthread_mutex_lock(&domain->lock);
    is_lost = domain->is_lost || (domain->is_initialized && domain->session &&
                                  !nn_rt_session_is_alive(domain->session));
    pthread_mutex_unlock(&domain->lock);
    return is_lost;
}

bool nn_rt_domain_is_gone(struct nn_rt_domain *domain)
{
    bool is_gone;

    pthread_mutex_lock(&domain->lock);
    is_gone = domain->is_lost || !domain->session || !nn_rt_session_is_alive(domain->session);
    pthread_mutex_unlock(&domain->lock);
    return is_gone;
}

void nn_rt_domain_clear(struct nn_rt_domain *domain)
{
    pthread_mutex_lock(&domain->lock);
    domain->is_initialized = false;
    pthread_mutex_unlock(&domain->lock);
}
