/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/settings.h"

#include "base/variable.h"

#include <stdlib.h>
#include <string.h>

enum nn_rt_partitioning_mode nn_rt_settings_partitioning(void)
{
    static const char *const names[] = {"auto", "off", "only", "without-fallback", NULL};
    int chosen = nn_variable_choose(NN_VARIABLE_PARTITION, names);

    return chosen >= 0 ? (enum nn_rt_partitioning_mode)chosen : NN_RT_PARTITIONING_AUTO;
}

uint32_t nn_rt_settings_max_parts(void)
{
    const char *text = nn_variable_get(NN_VARIABLE_PARTITIONS);
    unsigned long wanted = text && *text ? strtoul(text, NULL, 10) : NN_RT_SETTINGS_MOST_PARTS;

    if (wanted > NN_RT_SETTINGS_MOST_PARTS)
        return NN_RT_SETTINGS_MOST_PARTS;
    return wanted ? (uint32_t)wanted : 1;
}

/* A device is meant by its name, or by what stands behind "nnhal-" in it. */
static bool is_meant(const ANeuralNetworksDevice *device, const char *name, size_t n)
{
    const char *tail = strncmp(device->name, "nnhal-", 6) == 0 ? device->name + 6 : device->name;

    return (strlen(device->name) == n && strncmp(device->name, name, n) == 0) ||
           (strlen(tail) == n && strncmp(tail, name, n) == 0);
}

/* The place of the device that is meant, among those from first on; n_devices: there is none. */
static uint32_t find_meant(ANeuralNetworksDevice *const *devices, uint32_t first,
                           uint32_t n_devices, const char *name, size_t n)
{
    uint32_t i = first;

    while (i < n_devices && !is_meant(devices[i], name, n))
        i++;
    return i;
}

static void move_device(ANeuralNetworksDevice **devices, uint32_t from, uint32_t to)
{
    ANeuralNetworksDevice *device = devices[from];

    memmove(devices + to + 1, devices + to, (from - to) * sizeof(*devices));
    devices[to] = device;
}

bool nn_rt_settings_choose_devices(const char *list, ANeuralNetworksDevice **devices,
                                   uint32_t *n_devices)
{
    uint32_t n_chosen = 0;
    bool has_names = false;

    for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
        size_t n = strcspn(list, ",");
        bool is_denied = list[0] == '-';
        uint32_t i = find_meant(devices, n_chosen, *n_devices, list + is_denied, n - is_denied);

        has_names |= !is_denied && n;
        if (i == *n_devices)
            continue;
        if (is_denied)
            memmove(devices + i, devices + i + 1, (--*n_devices - i) * sizeof(*devices));
        else
            move_device(devices, i, n_chosen++);
    }
    if (has_names)
        *n_devices = n_chosen;
    return has_names;
}
