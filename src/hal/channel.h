/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - what a proxy speaks through
 *
 * A channel carries one request to the server of the HAL and brings back its
 * reply. Over a connection it is ipc/conn.h; in a test it is the stub itself.
 * A channel carries messages of up to NNHAL_MAX_MESSAGE_BYTES and
 * NNHAL_MAX_FDS descriptors: what does not fit a packet travels in a sealed
 * memfd, below this seam. */
#ifndef NN_HAL_CHANNEL_H
#define NN_HAL_CHANNEL_H

#include "codec/codec.h"

struct nn_hal_channel;

struct nn_hal_channel_ops {
    /* Sends a request and waits for its reply. *ret_status is the packet's, not
     * checked yet. The reply's bytes are appended to *reply; its descriptors
     * become the caller's. Any number of threads at a time.
     * Returns: 0, -EBADF (one of fds is closed), -EMSGSIZE, -ENOMEM, -EMFILE, -ETIMEDOUT (the
     * thread's limit has passed, base/wait-limit.h), -EHOSTDOWN (it does not answer and was
     * left); any other negative number: the connection is gone. On failure *reply is
     * empty. */
    int (*call)(struct nn_hal_channel *channel, const struct nn_codec_message *request,
                uint32_t *ret_status, struct nn_codec_buffer *reply);
    /* The last reply was no reply: drops the connection and logs why, once.
     * Every later call fails. */
    void (*fail)(struct nn_hal_channel *channel, const char *why);
    /* For a thread that waits in shared memory, once a second: whether the other side is
     * there. NULL: it is. Returns: 0; below 0: it is gone, or does not answer. */
    int (*watch)(struct nn_hal_channel *channel);
    /* Such a wait was left because the thread's limit passed. NULL: no matter. */
    void (*leave_late)(struct nn_hal_channel *channel);
    /* Ends the connection; calls in progress end first. Frees channel. */
    void (*close)(struct nn_hal_channel *channel);
};

/* The first member of every implementation of a channel. */
struct nn_hal_channel {
    const struct nn_hal_channel_ops *ops;
    uint32_t minor; /* what hello agreed on */
};

#endif
