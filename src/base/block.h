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

#endif
