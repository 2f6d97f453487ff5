/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block.h"

#include "base/arith.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* A last large page that would be used to less than half is left to small ones. C wants sizes that
 * are multiples of the alignment: what that adds is never touched. */
void *nn_block_new(size_t n_bytes)
{
    size_t whole, large, n_reserved;
    void *block;

    if (!nn_align_up(n_bytes ? n_bytes : 1, NN_BLOCK_ALIGNMENT, &whole))
        return NULL;
    if (whole <= LARGE_PAGE / 2)
        return aligned_alloc(NN_BLOCK_ALIGNMENT, whole);
    if (!nn_align_up(whole, LARGE_PAGE, &n_reserved))
        return NULL;
    large = n_reserved - whole < LARGE_PAGE / 2 ? n_reserved : n_reserved - LARGE_PAGE;
    block = aligned_alloc(LARGE_PAGE, n_reserved);
    if (block)
        madvise(block, large, MADV_HUGEPAGE);
    return block;
}
