/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/model.h"

#include "base/arith.h"
#include "base/error.h"
#include "runtime/extension.h"

#include <string.h>

int nn_rt_model_new(struct nn_rt_model **ret_finished)
{
    struct nn_rt_model *finished = calloc(1, sizeof(*finished));

    if (!finished)
        return nn_error_origin(-ENOMEM);
    finished->n_refs = 1;
    nn_arena_init(&finished->arena, 0);
    pthread_mutex_init(&finished->lock, NULL);
    *ret_finished = finished;
    return 0;
}

struct nn_rt_model *nn_rt_model_ref(struct nn_rt_model *finished)
{
    nn_ref(&finished->n_refs);
    return finished;
}

static void model_destroy(struct nn_rt_model *finished)
{
    for (uint32_t i = 0; i < finished->part.n_pools; i++)
        nn_rt_memory_unref(finished->part.pools[i]);
    while (finished->answers) {
        struct nn_rt_answer *answer = finished->answers;

        finished->answers = answer->next;
        nn_rt_answer_free(answer);
    }
    pthread_mutex_destroy(&finished->lock);
    nn_arena_done(&finished->arena);
    free(finished);
}

/* Nesting is bounded by NN_MODEL_MAX_NESTING: linking has refused deeper models. */
struct nn_rt_model *nn_rt_model_unref(struct nn_rt_model *finished)
{
    if (!finished || !nn_unref(&finished->n_refs))
        return NULL;
    for (uint32_t i = 0; i < finished->part.n_children; i++)
        nn_rt_model_unref(finished->part.children[i]);
    nn_rt_model_unref(finished->whole);
    model_destroy(finished);
    return NULL;
}

/* -- linking -------------------------------------------------------------- */

/* The parts of a model, each once: main first, then what it refers to, breadth
 * first, so that the children of a part are looked up here. */
struct linker {
    struct nn_rt_model *finished;
    struct nn_why *why;
    uint32_t n_parts;
    const struct nn_rt_model **parts;
    uint64_t *value_bases;
    uint64_t n_value_bytes;
    uint32_t n_pools;
};

/* At most NNHAL_MAX_SUBGRAPHS parts: a search needs no index. */
static uint32_t part_find(const struct linker *linker, const struct nn_rt_model *child)
{
    uint32_t i = 0;

    while (i < linker->n_parts && linker->parts[i] != child)
        i++;
    return i;
}

static int collect_parts(struct linker *linker)
{
    linker->parts = nn_arena_new_n(&linker->finished->arena, const struct nn_rt_model *,
                                   NNHAL_MAX_SUBGRAPHS + 1);
    if (!linker->parts)
        return nn_error_origin(-ENOMEM);
    linker->parts[linker->n_parts++] = linker->finished;
    for (uint32_t i = 0; i < linker->n_parts; i++) {
        const struct nn_rt_model_part *part = &linker->parts[i]->part;

        for (uint32_t j = 0; j < part->n_children; j++) {
            if (part_find(linker, part->children[j]) < linker->n_parts)
                continue;
            if (linker->n_parts > NNHAL_MAX_SUBGRAPHS)
                return nn_fail(linker->why, ANEURALNETWORKS_BAD_DATA,
                               "more than %d models refer to each other", NNHAL_MAX_SUBGRAPHS);
            linker->parts[linker->n_parts++] = part->children[j];
        }
    }
    return 0;
}

static int link_values(struct linker *linker)
{
    struct nn_rt_model *finished = linker->finished;
    uint8_t *values;

    linker->value_bases = nn_arena_new_n(&finished->arena, uint64_t, linker->n_parts);
    if (!linker->value_bases)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < linker->n_parts; i++) {
        linker->value_bases[i] = linker->n_value_bytes;
        linker->n_value_bytes += linker->parts[i]->part.values.size;
        if (linker->n_value_bytes > NNHAL_MAX_OPERAND_VALUES_BYTES)
            return nn_fail(linker->why, ANEURALNETWORKS_BAD_DATA,
                           "small constants need more than %d bytes together",
                           NNHAL_MAX_OPERAND_VALUES_BYTES);
    }
    values = nn_arena_alloc(&finished->arena, linker->n_value_bytes);
    if (!values)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < linker->n_parts; i++)
        if (linker->parts[i]->part.values.size)
            memcpy(values + linker->value_bases[i], linker->parts[i]->part.values.data,
                   linker->parts[i]->part.values.size);
    finished->model.operand_values = (struct nnhal_bytes){linker->n_value_bytes, values};
    return 0;
}

static uint32_t linked_pool_find(const struct linker *linker, const ANeuralNetworksMemory *pool)
{
    uint32_t i = 0;

    while (i < linker->n_pools && linker->finished->pools[i] != pool)
        i++;
    return i;
}

static int link_pools(struct linker *linker)
{
    size_t n = 0;

    for (uint32_t i = 0; i < linker->n_parts; i++)
        n += linker->parts[i]->part.n_pools;
    linker->finished->pools = nn_arena_new_n(&linker->finished->arena, ANeuralNetworksMemory *, n);
    if (!linker->finished->pools)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < linker->n_parts; i++)
        for (uint32_t j = 0; j < linker->parts[i]->part.n_pools; j++) {
            ANeuralNetworksMemory *pool = linker->parts[i]->part.pools[j];

            if (linked_pool_find(linker, pool) == linker->n_pools)
                linker->finished->pools[linker->n_pools++] = pool;
        }
    if (linker->n_pools > NNHAL_MAX_POOLS)
        return nn_fail(linker->why, ANEURALNETWORKS_BAD_DATA,
                       "constants lie in more than %d memories", NNHAL_MAX_POOLS);
    return 0;
}

/* Part i, with indexes and offsets that count in the linked model. */
static int part_relocate(const struct linker *linker, uint32_t i, struct nnhal_subgraph *ret_graph)
{
    const struct nn_rt_model_part *part = &linker->parts[i]->part;
    struct nnhal_operand *operands;

    operands = nn_arena_dup(&linker->finished->arena, part->graph.operands,
                            part->graph.n_operands * sizeof(*operands));
    if (!operands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t j = 0; j < part->graph.n_operands; j++) {
        struct nnhal_data_location *location = &operands[j].location;

        if (i == 0)
            break; /* main comes first everywhere: nothing moves */
        if (operands[j].lifetime == NNHAL_CONSTANT_COPY)
            location->offset += linker->value_bases[i];
        else if (operands[j].lifetime == NNHAL_CONSTANT_REFERENCE)
            location->pool_index = linked_pool_find(linker, part->pools[location->pool_index]);
        else if (operands[j].lifetime == NNHAL_SUBGRAPH_VALUE)
            location->offset = part_find(linker, part->children[location->offset]) - 1;
    }
    *ret_graph = part->graph;
    ret_graph->operands = operands;
    return 0;
}

static int link_graphs(struct linker *linker)
{
    struct nnhal_model *model = &linker->finished->model;
    struct nnhal_subgraph *referenced;
    int r;

    referenced = nn_arena_new_n(&linker->finished->arena, struct nnhal_subgraph, linker->n_parts);
    if (!referenced)
        return nn_error_origin(-ENOMEM);
    r = part_relocate(linker, 0, &model->main);
    for (uint32_t i = 1; !r && i < linker->n_parts; i++)
        r = part_relocate(linker, i, &referenced[i - 1]);
    model->n_referenced = linker->n_parts - 1;
    model->referenced = referenced;
    model->n_pools = linker->n_pools;
    return r;
}

/* The same rules as in every host, so that an application learns from finish() what each device
 * would refuse. */
static int linked_validate(struct nn_rt_model *finished, struct nn_why *why)
{
    struct nnhal_model model = finished->model;
    uint64_t *sizes;
    uint64_t *ids;
    int r;

    sizes = nn_arena_new_n(&finished->arena, uint64_t, model.n_pools);
    ids = nn_arena_new_n(&finished->arena, uint64_t, model.n_pools);
    if (!sizes || !ids)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < model.n_pools; i++) {
        sizes[i] = finished->pools[i]->size;
        ids[i] = i + 1; /* stands for the id that a session will give */
    }
    model.pools = ids;
    r = nn_fail_refused(nn_model_validate(&model, sizes, &finished->arena, &finished->facts, why));
    if (r)
        return r;
    r = nn_model_io_init(&finished->io, &finished->model, &finished->arena);
    if (!r)
        nn_model_io_size_extensions(&finished->io, nn_rt_extension_size, NULL);
    return r;
}

int nn_rt_model_link(struct nn_rt_model *finished, struct nn_why *why)
{
    struct linker linker = {.finished = finished, .why = why};
    int r;

    r = collect_parts(&linker);
    if (!r)
        r = link_values(&linker);
    if (!r)
        r = link_pools(&linker);
    if (!r)
        r = link_graphs(&linker);
    if (!r)
        r = nn_rt_extension_list(&finished->model, &finished->arena, why);
    if (!r)
        r = linked_validate(finished, why);
    return r;
}

/* -- in a session ----------------------------------------------------------- */

int nn_rt_model_get_hal_model(struct nn_rt_model *finished, struct nn_rt_session *session,
                              struct nn_arena *arena, struct nn_why *why,
                              struct nnhal_model *ret_model)
{
    uint64_t *ids = nn_arena_new_n(arena, uint64_t, finished->model.n_pools);
    int r;

    if (!ids)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < finished->model.n_pools; i++) {
        r = nn_rt_memory_import(finished->pools[i], session, why, &ids[i]);
        if (r)
            return r;
    }
    *ret_model = finished->model;
    ret_model->pools = ids;
    return 0;
}

bool nn_rt_model_is_newer(const struct nn_rt_model *finished, const ANeuralNetworksDevice *device)
{
    return finished->facts.level > nn_level_from_feature(device->feature_level);
}

int nn_rt_model_query(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                      struct nn_why *why, struct nn_rt_answer **ret_answer)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    _cleanup_(nn_rt_answer_freep) struct nn_rt_answer *answer = NULL;
    struct nn_hal_get_supported_operations_args args = {0};
    struct nn_hal_get_supported_operations_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;
    int r;

    r = nn_rt_answer_new(finished->model.main.n_operations, &answer);
    if (!r)
        r = nn_rt_device_get_session(device, why, &session);
    if (r)
        return r;
    nn_arena_init(&arena, 0);
    r = nn_rt_model_get_hal_model(finished, session, &arena, why, &args.model);
    if (!r) {
        status = nn_rt_session_check_status(
            session, nn_hal_get_supported_operations(session->hal, &args, &reply, &arena));
        r = nn_fail_status(why, status, device->name, reply.message);
    }
    if (!r && reply.n_supported != finished->model.main.n_operations)
        r = nn_fail(why, ANEURALNETWORKS_OP_FAILED, "%s: answered for %u of %u operations",
                    device->name, reply.n_supported, finished->model.main.n_operations);
    if (!r)
        r = nn_rt_answer_take_reply(answer, &reply);
    nn_arena_done(&arena);
    if (!r)
        *ret_answer = steal_ptr(&answer);
    return r;
}

/* -- what devices said --------------------------------------------------------- */

static struct nn_rt_answer *find_answer(const struct nn_rt_model *finished,
                                        const ANeuralNetworksDevice *device)
{
    struct nn_rt_answer *answer = finished->answers;

    while (answer && answer->device != device)
        answer = answer->next;
    return answer;
}

const struct nn_rt_answer *nn_rt_model_find_answer(struct nn_rt_model *finished,
                                                   const ANeuralNetworksDevice *device)
{
    const struct nn_rt_answer *answer;

    pthread_mutex_lock(&finished->lock);
    answer = find_answer(finished, device);
    pthread_mutex_unlock(&finished->lock);
    return answer;
}

const struct nn_rt_answer *nn_rt_model_keep_answer(struct nn_rt_model *finished,
                                                   const ANeuralNetworksDevice *device,
                                                   struct nn_rt_answer *answer)
{
    const struct nn_rt_answer *first;

    pthread_mutex_lock(&finished->lock);
    first = find_answer(finished, device);
    if (!first) {
        answer->device = device;
        answer->next = finished->answers;
        first = finished->answers = steal_ptr(&answer);
    }
    pthread_mutex_unlock(&finished->lock);
    nn_rt_answer_free(answer);
    return first;
}
