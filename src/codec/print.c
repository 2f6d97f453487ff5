/* SPDX-License-Identifier: Apache-2.0 */
/* Values for people. What says nothing is left out (empty lists, absent
 * strings, zeroes in place of structs); lists of structs are their length. */
#include "codec/codec.h"
#include "codec/printer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_SHOWN_ELEMENTS = 8,
    MAX_SHOWN_CHARACTERS = 64,
};

/* What does not fit ends with "...", and n says from then on that no more does. */
void nn_printer_add(struct nn_printer *printer, const char *format, ...)
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

void nn_printer_add_name(struct nn_printer *printer, const char *name)
{
    nn_printer_add(printer, "%s%s=", printer->separator, name);
    printer->separator = ", ";
}

static bool is_zero(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i])
            return false;
    return true;
}

/* Names come from other processes: what is not printable ASCII is shown as '?'. */
static void printer_add_string(struct nn_printer *printer, const char *text)
{
    nn_printer_add(printer, "\"");
    for (size_t i = 0; text[i] && i < MAX_SHOWN_CHARACTERS; i++) {
        unsigned char c = (unsigned char)text[i];

        nn_printer_add(printer, "%c", c < ' ' || c > '~' || c == '"' ? '?' : c);
    }
    nn_printer_add(printer,
                   strnlen(text, MAX_SHOWN_CHARACTERS + 1) > MAX_SHOWN_CHARACTERS ? "...\"" : "\"");
}

void nn_printer_add_enum(struct nn_printer *printer, const struct nn_codec_enum *values,
                         uint32_t value)
{
    const char *name = nn_codec_enum_name(values, value);

    if (name)
        nn_printer_add(printer, "%s", name);
    else
        nn_printer_add(printer, "%" PRIu32, value);
}

static void printer_add_wide(struct nn_printer *printer, uint64_t value)
{
    if (value == NNHAL_NO_TIME)
        nn_printer_add(printer, "none");
    else
        nn_printer_add(printer, "%" PRIu64, value);
}

static void printer_add_element(struct nn_printer *printer, const struct nn_codec_field *field,
                                const void *at)
{
    switch (field->kind) {
    case NN_CODEC_U8:
        nn_printer_add(printer, "%u", *(const uint8_t *)at);
        break;
    case NN_CODEC_U16:
        nn_printer_add(printer, "%u", *(const uint16_t *)at);
        break;
    case NN_CODEC_I32:
    case NN_CODEC_FD:
        nn_printer_add(printer, "%" PRId32, *(const int32_t *)at);
        break;
    case NN_CODEC_I64:
        nn_printer_add(printer, "%" PRId64, *(const int64_t *)at);
        break;
    case NN_CODEC_U64:
    case NN_CODEC_ID:
        printer_add_wide(printer, *(const uint64_t *)at);
        break;
    case NN_CODEC_F32:
        nn_printer_add(printer, "%g", (double)*(const float *)at);
        break;
    case NN_CODEC_ENUM:
        nn_printer_add_enum(printer, field->values, *(const uint32_t *)at);
        break;
    case NN_CODEC_STRING:
        printer_add_string(printer, *(const char *const *)at);
        break;
    case NN_CODEC_BYTES:
        nn_printer_add(printer, "%" PRIu64 " bytes", ((const struct nnhal_bytes *)at)->size);
        break;
    case NN_CODEC_STRUCT:
        nn_printer_add(printer, "{");
        printer->separator = "";
        nn_printer_add_fields(printer, field->type, at, 0);
        nn_printer_add(printer, "}");
        printer->separator = ", ";
        break;
    default:
        nn_printer_add(printer, "%" PRIu32, *(const uint32_t *)at);
        break;
    }
}

static void printer_add_list(struct nn_printer *printer, const struct nn_codec_field *field,
                             const char *elements, size_t n)
{
    size_t size = nn_codec_element_size(field);

    nn_printer_add_name(printer, field->name);
    if (field->kind == NN_CODEC_STRUCT) {
        nn_printer_add(printer, "%zu", n);
        return;
    }
    nn_printer_add(printer, "[");
    for (size_t i = 0; i < n && i < MAX_SHOWN_ELEMENTS; i++) {
        nn_printer_add(printer, i ? "," : "");
        printer_add_element(printer, field, elements + i * size);
    }
    if (n > MAX_SHOWN_ELEMENTS)
        nn_printer_add(printer, ",... %zu in all", n);
    nn_printer_add(printer, "]");
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

void nn_printer_add_field(struct nn_printer *printer, const struct nn_codec_field *field,
                          const char *value)
{
    const char *at = value + field->offset;
    uint32_t n = (uint32_t)field->count;

    if (field->form == NN_CODEC_ARRAY) {
        memcpy(&n, value + field->count, sizeof(n));
        if (n)
            printer_add_list(printer, field, *(const char *const *)at, n);
    } else if (field->form == NN_CODEC_FIXED) {
        if (!is_zero(at, n * nn_codec_element_size(field)))
            printer_add_list(printer, field, at, n);
    } else if (is_shown(field, at)) {
        nn_printer_add_name(printer, field->name);
        printer_add_element(printer, field, at);
    }
}

void nn_printer_add_fields(struct nn_printer *printer, const struct nn_codec_type *type,
                           const void *value, size_t first)
{
    for (size_t i = first; i < type->n_fields; i++)
        nn_printer_add_field(printer, &type->fields[i], value);
}
