/* SPDX-License-Identifier: Apache-2.0 */
/* Values for people. What says nothing is left out (empty lists, absent
 * strings, zeroes in place of structs); lists of structs are their length. */
#include "hal/codec.h"

#include "hal/codec-table.h"

#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_SHOWN_ELEMENTS = 8,
    MAX_SHOWN_CHARACTERS = 64,
    MAX_TRACE_BYTES = 2048,
};

struct printer {
    char *text;
    size_t size;
    size_t n; /* size: no more fits */
    const char *separator;
};

static __attribute__((__format__(__printf__, 2, 3))) void add(struct printer *printer,
                                                              const char *format, ...)
{
    size_t left = printer->size - printer->n;
    va_list args;
    int n;

    if (!left)
        return;
    va_start(args, format);
    n = vsnprintf(printer->text + printer->n, left, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < left) {
        printer->n += (size_t)n;
        return;
    }
    printer->n = printer->size;
    memcpy(printer->text + printer->size - 4, "...", 4);
}

/* ", " before every field but the first. */
static void add_name(struct printer *printer, const char *name)
{
    add(printer, "%s%s=", printer->separator, name);
    printer->separator = ", ";
}

static bool is_zero(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i])
            return false;
    return true;
}

static void add_string(struct printer *printer, const char *text)
{
    add(printer, "\"");
    for (size_t i = 0; text[i] && i < MAX_SHOWN_CHARACTERS; i++) {
        unsigned char c = (unsigned char)text[i];

        add(printer, "%c", c < ' ' || c > '~' || c == '"' ? '?' : c);
    }
    add(printer, strnlen(text, MAX_SHOWN_CHARACTERS + 1) > MAX_SHOWN_CHARACTERS ? "...\"" : "\"");
}

static void add_enum(struct printer *printer, const struct nn_codec_enum *values, uint32_t value)
{
    const char *name = nn_codec_enum_name(values, value);

    if (name)
        add(printer, "%s", name);
    else
        add(printer, "%" PRIu32, value);
}

static void add_wide(struct printer *printer, uint64_t value)
{
    if (value == NNHAL_NO_TIME)
        add(printer, "none");
    else
        add(printer, "%" PRIu64, value);
}

static void add_fields(struct printer *printer, const struct nn_codec_type *type, const void *value,
                       size_t first);

static void add_one(struct printer *printer, const struct nn_codec_field *field, const void *at)
{
    switch (field->kind) {
    case NN_CODEC_U8:
        add(printer, "%u", *(const uint8_t *)at);
        break;
    case NN_CODEC_U16:
        add(printer, "%u", *(const uint16_t *)at);
        break;
    case NN_CODEC_I32:
    case NN_CODEC_FD:
        add(printer, "%" PRId32, *(const int32_t *)at);
        break;
    case NN_CODEC_I64:
        add(printer, "%" PRId64, *(const int64_t *)at);
        break;
    case NN_CODEC_U64:
    case NN_CODEC_ID:
        add_wide(printer, *(const uint64_t *)at);
        break;
    case NN_CODEC_F32:
        add(printer, "%g", (double)*(const float *)at);
        break;
    case NN_CODEC_ENUM:
        add_enum(printer, field->values, *(const uint32_t *)at);
        break;
    case NN_CODEC_STRING:
        add_string(printer, *(const char *const *)at);
        break;
    case NN_CODEC_BYTES:
        add(printer, "%" PRIu64 " bytes", ((const struct nnhal_bytes *)at)->size);
        break;
    case NN_CODEC_STRUCT:
        add(printer, "{");
        printer->separator = "";
        add_fields(printer, field->type, at, 0);
        add(printer, "}");
        printer->separator = ", ";
        break;
    default:
        add(printer, "%" PRIu32, *(const uint32_t *)at);
        break;
    }
}

static void add_list(struct printer *printer, const struct nn_codec_field *field,
                     const char *elements, size_t n)
{
    size_t size = nn_codec_element_size(field);

    add_name(printer, field->name);
    if (field->kind == NN_CODEC_STRUCT) {
        add(printer, "%zu", n);
        return;
    }
    add(printer, "[");
    for (size_t i = 0; i < n && i < MAX_SHOWN_ELEMENTS; i++) {
        add(printer, i ? "," : "");
        add_one(printer, field, elements + i * size);
    }
    if (n > MAX_SHOWN_ELEMENTS)
        add(printer, ",... %zu in all", n);
    add(printer, "]");
}

/* Whether a field says something that is worth its space. */
static bool is_shown(const struct nn_codec_field *field, const char *at)
{
    switch (field->kind) {
    case NN_CODEC_COUNT:
    case NN_CODEC_RESERVED:
        return false;
    case NN_CODEC_STRING:
        return *(const char *const *)at != NULL;
    case NN_CODEC_BYTES:
        return ((const struct nnhal_bytes *)at)->size > 0;
    case NN_CODEC_STRUCT:
        return !is_zero(at, field->type->size);
    default:
        return true;
    }
}

static void add_field(struct printer *printer, const struct nn_codec_field *field,
                      const char *value)
{
    const char *at = value + field->offset;
    uint32_t n = (uint32_t)field->count;

    if (field->form == NN_CODEC_ARRAY) {
        memcpy(&n, value + field->count, sizeof(n));
        if (n)
            add_list(printer, field, *(const char *const *)at, n);
    } else if (field->form == NN_CODEC_FIXED) {
        if (!is_zero(at, n * nn_codec_element_size(field)))
            add_list(printer, field, at, n);
    } else if (is_shown(field, at)) {
        add_name(printer, field->name);
        add_one(printer, field, at);
    }
}

static void add_fields(struct printer *printer, const struct nn_codec_type *type, const void *value,
                       size_t first)
{
    for (size_t i = first; i < type->n_fields; i++)
        add_field(printer, &type->fields[i], value);
}

void nn_codec_print(const struct nn_codec_type *type, const void *value, char *ret_text,
                    size_t n_text)
{
    struct printer printer = {.text = ret_text, .size = n_text, .separator = ""};

    ret_text[0] = '\0';
    add_fields(&printer, type, value, 0);
}

/* -- packets ---------------------------------------------------------------- */

/* "prepared_model#12": the object is named by the id that args begin with; the
 * device has none and is number 1. Returns how many fields that used up. */
static size_t add_object(struct printer *printer, const char *object,
                         const struct nn_codec_type *type, const void *value)
{
    const struct nn_codec_field *field = &type->fields[0];
    bool is_object = field->kind == NN_CODEC_ID && field->form == NN_CODEC_ONE &&
                     strcmp(field->name, object) == 0;
    uint64_t id = 1;

    if (is_object)
        memcpy(&id, (const char *)value + field->offset, sizeof(id));
    add(printer, "%s#%" PRIu64 ".", object, id);
    return is_object ? 1 : 0;
}

static void add_fds(struct printer *printer, const struct nn_codec_message *message)
{
    if (!message->n_fds)
        return;
    add_name(printer, "fds");
    for (size_t i = 0; i < message->n_fds; i++)
        add(printer, "%s%d", i ? "," : "[", message->fds[i]);
    add(printer, "]");
}

static void print_call(struct printer *printer, const struct nn_codec_message *message,
                       const void *value)
{
    const struct nn_codec_method *method = &nn_codec_methods[message->number];
    size_t first = add_object(printer, method->object, method->args, value);

    add(printer, "%s(serial=%" PRIu64, method->name, message->serial);
    printer->separator = ", ";
    add_fields(printer, method->args, value, first);
}

static void print_reply(struct printer *printer, const struct nn_codec_message *message,
                        const void *value)
{
    const struct nn_codec_method *method = &nn_codec_methods[message->number];
    bool has_reply = message->status == NNHAL_NONE ||
                     (method->also && message->status == method->also);

    add(printer, "%s.reply(serial=%" PRIu64 ", status=", method->name, message->serial);
    add_enum(printer, nn_codec_statuses, message->status);
    printer->separator = ", ";
    if (has_reply)
        add_fields(printer, method->reply, value, 0);
    else
        add_field(printer, &method->reply->fields[0], value);
}

static void print_event(struct printer *printer, const struct nn_codec_message *message,
                        const void *value)
{
    const struct nn_codec_event *event = &nn_codec_events[message->number];
    size_t first = add_object(printer, event->object, event->value, value);

    add(printer, "%s(", event->name);
    printer->separator = "";
    add_fields(printer, event->value, value, first);
}

void nn_codec_print_packet(enum nn_codec_packet packet, const struct nn_codec_message *message,
                           const void *value, char *ret_text, size_t n_text)
{
    struct printer printer = {.text = ret_text, .size = n_text, .separator = ""};

    ret_text[0] = '\0';
    if (packet == NN_CODEC_CALL)
        print_call(&printer, message, value);
    else if (packet == NN_CODEC_REPLY)
        print_reply(&printer, message, value);
    else
        print_event(&printer, message, value);
    add_fds(&printer, message);
    add(&printer, ")");
}

void nn_codec_trace(const char *sign, enum nn_codec_packet packet,
                    const struct nn_codec_message *message, const void *value)
{
    char text[MAX_TRACE_BYTES];

    if (!nn_trace_enabled("wire"))
        return;
    nn_codec_print_packet(packet, message, value, text, sizeof(text));
    nn_trace("%s %s", sign, text);
}
