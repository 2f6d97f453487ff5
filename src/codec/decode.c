/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding: everything here comes from another process. The bytes are a private
 * copy by now (ipc/packet.h), so each may be read more than once. */
#include "codec/codec.h"

#include "codec/table.h"
#include "codec/wire.h"

#include "base/arena.h"

#include <endian.h>
#include <string.h>

struct codec_reader {
    const uint8_t *bytes;
    size_t n_left;
    const struct nn_codec_message *message;
    size_t n_fds_used;
    uint32_t minor;
    struct nn_arena *arena;
};

/* The next n bytes; NULL if there are not that many. */
static const uint8_t *read_bytes(struct codec_reader *reader, size_t n)
{
    const uint8_t *taken = reader->bytes;

    if (n > reader->n_left)
        return NULL;
    reader->bytes += n;
    reader->n_left -= n;
    return taken;
}

static int read_u32(struct codec_reader *reader, uint32_t *ret)
{
    const uint8_t *bytes = read_bytes(reader, sizeof(*ret));

    if (!bytes)
        return NN_CODEC_E_VIOLATION;
    memcpy(ret, bytes, sizeof(*ret));
    *ret = le32toh(*ret);
    return 0;
}

static int decode_u16(struct codec_reader *reader, void *at)
{
    const uint8_t *bytes = read_bytes(reader, 2);
    uint16_t value;

    if (!bytes)
        return NN_CODEC_E_VIOLATION;
    memcpy(&value, bytes, sizeof(value));
    value = le16toh(value);
    memcpy(at, &value, sizeof(value));
    return 0;
}

static int decode_u64(struct codec_reader *reader, void *at)
{
    const uint8_t *bytes = read_bytes(reader, 8);
    uint64_t value;

    if (!bytes)
        return NN_CODEC_E_VIOLATION;
    memcpy(&value, bytes, sizeof(value));
    value = le64toh(value);
    memcpy(at, &value, sizeof(value));
    return 0;
}

static int decode_u32(struct codec_reader *reader, const struct nn_codec_field *field, void *at)
{
    uint32_t value;
    int r = read_u32(reader, &value);

    if (r)
        return r;
    if (!nn_codec_is_legal(field, value))
        return NN_CODEC_E_VIOLATION;
    memcpy(at, &value, sizeof(value));
    return 0;
}

/* Descriptors are numbered in the order in which they are used, so that each
 * is used once and a message has one form only. */
static int decode_fd(struct codec_reader *reader, const struct nn_codec_field *field, int32_t *at)
{
    uint32_t place;
    int r = read_u32(reader, &place);

    if (r)
        return r;
    if (place == NN_CODEC_ABSENT && field->is_optional) {
        *at = -1;
        return 0;
    }
    if (place != reader->n_fds_used || place >= reader->message->n_fds)
        return NN_CODEC_E_VIOLATION;
    *at = reader->message->fds[place];
    reader->n_fds_used++;
    return 0;
}

/* A byte of 0 inside would make one string of two lengths. */
static int decode_string(struct codec_reader *reader, const struct nn_codec_field *field,
                         const char **at)
{
    const uint8_t *bytes;
    uint32_t n;
    char *text;
    int r = read_u32(reader, &n);

    if (r)
        return r;
    if (n == NN_CODEC_ABSENT && field->is_optional)
        return 0;
    bytes = n <= field->max ? read_bytes(reader, n) : NULL;
    if (!bytes || memchr(bytes, 0, n))
        return NN_CODEC_E_VIOLATION;
    text = nn_arena_alloc(reader->arena, (size_t)n + 1);
    if (!text)
        return NN_CODEC_E_MEMORY;
    memcpy(text, bytes, n);
    *at = text;
    return 0;
}

static int decode_bytes(struct codec_reader *reader, const struct nn_codec_field *field,
                        struct nnhal_bytes *at)
{
    const uint8_t *bytes;
    uint32_t n;
    int r = read_u32(reader, &n);

    if (r)
        return r;
    bytes = n <= field->max ? read_bytes(reader, n) : NULL;
    if (!bytes)
        return NN_CODEC_E_VIOLATION;
    if (!n)
        return 0;
    at->data = nn_arena_dup(reader->arena, bytes, n);
    at->size = n;
    return at->data ? 0 : NN_CODEC_E_MEMORY;
}

static int decode_struct(struct codec_reader *reader, const struct nn_codec_type *type,
                         void *value);

static int decode_one(struct codec_reader *reader, const struct nn_codec_field *field, void *at)
{
    switch (field->kind) {
    case NN_CODEC_U16:
        return decode_u16(reader, at);
    case NN_CODEC_U64:
    case NN_CODEC_I64:
    case NN_CODEC_ID:
        return decode_u64(reader, at);
    case NN_CODEC_FD:
        return decode_fd(reader, field, at);
    case NN_CODEC_STRING:
        return decode_string(reader, field, at);
    case NN_CODEC_BYTES:
        return decode_bytes(reader, field, at);
    case NN_CODEC_STRUCT:
        return decode_struct(reader, field->type, at);
    default:
        return decode_u32(reader, field, at);
    }
}

static int decode_elements(struct codec_reader *reader, const struct nn_codec_field *field,
                           char *elements, size_t n)
{
    size_t size = nn_codec_element_size(field);
    int r = 0;

    if (nn_codec_is_plain(field->kind)) {
        const uint8_t *bytes = read_bytes(reader, n * size);

        if (!bytes)
            return NN_CODEC_E_VIOLATION;
        memcpy(elements, bytes, n * size);
        return 0;
    }
    for (size_t i = 0; i < n && !r; i++)
        r = decode_one(reader, field, elements + i * size);
    return r;
}

/* What an element takes on the wire at least. */
static size_t least_bytes(const struct nn_codec_field *field)
{
    return field->kind == NN_CODEC_STRUCT ? field->type->min_bytes
                                          : nn_codec_kind_size(field->kind);
}

/* The count was held against its limit when it was read; here it is held
 * against the bytes that are left, before anything is allocated. */
static int decode_array(struct codec_reader *reader, const struct nn_codec_field *field,
                        char *value)
{
    uint32_t n;
    void *elements;

    memcpy(&n, value + field->count, sizeof(n));
    if (!n)
        return 0;
    if (n > reader->n_left / least_bytes(field))
        return NN_CODEC_E_VIOLATION;
    elements = nn_arena_alloc_array(reader->arena, n, nn_codec_element_size(field));
    if (!elements)
        return NN_CODEC_E_MEMORY;
    memcpy(value + field->offset, &elements, sizeof(elements));
    return decode_elements(reader, field, elements, n);
}

/* A field that the sender is too old for is zero, but for a descriptor, which is -1. */
static int decode_field(struct codec_reader *reader, const struct nn_codec_field *field,
                        char *value)
{
    static const int32_t no_fd = -1;

    if (field->minor > reader->minor) {
        if (field->kind == NN_CODEC_FD && field->form == NN_CODEC_ONE)
            memcpy(value + field->offset, &no_fd, sizeof(no_fd));
        return 0;
    }
    switch (field->form) {
    case NN_CODEC_FIXED:
        return decode_elements(reader, field, value + field->offset, field->count);
    case NN_CODEC_ARRAY:
        return decode_array(reader, field, value);
    default:
        return decode_one(reader, field, value + field->offset);
    }
}

static int decode_struct(struct codec_reader *reader, const struct nn_codec_type *type, void *value)
{
    int r = 0;

    for (size_t i = 0; i < type->n_fields && !r; i++)
        r = decode_field(reader, &type->fields[i], value);
    return r;
}

/* Nothing may be left over: a message has one form only. */
int nn_codec_decode(const struct nn_codec_type *type, uint32_t minor,
                    const struct nn_codec_message *message, struct nn_arena *arena, void *ret_value)
{
    struct codec_reader reader = {.bytes = message->bytes,
                                  .n_left = message->n_bytes,
                                  .message = message,
                                  .minor = minor,
                                  .arena = arena};
    int r = NN_CODEC_E_VIOLATION;

    memset(ret_value, 0, type->size);
    if (message->n_bytes <= NNHAL_MAX_MESSAGE_BYTES && message->n_fds <= NNHAL_MAX_FDS)
        r = decode_struct(&reader, type, ret_value);
    if (!r && (reader.n_left || reader.n_fds_used != message->n_fds))
        r = NN_CODEC_E_VIOLATION;
    if (r)
        memset(ret_value, 0, type->size);
    return r;
}
