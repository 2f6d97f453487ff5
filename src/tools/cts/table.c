/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - what a driver declares of itself
 *
 * The rules are those of a host, which would not load the driver otherwise, but says one sentence. */
#include "cts.h"
#include "direct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void check(struct cts *cts, const char *name, bool is_right, const char *why)
{
    if (cts_wants(cts, "%s", name))
        cts_expect(cts, is_right, why);
}

/* -- what it is called -- */

static bool is_text(const char *text, size_t most)
{
    return text && *text && strnlen(text, most + 1) <= most;
}

static bool is_name(const char *name)
{
    return is_text(name, NNHAL_MAX_NAME_BYTES) && *name != '.' &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-")];
}

static bool is_type(uint32_t type)
{
    return type >= NNHAL_DEVICE_OTHER && type <= NNHAL_DEVICE_ACCELERATOR;
}

static bool is_level(int64_t level)
{
    static const int64_t levels[] = {
        NNHAL_FEATURE_LEVEL_1, NNHAL_FEATURE_LEVEL_2, NNHAL_FEATURE_LEVEL_3, NNHAL_FEATURE_LEVEL_4,
        NNHAL_FEATURE_LEVEL_5, NNHAL_FEATURE_LEVEL_6, NNHAL_FEATURE_LEVEL_7, NNHAL_FEATURE_LEVEL_8};

    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (level == levels[i])
            return true;
    return false;
}

/* -- calls -- */

/* close() may be missing. */
static bool has_calls(const struct nnhal_driver *table)
{
    return table->open && table->get_supported_operations && table->prepare && table->release &&
           table->execute;
}

static bool has_whole_groups(const struct nnhal_driver *table)
{
    bool has_buffers = table->allocate_buffer;

    return has_buffers == !!table->release_buffer && has_buffers == !!table->copy_to &&
           has_buffers == !!table->copy_from && !table->burst_opened == !table->burst_closed &&
           !table->execute_fenced == !table->cancel_fenced &&
           (table->import_memory || !table->release_memory);
}

static bool has_whole_cache(const struct nnhal_driver *table)
{
    return table->n_model_cache_files <= NNHAL_MAX_CACHE_FILES &&
           table->n_data_cache_files <= NNHAL_MAX_CACHE_FILES &&
           (table->prepare_from_cache ||
            (!table->n_model_cache_files && !table->n_data_cache_files));
}

/* -- capabilities -- */

static bool is_performance(const struct nnhal_performance_info *info)
{
    return isfinite(info->exec_time) && info->exec_time > 0 && isfinite(info->power_usage) &&
           info->power_usage > 0;
}

static bool are_of_operands(const struct nnhal_operand_performance *entries, uint32_t n)
{
    if (n > 0 && !entries)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!is_performance(&entries[i].info) || entries[i].type == NNHAL_SUBGRAPH ||
            (i > 0 && entries[i].type <= entries[i - 1].type))
            return false;
    return true;
}

static bool are_capabilities(const struct nnhal_capabilities *capabilities)
{
    return capabilities && is_performance(&capabilities->relaxed_scalar) &&
           is_performance(&capabilities->relaxed_tensor) &&
           is_performance(&capabilities->if_performance) &&
           is_performance(&capabilities->while_performance) &&
           are_of_operands(capabilities->operand_performance, capabilities->n_operand_performance);
}

/* -- extensions -- */

static bool is_extension(const struct nnhal_extension *extension)
{
    const struct nnhal_extension_operand_type *types = extension->operand_types;

    if (!is_name(extension->name) || strchr(extension->name, '-') ||
        !strchr(extension->name, '.') || (extension->n_operand_types > 0 && !types))
        return false;
    for (uint32_t i = 0; i < extension->n_operand_types; i++) {
        if (types[i].type > UINT16_MAX || types[i].byte_size == 0)
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (types[k].type == types[i].type)
                return false;
    }
    return true;
}

static bool are_extensions(const struct nnhal_extension *extensions, uint32_t n)
{
    if (n > NNHAL_MAX_EXTENSIONS || (n > 0 && !extensions))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_extension(&extensions[i]))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(extensions[k].name, extensions[i].name) == 0)
                return false;
    }
    return true;
}

/* -- checks -- */

/* A host takes no driver that fails one of these. */
static void check_table(struct cts *cts, const struct cts_direct *direct)
{
    const struct nnhal_driver *table = direct->table;

    check(cts, "the table's size",
          direct->table_size >= offsetof(struct nnhal_driver, execute) + sizeof(table->execute),
          "the table is too small for what every driver has");
    check(cts, "the interface's version", table->abi == NNHAL_DRIVER_ABI,
          "abi is not NNHAL_DRIVER_ABI");
    check(cts, "the name", is_name(table->name),
          "name is not [a-z0-9_.-]+, is too long, or begins with a dot");
    check(cts, "the version", is_text(table->version, NNHAL_MAX_NAME_BYTES),
          "version is empty or too long");
    check(cts, "the type", is_type(table->type), "type is not an enum nnhal_device_type");
    check(cts, "the feature level", is_level(table->feature_level),
          "feature_level is not an NNHAL_FEATURE_LEVEL");
    check(cts, "the calls that every driver has", has_calls(table), "one of them is NULL");
    check(cts, "calls that belong together", has_whole_groups(table),
          "some of the calls for buffers, bursts, fences or memories are there without the others");
    check(cts, "cache files", has_whole_cache(table), "too many, or without prepare_from_cache()");
    check(cts, "capabilities", are_capabilities(table->capabilities),
          "a time or power is not a finite number above 0, or operands are not sorted by type");
    check(
        cts, "extensions", are_extensions(table->extensions, table->n_extensions),
        "a name is not [a-z0-9_.]+ with a dot, a type has no size or is beyond 16 bits, or one is "
        "there twice");
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
    check_table(cts, &direct);
    if (has_calls(direct.table))
        check_opening(cts, &direct);
}
