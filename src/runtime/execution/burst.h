/* SPDX-License-Identifier: Apache-2.0 */
/* burst.h - computations of one compilation, one after the other
 *
 * An application's burst is a channel to what is prepared now: requests and
 * results go through queues in shared memory (hal/burst.h). It is opened when
 * the burst is created, and once more when the device has died and the model
 * was prepared again. Where there is none (the device has no bursts, or is in
 * this process) computations go the ordinary way, with the same results.
 *
 * One computation at a time; the burst says BAD_STATE to another. References:
 * the application's, and that of a computation in progress. */
#ifndef NN_RUNTIME_EXECUTION_BURST_H
#define NN_RUNTIME_EXECUTION_BURST_H

#include "runtime/execution/channel.h"
#include "runtime/execution/execution.h"

struct ANeuralNetworksBurst {
    struct nn_rt_object object;
    ANeuralNetworksCompilation *compilation;
    uint32_t is_busy;                /* owns what follows */
    struct nn_rt_prepared *prepared; /* that the channel is for */
    struct nn_rt_channel *channel;   /* NULL: the ordinary way */
    uint32_t n_parts; /* of a compilation that is split, each with a burst of its own */
    ANeuralNetworksBurst **parts;
};

/* nn_rt_burst_new() - Returns: 0, BAD_STATE, DEAD_OBJECT, -ENOMEM. */
int nn_rt_burst_new(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                    ANeuralNetworksBurst **ret_burst);
ANeuralNetworksBurst *nn_rt_burst_unref(ANeuralNetworksBurst *burst);

/* nn_rt_burst_acquire() - for one computation of execution; with a reference.
 * Returns: 0; BAD_STATE (another one is in progress); BAD_DATA; DEAD_OBJECT. */
int nn_rt_burst_acquire(ANeuralNetworksBurst *burst, const ANeuralNetworksExecution *execution,
                        struct nn_why *why);
void nn_rt_burst_release(ANeuralNetworksBurst *burst);

/* nn_rt_burst_get_channel() - to prepared; NULL: there is none. By the thread that has acquired the burst. */
struct nn_rt_channel *nn_rt_burst_get_channel(ANeuralNetworksBurst *burst,
                                              struct nn_rt_prepared *prepared);

/* nn_rt_burst_get_part() - the burst of a part of the plan; NULL: that part is not computed. */
ANeuralNetworksBurst *nn_rt_burst_get_part(const ANeuralNetworksBurst *burst, uint32_t part);

NN_DEFINE_CLEANUP(ANeuralNetworksBurst, nn_rt_burst_unref)

#endif
