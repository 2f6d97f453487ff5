/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding, and what encoding and decoding share. A walk calls itself for the
 * structs inside a struct, as deep as the declaration is and no deeper. */
#include "codec/codec.h"

#include "codec/table.h"
#include "codec/wire.h"

#include "base/arith.h"
#include "base/error.h"

#include <endian.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 256,
};

struct codec_writer {
    struct nn_codec_buffer *buffer;
    uint32_t minor;
};

size_t nn_codec_kind_size(enum nn_codec_kind kind)
{
    switch (kind) {
    case NN_CODEC_U8:
        return 1;
    case NN_CODEC_U16:
        return 2;
    case NN_CODEC_U64:
    case NN_CODEC_I64:
    case NN_CODEC_ID:
        return 8;
    case NN_CODEC_STRING:
        return sizeof(const char *);
    case NN_CODEC_BYTES:
        return sizeof(struct nnhal_bytes);
    default:
        return 4;
    }
}

size_t nn_codec_element_size(const struct nn_codec_field *field)
{
    return field->kind == NN_CODEC_STRUCT ? field->type->size : nn_codec_kind_size(field->kind);
}

const char *nn_codec_enum_name(const struct nn_codec_enum *values, uint32_t value)
{
    for (uint32_t i = 0; i < values->n_values; i++)
        if (values->values[i].value == value)
            return values->values[i].name;
    return NULL;
}

bool nn_codec_is_legal(const struct nn_codec_field *field, uint32_t value)
{
    const struct nn_codec_enum *values = field->values;

    switch (field->kind) {
    case NN_CODEC_BOOL:
        return value <= 1;
    case NN_CODEC_RESERVED:
        return value == 0;
    case NN_CODEC_COUNT:
        return value <= field->max;
    case NN_CODEC_ENUM:
        return values->is_open || value - values->values[0].value < values->n_values;
    default:
        return true;
    }
}

void nn_codec_buffer_done(struct nn_codec_buffer *buffer)
{
    free(buffer->bytes);
    buffer->bytes = NULL;
    buffer->n_bytes = 0;
    buffer->capacity = 0;
}

void nn_codec_buffer_close(struct nn_codec_buffer *buffer)
{
    for (size_t i = 0; i < buffer->n_fds; i++)
        closep(&buffer->fds[i]);
    buffer->n_fds = 0;
}

/* Capacities are powers of two up to the limit, which write_bytes() relies on. */
int nn_codec_buffer_append(struct nn_codec_buffer *buffer, const void *bytes, size_t n_bytes)
{
    size_t n_total, capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    uint8_t *grown;

    if (!nn_add_size(buffer->n_bytes, n_bytes, &n_total) || n_total > NNHAL_MAX_MESSAGE_BYTES)
        return NN_CODEC_E_INVALID;
    if (n_total > buffer->capacity || !buffer->bytes) {
        while (capacity < n_total)
            capacity *= 2;
        grown = realloc(buffer->bytes, capacity);
        if (!grown)
            return nn_error_origin(-ENOMEM);
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (n_bytes)
        memcpy(buffer->bytes + buffer->n_bytes, bytes, n_bytes);
    buffer->n_bytes = n_total;
    return 0;
}

/* The same, without a call where there is room: capacities are powers of two
 * up to NNHAL_MAX_MESSAGE_BYTES, so that room is within the limit. */
static inline int write_bytes(struct codec_writer *writer, const void *bytes, size_t n_bytes)
{
    struct nn_codec_buffer *buffer = writer->buffer;

    if (n_bytes > buffer->capacity - buffer->n_bytes)
        return nn_codec_buffer_append(buffer, bytes, n_bytes);
    memcpy(buffer->bytes + buffer->n_bytes, bytes, n_bytes);
    buffer->n_bytes += n_bytes;
    return 0;
}

static int write_u32(struct codec_writer *writer, uint32_t value)
{
    value = htole32(value);
    return write_bytes(writer, &value, sizeof(value));
}

static int write_u64(struct codec_writer *writer, uint64_t value)
{
    value = htole64(value);
    return write_bytes(writer, &value, sizeof(value));
}

static int write_u16(struct codec_writer *writer, uint16_t value)
{
    value = htole16(value);
    return write_bytes(writer, &value, sizeof(value));
}

static int write_sized(struct codec_writer *writer, const void *bytes, size_t n_bytes)
{
    int r = write_u32(writer, (uint32_t)n_bytes);

    return r ? r : nn_codec_buffer_append(writer->buffer, bytes, n_bytes);
}

static int encode_string(struct codec_writer *writer, const struct nn_codec_field *field,
                         const char *text)
{
    size_t n;

    if (!text)
        return field->is_optional ? write_u32(writer, NN_CODEC_ABSENT) : NN_CODEC_E_INVALID;
    n = strnlen(text, (size_t)field->max + 1);
    return n > field->max ? NN_CODEC_E_INVALID : write_sized(writer, text, n);
}

static int encode_bytes(struct codec_writer *writer, const struct nn_codec_field *field,
                        const struct nnhal_bytes *bytes)
{
    if (bytes->size > field->max || (bytes->size && !bytes->data))
        return NN_CODEC_E_INVALID;
    return write_sized(writer, bytes->data, bytes->size);
}

/* In the bytes stands the place among the descriptors, which travel beside them. */
static int encode_fd(struct codec_writer *writer, const struct nn_codec_field *field, int32_t fd)
{
    struct nn_codec_buffer *buffer = writer->buffer;

    if (fd == -1 && field->is_optional)
        return write_u32(writer, NN_CODEC_ABSENT);
    if (fd < 0 || buffer->n_fds == NNHAL_MAX_FDS)
        return NN_CODEC_E_INVALID;
    buffer->fds[buffer->n_fds] = fd;
    return write_u32(writer, (uint32_t)buffer->n_fds++);
}

static int encode_struct(struct codec_writer *writer, const struct nn_codec_type *type,
                         const void *value);

static int encode_one(struct codec_writer *writer, const struct nn_codec_field *field,
                      const void *at)
{
    uint32_t word;
    uint64_t wide;

    switch (field->kind) {
    case NN_CODEC_U8:
        return nn_codec_buffer_append(writer->buffer, at, 1);
    case NN_CODEC_U16:
        return write_u16(writer, *(const uint16_t *)at);
    case NN_CODEC_U64:
    case NN_CODEC_I64:
    case NN_CODEC_ID:
        memcpy(&wide, at, sizeof(wide));
        return write_u64(writer, wide);
    case NN_CODEC_FD:
        return encode_fd(writer, field, *(const int32_t *)at);
    case NN_CODEC_STRING:
        return encode_string(writer, field, *(const char *const *)at);
    case NN_CODEC_BYTES:
        return encode_bytes(writer, field, at);
    case NN_CODEC_STRUCT:
        return encode_struct(writer, field->type, at);
    default:
        memcpy(&word, at, sizeof(word));
        return nn_codec_is_legal(field, word) ? write_u32(writer, word) : NN_CODEC_E_INVALID;
    }
}

/* Bytes, and words on a little-endian machine, are copied in one go. */
static int encode_elements(struct codec_writer *writer, const struct nn_codec_field *field,
                           const void *elements, size_t n)
{
    size_t size = nn_codec_element_size(field);
    int r = 0;

    if (n && !elements)
        return NN_CODEC_E_INVALID;
    if (nn_codec_is_plain(field->kind))
        return nn_codec_buffer_append(writer->buffer, elements, n * size);
    for (size_t i = 0; i < n && !r; i++)
        r = encode_one(writer, field, (const char *)elements + i * size);
    return r;
}

/* Whether a field that the other side is too old for says nothing. */
static bool is_nothing(const struct nn_codec_field *field, const char *at)
{
    size_t n = nn_codec_element_size(field);

    if (field->kind == NN_CODEC_FD && field->form == NN_CODEC_ONE)
        return *(const int32_t *)at == -1;
    if (field->form == NN_CODEC_ARRAY)
        return true; /* its count says it */
    for (size_t i = 0; i < n * (field->form == NN_CODEC_FIXED ? field->count : 1); i++)
        if (at[i])
            return false;
    return true;
}

static int encode_field(struct codec_writer *writer, const struct nn_codec_field *field,
                        const char *value)
{
    const char *at = value + field->offset;
    uint32_t n;

    if (field->minor > writer->minor)
        return is_nothing(field, at) ? 0 : NN_CODEC_E_INVALID;
    switch (field->form) {
    case NN_CODEC_FIXED:
        return encode_elements(writer, field, at, field->count);
    case NN_CODEC_ARRAY:
        memcpy(&n, value + field->count, sizeof(n));
        return encode_elements(writer, field, *(const void *const *)at, n);
    default:
        return encode_one(writer, field, at);
    }
}

static int encode_struct(struct codec_writer *writer, const struct nn_codec_type *type,
                         const void *value)
{
    int r = 0;

    for (size_t i = 0; i < type->n_fields && !r; i++)
        r = encode_field(writer, &type->fields[i], value);
    return r;
}

/* On failure the buffer is as it was: a packet may be made of several values. */
int nn_codec_encode(const struct nn_codec_type *type, uint32_t minor, const void *value,
                    struct nn_codec_buffer *buffer)
{
    struct codec_writer writer = {.buffer = buffer, .minor = minor};
    size_t n_bytes = buffer->n_bytes, n_fds = buffer->n_fds;
    int r = encode_struct(&writer, type, value);

    if (r) {
        buffer->n_bytes = n_bytes;
        buffer->n_fds = n_fds;
    }
    return r;
}
