/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NN_TESTS_FIND_DEVICE_H
#define NN_TESTS_FIND_DEVICE_H

#include <android/NeuralNetworks.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* find_device() - by name; NULL: there is none, or the library fails. */
static inline ANeuralNetworksDevice *find_device(const char *wanted)
{
    uint32_t n = 0;

    if (ANeuralNetworks_getDeviceCount(&n) != ANEURALNETWORKS_NO_ERROR)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;

        if (ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR &&
            ANeuralNetworksDevice_getName(device, &name) == ANEURALNETWORKS_NO_ERROR &&
            strcmp(name, wanted) == 0)
            return device;
    }
    return NULL;
}

#endif
