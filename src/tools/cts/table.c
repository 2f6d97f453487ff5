/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - what a driver declares of itself */
#include "cts.h"
#include "direct.h"

#include <stdio.h>
#include <string.h>

static void check(struct cts *cts, const char *name, bool is_right, const char *why)
{
    if (cts_wants(cts, "%s", name))
        cts_expect(cts, is_right, why);
}

static bool is_name(const char *name)
{
    size_t n = name ? strlen(name) : 0;

    return n > 0 && n <= NNHAL_MAX_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == n;
}

static bool has_calls(const struct nnhal_driver *table)
{
    return table->open && table->close && table->get_supported_operations && table->prepare &&
           table->release && table->execute;
}

/* All of them, or none. */
static bool is_group(unsigned n, unsigned of)
{
    return n == 0 || n == of;
}

static bool has_whole_groups(const struct nnhal_driver *table)
{
    unsigned n_buffers = !!CTS_HAS(table, allocate_buffer) + !!CTS_HAS(table, release_buffer) +
                         !!CTS_HAS(table, copy_to) + !!CTS_HAS(table, copy_from);
    unsigned n_fenced = !!CTS_HAS(table, execute_fenced) + !!CTS_HAS(table, cancel_fenced);

    return is_group(n_buffers, 4) && is_group(n_fenced, 2);
}

static bool has_whole_cache(const struct nnhal_driver *table)
{
    unsigned n_files = table->n_model_cache_files + table->n_data_cache_files;

    return table->n_model_cache_files <= NNHAL_MAX_CACHE_FILES &&
           table->n_data_cache_files <= NNHAL_MAX_CACHE_FILES &&
           (n_files > 0) == !!CTS_HAS(table, prepare_from_cache);
}

static bool is_performance(const struct nnhal_performance_info *info)
{
    return info->exec_time > 0 && info->power_usage > 0;
}

static bool are_capabilities(const struct nnhal_capabilities *capabilities)
{
    if (!capabilities || !is_performance(&capabilities->relaxed_scalar) ||
        !is_performance(&capabilities->relaxed_tensor) ||
        capabilities->n_operand_performance > NNHAL_MAX_OPERAND_PERFORMANCES)
        return false;
    for (uint32_t i = 0; i < capabilities->n_operand_performance; i++)
        if (!is_performance(&capabilities->operand_performance[i].info))
            return false;
    return true;
}

static void check_table(struct cts *cts, const struct nnhal_driver *table)
{
    check(cts, "the table's size", table->size >= offsetof(struct nnhal_driver, prepare_from_cache),
          "the table is too small for what every driver has");
    check(cts, "the interface's version", table->abi == NNHAL_DRIVER_ABI,
          "abi is not NNHAL_DRIVER_ABI");
    check(cts, "the name", is_name(table->name), "name is not [a-z0-9_.-]+");
    check(cts, "the version", table->version && *table->version, "version is empty");
    check(cts, "the feature level", table->feature_level > 0, "feature_level is not above 0");
    check(cts, "the calls that every driver has", has_calls(table), "one of them is NULL");
    check(cts, "calls that belong together", has_whole_groups(table),
          "some of the calls for buffers, or for fences, are NULL and others are not");
    check(cts, "cache files", has_whole_cache(table),
          "files without prepare_from_cache(), or that without files, or too many");
    check(cts, "capabilities", are_capabilities(table->capabilities),
          "there are none, or a time or power is not above 0");
}

static void check_opening(struct cts *cts, struct cts_direct *direct)
{
    uint32_t status;

    if (!cts_wants(cts, "opened and closed"))
        return;
    status = cts_direct_open(direct);
    cts_direct_close(direct);
    cts_expect(cts, status == NNHAL_NONE, direct->why[0] ? direct->why : "open() failed");
}

void cts_table(struct cts *cts)
{
    struct cts_direct direct;
    const char *why = cts_direct_load(&direct, cts->options->driver);

    check(cts, "the module is loaded", !why, why);
    if (why)
        return;
    if (direct.table->name)
        cts_name_device(cts, direct.table->name);
    check_table(cts, direct.table);
    if (has_calls(direct.table))
        check_opening(cts, &direct);
}
