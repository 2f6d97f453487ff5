/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - how the codec sees a struct
 *
 * The generated tables (codec/types.h, hal/messages.h) are made of these. A type is a run
 * of fields in wire order; a field is a place in the C struct and how to read,
 * check and print what lies there. Types contain each other without cycles, so
 * a walk is as deep as the declaration. */
#ifndef NN_CODEC_TABLE_H
#define NN_CODEC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nn_codec_kind {
    NN_CODEC_U8,
    NN_CODEC_U16,
    NN_CODEC_U32,
    NN_CODEC_I32,
    NN_CODEC_U64,
    NN_CODEC_I64,
    NN_CODEC_F32,
    NN_CODEC_BOOL,
    NN_CODEC_COUNT,
    NN_CODEC_RESERVED,
    NN_CODEC_ENUM,
    NN_CODEC_ID,
    NN_CODEC_FD,
    NN_CODEC_STRING,
    NN_CODEC_BYTES,
    NN_CODEC_STRUCT,
    _NN_CODEC_KIND_N,
};

enum nn_codec_form {
    NN_CODEC_ONE,   /* the element itself */
    NN_CODEC_FIXED, /* count elements, in place */
    NN_CODEC_ARRAY, /* a pointer to as many as the u32 at offset count says */
};

struct nn_codec_value {
    uint32_t value;
    const char *name;
};

struct nn_codec_enum {
    const char *name;
    bool is_open;
    uint32_t n_values;
    const struct nn_codec_value *values; /* rising; without gaps unless open */
};

struct nn_codec_field {
    const char *name;
    enum nn_codec_kind kind;
    enum nn_codec_form form;
    bool is_optional; /* a string that may be NULL, an fd that may be -1 */
    uint32_t minor;   /* the first version that has it */
    size_t offset;
    size_t count;
    uint32_t max; /* COUNT: its limit; STRING, BYTES: of the size; ARRAY: its count's */
    const struct nn_codec_enum *values; /* ENUM */
    const struct nn_codec_type *type;   /* STRUCT */
};

struct nn_codec_type {
    const char *name;
    size_t size;
    size_t min_bytes; /* what a value takes on the wire at least, never 0 */
    size_t n_fields;
    const struct nn_codec_field *fields;
};

/* nn_codec_kind_size() - bytes of one element in C and, but for strings, bytes
 * and structs, on the wire. */
size_t nn_codec_kind_size(enum nn_codec_kind kind);

/* nn_codec_element_size() - bytes of one element of a field in C. */
size_t nn_codec_element_size(const struct nn_codec_field *field);

/* nn_codec_enum_name() - "LOW_POWER"; NULL if the value has no name. */
const char *nn_codec_enum_name(const struct nn_codec_enum *values, uint32_t value);

#endif
