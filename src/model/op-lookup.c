/* SPDX-License-Identifier: Apache-2.0 */
/* op-lookup.c - EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, LSH_PROJECTION */
#include "model/infer.h"

#include "base/cleanup.h"

#include <string.h>

enum {
    LSH_SPARSE_DEPRECATED = 1,
    LSH_DENSE = 2,
    LSH_SPARSE = 3,
};

/* Output 0 has a row of input table for each element of input 0. */
static void set_rows(struct nn_infer *infer, uint32_t table)
{
    const struct nn_infer_operand *values = &infer->inputs[table];
    uint32_t dims[NNHAL_MAX_RANK];

    memcpy(dims, values->dims, sizeof(dims));
    dims[0] = infer->inputs[0].dims[0];
    nn_infer_set_dims(infer, 0, values->n_dims, dims);
    nn_infer_set_quant_like(infer, 0, table);
}

static int infer_embedding_lookup(struct nn_infer *infer)
{
    int r;

    r = nn_infer_rank(infer, 1, 2, NNHAL_MAX_RANK);
    if (r)
        return r;
    set_rows(infer, 1);
    return 0;
}

/* Output 1 says by a byte for each lookup whether its key was there. */
static int infer_hashtable_lookup(struct nn_infer *infer)
{
    int r;

    for (uint32_t i = 0; i < 2; i++) {
        r = nn_infer_rank(infer, i, 1, 1);
        if (r)
            return r;
    }
    r = nn_infer_rank(infer, 2, 1, NNHAL_MAX_RANK);
    if (r)
        return r;
    if (infer->inputs[1].dims[0] != infer->inputs[2].dims[0])
        return nn_refuse(infer->why, "%u keys for %u values", infer->inputs[1].dims[0],
                         infer->inputs[2].dims[0]);
    set_rows(infer, 2);
    nn_infer_set_dims(infer, 1, 1, infer->inputs[0].dims);
    nn_infer_set_quant(infer, 1, 1.0f, 0);
    return 0;
}

/* A weight per row of the input for the dense kind. That the sparse ones take
 * none is for the kernel to say: an input of the model may still be omitted when
 * it is executed. */
static int check_lsh_weight(const struct nn_infer *infer, int32_t kind)
{
    const struct nn_infer_operand *weight = &infer->inputs[2];

    if (kind != LSH_DENSE)
        return 0;
    if (weight->is_omitted)
        return nn_refuse(infer->why, "the dense kind needs weights");
    if (weight->n_dims != 1 || weight->dims[0] != infer->inputs[1].dims[0])
        return nn_refuse(infer->why, "%u weights for %u rows", weight->dims[0],
                         infer->inputs[1].dims[0]);
    return 0;
}

static int infer_lsh_projection(struct nn_infer *infer)
{
    const struct nn_infer_operand *hash = &infer->inputs[0];
    uint64_t n;
    uint32_t dim;
    int32_t kind;
    int r;

    r = nn_infer_rank(infer, 1, 1, NNHAL_MAX_RANK);
    if (r)
        return r;
    if (hash->dims[1] > 32)
        return nn_refuse(infer->why, "hashes of %u bits, at most 32 are allowed", hash->dims[1]);
    r = nn_infer_i32(infer, 3, &kind);
    if (r)
        return r;
    if (kind < LSH_SPARSE_DEPRECATED || kind > LSH_SPARSE)
        return nn_refuse(infer->why, "kind %d is none of 1 to 3", kind);
    r = check_lsh_weight(infer, kind);
    if (r)
        return r;
    n = (uint64_t)hash->dims[0] * (kind == LSH_DENSE ? hash->dims[1] : 1);
    if (n > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    dim = (uint32_t)n;
    nn_infer_set_dims(infer, 0, 1, &dim);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_EMBEDDING_LOOKUP, NULL, infer_embedding_lookup,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 1)},
    {NNHAL_OP_HASHTABLE_LOOKUP, NULL, infer_hashtable_lookup, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_LSH_PROJECTION, NULL, infer_lsh_projection, NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 2)},
};

NN_OP_FAMILY(lookup, functions);
