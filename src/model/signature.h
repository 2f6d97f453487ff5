/* SPDX-License-Identifier: Apache-2.0 */
/* signature.h - reading the patterns of ops.def
 *
 * A pattern is walked item by item; an item stands for one operand, for a
 * fixed number of them, or ('+') for all that the other items leave. Patterns
 * are checked by a test, so this code trusts their form. */
#ifndef NN_MODEL_SIGNATURE_H
#define NN_MODEL_SIGNATURE_H

#include "model/ops.h"

/* Types and declared ranks of an operation's operands, inputs or outputs. */
struct nn_signature_side {
    uint32_t n;
    const void *ctx;
    uint32_t (*type)(const void *ctx, uint32_t i);
    uint32_t (*rank)(const void *ctx, uint32_t i); /* 0: unknown; NULL: ranks are not judged */
};

/* How far a match came. */
struct nn_signature_match {
    unsigned level;  /* of T, U and tails */
    bool counts_fit; /* the numbers of inputs and outputs are those of the pattern */
    bool is_output;  /* the operand that did not fit */
    uint32_t operand;
    char expected;     /* its character */
    uint32_t bound;    /* what T is, UINT32_MAX while unbound */
    uint32_t max_rank; /* with is_rank: the limit that was broken */
    bool is_rank;
};

/* nn_signature_fits() - whether the operands fit the row. Returns: true with level set. */
bool nn_signature_fits(const struct nn_signature *signature, const struct nn_signature_side *inputs,
                       const struct nn_signature_side *outputs, struct nn_signature_match *match);

/* nn_op_further() - nnhal.tflite's operation that has op's code in a graph, with further types
 * or ranks; NULL: there is none. */
const struct nn_op *nn_op_further(const struct nn_op *op);

/* nn_signature_type() - the type of a pattern's character: 'F' -> TENSOR_FLOAT32;
 * UINT32_MAX for T, U, t and '*'. */
uint32_t nn_signature_type(char c);

/* nn_signature_last_tail() - where the tail begins that is the last of n inputs, and its
 * character; tails are of one character each. n if the last input is in no tail. */
uint32_t nn_signature_last_tail(const struct nn_signature *signature, uint32_t n, char *ret_c);

/* nn_signature_counts() - the numbers of inputs (or outputs) that a row allows:
 * calls each(ctx, n, or_more) for each. */
void nn_signature_counts(const struct nn_signature *signature, bool is_output,
                         void (*each)(void *ctx, uint32_t n, bool or_more), void *ctx);

#endif
