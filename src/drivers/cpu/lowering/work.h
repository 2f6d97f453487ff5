/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - how much work an operation on constants is, before it is done
 *
 * An upper bound that is right to within an order of magnitude, in nanoseconds of plain C: from
 * shapes and attributes, whose largest values are valid, with arithmetic that saturates. */
#ifndef NN_DRIVERS_CPU_LOWERING_WORK_H
#define NN_DRIVERS_CPU_LOWERING_WORK_H

#include "compiler/graph.h"

/* nn_work_estimate() - of a node whose inputs are constants or omitted, and whose results have
 * n_result_bytes. Pure function. */
uint64_t nn_work_estimate(const struct nn_graph *graph, const struct nn_node *node,
                          uint64_t n_result_bytes);

#endif
