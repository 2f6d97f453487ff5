/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - pictures with gaps between their rows, as the tensors of one run
 *
 * What cameras and GPUs make has rows that begin at multiples of some number of bytes. Where the
 * driver does not take such memories as they are (import_memory in nnhal/driver.h), a run has a copy
 * of each without the gaps: filled before the driver executes, and brought back after it. The bytes
 * count as copied. A copy is zero at first, so that nothing of this process gets into a picture that
 * the driver does not fill.
 *
 *     init --> (fetch --> the driver executes --> store)* --> done
 *
 * fetch and store are called while the memories are accessible (nn_region_begin_access()).
 * One thread at a time; a binding may have several runs, each with its own. */
#ifndef NN_HOST_MEMORY_PICTURE_H
#define NN_HOST_MEMORY_PICTURE_H

#include "host/execution/binding.h"

struct nn_pictures {
    const struct nn_binding *binding;
    uint8_t *bytes; /* of all, one after the other; NULL: there are none */
    struct nn_quota_charge charge;
};

/* nn_pictures_init() - takes memory for those of a binding, and puts the places into inputs and
 * outputs. To be done also on failure.
 * Returns: NNHAL_NONE, RESOURCE_EXHAUSTED_TRANSIENT with the call's message set. */
uint32_t nn_pictures_init(struct nn_call *call, struct nn_pictures *pictures,
                          const struct nn_binding *binding, struct nnhal_input *inputs,
                          struct nnhal_output *outputs);
void nn_pictures_done(struct nn_pictures *pictures);

/* nn_pictures_fetch() - the inputs, out of the memories. */
void nn_pictures_fetch(const struct nn_pictures *pictures);

/* nn_pictures_store() - the outputs, into the memories. */
void nn_pictures_store(const struct nn_pictures *pictures);

#endif
