/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/session-bursts.h"

#include "base/error.h"

#include <stdlib.h>

void nn_rt_session_bursts_init(struct nn_rt_session_bursts *bursts)
{
    *bursts = (struct nn_rt_session_bursts){.first = NULL};
    pthread_mutex_init(&bursts->lock, NULL);
}

void nn_rt_session_bursts_done(struct nn_rt_session_bursts *bursts)
{
    pthread_mutex_destroy(&bursts->lock);
}

int nn_rt_session_bursts_add(struct nn_rt_session_bursts *bursts, struct nn_burst *burst,
                             struct nn_rt_session_burst **ret_entry)
{
    struct nn_rt_session_burst *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return nn_error_origin(-ENOMEM);
    entry->n_refs = 1;
    entry->burst = burst;
    pthread_mutex_lock(&bursts->lock);
    entry->next = bursts->first;
    bursts->first = entry;
    pthread_mutex_unlock(&bursts->lock);
    *ret_entry = entry;
    return 0;
}

static void entry_unlink(struct nn_rt_session_bursts *bursts, struct nn_rt_session_burst *entry)
{
    struct nn_rt_session_burst **link = &bursts->first;

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
}

struct nn_rt_session_burst *nn_rt_session_burst_unref(struct nn_rt_session_bursts *bursts,
                                                      struct nn_rt_session_burst *entry,
                                                      bool is_alive)
{
    bool is_last;

    if (!entry)
        return NULL;
    pthread_mutex_lock(&bursts->lock);
    is_last = --entry->n_refs == 0;
    if (is_last)
        entry_unlink(bursts, entry);
    pthread_mutex_unlock(&bursts->lock);
    if (is_last) {
        nn_burst_free(entry->burst, is_alive);
        free(entry);
    }
    return NULL;
}

/* The entry after previous (NULL: the first), with a reference; gives up previous. The reference
 * keeps the entry in the list, so that the walk can go on from it without the lock. */
static struct nn_rt_session_burst *entry_next(struct nn_rt_session_bursts *bursts,
                                              struct nn_rt_session_burst *previous, bool is_alive)
{
    struct nn_rt_session_burst *entry;

    pthread_mutex_lock(&bursts->lock);
    entry = previous ? previous->next : bursts->first;
    if (entry)
        entry->n_refs++;
    pthread_mutex_unlock(&bursts->lock);
    nn_rt_session_burst_unref(bursts, previous, is_alive);
    return entry;
}

void nn_rt_session_bursts_drop_memory(struct nn_rt_session_bursts *bursts, uint64_t memory,
                                      bool is_alive)
{
    struct nn_rt_session_burst *entry = NULL;

    while ((entry = entry_next(bursts, entry, is_alive)))
        nn_burst_drop_memory(entry->burst, memory, is_alive);
}

/* Under the lock, which nothing here holds for long: no entry can be freed meanwhile. */
void nn_rt_session_bursts_stop_all(struct nn_rt_session_bursts *bursts)
{
    pthread_mutex_lock(&bursts->lock);
    for (struct nn_rt_session_burst *entry = bursts->first; entry; entry = entry->next)
        nn_burst_stop(entry->burst);
    pthread_mutex_unlock(&bursts->lock);
}

void nn_rt_session_bursts_request_memories(struct nn_rt_session_bursts *bursts,
                                           const struct nn_hal_get_memories_event *event)
{
    pthread_mutex_lock(&bursts->lock);
    for (struct nn_rt_session_burst *entry = bursts->first; entry; entry = entry->next)
        if (nn_burst_id(entry->burst) == event->burst)
            nn_burst_resend_memories(entry->burst, event->slots, event->n_slots);
    pthread_mutex_unlock(&bursts->lock);
}
