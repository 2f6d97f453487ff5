/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/values.h"

#include <string.h>

uint64_t values_number(struct values *values)
{
    values->state ^= values->state << 13;
    values->state ^= values->state >> 7;
    values->state ^= values->state << 17;
    return values->state;
}

static uint32_t below(struct values *values, uint32_t n)
{
    return (uint32_t)(values_number(values) % n);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static char *make_string(struct values *values, const struct nn_codec_field *field)
{
    uint32_t n = below(values, least(field->max, 40) + 1);
    char *text;

    if (field->is_optional && below(values, 3) == 0)
        return NULL;
    text = nn_arena_alloc(values->arena, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++)
        text[i] = (char)(1 + below(values, 255));
    return text;
}

static struct nnhal_bytes make_bytes(struct values *values, const struct nn_codec_field *field)
{
    uint32_t n = below(values, least(field->max, 70) + 1);
    uint8_t *bytes = nn_arena_alloc(values->arena, n);

    for (uint32_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)values_number(values);
    return (struct nnhal_bytes){.size = n, .data = n ? bytes : NULL};
}

static uint32_t make_word(struct values *values, const struct nn_codec_field *field)
{
    switch (field->kind) {
    case NN_CODEC_BOOL:
        return below(values, 2);
    case NN_CODEC_RESERVED:
        return 0;
    case NN_CODEC_COUNT:
        return below(values, least(field->max, values->n_elements) + 1);
    case NN_CODEC_ENUM:
        return field->values->values[below(values, field->values->n_values)].value;
    case NN_CODEC_FD:
        if (field->is_optional && below(values, 3) == 0)
            return UINT32_MAX;
        return (uint32_t)(values->make_fd ? values->make_fd() : values->next_fd++);
    default:
        return (uint32_t)values_number(values);
    }
}

static void fill_struct(struct values *values, const struct nn_codec_type *type, void *value);

static void fill_one(struct values *values, const struct nn_codec_field *field, void *at)
{
    uint64_t number;
    uint32_t word;

    switch (field->kind) {
    case NN_CODEC_STRING:
        *(const char **)at = make_string(values, field);
        break;
    case NN_CODEC_BYTES:
        *(struct nnhal_bytes *)at = make_bytes(values, field);
        break;
    case NN_CODEC_STRUCT:
        fill_struct(values, field->type, at);
        break;
    case NN_CODEC_U8:
    case NN_CODEC_U16:
    case NN_CODEC_U64:
    case NN_CODEC_I64:
    case NN_CODEC_ID:
        number = values_number(values);
        memcpy(at, &number, nn_codec_kind_size(field->kind));
        break;
    default:
        word = make_word(values, field);
        memcpy(at, &word, sizeof(word));
        break;
    }
}

static void fill_field(struct values *values, const struct nn_codec_field *field, char *value)
{
    size_t size = nn_codec_element_size(field);
    char *at = value + field->offset;
    uint32_t n = field->form == NN_CODEC_FIXED ? (uint32_t)field->count : 1;

    if (field->form == NN_CODEC_ARRAY) {
        memcpy(&n, value + field->count, sizeof(n));
        at = n ? nn_arena_alloc_array(values->arena, n, size) : NULL;
        memcpy(value + field->offset, &at, sizeof(at));
    }
    for (uint32_t i = 0; i < n; i++)
        fill_one(values, field, at + i * size);
}

static void fill_struct(struct values *values, const struct nn_codec_type *type, void *value)
{
    static const int32_t no_fd = -1;

    for (size_t i = 0; i < type->n_fields; i++) {
        const struct nn_codec_field *field = &type->fields[i];

        if (field->minor <= values->minor)
            fill_field(values, field, value);
        else if (field->kind == NN_CODEC_FD && field->form == NN_CODEC_ONE)
            memcpy((char *)value + field->offset, &no_fd, sizeof(no_fd));
    }
}

void *values_make(struct values *values, const struct nn_codec_type *type)
{
    void *value = nn_arena_alloc(values->arena, type->size);

    fill_struct(values, type, value);
    return value;
}

static bool one_is_equal(const struct nn_codec_field *field, const void *a, const void *b)
{
    const struct nnhal_bytes *bytes_a = a, *bytes_b = b;
    const char *text_a, *text_b;

    switch (field->kind) {
    case NN_CODEC_STRING:
        text_a = *(const char *const *)a;
        text_b = *(const char *const *)b;
        return text_a && text_b ? strcmp(text_a, text_b) == 0 : text_a == text_b;
    case NN_CODEC_BYTES:
        return bytes_a->size == bytes_b->size &&
               (!bytes_a->size || memcmp(bytes_a->data, bytes_b->data, bytes_a->size) == 0);
    case NN_CODEC_STRUCT:
        return values_are_equal(field->type, a, b);
    default:
        return memcmp(a, b, nn_codec_kind_size(field->kind)) == 0;
    }
}

static bool field_is_equal(const struct nn_codec_field *field, const char *a, const char *b)
{
    size_t size = nn_codec_element_size(field);
    const char *at_a = a + field->offset, *at_b = b + field->offset;
    uint32_t n = field->form == NN_CODEC_FIXED ? (uint32_t)field->count : 1;

    if (field->form == NN_CODEC_ARRAY) {
        memcpy(&n, a + field->count, sizeof(n)); /* equal: a field before this one */
        memcpy(&at_a, a + field->offset, sizeof(at_a));
        memcpy(&at_b, b + field->offset, sizeof(at_b));
    }
    for (uint32_t i = 0; i < n; i++)
        if (!one_is_equal(field, at_a + i * size, at_b + i * size))
            return false;
    return true;
}

bool values_are_equal(const struct nn_codec_type *type, const void *a, const void *b)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (!field_is_equal(&type->fields[i], a, b))
            return false;
    return true;
}
