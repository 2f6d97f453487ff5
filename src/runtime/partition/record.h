/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - what the executions of a plan have shown
 *
 * Of each value between parts the most bytes that it has had: whose size nothing tells before it is made
 * has that room the next time. Of each part what its last computations took, of which medians are told:
 *
 *     total     from the call to its end, on this side; where fences begin it, as its driver says
 *     driver    in the driver, as the device says
 *     device    on the device, as the device says
 *
 * A plan does not change; its record does, and belongs to it. Threads: any. */
#ifndef NN_RUNTIME_PARTITION_RECORD_H
#define NN_RUNTIME_PARTITION_RECORD_H

#include "base/cleanup.h"

#include <nnhal/ext.h>

#include <stdbool.h>

struct nn_rt_record;

/* What one computation took. NNHAL_NO_TIME: not known. */
struct nn_rt_duration {
    uint64_t total_ns;
    uint64_t driver_ns;
    uint64_t device_ns;
};

/* nn_rt_record_new() - of a plan with so many parts and values. Returns: 0, -ENOMEM. */
int nn_rt_record_new(uint32_t n_parts, uint32_t n_values, struct nn_rt_record **ret_record);

/* nn_rt_record_free() - accepts NULL; returns NULL. */
struct nn_rt_record *nn_rt_record_free(struct nn_rt_record *record);

/* nn_rt_record_note_size() - a value had so many bytes. */
void nn_rt_record_note_size(struct nn_rt_record *record, uint32_t value, uint64_t n_bytes);

/* nn_rt_record_get_size() - the most that it had; 0: it was never made. */
uint64_t nn_rt_record_get_size(const struct nn_rt_record *record, uint32_t value);

/* nn_rt_record_note_duration() - of a computation of a part that succeeded. */
void nn_rt_record_note_duration(struct nn_rt_record *record, uint32_t part,
                                const struct nn_rt_duration *duration);

/* nn_rt_record_get_cost() - all of it but size; zeros where nothing was noted. */
void nn_rt_record_get_cost(struct nn_rt_record *record, uint32_t part,
                           struct nnhal_part_cost *ret_cost);

#endif
