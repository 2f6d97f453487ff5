/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - the buffers and pictures of one run of a binding
 *
 * What may change between binding and running is judged here: whether buffers
 * were freed, are in use, hold a value, and of which shape. A lease is admitted
 * to all buffers of its binding or to none. While it lasts it has the
 * arguments as the driver is to see them.
 *
 *     begin --> (the driver executes --> grow)* --> end
 *
 * A refused admission leaves every buffer as it was. */
#ifndef NN_HOST_MEMORY_ADMISSION_H
#define NN_HOST_MEMORY_ADMISSION_H

#include "host/execution/binding.h"
#include "host/memory/picture.h"

struct nn_admission {
    const struct nn_binding *binding;
    const struct nnhal_input *inputs;
    const struct nnhal_output *outputs; /* as agreed: the driver works on a copy */
    struct nnhal_output *filled;        /* outputs, if some lie in buffers or pictures */
    struct nn_pictures pictures;
};

/* nn_admission_begin() - what is allocated lives in arena, but for copies of pictures. Takes nothing,
 * and cannot fail, for a binding without buffers and pictures. Never blocks.
 * Returns: NNHAL_NONE, INVALID_ARGUMENT, GENERAL_FAILURE (see spec of the HAL:
 * freed, in use, without a value, of another shape), or RESOURCE_EXHAUSTED_TRANSIENT,
 * with *message set. */
uint32_t nn_admission_begin(struct nn_call *call, struct nn_admission *admission,
                            const struct nn_binding *binding);

/* nn_admission_grow() - makes room in the buffers that are too small for what the
 * driver says of its outputs. *ret_again: there were some, and now the driver is
 * to execute once more.
 * Returns: NNHAL_NONE, GENERAL_FAILURE (a buffer whose shape is not open cannot
 * hold its output), RESOURCE_EXHAUSTED_TRANSIENT, with *message set. */
uint32_t nn_admission_grow(struct nn_call *call, struct nn_admission *admission,
                           const struct nnhal_output *outputs, bool *ret_again);

/* nn_admission_check() - whether the buffers may have the shapes that were computed.
 * Returns: NNHAL_NONE, GENERAL_FAILURE with *message set. */
uint32_t nn_admission_check(struct nn_call *call, const struct nn_admission *admission,
                            const struct nnhal_output *outputs);

/* nn_admission_end() - gives the buffers back: those that were written hold
 * outputs' shapes if the execution was a success, else nothing. */
void nn_admission_end(struct nn_admission *admission, bool is_success,
                      const struct nnhal_output *outputs);

#endif
