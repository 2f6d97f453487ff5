/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-case.h - one kernel, lowered and run without the rest of the driver
 *
 * A case is an operation with its operands and their elements. Running it
 * infers the output shapes (so that shapes are tested, too), finds the row in
 * a family's table, lowers it, and runs it with a parallel-for that splits the
 * work into several ranges.
 *
 *     struct kernel_case c;
 *
 *     kernel_case_init(&c, NNHAL_OP_TILE, &nn_kernels_shape);
 *     kernel_case_tensor(&c, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){1, 2}, elements);
 *     kernel_case_i32s(&c, 2, (int32_t[]){3, 1});
 *     kernel_case_output(&c, NNHAL_TENSOR_FLOAT32);
 *     kernel_case_run(&c);
 *     ... c.outputs[0].data, c.outputs[0].dims ...
 *     kernel_case_done(&c);
 *
 * Every output has a red zone behind it that kernel_case_run() looks at. */
#ifndef NN_TESTS_KERNEL_CASE_H
#define NN_TESTS_KERNEL_CASE_H

#include "drivers/cpu/kernels/families.h"
#include "drivers/cpu/kernels/kernel.h"

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_CASE_MAX 64

struct kernel_operand {
    uint32_t type;
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    bool is_omitted;
    bool is_constant; /* known when lowered; scalars always are */
    uint8_t *data;
    size_t size;
};

struct kernel_case {
    uint32_t operation;
    const struct nn_kernel_family *family;
    uint32_t n_inputs, n_outputs;
    struct kernel_operand inputs[KERNEL_CASE_MAX], outputs[KERNEL_CASE_MAX];
    bool is_stopped; /* what nn_kernel_stopped() says: a deadline has passed */
    char why[512];   /* the sentence of the last refusal */
};

void kernel_case_init(struct kernel_case *c, uint32_t operation,
                      const struct nn_kernel_family *family);
void kernel_case_done(struct kernel_case *c);

/* An input; the elements are copied. Quantized types: set scale and zero_point of what is
 * returned. */
struct kernel_operand *kernel_case_tensor(struct kernel_case *c, uint32_t type, uint32_t n_dims,
                                          const uint32_t *dims, const void *elements);
struct kernel_operand *kernel_case_i32s(struct kernel_case *c, uint32_t n, const int32_t *values);
struct kernel_operand *kernel_case_i32(struct kernel_case *c, int32_t value);
struct kernel_operand *kernel_case_bool(struct kernel_case *c, bool value);
struct kernel_operand *kernel_case_f32(struct kernel_case *c, float value);
struct kernel_operand *kernel_case_omit(struct kernel_case *c, uint32_t type);

/* An output; its shape comes from inference, or from the kernel. */
struct kernel_operand *kernel_case_output(struct kernel_case *c, uint32_t type);

/* kernel_case_try() - infers, lowers and runs.
 * Returns: 0; NN_KERNEL_E_REFUSED from any of the three with c->why; NN_KERNEL_E_CANCELLED;
 * fails the test on others. */
int kernel_case_try(struct kernel_case *c);

/* kernel_case_run() - the same, and fails the test unless it succeeds. */
void kernel_case_run(struct kernel_case *c);

/* Elements of a type in random bytes that are legal for it (floats in [-2, 2)); seed is
 * changed. The caller frees. */
void *kernel_case_random(uint32_t type, size_t n, uint64_t *seed);

/* A number below n from the seed. */
uint32_t kernel_case_below(uint64_t *seed, uint32_t n);

size_t kernel_case_count(const struct kernel_operand *operand);

/* Element i as a real number (codes are dequantized). */
double kernel_case_real(const struct kernel_operand *operand, size_t i);

#endif
