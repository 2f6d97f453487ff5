/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - the HAL of a device in another process
 *
 * A proxy is a struct nn_hal whose methods are messages over a channel. What
 * the caller gets wrong in form (a list over its limit) is answered with
 * NNHAL_INVALID_ARGUMENT here, as the host would; everything else is judged on
 * the other side. A channel that ended answers NNHAL_DEAD_OBJECT; a reply that
 * is no reply ends the channel. */
#ifndef NN_HAL_PROXY_H
#define NN_HAL_PROXY_H

#include "codec/codec.h"
#include "hal/channel.h"
#include "hal/hal.h"

#include <stdbool.h>

/* nn_hal_proxy_new() - a session over channel, which it consumes, also on
 * failure: nn_hal_close() closes it.
 * Returns: 0, -ENOMEM. */
int nn_hal_proxy_new(struct nn_hal_channel *channel, struct nn_hal **ret_hal);

/* nn_hal_proxy_watch() - for a thread that waits for the device in shared memory, once a
 * second. hal is a proxy. Does not block. Returns: false: the device is gone, or does not
 * answer and was left. */
bool nn_hal_proxy_watch(struct nn_hal *hal);

/* nn_hal_proxy_leave_late() - such a wait was left, because its deadline has passed:
 * ends a private child, which might still write where it should not. */
void nn_hal_proxy_leave_late(struct nn_hal *hal);

enum {
    NN_HAL_PROXY_E_VIOLATION = 1, /* no such event, or not of its form: drop the peer */
};

/* nn_hal_proxy_event() - an event has arrived: decodes it and calls the
 * listener. Called by the thread that reads the connection's events. The message is
 * borrowed, its descriptors stay the caller's.
 * Returns: 0, NN_HAL_PROXY_E_VIOLATION, -ENOMEM. */
int nn_hal_proxy_event(const struct nn_hal_listener *listener, uint32_t minor,
                       const struct nn_codec_message *event);

#endif
