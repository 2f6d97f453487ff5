/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - values in another form, and operations moved to it
 *
 * A pass that computes a model in another form than it is given in (another
 * order of dimensions, other codes) gives values twins in that form. A twin is
 * made by a conversion the first time that an operation wants it, or computed, when the
 * operation before was moved. Behind a moved operation a conversion back makes
 * the value that the model names, for its remaining readers; most die, and
 * conversions are left where the form is entered and left. */
#ifndef NN_COMPILER_PASSES_CONVERT_H
#define NN_COMPILER_PASSES_CONVERT_H

#include "compiler/passes/rewrite.h"

struct nn_conversions {
    struct nn_graph *graph;
    struct nn_rewrite rewrite;
    uint32_t n;   /* values that may have twins: those when the pass began */
    uint32_t *of; /* by value: its twin + 1 */
    /* Whether values of this one's kind have twins. */
    bool (*has)(const struct nn_value *value);
    /* A copy of a value becomes its twin's. */
    void (*turn)(struct nn_value *twin);
    /* The operation that makes a twin from its value, or back: what it is, and its
     * second input, a constant. Returns: 0, -ENOMEM. */
    int (*convert)(struct nn_conversions *twins, bool back, uint32_t *ret_operation,
                   uint32_t *ret_constant);
    uint32_t constants[2]; /* convert()'s: values + 1 */
};

/* nn_conversions_init() - no twins yet; has, turn and convert are the caller's to set.
 * Returns: 0, -ENOMEM. */
int nn_conversions_init(struct nn_conversions *twins, struct nn_graph *graph);

/* nn_conversions_find() - the value's twin + 1, or 0. */
static inline uint32_t nn_conversions_find(const struct nn_conversions *twins, uint32_t value)
{
    return value < twins->n ? twins->of[value] : 0;
}

/* nn_conversions_want() - makes sure that a value has a twin. Returns: 0, -ENOMEM. */
int nn_conversions_want(struct nn_conversions *twins, uint32_t origin, uint32_t value);

/* nn_conversions_move() - emits the node with the twins of its first n_data inputs and of all that
 * it makes, as far as there are any, and conversions back. The node is changed.
 * Returns: 0, -ENOMEM. */
int nn_conversions_move(struct nn_conversions *twins, struct nn_node *node, uint32_t n_data);

#endif
