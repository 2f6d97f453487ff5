/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/cache-head.h"

#include "base/arith.h"
#include "base/error.h"
#include "host/caching/state.h"

#include <string.h>

enum {
    ALIGNMENT = 64,
    MAX_FILES = 2 * NNHAL_MAX_CACHE_FILES,
};

#define MAGIC UINT64_C(0x3365686361636e6e) /* "nncache3" */

struct cache_file_head {
    uint64_t magic;
    uint32_t n_bytes; /* with the padding */
    uint32_t n_files;
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t priority;
    uint32_t stage;
};

struct side {
    uint32_t type;
    uint32_t n_dimensions;
    float scale;
    int32_t zero_point;
    uint32_t element_bytes; /* of an extension's type, else 0 */
    uint32_t dimensions[NNHAL_MAX_RANK];
};

/* Bytes of a head, false if there can be none. */
static bool size_of(uint32_t n_files, uint32_t n_inputs, uint32_t n_outputs, size_t *ret)
{
    size_t n_bytes;

    if (n_files > MAX_FILES || n_inputs > NNHAL_MAX_OPERANDS || n_outputs > NNHAL_MAX_OPERANDS)
        return false;
    n_bytes = sizeof(struct cache_file_head) + n_files * sizeof(struct nn_cache_file) +
              ((size_t)n_inputs + n_outputs) * sizeof(struct side);
    return nn_align_up(n_bytes, ALIGNMENT, ret);
}

/* -- encoding ---------------------------------------------------------------------- */

static uint8_t *put_side(uint8_t *at, uint32_t n, const struct nnhal_operand *operands)
{
    for (uint32_t i = 0; i < n; i++, at += sizeof(struct side)) {
        struct side side = {.type = operands[i].type,
                            .n_dimensions = operands[i].n_dimensions,
                            .scale = operands[i].scale,
                            .zero_point = operands[i].zero_point,
                            .element_bytes = (uint32_t)operands[i].location.length};

        if (operands[i].n_dimensions)
            memcpy(side.dimensions, operands[i].dimensions,
                   operands[i].n_dimensions * sizeof(uint32_t));
        memcpy(at, &side, sizeof(side));
    }
    return at;
}

int nn_cache_head_encode(const struct nn_cache_head *from, struct nn_arena *arena,
                         const uint8_t **ret_bytes, uint64_t *ret_size)
{
    struct cache_file_head head = {.magic = MAGIC,
                                   .n_files = from->n_files,
                                   .n_inputs = from->io.n_inputs,
                                   .n_outputs = from->io.n_outputs,
                                   .priority = from->priority,
                                   .stage = from->stage};
    uint8_t *bytes, *at;
    size_t n_bytes;

    if (!size_of(head.n_files, head.n_inputs, head.n_outputs, &n_bytes))
        return nn_error_origin(-ENOMEM);
    bytes = nn_arena_alloc(arena, n_bytes);
    if (!bytes)
        return nn_error_origin(-ENOMEM);
    head.n_bytes = (uint32_t)n_bytes;
    memcpy(bytes, &head, sizeof(head));
    at = bytes + sizeof(head);
    if (from->n_files)
        memcpy(at, from->files, from->n_files * sizeof(*from->files));
    at += from->n_files * sizeof(*from->files);
    at = put_side(at, from->io.n_inputs, from->io.inputs);
    put_side(at, from->io.n_outputs, from->io.outputs);
    *ret_bytes = bytes;
    *ret_size = n_bytes;
    return 0;
}

/* -- decoding ------------------------------------------------------------------------ */

static bool take_side(const uint8_t **at, uint32_t n, struct nn_arena *arena,
                      struct nnhal_operand **ret)
{
    struct nnhal_operand *operands = nn_arena_new_n(arena, struct nnhal_operand, n);
    struct side side;

    for (uint32_t i = 0; operands && i < n; i++, *at += sizeof(side)) {
        uint32_t *dimensions;

        memcpy(&side, *at, sizeof(side));
        if (side.n_dimensions > NNHAL_MAX_RANK)
            return false;
        dimensions = nn_arena_dup(arena, side.dimensions, side.n_dimensions * sizeof(*dimensions));
        if (!dimensions)
            return false;
        operands[i] = (struct nnhal_operand){.type = side.type,
                                             .scale = side.scale,
                                             .zero_point = side.zero_point,
                                             .location = {.length = side.element_bytes},
                                             .n_dimensions = side.n_dimensions,
                                             .dimensions = dimensions};
    }
    *ret = operands;
    return operands != NULL;
}

bool nn_cache_head_decode(const uint8_t *bytes, uint64_t n_bytes, struct nn_arena *arena,
                          struct nn_cache_head *ret_head, uint64_t *ret_size)
{
    const uint8_t *at = bytes + sizeof(struct cache_file_head);
    struct cache_file_head head;
    size_t wanted;

    if (n_bytes < sizeof(head))
        return false;
    memcpy(&head, bytes, sizeof(head));
    /* The hash is right by now, but a defect of the writer has a right hash, too. */
    if (head.magic != MAGIC || head.priority > NNHAL_PRIORITY_HIGH ||
        head.stage > NN_STAGE_OPTIMIZED ||
        !size_of(head.n_files, head.n_inputs, head.n_outputs, &wanted) || wanted != head.n_bytes ||
        wanted > n_bytes)
        return false;
    *ret_head = (struct nn_cache_head){
        .priority = head.priority, .stage = head.stage, .n_files = head.n_files};
    ret_head->files = nn_arena_dup(arena, at, head.n_files * sizeof(*ret_head->files));
    at += head.n_files * sizeof(*ret_head->files);
    ret_head->io.n_inputs = head.n_inputs;
    ret_head->io.n_outputs = head.n_outputs;
    *ret_size = wanted;
    return ret_head->files && take_side(&at, head.n_inputs, arena, &ret_head->io.inputs) &&
           take_side(&at, head.n_outputs, arena, &ret_head->io.outputs);
}
