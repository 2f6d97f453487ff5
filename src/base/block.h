/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - memory for weights, arenas and files
 *
 * Touching a page for the first time costs a microsecond or more, several times what it takes to
 * fill it: blocks of more than 1 MiB get large pages where the kernel has them. */
#ifndef NN_BASE_BLOCK_H
#define NN_BASE_BLOCK_H

#include <stddef.h>

#define NN_BLOCK_ALIGNMENT 64

/* nn_block_new() - n_bytes (0 counts as 1) of undefined contents, to be freed with free().
 * Returns: NULL if there is no memory. */
void *nn_block_new(size_t n_bytes);

/* nn_block_touch() - makes the pages of n_bytes at block, which the caller is about to write, present
 * with one system call: an exception for each costs up to 40 times that in a virtual machine. Contents
 * stay. Kernels before 5.14, short memory, and what is behind the first 16 MiB leave it to the first
 * write. */
void nn_block_touch(void *block, size_t n_bytes);

/* nn_block_touch_read() - the same for n_bytes that the caller is about to read, of a file or of
 * shared memory that was mapped. What is behind the file's end stays what it is: an exception. */
void nn_block_touch_read(const void *block, size_t n_bytes);

/* nn_block_touch_up_to() - the same for a block of n_bytes that is written from its beginning on, of
 * which n_ready bytes were touched before: what is in front of end, and some more, since calls for
 * little would cost what they save. Returns: n_ready now; n_bytes of a small block, which is left alone. */
size_t nn_block_touch_up_to(void *block, size_t n_bytes, size_t n_ready, size_t end);

#endif
