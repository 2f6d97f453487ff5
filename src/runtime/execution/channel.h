/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - a burst to a prepared model, known to its session
 *
 * What ANeuralNetworksBurst and the implicit burst (implicit-burst.h) execute
 * through. A device in this process is called: its channel has no queues, and
 * only tells the device that a burst is open.
 *
 * A channel holds its session, not the prepared model: its owner frees it
 * before that. One thread at a time executes through it. */
#ifndef NN_RUNTIME_EXECUTION_CHANNEL_H
#define NN_RUNTIME_EXECUTION_CHANNEL_H

#include "runtime/session.h"

struct nn_model_io;

struct nn_rt_channel {
    struct nn_rt_session *session;
    struct nn_burst *burst; /* entry's */
    struct nn_rt_session_burst *entry;
};

/* What a channel is opened to. */
struct nn_rt_channel_params {
    struct nn_rt_session *session;
    uint64_t prepared_model;
    const struct nn_model_io *io;
    bool may_spin; /* waiting may cost a CPU */
};

/* nn_rt_channel_open() - blocks for a call.
 * Returns: NULL if the device has no burst for this model, or memory is short:
 * execute without one. */
struct nn_rt_channel *nn_rt_channel_open(const struct nn_rt_channel_params *params);

/* nn_rt_channel_free() - ends the burst, which calls the device. Accepts NULL; returns NULL. */
struct nn_rt_channel *nn_rt_channel_free(struct nn_rt_channel *channel);

#endif
