/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - a finished model
 *
 * A finished model never changes: models that use it as a subgraph, compilations
 * and executions share it by reference, and it stays when the application frees
 * its handle. It has the form that a device gets (struct nnhal_model): operations
 * in an order in which they can be executed, small values in operand_values,
 * large ones in one pool of ours, the application's memories as they are,
 * subgraphs flattened into a list. Only the pools' ids are missing: they belong
 * to a session (nn_rt_model_get_hal_model()).
 * Threads: any. */
#ifndef NN_RUNTIME_MODEL_MODEL_H
#define NN_RUNTIME_MODEL_MODEL_H

#include "base/arena.h"
#include "cache/hash.h"
#include "model/validate.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/model/answer.h"
#include "runtime/result.h"

/* What a model brings by itself, before its subgraphs are linked to it: pool
 * indexes refer to pools, SUBGRAPH_VALUE offsets to children, CONSTANT_COPY
 * offsets to values. */
struct nn_rt_model_part {
    struct nnhal_subgraph graph;
    struct nnhal_bytes values;
    uint32_t n_pools;
    uint32_t n_children;
    ANeuralNetworksMemory **pools;
    struct nn_rt_model **children;
};

struct nn_rt_model {
    uint32_t n_refs;
    struct nn_arena arena; /* of everything here */
    struct nn_rt_model_part part;
    uint32_t *original;        /* operation in order -> as the application added it */
    struct nn_rt_model *whole; /* that this is a part of; NULL: of none */
    /* Linked. */
    struct nnhal_model model; /* without pools */
    ANeuralNetworksMemory **pools;
    struct nn_model_facts facts;
    struct nn_model_io io;
    pthread_mutex_t lock;        /* of what follows */
    struct nn_hash architecture; /* of the structure without values, once it was asked for */
    bool has_architecture;
    bool has_open_shapes; /* of main or a branch; with architecture */
    struct nn_rt_answer *answers;
};

/* nn_rt_model_new() - an empty one; the caller fills part and original, from the
 * arena and with references of its own, then links it. */
int nn_rt_model_new(struct nn_rt_model **ret_finished);
struct nn_rt_model *nn_rt_model_ref(struct nn_rt_model *finished);
struct nn_rt_model *nn_rt_model_unref(struct nn_rt_model *finished);

/* nn_rt_model_link() - adds the subgraphs that part reaches, then validates the whole model.
 * Returns: 0; BAD_DATA; -ENOMEM. */
int nn_rt_model_link(struct nn_rt_model *finished, struct nn_why *why);

/* nn_rt_model_get_hal_model() - the model with the pools' ids in a session, imported if
 * need be; the ids are taken from arena.
 * Returns: 0; as nn_rt_memory_import(); -ENOMEM. */
int nn_rt_model_get_hal_model(struct nn_rt_model *finished, struct nn_rt_session *session,
                              struct nn_arena *arena, struct nn_why *why,
                              struct nnhal_model *ret_model);

/* nn_rt_model_is_newer() - whether the model uses what came after a device: the whole is not
 * sent there. */
bool nn_rt_model_is_newer(const struct nn_rt_model *finished, const ANeuralNetworksDevice *device);

/* nn_rt_model_query() - asks a device which operations it can execute, and why not the others. The model is not
 * newer than the device.
 * Returns: 0; DEAD_OBJECT and what the device answers; -ENOMEM. */
int nn_rt_model_query(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                      struct nn_why *why, struct nn_rt_answer **ret_answer);

/* nn_rt_model_find_answer() - what is kept of a device, borrowed; NULL: nothing yet. */
const struct nn_rt_answer *nn_rt_model_find_answer(struct nn_rt_model *finished,
                                                   const ANeuralNetworksDevice *device);

/* nn_rt_model_keep_answer() - keeps it as long as the model, so that it can be lent; consumes
 * answer. Two threads may ask a device the same: what was kept first stays, and is returned. */
const struct nn_rt_answer *nn_rt_model_keep_answer(struct nn_rt_model *finished,
                                                   const ANeuralNetworksDevice *device,
                                                   struct nn_rt_answer *answer);

NN_DEFINE_CLEANUP(struct nn_rt_model, nn_rt_model_unref)

#endif
