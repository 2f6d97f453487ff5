/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - the head of a file in which numpy keeps an array
 *
 * Such a file is a magic number, a version (1, 2 or 3), the length of a text and the text, which is a
 * dict of Python with three keys (descr, fortran_order, shape); the elements follow. Read are arrays of one
 * type, little-endian, whose last dimension is the innermost. The bytes come from anywhere. */
#ifndef NN_TOOLS_NNHAL_NPY_H
#define NN_TOOLS_NNHAL_NPY_H

#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_DIMENSIONS = 8, NPY_MAX_HEAD_BYTES = 65536, NPY_MADE_HEAD_BYTES = 256 };

struct npy {
    char type[4]; /* "<f4", "|u1", ...: as numpy writes it */
    uint32_t n_dimensions;
    uint32_t dimensions[NPY_MAX_DIMENSIONS];
    size_t head_bytes; /* the elements begin behind them */
};

/* npy_parse() - the head that n_bytes at bytes begin with.
 * Returns: NULL, or a sentence that says what is wrong. */
const char *npy_parse(const uint8_t *bytes, size_t n_bytes, struct npy *ret_npy);

/* npy_make() - the head of an array, of version 1; at most NPY_MAX_DIMENSIONS.
 * Returns: its length. */
size_t npy_make(const char *type, uint32_t n_dimensions, const uint32_t *dimensions,
                char ret_head[NPY_MADE_HEAD_BYTES]);

#endif
