/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.h - a model that the driver has prepared
 *
 * It keeps what outlives the model: a copy of its inputs and outputs, which
 * requests are checked against, and the memories of its constants, which stay
 * mapped. The driver's own object is released with the last reference. */
#ifndef NN_HOST_EXECUTION_PREPARED_H
#define NN_HOST_EXECUTION_PREPARED_H

#include "host/caching/loaded-cache.h"
#include "host/memory/constants.h"
#include "host/caching/state.h"
#include "model/validate.h"

/* Where what the driver holds came from. */
enum nn_prepared_source {
    NN_PREPARED_UNMADE = 0, /* the driver holds nothing */
    NN_PREPARED_COMPILED,   /* prepare() made it */
    NN_PREPARED_FROM_CACHE, /* from the client's cache files */
};

struct nn_prepared {
    struct nn_object object; /* first */
    struct nn_host *host;    /* the session's, which outlives it */
    enum nn_prepared_source source;
    void *driver_prepared; /* NULL until the driver has made it */
    uint32_t priority;     /* enum nnhal_priority */
    bool is_low_power;     /* no thread is to spin for it */
    struct nn_arena arena; /* of all that it keeps */
    struct nn_model_io io;
    struct nn_constants constants; /* none if it comes from the cache */
    struct nn_loaded_cache loaded;
    struct nn_reoptimization reoptimization;
    struct nn_quota_charge charge;
    struct nn_quota_charge bytes_charge;
    struct nn_quota_charge driver_charge;   /* what the driver says that it takes: its account */
    struct nn_quota_charge estimate_charge; /* what one that does not say is believed to take */
    uint64_t run_bytes;                     /* the same for each execution */
};

/* nn_prepared_get() - a reference to the prepared model of that id, or NULL. */
struct nn_prepared *nn_prepared_get(struct nn_host_session *session, uint64_t id);

/* nn_prepared_unref() - accepts NULL; returns NULL. */
struct nn_prepared *nn_prepared_unref(struct nn_prepared *prepared);

NN_DEFINE_CLEANUP(struct nn_prepared, nn_prepared_unref)

/* nn_prepared_is_broken() - whether a memory of its constants was lost. */
bool nn_prepared_is_broken(const struct nn_prepared *prepared);

#endif
