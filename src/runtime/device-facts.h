/* SPDX-License-Identifier: Apache-2.0 */
/* device-facts.h - what a device said of itself when it was opened, and the runtime keeps
 *
 * Copies, because what a device says lives as long as its answer. They do not change. */
#ifndef NN_RUNTIME_DEVICE_FACTS_H
#define NN_RUNTIME_DEVICE_FACTS_H

#include "base/arena.h"

#include <nnhal/types.h>

struct nn_rt_device_facts {
    struct nn_arena arena;
    uint32_t n_extensions;
    const struct nnhal_extension *extensions;
};

/* nn_rt_device_facts_init() - *facts is done with nn_rt_device_facts_done() in any case.
 * Returns: 0, -ENOMEM. */
int nn_rt_device_facts_init(struct nn_rt_device_facts *facts, uint32_t n_extensions,
                            const struct nnhal_extension *extensions);
void nn_rt_device_facts_done(struct nn_rt_device_facts *facts);

/* nn_rt_device_facts_find() - the extension of that name; NULL: the device has none. */
const struct nnhal_extension *nn_rt_device_facts_find(const struct nn_rt_device_facts *facts,
                                                      const char *name);

#endif
