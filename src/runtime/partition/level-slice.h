/* SPDX-License-Identifier: Apache-2.0 */
/* level-slice.h - what a device of an older feature level can know of a model
 *
 * The operations that such a device can be asked about, as a model of their own: what they read of
 * newer ones is an input, what newer ones read of them an output. An IF or WHILE is as new
 * as the newest operation of its branches. Relaxed computation is of level 2 and of the whole
 * model: a device of level 1 knows nothing of a model that asks for it. */
#ifndef NN_RUNTIME_PARTITION_LEVEL_SLICE_H
#define NN_RUNTIME_PARTITION_LEVEL_SLICE_H

#include "runtime/model/model.h"

struct nn_rt_level_slice {
    uint32_t n_operations; /* 0: there is nothing to ask about, and no model */
    uint32_t *operations;  /* of the whole, in order */
    struct nn_rt_model *model;
};

/* nn_rt_level_slice_init() - of a model that is newer than level. Where no operation is, what is
 * newer belongs to the whole, and the slice is empty. Arrays are taken from arena.
 * Returns: 0; BAD_DATA (the rules refuse the slice as a model); -ENOMEM. */
int nn_rt_level_slice_init(struct nn_rt_level_slice *slice, struct nn_rt_model *whole,
                           unsigned level, struct nn_arena *arena, struct nn_why *why);
void nn_rt_level_slice_done(struct nn_rt_level_slice *slice);

#endif
