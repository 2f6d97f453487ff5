/* SPDX-License-Identifier: Apache-2.0 */
/* fenced.h - computations that a device starts by itself when fences signal
 *
 * Where every argument lies in a memory and every dependency is a fence, no
 * thread of ours has to stand in between: the device waits, computes, and
 * signals a fence of its own, which other devices and processes can wait for.
 * What became of it is asked when somebody waits for the event
 * (nn_rt_fenced_collect()); until then the execution counts as being computed. */
#ifndef NN_RUNTIME_EXECUTION_FENCED_H
#define NN_RUNTIME_EXECUTION_FENCED_H

#include "runtime/execution/event.h"

enum {
    /* It has to be computed by a job: an argument is a pointer, a dependency has no
     * fence, or the device died, which a job recovers from. */
    NN_RT_FENCED_E_UNSUITED = 100,
};

/* nn_rt_fenced_launch() - hands event's execution, which has begun, to its device.
 * On 0 the event has a fence and a callback.
 * Returns: 0; UNSUITED; whatever the device says; -ENOMEM. */
int nn_rt_fenced_launch(ANeuralNetworksEvent *event,
                        const struct nn_rt_event_dependencies *dependencies, struct nn_why *why);

/* nn_rt_fenced_collect() - after the fence has signalled: takes result and timing.
 * Returns: what became of the computation. */
int nn_rt_fenced_collect(ANeuralNetworksEvent *event, struct nn_why *why);

#endif
