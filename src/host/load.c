/* SPDX-License-Identifier: Apache-2.0 */
#include "host/load.h"

#include "base/error.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int nn_why(struct nn_host_why *why, int r, const char *format, ...)
{
    va_list arguments;

    if (why) {
        va_start(arguments, format);
        vsnprintf(why->text, sizeof(why->text), format, arguments);
        va_end(arguments);
    }
    return nn_error_origin(r);
}

int nn_load_module(const char *path, struct nn_host_why *why, nn_driver_main *ret_main)
{
    void *module, *symbol;

    if (access(path, F_OK) < 0)
        return nn_why(why, -ENOENT,
                      "%s: %s; install the driver, or correct its name or NNHAL_DRIVER_PATH", path,
                      strerror(errno));
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module)
        return nn_why(why, -ELIBBAD, "%s cannot be loaded: %s", path, dlerror());
    symbol = dlsym(module, "nnhal_driver_main");
    if (!symbol) {
        dlclose(module);
        return nn_why(why, -ELIBBAD,
                      "%s is no driver: it does not export nnhal_driver_main; include "
                      "<nnhal/driver.h> where it is defined and give it default visibility",
                      path);
    }
    /* POSIX says that this conversion works for what dlsym() returns. */
    memcpy(ret_main, &symbol, sizeof(symbol));
    return 0;
}

bool nn_driver_name_is_well_formed(const char *name)
{
    size_t n = strnlen(name, NNHAL_MAX_NAME_BYTES + 1);

    return n > 0 && n <= NNHAL_MAX_NAME_BYTES && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == n;
}

bool nn_driver_version_is_well_formed(const char *version)
{
    size_t n = 0;

    while (n <= NNHAL_MAX_NAME_BYTES && version[n] >= ' ' && version[n] <= '~')
        n++;
    return n > 0 && n <= NNHAL_MAX_NAME_BYTES && !version[n];
}

static bool performance_is_well_formed(const struct nnhal_performance_info *info)
{
    return isfinite(info->exec_time) && info->exec_time > 0 && isfinite(info->power_usage) &&
           info->power_usage > 0;
}

/* What is wrong with the capabilities, as the end of a sentence; NULL: nothing. */
static const char *check_capabilities(const struct nnhal_capabilities *capabilities)
{
    if (!capabilities)
        return "capabilities is NULL";
    if (!performance_is_well_formed(&capabilities->relaxed_scalar) ||
        !performance_is_well_formed(&capabilities->relaxed_tensor) ||
        !performance_is_well_formed(&capabilities->if_performance) ||
        !performance_is_well_formed(&capabilities->while_performance))
        return "a performance is not a finite number above 0";
    if (capabilities->n_operand_performance && !capabilities->operand_performance)
        return "operand_performance is NULL";
    for (uint32_t i = 0; i < capabilities->n_operand_performance; i++) {
        const struct nnhal_operand_performance *entry = &capabilities->operand_performance[i];

        if (!performance_is_well_formed(&entry->info))
            return "a performance is not a finite number above 0";
        if (entry->type == NNHAL_SUBGRAPH)
            return "operand_performance has an entry for SUBGRAPH";
        if (i && entry->type <= entry[-1].type)
            return "operand_performance is not sorted by type, each once";
    }
    return NULL;
}

/* As Android names extensions: lower case, with a dot. */
static bool extension_name_is_well_formed(const char *name)
{
    size_t n = name ? strnlen(name, NNHAL_MAX_NAME_BYTES + 1) : 0;

    return n > 0 && n <= NNHAL_MAX_NAME_BYTES && strchr(name, '.') &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == n;
}

static const char *check_extension(const struct nnhal_extension *extension)
{
    if (!extension_name_is_well_formed(extension->name))
        return "an extension's name is not of [a-z0-9_.] with at least one dot";
    if (extension->n_operand_types && !extension->operand_types)
        return "an extension's operand_types is NULL";
    for (uint32_t i = 0; i < extension->n_operand_types; i++) {
        if (extension->operand_types[i].type > UINT16_MAX ||
            extension->operand_types[i].byte_size == 0)
            return "an extension's operand type is beyond 16 bits or has no size";
        for (uint32_t j = 0; j < i; j++)
            if (extension->operand_types[i].type == extension->operand_types[j].type)
                return "an extension names an operand type twice";
    }
    return NULL;
}

static const char *check_extensions(const struct nnhal_driver *driver)
{
    if (driver->n_extensions > NNHAL_MAX_EXTENSIONS)
        return "it has too many extensions";
    if (driver->n_extensions && !driver->extensions)
        return "extensions is NULL";
    for (uint32_t i = 0; i < driver->n_extensions; i++) {
        const char *wrong = check_extension(&driver->extensions[i]);

        if (wrong)
            return wrong;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(driver->extensions[i].name, driver->extensions[j].name) == 0)
                return "it has two extensions of one name";
    }
    return NULL;
}

static bool feature_level_is_known(int64_t level)
{
    return (level >= NNHAL_FEATURE_LEVEL_1 && level <= NNHAL_FEATURE_LEVEL_5) ||
           (level >= NNHAL_FEATURE_LEVEL_6 && level <= NNHAL_FEATURE_LEVEL_8);
}

static const char *check_identity(const struct nnhal_driver *driver)
{
    if (!driver->name || !nn_driver_name_is_well_formed(driver->name))
        return "name is not of [a-z0-9_.-], 1 to 255 bytes, or begins with a dot";
    if (!driver->version || !nn_driver_version_is_well_formed(driver->version))
        return "version is missing, or is not of 1 to 255 printable ASCII characters";
    if (driver->type < NNHAL_DEVICE_OTHER || driver->type > NNHAL_DEVICE_ACCELERATOR)
        return "type is not an enum nnhal_device_type";
    if (!feature_level_is_known(driver->feature_level))
        return "feature_level is not an NNHAL_FEATURE_LEVEL";
    return NULL;
}

static const char *check_callbacks(const struct nnhal_driver *driver)
{
    if (!driver->open || !driver->get_supported_operations || !driver->prepare ||
        !driver->release || !driver->execute)
        return "one of open, get_supported_operations, prepare, release and execute is NULL";
    if (driver->release_memory && !driver->import_memory)
        return "release_memory is there without import_memory";
    return NULL;
}

static const char *check_cache(const struct nnhal_driver *driver)
{
    if (driver->n_model_cache_files > NNHAL_MAX_CACHE_FILES ||
        driver->n_data_cache_files > NNHAL_MAX_CACHE_FILES)
        return "it needs too many cache files";
    if ((driver->n_model_cache_files || driver->n_data_cache_files) && !driver->prepare_from_cache)
        return "it has cache files, but prepare_from_cache is NULL";
    return NULL;
}

static const char *check_buffers(const struct nnhal_driver *driver)
{
    int n = !!driver->allocate_buffer + !!driver->release_buffer + !!driver->copy_to +
            !!driver->copy_from;

    return n == 0 || n == 4 ? NULL
                            : "it has one of allocate_buffer, release_buffer, copy_to and "
                              "copy_from, but not all four";
}

static const char *check_bursts(const struct nnhal_driver *driver)
{
    return !driver->burst_opened == !driver->burst_closed
               ? NULL
               : "it has one of burst_opened and burst_closed, but not both";
}

static const char *check_fenced(const struct nnhal_driver *driver)
{
    return !driver->execute_fenced == !driver->cancel_fenced
               ? NULL
               : "it has one of execute_fenced and cancel_fenced, but not both";
}

static const char *check_driver(const struct nnhal_driver *driver)
{
    const char *wrong = check_identity(driver);

    if (!wrong)
        wrong = check_capabilities(driver->capabilities);
    if (!wrong)
        wrong = check_extensions(driver);
    if (!wrong)
        wrong = check_callbacks(driver);
    if (!wrong)
        wrong = check_cache(driver);
    if (!wrong)
        wrong = check_buffers(driver);
    if (!wrong)
        wrong = check_bursts(driver);
    if (!wrong)
        wrong = check_fenced(driver);
    return wrong;
}

int nn_load_table(nn_driver_main driver_main, const char *configuration, struct nn_host_why *why,
                  struct nnhal_driver *driver)
{
    const struct nnhal_driver *theirs = driver_main(configuration);
    const char *wrong;

    if (!theirs)
        return nn_why(why, -ENODEV, "the driver cannot be used with configuration \"%s\"",
                      configuration ? configuration : "");
    if (theirs->size < offsetof(struct nnhal_driver, execute) + sizeof(theirs->execute))
        return nn_why(why, -EPROTO,
                      "the driver's table has %zu bytes, fewer than the first version's: set size "
                      "to sizeof(struct nnhal_driver)",
                      theirs->size);
    if (theirs->abi != NNHAL_DRIVER_ABI)
        return nn_why(why, -EPROTO,
                      "the driver speaks ABI %u, this host %d: build the driver with this host's "
                      "<nnhal/driver.h>",
                      theirs->abi, NNHAL_DRIVER_ABI);
    *driver = (struct nnhal_driver){.size = 0};
    memcpy(driver, theirs, theirs->size < sizeof(*driver) ? theirs->size : sizeof(*driver));
    driver->size = sizeof(*driver);
    wrong = check_driver(driver);
    if (wrong)
        return nn_why(why, -EPROTO, "the driver's table is malformed: %s", wrong);
    return 0;
}
