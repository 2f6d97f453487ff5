/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/attribute.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static int check_value(const struct nn_rt_attributes *attributes,
                       const struct nn_rt_attribute *attribute, struct nn_why *why)
{
    if (!attribute->n_bytes || attribute->n_bytes > NNHAL_MAX_HINT_BYTES)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%zu bytes: an attribute has 1 to %d",
                       attribute->n_bytes, NNHAL_MAX_HINT_BYTES);
    if (attributes->n == NNHAL_MAX_HINTS)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "more than %d attributes", NNHAL_MAX_HINTS);
    return 0;
}

/* The number by which the device knows the attribute. */
static int find_token(const ANeuralNetworksDevice *device, const struct nn_rt_attribute *attribute,
                      struct nn_why *why, int32_t *ret_token)
{
    const struct nn_rt_device_facts *facts = &device->facts;
    const struct nnhal_extension *found = nn_rt_device_facts_find(facts, attribute->extension);

    if (!found)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s does not have extension %s", device->name,
                       attribute->extension);
    if (device->feature_level < NNHAL_FEATURE_LEVEL_8)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "%s cannot take attributes: they came with feature level 8", device->name);
    *ret_token = (int32_t)((uint32_t)(found - facts->extensions + 1) << 16 | attribute->code);
    return 0;
}

static int check_new(const struct nn_rt_attributes *attributes, int32_t token, struct nn_why *why)
{
    for (uint32_t i = 0; i < attributes->n; i++)
        if (attributes->hints[i].token == token)
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "attribute %d was added before",
                           token & UINT16_MAX);
    return 0;
}

int nn_rt_attributes_add(struct nn_rt_attributes *attributes, const ANeuralNetworksDevice *device,
                         const struct nn_rt_attribute *attribute, struct nn_why *why)
{
    struct nnhal_hint *hints;
    int32_t token = 0;
    uint8_t *copy;
    int r = check_value(attributes, attribute, why);

    if (!r)
        r = find_token(device, attribute, why, &token);
    if (!r)
        r = check_new(attributes, token, why);
    if (r)
        return r;
    hints = reallocarray(attributes->hints, attributes->n + 1, sizeof(*hints));
    if (!hints)
        return nn_error_origin(-ENOMEM);
    attributes->hints = hints;
    copy = malloc(attribute->n_bytes);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    memcpy(copy, attribute->bytes, attribute->n_bytes);
    hints[attributes->n++] = (struct nnhal_hint){.token = token,
                                                 .value = {attribute->n_bytes, copy}};
    return 0;
}

void nn_rt_attributes_done(struct nn_rt_attributes *attributes)
{
    for (uint32_t i = 0; i < attributes->n; i++)
        free((void *)attributes->hints[i].value.data);
    free(attributes->hints);
    *attributes = (struct nn_rt_attributes){0};
}
