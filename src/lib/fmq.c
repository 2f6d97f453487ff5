/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of shm/ring.h under their public names. */
#include "shm/evflag.h"
#include "shm/ring.h"

#include <nnhal/fmq.h>

static struct nn_ring *ring_of(const struct nnhal_fmq *queue)
{
    return (struct nn_ring *)(uintptr_t)queue;
}

static struct nn_evflag *flag_of(const struct nnhal_evflag *flag)
{
    return (struct nn_evflag *)(uintptr_t)flag;
}

_public_ int nnhal_fmq_new(uint32_t n_elements, uint32_t element_size, uint32_t flavour,
                           struct nnhal_evflag *flag, struct nnhal_fmq **ret_queue)
{
    return nn_ring_new(n_elements, element_size, flavour, flag_of(flag),
                       (struct nn_ring **)ret_queue);
}

_public_ int nnhal_fmq_attach(const struct nnhal_fmq_descriptor *descriptor,
                              struct nnhal_evflag *flag, struct nnhal_fmq **ret_queue)
{
    return nn_ring_attach(descriptor, flag_of(flag), (struct nn_ring **)ret_queue);
}

_public_ void nnhal_fmq_free(struct nnhal_fmq *queue)
{
    nn_ring_free(ring_of(queue));
}

_public_ void nnhal_fmq_descriptor(const struct nnhal_fmq *queue, struct nnhal_fmq_descriptor *ret)
{
    nn_ring_descriptor(ring_of(queue), ret);
}

_public_ void nnhal_fmq_close(struct nnhal_fmq *queue)
{
    nn_ring_close(ring_of(queue));
}

_public_ void nnhal_fmq_set_spin(struct nnhal_fmq *queue, uint64_t spin_ns)
{
    nn_ring_set_spin(ring_of(queue), spin_ns);
}

_public_ uint32_t nnhal_fmq_available_to_read(struct nnhal_fmq *queue)
{
    return nn_ring_available_to_read(ring_of(queue));
}

_public_ uint32_t nnhal_fmq_available_to_write(struct nnhal_fmq *queue)
{
    return nn_ring_available_to_write(ring_of(queue));
}

_public_ int nnhal_fmq_write(struct nnhal_fmq *queue, const void *elements, uint32_t n_elements)
{
    return nn_ring_write(ring_of(queue), elements, n_elements);
}

_public_ int nnhal_fmq_write_blocking(struct nnhal_fmq *queue, const void *elements,
                                      uint32_t n_elements, uint64_t deadline_ns)
{
    return nn_ring_write_blocking(ring_of(queue), elements, n_elements, deadline_ns);
}

_public_ int nnhal_fmq_wait_to_write(struct nnhal_fmq *queue, uint32_t n_elements,
                                     uint64_t deadline_ns)
{
    return nn_ring_wait_to_write(ring_of(queue), n_elements, deadline_ns);
}

_public_ int nnhal_fmq_begin_write(struct nnhal_fmq *queue, uint32_t n_elements,
                                   struct nnhal_fmq_transaction *ret_transaction)
{
    return nn_ring_begin_write(ring_of(queue), n_elements, ret_transaction);
}

_public_ int nnhal_fmq_commit_write(struct nnhal_fmq *queue, uint32_t n_elements)
{
    return nn_ring_commit_write(ring_of(queue), n_elements);
}

_public_ int nnhal_fmq_read(struct nnhal_fmq *queue, void *ret_elements, uint32_t n_elements)
{
    return nn_ring_read(ring_of(queue), ret_elements, n_elements);
}

_public_ int nnhal_fmq_read_blocking(struct nnhal_fmq *queue, void *ret_elements,
                                     uint32_t n_elements, uint64_t deadline_ns)
{
    return nn_ring_read_blocking(ring_of(queue), ret_elements, n_elements, deadline_ns);
}

_public_ int nnhal_fmq_wait_to_read(struct nnhal_fmq *queue, uint32_t n_elements,
                                    uint64_t deadline_ns)
{
    return nn_ring_wait_to_read(ring_of(queue), n_elements, deadline_ns);
}

_public_ int nnhal_fmq_begin_read(struct nnhal_fmq *queue, uint32_t n_elements,
                                  struct nnhal_fmq_transaction *ret_transaction)
{
    return nn_ring_begin_read(ring_of(queue), n_elements, ret_transaction);
}

_public_ int nnhal_fmq_commit_read(struct nnhal_fmq *queue, uint32_t n_elements)
{
    return nn_ring_commit_read(ring_of(queue), n_elements);
}

_public_ int nnhal_evflag_new(struct nnhal_evflag **ret_flag)
{
    return nn_evflag_new((struct nn_evflag **)ret_flag);
}

_public_ int nnhal_evflag_attach(int fd, struct nnhal_evflag **ret_flag)
{
    return nn_evflag_attach(fd, (struct nn_evflag **)ret_flag);
}

_public_ void nnhal_evflag_free(struct nnhal_evflag *flag)
{
    nn_evflag_free(flag_of(flag));
}

_public_ int nnhal_evflag_fd(const struct nnhal_evflag *flag)
{
    return nn_evflag_fd(flag_of(flag));
}

_public_ void nnhal_evflag_wake(struct nnhal_evflag *flag)
{
    nn_evflag_wake(flag_of(flag));
}

_public_ int nnhal_evflag_wait(struct nnhal_evflag *flag, int (*is_ready)(void *ctx), void *ctx,
                               uint64_t deadline_ns)
{
    return nn_evflag_wait(flag_of(flag), is_ready, ctx, deadline_ns);
}

_public_ void nnhal_evflag_close(struct nnhal_evflag *flag)
{
    nn_evflag_close(flag_of(flag));
}
