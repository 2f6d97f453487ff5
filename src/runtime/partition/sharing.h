/* SPDX-License-Identifier: Apache-2.0 */
/* sharing.h - branches of a graph that are computed at the same time
 *
 * A join is an operation that reads results of several others, or the end of the graph, which reads its
 * outputs. A branch is what leads to one thing that a join reads, and to nothing else:
 *
 *            +--> a1 --> a2 --+
 *     fork --+                +--> join        branches: a1 and a2; b1
 *            +--> b1 ---------+
 *
 * So branches of one join need nothing of each other. From the end on, join by join, they are given to
 * the devices where they end first: those that have no choice before the others, then the longest. They
 * stay there if all of it ends earlier by more than a tenth of what the branches take, and by more than
 * waking a thread costs. No device gets a branch that takes more than twice as long there as where it was.
 * Costs are times; the end is that of wave-time.h. Pure functions. */
#ifndef NN_RUNTIME_PARTITION_SHARING_H
#define NN_RUNTIME_PARTITION_SHARING_H

#include "runtime/partition/forming.h"

/* nn_rt_share() - a partitioning that ends earlier by more than a tenth, and has no more partitions than the
 * problem allows. seats: of best, which it replaces.
 * Returns: 0, also where best stays as it is; -ENOMEM. */
int nn_rt_share(struct nn_rt_forming *forming, const uint32_t *seats, struct nn_arena *arena,
                struct nn_rt_partitioning *best);

#endif
