/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - execute_fenced() and cancel_fenced() for a driver that computes on the CPU
 *
 * A queue has one thread, which waits for the fences of all executions and computes those that
 * may begin, one after the other. It knows nothing of the driver but its execute(). */
#ifndef SAMPLE_QUEUE_H
#define SAMPLE_QUEUE_H

#include <nnhal/driver.h>

#include <pthread.h>
#include <stdbool.h>

struct fence_queue {
    const struct nnhal_driver_services *services;
    uint32_t (*execute)(void *prepared, struct nnhal_execution *execution);
    int wake_fd;          /* an eventfd: there is something new to look at */
    pthread_mutex_t lock; /* of what follows */
    bool has_thread, is_closing;
    pthread_t thread;
    struct entry *first; /* those that wait, oldest first */
};

/* queue_open() - for the open() of a driver whose table has this execute(). No thread is started
 * yet. Returns: false if descriptors are short. */
bool queue_open(struct fence_queue *queue, const struct nnhal_driver_services *services,
                uint32_t (*execute)(void *prepared, struct nnhal_execution *execution));
/* queue_close() - for its close(): no execution is in progress. */
void queue_close(struct fence_queue *queue);
/* queue_add(), queue_wake() - execute_fenced() and cancel_fenced() of <nnhal/driver.h>. */
uint32_t queue_add(struct fence_queue *queue, void *prepared, struct nnhal_fenced *fenced);
void queue_wake(const struct fence_queue *queue);

#endif
