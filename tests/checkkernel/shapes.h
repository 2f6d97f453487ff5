/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.h - the shape generators: operands of a random case for a row, by its operation
 *
 * A generator adds the inputs and outputs of one case for the row, of types that the row takes; it
 * need not mind what inference refuses or the row passes on: the next case is drawn then. A
 * generator of sums sets c->n_products. Each file of generators has a table. */
#ifndef NN_TESTS_CHECKKERNEL_SHAPES_H
#define NN_TESTS_CHECKKERNEL_SHAPES_H

#include "checkkernel/draw.h"

typedef void (*shapes_fn)(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row);

struct shapes {
    uint32_t operation;
    shapes_fn generate;
};

/* Tables end with a generator of NULL. */
extern const struct shapes shapes_elementwise[];
extern const struct shapes shapes_matrix[];
extern const struct shapes shapes_models[];
extern const struct shapes shapes_moves[];
extern const struct shapes shapes_slices[];
extern const struct shapes shapes_window[];

/* shapes_find() - the generator for an operation, or NULL. */
shapes_fn shapes_find(uint32_t operation);

#endif
