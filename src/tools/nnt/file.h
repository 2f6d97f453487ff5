/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - files of conformance vectors
 *
 * A .nnt file holds models in NNAPI's terms with what to feed them and what
 * they must answer. nnt_file_open() reads the whole file and checks its frame
 * and checksum; nnt_file_next() checks one model after the other, every count,
 * offset and index of it, before anything uses it: a damaged file is an error
 * with a sentence, never a crash. Numbers are little-endian, as on every
 * machine that this is built for. Not for several threads. */
#ifndef NN_TOOLS_NNT_FILE_H
#define NN_TOOLS_NNT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags of a model. */
enum {
    NNT_RELAXED = 1 << 0,
    NNT_EXPECT_FAILURE = 1 << 1,
    NNT_INFINITE_LOOP = 1 << 2,
    NNT_NO_DYNAMIC_OUTPUT = 1 << 3,
    NNT_QUANT_COUPLING = 1 << 4,
    NNT_DEVICE_MEMORY = 1 << 5,
    NNT_MULTINOMIAL = 1 << 6,
    NNT_FP16 = 1 << 8,
    NNT_ALL_FLAGS = (1 << 14) - 1,
};

/* Flags of an operand of the main graph. */
enum {
    NNT_IGNORED = 1 << 0,
    NNT_EXPECTED = 1 << 1,
    NNT_OMITTED_INPUT = 1 << 2,
};

enum nnt_lifetime {
    NNT_TEMPORARY = 0,
    NNT_INPUT = 1,
    NNT_OUTPUT = 2,
    NNT_CONSTANT_COPY = 3,
    NNT_CONSTANT_MEMORY = 4,
    NNT_NO_VALUE = 5,
    NNT_SUBGRAPH = 6,
};

struct nnt_operand {
    uint32_t type; /* NNAPI's operand code, or one of nnhal.tflite (extension.h) */
    uint32_t lifetime;
    uint32_t flags;
    float scale;
    int32_t zero_point;
    uint32_t n_bytes;
    const uint8_t *data; /* NULL if n_bytes is 0 */
    uint32_t channel_dim;
    uint32_t n_scales;
    uint32_t rank;
    uint32_t declared_rank;   /* as the model is to be built; 0: left open */
    const uint32_t *declared; /* dimensions likewise */
    const uint32_t *expected; /* dimensions that an execution reports */
    const float *scales;
};

struct nnt_operation {
    uint32_t type;
    uint32_t n_inputs;
    uint32_t n_outputs;
    const uint32_t *inputs;
    const uint32_t *outputs;
};

struct nnt_subgraph {
    uint32_t n_operands;
    uint32_t n_operations;
    uint32_t n_inputs;
    uint32_t n_outputs;
    struct nnt_operand *operands;
    struct nnt_operation *operations;
    const uint32_t *inputs;
    const uint32_t *outputs;
};

struct nnt_model {
    uint32_t flags;
    uint32_t level;
    float distribution_tolerance;
    uint32_t quant8_tolerance;
    uint32_t n_subgraphs;
    struct nnt_subgraph *subgraphs; /* the first is the main one */
    const char *name;
    const char *source;
};

struct nnt_block;

struct nnt_file {
    uint8_t *bytes;
    size_t n_bytes;
    uint32_t n_models;
    uint32_t i_model; /* the next one */
    size_t at;        /* where its record begins */
    size_t models_end;
    struct nnt_block *blocks; /* memory of the current model */
    char error[200];
};

/* nnt_file_open() - reads and checks a file. Close it also after a failure.
 * Returns: false with error set. */
bool nnt_file_open(struct nnt_file *file, const char *path);

/* nnt_file_next() - the next model, valid until the next call. The caller may change
 * the structs that it points to.
 * Returns: 1; 0 after the last; -1 with error set. */
int nnt_file_next(struct nnt_file *file, struct nnt_model *model);

/* nnt_file_alloc() - zeroed memory that lives as long as the current model; NULL
 * if memory is short. */
void *nnt_file_alloc(struct nnt_file *file, size_t n, size_t element_bytes);

/* nnt_checksum() - of all behind a file's header, where the header says it. */
uint32_t nnt_checksum(const uint8_t *bytes, size_t n_bytes);

void nnt_file_close(struct nnt_file *file);

/* Of TENSOR_INT64 the lower 16 bits: the upper ones are an extension's prefix. */
enum { NNT_INT64_NUMBER = 0 };

static inline bool nnt_is_int64(uint32_t type)
{
    return type > UINT16_MAX && (type & UINT16_MAX) == NNT_INT64_NUMBER;
}

/* nnt_element_bytes() - of an operand type; 0 for models and unknown types. */
uint32_t nnt_element_bytes(uint32_t type);

#endif
