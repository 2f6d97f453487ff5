/* SPDX-License-Identifier: Apache-2.0 */
#include "support/loopback.h"

#include "base/cleanup.h"
#include "codec/codec.h"
#include "hal/proxy.h"
#include "hal/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

struct loopback {
    struct nn_hal_channel channel;
    struct nn_hal *inner;
    struct loopback_observer observer;
};

static struct loopback *loopback_of(struct nn_hal_channel *channel)
{
    return NN_CONTAINER_OF(channel, struct loopback, channel);
}

static int loopback_call(struct nn_hal_channel *channel, const struct nn_codec_message *request,
                         uint32_t *ret_status, struct nn_codec_buffer *reply)
{
    struct loopback *loopback = loopback_of(channel);
    struct nn_codec_message message = *request;
    int fds[NNHAL_MAX_FDS];
    int r;

    if (loopback->observer.call)
        loopback->observer.call(loopback->observer.ctx, request);
    for (size_t i = 0; i < request->n_fds; i++) {
        fds[i] = fcntl(request->fds[i], F_DUPFD_CLOEXEC, 0);
        if (fds[i] < 0) {
            while (i > 0)
                close(fds[--i]);
            return -errno;
        }
    }
    message.fds = fds;
    r = nn_hal_stub_call(loopback->inner, channel->minor, &message, NULL, ret_status, reply);
    if (r != 0)
        return r < 0 ? r : -EPROTO;
    message = (struct nn_codec_message){.serial = request->serial,
                                        .number = request->number,
                                        .status = *ret_status,
                                        .bytes = reply->bytes,
                                        .n_bytes = reply->n_bytes,
                                        .fds = reply->fds,
                                        .n_fds = reply->n_fds};
    if (loopback->observer.reply)
        loopback->observer.reply(loopback->observer.ctx, &message);
    return 0;
}

static void loopback_fail(struct nn_hal_channel *channel, const char *why)
{
    fprintf(stderr, "loopback: %s\n", why);
    abort();
}

static void loopback_close(struct nn_hal_channel *channel)
{
    struct loopback *loopback = loopback_of(channel);

    nn_hal_close(loopback->inner);
    free(loopback);
}

static const struct nn_hal_channel_ops loopback_ops = {
    .call = loopback_call,
    .fail = loopback_fail,
    .close = loopback_close,
};

struct nn_hal_channel *loopback_channel(struct nn_hal *inner,
                                        const struct loopback_observer *observer)
{
    struct loopback *loopback = calloc(1, sizeof(*loopback));

    if (!loopback)
        abort();
    loopback->channel.ops = &loopback_ops;
    loopback->inner = inner;
    if (observer)
        loopback->observer = *observer;
    return &loopback->channel;
}

struct nn_hal *loopback_hal(struct nn_hal *inner, const struct loopback_observer *observer)
{
    struct nn_hal *hal;

    if (nn_hal_proxy_new(loopback_channel(inner, observer), &hal) != 0)
        abort();
    return hal;
}
