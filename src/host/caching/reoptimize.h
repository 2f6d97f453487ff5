/* SPDX-License-Identifier: Apache-2.0 */
/* reoptimize.h - better plans in the background
 *
 *   quick      a compilation that was deferred: what only makes executions faster is missing
 *   whole      all that prepare() does
 *   optimized  what optimize() has made of either (driver.h)
 *
 * A model that is executed often is optimized, once, on the host's one thread for
 * that, which has the lowest priority. What belongs to its client goes on meanwhile: executions,
 * and the end of the model or of the session, which stop the work. What was made replaces
 * what was kept, in the same files: their descriptors are duplicated while they may be needed,
 * for a bounded number of models. The token map knows both hashes until the new files are whole.
 *
 * Weights that clients share are worth more than a faster kernel: a whole model that
 * shares them stays as it is.
 *
 * NNHAL_OPTIMIZE_AFTER says after how many executions (32; 0: never), NNHAL_DEFER which
 * compilations are deferred (on: all, off: none, else those that ask, and those for low power that
 * bring no cache). */
#ifndef NN_HOST_CACHING_REOPTIMIZE_H
#define NN_HOST_CACHING_REOPTIMIZE_H

#include "hal/hal.h"
#include "host/caching/state.h"

#include <stdbool.h>

struct nn_prepared;
struct nn_host_session;

void nn_reoptimizer_init(struct nn_reoptimizer *reoptimizer);

/* nn_reoptimizer_done() - waits for the thread. */
void nn_reoptimizer_done(struct nn_reoptimizer *reoptimizer);

/* nn_reoptimizer_cancel() - drops what waits for the session and stops what runs for it. */
void nn_reoptimizer_cancel(struct nn_host_session *session);

/* nn_reoptimize_is_deferred() - whether the model of args is to be compiled quickly. */
bool nn_reoptimize_is_deferred(const struct nn_host_session *session,
                               const struct nn_hal_prepare_model_args *args);

/* nn_reoptimize_init() - the model has been prepared and is at this stage; it is not published yet. */
void nn_reoptimize_init(struct nn_prepared *prepared, struct nn_host_session *session,
                        enum nn_stage stage);

/* nn_reoptimize_hold() - what comes later is to be written into these files, if all can be. */
void nn_reoptimize_hold(struct nn_prepared *prepared, const uint8_t *token, uint32_t n_model,
                        const int32_t *model, uint32_t n_data, const int32_t *data);

/* nn_reoptimize_count() - an execution has ended well. */
void nn_reoptimize_count(struct nn_prepared *prepared);

/* nn_reoptimize_cancel() - the client has freed the model. */
void nn_reoptimize_cancel(struct nn_prepared *prepared);

/* nn_reoptimize_done() - with the model. */
void nn_reoptimize_done(struct nn_prepared *prepared);

#endif
