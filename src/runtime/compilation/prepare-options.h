/* SPDX-License-Identifier: Apache-2.0 */
/* prepare-options.h - how a model is to be prepared */
#ifndef NN_RUNTIME_COMPILATION_PREPARE_OPTIONS_H
#define NN_RUNTIME_COMPILATION_PREPARE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct nn_rt_attributes;
struct nn_rt_cache;

struct nn_rt_prepare_options {
    uint32_t preference; /* enum nnhal_preference */
    uint32_t priority;   /* enum nnhal_priority */
    uint64_t deadline_ns;
    bool is_deferred;
    const struct nn_rt_attributes *attributes;
    struct nn_rt_cache *cache; /* NULL: none (cache.h) */
    bool is_renewal;           /* the device has prepared it before, for the same compilation */
};

#endif
