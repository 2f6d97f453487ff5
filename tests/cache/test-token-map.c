/* SPDX-License-Identifier: Apache-2.0 */
/* The token map: what it knows, who loses a place, and what may be done to its file and folder.
 * Damage at random is test-damage.c's. */
#include "cache/token-map.h"

#include "base/sys.h"
#include "temp-folder.h"
#include "support/check-main.h"
#include "support/kill-at.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_BYTES = TEMP_FOLDER_BYTES + 64, N_PROCESSES = 4, N_PUTS = 500 };

static char path[TEMP_FOLDER_BYTES];

static struct nn_hash number_hash(uint32_t number)
{
    struct nn_hash hash;

    make_value(number, hash.bytes, sizeof(hash.bytes));
    return hash;
}

static struct nn_token_map *epoch_open(uint32_t epoch)
{
    const struct nn_hash hash = number_hash(epoch);
    struct nn_token_map *map = NULL;

    ck_assert_int_eq(nn_token_map_open(path, &hash, &map), 0);
    return map;
}

/* Token i of a user stands for number i + version. */
static int token_put(struct nn_token_map *map, uint32_t uid, uint32_t i, uint32_t version)
{
    const struct nn_hash token = number_hash(i), hash = number_hash(i + version);

    return nn_token_map_put(map, uid, token.bytes, &hash);
}

/* Returns: whether it is there; it has one of two versions then. */
static bool token_get(struct nn_token_map *map, uint32_t uid, uint32_t i, uint32_t version,
                      uint32_t other)
{
    const struct nn_hash token = number_hash(i), a = number_hash(i + version),
                         b = number_hash(i + other);
    struct nn_token_hashes hashes;

    if (nn_token_map_get(map, uid, token.bytes, &hashes) != 0)
        return false;
    ck_assert(!memcmp(&hashes.current, &a, sizeof(a)) || !memcmp(&hashes.current, &b, sizeof(b)));
    return true;
}

static void map_file(uint32_t epoch, char file[FILE_BYTES])
{
    const struct nn_hash hash = number_hash(epoch);
    int n = snprintf(file, FILE_BYTES, "%s/tokens-", path);

    for (int i = 0; i < 8; i++)
        n += snprintf(file + n, (size_t)(FILE_BYTES - n), "%02x", hash.bytes[i]);
    snprintf(file + n, (size_t)(FILE_BYTES - n), ".map");
}

/* -- what it knows ---------------------------------------------------------------------- */

TEST(a_token_stands_for_what_was_put)
{
    const struct nn_hash token = number_hash(1), one = number_hash(2), two = number_hash(3);
    struct nn_token_hashes hashes;
    struct nn_token_map *map;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(nn_token_map_get(map, 7, token.bytes, &hashes), NN_TOKEN_MAP_E_NONE);
    ck_assert_int_eq(nn_token_map_put(map, 7, token.bytes, &one), 0);
    ck_assert_int_eq(nn_token_map_get(map, 8, token.bytes, &hashes), NN_TOKEN_MAP_E_NONE);
    ck_assert_int_eq(nn_token_map_put_next(map, 7, token.bytes, &two), 0);
    nn_token_map_free(map);
    map = epoch_open(0);
    ck_assert_int_eq(nn_token_map_get(map, 7, token.bytes, &hashes), 0);
    ck_assert_mem_eq(&hashes.current, &one, sizeof(one));
    ck_assert_mem_eq(&hashes.next, &two, sizeof(two));
    ck_assert_int_eq(nn_token_map_put(map, 7, token.bytes, &two), 0);
    ck_assert_int_eq(nn_token_map_get(map, 7, token.bytes, &hashes), 0);
    ck_assert_mem_eq(&hashes.current, &two, sizeof(two));
    ck_assert_mem_eq(&hashes.next, &two, sizeof(two));
    nn_token_map_free(map);
    map = epoch_open(1);
    ck_assert_int_eq(nn_token_map_get(map, 7, token.bytes, &hashes), NN_TOKEN_MAP_E_NONE);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

/* Those that an older nnhal left as databases, too. */
TEST(maps_of_old_builds_go_when_one_is_made)
{
    char file[FILE_BYTES], **names;

    temp_folder_new(path);
    for (uint32_t i = 0; i < 3; i++) {
        const struct timespec times[2] = {{.tv_sec = i + 1}, {.tv_sec = i + 1}};
        int fd;

        snprintf(file, sizeof(file), "%s/tokens-%u.db", path, i);
        fd = open(file, O_CREAT | O_WRONLY, 0600);
        futimens(fd, times);
        close(fd);
    }
    for (uint32_t epoch = 0; epoch < 6; epoch++) {
        struct nn_token_map *map = epoch_open(epoch);
        size_t n = temp_folder_list(path, &names);

        ck_assert_uint_eq(n, 4);
        temp_folder_list_done(names, n);
        map_file(epoch, file);
        ck_assert_int_eq(access(file, F_OK), 0);
        nn_token_map_free(map);
    }
    temp_folder_free(path);
}
TEST_END

/* -- who loses a place ------------------------------------------------------------------- */

TEST(a_user_cannot_push_out_another)
{
    struct nn_token_map *map;
    uint32_t n_kept = 0;

    temp_folder_new(path);
    map = epoch_open(0);
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(token_put(map, 2, i, 1), 0);
    for (uint32_t i = 0; i < 60000; i++)
        ck_assert_int_eq(token_put(map, 1, i, 1), 0);
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert(token_get(map, 2, i, 1, 1));
    /* The greedy one has the rest, of which the newest. */
    for (uint32_t i = 0; i < 60000; i++)
        n_kept += token_get(map, 1, i, 1, 1);
    ck_assert_uint_eq(n_kept, 32768 - 1000); /* no place is empty */
    for (uint32_t i = 50000; i < 60000; i++)
        ck_assert(token_get(map, 1, i, 1, 1));
    /* One who comes late gets a share. */
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(token_put(map, 3, i, 1), 0);
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert(token_get(map, 3, i, 1, 1) && token_get(map, 2, i, 1, 1));
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

/* -- several at once, and killed --------------------------------------------------------- */

TEST(processes_put_at_once)
{
    struct nn_token_map *map;
    int status;

    temp_folder_new(path);
    for (uint32_t i = 0; i < N_PROCESSES; i++) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid > 0)
            continue;
        map = epoch_open(0);
        for (uint32_t k = 0; k < N_PUTS; k++)
            if (token_put(map, 1, i * N_PUTS + k, 1) != 0 || token_put(map, 1, 99999, i) != 0)
                _exit(1);
        _exit(0);
    }
    for (uint32_t i = 0; i < N_PROCESSES; i++) {
        wait(&status);
        ck_assert_int_eq(status, 0);
    }
    map = epoch_open(0);
    for (uint32_t i = 0; i < N_PROCESSES * N_PUTS; i++)
        ck_assert(token_get(map, 1, i, 1, 1));
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

static void *put_versions(void *ctx)
{
    struct nn_token_map *map = ctx;

    for (uint32_t i = 0; i < 20000; i++)
        token_put(map, 1, 5, i % 2);
    return NULL;
}

TEST(a_token_that_is_being_put_is_known)
{
    struct nn_token_map *map, *other;
    pthread_t threads[2];

    temp_folder_new(path);
    map = epoch_open(0);
    other = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 5, 0), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_versions, map), 0);
    for (int i = 0; i < 20000; i++)
        ck_assert(token_get(other, 1, 5, 0, 1));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    nn_token_map_free(other);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

/* Puts in a process that is killed at its n-th call. Returns: whether it lived. */
static bool put_and_die(long at, bool is_half)
{
    int status;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct nn_token_map *map;

        kill_at = at;
        kill_at_half = is_half;
        map = epoch_open(0);
        token_put(map, 1, 1, 1);
        token_put(map, 1, 2, 1);
        nn_token_map_free(map);
        kill_at = 0;
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    return status == 0;
}

TEST(killed_at_each_call)
{
    for (int what = 0; what < 4; what++) {
        bool lives = false;
        long at;

        for (at = 1; !lives; at++) {
            struct nn_token_map *map;

            temp_folder_new(path);
            if (what & 1) { /* there is a map */
                map = epoch_open(0);
                ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
                ck_assert_int_eq(token_put(map, 1, 3, 0), 0);
                nn_token_map_free(map);
            }
            lives = put_and_die(at, what & 2);
            map = epoch_open(0);
            token_get(map, 1, 1, 0, 1);
            ck_assert(!(what & 1) || token_get(map, 1, 3, 0, 0));
            ck_assert_int_eq(token_put(map, 1, 1, 2), 0);
            ck_assert(token_get(map, 1, 1, 2, 2));
            nn_token_map_free(map);
            temp_folder_free(path);
        }
        ck_assert_int_gt(at, 8);
    }
}
TEST_END

/* Another process has opened the file, and hands it over. */
TEST(an_adopted_map_is_the_same_map)
{
    const struct nn_hash mine = number_hash(0), other = number_hash(1);
    struct nn_token_map *map, *adopted = NULL;
    int fd;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    fd = nn_token_map_take_fd(map);
    nn_token_map_free(map);
    ck_assert_int_eq(nn_token_map_adopt(dup(fd), &mine, &adopted), 0);
    ck_assert(token_get(adopted, 1, 1, 0, 0));
    ck_assert_int_eq(token_put(adopted, 1, 2, 0), 0);
    nn_token_map_free(adopted);
    adopted = NULL;
    map = epoch_open(0);
    ck_assert(token_get(map, 1, 2, 0, 0));
    nn_token_map_free(map);
    /* Of another build, and what is no map; either is closed. */
    ck_assert_int_eq(nn_token_map_adopt(fd, &other, &adopted), -EIO);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(nn_token_map_adopt(fd, &mine, &adopted), -EIO);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    ck_assert_ptr_null(adopted);
    temp_folder_free(path);
}
TEST_END

/* -- folders and files ------------------------------------------------------------------- */

TEST(a_folder_that_vanishes_is_made_again)
{
    struct nn_token_map *map, *other;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    temp_folder_free(path);
    ck_assert(token_get(map, 1, 1, 0, 0)); /* what is open goes on */
    ck_assert_int_eq(token_put(map, 1, 2, 0), 0);
    other = epoch_open(0);
    ck_assert(token_get(other, 1, 2, 0, 0));
    temp_folder_free(path);
    nn_token_map_free(other);
    other = epoch_open(0);
    ck_assert_int_eq(token_put(other, 1, 3, 0), 0);
    ck_assert(token_get(map, 1, 3, 0, 0)); /* another process has made it again */
    nn_token_map_free(other);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

TEST(a_link_or_another_kind_of_file_is_replaced)
{
    const struct nn_hash epoch = number_hash(0);
    char file[FILE_BYTES], target[FILE_BYTES];
    struct nn_token_map *map = NULL;
    struct stat status;

    temp_folder_new(path);
    map_file(0, file);
    snprintf(target, sizeof(target), "%s/precious", path);
    close(open(target, O_CREAT | O_WRONLY, 0600));
    for (int is_fifo = 0; is_fifo < 2; is_fifo++) {
        ck_assert_int_eq(is_fifo ? mkfifo(file, 0600) : symlink("precious", file), 0);
        map = epoch_open(0);
        ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
        ck_assert(token_get(map, 1, 1, 0, 0));
        nn_token_map_free(map);
        ck_assert_int_eq(lstat(file, &status), 0);
        ck_assert(S_ISREG(status.st_mode));
        ck_assert_int_eq(unlink(file), 0);
    }
    ck_assert_int_eq(stat(target, &status), 0);
    ck_assert_int_eq(status.st_size, 0);
    ck_assert_int_eq(mkdir(file, 0700), 0);
    ck_assert_int_eq(nn_token_map_open(path, &epoch, &map), -EIO);
    ck_assert_int_eq(rmdir(file), 0);
    ck_assert_int_eq(chmod(path, 0777), 0); /* others could write into it */
    ck_assert_int_eq(nn_token_map_open(path, &epoch, &map), -EIO);
    temp_folder_free(path);
}
TEST_END

/* A disk without room, and a file that can only be read (root may write it all the same). */
TEST(a_map_that_cannot_be_written_is_read)
{
    const struct rlimit limit = {4096, 4096};
    char file[FILE_BYTES];
    struct nn_token_map *map;
    int status;
    pid_t pid;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    nn_token_map_free(map);
    map_file(0, file);
    ck_assert_int_eq(chmod(file, 0400), 0);
    pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        map = epoch_open(0);
        ck_assert(token_get(map, 1, 1, 0, 0));
        ck_assert_int_eq(token_put(map, 1, 2, 0), -EIO);
        ck_assert(!token_get(map, 1, 2, 0, 0));
        ck_assert(token_get(map, 1, 1, 0, 0));
        nn_token_map_free(map);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    temp_folder_free(path);
}
TEST_END

/* No lock of a look-up is left: another process puts at once. */
static void expect_unlocked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
    ck_assert_int_eq(lock.l_type, F_UNLCK);
}

/* A record in another's place has a right checksum and stands for nothing. */
TEST(a_record_that_was_moved_is_unknown)
{
    static uint8_t bytes[5 << 20];
    char file[FILE_BYTES];
    struct nn_token_map *map;
    ssize_t n;
    int fd;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    map_file(0, file);
    fd = open(file, O_RDWR);
    n = pread(fd, bytes, sizeof(bytes), 0);
    for (ssize_t at = 4096; at + 128 <= n; at += 128)
        if (bytes[at]) {
            ck_assert_int_eq(pwrite(fd, bytes + at, 128, at ^ 128), 128);
            ck_assert(token_get(map, 1, 1, 0, 0));
            memset(bytes, 0, 128);
            ck_assert_int_eq(pwrite(fd, bytes, 128, at), 128);
            break;
        }
    ck_assert(!token_get(map, 1, 1, 0, 0));
    expect_unlocked(fd);
    close(fd);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

/* Where the one record of a map lies, and its bytes. */
static off_t find_record(int fd, uint8_t ret_record[128])
{
    for (off_t at = 4096; pread(fd, ret_record, 128, at) == 128; at += 128)
        if (ret_record[0])
            return at;
    ck_abort_msg("there is no record");
    return 0;
}

static struct {
    int fd;
    off_t at;
    uint8_t record[128];
    unsigned n_reads;
} half_written;

/* The writer goes on while the record is looked for again. */
static void finish_writing(const char *call, int fd)
{
    (void)fd;
    if (strcmp(call, "pread") == 0 && ++half_written.n_reads == 2)
        ck_assert_int_eq(pwrite(half_written.fd, half_written.record, 128, half_written.at), 128);
}

TEST(a_record_that_is_half_written_is_looked_at_again)
{
    char file[FILE_BYTES];
    struct nn_token_map *map;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    map_file(0, file);
    half_written.fd = open(file, O_RDWR);
    half_written.at = find_record(half_written.fd, half_written.record);
    ck_assert_int_eq(pwrite(half_written.fd, "half", 4, half_written.at + 40), 4);
    nn_sys_observer = finish_writing;
    nn_sys_fault = 1 << 20; /* so that it is observed */
    ck_assert(token_get(map, 1, 1, 0, 0));
    nn_sys_fault = 0;
    nn_sys_observer = NULL;
    ck_assert_uint_eq(half_written.n_reads, 2);
    expect_unlocked(half_written.fd);
    /* What is whole is read once. */
    half_written.n_reads = 0;
    nn_sys_observer = finish_writing;
    nn_sys_fault = 1 << 20;
    ck_assert(token_get(map, 1, 1, 0, 0));
    nn_sys_fault = 0;
    nn_sys_observer = NULL;
    ck_assert_uint_eq(half_written.n_reads, 1);
    close(half_written.fd);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

/* -- what is in the way -------------------------------------------------------------------- */

/* A process that was stopped while it put. */
TEST(a_lock_that_is_never_given_back_costs_a_put_and_no_get)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char file[FILE_BYTES];
    struct nn_token_map *map;
    int fd;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    map_file(0, file);
    fd = open(file, O_RDWR);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    ck_assert_int_eq(token_put(map, 1, 2, 0), -EIO);
    ck_assert(token_get(map, 1, 1, 0, 0));
    ck_assert(!token_get(map, 1, 2, 0, 0));
    close(fd);
    ck_assert_int_eq(token_put(map, 1, 2, 0), 0);
    ck_assert(token_get(map, 1, 2, 0, 0));
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

static void puts_nothing(void)
{
    const struct nn_hash epoch = number_hash(0), fresh = number_hash(9);
    struct nn_token_map *map = NULL;

    ck_assert_int_eq(nn_token_map_open(path, &epoch, &map), 0);
    ck_assert_int_eq(token_put(map, 1, 2, 0), -EIO);
    ck_assert(token_get(map, 1, 1, 0, 0));
    ck_assert(!token_get(map, 1, 2, 0, 0));
    nn_token_map_free(map);
    ck_assert_int_eq(nn_token_map_open(path, &fresh, &map), -EIO);
}

TEST(a_file_system_without_locks_gives_what_is_there)
{
    struct nn_token_map *map;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    refuse_in_child((struct refusal){SYS_fcntl, ENOLCK}, puts_nothing);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

/* As on a disk that is mounted to be read. */
static int open_to_read(int dir_fd, const char *file, int flags, unsigned mode)
{
    int fd;

    if ((flags & O_ACCMODE) != O_RDONLY)
        return -refused.error;
    fd = openat(dir_fd, file, flags | O_CLOEXEC, mode);
    return fd < 0 ? -errno : fd;
}

TEST(a_map_on_a_disk_that_is_read_only_is_read)
{
    static const struct nn_sys_fakes fakes = {.openat = open_to_read};
    static const int errors[] = {EROFS, EACCES};
    struct nn_token_map *map;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    nn_token_map_free(map);
    nn_sys_fakes = &fakes;
    for (size_t i = 0; i < 2; i++) {
        refused.error = errors[i];
        map = epoch_open(0);
        ck_assert_int_eq(token_put(map, 1, 2, 0), -EIO);
        ck_assert(token_get(map, 1, 1, 0, 0));
        nn_token_map_free(map);
    }
    nn_sys_fakes = NULL;
    temp_folder_free(path);
}
TEST_END

static void keeps_the_link(void)
{
    const struct nn_hash epoch = number_hash(0);
    struct nn_token_map *map = NULL;

    ck_assert_int_eq(nn_token_map_open(path, &epoch, &map), -EIO);
    ck_assert_ptr_null(map);
}

TEST(what_cannot_be_removed_is_not_followed)
{
    char file[FILE_BYTES], target[FILE_BYTES];
    struct stat status;

    temp_folder_new(path);
    map_file(0, file);
    snprintf(target, sizeof(target), "%s/target", path);
    close(open(target, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(symlink(target, file), 0);
    refuse_in_child((struct refusal){SYS_unlinkat, EPERM}, keeps_the_link);
    ck_assert_int_eq(stat(target, &status), 0);
    ck_assert_int_eq(status.st_size, 0);
    temp_folder_free(path);
}
TEST_END

TEST(where_its_folder_cannot_be_made_again_the_open_map_goes_on)
{
    const struct nn_hash epoch = number_hash(0);
    struct nn_token_map *map, *other = NULL;
    char file[FILE_BYTES];

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    map_file(0, file);
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(rmdir(path), 0);
    close(open(path, O_CREAT | O_WRONLY, 0600)); /* in its place */
    ck_assert_int_eq(token_put(map, 1, 2, 0), 0);
    ck_assert(token_get(map, 1, 1, 0, 0));
    ck_assert(token_get(map, 1, 2, 0, 0));
    ck_assert(!token_get(map, 1, 3, 0, 0));
    ck_assert_int_eq(nn_token_map_open(path, &epoch, &other), -EIO);
    nn_token_map_free(map);
    unlink(path);
}
TEST_END

/* -- what a hostile process writes ------------------------------------------------------------ */

/* The record of token 1, as a hostile process would write it. */
static void write_age(const char *file, uint64_t age)
{
    static uint8_t bytes[5 << 20];
    int fd = open(file, O_RDWR);
    ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
    uint64_t sum;

    for (ssize_t at = 4096; at + 128 <= n; at += 128)
        if (bytes[at + 96] || bytes[at]) {
            memcpy(bytes + at + 96, &age, sizeof(age));
            sum = nn_hash_checksum(bytes + at, 112);
            memcpy(bytes + at + 112, &sum, sizeof(sum));
            ck_assert_int_eq(pwrite(fd, bytes + at, 128, at), 128);
        }
    close(fd);
}

TEST(the_oldest_age_there_is_ends_nothing)
{
    char file[FILE_BYTES];
    struct nn_token_map *map;

    temp_folder_new(path);
    map = epoch_open(0);
    ck_assert_int_eq(token_put(map, 1, 1, 0), 0);
    map_file(0, file);
    write_age(file, UINT64_MAX);
    ck_assert(token_get(map, 1, 1, 0, 0));
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(token_put(map, 1, 1, i), 0);
        ck_assert(token_get(map, 1, 1, i, i));
    }
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("token-map", a_token_stands_for_what_was_put, maps_of_old_builds_go_when_one_is_made,
           a_user_cannot_push_out_another, processes_put_at_once,
           a_token_that_is_being_put_is_known, an_adopted_map_is_the_same_map, killed_at_each_call,
           a_folder_that_vanishes_is_made_again, a_link_or_another_kind_of_file_is_replaced,
           a_map_that_cannot_be_written_is_read, a_record_that_was_moved_is_unknown,
           a_record_that_is_half_written_is_looked_at_again,
           a_lock_that_is_never_given_back_costs_a_put_and_no_get,
           a_file_system_without_locks_gives_what_is_there,
           a_map_on_a_disk_that_is_read_only_is_read, what_cannot_be_removed_is_not_followed,
           where_its_folder_cannot_be_made_again_the_open_map_goes_on,
           the_oldest_age_there_is_ends_nothing)
