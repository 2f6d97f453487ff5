/* SPDX-License-Identifier: Apache-2.0 */
/* Places where nothing can be kept: full, not writable, another user's, gone. The model is
 * compiled and runs, and one line tells why it was not cached.
 *
 * It needs a file system of its own, so each test is in namespaces of its own, where it is an
 * unprivileged user; where the system does not allow that, nothing here is run. */
#include "caching.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DATA_BYTES = 100000, UNPRIVILEGED = 65534, STRANGER = 12345 };

/* Whether we began as root: then files can belong to others. */
static bool was_root;

/* -- namespaces ----------------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return is_written;
}

/* The user stays who it is; it may mount. */
static bool enter_namespaces(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    was_root = uid == 0;
    if (was_root)
        return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", map))
        return false;
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    return write_text("/proc/self/gid_map", map);
}

static bool mount_small(const char *path, const char *options)
{
    return mount("small", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

/* Folders that belong to who the test is from now on. */
static void become_unprivileged(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    if (!was_root) { /* what its namespace gave it goes */
        ck_assert_int_eq(syscall(SYS_capset, &header, none), 0);
        return;
    }
    ck_assert_int_eq(chown(caching_root, UNPRIVILEGED, UNPRIVILEGED), 0);
    ck_assert(chown(caching_folder, UNPRIVILEGED, UNPRIVILEGED) == 0 || errno == EROFS);
    ck_assert_int_eq(chown(caching_state, UNPRIVILEGED, UNPRIVILEGED), 0);
    ck_assert_int_eq(setgroups(0, NULL), 0);
    ck_assert_int_eq(setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED), 0);
    ck_assert_int_eq(setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED), 0);
}

/* Everything in a file system of 1 MiB, which only this test sees. */
static void places_init(void)
{
    ck_assert(enter_namespaces());
    ck_assert(mount_small("/tmp", "size=1m,mode=1777"));
    setenv("TMPDIR", "/tmp", 1);
    setenv("NNHAL_LOG", "cache:warning", 1);
    caching_init(DATA_BYTES);
}

/* -- what is said ----------------------------------------------------------------------------- */

/* How often a word is said on standard error while body runs. */
static unsigned count_said(const char *word, void (*body)(void))
{
    int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), before = dup(STDERR_FILENO);
    char text[8192];
    unsigned n = 0;
    ssize_t n_bytes;

    ck_assert_int_ge(file, 0);
    dup2(file, STDERR_FILENO);
    body();
    dup2(before, STDERR_FILENO);
    n_bytes = pread(file, text, sizeof(text) - 1, 0);
    ck_assert_int_ge(n_bytes, 0);
    text[n_bytes] = '\0';
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    close(file);
    close(before);
    return n;
}

static void compile_uncached_often(void)
{
    for (int i = 0; i < 5; i++)
        EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
}

static void expect_uncached(const char *word)
{
    ck_assert_uint_eq(count_said(word, compile_uncached_often), 1);
}

/* -- full ------------------------------------------------------------------------------------- */

TEST(a_full_disk)
{
    places_init();
    ck_assert(mount_small(caching_folder, "size=64k"));
    become_unprivileged();
    expect_uncached("no room");
    ck_assert_uint_eq(caching_list(NULL, 0), 0); /* no piece is left */
}
TEST_END

TEST(a_disk_that_is_full_when_the_second_model_comes)
{
    struct how other = USUAL;

    places_init();
    ck_assert(mount_small(caching_folder, "size=160k"));
    become_unprivileged();
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    other.operation = ANEURALNETWORKS_MUL;
    EXPECT(NNHAL_CACHE_UNCACHED, other);
    EXPECT(NNHAL_CACHE_HIT, USUAL); /* what was there is as it was */
    ck_assert_uint_eq(caching_list(NULL, 0), 2);
}
TEST_END

TEST(a_full_disk_where_the_driver_remembers)
{
    places_init();
    ck_assert(mount_small(caching_state, "size=4k"));
    become_unprivileged();
    expect_uncached("kept nothing");
    ck_assert_uint_eq(caching_list(NULL, 0), 0);
}
TEST_END

/* -- not writable -------------------------------------------------------------------------------- */

TEST(a_folder_without_write_permission)
{
    places_init();
    become_unprivileged();
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    ck_assert_int_eq(chmod(caching_folder, 0500), 0);
    EXPECT(NNHAL_CACHE_HIT, USUAL); /* nothing has to be written for that */
    ck_assert_int_eq(chmod(caching_folder, 0000), 0);
    expect_uncached("cannot be used");
    ck_assert_int_eq(chmod(caching_folder, 0700), 0);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
}
TEST_END

TEST(a_folder_mounted_for_reading_only)
{
    places_init();
    ck_assert(mount_small(caching_folder, "size=64k"));
    ck_assert_int_eq(
        mount(NULL, caching_folder, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL), 0);
    become_unprivileged();
    expect_uncached("must be writable");
}
TEST_END

TEST(a_driver_whose_own_folder_cannot_be_written)
{
    places_init();
    become_unprivileged();
    ck_assert_int_eq(chmod(caching_state, 0500), 0);
    expect_uncached("caches nothing");
    ck_assert_uint_eq(caching_list(NULL, 0), 0);
}
TEST_END

/* -- another user's ----------------------------------------------------------------------------- */

TEST(files_of_another_user_are_not_used)
{
    char path[512];

    places_init();
    if (!was_root) {
        printf("SKIPPED: only root can give files to others\n");
        return;
    }
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    for (int i = 0; i < 2; i++) {
        caching_path(i ? "-d0" : "-m0", path, sizeof(path));
        ck_assert_int_eq(chown(path, STRANGER, STRANGER), 0);
        ck_assert_int_eq(chmod(path, 0666), 0);
        EXPECT(NNHAL_CACHE_COMPILED, USUAL);
        EXPECT(NNHAL_CACHE_HIT, USUAL);
    }
    snprintf(path, sizeof(path), "%s/lock", caching_folder);
    ck_assert_int_eq(chown(path, STRANGER, STRANGER), 0);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_path("-m0", path, sizeof(path));
    ck_assert_int_eq(unlink(path), 0);
    expect_uncached("must be writable");
}
TEST_END

/* -- gone ---------------------------------------------------------------------------------------- */

static void remove_folder(void)
{
    char path[512];

    while (caching_list(path, sizeof(path)))
        ck_assert_int_eq(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/lock", caching_folder);
    unlink(path);
    ck_assert_int_eq(rmdir(caching_folder), 0);
    caching_on_prepare = NULL;
}

TEST(a_folder_that_vanishes)
{
    places_init();
    become_unprivileged();
    caching_on_prepare = remove_folder; /* between the lock and the names */
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    expect_uncached("cannot be used"); /* it is gone */
    ck_assert_int_eq(mkdir(caching_folder, 0700), 0);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
}
TEST_END

/* -- whether it can be done at all ------------------------------------------------------------------ */

static bool can_mount(void)
{
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        _exit(enter_namespaces() && mount_small("/tmp", "size=64k") ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    const TTest *const tests[] = {a_full_disk,
                                  a_disk_that_is_full_when_the_second_model_comes,
                                  a_full_disk_where_the_driver_remembers,
                                  a_folder_without_write_permission,
                                  a_folder_mounted_for_reading_only,
                                  a_driver_whose_own_folder_cannot_be_written,
                                  files_of_another_user_are_not_used,
                                  a_folder_that_vanishes};

    if (!can_mount()) {
        printf("no namespaces to mount in: full and foreign disks were not tried\n");
        return 77;
    }
    return check_main("caching-places", tests, sizeof(tests) / sizeof(tests[0]));
}
