/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - from one memory to another, wherever they lie
 *
 *     from \ to      shared memory          a device
 *     shared         this process copies    copy_from()
 *     a device       copy_to()              copy_to() a pool, copy_from() it
 *
 * After a failure a destination that was made from a descriptor is not
 * initialized; after a success it is, with the dims of the source. Any thread;
 * blocks for as long as the device does. */
#ifndef NN_RUNTIME_MEMORY_COPY_H
#define NN_RUNTIME_MEMORY_COPY_H

#include "runtime/memory/memory.h"

/* nn_rt_memory_copy() - a memory into itself succeeds and does nothing.
 * Returns: 0; BAD_DATA (the source is not initialized, sizes, dimensions or types differ);
 * UNMAPPABLE, DEAD_OBJECT and what a device answers; -ENOMEM. */
int nn_rt_memory_copy(ANeuralNetworksMemory *from, ANeuralNetworksMemory *to, struct nn_why *why);

/* nn_rt_memory_fill() - what a pool of ours holds, all of it, into a memory in a device,
 * which then has these dimensions. Returns: as nn_rt_memory_copy(). */
int nn_rt_memory_fill(ANeuralNetworksMemory *to, ANeuralNetworksMemory *pool, uint32_t n_dims,
                      const uint32_t *dims, struct nn_why *why);

#endif
