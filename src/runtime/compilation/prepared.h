/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.h - a model that a device has prepared, in one session
 *
 * The compilation holds one reference, and every execution that is bound to it
 * another: when the device dies, the compilation gets a new one while bound
 * executions still hold the old one. Threads: any. */
#ifndef NN_RUNTIME_COMPILATION_PREPARED_H
#define NN_RUNTIME_COMPILATION_PREPARED_H

#include "runtime/compilation/prepare-options.h"
#include "runtime/execution/implicit-burst.h"
#include "runtime/model/model.h"

struct nn_rt_prepared {
    uint32_t n_refs;
    ANeuralNetworksDevice *device;
    struct nn_rt_session *session;
    uint64_t id;
    uint32_t stage; /* enum nnhal_stage, when it was prepared */
    struct nn_rt_implicit_burst implicit;
};

/* nn_rt_prepared_new() - lets a device prepare a model; blocks.
 * Returns: 0; what the device answers; -ENOMEM. */
int nn_rt_prepared_new(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       const struct nn_rt_prepare_options *options, struct nn_why *why,
                       struct nn_rt_prepared **ret_prepared);
struct nn_rt_prepared *nn_rt_prepared_ref(struct nn_rt_prepared *prepared);
struct nn_rt_prepared *nn_rt_prepared_unref(struct nn_rt_prepared *prepared);

NN_DEFINE_CLEANUP(struct nn_rt_prepared, nn_rt_prepared_unref)

#endif
