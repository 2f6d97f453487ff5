/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - a burst to a prepared model, known to its session
 *
 * A device in this process is called: its channel has no queues, and tells it that
 * a burst is open and nothing else.
 *
 * What ANeuralNetworksBurst and the implicit burst (implicit-burst.h) execute
 * through. The session's list of channels is how a memory that is freed finds
 * the slots which it has, how the device's question for lost memories finds its
 * burst, and how the death of the session ends every wait.
 *
 * References: whoever executes through it, and whoever walks the list. A
 * channel holds its session, not the prepared model: its owner sees to it that
 * it goes before that. One thread at a time executes. */
#ifndef NN_RUNTIME_EXECUTION_CHANNEL_H
#define NN_RUNTIME_EXECUTION_CHANNEL_H

#include "hal/burst.h"
#include "runtime/compilation/prepared.h"

struct nn_model_io;

struct nn_rt_channel {
    uint32_t n_refs; /* under the session's lock */
    struct nn_rt_session *session;
    struct nn_burst *burst;
    struct nn_rt_channel *next; /* in the session's list, under its lock */
};

/* nn_rt_channel_open() - blocks for a call. may_spin: waiting may cost a CPU.
 * Returns: NULL if the device has no burst for this model, or memory is short:
 * execute without one. */
struct nn_rt_channel *nn_rt_channel_open(struct nn_rt_prepared *prepared,
                                         const struct nn_model_io *io, bool may_spin);

/* nn_rt_channel_unref() - the last one ends the burst, which calls the device. */
struct nn_rt_channel *nn_rt_channel_unref(struct nn_rt_channel *channel);

/* nn_rt_channel_drop_memory() - frees the slots of a memory in every channel of a
 * session. */
void nn_rt_channel_drop_memory(struct nn_rt_session *session, uint64_t memory);

/* For the session's listener: nothing here waits. */
void nn_rt_channel_stop_all(struct nn_rt_session *session);
void nn_rt_channel_request_memories(struct nn_rt_session *session,
                                    const struct nn_hal_get_memories_event *event);

#endif
