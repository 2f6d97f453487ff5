/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - memories that vectors keep constants and arguments in
 *
 * A memory is written and read through its bytes, between nnt_memory_begin() and
 * nnt_memory_end(). Values lie in it one after the other: a multiple of 4 from
 * its beginning, or, in an NNT_MEMORY_FD_OFFSET, at odd places of a range that
 * itself begins at an odd place of its file. */
#ifndef NN_TOOLS_NNT_MEMORY_H
#define NN_TOOLS_NNT_MEMORY_H

#include <android/NeuralNetworks.h>

enum nnt_memory_kind {
    NNT_MEMORY_PLAIN = 0, /* a memfd, from its beginning */
    NNT_MEMORY_BLOB,      /* a hardware buffer of bytes */
    NNT_MEMORY_FD_OFFSET, /* a memfd, from an odd offset */
    NNT_MEMORY_GUARDED,   /* a memfd, with gaps before and behind each value */
};

struct nnt_memory {
    enum nnt_memory_kind kind;
    ANeuralNetworksMemory *memory;
    AHardwareBuffer *buffer;
    void *mapping;
    size_t n_mapped;
    uint8_t *bytes;
    size_t n_bytes;
};

/* nnt_memory_new() - n_bytes of zeroes; at least one. Returns: an ANeuralNetworks result code. */
int nnt_memory_new(struct nnt_memory *memory, enum nnt_memory_kind kind, size_t n_bytes);

/* nnt_memory_free() - a memory that is all 0 is no error. */
void nnt_memory_free(struct nnt_memory *memory);

/* Returns: an ANeuralNetworks result code. */
int nnt_memory_begin(struct nnt_memory *memory);
int nnt_memory_end(struct nnt_memory *memory);

/* nnt_memory_place() - where the next value of n_bytes lies in such a memory, of which
 * *at bytes are taken; takes them. */
size_t nnt_memory_place(enum nnt_memory_kind kind, size_t n_bytes, size_t *at);

#endif
