/* SPDX-License-Identifier: Apache-2.0 */
/* stalling.h - work that a client's file may hold up for ever
 *
 * Touching a page of a file, or closing it, can wait for the server of its file
 * system: a FUSE server that never answers keeps the thread until it dies. Only
 * memfds, tmpfs and dma-bufs are touched on threads that clients share. The
 * rest is done on threads of a pool of its own, of which no uid gets more than
 * its part: who loses them loses its own. */
#ifndef NN_HOST_EXECUTION_STALLING_H
#define NN_HOST_EXECUTION_STALLING_H

#include "host/execution/binding.h"

/* nn_binding_may_stall() - whether running it touches such a file. */
bool nn_binding_may_stall(const struct nn_binding *binding);

/* nn_binding_is_for_one_thread() - whether arguments of another process lie in such
 * a file: the driver's own threads are to be kept away from them. Constants are
 * not counted, since models in files of a disk are what most applications have. */
bool nn_binding_is_for_one_thread(const struct nn_binding *binding);

/* nn_stalling_free() - waits for what runs. */
void nn_stalling_free(struct nn_host *host);

#endif
