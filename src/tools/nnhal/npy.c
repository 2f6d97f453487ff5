/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC_BYTES = 6, ALIGNMENT = 64 };

static const char MAGIC[] = "\x93NUMPY";

/* What of the text has not been read. */
struct npy_text {
    const char *at, *end;
};

static void skip_space(struct npy_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n'))
        text->at++;
}

static bool eat(struct npy_text *text, char c)
{
    skip_space(text);
    if (text->at == text->end || *text->at != c)
        return false;
    text->at++;
    return true;
}

static bool eat_word(struct npy_text *text, const char *word)
{
    size_t n = strlen(word);

    skip_space(text);
    if ((size_t)(text->end - text->at) < n || memcmp(text->at, word, n) != 0)
        return false;
    text->at += n;
    return true;
}

/* A string in quotes into word. Returns: false if there is none, or it is longer. */
static bool read_string(struct npy_text *text, char *word, size_t size)
{
    char quote = eat(text, '\'') ? '\'' : eat(text, '"') ? '"' : '\0';
    size_t n = 0;

    if (!quote)
        return false;
    for (; text->at < text->end && *text->at != quote && n + 1 < size; n++)
        word[n] = *text->at++;
    word[n] = '\0';
    return eat(text, quote);
}

static const char *read_type(struct npy_text *text, struct npy *npy)
{
    char type[8];

    if (!read_string(text, type, sizeof(type)))
        return "its elements are of several types";
    if (type[0] == '>')
        return "its elements are big-endian: numpy's astype() changes that";
    if (strlen(type) != 3 || (type[0] != '<' && type[0] != '|') || !strchr("fiub", type[1]) ||
        !strchr("1248", type[2]))
        return "its elements are of a type that no model takes";
    memcpy(npy->type, type, sizeof(npy->type));
    return NULL;
}

static bool read_dimension(struct npy_text *text, uint32_t *ret_dimension)
{
    uint64_t value = 0;
    const char *begin;

    skip_space(text);
    begin = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*text->at++ - '0');
    *ret_dimension = (uint32_t)value;
    return text->at > begin && value <= UINT32_MAX;
}

static const char *read_shape(struct npy_text *text, struct npy *npy)
{
    bool is_open = eat(text, '(');

    npy->n_dimensions = 0;
    while (is_open && !eat(text, ')')) {
        if (npy->n_dimensions == NPY_MAX_DIMENSIONS)
            return "it has more than 8 dimensions";
        if (!read_dimension(text, &npy->dimensions[npy->n_dimensions++]))
            return "its shape cannot be read";
        if (!eat(text, ',') && (text->at == text->end || *text->at != ')'))
            return "its shape cannot be read";
    }
    return is_open ? NULL : "its shape cannot be read";
}

static const char *read_order(struct npy_text *text)
{
    if (eat_word(text, "False"))
        return NULL;
    return eat_word(text, "True")
               ? "its order is Fortran's: numpy's ascontiguousarray() changes that"
               : "its order cannot be read";
}

/* The dict: each key once, in any order. */
static const char *read_dict(struct npy_text *text, struct npy *npy)
{
    enum { TYPE = 1, ORDER = 2, SHAPE = 4 };
    const char *wrong = NULL;
    unsigned seen = 0, found;
    char key[16];

    if (!eat(text, '{'))
        return "its head is damaged";
    while (!wrong && !eat(text, '}')) {
        if (!read_string(text, key, sizeof(key)) || !eat(text, ':'))
            return "its head is damaged";
        found = !strcmp(key, "descr")           ? TYPE
                : !strcmp(key, "fortran_order") ? ORDER
                : !strcmp(key, "shape")         ? SHAPE
                                                : 0;
        if (!found || seen & found)
            return "its head is damaged";
        seen |= found;
        wrong = found == TYPE    ? read_type(text, npy)
                : found == ORDER ? read_order(text)
                                 : read_shape(text, npy);
        skip_space(text);
        if (!wrong && !eat(text, ',') && (text->at == text->end || *text->at != '}'))
            return "its head is damaged";
    }
    return wrong ? wrong : seen == (TYPE | ORDER | SHAPE) ? NULL : "its head is damaged";
}

const char *npy_parse(const uint8_t *bytes, size_t n_bytes, struct npy *ret_npy)
{
    struct npy npy = {.n_dimensions = 0};
    struct npy_text text;
    size_t n_text, before;
    const char *wrong;

    if (n_bytes < MAGIC_BYTES + 2 || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return "it is no .npy file of numpy";
    if (bytes[MAGIC_BYTES] < 1 || bytes[MAGIC_BYTES] > 3)
        return "it is of a version of .npy that is not known";
    before = bytes[MAGIC_BYTES] == 1 ? MAGIC_BYTES + 4 : MAGIC_BYTES + 6;
    if (n_bytes < before)
        return "its head is cut short";
    n_text = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (before == MAGIC_BYTES + 6)
        n_text |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (n_text > NPY_MAX_HEAD_BYTES - before)
        return "its head is longer than 64 KiB";
    if (n_text > n_bytes - before)
        return "its head is cut short";
    text = (struct npy_text){(const char *)bytes + before, (const char *)bytes + before + n_text};
    wrong = read_dict(&text, &npy);
    npy.head_bytes = before + n_text;
    if (!wrong)
        *ret_npy = npy;
    return wrong;
}

size_t npy_make(const char *type, uint32_t n_dimensions, const uint32_t *dimensions,
                char ret_head[NPY_MADE_HEAD_BYTES])
{
    char shape[NPY_MAX_DIMENSIONS * 12 + 1] = "";
    size_t n = 0, n_head;

    for (uint32_t i = 0; i < n_dimensions && i < NPY_MAX_DIMENSIONS; i++)
        n += (size_t)snprintf(shape + n, sizeof(shape) - n, "%u, ", dimensions[i]);
    n = (size_t)snprintf(ret_head + 10, NPY_MADE_HEAD_BYTES - 10,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    n_head = (10 + n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(ret_head + 10 + n, ' ', n_head - 10 - n);
    ret_head[n_head - 1] = '\n';
    memcpy(ret_head, MAGIC, MAGIC_BYTES);
    ret_head[6] = 1;
    ret_head[7] = 0;
    ret_head[8] = (char)((n_head - 10) & 0xff);
    ret_head[9] = (char)((n_head - 10) >> 8);
    return n_head;
}
