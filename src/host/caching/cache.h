/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - prepared models in the files of a client
 *
 * A driver hands over buffers when it has compiled a model (model cache and
 * data cache, driver.h), and gets the same bytes back the next time. The
 * files are the client's: it opens them, hands them over, keeps or loses them,
 * and may write anything into them. What is done here makes that harmless:
 *
 *   save   hash the buffers; commit {user, token} -> hash to the token map;
 *          then write the files, the first model file last: while it is empty
 *          there is nothing in the others. The client waits for the disk, if it
 *          wants to, before it relies on them; only files that are replaced in
 *          place are synced here
 *   load   read the model files whole; hash what was read; compare with the map;
 *          then look into it, read the data files or find them in memory, and
 *          give the driver those copies
 *
 * The hash covers the model cache. The first model file begins with a head of
 * ours: what requests are judged by (inputs, outputs, priority), and size and sum
 * of every other buffer, so that damage of the data cache is found too.
 *
 *   model file 0: head, padding to 64, the driver's first model buffer
 *   others:       the driver's buffer
 *
 * A failure to save is no failure to prepare. Every failure to load is
 * GENERAL_FAILURE, but for arguments that cannot be meant (INVALID_ARGUMENT):
 * the client prepares the model anew. */
#ifndef NN_HOST_CACHING_CACHE_H
#define NN_HOST_CACHING_CACHE_H

#include "host/execution/prepared.h"

/* nn_cache_n_files() - files that a client is to bring; both 0: there is no cache. */
void nn_cache_n_files(const struct nn_host *host, uint32_t *ret_n_model, uint32_t *ret_n_data);

/* nn_cache_is_token() - whether it is one, and not none. */
bool nn_cache_is_token(const uint8_t token[NNHAL_CACHE_TOKEN_BYTES]);

/* nn_cache_are_writable() - whether each of n files could be kept into. */
bool nn_cache_are_writable(uint32_t n, const int32_t *fds);

/* nn_cache_new() - room for as many buffers as the driver announced, in arena; NULL if memory is
 * short. */
struct nnhal_cache *nn_cache_new(const struct nn_host *host, struct nn_arena *arena);

/* nn_cache_empty() - all buffers are empty again. */
void nn_cache_empty(struct nnhal_cache *cache);

/* nn_cache_wanted() - whether the model that args prepares is to be kept and can
 * be: a token, the right number of files, each an ordinary one open for reading and
 * writing. Then *ret_cache is what the driver fills, in arena; else NULL. */
void nn_cache_wanted(struct nn_host_session *session, const struct nn_hal_prepare_model_args *args,
                     struct nn_arena *arena, struct nnhal_cache **ret_cache);

/* nn_cache_share() - where the host shares weights: replaces the buffers that the
 * driver has put into cache by copies that stay, those of data in shared memory. prepared
 * gets them. Returns: whether all of them are replaced; else they are as good as before. */
bool nn_cache_share(struct nn_host_session *session, struct nnhal_cache *cache,
                    struct nn_prepared *prepared);

/* nn_cache_save() - writes what the driver has put into cache.
 * Returns: whether the files are whole now. */
bool nn_cache_save(struct nn_host_session *session, const struct nn_hal_prepare_model_args *args,
                   const struct nnhal_cache *cache, const struct nn_prepared *prepared);

/* nn_cache_save_again() - the same where the files hold an earlier stage of the same model. */
bool nn_cache_save_again(struct nn_host_session *session,
                         const struct nn_hal_prepare_model_args *args,
                         const struct nnhal_cache *cache, const struct nn_prepared *prepared);

/* nn_cache_load() - reads and judges the files; sets what prepared keeps of a
 * model; *ret_cache lives in arena, the bytes as long as prepared.
 * Returns: NNHAL_NONE, or the status with *message set. */
uint32_t nn_cache_load(struct nn_call *call,
                       const struct nn_hal_prepare_model_from_cache_args *args,
                       struct nn_prepared *prepared, struct nnhal_cache **ret_cache);

/* nn_cache_close() - of a host that ends. */
void nn_cache_close(struct nn_host *host);

#endif
