/* SPDX-License-Identifier: Apache-2.0 */
/* model-store.h - models that the host keeps where an application does not
 *
 * An application that brings no cache files compiles the same models whenever it starts. A
 * service keeps what it has compiled in a store of its own (nnhal/cache.h) beside the token map,
 * in the folder "models", and every driver that has a cache gets it for nothing: the buffers are
 * those of struct nnhal_cache.
 *
 * The key is a SHA-256 over all that decides what is compiled: the driver's build (build-id.h) and
 * what it says of processor and settings, the user, preference, hints, and the model with its
 * constants. So nobody gets what another user's process compiled, and a model that changed is
 * another one; constants that change while they are compiled are not kept. The folder belongs to
 * the service alone and nothing in it is ever handed out; the store checks each value by SHA-256.
 *
 * A hit has its price as well: a hash over the constants, one over what was entry, and reading it. A
 * compiler may be faster than that. So a service learns: of a model that took STORE_MIN_NS to
 * compile it remembers that, by the model's structure alone; the next time it hashes the
 * constants, and keeps the model if compiling takes STORE_RATIO times as long as that hash.
 * What compiles fast costs no hash. NNHAL_DRIVER_CACHE: "off", nothing is kept; "on", everything,
 * at once, and in an application's process or its private child as well.
 *
 * What is not needed any more goes by the store's limit. A failure of any kind means compiling.
 *
 * Threads: all functions, any thread. */
#ifndef NN_HOST_CACHING_MODEL_STORE_H
#define NN_HOST_CACHING_MODEL_STORE_H

#include "hal/hal.h"
#include "host/caching/state.h"

struct nn_arena;
struct nn_prepared;
struct nn_host_session;
struct nnhal_store;

/* nn_model_store_init() - as NNHAL_DRIVER_CACHE says; nn_model_store_done() closes the store. */
void nn_model_store_init(struct nn_model_store *models);
void nn_model_store_done(struct nn_model_store *models);

/* nn_model_store_begin() - of a model that has been judged. Sets cache, in arena, if it may be there or
 * is to be kept. Returns: whether anything is kept here at all. */
bool nn_model_store_begin(struct nn_host_session *session,
                          const struct nn_hal_prepare_model_args *args,
                          struct nn_store_entry *entry, struct nn_arena *arena);

/* nn_model_store_find() - looks for the model, of which prepared has the constants; they must be readable.
 * The buffers of cache become what was entry, as long as prepared; without success
 * nn_loaded_cache_done() lets go of it. cache becomes NULL if it turns out to be not worth it. */
bool nn_model_store_find(struct nn_host_session *session,
                         const struct nn_hal_prepare_model_args *args, struct nn_prepared *prepared,
                         struct nn_arena *arena);

/* nn_model_store_learn() - the driver has compiled it. */
void nn_model_store_learn(struct nn_host_session *session, const struct nn_store_entry *entry);

/* nn_model_store_is_same() - whether the constants, which must be readable, are those of the key still. */
bool nn_model_store_is_same(struct nn_host_session *session,
                            const struct nn_hal_prepare_model_args *args,
                            const struct nn_prepared *prepared, struct nn_arena *arena);

/* nn_model_store_save() - keeps what the driver has put into the buffers. */
void nn_model_store_save(struct nn_host_session *session, const struct nn_prepared *prepared,
                         const struct nnhal_cache *cache);

#endif
