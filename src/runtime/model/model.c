/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/frozen.h"

#include "base/arith.h"
#include "base/error.h"

#include <string.h>

/* What a device answered for this model. */
struct nn_rt_frozen_answer {
    struct nn_rt_frozen_answer *next;
    const ANeuralNetworksDevice *device;
    uint8_t *supported;
};

int nn_rt_frozen_new(struct nn_rt_frozen **ret_frozen)
{
    struct nn_rt_frozen *frozen = calloc(1, sizeof(*frozen));

    if (!frozen)
        return nn_error_origin(-ENOMEM);
    frozen->n_refs = 1;
    nn_arena_init(&frozen->arena, 0);
    pthread_mutex_init(&frozen->lock, NULL);
    *ret_frozen = frozen;
    return 0;
}

struct nn_rt_frozen *nn_rt_frozen_ref(struct nn_rt_frozen *frozen)
{
    nn_ref(&frozen->n_refs);
    return frozen;
}

static void destroy(struct nn_rt_frozen *frozen)
{
    for (uint32_t i = 0; i < frozen->part.n_pools; i++)
        nn_rt_memory_unref(frozen->part.pools[i]);
    while (frozen->answers) {
        struct nn_rt_frozen_answer *answer = frozen->answers;

        frozen->answers = answer->next;
        free(answer->supported);
        free(answer);
    }
    pthread_mutex_destroy(&frozen->lock);
    nn_arena_done(&frozen->arena);
    free(frozen);
}

/* Nesting is bounded by NN_MODEL_MAX_NESTING: joining refused what is deeper. */
struct nn_rt_frozen *nn_rt_frozen_unref(struct nn_rt_frozen *frozen)
{
    if (!frozen || !nn_unref(&frozen->n_refs))
        return NULL;
    for (uint32_t i = 0; i < frozen->part.n_children; i++)
        nn_rt_frozen_unref(frozen->part.children[i]);
    destroy(frozen);
    return NULL;
}

/* -- joining -------------------------------------------------------------- */

/* The parts of a model, each once: main first, then what it refers to, breadth
 * first, so that the children of a part are looked up here. */
struct join {
    struct nn_rt_frozen *frozen;
    struct nn_why *why;
    uint32_t n_parts;
    const struct nn_rt_frozen **parts;
    uint64_t *value_bases;
    uint64_t n_value_bytes;
    uint32_t n_pools;
};

static uint32_t find_part(const struct join *join, const struct nn_rt_frozen *child)
{
    uint32_t i = 0;

    while (i < join->n_parts && join->parts[i] != child)
        i++;
    return i;
}

static int collect_parts(struct join *join)
{
    join->parts = nn_arena_new_n(&join->frozen->arena, const struct nn_rt_frozen *,
                                 NNHAL_MAX_SUBGRAPHS + 1);
    if (!join->parts)
        return nn_error_origin(-ENOMEM);
    join->parts[join->n_parts++] = join->frozen;
    for (uint32_t i = 0; i < join->n_parts; i++) {
        const struct nn_rt_frozen_part *part = &join->parts[i]->part;

        for (uint32_t j = 0; j < part->n_children; j++) {
            if (find_part(join, part->children[j]) < join->n_parts)
                continue;
            if (join->n_parts > NNHAL_MAX_SUBGRAPHS)
                return nn_fail(join->why, ANEURALNETWORKS_BAD_DATA,
                               "more than %d models refer to each other", NNHAL_MAX_SUBGRAPHS);
            join->parts[join->n_parts++] = part->children[j];
        }
    }
    return 0;
}

static int join_values(struct join *join)
{
    struct nn_rt_frozen *frozen = join->frozen;
    uint8_t *values;

    join->value_bases = nn_arena_new_n(&frozen->arena, uint64_t, join->n_parts);
    if (!join->value_bases)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < join->n_parts; i++) {
        join->value_bases[i] = join->n_value_bytes;
        join->n_value_bytes += join->parts[i]->part.values.size;
        if (join->n_value_bytes > NNHAL_MAX_OPERAND_VALUES_BYTES)
            return nn_fail(join->why, ANEURALNETWORKS_BAD_DATA,
                           "small constants need more than %d bytes together",
                           NNHAL_MAX_OPERAND_VALUES_BYTES);
    }
    values = nn_arena_alloc(&frozen->arena, join->n_value_bytes);
    if (!values)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < join->n_parts; i++)
        if (join->parts[i]->part.values.size)
            memcpy(values + join->value_bases[i], join->parts[i]->part.values.data,
                   join->parts[i]->part.values.size);
    frozen->model.operand_values = (struct nnhal_bytes){join->n_value_bytes, values};
    return 0;
}

static uint32_t find_pool(const struct join *join, const ANeuralNetworksMemory *pool)
{
    uint32_t i = 0;

    while (i < join->n_pools && join->frozen->pools[i] != pool)
        i++;
    return i;
}

static int join_pools(struct join *join)
{
    size_t n = 0;

    for (uint32_t i = 0; i < join->n_parts; i++)
        n += join->parts[i]->part.n_pools;
    join->frozen->pools = nn_arena_new_n(&join->frozen->arena, ANeuralNetworksMemory *, n);
    if (!join->frozen->pools)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < join->n_parts; i++)
        for (uint32_t j = 0; j < join->parts[i]->part.n_pools; j++) {
            ANeuralNetworksMemory *pool = join->parts[i]->part.pools[j];

            if (find_pool(join, pool) == join->n_pools)
                join->frozen->pools[join->n_pools++] = pool;
        }
    if (join->n_pools > NNHAL_MAX_POOLS)
        return nn_fail(join->why, ANEURALNETWORKS_BAD_DATA,
                       "constants lie in more than %d memories", NNHAL_MAX_POOLS);
    return 0;
}

/* Part i, with what its operands refer to counted in the whole. */
static int relocate(const struct join *join, uint32_t i, struct nnhal_subgraph *ret_graph)
{
    const struct nn_rt_frozen_part *part = &join->parts[i]->part;
    struct nnhal_operand *operands;

    operands = nn_arena_dup(&join->frozen->arena, part->graph.operands,
                            part->graph.n_operands * sizeof(*operands));
    if (!operands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t j = 0; j < part->graph.n_operands; j++) {
        struct nnhal_data_location *location = &operands[j].location;

        if (i == 0)
            break; /* main comes first everywhere: nothing moves */
        if (operands[j].lifetime == NNHAL_CONSTANT_COPY)
            location->offset += join->value_bases[i];
        else if (operands[j].lifetime == NNHAL_CONSTANT_REFERENCE)
            location->pool_index = find_pool(join, part->pools[location->pool_index]);
        else if (operands[j].lifetime == NNHAL_SUBGRAPH_VALUE)
            location->offset = find_part(join, part->children[location->offset]) - 1;
    }
    *ret_graph = part->graph;
    ret_graph->operands = operands;
    return 0;
}

static int join_graphs(struct join *join)
{
    struct nnhal_model *model = &join->frozen->model;
    struct nnhal_subgraph *referenced;
    int r;

    referenced = nn_arena_new_n(&join->frozen->arena, struct nnhal_subgraph, join->n_parts);
    if (!referenced)
        return nn_error_origin(-ENOMEM);
    r = relocate(join, 0, &model->main);
    for (uint32_t i = 1; !r && i < join->n_parts; i++)
        r = relocate(join, i, &referenced[i - 1]);
    model->n_referenced = join->n_parts - 1;
    model->referenced = referenced;
    model->n_pools = join->n_pools;
    return r;
}

static int judge(struct nn_rt_frozen *frozen, struct nn_why *why)
{
    struct nnhal_model model = frozen->model;
    uint64_t *sizes;
    uint64_t *ids;
    int r;

    sizes = nn_arena_new_n(&frozen->arena, uint64_t, model.n_pools);
    ids = nn_arena_new_n(&frozen->arena, uint64_t, model.n_pools);
    if (!sizes || !ids)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < model.n_pools; i++) {
        sizes[i] = frozen->pools[i]->size;
        ids[i] = i + 1; /* stands for the id that a session will give */
    }
    model.pools = ids;
    r = nn_fail_refused(nn_model_validate(&model, sizes, &frozen->arena, &frozen->facts, why));
    if (r)
        return r;
    return nn_model_io_init(&frozen->io, &frozen->model, &frozen->arena);
}

int nn_rt_frozen_join(struct nn_rt_frozen *frozen, struct nn_why *why)
{
    struct join join = {.frozen = frozen, .why = why};
    int r;

    r = collect_parts(&join);
    if (!r)
        r = join_values(&join);
    if (!r)
        r = join_pools(&join);
    if (!r)
        r = join_graphs(&join);
    if (!r)
        r = judge(frozen, why);
    return r;
}

/* -- in a session ----------------------------------------------------------- */

int nn_rt_frozen_get_model(struct nn_rt_frozen *frozen, struct nn_rt_session *session,
                           struct nn_arena *arena, struct nn_why *why,
                           struct nnhal_model *ret_model)
{
    uint64_t *ids = nn_arena_new_n(arena, uint64_t, frozen->model.n_pools);
    int r;

    if (!ids)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < frozen->model.n_pools; i++) {
        r = nn_rt_memory_import(frozen->pools[i], session, why, &ids[i]);
        if (r)
            return r;
    }
    *ret_model = frozen->model;
    ret_model->pools = ids;
    return 0;
}

bool nn_rt_frozen_is_newer(const struct nn_rt_frozen *frozen, const ANeuralNetworksDevice *device)
{
    return frozen->facts.level > nn_level_from_feature(device->feature_level);
}

static int ask_device(struct nn_rt_frozen *frozen, ANeuralNetworksDevice *device,
                      struct nn_why *why, uint8_t *supported)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    struct nn_hal_get_supported_operations_args args = {0};
    struct nn_hal_get_supported_operations_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;
    int r;

    if (nn_rt_frozen_is_newer(frozen, device))
        return 0; /* supported says no to everything */
    r = nn_rt_device_get_session(device, why, &session);
    if (r)
        return r;
    nn_arena_init(&arena, 0);
    r = nn_rt_frozen_get_model(frozen, session, &arena, why, &args.model);
    if (!r) {
        status = nn_rt_session_note(
            session, nn_hal_get_supported_operations(session->hal, &args, &reply, &arena));
        r = nn_fail_status(why, status, device->name, reply.message);
    }
    if (!r && reply.n_supported != frozen->model.main.n_operations)
        r = nn_fail(why, ANEURALNETWORKS_OP_FAILED, "%s: answered for %u of %u operations",
                    device->name, reply.n_supported, frozen->model.main.n_operations);
    if (!r)
        memcpy(supported, reply.supported, reply.n_supported);
    nn_arena_done(&arena);
    return r;
}

static struct nn_rt_frozen_answer *find_answer(const struct nn_rt_frozen *frozen,
                                               const ANeuralNetworksDevice *device)
{
    struct nn_rt_frozen_answer *answer = frozen->answers;

    while (answer && answer->device != device)
        answer = answer->next;
    return answer;
}

int nn_rt_frozen_get_supported(struct nn_rt_frozen *frozen, ANeuralNetworksDevice *device,
                               struct nn_why *why, const uint8_t **ret_supported)
{
    struct nn_rt_frozen_answer *answer;
    int r = 0;

    if (nn_rt_device_is_foreign(device))
        return nn_fail_status(why, NNHAL_DEAD_OBJECT, device->name, NULL);
    pthread_mutex_lock(&frozen->lock);
    answer = find_answer(frozen, device);
    if (!answer) {
        answer = calloc(1, sizeof(*answer));
        if (answer)
            answer->supported = calloc(1, frozen->model.main.n_operations);
        r = answer && answer->supported ? ask_device(frozen, device, why, answer->supported)
                                        : nn_error_origin(-ENOMEM);
        if (r) {
            if (answer)
                free(answer->supported);
            free(answer);
        } else {
            answer->device = device;
            answer->next = frozen->answers;
            frozen->answers = answer;
        }
    }
    if (!r)
        *ret_supported = answer->supported;
    pthread_mutex_unlock(&frozen->lock);
    return r;
}
