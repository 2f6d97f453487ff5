/* SPDX-License-Identifier: Apache-2.0 */
/* model-codec.h - a model as bytes, and back: what plans are made from later
 *
 * Programs that make plans as they go (open shapes, IF and WHILE, inputs that
 * may be omitted) need their model when they come back from the cache. It is
 * kept as it came, in two parts: all that may decide something (operands,
 * operations, and the constants that graphs copy, see graph.h) as bytes for the model
 * cache, and the large constants, of which kernels trust nothing, for the data
 * cache, where they are one pool:
 *
 *   struct head, the values of constants that are copied, then of each graph:
 *   struct graph_head, its operands (each struct kept_operand, dimensions, scales),
 *   its operations (type, counts, indexes), the indexes of its inputs and outputs
 *
 * Fields stand one behind the other, in this machine's byte order. Who reads them
 * believes nothing: what comes back has passed nn_model_validate(). */
#ifndef NN_DRIVERS_CPU_CACHE_MODEL_CODEC_H
#define NN_DRIVERS_CPU_CACHE_MODEL_CODEC_H

#include "compiler/blob.h"

#include "base/arena.h"

#include <nnhal/driver.h>

#include <stdbool.h>

enum {
    NN_MODEL_CODEC_E_UNFIT = 1,   /* make: it has what cannot be encoded */
    NN_MODEL_CODEC_E_INVALID = 2, /* open: not a valid model */
};

/* Bytes of a pool of the model, and where they are kept. */
struct nn_constant_range {
    uint32_t pool;
    uint64_t offset;
    uint64_t size;
    uint64_t to; /* in the pool of constants */
};

/* In order of pool and offset, without overlap. */
struct nn_constant_ranges {
    uint32_t n;
    struct nn_constant_range *ranges;
};

/* nn_model_codec_encode() - appends the model to bytes; what it wants of the pools is copied
 * to the end of constants, which then are a pool from offset *ret_pool on. The ranges live
 * in arena. Returns: 0, NN_MODEL_CODEC_E_UNFIT, -ENOMEM. */
int nn_model_codec_encode(const struct nnhal_driver_model *model, struct nn_arena *arena,
                          struct nn_blob *bytes, struct nn_blob *constants, uint64_t *ret_pool,
                          struct nn_constant_ranges *ret_ranges);

/* nn_constant_ranges_find() - where size bytes at an offset of a pool are kept.
 * Returns: whether they are. */
bool nn_constant_ranges_find(const struct nn_constant_ranges *ranges, uint32_t pool,
                             uint64_t offset, uint64_t size, uint64_t *ret_to);

/* nn_model_codec_decode() - the model lives in arena, its pool in constants, aligned to 64.
 * Returns: 0, NN_MODEL_CODEC_E_INVALID, -ENOMEM. */
int nn_model_codec_decode(const uint8_t *bytes, uint64_t n_bytes, const uint8_t *constants,
                          uint64_t n_constants, struct nn_arena *arena,
                          struct nnhal_driver_model *ret_model);

#endif
