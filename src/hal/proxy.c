/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "hal/proxy.h"

#include "hal/messages.h"
#include "hal/print.h"
#include "hal/dispatch.h"

#include "base/arena.h"
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum {
    MAX_UNFREED = 32,
    MAX_FREE_BYTES = 16, /* of the arguments of a method that frees */
};

/* A call that frees an object and found no memory: the object is still there. */
struct unfreed_call {
    uint32_t number;
    _Alignas(uint64_t) uint8_t args[MAX_FREE_BYTES];
};

struct proxy {
    struct nn_hal hal;
    struct nn_hal_channel *channel;
    _Atomic uint64_t n_calls; /* the serial of the last one, for traces */
    pthread_mutex_t lock;     /* of what follows; not held during a call */
    uint32_t n_unfreed;
    struct unfreed_call unfreed[MAX_UNFREED];
};

/* A call on its way: what every step of it needs. */
struct proxy_call {
    struct proxy *proxy;
    const struct nn_hal_method_type *method;
    struct nn_arena *arena;
    void *reply;
    struct nn_codec_message request;
    struct nn_codec_message answer;
};

static struct proxy *proxy_of(struct nn_hal *hal)
{
    return NN_CONTAINER_OF(hal, struct proxy, hal);
}

/* Ends a call here, with a sentence. */
static uint32_t call_fail(struct proxy_call *call, uint32_t status, const char *sentence)
{
    const char **message = call->reply;

    memset(call->reply, 0, call->method->reply->size);
    *message = sentence;
    return status;
}

static uint32_t call_fail_dead(struct proxy_call *call)
{
    return call_fail(call, NNHAL_DEAD_OBJECT, "the service is gone");
}

static uint32_t call_fail_invalid(struct proxy_call *call)
{
    return call_fail(
        call, NNHAL_INVALID_ARGUMENT,
        "an argument breaks the limits of the interface (NNHAL_MAX_* in nnhal/types.h)");
}

static uint32_t call_fail_memory(struct proxy_call *call)
{
    return call_fail(call, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
                     "no memory or descriptors for this call");
}

/* The other side broke the protocol: it is not spoken to again. */
static uint32_t call_fail_violation(struct proxy_call *call, const char *why)
{
    call->proxy->channel->ops->fail(call->proxy->channel, why);
    return call_fail_dead(call);
}

static uint32_t call_fail_channel(struct proxy_call *call, int r)
{
    switch (r) {
    case -EBADF:
        return call_fail(call, NNHAL_INVALID_ARGUMENT, "a file descriptor is not open");
    case -EMSGSIZE:
        return call_fail_invalid(call);
    case -ENOMEM:
    case -EMFILE:
        return call_fail_memory(call);
    case -ETIMEDOUT:
        return call_fail(call, NNHAL_MISSED_DEADLINE_TRANSIENT,
                         "the deadline passed and the service has not answered: it was left");
    case -EHOSTDOWN:
        return call_fail(call, NNHAL_DEAD_OBJECT, "the service does not answer and was left");
    default:
        return call_fail_dead(call);
    }
}

/* A failed method brings its sentence alone. */
static int decode_failure(struct proxy_call *call)
{
    struct nn_hal_failure failure;
    const char **message = call->reply;
    int r = nn_codec_decode(&nn_codec_failure, call->proxy->channel->minor, &call->answer,
                            call->arena, &failure);

    /* Outputs are empty after a failure, also where a caller looks at them without asking
     * for the status. */
    memset(call->reply, 0, call->method->reply->size);
    *message = failure.message;
    return r;
}

static uint32_t call_decode_reply(struct proxy_call *call)
{
    const struct nn_hal_method_type *method = call->method;
    uint32_t status = call->answer.status;
    int r;

    /* The application switches over these values: one that no interface names does not
     * reach it. */
    if (status > NNHAL_DEAD_OBJECT)
        return call_fail_violation(call, "a reply has no such status");
    if (status == NNHAL_NONE || (method->also && status == method->also))
        r = nn_codec_decode(method->reply, call->proxy->channel->minor, &call->answer, call->arena,
                            call->reply);
    else
        r = decode_failure(call);
    /* A sender that once broke the form may have lost count of its objects too: no later
     * reply of it is worth decoding. */
    if (r == NN_CODEC_E_VIOLATION)
        return call_fail_violation(call, "a reply is not of its form");
    if (r)
        return call_fail_memory(call);
    nn_hal_trace("<-", NN_HAL_PACKET_REPLY, &call->answer, call->reply);
    return status;
}

static uint32_t call_exchange(struct proxy_call *call)
{
    struct nn_hal_channel *channel = call->proxy->channel;
    struct nn_codec_buffer buffer = {.bytes = NULL};
    uint32_t status = 0;
    int r = channel->ops->call(channel, &call->request, &status, &buffer);

    if (r) {
        status = call_fail_channel(call, r);
    } else {
        call->answer = (struct nn_codec_message){.serial = call->request.serial,
                                                 .number = call->request.number,
                                                 .status = status,
                                                 .bytes = buffer.bytes,
                                                 .n_bytes = buffer.n_bytes,
                                                 .fds = buffer.fds,
                                                 .n_fds = buffer.n_fds};
        status = call_decode_reply(call);
        /* Descriptors that did not become the caller's. */
        if (status == NNHAL_NONE)
            buffer.n_fds = 0;
    }
    nn_codec_buffer_close(&buffer);
    nn_codec_buffer_done(&buffer);
    return status;
}

static uint32_t proxy_call(struct proxy *proxy, uint32_t number, const void *args, void *reply,
                           struct nn_arena *arena)
{
    struct proxy_call call = {
        .proxy = proxy, .method = &nn_hal_methods[number], .arena = arena, .reply = reply};
    struct nn_codec_buffer buffer = {.bytes = NULL};
    uint32_t status;
    int r = nn_codec_encode(call.method->args, call.proxy->channel->minor, args, &buffer);

    if (r) {
        status = r > 0 ? call_fail_invalid(&call) : call_fail_memory(&call);
    } else {
        call.request = (struct nn_codec_message){.serial = ++call.proxy->n_calls,
                                                 .number = number,
                                                 .bytes = buffer.bytes,
                                                 .n_bytes = buffer.n_bytes,
                                                 .fds = buffer.fds,
                                                 .n_fds = buffer.n_fds};
        nn_hal_trace("->", NN_HAL_PACKET_CALL, &call.request, args);
        status = call_exchange(&call);
    }
    nn_codec_buffer_done(&buffer);
    return status;
}

/* -- calls that free --------------------------------------------------------------------- */

static bool method_frees(const struct nn_hal_method_type *method)
{
    return strncmp(method->name, "free_", 5) == 0 && method->args->size <= MAX_FREE_BYTES;
}

/* What is more than the list holds stays until the session ends. */
static void keep_unfreed(struct proxy *proxy, uint32_t number, const void *args)
{
    pthread_mutex_lock(&proxy->lock);
    if (proxy->n_unfreed < MAX_UNFREED) {
        struct unfreed_call *kept = &proxy->unfreed[proxy->n_unfreed++];

        kept->number = number;
        memcpy(kept->args, args, nn_hal_methods[number].args->size);
    }
    pthread_mutex_unlock(&proxy->lock);
}

static bool take_unfreed(struct proxy *proxy, struct unfreed_call *ret_call)
{
    bool is_there;

    pthread_mutex_lock(&proxy->lock);
    is_there = proxy->n_unfreed > 0;
    if (is_there)
        *ret_call = proxy->unfreed[--proxy->n_unfreed];
    pthread_mutex_unlock(&proxy->lock);
    return is_there;
}

/* Makes an earlier call again whose caller has long returned. One for one: a list that cannot be
 * emptied now keeps no caller. */
static void free_unfreed(struct proxy *proxy, struct nn_arena *arena)
{
    _Alignas(max_align_t) uint8_t reply[256];
    struct unfreed_call earlier;

    if (take_unfreed(proxy, &earlier) &&
        nn_hal_methods[earlier.number].reply->size <= sizeof(reply) &&
        proxy_call(proxy, earlier.number, earlier.args, reply, arena) ==
            NNHAL_RESOURCE_EXHAUSTED_TRANSIENT)
        keep_unfreed(proxy, earlier.number, earlier.args);
}

uint32_t nn_hal_proxy_call(struct nn_hal *hal, uint32_t number, const void *args, void *reply,
                           struct nn_arena *arena)
{
    struct proxy *proxy = proxy_of(hal);
    bool frees = method_frees(&nn_hal_methods[number]);
    uint32_t status;

    if (frees)
        free_unfreed(proxy, arena);
    status = proxy_call(proxy, number, args, reply, arena);
    if (frees && status == NNHAL_RESOURCE_EXHAUSTED_TRANSIENT)
        keep_unfreed(proxy, number, args);
    return status;
}

bool nn_hal_proxy_watch(struct nn_hal *hal)
{
    struct nn_hal_channel *channel = proxy_of(hal)->channel;

    return !channel->ops->watch || channel->ops->watch(channel) == 0;
}

void nn_hal_proxy_leave_late(struct nn_hal *hal)
{
    struct nn_hal_channel *channel = proxy_of(hal)->channel;

    if (channel->ops->leave_late)
        channel->ops->leave_late(channel);
}

void nn_hal_proxy_close(struct nn_hal *hal)
{
    struct proxy *proxy = proxy_of(hal);

    proxy->channel->ops->close(proxy->channel);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

int nn_hal_proxy_new(struct nn_hal_channel *channel, struct nn_hal **ret_hal)
{
    struct proxy *proxy = calloc(1, sizeof(*proxy));

    if (!proxy) {
        channel->ops->close(channel);
        return nn_error_origin(-ENOMEM);
    }
    proxy->hal.ops = &nn_hal_proxy_ops;
    proxy->channel = channel;
    pthread_mutex_init(&proxy->lock, NULL);
    *ret_hal = &proxy->hal;
    return 0;
}
