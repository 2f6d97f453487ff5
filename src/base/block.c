/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block.h"

#include "base/arith.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* Below this the call costs what it saves. Above that, deadlines are looked at between writes. */
#define FEW_BYTES  ((size_t)16 << 10)
#define MANY_BYTES ((size_t)16 << 20)

/* Of a block that is written from its beginning on, touched at a time. */
#define STEP_BYTES ((size_t)64 << 10)

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

/* The first and the last page may hold other blocks, which stay as they are. */
static void populate(const void *block, size_t n_bytes, int how)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), rest = (uintptr_t)block % page;

    if (n_bytes > MANY_BYTES)
        n_bytes = MANY_BYTES;
    if (n_bytes >= FEW_BYTES)
        madvise((char *)block - rest, n_bytes + rest, how);
}

void nn_block_touch(void *block, size_t n_bytes)
{
    populate(block, n_bytes, MADV_POPULATE_WRITE);
}

void nn_block_touch_read(const void *block, size_t n_bytes)
{
    populate(block, n_bytes, MADV_POPULATE_READ);
}

size_t nn_block_touch_up_to(void *block, size_t n_bytes, size_t n_ready, size_t end)
{
    size_t n;

    if (n_bytes < STEP_BYTES)
        return n_bytes;
    if (end <= n_ready)
        return n_ready;
    n = end - n_ready < STEP_BYTES ? STEP_BYTES : end - n_ready;
    if (n > n_bytes - n_ready)
        n = n_bytes - n_ready;
    nn_block_touch((char *)block + n_ready, n);
    return n_ready + n;
}
