/* SPDX-License-Identifier: Apache-2.0 */
/* printer.h - a text in the making, cut short with "..." where it does not fit
 *
 * What says nothing is left out. One thread. */
#ifndef NN_CODEC_PRINTER_H
#define NN_CODEC_PRINTER_H

#include "codec/codec.h"
#include "codec/table.h"

struct nn_printer {
    char *text;
    size_t size; /* at least 4 */
    size_t n;    /* size: no more fits */
    const char *separator;
};

void nn_printer_add(struct nn_printer *printer, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* nn_printer_add_name() - the beginning of a field: ", " before every one but the first. */
void nn_printer_add_name(struct nn_printer *printer, const char *name);

/* nn_printer_add_enum() - the value's name, or its number. */
void nn_printer_add_enum(struct nn_printer *printer, const struct nn_codec_enum *values,
                         uint32_t value);

/* nn_printer_add_field() - a field of the struct at value, unless it says nothing. */
void nn_printer_add_field(struct nn_printer *printer, const struct nn_codec_field *field,
                          const char *value);

/* nn_printer_add_fields() - the fields of a type from the one numbered first. */
void nn_printer_add_fields(struct nn_printer *printer, const struct nn_codec_type *type,
                           const void *value, size_t first);

#endif
