/* SPDX-License-Identifier: Apache-2.0 */
/* residents.h - buffers in devices for the values of a plan that stay there
 *
 * A resident value (plan.h) lies in a buffer of the device that makes it and reads it, a memory whose roles are
 * that output and those inputs of parts (memory/domain.h): recovery and fallback of a part treat it as any
 * such memory of an application's. An execution has all residents of its plan for itself, as a set.
 *
 *     take --> an execution places its values there (exchange.h) --> give
 *
 * The compilation owns sets that no execution has, and keeps a few; the first is made when it was finished:
 * what the device refuses then lies in shared memory in all executions. A set that cannot be had later is no
 * failure: that execution has all of its values in shared memory. Threads: any. */
#ifndef NN_RUNTIME_PARTITION_RESIDENTS_H
#define NN_RUNTIME_PARTITION_RESIDENTS_H

#include "runtime/compilation/compilation.h"
#include "runtime/memory/memory.h"

/* Sets that are kept at most. */
#define NN_RT_RESIDENTS_MAX_SETS 4

struct nn_rt_residents;

/* One execution's. */
struct nn_rt_resident_set {
    uint32_t n_values;
    ANeuralNetworksMemory *memories[]; /* per value of the plan; NULL: it is no resident */
};

/* nn_rt_residents_make() - for a compilation that was finished and has no executions yet, and for those of its
 * branches, if their plans have residents. Where a device makes no buffer, or memory is short, the value is
 * none any more. Blocks for devices. */
void nn_rt_residents_make(ANeuralNetworksCompilation *compilation);

/* nn_rt_residents_take() - a set, without contents; it may block for devices. Accepts NULL.
 * Returns: NULL: there is none to be had. */
struct nn_rt_resident_set *nn_rt_residents_take(struct nn_rt_residents *residents);

/* nn_rt_residents_give() - takes a set back, to which no argument refers any more, or frees it. Accepts a set
 * of NULL; returns NULL. */
struct nn_rt_resident_set *nn_rt_residents_give(struct nn_rt_residents *residents,
                                                struct nn_rt_resident_set *set);

/* nn_rt_resident_set_is_lost() - whether contents went with a device's process, or a buffer could not be made
 * anew after that. */
bool nn_rt_resident_set_is_lost(const struct nn_rt_resident_set *set);

#endif
