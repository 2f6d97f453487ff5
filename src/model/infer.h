/* SPDX-License-Identifier: Apache-2.0 */
/* infer.h - output shapes, and the rules that need values (E rules)
 *
 * nn_infer() tells the type, shape and quantization of an operation's outputs,
 * given the shapes of its inputs and the values of those inputs that decide
 * shapes, and refuses what NNAPI says must fail at execution. It is used when
 * a model is prepared (for the shapes that are known then) and again when it is
 * executed with shapes that were not.
 *
 * Contract of an operation's infer function: every present input is known
 * (all dimensions; 0 means zero-sized), types and counts match a signature of
 * the operation, only omittable inputs are omitted, and outputs[] holds what
 * the model declares (type, scale, zero point), with rank 0 and no dimensions.
 * The function sets n_dimensions and dimensions of each output with
 * nn_infer_set_dims(); where the operation computes a scale and zero point (outputs
 * "same-quant" as an input, SOFTMAX's 1/256) it sets them with
 * nn_infer_set_quant(); it refuses with nn_refuse(infer->why, ...). It takes
 * values with nn_infer_i32() and its like, which say so when a value is not
 * known yet. What an operation's row (ops.h) says of empty inputs and of the rank of
 * input 0 has been checked before.
 * infer.c then merges with declared dimensions and checks sizes; no
 * operation does that itself. No memory, no I/O, no state: pure functions. */
#ifndef NN_MODEL_INFER_H
#define NN_MODEL_INFER_H

#include "model/ops.h"

/* Beside 0 and NN_REFUSED: a shape or a value that decides the result is not
 * known yet; ask again at execution. */
enum {
    NN_INFER_E_UNKNOWN = 2,
};

struct nn_infer_operand {
    uint32_t type;
    uint32_t n_dims; /* 0: a scalar, or a declared output of unknown rank */
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    const struct nnhal_channel_quant *channel_quant; /* NULL: none */
    /* Inputs: the bytes, stable while nn_infer() runs; NULL: not known yet or
     * omitted. Only inputs whose value decides something are read. */
    const void *value;
    bool is_omitted;
    bool is_known; /* inputs: rank and every dimension are known; 0 is zero-sized */
    /* Outputs: type, scale and zero point are fixed by the model (an output of
     * it), so what is computed must equal them; others are overwritten. */
    bool is_fixed;
    /* Outputs, set by infer: bit i says that dimension i is known only after
     * execution; dims[i] is then the largest it can be. */
    uint32_t late_dims;
    /* Outputs, nn_infer()'s own: what was declared before it began. */
    float declared_scale;
    int32_t declared_zero_point;
    uint32_t n_declared;
    uint32_t declared[NNHAL_MAX_RANK];
};

struct nn_infer {
    const struct nn_op *op;
    bool
        is_lite; /* nnhal.tflite's operation of op's code, or NNAPI's: it takes the ranks of both */
    uint32_t n_inputs;
    uint32_t n_outputs;
    const struct nn_infer_operand *inputs;
    /* In: as declared, dims 0 where unknown. Out: computed and merged. */
    struct nn_infer_operand *outputs;
    struct nn_why *why;
};

/* nn_infer_operand_init() - from an operand as the model declares it: is_known
 * if it is, is_omitted for NO_VALUE, value as given (NULL: not known). Operands
 * with a known rank above NNHAL_MAX_RANK were refused by validation. */
void nn_infer_operand_init(struct nn_infer_operand *infer, const struct nnhal_operand *operand,
                           const void *value);

/* nn_infer() - computes the outputs of infer->op. The types and counts must
 * have been accepted by nn_operation_validate(). On any outcome but 0 outputs
 * are unspecified. Not for IF and WHILE.
 * Returns: 0; NN_REFUSED; NN_INFER_E_UNKNOWN. */
int nn_infer(struct nn_infer *infer);

/* nn_dims_merge() - declared and computed dimensions, 0 (rank and
 * dimension) being unknown in either.
 * Returns: false if two known ones differ; *ret is unspecified then. */
bool nn_dims_merge(uint32_t n_a, const uint32_t *a, uint32_t n_b, const uint32_t *b,
                   uint32_t *ret_n, uint32_t *ret);

/* -- for infer functions --------------------------------------------------- */

/* nn_infer_set_dims() - the shape of output i. Rank at most NNHAL_MAX_RANK. */
void nn_infer_set_dims(struct nn_infer *infer, uint32_t i, uint32_t n_dims, const uint32_t *dims);

/* nn_infer_set_dims_like() - output i has the shape of input j. */
void nn_infer_set_dims_like(struct nn_infer *infer, uint32_t i, uint32_t j);

/* nn_infer_same_dims() - output 0 has the shape of input 0; nn_infer_same() - and its scale and
 * zero point; nn_infer_moved() - only these, of elements that moved into another shape.
 * Infer functions, or the last call of one. Return: 0. */
int nn_infer_same_dims(struct nn_infer *infer);
int nn_infer_same(struct nn_infer *infer);
int nn_infer_moved(struct nn_infer *infer, uint32_t n_dims, const uint32_t *dims);

/* nn_infer_set_quant() - output i has this scale and zero point. */
void nn_infer_set_quant(struct nn_infer *infer, uint32_t i, float scale, int32_t zero_point);

/* nn_infer_set_quant_like() - output i has the scale and zero point of input j. */
void nn_infer_set_quant_like(struct nn_infer *infer, uint32_t i, uint32_t j);

/* nn_infer_i32() and the like - the value of scalar input i.
 * Returns: 0; NN_INFER_E_UNKNOWN if it is not known yet. */
int nn_infer_i32(const struct nn_infer *infer, uint32_t i, int32_t *ret);
int nn_infer_bool(const struct nn_infer *infer, uint32_t i, bool *ret);
/* FLOAT32 or FLOAT16. */
int nn_infer_float(const struct nn_infer *infer, uint32_t i, float *ret);

/* nn_infer_optional_bool() - as nn_infer_bool(), false if there is no such input. */
int nn_infer_optional_bool(const struct nn_infer *infer, uint32_t i, bool *ret);

/* nn_infer_i32s() - the values of a rank-1 (or any) TENSOR_INT32 input.
 * *ret_values stays valid as long as the input's value; it is aligned only as
 * the value is: read elements with nn_infer_i32_at().
 * Returns: 0; NN_INFER_E_UNKNOWN. */
int nn_infer_i32s(const struct nn_infer *infer, uint32_t i, const void **ret_values,
                  uint64_t *ret_n);
int32_t nn_infer_i32_at(const void *values, uint64_t i);

/* nn_infer_listed_dims() - the dimensions of a shape that input i, of rank 1, lists; none is negative.
 * Returns: 0; NN_REFUSED; NN_INFER_E_UNKNOWN. */
int nn_infer_listed_dims(const struct nn_infer *infer, uint32_t i, uint32_t *dims, uint32_t *ret_n);

/* nn_infer_activation() - refuses a fused activation code (input i) outside
 * 0..3. One that is not known yet passes: kernels check again.
 * Returns: 0; NN_REFUSED. */
int nn_infer_activation(const struct nn_infer *infer, uint32_t i);

/* nn_infer_rank() - refuses input i unless its rank is in [min, max]. */
int nn_infer_rank(const struct nn_infer *infer, uint32_t i, uint32_t min, uint32_t max);

/* nn_infer_nnapi_rank() - the same, where max is NNAPI's and nnhal.tflite's operation may take any. */
int nn_infer_nnapi_rank(const struct nn_infer *infer, uint32_t i, uint32_t min, uint32_t max);

/* nn_infer_axis() - input i is an axis in [-rank, rank): made non-negative.
 * Returns: 0; NN_REFUSED; NN_INFER_E_UNKNOWN. */
int nn_infer_axis(const struct nn_infer *infer, uint32_t i, uint32_t rank, uint32_t *ret_axis);

/* nn_infer_pair() - the infer function of two inputs that are broadcast. */
int nn_infer_pair(struct nn_infer *infer);

/* nn_infer_bias_scale() - for a TENSOR_INT32 bias: its scale must be the
 * product of input's and filter's within a millionth, its zero point 0. Other
 * types and per-channel filters pass. */
int nn_infer_bias_scale(const struct nn_infer *infer, uint32_t input, uint32_t filter,
                        uint32_t bias);

/* nn_infer_wide_sum() - for a bias of 64 bits, beside which sums are scaled by a multiplier of 15:
 * input's and filter's scales must give less than 128 of the output's steps, in each channel.
 * Other types pass, and channels of which only the number is known, as in a plan. */
int nn_infer_wide_sum(const struct nn_infer *infer, uint32_t input, uint32_t filter, uint32_t bias);

#endif
