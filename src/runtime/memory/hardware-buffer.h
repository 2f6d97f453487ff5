/* SPDX-License-Identifier: Apache-2.0 */
/* hardware-buffer.h - what an AHardwareBuffer is
 *
 * A region, mapped once, with its layout. Counted references; locks are counted
 * too: any number of readers, or one writer. Nothing waits for a lock: one that
 * cannot be had is refused.
 * Results are negative errnos, as Android's are. Threads: any. */
#ifndef NN_RUNTIME_MEMORY_HARDWARE_BUFFER_H
#define NN_RUNTIME_MEMORY_HARDWARE_BUFFER_H

#include "base/cleanup.h"
#include "shm/backing.h"
#include "shm/plane-layout.h"

#include <android/hardware_buffer.h>

/* nn_rt_hardware_buffer_new() - zeroed memory for desc. Returns: 0, -EINVAL, -ENOTSUP, -ENOMEM, -errno. */
int nn_rt_hardware_buffer_new(const AHardwareBuffer_Desc *desc, AHardwareBuffer **ret_buffer);

/* nn_rt_hardware_buffer_import() - of a descriptor from elsewhere. Consumes fd.
 * Returns: 0, -EINVAL (fd is no memory, or not what layout says), -EPERM (the
 * holder of another descriptor could make it smaller), -ENOMEM, -errno. */
int nn_rt_hardware_buffer_import(int fd, const struct nnhal_hardware_buffer *layout,
                                 AHardwareBuffer **ret_buffer);

/* nn_rt_hardware_buffer_ref(), nn_rt_hardware_buffer_unref() - accept NULL; unref returns NULL. */
AHardwareBuffer *nn_rt_hardware_buffer_ref(AHardwareBuffer *buffer);
AHardwareBuffer *nn_rt_hardware_buffer_unref(AHardwareBuffer *buffer);

/* nn_rt_hardware_buffer_check() - whether nn_rt_hardware_buffer_new() would try. Returns: 0, -EINVAL, -ENOTSUP. */
int nn_rt_hardware_buffer_check(const AHardwareBuffer_Desc *desc);

/* Borrowed, for as long as a reference is held. */
const struct nnhal_hardware_buffer *nn_rt_hardware_buffer_layout(const AHardwareBuffer *buffer);
int nn_rt_hardware_buffer_fd(const AHardwareBuffer *buffer);
enum nn_backing nn_rt_hardware_buffer_backing(const AHardwareBuffer *buffer);

/* nn_rt_hardware_buffer_lock() - as AHardwareBuffer_lock(); consumes fence. *ret_data is where
 * the descriptor's first byte is. */
int nn_rt_hardware_buffer_lock(AHardwareBuffer *buffer, uint64_t usage, int fence,
                               const ARect *rect, uint8_t **ret_data);
int nn_rt_hardware_buffer_unlock(AHardwareBuffer *buffer);

/* nn_rt_hardware_buffer_send(), nn_rt_hardware_buffer_receive() - a handle over an AF_UNIX socket.
 * Returns: as the functions of android/hardware_buffer.h. */
int nn_rt_hardware_buffer_send(const AHardwareBuffer *buffer, int socket);
int nn_rt_hardware_buffer_receive(int socket, AHardwareBuffer **ret_buffer);

NN_DEFINE_CLEANUP(AHardwareBuffer, nn_rt_hardware_buffer_unref)

#endif
