/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - what each operation of a model, and each move of a value, costs on each device
 *
 * As if all devices took everything (cost.h), from what the model tells without arguments. What an
 * operation costs is energy where the application prefers low power, else time; for sustained
 * speed devices are weighed as for a fast single answer. All arrays are taken from the caller's
 * arena. They do not change. */
#ifndef NN_RUNTIME_PARTITION_WEIGHTS_H
#define NN_RUNTIME_PARTITION_WEIGHTS_H

#include "runtime/model/model.h"
#include "runtime/partition/cost.h"
#include "runtime/partition/value.h"

struct nn_rt_weights {
    uint64_t *costs_ns; /* [device * n_operations + operation] */
    uint64_t *times_ns; /* the same in time; costs_ns itself where that is what counts */
    uint64_t *whole_ns; /* per device: the sum of these, and one launch */
    uint64_t *launch_ns;
    uint64_t *move_ns;         /* [device * n_operands + operand] */
    uint32_t *places;          /* per device (wave-time.h) */
    struct nn_rt_value *known; /* per operand */
};

/* nn_rt_weights_init() - performances: per device. Returns: 0, -ENOMEM. */
int nn_rt_weights_init(struct nn_rt_weights *weights, const struct nn_rt_model *finished,
                       uint32_t n_devices, const struct nn_rt_performance *performances,
                       uint32_t preference, struct nn_arena *arena);

#endif
