/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - executions that wait for fences
 *
 * A device with a queue of its own would be given the execution and its fences in
 * queue_add(), and its interrupt would lead to end_fenced(). This one has a
 * thread, which waits for the fences of all executions at a time, so that one
 * whose fences never signal delays no other, and computes what may begin. The
 * thread is started by the first execution. */
#include "queue.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RETRY_MS = 10 };

enum wait_state { WAITING, READY, FAILED };

struct entry {
    struct entry *next;
    void *prepared;
    const struct nnhal_fenced *fenced;
    enum wait_state state;
    bool has_signalled[NNHAL_MAX_FENCES]; /* fences that are not to be polled again */
};

/* -- fences ---------------------------------------------------------------------- */

static struct pollfd poll_for(int32_t fd)
{
    return (struct pollfd){.fd = fd, .events = POLLIN};
}

static enum wait_state fence_state(short events)
{
    if (events & (POLLERR | POLLNVAL))
        return FAILED;
    if (events & POLLIN)
        return READY;
    return events & POLLHUP ? FAILED : WAITING;
}

/* How all fences of an execution stand; what was cancelled waits for none. */
static enum wait_state look(struct entry *entry)
{
    const struct nnhal_fenced *fenced = entry->fenced;
    struct pollfd fds[NNHAL_MAX_FENCES];
    enum wait_state all = READY;

    if (__atomic_load_n(fenced->execution->is_cancelled, __ATOMIC_RELAXED))
        return FAILED;
    for (uint32_t i = 0; i < fenced->n_fences; i++)
        fds[i] = poll_for(fenced->fences[i]);
    if (fenced->n_fences && poll(fds, fenced->n_fences, 0) < 0)
        return WAITING; /* interrupted: it is looked at again */
    for (uint32_t i = 0; i < fenced->n_fences; i++) {
        enum wait_state state = fence_state(fds[i].revents);

        entry->has_signalled[i] = state == READY;
        if (state == FAILED)
            return FAILED;
        if (state == WAITING)
            all = WAITING;
    }
    return all;
}

/* -- the thread ------------------------------------------------------------------ */

/* The sentence for people, then the status. */
static uint32_t queue_explain(const struct fence_queue *queue, uint32_t status,
                              const char *sentence)
{
    queue->services->explain(queue->services->ctx, sentence);
    return status;
}

static uint32_t entry_compute(const struct fence_queue *queue, const struct entry *entry)
{
    struct nnhal_execution *execution = entry->fenced->execution;
    const struct nnhal_turn *turn = execution->turn;
    uint32_t status;

    if (entry->state == FAILED)
        return queue_explain(
            queue, NNHAL_GENERAL_FAILURE,
            "a fence that the execution waits for is in error, or it was cancelled");
    if (turn)
        turn->enter(turn->host);
    status = queue->execute(entry->prepared, execution);
    if (turn)
        turn->leave(turn->host);
    return status;
}

/* Not under the lock: end_fenced() may release the prepared model. */
static void entry_end(const struct fence_queue *queue, struct entry *entry)
{
    const struct nnhal_driver_services *services = queue->services;
    uint64_t id = entry->fenced->id;
    uint32_t status = entry_compute(queue, entry);

    services->release(services->ctx, entry);
    services->end_fenced(services->ctx, id, status);
}

/* Takes out the oldest one that waits for nothing. */
static struct entry *queue_take(struct fence_queue *queue)
{
    struct entry **place = &queue->first, *entry;

    while ((entry = *place) != NULL) {
        entry->state = look(entry);
        if (entry->state != WAITING) {
            *place = entry->next;
            break;
        }
        place = &entry->next;
    }
    return entry;
}

static nfds_t count_fences(const struct fence_queue *queue)
{
    nfds_t n = 0;

    for (const struct entry *entry = queue->first; entry; entry = entry->next)
        n += entry->fenced->n_fences;
    return n;
}

/* Until a fence changes or queue_wake() is called; fences stay open, since this thread ends what waits
 * for them. Without memory for the list it looks again a little later. */
static void queue_wait(struct fence_queue *queue)
{
    const struct nnhal_driver_services *services = queue->services;
    nfds_t n = count_fences(queue), at = 1;
    struct pollfd wake = poll_for(queue->wake_fd);
    struct pollfd *fds = services->allocate(services->ctx, (n + 1) * sizeof(*fds));
    uint64_t count;

    if (fds) {
        fds[0] = wake;
        for (const struct entry *entry = queue->first; entry; entry = entry->next)
            for (uint32_t i = 0; i < entry->fenced->n_fences; i++)
                /* poll() passes over what is negative. */
                fds[at++] = poll_for(entry->has_signalled[i] ? -1 : entry->fenced->fences[i]);
    }
    pthread_mutex_unlock(&queue->lock);
    poll(fds ? fds : &wake, fds ? n + 1 : 1, fds ? -1 : RETRY_MS);
    (void)!read(queue->wake_fd, &count, sizeof(count));
    services->release(services->ctx, fds);
    pthread_mutex_lock(&queue->lock);
}

static void *queue_work(void *ctx)
{
    struct fence_queue *queue = ctx;
    struct entry *entry;

    pthread_setname_np(pthread_self(), "fence-queue");
    pthread_mutex_lock(&queue->lock);
    while (!queue->is_closing) {
        entry = queue_take(queue);
        if (!entry) {
            queue_wait(queue);
            continue;
        }
        pthread_mutex_unlock(&queue->lock);
        entry_end(queue, entry);
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Under the lock. The application's signals are not for this thread; SIGBUS is the host's. */
static bool queue_start(struct fence_queue *queue)
{
    sigset_t all, old;

    if (queue->has_thread)
        return true;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    queue->has_thread = pthread_create(&queue->thread, NULL, queue_work, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return queue->has_thread;
}

/* -- the queue ------------------------------------------------------------------- */

void queue_wake(const struct fence_queue *queue)
{
    uint64_t one = 1;

    (void)!write(queue->wake_fd, &one, sizeof(one));
}

uint32_t queue_add(struct fence_queue *queue, void *prepared, struct nnhal_fenced *fenced)
{
    const struct nnhal_driver_services *services = queue->services;
    struct entry *entry = services->allocate(services->ctx, sizeof(*entry)), **place;
    bool is_running;

    if (!entry)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    *entry = (struct entry){.prepared = prepared, .fenced = fenced};
    pthread_mutex_lock(&queue->lock);
    is_running = queue_start(queue);
    if (is_running) {
        for (place = &queue->first; *place; place = &(*place)->next)
            continue;
        *place = entry;
    }
    pthread_mutex_unlock(&queue->lock);
    if (is_running) {
        queue_wake(queue);
        return NNHAL_NONE;
    }
    services->release(services->ctx, entry);
    return queue_explain(queue, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT, "no thread can be started");
}

bool queue_open(struct fence_queue *queue, const struct nnhal_driver_services *services,
                uint32_t (*execute)(void *prepared, struct nnhal_execution *execution))
{
    *queue = (struct fence_queue){.services = services,
                                  .execute = execute,
                                  .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_mutex_init(&queue->lock, NULL);
    return queue->wake_fd >= 0;
}

void queue_close(struct fence_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closing = true;
    pthread_mutex_unlock(&queue->lock);
    queue_wake(queue);
    if (queue->has_thread)
        pthread_join(queue->thread, NULL);
    close(queue->wake_fd);
    pthread_mutex_destroy(&queue->lock);
}
