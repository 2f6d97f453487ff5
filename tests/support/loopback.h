/* SPDX-License-Identifier: Apache-2.0 */
/* loopback.h - proxy and stub back to back, in one process
 *
 * What a caller says to loopback_hal() is encoded, decoded and said to inner,
 * and the answer comes back the same way. What the kernel does with
 * descriptors, dup() does. */
#ifndef NN_TESTS_SUPPORT_LOOPBACK_H
#define NN_TESTS_SUPPORT_LOOPBACK_H

#include "codec/codec.h"
#include "hal/channel.h"
#include "hal/hal.h"

/* Sees each message that crosses; all borrowed. */
struct loopback_observer {
    void *ctx;
    void (*call)(void *ctx, const struct nn_codec_message *message);
    void (*reply)(void *ctx, const struct nn_codec_message *message);
};

/* loopback_channel() - a channel to inner, which it owns. observer may be NULL.
 * A call that the stub takes for a violation ends in -EPROTO. */
struct nn_hal_channel *loopback_channel(struct nn_hal *inner,
                                        const struct loopback_observer *observer);

/* loopback_hal() - a session through a channel to inner; closing it closes inner. */
struct nn_hal *loopback_hal(struct nn_hal *inner, const struct loopback_observer *observer);

#endif
