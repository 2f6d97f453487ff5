/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/region.h"

#include "base/sys.h"

#include "support/check-main.h"
#include "support/fds.h"

#include <nnhal/types.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

static int memfd_of(size_t n_bytes, int seals)
{
    static unsigned char bytes[16384];
    int fd = nn_sys_memfd_create("test-region", true);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i % 251);
    ck_assert_uint_le(n_bytes, sizeof(bytes));
    ck_assert_int_eq(pwrite(fd, bytes, n_bytes, 0), (ssize_t)n_bytes);
    if (seals)
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static int import(int fd, uint32_t kind, uint32_t prot, uint64_t offset, uint64_t size,
                  struct nn_region **ret_region)
{
    struct nn_region_params params = {.kind = kind, .prot = prot, .offset = offset, .size = size};

    return nn_region_import(fd, &params, 0, ret_region);
}

TEST(a_new_region_is_zeroed_sealed_and_gone_afterwards)
{
    size_t n_fds = count_fds();
    struct nn_region *region = NULL;
    unsigned char *bytes;

    ck_assert_int_eq(nn_region_new("test-new", 5000, &region), 0);
    ck_assert_uint_eq(nn_region_size(region), 5000);
    bytes = nn_region_data(region);
    for (size_t i = 0; i < 5000; i++)
        ck_assert_uint_eq(bytes[i], 0);
    memset(bytes, 1, 5000);
    ck_assert(nn_region_is_writable(region));
    ck_assert(!nn_region_can_shrink(region));
    ck_assert(!nn_region_may_stall(region));
    ck_assert_int_eq(ftruncate(nn_region_fd(region), 1), -1);
    ck_assert_int_eq(ftruncate(nn_region_fd(region), 9000), -1);
    ck_assert_int_eq(fcntl(nn_region_fd(region), F_ADD_SEALS, F_SEAL_WRITE), -1);
    ck_assert_uint_eq(count_mappings("test-new"), 1);
    region = nn_region_unref(region);
    ck_assert_ptr_null(region);
    ck_assert_uint_eq(count_mappings("test-new"), 0);
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_int_eq(nn_region_new("x", 0, &region), NN_REGION_E_INVALID);
    ck_assert_int_eq(nn_region_new("x", SIZE_MAX, &region), NN_REGION_E_INVALID);
    ck_assert_int_lt(nn_region_new("x", (size_t)INT64_MAX, &region), 0);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(any_offset_can_be_mapped)
{
    static const uint64_t offsets[] = {0, 1, 64, 4095, 4096, 4097, 8191, 12289};

    for (size_t i = 0; i < NN_N_ELEMENTS(offsets); i++) {
        struct nn_region *region = NULL;
        const unsigned char *bytes;

        ck_assert_int_eq(import(memfd_of(16384, 0), NNHAL_MEMORY_MMAP_FD, PROT_READ, offsets[i],
                                16384 - offsets[i], &region),
                         0);
        ck_assert_uint_eq(nn_region_size(region), 16384 - offsets[i]);
        bytes = nn_region_data(region);
        for (size_t k = 0; k < nn_region_size(region); k++)
            ck_assert_uint_eq(bytes[k], (offsets[i] + k) % 251);
        ck_assert(!nn_region_is_writable(region));
        ck_assert(nn_region_can_shrink(region));
        nn_region_unref(region);
    }
}
TEST_END

TEST(ranges_that_do_not_lie_in_the_file_are_malformed)
{
    static const struct {
        uint64_t offset, size;
    } bad[] = {
        {0, 0},
        {0, 8193},
        {1, 8192},
        {8192, 1},
        {8193, 1},
        {0, UINT64_C(1) << 63},
        {0, UINT64_MAX},
        {UINT64_MAX, 1},
        {UINT64_MAX, 2},
        {UINT64_C(1) << 63, 1},
        {INT64_MAX, 1},
        {1, INT64_MAX},
        {UINT64_MAX - 4096, 8192},
    };
    size_t n_fds = count_fds();
    struct nn_region *region = NULL;

    for (size_t i = 0; i < NN_N_ELEMENTS(bad); i++)
        ck_assert_int_eq(import(memfd_of(8192, 0), NNHAL_MEMORY_MMAP_FD, PROT_READ, bad[i].offset,
                                bad[i].size, &region),
                         NN_REGION_E_INVALID);
    ck_assert_int_eq(import(memfd_of(8192, 0), NNHAL_MEMORY_ASHMEM, 0, 0, 8193, &region),
                     NN_REGION_E_INVALID);
    ck_assert_ptr_null(region);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(kinds_and_protections_are_checked)
{
    static const uint32_t bad_prots[] = {0, PROT_EXEC, PROT_READ | PROT_EXEC, 8, 0xffffffff};
    size_t n_fds = count_fds();
    struct nn_region *region = NULL;

    for (size_t i = 0; i < NN_N_ELEMENTS(bad_prots); i++)
        ck_assert_int_eq(
            import(memfd_of(4096, 0), NNHAL_MEMORY_MMAP_FD, bad_prots[i], 0, 4096, &region),
            NN_REGION_E_INVALID);
    ck_assert_int_eq(import(memfd_of(4096, 0), 4, 0, 0, 4096, &region), NN_REGION_E_INVALID);
    /* Hardware buffers come with a layout. */
    ck_assert_int_eq(import(memfd_of(4096, 0), NNHAL_MEMORY_HARDWARE_BUFFER, 0, 0, 0, &region),
                     NN_REGION_E_INVALID);
    ck_assert_int_eq(
        import(memfd_of(4096, 0), NNHAL_MEMORY_HARDWARE_BUFFER_BLOB, 0, 0, 4096, &region),
        NN_REGION_E_INVALID);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(what_is_no_file_is_malformed)
{
    size_t n_fds = count_fds();
    struct nn_region *region = NULL;
    int fds[2], bad[8];
    size_t n = 0;

    bad[n++] = -1;
    bad[n++] = 9999; /* not open */
    bad[n++] = open("/tmp", O_RDONLY | O_DIRECTORY);
    bad[n++] = open("/dev/zero", O_RDWR);
    bad[n++] = open("/proc/self/exe", O_PATH);
    ck_assert_int_eq(pipe(fds), 0);
    bad[n++] = fds[0];
    close(fds[1]);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    bad[n++] = fds[0];
    close(fds[1]);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(import(bad[i], NNHAL_MEMORY_MMAP_FD, PROT_READ, 0, 1, &region),
                         NN_REGION_E_INVALID);
        if (bad[i] >= 0)
            ck_assert_int_eq(fcntl(bad[i], F_GETFD), -1); /* consumed */
    }
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

/* A second descriptor of the same file, opened with flags. */
static int reopen(int fd, int flags)
{
    char path[64];
    int again;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, flags | O_CLOEXEC);
    ck_assert_int_ge(again, 0);
    return again;
}

TEST(what_the_descriptor_does_not_allow_is_unmappable_or_read_only)
{
    struct nn_region *region = NULL;
    int fd = memfd_of(4096, 0), sealed;

    ck_assert_int_eq(import(reopen(fd, O_RDONLY), NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 0,
                            4096, &region),
                     NN_REGION_E_UNMAPPABLE);
    ck_assert_int_eq(
        import(reopen(fd, O_WRONLY), NNHAL_MEMORY_MMAP_FD, PROT_READ, 0, 4096, &region),
        NN_REGION_E_UNMAPPABLE);
    ck_assert_int_eq(import(reopen(fd, O_RDONLY), NNHAL_MEMORY_ASHMEM, 0, 0, 4096, &region), 0);
    ck_assert(!nn_region_is_writable(region));
    region = nn_region_unref(region);
    close(fd);

    sealed = memfd_of(4096, F_SEAL_WRITE | F_SEAL_SHRINK);
    ck_assert_int_eq(
        import(dup(sealed), NNHAL_MEMORY_MMAP_FD, PROT_WRITE | PROT_READ, 0, 4096, &region),
        NN_REGION_E_UNMAPPABLE);
    ck_assert_int_eq(import(sealed, NNHAL_MEMORY_ASHMEM, 0, 0, 4096, &region), 0);
    ck_assert(!nn_region_is_writable(region));
    ck_assert_uint_eq(((unsigned char *)nn_region_data(region))[250], 250);
    region = nn_region_unref(region);
}
TEST_END

/* Its pages can be punched out in spite of all seals, and may be impossible to get again. */
TEST(huge_pages_are_unmappable)
{
    const size_t huge = 2 << 20;
    size_t n_fds = count_fds();
    struct nn_region *region = NULL;
    int fd = memfd_create("test-huge", MFD_HUGETLB | MFD_ALLOW_SEALING | MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)huge) < 0) {
        puts("huge_pages_are_unmappable: skipped, this kernel has no huge pages");
        closep(&fd);
        return;
    }
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    ck_assert_int_eq(import(fd, NNHAL_MEMORY_ASHMEM, 0, 0, huge, &region), NN_REGION_E_UNMAPPABLE);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(both_sides_see_what_the_other_writes)
{
    struct nn_region *one = NULL, *other = NULL;
    int fd = memfd_of(4096, F_SEAL_SHRINK);

    ck_assert_int_eq(import(dup(fd), NNHAL_MEMORY_ASHMEM, 0, 0, 4096, &one), 0);
    ck_assert_int_eq(import(fd, NNHAL_MEMORY_MMAP_FD, PROT_WRITE | PROT_READ, 100, 4, &other), 0);
    ck_assert(!nn_region_can_shrink(one));
    memcpy(nn_region_data(other), "abcd", 4);
    ck_assert_int_eq(memcmp((char *)nn_region_data(one) + 100, "abcd", 4), 0);
    ck_assert_int_eq(nn_region_begin_access(other, true), 0);
    ck_assert_int_eq(nn_region_end_access(other, true), 0);
    nn_region_unref(one);
    nn_region_unref(other);
}
TEST_END

static void *ref_and_unref(void *argument)
{
    struct nn_region *region = argument;

    for (size_t i = 0; i < 10000; i++)
        nn_region_unref(nn_region_ref(region));
    nn_region_unref(region);
    return NULL;
}

TEST(references_on_several_threads)
{
    size_t n_fds = count_fds();
    struct nn_region *region = NULL;
    pthread_t threads[4];

    ck_assert_int_eq(nn_region_new("test-refs", 100, &region), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ref_and_unref, nn_region_ref(region));
    nn_region_unref(region);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(count_mappings("test-refs"), 0);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(whichever_call_fails_nothing_is_left)
{
    size_t n_fds = count_fds();

    for (long n = 1;; n++) {
        struct nn_region *region = NULL;
        int r;

        nn_sys_fault_errno = ENOMEM;
        nn_sys_fault = n;
        r = nn_region_new("test-fault", 4096, &region);
        nn_region_unref(region);
        ck_assert_uint_eq(count_fds(), n_fds);
        ck_assert_uint_eq(count_mappings("test-fault"), 0);
        if (nn_sys_fault > 0) {
            ck_assert_int_eq(r, 0);
            ck_assert_int_gt(n, 2);
            break;
        }
        ck_assert_int_eq(r, -ENOMEM);
    }
    nn_sys_fault = 0;
}
TEST_END

/* Cuts and seals what was just measured, as a client that races with us would. */
static int inspect_too_early(int fd, struct nn_sys_file *ret_file)
{
    *ret_file = (struct nn_sys_file){NN_SYS_SHARED, 8192};
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
}

TEST(a_size_of_before_the_seal_is_not_trusted)
{
    const struct nn_region_params params = {.kind = NNHAL_MEMORY_ASHMEM, .size = 8192};
    const struct nn_sys_fakes fakes = {.inspect = inspect_too_early};
    struct nn_region *region = NULL;
    int fd = memfd_of(8192, 0);

    nn_sys_fakes = &fakes;
    ck_assert_int_eq(nn_region_import(fd, &params, NN_REGION_GUARD, &region), 0);
    nn_sys_fakes = NULL;
    ck_assert(nn_region_can_shrink(region));
    ck_assert_uint_eq(((volatile unsigned char *)nn_region_data(region))[8191], 0);
    ck_assert(nn_region_is_broken(region));
    nn_region_unref(region);
}
TEST_END

CHECK_MAIN("region", a_new_region_is_zeroed_sealed_and_gone_afterwards, any_offset_can_be_mapped,
           ranges_that_do_not_lie_in_the_file_are_malformed, kinds_and_protections_are_checked,
           what_is_no_file_is_malformed,
           what_the_descriptor_does_not_allow_is_unmappable_or_read_only, huge_pages_are_unmappable,
           a_size_of_before_the_seal_is_not_trusted, both_sides_see_what_the_other_writes,
           references_on_several_threads, whichever_call_fails_nothing_is_left)
