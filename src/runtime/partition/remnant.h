/* SPDX-License-Identifier: Apache-2.0 */
/* remnant.h - what is left to compute of a part some of whose inputs are empty
 *
 * Devices cannot be given an empty tensor as an input. An operation all of whose results are empty
 * need not be computed, and a concatenation has the same result without its empty
 * inputs. What is left after that is a smaller part for the same device, with a
 * compilation of its own, which is made when it is needed first. No other operation
 * makes something of nothing but IF and WHILE, and those have no remnant.
 *
 * Which tensors are empty is known when the arguments are: the owner, an execution, keeps a remnant
 * for as long as they stay the same. Each new execution has it compiled again. One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_REMNANT_H
#define NN_RUNTIME_PARTITION_REMNANT_H

#include "runtime/execution/execution.h"

enum {
    NN_RT_REMNANT_E_NONE = 1, /* an operation needs an empty tensor */
};

/* Zeroed: none yet. */
struct nn_rt_remnant {
    struct nn_arena arena;               /* of what part has */
    struct nn_rt_plan_part part;         /* with the compilation, which it owns */
    ANeuralNetworksExecution *execution; /* of that; NULL: none yet */
};

/* nn_rt_remnant_reduce() - makes remnant->part from a part of the graph and what is known of
 * its operands; one that is already that stays, with its compilation and its execution.
 * Returns: 0, NN_RT_REMNANT_E_NONE, -ENOMEM. */
int nn_rt_remnant_reduce(struct nn_rt_remnant *remnant, const struct nnhal_subgraph *graph,
                         const struct nn_rt_plan_part *part, const struct nn_rt_value *known);

/* nn_rt_remnant_done() - back to none. */
void nn_rt_remnant_done(struct nn_rt_remnant *remnant);

#endif
