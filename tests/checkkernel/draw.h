/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h - what a case is made of, drawn at random or as a benchmark wants it
 *
 * A shape generator (shapes.h) asks for sizes, choices, and operands; the seed decides them, so that
 * a case can be made again. For a benchmark it gets the typical size and the first choice
 * instead: one generator serves both. */
#ifndef NN_TESTS_CHECKKERNEL_DRAW_H
#define NN_TESTS_CHECKKERNEL_DRAW_H

#include "cpu/kernel-case.h"

struct draw {
    uint64_t seed;
    bool is_bench;
    bool is_fused; /* the row's sums may differ from plain C's: floats that no sum overflows with */
    bool is_finite; /* floats that are numbers */
};

/* draw_below() - one of n choices; 0 for a benchmark. */
uint32_t draw_below(struct draw *draw, uint32_t n);

/* draw_coin() - true in one of n cases; never for a benchmark. */
bool draw_coin(struct draw *draw, uint32_t n);

/* draw_size() - 1 to most, often a power of two or beside one, or the typical size. */
uint32_t draw_size(struct draw *draw, uint32_t most, uint32_t typical);

/* draw_dims() - n sizes, each at most most, whose product is at most about 20,000. */
void draw_dims(struct draw *draw, uint32_t n, uint32_t most, const uint32_t *typical,
               uint32_t *ret_dims);

/* draw_type() - one of the row's set; of any tensor's types if the set is empty. */
uint32_t draw_type(struct draw *draw, uint32_t set);

/* draw_tensor() - an input with elements of all kinds: of the whole range, of its ends alone, all
 * the same; floats that are no numbers, too. Quantized types get a scale and a zero point. */
struct kernel_operand *draw_tensor(struct draw *draw, struct kernel_case *c, uint32_t type,
                                   uint32_t n_dims, const uint32_t *dims);

/* draw_constant() - the same, known when lowered, but for one case in n_unknown; 0: in all. */
struct kernel_operand *draw_constant(struct draw *draw, struct kernel_case *c, uint32_t type,
                                     uint32_t n_dims, const uint32_t *dims, uint32_t n_unknown);

/* draw_channels() - makes it a constant with a scale for each index of dimension dim. */
void draw_channels(struct draw *draw, struct kernel_operand *operand, uint32_t dim);

/* draw_reals() - a float tensor of ordinary numbers in [low, high). */
struct kernel_operand *draw_reals(struct draw *draw, struct kernel_case *c, uint32_t type,
                                  uint32_t n_dims, const uint32_t *dims, float low, float high);

/* draw_indices() - a tensor of int32 in [low, high). */
struct kernel_operand *draw_indices(struct draw *draw, struct kernel_case *c, uint32_t n_dims,
                                    const uint32_t *dims, int32_t low, int32_t high);

/* draw_weights_type() - of weights beside data of a type. */
uint32_t draw_weights_type(uint32_t type);

/* draw_bias() - of a sum of products of inputs 0 and 1, with n results. Constant, mostly. */
void draw_bias(struct draw *draw, struct kernel_case *c, uint32_t n);

/* draw_output() - with a quantization of its own, if the type has one. */
struct kernel_operand *draw_output(struct draw *draw, struct kernel_case *c, uint32_t type);

/* draw_sum_output() - whose scale is that of a sum of n products of inputs 0 and 1. */
struct kernel_operand *draw_sum_output(struct draw *draw, struct kernel_case *c, uint32_t type);

/* draw_scalar() - a float scalar of the precision that goes with the type of input 0. */
void draw_scalar(struct kernel_case *c, float value);

#endif
