/* SPDX-License-Identifier: Apache-2.0 */
/* device-queue.h - executions that a driver has taken into the queue of its device
 *
 *     suits? --> launch --> execute_fenced() ~ ~ ~ end_fenced() --> checked, the fence tells
 *                  |               |
 *                  |               +-- refused: the launch fails
 *                  +-- cancel_fenced(), when the deadline has passed or the session ends
 *
 * From its launch until the driver ends it, an execution is found here by the number that the
 * driver knows it by: never a pointer, so that a driver that ends something twice, or what is no
 * execution, is reported and does no harm. No thread of the host waits for it: the watcher has
 * its deadline (fence-watcher.h), and the process ends if the driver does not end it 10 s after
 * that, or after its session was given up (overdue.h).
 *
 * Not every execution suits: in between the host makes no step, so that none may be needed. Buffers
 * are admitted when an execution begins, dma-bufs that the driver has not imported are made
 * coherent then, padded pictures are copied before and after, and a file that may stall its reader
 * must not stop the thread of a device.
 *
 * Locks: the queue's is held for no callback of the driver; the overdue list's may be taken in it. */
#ifndef NN_HOST_EXECUTION_DEVICE_QUEUE_H
#define NN_HOST_EXECUTION_DEVICE_QUEUE_H

#include "host/execution/fenced-state.h"

/* nn_device_queue_init() - of a new host: empty, and what services->end_fenced() leads to.
 * nn_device_queue_done() - last of all. */
void nn_device_queue_init(struct nn_host *host);
void nn_device_queue_done(struct nn_host *host);

/* nn_device_queue_suits() - whether the driver is to get it, else it is the watcher's. */
bool nn_device_queue_suits(const struct nn_fenced *fenced);

/* nn_device_queue_launch() - hands it to the driver. Blocks no longer than the driver does.
 * Returns: NNHAL_NONE: its fence will tell; else why it was not launched, with *message set. */
uint32_t nn_device_queue_launch(struct nn_call *call, struct nn_fenced *fenced);

/* nn_device_run_free() - of one that the driver has ended or never got. Accepts NULL. */
struct nn_device_run *nn_device_run_free(struct nn_device_run *run);

#endif
