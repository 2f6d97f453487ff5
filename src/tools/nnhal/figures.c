/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"

#include "tool.h"

#include <nnhal/ext.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static ANeuralNetworksDevice *device_at(uint32_t index, const char **ret_name)
{
    ANeuralNetworksDevice *device = NULL;

    *ret_name = "?";
    ANeuralNetworks_getDevice(index, &device);
    ANeuralNetworksDevice_getName(device, ret_name);
    return device;
}

/* Returns: false if there is no such figure, or the device was not measured. */
static bool get_figure(const ANeuralNetworksDevice *device, uint32_t i, struct nnhal_figure *ret)
{
    *ret = (struct nnhal_figure){.size = sizeof(*ret)};
    return nnhal_device_get_figure(device, i, ret) == ANEURALNETWORKS_NO_ERROR;
}

int figures_measure(bool is_missing_alone)
{
    int status = TOOL_OK;
    uint32_t n = 0;

    ANeuralNetworks_getDeviceCount(&n);
    for (uint32_t i = 0; i < n; i++) {
        const char *name;
        ANeuralNetworksDevice *device = device_at(i, &name);
        struct nnhal_figure figure;
        char why[512] = "";

        if ((is_missing_alone && get_figure(device, 0, &figure)) ||
            nnhal_device_calibrate(device) == ANEURALNETWORKS_NO_ERROR)
            continue;
        nnhal_get_last_error(why, sizeof(why));
        status = tool_error(TOOL_FAILED, "%s: %s", name, why);
    }
    return status;
}

static bool is_time(const struct nnhal_figure *figure)
{
    return strcmp(figure->name, "launch") == 0 || strcmp(figure->name, "move") == 0;
}

static void print_figure(const char *device, const struct nnhal_figure *figure)
{
    printf("%-20s %-20s ", device, figure->name);
    if (!figure->value)
        printf("%12s\n", "-");
    else if (is_time(figure))
        printf("%12.1f us%s\n", (double)figure->value / 1000,
               strcmp(figure->name, "move") == 0 ? " for 1 MiB" : "");
    else
        printf("%12.6f of plain C\n", (double)figure->value / 1e6);
}

void figures_print(void)
{
    uint32_t n = 0;

    ANeuralNetworks_getDeviceCount(&n);
    printf("\n%-20s %-20s %12s\n", "NAME", "FIGURE", "MEASURED");
    for (uint32_t d = 0; d < n; d++) {
        struct nnhal_figure figure;
        const char *name;
        const ANeuralNetworksDevice *device = device_at(d, &name);

        for (uint32_t i = 0; get_figure(device, i, &figure); i++)
            print_figure(name, &figure);
    }
}

cJSON *figures_to_json(const ANeuralNetworksDevice *device)
{
    struct nnhal_figure figure;
    cJSON *object = NULL;

    for (uint32_t i = 0; get_figure(device, i, &figure); i++) {
        if (!object)
            object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, figure.name, (double)figure.value);
    }
    return object;
}
