/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/cache-writer.h"

#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"

#include <nnhal/ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each queued entry holds descriptors. An application that compiles faster than the disk writes is
 * slowed down to the disk's speed before it runs out of them. */
#define MAX_QUEUED 16

struct cache_write {
    struct cache_write *next;
    struct nn_folder folder;
    struct nn_entry entry;
    struct nn_history_record record;
};

static pthread_mutex_t writer_lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t writer_idle = PTHREAD_COND_INITIALIZER;
static struct cache_write *first_write; /* the one in progress is the first until it has ended */
static uint32_t n_queued;
static bool is_running;

/* The compilation has told its outcome already: a failure is logged and noted, and the entry is
 * compiled again the next time. */
static void write_commit(struct cache_write *write)
{
    int r = nn_entry_sync(&write->entry);

    if (r == 0)
        r = nn_entry_commit(&write->entry, NN_FOLDER_MAX_BYTES);
    if (r < 0) {
        write->record.outcome = NNHAL_CACHE_UNCACHED;
        snprintf(write->record.why, sizeof(write->record.why), "the entry cannot be kept: %s",
                 strerror(-r));
        nn_log("cache", NN_LOG_WARNING, "not cached: %s", write->record.why);
    }
    nn_history_write(&write->folder, &write->record);
    nn_entry_done(&write->entry);
    nn_folder_close(&write->folder);
}

static void *writer_main(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&writer_lock);
    while (first_write) {
        struct cache_write *write = first_write;

        pthread_mutex_unlock(&writer_lock);
        write_commit(write);
        pthread_mutex_lock(&writer_lock);
        first_write = write->next;
        n_queued--;
        free(write);
    }
    is_running = false;
    pthread_cond_broadcast(&writer_idle);
    pthread_mutex_unlock(&writer_lock);
    return NULL;
}

/* Under the lock. Returns: whether there is a thread. */
static bool writer_start(void)
{
    pthread_t thread;

    if (!is_running && nn_thread_start("nnhal-cache", writer_main, NULL, &thread) == 0) {
        pthread_detach(thread);
        is_running = true;
    }
    return is_running;
}

static void writer_append(struct cache_write *write)
{
    struct cache_write **link = &first_write;

    while (*link)
        link = &(*link)->next;
    *link = write;
    n_queued++;
}

/* Returns: whether a thread will write it. */
static bool writer_queue(struct cache_write *write)
{
    bool is_queued;

    pthread_mutex_lock(&writer_lock);
    is_queued = n_queued < MAX_QUEUED && writer_start();
    if (is_queued)
        writer_append(write);
    pthread_mutex_unlock(&writer_lock);
    return is_queued;
}

void nn_rt_cache_writer_submit(struct nn_folder *folder, struct nn_entry *entry,
                               const struct nn_history_record *record)
{
    struct cache_write now, *write = malloc(sizeof(*write));
    struct cache_write *target = write ? write : &now;

    *target = (struct cache_write){NULL, *folder, *entry, *record};
    target->entry.folder = &target->folder;
    *folder = (struct nn_folder){.fd = -1, .lock_fd = -1};
    nn_entry_init(entry);
    /* Without a thread, or with a full queue, the caller waits for the disk itself: an entry is
     * never lost for lack of either. */
    if (write && writer_queue(write))
        return;
    write_commit(target);
    free(write);
}

/* -- fork and exit ------------------------------------------------------------------ */

static void hold_writer(void)
{
    pthread_mutex_lock(&writer_lock);
}

static void let_writer_go(void)
{
    pthread_mutex_unlock(&writer_lock);
}

/* Nothing is removed and nothing unlocked: names and locks are the parent's. */
static void drop_writes(void)
{
    for (struct cache_write *write = first_write; write; write = write->next) {
        for (uint32_t i = 0; i < write->entry.n_model; i++)
            closep(&write->entry.model[i]);
        for (uint32_t i = 0; i < write->entry.n_data; i++)
            closep(&write->entry.data[i]);
        closep(&write->folder.lock_fd);
        closep(&write->folder.fd);
    }
    first_write = NULL;
    n_queued = 0;
    is_running = false;
    pthread_mutex_unlock(&writer_lock);
}

__attribute__((__constructor__)) static void watch_writer_forks(void)
{
    pthread_atfork(hold_writer, let_writer_go, drop_writes);
}

/* Short-lived programs compile, compute and exit: their entry is there the next time. */
__attribute__((__destructor__)) static void wait_for_writer(void)
{
    pthread_mutex_lock(&writer_lock);
    while (is_running)
        pthread_cond_wait(&writer_idle, &writer_lock);
    pthread_mutex_unlock(&writer_lock);
}
