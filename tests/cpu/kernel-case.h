/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-case.h - one kernel, lowered and run without the rest of the driver
 *
 * A case is an operation with its operands and their elements. Running it
 * infers the output shapes (so that shapes are tested, too), finds the row in
 * a family's table, lowers it, and runs it with a parallel-for that splits the
 * work into several ranges. Or, step by step: kernel_case_infer(), then
 * kernel_case_try_row() with the rows that are to be compared.
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
 * Every tensor, the parameters, the weights and the scratch lie between pages without access
 * (guard.h), inputs, parameters and weights in memory that a running kernel must not write. A kernel
 * that touches more, changes the floating-point control word, or breaks another rule of kernel.h
 * that can be seen from outside, gives the outcome KERNEL_CASE_E_BROKEN. */
#ifndef NN_TESTS_KERNEL_CASE_H
#define NN_TESTS_KERNEL_CASE_H

#include "cpu/guard.h"

#include "drivers/cpu/kernels/families.h"
#include "drivers/cpu/kernels/kernel.h"

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_CASE_MAX     64
#define KERNEL_CASE_WORKERS 3

/* Beside those of kernel.h: the kernel breaks a rule, and the case's why says which. */
enum {
    KERNEL_CASE_E_BROKEN = 16,
};

/* How a row is run: no result may depend on it. Zeros: on all workers, in one part, each tensor at
 * the end of its pages. */
struct kernel_way {
    unsigned n_ranges; /* of a parallel-for, at most KERNEL_CASE_WORKERS; 0: so many */
    unsigned n_parts;  /* of an elementwise row, as for ranges of a chain; 0 or 1: none */
    uint32_t
        in_place; /* 1 + the input whose memory output 0 takes, if the row allows it; 0: none */
    size_t gap;   /* bytes behind tensors that are made from now on; see guard_init() */
    uint64_t bench_ns; /* how long to repeat run(), for the case\'s best_ns; 0: it runs once */
    bool has_epilogue; /* of a row that runs one: looks at which elements it is run for */
};

static inline unsigned kernel_way_ranges(const struct kernel_way *way)
{
    return way->n_ranges ? way->n_ranges : KERNEL_CASE_WORKERS;
}

struct kernel_operand {
    uint32_t type;
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    bool is_omitted;
    bool is_constant;                       /* known when lowered; scalars always are */
    uint32_t channel_dim, n_channel_scales; /* per-channel quantization */
    float *channel_scales;                  /* allocated; the case's */
    uint8_t *data;
    size_t size;
    struct guard guard; /* where data lies */
};

struct kernel_case {
    uint32_t operation;
    const struct nn_kernel_family *family;
    uint32_t n_inputs, n_outputs;
    struct kernel_operand inputs[KERNEL_CASE_MAX], outputs[KERNEL_CASE_MAX];
    bool is_stopped; /* what nn_kernel_stopped() says: a deadline has passed */
    bool as_int8;    /* see struct nn_lower */
    struct kernel_way way;
    size_t n_products; /* that make one result, to compare sums by; 0: no sums of products */
    uint64_t best_ns;
    bool is_broken;
    char why[512]; /* the sentence of the last refusal, or the rule that is broken */
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

/* kernel_case_infer() - shapes and quantization of the outputs.
 * Returns: 0; NN_KERNEL_E_REFUSED with c->why. */
int kernel_case_infer(struct kernel_case *c);

/* kernel_case_try_row() - lowers and runs the row, after kernel_case_infer(); outputs are allocated
 * anew. Outputs that are all empty need no row: nothing happens.
 * Returns: 0; NN_KERNEL_E_PASS; NN_KERNEL_E_REFUSED and KERNEL_CASE_E_BROKEN with c->why;
 * NN_KERNEL_E_CANCELLED. */
int kernel_case_try_row(struct kernel_case *c, const struct nn_kernel *row);

/* kernel_case_try() - infers, lowers and runs the family's row for plain C.
 * Returns: as kernel_case_try_row(), but for NN_KERNEL_E_PASS; ends the program where it finds no
 * row, and on KERNEL_CASE_E_BROKEN. */
int kernel_case_try(struct kernel_case *c);

/* kernel_case_run() - the same, and ends the program unless it succeeds. */
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
