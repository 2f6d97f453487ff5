/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block.h"

#include "support/check-main.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Fresh pages, which is not said of what an allocator gives. */
static uint8_t *new_pages(size_t n_bytes)
{
    uint8_t *pages = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0);

    ck_assert_ptr_ne(pages, MAP_FAILED);
    madvise(pages, n_bytes, MADV_NOHUGEPAGE);
    return pages;
}

static bool is_present(uint8_t *byte)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char word;

    ck_assert_int_eq(mincore(byte - (uintptr_t)byte % page, page, &word), 0);
    return word & 1;
}

static size_t count_present(uint8_t *pages, size_t n_bytes)
{
    size_t n = 0, page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < n_bytes; i += page)
        n += is_present(pages + i);
    return n;
}

/* Linux 5.14. */
static bool can_touch(void)
{
    uint8_t *page = new_pages(1);
    bool can = madvise(page, 1, MADV_POPULATE_WRITE) == 0;

    munmap(page, 1);
    return can;
}

TEST(touched_pages_are_there_before_they_are_written)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n_bytes = 256 * page;
    uint8_t *block = new_pages(n_bytes);

    block[7] = 0x5a;
    nn_block_touch(block + 7, n_bytes - 14);
    ck_assert_uint_eq(block[7], 0x5a);
    if (can_touch())
        ck_assert_uint_eq(count_present(block, n_bytes), 256);
    else
        printf("SKIPPED: this kernel makes no pages present when asked\n");
    munmap(block, n_bytes);
}
TEST_END

/* Few bytes, and what is behind the first 16 MiB: a caller has a deadline. */
TEST(pages_of_little_and_of_too_much_are_left)
{
    const size_t n_bytes = 32 << 20;
    uint8_t *block = new_pages(n_bytes);

    nn_block_touch(block, 0);
    nn_block_touch(block, 4096);
    ck_assert(!is_present(block));
    nn_block_touch(block, n_bytes);
    ck_assert(!is_present(block + n_bytes - 1));
    munmap(block, n_bytes);
}
TEST_END

/* A block that is larger than what will be written: what is behind that costs nothing. */
TEST(a_block_is_touched_as_far_as_it_is_written)
{
    const size_t n_bytes = 1 << 20;
    uint8_t *block = new_pages(n_bytes);
    size_t n_ready;

    ck_assert_uint_eq(nn_block_touch_up_to(block, 1000, 0, 500), 1000);
    ck_assert(!is_present(block));
    n_ready = nn_block_touch_up_to(block, n_bytes, 0, 100);
    ck_assert_uint_ge(n_ready, 100);
    ck_assert_uint_le(n_ready, n_bytes / 4);
    ck_assert_uint_eq(nn_block_touch_up_to(block, n_bytes, n_ready, n_ready), n_ready);
    ck_assert(!is_present(block + n_bytes / 2));
    ck_assert_uint_ge(nn_block_touch_up_to(block, n_bytes, n_ready, n_bytes / 2 + 1),
                      n_bytes / 2 + 1);
    ck_assert(is_present(block + n_bytes / 2) == can_touch());
    ck_assert_uint_eq(nn_block_touch_up_to(block, n_bytes, n_bytes / 2 + 1, n_bytes), n_bytes);
    munmap(block, n_bytes);
}
TEST_END

/* Holes of shared memory become pages when they are read. Of a file that is shorter: no signal. */
TEST(pages_of_a_file_are_there_before_they_are_read)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n_bytes = 256 * page;
    int fd = memfd_create("block", MFD_CLOEXEC);
    uint8_t *mapped;

    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    mapped = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(mapped, MAP_FAILED);
    ck_assert_uint_eq(count_present(mapped, n_bytes), 0);
    nn_block_touch_read(mapped + 7, n_bytes - 14);
    ck_assert_uint_eq(count_present(mapped, n_bytes), can_touch() ? 256 : 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
    nn_block_touch_read(mapped, n_bytes);
    munmap(mapped, n_bytes);
    close(fd);
}
TEST_END

CHECK_MAIN("block", blocks_are_aligned_and_as_large_as_asked, no_block_is_larger_than_memory,
           touched_pages_are_there_before_they_are_written,
           pages_of_little_and_of_too_much_are_left, a_block_is_touched_as_far_as_it_is_written,
           pages_of_a_file_are_there_before_they_are_read)
