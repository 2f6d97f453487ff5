/* SPDX-License-Identifier: Apache-2.0 */
/* RFFT2D, COMPLEX_ABS, REAL and IMAG of nnhal.tflite: complex numbers are pairs of floats, real part
 * first, in the last dimension */
#include "model/infer.h"

#include "base/cleanup.h"
#include "model/operands.h"

#include <string.h>

/* The lengths of the transform: powers of two, as TensorFlow Lite's is made for. */
static int read_lengths(const struct nn_infer *infer, uint32_t lengths[2])
{
    const void *values;
    uint64_t n;
    int r = nn_infer_i32s(infer, NN_RFFT_LENGTHS, &values, &n);

    if (r)
        return r;
    if (n != 2)
        return nn_refuse(infer->why, "two lengths are needed, of rows and of columns");
    for (uint32_t i = 0; i < 2; i++) {
        int32_t length = nn_infer_i32_at(values, i);

        if (length < 1 || (length & (length - 1)))
            return nn_refuse(infer->why, "the length %d is no power of two", length);
        lengths[i] = (uint32_t)length;
    }
    return 0;
}

/* The other half of a row is the conjugate of this one. */
static int infer_rfft2d(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], lengths[2] = {0}, n = input->n_dims;
    int r = read_lengths(infer, lengths);

    if (r)
        return r;
    memcpy(dims, input->dims, n * sizeof(dims[0]));
    dims[n - 2] = lengths[0];
    dims[n - 1] = (lengths[1] / 2 + 1) * 2;
    nn_infer_set_dims(infer, 0, n, dims);
    return 0;
}

static int infer_pairs(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], n = input->n_dims;

    if (input->dims[n - 1] % 2)
        return nn_refuse(infer->why, "the last dimension, %u, does not hold pairs",
                         input->dims[n - 1]);
    memcpy(dims, input->dims, n * sizeof(dims[0]));
    dims[n - 1] /= 2;
    nn_infer_set_dims(infer, 0, n, dims);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NN_TFLITE_OP(RFFT2D), NULL, infer_rfft2d,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, NNHAL_MAX_RANK)},
    {NN_TFLITE_OP(COMPLEX_ABS), NULL, infer_pairs,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
    {NN_TFLITE_OP(REAL), NULL, infer_pairs, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
    {NN_TFLITE_OP(IMAG), NULL, infer_pairs, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
};

NN_OP_FAMILY(fourier, functions);
