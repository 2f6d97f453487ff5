/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block.h"

#include "base/arith.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* A last large page that would be used to less than half is left to small ones. */
void *nn_block_new(size_t n_bytes)
{
    size_t whole, large;
    void *block;

    if (!nn_align_up(n_bytes ? n_bytes : 1, NN_BLOCK_ALIGNMENT, &whole))
        return NULL;
    if (whole <= LARGE_PAGE / 2)
        return aligned_alloc(NN_BLOCK_ALIGNMENT, whole);
    if (whole % LARGE_PAGE > LARGE_PAGE / 2 && !nn_align_up(whole, LARGE_PAGE, &whole))
        return NULL;
    large = whole / LARGE_PAGE * LARGE_PAGE;
    block = aligned_alloc(LARGE_PAGE, whole);
    if (block)
        madvise(block, large, MADV_HUGEPAGE);
    return block;
}
