/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an entry: what is written is all that is there, on the disk; what is no ordinary file is
 * not touched. */
#include "cache/entry-file.h"

#include "base/sys.h"
#include "support/check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int file_new(int flags)
{
    const char *parent = getenv("TMPDIR");
    int fd;

    snprintf(path, sizeof(path), "%.36s/nnhal-entry-XXXXXX", parent ? parent : "/tmp");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 100), 0);
    close(fd);
    fd = open(path, flags | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void file_done(int fd)
{
    close(fd);
    ck_assert_int_eq(unlink(path), 0);
}

static unsigned n_synced, n_changed;

/* Counts what is written, and how much of it is before the disk was waited for last. */
static void observe(const char *call, int fd)
{
    (void)fd;
    if (strcmp(call, "fdatasync") == 0)
        n_synced = n_changed;
    else
        n_changed++;
}

TEST(what_is_written_is_all_that_is_there)
{
    const struct nn_hash_part parts[] = {{"ab", 2}, {NULL, 0}, {"cde", 3}};
    uint8_t *bytes = NULL;
    uint64_t size = 0;
    int fd = file_new(O_RDWR);

    ck_assert_int_eq((int)lseek(fd, 50, SEEK_SET), 50);
    for (int is_synced = 0; is_synced < 2; is_synced++) {
        n_synced = n_changed = 0;
        nn_sys_observer = observe;
        nn_sys_fault = 1 << 20; /* so that it is observed */
        ck_assert_int_eq(is_synced ? nn_entry_file_write(fd, parts, 3)
                                   : nn_entry_file_write_unsynced(fd, parts, 3),
                         0);
        nn_sys_fault = 0;
        ck_assert_uint_gt(n_changed, 0);
        ck_assert_uint_eq(n_synced, is_synced ? n_changed : 0);
        ck_assert_int_eq(nn_entry_file_size(fd, &size), 0);
        ck_assert_uint_eq(size, 5);
        ck_assert_int_eq(nn_entry_file_read(fd, size, &bytes), 0);
        ck_assert_mem_eq(bytes, "abcde", 5);
        ck_assert_uint_eq((uintptr_t)bytes % NN_ENTRY_FILE_ALIGNMENT, 0);
        free(bytes);
        bytes = NULL;
        ck_assert_int_eq(nn_entry_file_write(fd, parts + 2, 1), 0); /* shorter */
        ck_assert_int_eq(nn_entry_file_size(fd, &size), 0);
        ck_assert_uint_eq(size, 3);
        ck_assert_int_eq(nn_entry_file_read(fd, 5, &bytes), NN_ENTRY_FILE_E_UNUSABLE);
        ck_assert_ptr_null(bytes);
    }
    file_done(fd);
}
TEST_END

TEST(each_failure_is_told)
{
    const struct nn_hash_part parts[] = {{"ab", 2}, {"cde", 3}};
    int fd = file_new(O_RDWR), r = -1;
    long n = 0;

    nn_sys_fault_errno = EIO;
    while (r != 0) {
        nn_sys_fault = ++n;
        r = nn_entry_file_write(fd, parts, 2);
        ck_assert_int_eq(r, nn_sys_fault > 0 ? 0 : -EIO);
    }
    nn_sys_fault = 0;
    ck_assert_int_eq(n, 5); /* two parts, the length, the disk; then none fails */
    file_done(fd);
}
TEST_END

TEST(only_an_ordinary_file_is_written_anywhere)
{
    static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR | O_APPEND, O_PATH};
    uint64_t size;
    int fd, pipes[2];

    fd = file_new(O_RDWR);
    ck_assert(nn_entry_file_is_writable(fd));
    file_done(fd);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        fd = file_new(flags[i]);
        ck_assert(!nn_entry_file_is_writable(fd));
        file_done(fd);
    }
    ck_assert(!nn_entry_file_is_writable(-1));
    ck_assert_int_eq(nn_entry_file_size(-1, &size), NN_ENTRY_FILE_E_UNUSABLE);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    ck_assert(!nn_entry_file_is_writable(fd));
    ck_assert_int_eq(nn_entry_file_size(fd, &size), NN_ENTRY_FILE_E_UNUSABLE);
    close(fd);
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    ck_assert_int_eq(nn_entry_file_size(pipes[0], &size), NN_ENTRY_FILE_E_UNUSABLE);
    close(pipes[0]);
    close(pipes[1]);
}
TEST_END

/* The file is sparse: nothing of it is taken. */
TEST(a_file_that_is_too_large_is_unusable)
{
    uint64_t size = 0;
    int fd = file_new(O_RDWR);

    ck_assert_int_eq(ftruncate(fd, (off_t)NN_ENTRY_FILE_MAX_BYTES), 0);
    ck_assert_int_eq(nn_entry_file_size(fd, &size), 0);
    ck_assert_uint_eq(size, NN_ENTRY_FILE_MAX_BYTES);
    ck_assert_int_eq(ftruncate(fd, (off_t)NN_ENTRY_FILE_MAX_BYTES + 1), 0);
    ck_assert_int_eq(nn_entry_file_size(fd, &size), NN_ENTRY_FILE_E_UNUSABLE);
    file_done(fd);
}
TEST_END

CHECK_MAIN("entry-file", what_is_written_is_all_that_is_there, each_failure_is_told,
           only_an_ordinary_file_is_written_anywhere, a_file_that_is_too_large_is_unusable)
