/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are little-endian");

#define HEADER_BYTES 40
#define N_LIFETIMES  7
#define TYPE_MODEL   15
#define TYPE_CHANNEL 11

struct nnt_block {
    struct nnt_block *next;
    _Alignas(16) uint8_t bytes[];
};

static bool file_fail(struct nnt_file *file, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static bool file_fail(struct nnt_file *file, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(file->error, sizeof(file->error), format, args);
    va_end(args);
    return false;
}

uint32_t nnt_element_bytes(uint32_t type)
{
    static const uint8_t bytes[TYPE_MODEL] = {4, 4, 4, 4, 4, 1, 1, 2, 2, 1, 2, 1, 2, 1, 1};

    return type < TYPE_MODEL ? bytes[type] : nnt_is_int64(type) ? 8 : 0;
}

/* -- memory of one model -- */

void *nnt_file_alloc(struct nnt_file *file, size_t n, size_t element_bytes)
{
    struct nnt_block *block;
    size_t n_bytes;

    if (__builtin_mul_overflow(n, element_bytes, &n_bytes) ||
        __builtin_add_overflow(n_bytes, sizeof(*block), &n_bytes))
        return NULL;
    block = calloc(1, n_bytes);
    if (!block)
        return NULL;
    block->next = file->blocks;
    file->blocks = block;
    return block->bytes;
}

static void free_blocks(struct nnt_file *file)
{
    while (file->blocks) {
        struct nnt_block *next = file->blocks->next;

        free(file->blocks);
        file->blocks = next;
    }
}

/* -- the file -- */

static uint32_t load_u32(const uint8_t *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    return value;
}

uint32_t nnt_checksum(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n_bytes; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static bool read_stream(struct nnt_file *file, FILE *stream)
{
    size_t capacity = 0, n;

    do {
        if (file->n_bytes == capacity) {
            uint8_t *bytes;

            capacity = capacity ? capacity * 2 : 65536;
            bytes = realloc(file->bytes, capacity);
            if (!bytes)
                return file_fail(file, "memory is short");
            file->bytes = bytes;
        }
        n = fread(file->bytes + file->n_bytes, 1, capacity - file->n_bytes, stream);
        file->n_bytes += n;
    } while (n > 0);
    return ferror(stream) ? file_fail(file, "cannot be read") : true;
}

static bool check_header(struct nnt_file *file)
{
    static const char magic[8] = "NNTVEC1\n";
    uint64_t models_bytes, data_at, data_bytes;

    if (file->n_bytes < HEADER_BYTES || memcmp(file->bytes, magic, sizeof(magic)) != 0)
        return file_fail(file, "is not a file of vectors");
    if (load_u32(file->bytes + 8) != 1)
        return file_fail(file, "has version %u, this program reads version 1",
                         load_u32(file->bytes + 8));
    models_bytes = load_u32(file->bytes + 20);
    data_at = load_u32(file->bytes + 24);
    data_bytes = load_u32(file->bytes + 28);
    if (load_u32(file->bytes + 16) != HEADER_BYTES || data_at != HEADER_BYTES + models_bytes ||
        data_at % 4 != 0 || load_u32(file->bytes + 36) != 0)
        return file_fail(file, "has a header that contradicts itself");
    if (data_at + data_bytes != file->n_bytes)
        return file_fail(file, "has %zu bytes, its header says %llu", file->n_bytes,
                         (unsigned long long)(data_at + data_bytes));
    if (nnt_checksum(file->bytes + HEADER_BYTES, file->n_bytes - HEADER_BYTES) !=
        load_u32(file->bytes + 32))
        return file_fail(file, "is damaged: the checksum is wrong");
    file->n_models = load_u32(file->bytes + 12);
    file->at = HEADER_BYTES;
    file->models_end = (size_t)data_at;
    return true;
}

bool nnt_file_open(struct nnt_file *file, const char *path)
{
    FILE *stream;
    bool is_read;

    memset(file, 0, sizeof(*file));
    stream = fopen(path, "rbe");
    if (!stream)
        return file_fail(file, "cannot be opened: %s", strerror(errno));
    is_read = read_stream(file, stream);
    fclose(stream);
    return is_read && check_header(file);
}

void nnt_file_close(struct nnt_file *file)
{
    free_blocks(file);
    free(file->bytes);
    memset(file, 0, sizeof(*file));
}

/* -- one record -- */

/* A cursor over the record; a failed take leaves ok false and yields zeroes. */
struct cursor {
    struct nnt_file *file;
    const uint8_t *at;
    const uint8_t *end;
    bool ok;
};

static const void *cursor_take(struct cursor *cursor, size_t n, size_t element_bytes)
{
    static const uint32_t nothing[16];
    const uint8_t *at = cursor->at;

    if (!cursor->ok || n > (size_t)(cursor->end - at) / element_bytes) {
        cursor->ok = false;
        return n <= 16 ? nothing : NULL;
    }
    cursor->at += n * element_bytes;
    return at;
}

static uint32_t take_u32(struct cursor *cursor)
{
    return load_u32(cursor_take(cursor, 1, sizeof(uint32_t)));
}

static float take_f32(struct cursor *cursor)
{
    float value;

    memcpy(&value, cursor_take(cursor, 1, sizeof(value)), sizeof(value));
    return value;
}

/* take_string() - length bytes, then 1 to 4 NULs up to a multiple of 4. */
static const char *take_string(struct cursor *cursor, uint32_t length)
{
    uint64_t padded = ((uint64_t)length + 4) / 4 * 4;
    const char *string;

    if (padded > (size_t)(cursor->end - cursor->at)) {
        cursor->ok = false;
        return "";
    }
    string = cursor_take(cursor, (size_t)padded, 1);
    if (!cursor->ok || strnlen(string, (size_t)padded) != length) {
        cursor->ok = false;
        return "";
    }
    return string;
}

static bool parse_data(struct cursor *cursor, struct nnt_operand *operand, uint32_t offset)
{
    struct nnt_file *file = cursor->file;
    size_t data_bytes = file->n_bytes - file->models_end;

    if (operand->n_bytes == 0)
        return true;
    if (offset % 4 != 0 || offset > data_bytes || operand->n_bytes > data_bytes - offset)
        return file_fail(file, "the data of an operand lies outside the file");
    operand->data = file->bytes + file->models_end + offset;
    return true;
}

/* count_bytes() - of a value of the operand's dimensions. */
static uint64_t count_bytes(const struct nnt_operand *operand)
{
    uint64_t n = nnt_element_bytes(operand->type);

    for (uint32_t i = 0; i < operand->rank; i++)
        if (__builtin_mul_overflow(n, (uint64_t)operand->declared[i], &n))
            return UINT64_MAX;
    return n;
}

static bool check_operand(struct cursor *cursor, const struct nnt_operand *operand)
{
    struct nnt_file *file = cursor->file;
    bool is_constant = operand->lifetime == NNT_CONSTANT_COPY ||
                       operand->lifetime == NNT_CONSTANT_MEMORY;

    if ((operand->type > TYPE_MODEL && !nnt_is_int64(operand->type)) ||
        operand->lifetime >= N_LIFETIMES || operand->flags > 7)
        return file_fail(file, "an operand has an unknown type, lifetime or flag");
    if ((operand->type == TYPE_MODEL) != (operand->lifetime == NNT_SUBGRAPH))
        return file_fail(file, "an operand's type and lifetime do not go together");
    if (operand->n_scales != 0 && operand->type != TYPE_CHANNEL)
        return file_fail(file, "an operand has channel scales and is not of that type");
    if (operand->lifetime == NNT_SUBGRAPH && operand->n_bytes != 4)
        return file_fail(file, "a reference to a subgraph does not have 4 bytes");
    if ((is_constant || (operand->flags & NNT_EXPECTED)) &&
        count_bytes(operand) != operand->n_bytes)
        return file_fail(file, "an operand's data has not the size of its dimensions");
    return true;
}

static bool parse_operand(struct cursor *cursor, struct nnt_operand *operand)
{
    uint32_t offset;

    operand->type = take_u32(cursor);
    operand->lifetime = take_u32(cursor);
    operand->flags = take_u32(cursor);
    take_u32(cursor);
    operand->scale = take_f32(cursor);
    operand->zero_point = (int32_t)take_u32(cursor);
    offset = take_u32(cursor);
    operand->n_bytes = take_u32(cursor);
    operand->channel_dim = take_u32(cursor);
    operand->n_scales = take_u32(cursor);
    operand->rank = take_u32(cursor);
    operand->declared = cursor_take(cursor, operand->rank, sizeof(uint32_t));
    operand->declared_rank = operand->rank;
    operand->expected = operand->declared;
    operand->scales = cursor_take(cursor, operand->n_scales, sizeof(float));
    if (!cursor->ok)
        return file_fail(cursor->file, "an operand is cut off");
    return check_operand(cursor, operand) && parse_data(cursor, operand, offset);
}

static bool check_indexes(struct cursor *cursor, uint32_t n, const uint32_t *indexes,
                          uint32_t n_operands)
{
    if (!cursor->ok)
        return file_fail(cursor->file, "a list of operands is cut off");
    for (uint32_t i = 0; i < n; i++)
        if (indexes[i] >= n_operands)
            return file_fail(cursor->file, "operand %u is named, there are %u", indexes[i],
                             n_operands);
    return true;
}

static bool parse_operation(struct cursor *cursor, struct nnt_operation *operation,
                            uint32_t n_operands)
{
    operation->type = take_u32(cursor);
    operation->n_inputs = take_u32(cursor);
    operation->n_outputs = take_u32(cursor);
    operation->inputs = cursor_take(cursor, operation->n_inputs, sizeof(uint32_t));
    operation->outputs = cursor_take(cursor, operation->n_outputs, sizeof(uint32_t));
    return check_indexes(cursor, operation->n_inputs, operation->inputs, n_operands) &&
           check_indexes(cursor, operation->n_outputs, operation->outputs, n_operands);
}

/* alloc_counted() - an array of things that take at least min_bytes each in the record, so
 * that a count that cannot be true takes no memory. */
static void *alloc_counted(struct cursor *cursor, uint32_t n, size_t min_bytes,
                           size_t element_bytes)
{
    void *array = NULL;

    if (cursor->ok && n <= (size_t)(cursor->end - cursor->at) / min_bytes)
        array = nnt_file_alloc(cursor->file, n, element_bytes);
    if (!array)
        file_fail(cursor->file, "a count of %u does not fit its record, or memory is short", n);
    return array;
}

static bool parse_subgraph(struct cursor *cursor, struct nnt_subgraph *subgraph)
{
    subgraph->n_operands = take_u32(cursor);
    subgraph->n_operations = take_u32(cursor);
    subgraph->n_inputs = take_u32(cursor);
    subgraph->n_outputs = take_u32(cursor);
    subgraph->operands = alloc_counted(cursor, subgraph->n_operands, 44,
                                       sizeof(*subgraph->operands));
    if (!subgraph->operands)
        return false;
    for (uint32_t i = 0; i < subgraph->n_operands; i++)
        if (!parse_operand(cursor, &subgraph->operands[i]))
            return false;
    subgraph->operations = alloc_counted(cursor, subgraph->n_operations, 12,
                                         sizeof(*subgraph->operations));
    if (!subgraph->operations)
        return false;
    for (uint32_t i = 0; i < subgraph->n_operations; i++)
        if (!parse_operation(cursor, &subgraph->operations[i], subgraph->n_operands))
            return false;
    subgraph->inputs = cursor_take(cursor, subgraph->n_inputs, sizeof(uint32_t));
    subgraph->outputs = cursor_take(cursor, subgraph->n_outputs, sizeof(uint32_t));
    return check_indexes(cursor, subgraph->n_inputs, subgraph->inputs, subgraph->n_operands) &&
           check_indexes(cursor, subgraph->n_outputs, subgraph->outputs, subgraph->n_operands);
}

/* check_references() - references are to subgraphs behind the main one, and each has one. */
static bool check_references(struct nnt_file *file, const struct nnt_model *model)
{
    bool *is_referenced = nnt_file_alloc(file, model->n_subgraphs, sizeof(bool));

    if (!is_referenced)
        return file_fail(file, "memory is short");
    for (uint32_t i = 0; i < model->n_subgraphs; i++) {
        const struct nnt_subgraph *subgraph = &model->subgraphs[i];

        for (uint32_t k = 0; k < subgraph->n_operands; k++) {
            const struct nnt_operand *operand = &subgraph->operands[k];

            if (operand->lifetime != NNT_SUBGRAPH)
                continue;
            if (load_u32(operand->data) >= model->n_subgraphs - 1)
                return file_fail(file, "subgraph %u is referred to, there are %u",
                                 load_u32(operand->data), model->n_subgraphs - 1);
            is_referenced[load_u32(operand->data) + 1] = true;
        }
    }
    for (uint32_t i = 1; i < model->n_subgraphs; i++)
        if (!is_referenced[i])
            return file_fail(file, "subgraph %u is not referred to", i - 1);
    return true;
}

static bool parse_model(struct cursor *cursor, struct nnt_model *model)
{
    struct nnt_file *file = cursor->file;
    uint32_t name_length, source_length;

    model->flags = take_u32(cursor);
    model->level = take_u32(cursor);
    model->distribution_tolerance = take_f32(cursor);
    model->quant8_tolerance = take_u32(cursor);
    take_u32(cursor);
    model->n_subgraphs = take_u32(cursor);
    name_length = take_u32(cursor);
    source_length = take_u32(cursor);
    model->name = take_string(cursor, name_length);
    model->source = take_string(cursor, source_length);
    if (!cursor->ok || model->n_subgraphs == 0 || (model->flags & ~(uint32_t)NNT_ALL_FLAGS))
        return file_fail(file, "its beginning is not well formed");
    model->subgraphs = alloc_counted(cursor, model->n_subgraphs, 16, sizeof(*model->subgraphs));
    if (!model->subgraphs)
        return false;
    for (uint32_t i = 0; i < model->n_subgraphs; i++)
        if (!parse_subgraph(cursor, &model->subgraphs[i]))
            return false;
    if (cursor->at != cursor->end)
        return file_fail(file, "its record is longer than its contents");
    return check_references(file, model);
}

int nnt_file_next(struct nnt_file *file, struct nnt_model *model)
{
    struct cursor cursor = {.file = file, .ok = true};
    size_t left = file->models_end - file->at;
    char rest[sizeof(file->error)];
    uint32_t n_bytes;

    free_blocks(file);
    memset(model, 0, sizeof(*model));
    if (file->i_model == file->n_models) {
        if (left == 0)
            return 0;
        file_fail(file, "has %zu bytes behind the last model", left);
        return -1;
    }
    n_bytes = left >= 4 ? load_u32(file->bytes + file->at) : 0;
    if (n_bytes < 4 || n_bytes % 4 != 0 || n_bytes > left) {
        file_fail(file, "model %u: its size is not well formed", file->i_model);
        return -1;
    }
    cursor.at = file->bytes + file->at + 4;
    cursor.end = file->bytes + file->at + n_bytes;
    if (!parse_model(&cursor, model)) {
        memcpy(rest, file->error, sizeof(rest));
        file_fail(file, "model %u: %.150s", file->i_model, rest);
        return -1;
    }
    file->at += n_bytes;
    file->i_model++;
    return 1;
}
