/* SPDX-License-Identifier: Apache-2.0 */
/* proxy-events.c - what a service tells unasked */
#include "hal/proxy.h"

#include "hal/dispatch.h"
#include "hal/messages.h"
#include "hal/print.h"

#include "base/arena.h"
#include "base/error.h"

enum {
    MAX_ARENA_BYTES = 1 << 30, /* of an event */
};

int nn_hal_proxy_event(const struct nn_hal_listener *listener, uint32_t minor,
                       const struct nn_codec_message *message)
{
    const struct nn_hal_event_type *event;
    struct nn_arena arena;
    void *value;
    int r = -ENOMEM;

    if (message->number >= nn_hal_n_events)
        return NN_HAL_PROXY_E_VIOLATION;
    event = &nn_hal_events[message->number];
    if (!event->name || event->minor > minor)
        return NN_HAL_PROXY_E_VIOLATION;
    nn_arena_init(&arena, MAX_ARENA_BYTES);
    value = nn_arena_alloc(&arena, event->value->size);
    if (value)
        r = nn_codec_decode(event->value, minor, message, &arena, value);
    if (r == 0) {
        nn_hal_trace("<-", NN_HAL_PACKET_EVENT, message, value);
        nn_hal_proxy_deliver(listener, message->number, value);
    }
    nn_arena_done(&arena);
    if (r == NN_CODEC_E_VIOLATION)
        return NN_HAL_PROXY_E_VIOLATION;
    return r == NN_CODEC_E_MEMORY ? nn_error_origin(-ENOMEM) : r;
}
