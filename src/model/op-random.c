/* SPDX-License-Identifier: Apache-2.0 */
/* op-random.c - RANDOM_MULTINOMIAL */
#include "model/infer.h"

#include "base/cleanup.h"

/* The seeds' values are read at each execution; here only their number counts. */
static int infer_random_multinomial(struct nn_infer *infer)
{
    const struct nn_infer_operand *logits = &infer->inputs[0], *seeds = &infer->inputs[2];
    int32_t n_samples;
    int r;

    if (seeds->n_dims != 1 || seeds->dims[0] != 2)
        return nn_refuse(infer->why, "the seeds must have the shape [2]");
    r = nn_infer_i32(infer, 1, &n_samples);
    if (r)
        return r;
    if (n_samples <= 0)
        return nn_refuse(infer->why, "%d samples", n_samples);
    nn_infer_set_dims(infer, 0, 2, (uint32_t[]){logits->dims[0], (uint32_t)n_samples});
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_RANDOM_MULTINOMIAL, NULL, infer_random_multinomial,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 2)},
};

NN_OP_FAMILY(random, functions);
