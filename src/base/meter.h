/* SPDX-License-Identifier: Apache-2.0 */
/* meter.h - memory is charged before it is taken
 *
 * Code that takes memory for a caller has the caller's meter, or NULL: what it takes is not
 * counted. The owner of a block gives back what was charged for it when the block is freed, to the
 * same meter, which outlives the block. Any thread, as far as the meter's functions are. */
#ifndef NN_BASE_METER_H
#define NN_BASE_METER_H

#include <stddef.h>
#include <stdint.h>

struct nn_meter {
    int (*charge)(void *ctx, uint64_t n_bytes); /* 0, or -EDQUOT: nothing was charged */
    void (*uncharge)(void *ctx, uint64_t n_bytes);
    void *ctx;
};

/* nn_meter_charge() - before n_bytes are taken. Returns: 0, -EDQUOT. */
static inline int nn_meter_charge(const struct nn_meter *meter, uint64_t n_bytes)
{
    return meter && n_bytes ? meter->charge(meter->ctx, n_bytes) : 0;
}

/* nn_meter_uncharge() - after they were freed, or could not be had. */
static inline void nn_meter_uncharge(const struct nn_meter *meter, uint64_t n_bytes)
{
    if (meter && n_bytes)
        meter->uncharge(meter->ctx, n_bytes);
}

#endif
