/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor-file.h"

#include "npy.h"
#include "text.h"
#include "tool.h"

#include <nnhal/tflite-extension.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_BYTES = 160 };

/* What numpy calls the elements of a tensor. */
struct element {
    int32_t type;
    const char *npy, *name;
};

static const struct element *element_of(int32_t type)
{
    static const struct element int64 = {0, "<i8", "int64"}, byte = {0, "|u1", "uint8"};
    static const struct element elements[] = {
        {ANEURALNETWORKS_TENSOR_FLOAT32, "<f4", "float32"},
        {ANEURALNETWORKS_TENSOR_FLOAT16, "<f2", "float16"},
        {ANEURALNETWORKS_TENSOR_INT32, "<i4", "int32"},
        {ANEURALNETWORKS_TENSOR_QUANT16_SYMM, "<i2", "int16"},
        {ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, "<u2", "uint16"},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, "|i1", "int8"},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM, "|i1", "int8"},
        {ANEURALNETWORKS_TENSOR_BOOL8, "|b1", "bool"},
    };

    if (type > UINT16_MAX && (type & UINT16_MAX) == NNHAL_TFLITE_TENSOR_INT64)
        return &int64; /* the one type of nnhal.tflite */
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        if (elements[i].type == type)
            return &elements[i];
    return &byte;
}

static void put_shape(const uint32_t *dimensions, uint32_t n, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "[");

    for (uint32_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", i ? ", " : "", dimensions[i]);
    if (at < size)
        snprintf(text + at, size - at, "]");
}

void tensor_describe(int32_t type, const struct session_buffer *buffer, char *text, size_t size)
{
    int n = snprintf(text, size, "%s ", element_of(type)->name);

    put_shape(buffer->dimensions, buffer->n_dimensions, text + n, size - (size_t)n);
}

static bool is_npy(const char *path)
{
    size_t n = strlen(path);

    return n >= 4 && strcmp(path + n - 4, ".npy") == 0;
}

/* The number of dimensions that are not 1, which come first in ret_dimensions. */
static uint32_t squeeze(const uint32_t *dimensions, uint32_t n, uint32_t *ret_dimensions)
{
    uint32_t n_left = 0;

    for (uint32_t i = 0; i < n; i++)
        if (dimensions[i] != 1)
            ret_dimensions[n_left++] = dimensions[i];
    return n_left;
}

static bool are_alike(const struct npy *npy, const struct session_buffer *buffer)
{
    uint32_t a[8], b[8], n = squeeze(npy->dimensions, npy->n_dimensions, a);

    return n == squeeze(buffer->dimensions, buffer->n_dimensions, b) &&
           memcmp(a, b, n * sizeof(*a)) == 0;
}

/* An input's number and name, as complaints tell them. */
static const char *name_input(const struct session *session, uint32_t index, char text[INPUT_BYTES])
{
    snprintf(text, INPUT_BYTES, "input %u (%s)", index,
             nnhal_tflite_input(session->net, index)->name);
    return text_make_plain(text);
}

/* Whether the array in a file is what an input takes. */
static int check_array(const struct session *session, uint32_t index, const char *path,
                       const struct npy *npy)
{
    int32_t type = nnhal_tflite_input(session->net, index)->type;
    const struct session_buffer *input = &session->inputs[index];
    char wanted[160], shape[160], name[INPUT_BYTES];

    tensor_describe(type, input, wanted, sizeof(wanted));
    put_shape(npy->dimensions, npy->n_dimensions, shape, sizeof(shape));
    name_input(session, index, name);
    if (strcmp(npy->type, element_of(type)->npy) != 0)
        return tool_error(TOOL_BAD_FILE,
                          "%s: its elements are '%s', and %s is %s: numpy's astype(\"%s\") changes "
                          "that",
                          path, npy->type, name, wanted, element_of(type)->name);
    if (!are_alike(npy, input))
        return tool_error(TOOL_BAD_FILE, "%s: its shape is %s, and %s is %s", path, shape, name,
                          wanted);
    return TOOL_OK;
}

/* Places file at the first element of an array. */
static int read_head(const struct session *session, uint32_t index, const char *path, FILE *file)
{
    uint8_t *bytes = malloc(NPY_MAX_HEAD_BYTES);
    size_t n = bytes ? fread(bytes, 1, NPY_MAX_HEAD_BYTES, file) : 0;
    struct npy npy;
    const char *wrong = bytes ? npy_parse(bytes, n, &npy) : "out of memory";
    int status = wrong ? tool_error(TOOL_BAD_FILE, "%s: %s", path, wrong)
                       : check_array(session, index, path, &npy);

    free(bytes);
    if (status == TOOL_OK && fseek(file, (long)npy.head_bytes, SEEK_SET) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, strerror(errno));
    return status;
}

/* Reads exactly the bytes of an input, to the file's end. */
static int read_bytes(struct session *session, uint32_t index, const char *path, FILE *file)
{
    struct session_buffer *input = &session->inputs[index];
    size_t n = fread(input->data, 1, input->n_bytes, file);
    bool is_more = fgetc(file) != EOF;
    char name[INPUT_BYTES];

    if (ferror(file))
        return tool_error(TOOL_BAD_FILE, "%s: it cannot be read", path);
    if (n != input->n_bytes || is_more)
        return tool_error(TOOL_BAD_FILE, "%s: %s needs %zu bytes; the file has %s", path,
                          name_input(session, index, name), input->n_bytes,
                          is_more ? "more" : "fewer");
    return TOOL_OK;
}

int tensor_read(struct session *session, uint32_t input, const char *path)
{
    FILE *file = fopen(path, "rbe");
    int status = TOOL_OK;

    if (!file)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, strerror(errno));
    if (is_npy(path))
        status = read_head(session, input, path, file);
    if (status == TOOL_OK)
        status = read_bytes(session, input, path, file);
    fclose(file);
    return status;
}

int tensor_write(const struct session *session, uint32_t output, const char *path)
{
    const struct session_buffer *buffer = &session->outputs[output];
    const char *type = element_of(nnhal_tflite_output(session->net, output)->type)->npy;
    FILE *file = fopen(path, "wbe");
    char head[NPY_MADE_HEAD_BYTES];
    size_t n_head = 0;
    bool is_written;

    if (!file)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, strerror(errno));
    if (is_npy(path))
        n_head = npy_make(type, buffer->n_dimensions, buffer->dimensions, head);
    is_written = fwrite(head, 1, n_head, file) == n_head &&
                 fwrite(buffer->data, 1, buffer->n_bytes, file) == buffer->n_bytes;
    if (fclose(file) != 0 || !is_written)
        return tool_error(TOOL_BAD_FILE, "%s: cannot be written", path);
    return TOOL_OK;
}
