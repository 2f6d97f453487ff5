/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - the table of all 106 operations, and of those of nnhal.tflite
 *
 * One table ties an operation's code, name, level, family, signatures, and the
 * two functions that know its rules. ops.def holds the facts, op-<family>.c the
 * functions, ops.c joins them. ops-tflite.def does the same for the extension nnhal.tflite, whose
 * operations have codes here that no model has (NN_TFLITE_OP): a driver that has the extension
 * gives them these codes (compiler/own-extension.h), and they are validated and inferred as others.
 *
 * A signature is a pattern of operand types, one character per operand, inputs
 * before ':' and outputs after it:
 *
 *     F TENSOR_FLOAT32            f FLOAT32
 *     H TENSOR_FLOAT16            h FLOAT16
 *     I TENSOR_INT32              i INT32
 *     Q TENSOR_QUANT8_ASYMM       u UINT32
 *     S TENSOR_QUANT8_ASYMM_SIGNED b BOOL
 *     Y TENSOR_QUANT8_SYMM        m SUBGRAPH
 *     L TENSOR_INT64, of nnhal.tflite
 *     P TENSOR_QUANT8_SYMM_PER_CHANNEL
 *     A TENSOR_QUANT16_ASYMM      Z TENSOR_QUANT16_SYMM     B TENSOR_BOOL8
 *     T one type of the row's first list, the same everywhere in the row
 *     U one type of the row's second list, the same everywhere in the row
 *     t FLOAT16 if T is TENSOR_FLOAT16, else FLOAT32
 *     * any type
 *
 * A character may be followed by: a decimal number, which repeats it; '+', one
 * or more of it; '?', the operand may be omitted (it still has a type that
 * must match); '<n', a known rank above n is refused; '=n', a known rank other
 * than n is refused. "(3...)" is a tail that may be missing, needs level 3 and
 * may be followed by further tails. The lists are strings of characters each
 * followed by the level that it needs here: "F1H3Q1S4".
 *
 * The level of an operation in a model is the highest of: the operation's own,
 * every operand type's, T's and U's in the list, the tails', and that which
 * the operation's validate function asks for.
 *
 * Validation (V rules of NNAPI) sees types, counts, declared ranks, scales and
 * zero points, never values: scalars may be the result of other operations.
 * It is deliberately no stricter than Android's: shapes that contradict each
 * other are refused by inference (infer.h), not here. */
#ifndef NN_MODEL_OPS_H
#define NN_MODEL_OPS_H

#include "model/types.h"
#include "model/why.h"

struct nn_infer;
struct nn_op;

/* -- what an operation's functions get ------------------------------------ */

/* An operation that stands in a subgraph, while it is validated: its types
 * have matched a signature already. */
struct nn_op_context {
    const struct nn_op *op;
    const struct nnhal_operand *operands; /* of the subgraph */
    const struct nnhal_operation *operation;
    unsigned level; /* raised with nn_op_need_level() */
    struct nn_why *why;
};

/* nn_op_input(), nn_op_output() - operand i of the operation; i is in range. */
static inline const struct nnhal_operand *nn_op_input(const struct nn_op_context *context,
                                                      uint32_t i)
{
    return &context->operands[context->operation->inputs[i]];
}

static inline const struct nnhal_operand *nn_op_output(const struct nn_op_context *context,
                                                       uint32_t i)
{
    return &context->operands[context->operation->outputs[i]];
}

/* nn_op_need_level() - this instance needs at least that level. */
static inline void nn_op_need_level(struct nn_op_context *context, unsigned level)
{
    if (context->level < level)
        context->level = level;
}

/* nn_op_check_rank() - refuses a known rank outside [min, max] of an operand.
 * what names it in the sentence: "input 0". Returns: 0, NN_REFUSED. */
int nn_op_check_rank(const struct nn_op_context *context, const struct nnhal_operand *operand,
                     uint32_t min, uint32_t max, const char *what);

/* nn_op_check_same_quant() - refuses scales or zero points that differ.
 * Returns: 0, NN_REFUSED. */
int nn_op_check_same_quant(const struct nn_op_context *context, const struct nnhal_operand *a,
                           const struct nnhal_operand *b, const char *what);

/* nn_op_check_channel_dim() - for a filter of QUANT8_SYMM_PER_CHANNEL: its
 * channel dimension must be this one. Other types pass. Returns: 0, NN_REFUSED. */
int nn_op_check_channel_dim(const struct nn_op_context *context, const struct nnhal_operand *filter,
                            uint32_t channel_dim);

/* -- the per-operation functions, one table per family -------------------- */

/* validate: V rules beyond the signature and the ranks written in it; raises
 * the level where scales or ranks need a newer one. NULL: there are none.
 *   Returns: 0, NN_REFUSED with a sentence.
 * infer: see infer.h. NULL for IF and WHILE only.
 * rules: what is refused before infer is called; 0: nothing. */
struct nn_op_functions {
    uint32_t type; /* enum nnhal_operation_type */
    int (*validate)(struct nn_op_context *context);
    int (*infer)(struct nn_infer *infer);
    uint32_t rules; /* NN_INFER_* */
};

/* No input that is present has a dimension of 0. */
#define NN_INFER_NOT_EMPTY 0x100u
/* The rank of input 0 is in [min, max]; any, where nnhal.tflite's operation of this code takes it. */
#define NN_INFER_RANK(min, max) ((uint32_t)(min) << 4 | (uint32_t)(max))

struct nn_op_family {
    const char *name; /* "elementwise" */
    uint32_t n_ops;
    const struct nn_op_functions *ops;
};

#define NN_OP_FAMILIES(X)                                                                          \
    X(elementwise)                                                                                 \
    X(comparison)                                                                                  \
    X(logical)                                                                                     \
    X(unary)                                                                                       \
    X(activation)                                                                                  \
    X(quantize)                                                                                    \
    X(pool)                                                                                        \
    X(conv)                                                                                        \
    X(fully_connected)                                                                             \
    X(matmul)                                                                                      \
    X(softmax)                                                                                     \
    X(normalize)                                                                                   \
    X(reduce)                                                                                      \
    X(shape)                                                                                       \
    X(move)                                                                                        \
    X(gather)                                                                                      \
    X(select)                                                                                      \
    X(resize)                                                                                      \
    X(recurrent)                                                                                   \
    X(detection)                                                                                   \
    X(roi)                                                                                         \
    X(lookup)                                                                                      \
    X(random)                                                                                      \
    X(fourier)                                                                                     \
    X(control_flow)

#define X(family) extern const struct nn_op_family nn_op_family_##family;
NN_OP_FAMILIES(X)
#undef X

/* Defines the family's table at the end of op-<family>.c from an array of functions. */
#define NN_OP_FAMILY(family, functions)                                                            \
    const struct nn_op_family nn_op_family_##family = {                                            \
        .name = #family, .n_ops = NN_N_ELEMENTS(functions), .ops = (functions)}

/* -- the table ------------------------------------------------------------ */

struct nn_signature {
    const char *pattern; /* see above */
    const char *types;   /* the list for T, "" if the pattern has none */
    const char *others;  /* the list for U, "" if the pattern has none */
    unsigned flags;      /* NN_SIGNATURE_* */
};

/* Accepted in a model because a client that exists relies on it, but no device
 * of ours executes it: supported operations are answered false. */
#define NN_SIGNATURE_TOLERATED 1u

struct nn_op {
    uint32_t type; /* enum nnhal_operation_type, or NN_TFLITE_OP() */
    /* What a graph has: type, or, for one of nnhal.tflite that is NNAPI's of the same name with
     * further types or ranks, NNAPI's code, whose functions it has. */
    uint32_t code;
    const char *name;
    unsigned level; /* that brought the operation, 1..8 */
    const struct nn_op_family *family;
    uint32_t n_signatures;
    const struct nn_signature *signatures;
};

/* Inside a driver, the code of an operation of nnhal.tflite: NN_TFLITE_OP(ROUND). */
#define NN_TFLITE_OPS      0x8000u
#define NN_TFLITE_OP(name) (NN_TFLITE_OPS + NNHAL_TFLITE_##name)

/* nn_op_find() - the operation of a code, NN_TFLITE_OP() too; NULL if there is none (extensions as
 * models have them, and OEM). */
const struct nn_op *nn_op_find(uint32_t type);

/* nn_op_find_functions() - the operation's functions in its family. Not NULL once the
 * family is complete, which a test holds. */
const struct nn_op_functions *nn_op_find_functions(const struct nn_op *op);

/* nn_op_name() - "CONV_2D"; "extension operation", "OEM_OPERATION", "unknown operation". */
const char *nn_op_name(uint32_t type);

/* What nn_operation_validate() found out. */
struct nn_operation_facts {
    unsigned level;    /* minimum, 1..8; 0: an extension's or OEM operation, no one here knows */
    bool is_tolerated; /* matched a NN_SIGNATURE_TOLERATED row: never executed */
    const struct nn_signature *signature; /* the row, NULL for extension and OEM operations */
};

/* nn_operation_validate() - judges one operation by what is known of its
 * operands now (V rules): counts, indexes, types, ranks, scales, levels. Values
 * and lifetimes are not looked at, so that it serves addOperation, when values
 * may still come. IF and WHILE: operand types only; that inner and outer
 * operands agree is judged by nn_model_validate(). Extension and OEM operations:
 * index ranges only. Does not block, no memory is taken.
 * Returns: 0 with *ret_facts (may be NULL) set; NN_REFUSED with the sentence. */
int nn_operation_validate(const struct nnhal_operand *operands, uint32_t n_operands,
                          const struct nnhal_operation *operation,
                          struct nn_operation_facts *ret_facts, struct nn_why *why);

/* nn_operation_validate_inside() - the same inside a driver, for operations that nn_op_find() finds:
 * codes and types of nnhal.tflite are legal, also the further types of an operation of NNAPI's. */
int nn_operation_validate_inside(const struct nnhal_operand *operands, uint32_t n_operands,
                                 const struct nnhal_operation *operation, struct nn_why *why);

/* nn_signature_may_omit() - whether input i of an operation that matched this
 * row may have no value. */
bool nn_signature_may_omit(const struct nn_signature *signature, uint32_t input);

#endif
