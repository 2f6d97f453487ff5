/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/extension.h"

#include "base/error.h"
#include "cache/hash.h"
#include "model/types.h"
#include "model/validate.h"
#include "runtime/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Types are int32_t in the API: the highest bit stays 0. */
#define MAX_PREFIX 0x7fff

struct known_name {
    char *text;
    uint64_t sum; /* so that most texts need not be compared */
};

/* The name of prefix i is names[i - 1]. */
static struct {
    pthread_mutex_t lock;
    uint32_t n;
    struct known_name *names;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- prefixes ----------------------------------------------------------------------- */

/* Under the lock. */
static uint32_t table_find(const char *name, uint64_t sum)
{
    uint32_t i = 0;

    while (i < table.n && (table.names[i].sum != sum || strcmp(table.names[i].text, name) != 0))
        i++;
    return i;
}

/* Under the lock. Returns: 0, -ENOMEM. */
static int table_add(const char *name, uint64_t sum)
{
    struct known_name *names = NULL;
    char *copy = strdup(name);

    if (copy)
        names = reallocarray(table.names, table.n + 1, sizeof(*names));
    if (!names) {
        free(copy);
        return nn_error_origin(-ENOMEM);
    }
    table.names = names;
    names[table.n++] = (struct known_name){copy, sum};
    return 0;
}

int nn_rt_extension_get_prefix(const char *name, struct nn_why *why, uint32_t *ret_prefix)
{
    uint64_t sum;
    uint32_t i;
    int r = 0;

    if (strnlen(name, NNHAL_MAX_NAME_BYTES + 1) > NNHAL_MAX_NAME_BYTES)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "the name of an extension has at most %d bytes", NNHAL_MAX_NAME_BYTES);
    sum = nn_hash_checksum(name, strlen(name));
    pthread_mutex_lock(&table.lock);
    i = table_find(name, sum);
    if (i == MAX_PREFIX)
        r = nn_fail(why, ANEURALNETWORKS_BAD_DATA, "more than %d extensions in one process",
                    MAX_PREFIX);
    else if (i == table.n)
        r = table_add(name, sum);
    pthread_mutex_unlock(&table.lock);
    if (!r)
        *ret_prefix = i + 1;
    return r;
}

/* NULL: no caller has asked for that prefix. Names stay where they are. */
static const char *name_of(uint32_t type)
{
    uint32_t prefix = type >> 16;
    const char *name;

    pthread_mutex_lock(&table.lock);
    name = prefix && prefix <= table.n ? table.names[prefix - 1].text : NULL;
    pthread_mutex_unlock(&table.lock);
    return name;
}

/* -- what devices have ------------------------------------------------------------------ */

static const struct nnhal_extension_operand_type *find_in(const struct nnhal_extension *extension,
                                                          uint32_t code)
{
    for (uint32_t i = 0; extension && i < extension->n_operand_types; i++)
        if (extension->operand_types[i].type == code)
            return &extension->operand_types[i];
    return NULL;
}

static bool is_same(const struct nnhal_extension_operand_type *a,
                    const struct nnhal_extension_operand_type *b)
{
    return a->byte_size == b->byte_size && !a->is_tensor == !b->is_tensor;
}

int nn_rt_extension_find_type(uint32_t type, struct nn_why *why,
                              const struct nnhal_extension_operand_type **ret_type)
{
    const struct nn_rt_registry *registry = nn_rt_registry_get();
    const struct nnhal_extension_operand_type *found = NULL;
    const char *name = name_of(type);

    for (uint32_t i = 0; name && i < registry->n_devices; i++) {
        const struct nnhal_extension_operand_type *other = find_in(
            nn_rt_device_facts_find(&registry->devices[i]->facts, name), type & UINT16_MAX);

        if (found && other && !is_same(found, other))
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "devices contradict each other about operand type %u of %s",
                           type & UINT16_MAX, name);
        found = found ? found : other;
    }
    if (!found)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "no device has operand type %u of %s",
                       type & UINT16_MAX, name ? name : "that extension");
    *ret_type = found;
    return 0;
}

uint32_t nn_rt_extension_size(const void *ctx, uint32_t type)
{
    const struct nnhal_extension_operand_type *found;
    struct nn_why why;

    return nn_rt_extension_find_type(type, &why, &found) == 0 ? found->byte_size : 0;
}

bool nn_rt_extension_bytes(uint32_t type, uint32_t n_dims, const uint32_t *dims,
                           uint64_t *ret_bytes)
{
    struct nnhal_operand sized = {.type = type};

    if (nn_type_is_extension(type))
        sized.location.length = nn_rt_extension_size(NULL, type);
    return nn_io_bytes(&sized, n_dims, dims, ret_bytes);
}

int nn_rt_extension_check_operation(uint32_t type, struct nn_why *why)
{
    const struct nn_rt_registry *registry = nn_rt_registry_get();
    const char *name = name_of(type);

    for (uint32_t i = 0; name && i < registry->n_devices; i++)
        if (nn_rt_device_facts_find(&registry->devices[i]->facts, name))
            return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "no device has the extension %s",
                   name ? name : "of this operation");
}

/* -- of a model ------------------------------------------------------------------------------ */

/* The list of a model while it grows. */
struct prefix_list {
    struct nn_why *why;
    uint32_t n;
    struct nnhal_extension_prefix *prefixes;
};

static int list_add(struct prefix_list *list, uint32_t type)
{
    if (!nn_type_is_extension(type))
        return 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->prefixes[i].prefix == type >> 16)
            return 0;
    if (list->n == NNHAL_MAX_EXTENSIONS)
        return nn_fail(list->why, ANEURALNETWORKS_BAD_DATA, "a model uses at most %d extensions",
                       NNHAL_MAX_EXTENSIONS);
    list->prefixes[list->n++] = (struct nnhal_extension_prefix){.name = name_of(type),
                                                                .prefix = type >> 16};
    return 0;
}

static int list_add_graph(struct prefix_list *list, const struct nnhal_subgraph *graph)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < graph->n_operands; i++)
        r = list_add(list, graph->operands[i].type);
    for (uint32_t i = 0; !r && i < graph->n_operations; i++)
        r = list_add(list, graph->operations[i].type);
    return r;
}

static int compare_names(const void *a, const void *b)
{
    const struct nnhal_extension_prefix *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int nn_rt_extension_list(struct nnhal_model *model, struct nn_arena *arena, struct nn_why *why)
{
    struct nnhal_extension_prefix prefixes[NNHAL_MAX_EXTENSIONS];
    struct prefix_list list = {.why = why, .prefixes = prefixes};
    int r = list_add_graph(&list, &model->main);

    for (uint32_t i = 0; !r && i < model->n_referenced; i++)
        r = list_add_graph(&list, &model->referenced[i]);
    if (r || !list.n)
        return r;
    qsort(prefixes, list.n, sizeof(prefixes[0]), compare_names);
    model->extension_prefixes = nn_arena_dup(arena, prefixes, list.n * sizeof(prefixes[0]));
    if (!model->extension_prefixes)
        return nn_error_origin(-ENOMEM);
    model->n_extension_prefixes = list.n;
    return 0;
}
