/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/copy.h"

#include "base/error.h"
#include "model/infer.h"
#include "model/types.h"
#include "runtime/copy-count.h"
#include "runtime/memory/domain.h"
#include "shm/region.h"

#include <string.h>

struct memory_copy {
    ANeuralNetworksMemory *from;
    ANeuralNetworksMemory *to;
    struct nn_why *why;
    /* Of the contents; 0: not known. */
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    uint64_t n_bytes;
};

/* -- checks -------------------------------------------------------------------------------- */

/* What is to be copied, as the source knows it. */
static int measure_source(struct memory_copy *copy)
{
    const struct nn_rt_domain *domain = copy->from->domain;

    copy->n_bytes = copy->from->size;
    if (!domain)
        return 0;
    if (nn_rt_domain_is_lost(copy->from->domain))
        return nn_fail(copy->why, ANEURALNETWORKS_DEAD_OBJECT,
                       "the source's contents went with the driver's process: write it again");
    if (!nn_rt_domain_get_dims(copy->from->domain, &copy->n_dims, copy->dims))
        return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA,
                       "the source is not initialized: copy into it, or compute into it, first");
    if (!nn_io_bytes(domain->roles.operand, copy->n_dims, copy->dims, &copy->n_bytes))
        return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA, "the source holds more than 4 GiB");
    return 0;
}

static int check_domain(struct memory_copy *copy)
{
    const struct nn_rt_roles *roles = &copy->to->domain->roles;
    uint64_t n_bytes;
    int r = 0;

    if (copy->from->domain)
        r = nn_fail_refused(nn_operand_check_compatible(copy->from->domain->roles.operand,
                                                        roles->operand, copy->why));
    if (r)
        return r;
    if (!nn_dims_merge(copy->n_dims, copy->dims, roles->n_dims, roles->dims, &copy->n_dims,
                       copy->dims))
        return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA,
                       "the source has other dimensions than the destination");
    if (!nn_dims_known(roles->operand->type, copy->n_dims, copy->dims))
        return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA,
                       "the destination's dimensions are open, and the source has none to tell");
    if (nn_io_bytes(roles->operand, copy->n_dims, copy->dims, &n_bytes) && n_bytes == copy->n_bytes)
        return 0;
    return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA,
                   "the source has %llu bytes, the destination's dimensions need another number",
                   (unsigned long long)copy->n_bytes);
}

static int copy_check(struct memory_copy *copy)
{
    int r;

    if (nn_rt_memory_is_opaque(copy->from) || nn_rt_memory_is_opaque(copy->to))
        return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA,
                       "a hardware buffer that is no BLOB holds arguments of executions; lock it "
                       "to copy its pixels");
    r = measure_source(copy);
    if (r)
        return r;
    if (copy->to->domain)
        return check_domain(copy);
    if (copy->to->size == copy->n_bytes)
        return 0;
    return nn_fail(copy->why, ANEURALNETWORKS_BAD_DATA,
                   "the source has %llu bytes, the destination %llu",
                   (unsigned long long)copy->n_bytes, (unsigned long long)copy->to->size);
}

/* -- the four ways ------------------------------------------------------------------------ */

static int copy_mapped(struct memory_copy *copy)
{
    _cleanup_(nn_region_unrefp) struct nn_region *from = NULL, *to = NULL;
    int r;

    r = nn_rt_memory_map(copy->from, copy->why, &from);
    if (!r)
        r = nn_rt_memory_map(copy->to, copy->why, &to);
    if (r)
        return r;
    if (!nn_region_is_writable(to))
        return nn_fail(copy->why, ANEURALNETWORKS_UNMAPPABLE, "the destination cannot be written");
    /* Memory that devices share may need caches to be flushed around an access. */
    r = nn_region_begin_access(from, false);
    if (r)
        return nn_error_trace(r);
    r = nn_region_begin_access(to, true);
    if (r) {
        nn_region_end_access(from, false);
        return nn_error_trace(r);
    }
    /* Two memories may be ranges of one file. */
    memmove(nn_region_data(to), nn_region_data(from), copy->n_bytes);
    nn_rt_copy_count_add(copy->n_bytes);
    r = nn_region_end_access(to, true);
    nn_region_end_access(from, false);
    return r;
}

/* The session that a memory in a device is in, and its buffer there. */
static int find_buffer(const struct memory_copy *copy, const ANeuralNetworksMemory *memory,
                       struct nn_rt_session **ret_session, uint64_t *ret_buffer)
{
    struct nn_rt_domain_handle handle = {0};
    int r = nn_rt_domain_get_session(memory->domain, copy->why, ret_session, &handle);

    *ret_buffer = handle.buffer;
    return r;
}

static int copy_from_device(struct memory_copy *copy, ANeuralNetworksMemory *to)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    struct nn_hal_copy_to_args args = {0};
    struct nn_hal_copy_to_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;
    int r;

    r = find_buffer(copy, copy->from, &session, &args.buffer);
    if (!r)
        r = nn_rt_memory_import(to, session, copy->why, &args.memory);
    if (r)
        return r;
    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(session,
                                        nn_hal_copy_to(session->hal, &args, &reply, &arena));
    r = nn_fail_status(copy->why, status, "memory", reply.message);
    nn_arena_done(&arena);
    return r;
}

static int copy_to_device(struct memory_copy *copy, ANeuralNetworksMemory *from)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    struct nn_hal_copy_from_args args = {
        .n_dimensions = copy->n_dims,
        .dimensions = copy->dims,
    };
    struct nn_hal_copy_from_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;
    int r;

    r = find_buffer(copy, copy->to, &session, &args.buffer);
    if (!r)
        r = nn_rt_memory_import(from, session, copy->why, &args.memory);
    if (r)
        return r;
    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(session,
                                        nn_hal_copy_from(session->hal, &args, &reply, &arena));
    r = nn_fail_status(copy->why, status, "memory", reply.message);
    nn_arena_done(&arena);
    return r;
}

/* Two devices share no memory of their own: the pool is what both can reach. */
static int copy_through_pool(struct memory_copy *copy)
{
    _cleanup_(nn_rt_memory_unrefp) ANeuralNetworksMemory *pool = NULL;
    int r = nn_rt_memory_new_pool("nnhal-copy", copy->n_bytes, &pool);

    if (!r)
        r = copy_from_device(copy, pool);
    if (!r)
        r = copy_to_device(copy, pool);
    return r;
}

static int copy_bytes(struct memory_copy *copy)
{
    bool is_from_device = nn_rt_memory_is_in_device(copy->from);
    bool is_to_device = nn_rt_memory_is_in_device(copy->to);

    if (is_from_device && is_to_device)
        return copy_through_pool(copy);
    if (is_from_device)
        return copy_from_device(copy, copy->to);
    return is_to_device ? copy_to_device(copy, copy->from) : copy_mapped(copy);
}

int nn_rt_memory_fill(ANeuralNetworksMemory *to, ANeuralNetworksMemory *pool, uint32_t n_dims,
                      const uint32_t *dims, struct nn_why *why)
{
    struct memory_copy copy = {.from = pool, .to = to, .why = why, .n_dims = n_dims};

    if (n_dims)
        memcpy(copy.dims, dims, n_dims * sizeof(*dims));
    return copy_to_device(&copy, pool);
}

int nn_rt_memory_copy(ANeuralNetworksMemory *from, ANeuralNetworksMemory *to, struct nn_why *why)
{
    struct memory_copy copy = {.from = from, .to = to, .why = why};
    int r;

    if (from == to)
        return 0;
    if (nn_rt_object_is_foreign(&from->object) || nn_rt_object_is_foreign(&to->object))
        return nn_fail_forked(why, "one of the memories");
    r = copy_check(&copy);
    if (!r)
        r = copy_bytes(&copy);
    if (!to->domain)
        return r;
    if (r)
        nn_rt_domain_clear(to->domain);
    else
        nn_rt_domain_set_dims(to->domain, copy.n_dims, copy.dims);
    return r;
}
