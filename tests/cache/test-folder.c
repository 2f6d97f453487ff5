/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/folder.h"

#include "base/sys.h"
#include "cache/history.h"
#include "support/check-main.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char path[64];
static struct nn_folder folder;

static void folder_init(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(path, sizeof(path), "%.36s/nnhal-folder-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert_int_eq(nn_folder_open(path, &folder), 0);
}

static int remove_one(const char *name, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(name);
}

static void folder_done(void)
{
    nn_folder_close(&folder);
    ck_assert_int_eq(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static struct nn_hash key_of(unsigned number)
{
    struct nn_hash key = {{0}};

    key.bytes[4] = (uint8_t)number;
    key.bytes[31] = 1;
    return key;
}

/* An entry of 100 bytes that was last used at time_s. */
static void put(unsigned number, time_t time_s, uint64_t max_bytes)
{
    const struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
    struct nn_hash key = key_of(number);
    struct nn_entry set;

    ck_assert_int_eq(nn_entry_create(&folder, &key, 1, 1, &set), 0);
    ck_assert(!nn_entry_is_written(&set));
    ck_assert_int_eq(ftruncate(set.model[0], 60), 0);
    ck_assert_int_eq(ftruncate(set.data[0], 40), 0);
    ck_assert_int_eq(futimens(set.model[0], times), 0);
    ck_assert_int_eq(futimens(set.data[0], times), 0);
    ck_assert_int_eq(nn_entry_commit(&set, max_bytes), 0);
    nn_entry_done(&set);
}

/* The name of its first file. */
static const char *name_of(unsigned number)
{
    struct nn_hash key = key_of(number);
    static char name[80];

    for (size_t i = 0; i < NN_HASH_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", key.bytes[i]);
    strcat(name, "-m0");
    return name;
}

/* Looks without making the entry look used. */
static bool is_there(unsigned number)
{
    struct stat status;

    return fstatat(folder.fd, name_of(number), &status, 0) == 0;
}

TEST(what_was_not_used_for_longest_goes_first)
{
    struct nn_hash key = key_of(1);
    struct nn_entry set;

    folder_init();
    put(1, 1000, 1000);
    put(2, 2000, 1000);
    put(3, 3000, 1000);
    /* Looking 1 up makes it the newest. */
    ck_assert_int_eq(nn_entry_find(&folder, &key, 1, 1, &set), 0);
    nn_entry_done(&set);
    put(4, 4000, 250);
    ck_assert(is_there(1));
    ck_assert(!is_there(2));
    ck_assert(!is_there(3));
    ck_assert(is_there(4));
    /* The newest entry stays, though it alone is too large. */
    put(5, 5000, 50);
    ck_assert(!is_there(1));
    ck_assert(!is_there(4));
    ck_assert(is_there(5));
    folder_done();
}
TEST_END

/* Of the files of an entry the one that was used last counts. */
TEST(an_entry_is_as_old_as_its_newest_file)
{
    const struct timespec late[2] = {{.tv_sec = 9000}, {.tv_sec = 9000}};

    for (int is_model = 0; is_model < 2; is_model++) {
        char name[80];

        folder_init();
        put(1, 1000, 1000);
        put(2, 2000, 1000);
        snprintf(name, sizeof(name), "%s", name_of(1));
        name[strlen(name) - 2] = is_model ? 'm' : 'd';
        ck_assert_int_eq(utimensat(folder.fd, name, late, 0), 0);
        put(3, 3000, 200);
        ck_assert(is_there(1));
        ck_assert(!is_there(2));
        ck_assert(is_there(3));
        folder_done();
    }
}
TEST_END

/* As its maker asks, and who has it open while another one removes it. */
TEST(an_entry_knows_whether_it_is_written_and_removed)
{
    struct nn_hash key = key_of(1);
    struct nn_entry set;

    folder_init();
    ck_assert_int_eq(nn_entry_create(&folder, &key, 1, 1, &set), 0);
    ck_assert(!nn_entry_is_written(&set));
    ck_assert_int_eq(ftruncate(set.model[0], 60), 0);
    ck_assert(nn_entry_is_written(&set));
    ck_assert_int_eq(nn_entry_commit(&set, 1000), 0);
    nn_entry_done(&set);
    ck_assert_int_eq(nn_entry_find(&folder, &key, 1, 1, &set), 0);
    ck_assert(!nn_entry_is_removed(&set));
    ck_assert_int_eq(unlinkat(folder.fd, name_of(1), 0), 0);
    ck_assert(nn_entry_is_removed(&set));
    nn_entry_done(&set);
    folder_done();
}
TEST_END

TEST(what_is_not_kept_leaves_nothing)
{
    struct nn_hash key = key_of(1);
    struct nn_entry set;

    folder_init();
    ck_assert_int_eq(nn_entry_create(&folder, &key, 2, 3, &set), 0);
    ck_assert_int_eq(ftruncate(set.model[0], 60), 0);
    nn_entry_done(&set);
    ck_assert_int_eq(nn_entry_find(&folder, &key, 2, 3, &set), NN_FOLDER_E_NONE);
    nn_folder_close(&folder);
    ck_assert_int_eq(rmdir(path), 0);
}
TEST_END

TEST(files_of_a_maker_that_died_are_removed_later)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct nn_hash key = key_of(1);
    struct nn_entry dead, alive, other;
    struct stat status;

    folder_init();
    ck_assert_int_eq(nn_entry_create(&folder, &key, 1, 0, &dead), 0);
    ck_assert_int_eq(futimens(dead.model[0], long_ago), 0);
    ck_assert_int_eq(nn_entry_create(&folder, &key, 1, 0, &alive), 0);
    put(2, 2000, 1000);
    ck_assert_int_eq(fstat(dead.model[0], &status), 0);
    ck_assert_uint_eq(status.st_nlink, 0);
    ck_assert_int_eq(fstat(alive.model[0], &status), 0);
    ck_assert_uint_eq(status.st_nlink, 1);
    nn_entry_done(&alive);
    nn_entry_done(&dead);
    key = key_of(2);
    ck_assert_int_eq(nn_entry_find(&folder, &key, 1, 1, &other), 0);
    nn_entry_done(&other);
    folder_done();
}
TEST_END

TEST(a_lock_is_one_keys_and_ends_with_its_process)
{
    struct nn_hash key = key_of(1), other = key_of(2);
    struct nn_folder second;
    int ready[2], status;
    char byte = 0;
    pid_t child;

    folder_init();
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (nn_folder_open(path, &second) || nn_folder_lock(&second, &key, 0) ||
            write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(nn_folder_lock(&folder, &key, 0), NN_FOLDER_E_BUSY);
    ck_assert_int_eq(nn_folder_lock(&folder, &other, 0), 0);
    nn_folder_unlock(&folder);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(nn_folder_lock(&folder, &key, 0), 0);
    nn_folder_unlock(&folder);
    close(ready[0]);
    close(ready[1]);
    folder_done();
}
TEST_END

/* Each system call of making and keeping fails once: there is an entry, or there is none. */
TEST(an_entry_is_there_whole_or_not_at_all)
{
    struct nn_hash key = key_of(1);
    bool is_kept = false;

    folder_init();
    for (long n = 1; !is_kept; n++) {
        struct nn_entry set;
        int r;

        nn_sys_fault_errno = ENOSPC;
        nn_sys_fault = n;
        r = nn_entry_create(&folder, &key, 2, 2, &set);
        if (r == 0) {
            ck_assert_int_eq(ftruncate(set.model[0], 1), 0);
            is_kept = nn_entry_commit(&set, 1000) == 0;
            nn_entry_done(&set);
        }
        nn_sys_fault = 0;
        r = nn_entry_find(&folder, &key, 2, 2, &set);
        ck_assert_int_eq(r, is_kept ? 0 : NN_FOLDER_E_NONE);
        if (r == 0)
            nn_entry_done(&set);
        ck_assert_int_lt(n, 100);
    }
    folder_done();
}
TEST_END

TEST(history_is_found_again_or_none)
{
    struct nn_history_record note = {.key = key_of(1), .outcome = 2, .device = "a", .why = "b"},
                             found[256];
    char file[80];
    int fd;

    folder_init();
    ck_assert_uint_eq(nn_history_read(&folder, found), 0);
    nn_history_write(&folder, &note);
    note.key.bytes[0] = 7;
    nn_history_write(&folder, &note);
    strcpy(note.why, "c");
    nn_history_write(&folder, &note);
    ck_assert_uint_eq(nn_history_read(&folder, found), 2);
    ck_assert_str_eq(found[0].why, "b");
    ck_assert_str_eq(found[1].why, "c");
    ck_assert_mem_eq(&found[1].key, &note.key, sizeof(note.key));
    snprintf(file, sizeof(file), "%s/notes", path);
    fd = open(file, O_RDWR);
    ck_assert_int_eq(pwrite(fd, "!", 1, 70), 1);
    close(fd);
    ck_assert_uint_eq(nn_history_read(&folder, found), 1);
    nn_history_clear(&folder);
    ck_assert_uint_eq(nn_history_read(&folder, found), 0);
    folder_done();
}
TEST_END

CHECK_MAIN("folder", history_is_found_again_or_none, what_was_not_used_for_longest_goes_first,
           an_entry_is_as_old_as_its_newest_file, what_is_not_kept_leaves_nothing,
           an_entry_knows_whether_it_is_written_and_removed,
           files_of_a_maker_that_died_are_removed_later,
           a_lock_is_one_keys_and_ends_with_its_process, an_entry_is_there_whole_or_not_at_all)
