/* SPDX-License-Identifier: Apache-2.0 */
/* suspect.h - whether this request may have killed its device's process
 *
 * What runtime/suspects.h remembers, for an execution: it is hashed, with its inputs as they
 * are, if there is a reason to. Each path of execution asks before it sends a request, and
 * tells what became of one that was sent. A part that fences start is sent before its inputs are made, and
 * those that lie in a device cannot be read: such a part is known by the inputs of the whole, and by its own as
 * well, by which a thread asks that computes the part.
 * Threads: the one that computes. */
#ifndef NN_RUNTIME_EXECUTION_SUSPECT_H
#define NN_RUNTIME_EXECUTION_SUSPECT_H

#include "runtime/execution/execution.h"

/* nn_rt_suspect_check() - Returns: 0; DEAD_OBJECT: it is not tried a third time now. */
int nn_rt_suspect_check(const ANeuralNetworksExecution *execution, ANeuralNetworksDevice *device,
                        struct nn_why *why);

/* nn_rt_suspect_note() - result is what the request, which was sent to prepared, ended with. */
void nn_rt_suspect_note(const ANeuralNetworksExecution *execution,
                        const struct nn_rt_prepared *prepared, int result);

#endif
