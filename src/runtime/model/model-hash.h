/* SPDX-License-Identifier: Apache-2.0 */
/* model-hash.h - what a model is recognized by when it may have killed a driver
 *
 * Its structure and its constants, without those in pools. A sum that finds equal
 * models, no protection from forged ones. Threads: any. */
#ifndef NN_RUNTIME_MODEL_MODEL_HASH_H
#define NN_RUNTIME_MODEL_MODEL_HASH_H

#include <stdint.h>

struct nnhal_model;

uint64_t nn_rt_model_hash(const struct nnhal_model *model);

/* nn_rt_hash_add() - hash, and these bytes after what it stands for. */
uint64_t nn_rt_hash_add(uint64_t hash, const void *bytes, uint64_t n_bytes);

#endif
