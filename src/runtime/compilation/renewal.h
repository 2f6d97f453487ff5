/* SPDX-License-Identifier: Apache-2.0 */
/* renewal.h - a model is prepared again, because the process that had prepared it has died
 *
 * Once for all executions that ask: the first one starts it, the others wait. It has no deadline, so that
 * a model which takes long to prepare also comes back to those who wait briefly; a thread that has one
 * leaves the work to another. Threads: any. */
#ifndef NN_RUNTIME_COMPILATION_RENEWAL_H
#define NN_RUNTIME_COMPILATION_RENEWAL_H

#include "runtime/compilation/compilation.h"

/* nn_rt_compilation_renew() - what was prepared has died with its process: prepares
 * the model again, or waits for the thread that does, until the thread's limit
 * (base/wait-limit.h). The next call tries again.
 * Returns: 0; DEAD_OBJECT and what the device answers; MISSED_DEADLINE_TRANSIENT; -ENOMEM. */
int nn_rt_compilation_renew(ANeuralNetworksCompilation *compilation,
                            const struct nn_rt_prepared *dead, struct nn_why *why);

#endif
