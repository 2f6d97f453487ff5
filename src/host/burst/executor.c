/* SPDX-License-Identifier: Apache-2.0 */
#include "host/burst/executor.h"

#include "host/services.h"

#include <stdlib.h>

bool nn_host_has_executors(const struct nn_host *host)
{
    return host->driver.open_executor != NULL;
}

uint32_t nn_burst_executor_open(struct nn_call *call, struct nn_burst_executor *executor,
                                const struct nn_prepared *prepared)
{
    const struct nnhal_driver *driver = &prepared->host->driver;
    struct nnhal_burst_executor table = {.size = sizeof(table)};
    uint32_t status;

    executor->host = prepared->host;
    pthread_mutex_init(&executor->lock, NULL);
    if (!driver->open_executor)
        return NNHAL_NONE;
    nn_services_clear();
    status = nn_call_check_driver(call, driver->open_executor(prepared->driver_prepared, &table),
                                  "open_executor");
    if (status != NNHAL_NONE || !table.execute)
        return status;
    executor->table = table; /* closed from now on */
    if (table.n_keys > NNHAL_BURST_MAX_KEYS ||
        (table.n_keys && (!table.add_memory || !table.remove_memory)))
        return nn_call_driver_fault(call, "its executor has %u keys, or no callbacks for memories",
                                    table.n_keys);
    executor->entries = calloc((size_t)table.n_keys + 1, sizeof(*executor->entries));
    return executor->entries ? NNHAL_NONE : nn_call_fail_no_memory(call);
}

/* -- under the lock ------------------------------------------------------------ */

static void remove_entry(struct nn_burst_executor *executor, uint32_t key)
{
    struct nn_burst_executor_entry *entry = &executor->entries[key];

    executor->table.remove_memory(executor->table.ctx, key);
    nn_memory_unref(entry->memory);
    *entry = (struct nn_burst_executor_entry){.memory = NULL};
}

static uint32_t find_entry(const struct nn_burst_executor *executor, const struct nn_memory *memory)
{
    for (uint32_t key = 0; key < executor->table.n_keys; key++)
        if (executor->entries[key].memory == memory)
            return key;
    return NNHAL_BURST_NO_KEY;
}

/* A free key, or the least recently used one that is not in this run. */
static uint32_t make_room(struct nn_burst_executor *executor)
{
    uint32_t oldest = NNHAL_BURST_NO_KEY;

    for (uint32_t key = 0; key < executor->table.n_keys; key++) {
        const struct nn_burst_executor_entry *entry = &executor->entries[key];

        if (!entry->memory)
            return key;
        if (entry->last_used < executor->n_runs &&
            (oldest == NNHAL_BURST_NO_KEY ||
             entry->last_used < executor->entries[oldest].last_used))
            oldest = key;
    }
    if (oldest != NNHAL_BURST_NO_KEY)
        remove_entry(executor, oldest);
    return oldest;
}

static uint32_t add_entry(struct nn_call *call, struct nn_burst_executor *executor,
                          struct nn_memory *memory, uint32_t *ret_key)
{
    uint32_t key = make_room(executor), status;
    const struct nnhal_burst_memory of = {
        .size = sizeof(of),
        .key = key,
        .is_writable = memory->is_writable,
        .data = memory->view,
        .n_bytes = memory->n_view,
    };

    *ret_key = key;
    if (key == NNHAL_BURST_NO_KEY)
        return NNHAL_NONE;
    nn_services_clear();
    status = nn_call_check_driver(call, executor->table.add_memory(executor->table.ctx, &of),
                                  "add_memory");
    if (status != NNHAL_NONE)
        return status;
    nn_object_ref(&memory->object);
    executor->entries[key].memory = memory;
    return NNHAL_NONE;
}

static uint32_t find_keys(struct nn_call *call, struct nn_burst_executor *executor,
                          const struct nn_binding *binding, uint32_t *keys)
{
    uint32_t status = NNHAL_NONE;

    /* Those that are there already first, so that none of them is taken out. */
    for (uint32_t i = 0; i < binding->n_pools; i++) {
        keys[i] = NNHAL_BURST_NO_KEY;
        if (binding->pools[i].memory)
            keys[i] = find_entry(executor, binding->pools[i].memory);
        if (keys[i] != NNHAL_BURST_NO_KEY)
            executor->entries[keys[i]].last_used = executor->n_runs;
    }
    for (uint32_t i = 0; i < binding->n_pools && status == NNHAL_NONE; i++) {
        struct nn_memory *memory = binding->pools[i].memory;

        if (keys[i] != NNHAL_BURST_NO_KEY || !memory || !memory->view)
            continue;
        keys[i] = find_entry(executor, memory); /* an earlier pool may be the same */
        if (keys[i] == NNHAL_BURST_NO_KEY)
            status = add_entry(call, executor, memory, &keys[i]);
        if (status == NNHAL_NONE && keys[i] != NNHAL_BURST_NO_KEY)
            executor->entries[keys[i]].last_used = executor->n_runs;
    }
    return status;
}

static void remove_doomed(struct nn_burst_executor *executor)
{
    if (!executor->has_doomed)
        return;
    executor->has_doomed = false;
    for (uint32_t key = 0; key < executor->table.n_keys; key++)
        if (executor->entries[key].memory && executor->entries[key].is_doomed)
            remove_entry(executor, key);
}

/* -------------------------------------------------------------------------------- */

uint32_t nn_burst_executor_begin(struct nn_call *call, struct nn_burst_executor *executor,
                                 const struct nn_binding *binding, const uint32_t **ret_keys)
{
    uint32_t *keys = nn_arena_new_n(call->arena, uint32_t, binding->n_pools);
    uint32_t status;

    if (!keys)
        return nn_call_fail_no_memory(call);
    pthread_mutex_lock(&executor->lock);
    executor->n_runs++;
    status = find_keys(call, executor, binding, keys);
    executor->is_running = status == NNHAL_NONE;
    pthread_mutex_unlock(&executor->lock);
    *ret_keys = keys;
    return status;
}

void nn_burst_executor_end(struct nn_burst_executor *executor, const struct nn_binding *binding,
                           bool forgets)
{
    pthread_mutex_lock(&executor->lock);
    executor->is_running = false;
    for (uint32_t i = 0; forgets && i < binding->n_pools; i++) {
        uint32_t key = binding->pools[i].memory ? find_entry(executor, binding->pools[i].memory)
                                                : NNHAL_BURST_NO_KEY;

        if (key != NNHAL_BURST_NO_KEY)
            executor->entries[key].is_doomed = executor->has_doomed = true;
    }
    remove_doomed(executor);
    pthread_mutex_unlock(&executor->lock);
}

void nn_burst_executor_forget(struct nn_burst_executor *executor, const struct nn_memory *memory)
{
    uint32_t key;

    pthread_mutex_lock(&executor->lock);
    key = memory ? find_entry(executor, memory) : NNHAL_BURST_NO_KEY;
    if (key != NNHAL_BURST_NO_KEY) {
        executor->entries[key].is_doomed = executor->has_doomed = true;
        if (!executor->is_running)
            remove_doomed(executor);
    }
    pthread_mutex_unlock(&executor->lock);
}

void nn_burst_executor_close(struct nn_burst_executor *executor)
{
    if (!executor->host)
        return;
    for (uint32_t key = 0; executor->entries && key < executor->table.n_keys; key++)
        if (executor->entries[key].memory)
            remove_entry(executor, key);
    if (executor->table.close)
        executor->table.close(executor->table.ctx);
    free(executor->entries);
    pthread_mutex_destroy(&executor->lock);
}
