/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h - attributes of extensions, on their way to a device as hints
 *
 * A list belongs to one compilation or execution, whose thread fills it. */
#ifndef NN_RUNTIME_ATTRIBUTE_H
#define NN_RUNTIME_ATTRIBUTE_H

#include "runtime/device.h"
#include "runtime/result.h"

#include <nnhal/types.h>

struct nn_rt_attributes {
    uint32_t n;
    struct nnhal_hint *hints;
};

/* What an application says of one. */
struct nn_rt_attribute {
    const char *extension;
    uint16_t code;
    const void *bytes;
    size_t n_bytes;
};

/* nn_rt_attributes_add() - a copy, for that device. Returns: 0; BAD_DATA: the device does not have
 * the extension or cannot take attributes, it was set before, or the value is empty or too large;
 * -ENOMEM. */
int nn_rt_attributes_add(struct nn_rt_attributes *attributes, const ANeuralNetworksDevice *device,
                         const struct nn_rt_attribute *attribute, struct nn_why *why);

void nn_rt_attributes_done(struct nn_rt_attributes *attributes);

#endif
