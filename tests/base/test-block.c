/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block.h"

#include "support/check-main.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST(blocks_are_aligned_and_as_large_as_asked)
{
    static const size_t sizes[] = {0,       1,       63,      64,      65,     4097,
                                   1 << 20, 2 << 20, 3 << 20, 7777777, 8 << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint8_t *block = nn_block_new(sizes[i]);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % NN_BLOCK_ALIGNMENT, 0);
        memset(block, 0xaa, sizes[i]);
        free(block);
    }
}
TEST_END

TEST(no_block_is_larger_than_memory)
{
    ck_assert_ptr_null(nn_block_new(SIZE_MAX));
    ck_assert_ptr_null(nn_block_new(SIZE_MAX - 100));
}
TEST_END

CHECK_MAIN("block", blocks_are_aligned_and_as_large_as_asked, no_block_is_larger_than_memory)
