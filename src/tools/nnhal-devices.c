/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-devices.c - nnhal devices: the list that every application sees */
#include "nnhal.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct description {
    const char *name;
    const char *version;
    const char *type;
    int64_t feature_level;
    struct nnhal_where where;
};

static const char usage[] =
    "usage: nnhal devices [OPTION]...\n"
    "Lists the devices that applications see: name, type, feature level, version, how the\n"
    "driver is reached (embedded, private, service), its process, and where it lies.\n"
    "\n"
    "  --mode auto|service|private|embedded  how devices are reached (NNHAL_MODE)\n"
    "  --json                                one object per device and line\n"
    "  --help                                this text\n"
    "\n"
    "The exit status is 0 if there is a device, 1 if there is none.\n";

static const char *type_name(int32_t type)
{
    static const char *const names[] = {"unknown", "other", "cpu", "gpu", "accelerator"};

    return type >= 0 && type < 5 ? names[type] : "unknown";
}

static bool describe(uint32_t index, struct description *ret)
{
    ANeuralNetworksDevice *device;
    int32_t type = 0;

    ret->where.size = sizeof(ret->where);
    if (ANeuralNetworks_getDevice(index, &device) || ANeuralNetworksDevice_getType(device, &type))
        return false;
    ret->type = type_name(type);
    return !ANeuralNetworksDevice_getName(device, &ret->name) &&
           !ANeuralNetworksDevice_getVersion(device, &ret->version) &&
           !ANeuralNetworksDevice_getFeatureLevel(device, &ret->feature_level) &&
           !nnhal_device_get_where(device, &ret->where);
}

static void print_text(const struct description *description)
{
    printf("%-18s %-12s %-8lld %-10s %-9s %7d  %s\n", description->name, description->type,
           (long long)description->feature_level, description->version, description->where.way_name,
           (int)description->where.pid,
           description->where.path[0] ? description->where.path : "(linked in)");
}

static void print_member(const char *name, const char *value)
{
    printf(", \"%s\": ", name);
    nnhal_print_json_string(value);
}

static void print_json(const struct description *description)
{
    printf("{\"name\": ");
    nnhal_print_json_string(description->name);
    print_member("type", description->type);
    printf(", \"feature_level\": %lld", (long long)description->feature_level);
    print_member("version", description->version);
    print_member("mode", description->where.way_name);
    printf(", \"pid\": %d", (int)description->where.pid);
    print_member("path", description->where.path);
    printf("}\n");
}

static int list(bool is_json)
{
    struct description description;
    uint32_t n = 0;

    if (ANeuralNetworks_getDeviceCount(&n))
        return NNHAL_EXIT_FAILED;
    if (!n) {
        fputs("nnhal devices: there is none. Install a driver, or name its directory in\n"
              "NNHAL_DRIVER_PATH; NNHAL_LOG=warning tells what was left out and why.\n",
              stderr);
        return NNHAL_EXIT_FAILED;
    }
    if (!is_json)
        printf("%-18s %-12s %-8s %-10s %-9s %7s  %s\n", "NAME", "TYPE", "LEVEL", "VERSION", "MODE",
               "PID", "PATH");
    for (uint32_t i = 0; i < n; i++) {
        if (!describe(i, &description))
            return NNHAL_EXIT_FAILED;
        if (is_json)
            print_json(&description);
        else
            print_text(&description);
    }
    return NNHAL_EXIT_OK;
}

int nnhal_devices(int argc, char **argv)
{
    static const struct option known[] = {
        {"mode", required_argument, NULL, 'm'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool is_json = false;
    int option;

    while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        switch (option) {
        case 'm':
            if (nnhal_set_mode(optarg))
                return NNHAL_EXIT_USAGE;
            break;
        case 'j':
            is_json = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return NNHAL_EXIT_OK;
        default:
            return NNHAL_EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "nnhal devices: '%s' is not understood\n", argv[optind]);
        return NNHAL_EXIT_USAGE;
    }
    return list(is_json);
}
