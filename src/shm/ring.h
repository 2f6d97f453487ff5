/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - a queue of fixed-size elements in one sealed memfd
 *
 * nnhal/fmq.h is the specification: layout, ordering, flavours, what a hostile
 * peer can do. Here is what this side keeps for itself: each side's own counter
 * is private and only stored to shared memory, never loaded from it again; the
 * peer's is loaded when the last known value says full or empty, held against
 * what is possible, and kept.
 *
 * One writing thread and one reading thread at a time. nn_ring_close() and
 * nn_ring_interrupt() from any thread. The functions answer as the nnhal_fmq_
 * functions of their names. */
#ifndef NN_SHM_RING_H
#define NN_SHM_RING_H

#include "base/cleanup.h"

#include <nnhal/fmq.h>

#include <stdbool.h>
#include <stdint.h>

struct nn_evflag;
struct nn_ring;

enum {
    NN_RING_E_INTERRUPTED = 32, /* waiting to read: see nn_ring_interrupt() */
};

int nn_ring_new(uint32_t n_elements, uint32_t element_size, uint32_t flavour,
                struct nn_evflag *flag, struct nn_ring **ret_ring);
int nn_ring_attach(const struct nnhal_fmq_descriptor *descriptor, struct nn_evflag *flag,
                   struct nn_ring **ret_ring);
struct nn_ring *nn_ring_free(struct nn_ring *ring);
void nn_ring_descriptor(const struct nn_ring *ring, struct nnhal_fmq_descriptor *ret);

void nn_ring_close(struct nn_ring *ring);

/* nn_ring_interrupt() - the wait to read that is in progress, or else the next,
 * ends with NN_RING_E_INTERRUPTED, once, unless there is something to read. Any
 * thread. What has no interruption (nnhal_fmq_) never sees the outcome. */
void nn_ring_interrupt(struct nn_ring *ring);

/* nn_ring_renew_write(), nn_ring_renew_read() - by the writer, the reader of a synchronized ring:
 * stores its counter once more and wakes the peer. What was in that word counts for nothing, so
 * that a peer goes on that was misled, or whose wake-up was lost. The writing, the reading thread. */
void nn_ring_renew_write(struct nn_ring *ring);
void nn_ring_renew_read(struct nn_ring *ring);

/* nn_ring_give_up() - this side uses the ring no more, and tells the peer by counters that are
 * impossible: the peer finds the ring broken. While nothing else on it is in progress. */
void nn_ring_give_up(struct nn_ring *ring);

void nn_ring_set_spin(struct nn_ring *ring, uint64_t spin_ns);

uint32_t nn_ring_available_to_read(struct nn_ring *ring);
uint32_t nn_ring_available_to_write(struct nn_ring *ring);

int nn_ring_write(struct nn_ring *ring, const void *elements, uint32_t n_elements);
int nn_ring_read(struct nn_ring *ring, void *ret_elements, uint32_t n_elements);
int nn_ring_write_blocking(struct nn_ring *ring, const void *elements, uint32_t n_elements,
                           uint64_t deadline_ns);
int nn_ring_read_blocking(struct nn_ring *ring, void *ret_elements, uint32_t n_elements,
                          uint64_t deadline_ns);
int nn_ring_wait_to_write(struct nn_ring *ring, uint32_t n_elements, uint64_t deadline_ns);
int nn_ring_wait_to_read(struct nn_ring *ring, uint32_t n_elements, uint64_t deadline_ns);

/* nn_ring_spin_to_read() - looks for spin_ns (at most 1 s) without sleeping. Returns:
 * whether n_elements can be read, or the ring is broken, closed or interrupted:
 * a wait would not sleep. */
bool nn_ring_spin_to_read(struct nn_ring *ring, uint32_t n_elements, uint64_t spin_ns,
                          uint64_t deadline_ns);

int nn_ring_begin_write(struct nn_ring *ring, uint32_t n_elements,
                        struct nnhal_fmq_transaction *ret_transaction);
int nn_ring_commit_write(struct nn_ring *ring, uint32_t n_elements);
int nn_ring_begin_read(struct nn_ring *ring, uint32_t n_elements,
                       struct nnhal_fmq_transaction *ret_transaction);
int nn_ring_commit_read(struct nn_ring *ring, uint32_t n_elements);

NN_DEFINE_CLEANUP(struct nn_ring, nn_ring_free)

#endif
