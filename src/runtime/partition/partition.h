/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h - which device computes which operations of a graph
 *
 * A partition is a set of operations that one device computes in one call. The
 * partitions of a partitioning are in an order in which they can be computed,
 * and each is convex: what an operation of it needs comes from earlier
 * partitions or from itself.
 *
 *     each operation to its cheapest device   ties: the earlier one
 *     -> partitions                           as few as that order allows
 *     -> islands that do not pay are given to another device, while that lowers the cost
 *     -> a cap on the number of partitions
 *     -> one device for all of it, if that costs no more
 *     -> branches to devices that compute at the same time, if all ends earlier so (sharing.h)
 *
 * The cost is that of computing, of one launch for each partition, and of moving
 * each value that another partition reads, but for what its device keeps; where branches are
 * shared it is the time to the end (wave-time.h). Pure functions over model data: devices
 * are numbers, what they support and what they cost is passed in, and the same
 * problem has the same answer everywhere. */
#ifndef NN_RUNTIME_PARTITION_PARTITION_H
#define NN_RUNTIME_PARTITION_PARTITION_H

#include "runtime/partition/forming.h"

enum {
    NN_RT_PARTITION_E_UNSUPPORTED = 1, /* an operation that no device supports */
};

/* nn_rt_partition() - solves the problem; the arrays are taken from arena.
 * Returns: 0; NN_RT_PARTITION_E_UNSUPPORTED with *ret_operation; -ENOMEM. */
int nn_rt_partition(const struct nn_rt_partition_problem *problem, struct nn_arena *arena,
                    struct nn_rt_partitioning *ret_partitioning, uint32_t *ret_operation);

#endif
