/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.h - a model that a device has prepared, in one session
 *
 * The compilation holds one reference, and every execution arguments to it
 * another: when the device dies, the compilation gets a new one while old
 * executions still hold what is gone. Threads: any. */
#ifndef NN_RUNTIME_COMPILATION_PREPARED_H
#define NN_RUNTIME_COMPILATION_PREPARED_H

#include "runtime/model/model.h"
#include "runtime/execution/implicit-burst.h"

struct nn_rt_prepared {
    uint32_t n_refs;
    ANeuralNetworksDevice *device;
    struct nn_rt_session *session;
    uint64_t id;
    uint32_t stage; /* enum nnhal_stage, when it was prepared */
    struct nn_rt_implicit_burst implicit;
};

struct nn_rt_cache;

/* How a model is to be prepared. */
struct nn_rt_prepare_options {
    uint32_t preference; /* enum nnhal_preference */
    uint32_t priority;   /* enum nnhal_priority */
    uint64_t deadline_ns;
    bool is_deferred;
    struct nn_rt_cache *cache; /* NULL: none (cache.h) */
};

/* nn_rt_prepared_new() - lets a device prepare a model; blocks.
 * Returns: 0; whatever the device says; -ENOMEM. */
int nn_rt_prepared_new(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       const struct nn_rt_prepare_options *options, struct nn_why *why,
                       struct nn_rt_prepared **ret_prepared);
struct nn_rt_prepared *nn_rt_prepared_ref(struct nn_rt_prepared *prepared);
struct nn_rt_prepared *nn_rt_prepared_unref(struct nn_rt_prepared *prepared);

NN_DEFINE_CLEANUP(struct nn_rt_prepared, nn_rt_prepared_unref)

#endif
