/* SPDX-License-Identifier: Apache-2.0 */
/* request-hash.h - what a computation is recognized by when it may have killed a driver
 *
 * The model, and the inputs as they are now. Reads all of them, so that it is for the
 * rare case. Threads: the one that computes. */
#ifndef NN_RUNTIME_EXECUTION_REQUEST_HASH_H
#define NN_RUNTIME_EXECUTION_REQUEST_HASH_H

#include <stdint.h>

struct nn_rt_arguments;
struct nnhal_model;

/* nn_rt_request_hash() - what an input has in a memory that this process cannot map is left
 * out. */
uint64_t nn_rt_request_hash(const struct nnhal_model *model,
                            const struct nn_rt_arguments *arguments);

#endif
