/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h - a program as two blocks of bytes, and back: the compilation cache
 *
 * What is kept is the plan of a program that has one plan for all executions: its
 * shapes are known, nothing is decided by values, and there is no IF or WHILE.
 * Programs that make plans as they go need their model for that and are not
 * kept.
 *
 *   model cache: struct header, a type for each value of the graph, struct
 *                argument for each input and output, padding to 64, the plan's block
 *   data cache:  the plan's weights, nothing else
 *
 * The model's pools are gone when a program comes back: constants that the plan
 * used in place are copied behind its weights before it is kept, so that
 * the compiled program and the one from the cache are the same, byte for byte.
 *
 * A kept program has a graph that knows its values' types and its arguments, and
 * no nodes. Whoever wrote the bytes (the hash has said that it was this driver):
 * nn_keep_open() looks at every index and offset again. */
#ifndef NN_CPU_KEEP_H
#define NN_CPU_KEEP_H

#include "drivers/cpu/program.h"

enum {
    NN_KEEP_E_UNFIT = 1,   /* not a program that can be kept */
    NN_KEEP_E_INVALID = 2, /* not what nn_keep_make() makes, or for another CPU */
};

/* The blocks; weights belong to the program. */
struct nn_kept {
    uint8_t *model;
    uint64_t model_bytes;
    const uint8_t *weights;
    uint64_t weights_bytes;
};

/* nn_keep_make() - of a program that nobody executes yet, which is changed (see
 * above). kept->model is to be freed.
 * Returns: 0, NN_KEEP_E_UNFIT, -ENOMEM. */
int nn_keep_make(struct nn_program *program, struct nn_kept *ret_kept);

/* nn_keep_open() - a program that uses both blocks where they are, aligned to 64, until it
 * is freed. Returns: 0, NN_KEEP_E_INVALID, -ENOMEM. */
int nn_keep_open(const struct nn_kept *kept, struct nn_team *team, uint32_t isa,
                 struct nn_program **ret_program);

#endif
