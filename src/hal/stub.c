/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "hal/stub.h"

#include "hal/messages.h"
#include "hal/print.h"
#include "hal/dispatch.h"

#include "base/arena.h"
#include "base/error.h"

#include <endian.h>
#include <string.h>

enum {
    /* A request decodes to a few times the bytes of its message. */
    MAX_ARENA_BYTES = 1 << 30,
};

/* One request on its way: where it came from and what becomes of it. */
struct request {
    struct nn_hal *hal;
    uint32_t minor;
    const struct nn_codec_message *message;
    const struct nn_hal_method_type *method;
    struct nn_arena *arena;
    const struct nn_meter *meter;
    void *args;
    void *reply;
};

static const struct nn_hal_method_type *find_method(uint32_t number, uint32_t minor)
{
    const struct nn_hal_method_type *method;

    if (number >= nn_hal_n_methods)
        return NULL;
    method = &nn_hal_methods[number];
    /* A method newer than what both sides agreed on is as unknown as one that does not
     * exist. */
    return method->name && method->minor <= minor ? method : NULL;
}

/* A sentence longer than the wire carries is cut, not refused. */
static const char *sentence_cut(struct nn_arena *arena, const char *sentence)
{
    char *copy;

    if (!sentence || strnlen(sentence, NNHAL_MAX_SENTENCE_BYTES + 1) <= NNHAL_MAX_SENTENCE_BYTES)
        return sentence;
    copy = nn_arena_dup(arena, sentence, NNHAL_MAX_SENTENCE_BYTES + 1);
    if (copy)
        copy[NNHAL_MAX_SENTENCE_BYTES] = '\0';
    return copy;
}

int nn_hal_stub_refuse(uint32_t minor, const char *sentence, struct nn_codec_buffer *reply)
{
    const struct nn_hal_failure failure = {.message = sentence};
    int r = nn_codec_encode(&nn_codec_failure, minor, &failure, reply);

    return r > 0 ? nn_error_fold(r) : r;
}

static int encode_failure(const struct request *request, const char *sentence,
                          struct nn_codec_buffer *reply)
{
    return nn_error_trace(
        nn_hal_stub_refuse(request->minor, sentence_cut(request->arena, sentence), reply));
}

/* Closes the descriptors of a reply that will not be sent, of which the arrays
 * and structs are not known to be sound: only those directly in it. */
static void drop_reply_fds(const struct request *request)
{
    for (size_t i = 0; i < request->method->reply->n_fields; i++) {
        const struct nn_codec_field *field = &request->method->reply->fields[i];

        if (field->kind == NN_CODEC_FD && field->form == NN_CODEC_ONE)
            closep((const int *)(void *)((char *)request->reply + field->offset));
    }
}

/* Every reply begins with its message. */
static const char **message_of(void *reply)
{
    return reply;
}

/* What a client of an older minor does not know it cannot miss: younger fields of a reply say more
 * about what was done, and nothing that has to be given back. */
static void drop_younger(const struct request *request)
{
    for (size_t i = 0; i < request->method->reply->n_fields; i++) {
        const struct nn_codec_field *field = &request->method->reply->fields[i];

        if (field->minor > request->minor && field->form == NN_CODEC_ONE &&
            field->kind != NN_CODEC_FD)
            memset((char *)request->reply + field->offset, 0, nn_codec_element_size(field));
    }
}

static int encode_reply(const struct request *request, uint32_t *status,
                        struct nn_codec_buffer *reply)
{
    const struct nn_hal_method_type *method = request->method;
    int r;

    /* The proxy would drop the whole service for a value that a driver has made up. */
    if (*status > NNHAL_DEAD_OBJECT)
        *status = NNHAL_GENERAL_FAILURE;
    if (*status != NNHAL_NONE && (!method->also || *status != method->also))
        return encode_failure(request, *message_of(request->reply), reply);
    *message_of(request->reply) = sentence_cut(request->arena, *message_of(request->reply));
    drop_younger(request);
    r = nn_codec_encode(method->reply, request->minor, request->reply, reply);
    if (r)
        drop_reply_fds(request);
    if (r <= 0)
        return r;
    /* A driver's lie that the host let through. */
    *status = NNHAL_GENERAL_FAILURE;
    return encode_failure(request, "the driver's answer breaks the limits of the interface", reply);
}

/* Decodes, calls, encodes; the arena is the caller's. */
static int request_serve(struct request *request, uint32_t *ret_status,
                         struct nn_codec_buffer *reply)
{
    const struct nn_hal_method_type *method = request->method;
    struct nn_codec_message answer = {.serial = request->message->serial,
                                      .number = request->message->number};
    uint32_t status = NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    int r;

    request->args = nn_arena_alloc(request->arena, method->args->size);
    request->reply = nn_arena_alloc(request->arena, method->reply->size);
    if (!request->args || !request->reply)
        return nn_error_origin(-ENOMEM);
    request->arena->meter = request->meter;
    r = nn_codec_decode(method->args, request->minor, request->message, request->arena,
                        request->args);
    if (r == NN_CODEC_E_VIOLATION)
        return NN_HAL_STUB_E_VIOLATION;
    nn_hal_trace("<-", NN_HAL_PACKET_CALL, request->message, request->args);
    /* Not the client's fault: it gets an answer and keeps its connection. */
    if (r == NN_CODEC_E_MEMORY)
        *message_of(request->reply) = "the service has no memory for this request, or its user may "
                                      "have no more: free something, or try again later";
    else
        status = nn_hal_stub_dispatch(request->hal, request->message->number, request->args,
                                      request->reply, request->arena);
    r = encode_reply(request, &status, reply);
    if (r)
        return nn_error_trace(r);
    answer.status = status;
    answer.fds = reply->fds;
    answer.n_fds = reply->n_fds;
    nn_hal_trace("->", NN_HAL_PACKET_REPLY, &answer, request->reply);
    *ret_status = status;
    return 0;
}

int nn_hal_stub_call(struct nn_hal *hal, uint32_t minor, const struct nn_codec_message *message,
                     const struct nn_meter *meter, uint32_t *ret_status,
                     struct nn_codec_buffer *reply)
{
    struct nn_arena arena;
    struct request request = {.hal = hal,
                              .minor = minor,
                              .message = message,
                              .method = find_method(message->number, minor),
                              .arena = &arena,
                              .meter = meter};
    int r = NN_HAL_STUB_E_VIOLATION;

    nn_arena_init(&arena, MAX_ARENA_BYTES);
    if (request.method)
        r = request_serve(&request, ret_status, reply);
    nn_arena_done(&arena);
    for (size_t i = 0; i < message->n_fds; i++)
        closep(&message->fds[i]);
    return r;
}

void nn_hal_stub_subject(const struct nn_codec_message *message, uint64_t *ret_prepared_model,
                         uint64_t *ret_execution)
{
    uint64_t ids[2] = {0, 0};

    /* Runs before the request is decoded, on bytes that only their number vouches for: a
     * wrong id costs the client its priority, and nothing else. */
    if (message->number == NN_HAL_METHOD_EXECUTE_SYNCHRONOUSLY && message->n_bytes >= sizeof(ids))
        memcpy(ids, message->bytes, sizeof(ids));
    *ret_prepared_model = le64toh(ids[0]);
    *ret_execution = le64toh(ids[1]);
}

int nn_hal_stub_event(uint32_t minor, uint32_t event, const void *value,
                      struct nn_codec_buffer *buffer)
{
    const struct nn_codec_message message = {.number = event};
    int r;

    if (event >= nn_hal_n_events || !nn_hal_events[event].name)
        return nn_error_origin(-EINVAL);
    r = nn_codec_encode(nn_hal_events[event].value, minor, value, buffer);
    if (r > 0)
        return nn_error_origin(-EINVAL);
    if (r == 0)
        nn_hal_trace("->", NN_HAL_PACKET_EVENT, &message, value);
    return r;
}
