/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/discovery.h"

#include "support/check-main.h"
#include "support/fail-alloc.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static const char *at(const char *name)
{
    static char paths[8][128];
    static size_t next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
    return path;
}

static void touch(const char *name)
{
    int fd = open(at(name), O_CREAT | O_WRONLY, 0755);

    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void make_tree(void)
{
    snprintf(root, sizeof(root), "/tmp/nnhal-test-places-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(mkdir(at("one"), 0755), 0);
    ck_assert_int_eq(mkdir(at("two"), 0755), 0);
}

static void remove_tree(void)
{
    static const char *const names[] = {"one/b.sock",  "one/a.sock", "one/.sock",  "one/a.txt",
                                        "one/nnhal/x", "one/nnhal",  "two/a.sock", "two/c.d-1.sock",
                                        "two/host",    "one",        "two"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        remove(at(names[i]));
    remove(at("one/libnnhal-driver-x.so"));
    remove(at("one/libnnhal-driver-.so"));
    remove(at("one/libother.so"));
    remove(at("one"));
    ck_assert_int_eq(rmdir(root), 0);
}

TEST(sockets_are_listed_by_folder_then_name_and_the_first_wins)
{
    struct nn_discovery places;
    char list[256];

    make_tree();
    touch("one/b.sock");
    touch("one/a.sock");
    touch("one/.sock");
    touch("one/a.txt");
    touch("two/a.sock");
    touch("two/c.d-1.sock");
    snprintf(list, sizeof(list), ":%s:relative:/nonexistent:%s:", at("one"), at("two"));
    setenv("NNHAL_SOCKET_PATH", list, 1);
    ck_assert_int_eq(nn_discovery_init_sockets(&places), 0);
    ck_assert_uint_eq(places.n_entries, 3);
    ck_assert_str_eq(places.entries[0].name, "a");
    ck_assert_str_eq(places.entries[0].path, at("one/a.sock"));
    ck_assert_str_eq(places.entries[1].name, "b");
    ck_assert_str_eq(places.entries[2].name, "c.d-1");
    ck_assert_str_eq(nn_discovery_find(&places, "b"), at("one/b.sock"));
    ck_assert_ptr_null(nn_discovery_find(&places, "d"));
    nn_discovery_done(&places);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    ck_assert_int_eq(nn_discovery_init_sockets(&places), 0);
    ck_assert_uint_eq(places.n_entries, 0);
    nn_discovery_done(&places);
    remove_tree();
}
TEST_END

TEST(drivers_are_known_by_their_file_names)
{
    struct nn_discovery places;

    make_tree();
    touch("one/libnnhal-driver-x.so");
    touch("one/libnnhal-driver-.so");
    touch("one/libother.so");
    setenv("NNHAL_DRIVER_PATH", at("one"), 1);
    ck_assert_int_eq(nn_discovery_init_drivers(&places), 0);
    ck_assert_uint_eq(places.n_entries, 1);
    ck_assert_str_eq(places.entries[0].name, "x");
    ck_assert_str_eq(places.entries[0].path, at("one/libnnhal-driver-x.so"));
    nn_discovery_done(&places);
    unsetenv("NNHAL_DRIVER_PATH");
    ck_assert_int_eq(nn_discovery_init_drivers(&places), 0);
    ck_assert_ptr_null(nn_discovery_find(&places, "x"));
    nn_discovery_done(&places);
    remove_tree();
}
TEST_END

TEST(a_service_listens_in_the_first_folder_that_is_its_own)
{
    char *path = NULL;

    make_tree();
    setenv("NNHAL_SOCKET_PATH", at("one/nnhal"), 1);
    ck_assert_int_eq(nn_discovery_socket_path("dev", &path), 0);
    ck_assert_str_eq(path, at("one/nnhal/dev.sock"));
    ck_assert_int_eq(access(at("one/nnhal"), F_OK), 0);
    free(path);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    ck_assert_int_eq(nn_discovery_socket_path("dev", &path), -ENOENT);
    setenv("NNHAL_SOCKET_PATH", "/nonexistent/deeper", 1);
    ck_assert_int_lt(nn_discovery_socket_path("dev", &path), 0);
    remove_tree();
}
TEST_END

TEST(the_host_program_can_be_given)
{
    char *path = NULL;

    make_tree();
    touch("two/host");
    setenv("NNHAL_HOST", at("two/host"), 1);
    ck_assert_int_eq(nn_discovery_host_path(&path), 0);
    ck_assert_str_eq(path, at("two/host"));
    free(path);
    setenv("NNHAL_HOST", at("two/absent"), 1);
    ck_assert_int_eq(nn_discovery_host_path(&path), -ENOENT);
    remove_tree();
}
TEST_END

TEST(without_a_list_sockets_are_the_systems_and_the_users)
{
    struct nn_discovery places;

    make_tree();
    ck_assert_int_eq(mkdir(at("one/nnhal"), 0755), 0);
    touch("one/nnhal/x.sock");
    unsetenv("NNHAL_SOCKET_PATH");
    setenv("XDG_RUNTIME_DIR", at("one"), 1);
    ck_assert_int_eq(nn_discovery_init_sockets(&places), 0);
    ck_assert_str_eq(nn_discovery_find(&places, "x"), at("one/nnhal/x.sock"));
    nn_discovery_done(&places);
    /* A relative one means nothing; nor does one that is not set. */
    ck_assert_int_eq(chdir(root), 0);
    setenv("XDG_RUNTIME_DIR", "one", 1);
    ck_assert_int_eq(nn_discovery_init_sockets(&places), 0);
    ck_assert_ptr_null(nn_discovery_find(&places, "x"));
    nn_discovery_done(&places);
    unsetenv("XDG_RUNTIME_DIR");
    ck_assert_int_eq(nn_discovery_init_sockets(&places), 0);
    ck_assert_ptr_null(nn_discovery_find(&places, "x"));
    nn_discovery_done(&places);
    ck_assert_int_eq(unlink(at("one/nnhal/x.sock")), 0);
    remove_tree();
}
TEST_END

TEST(of_a_long_list_the_first_sixteen_count)
{
    struct nn_discovery places;
    char list[600] = "";

    make_tree();
    touch("one/a.sock");
    touch("two/c.d-1.sock");
    for (int i = 0; i < 15; i++)
        strcat(list, "/nonexistent:");
    strcat(list, at("one"));
    strcat(list, ":");
    strcat(list, at("two"));
    setenv("NNHAL_SOCKET_PATH", list, 1);
    ck_assert_int_eq(nn_discovery_init_sockets(&places), 0);
    ck_assert_uint_eq(places.n_entries, 1);
    ck_assert_ptr_nonnull(nn_discovery_find(&places, "a"));
    nn_discovery_done(&places);
    remove_tree();
}
TEST_END

/* As an ordinary user. */
static void place_is_the_users(void)
{
    char *path = NULL;

    ck_assert(geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);
    ck_assert_int_eq(nn_discovery_socket_path("dev", &path), 0);
    ck_assert_str_eq(path, at("one/nnhal/dev.sock"));
    free(path);
    unsetenv("XDG_RUNTIME_DIR");
    ck_assert_int_eq(nn_discovery_socket_path("dev", &path), -ENOENT);
    setenv("NNHAL_SOCKET_PATH", at("two/deeper"), 1);
    ck_assert_int_eq(nn_discovery_socket_path("dev", &path), -EACCES);
}

TEST(the_service_of_a_user_listens_in_the_users_folder)
{
    make_tree();
    ck_assert_int_eq(chmod(root, 0755), 0);
    ck_assert_int_eq(chmod(at("one"), 0777), 0);
    ck_assert_int_eq(chmod(at("two"), 0555), 0);
    unsetenv("NNHAL_SOCKET_PATH");
    setenv("XDG_RUNTIME_DIR", at("one"), 1);
    refuse_in_child((struct refusal){-1, 0}, place_is_the_users);
    remove_tree();
}
TEST_END

/* Beside the library or the program, else where it was installed. */
TEST(the_host_lies_beside_who_asks)
{
    char own[128], target[16], *path = NULL;
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash;

    ck_assert_int_gt(n, 0);
    own[n] = '\0';
    slash = strrchr(own, '/');
    snprintf(slash, sizeof(own) - (size_t)(slash - own), "/nnhal-host");
    unsetenv("NNHAL_HOST");
    n = readlink(own, target, sizeof(target));
    if (n == (ssize_t)strlen("/bin/true") && memcmp(target, "/bin/true", (size_t)n) == 0)
        unlink(own); /* of a run that failed */
    if (access(own, X_OK) == 0 || access(NN_HOST_PROGRAM, X_OK) == 0) {
        printf("SKIPPED: nnhal-host is installed here\n");
        return;
    }
    ck_assert_int_eq(nn_discovery_host_path(&path), -ENOENT);
    ck_assert_int_eq(symlink("/bin/true", own), 0);
    ck_assert_int_eq(nn_discovery_host_path(&path), 0);
    ck_assert_str_eq(path, own);
    free(path);
    unlink(own);
}
TEST_END

/* -- memory that is short ------------------------------------------------------------------- */

static int list_sockets(void)
{
    struct nn_discovery places;
    int r = nn_discovery_init_sockets(&places);

    if (r == 0)
        nn_discovery_done(&places);
    return r;
}

static int list_drivers(void)
{
    struct nn_discovery places;
    int r = nn_discovery_init_drivers(&places);

    if (r == 0)
        nn_discovery_done(&places);
    return r;
}

static int find_socket(void)
{
    char *path = NULL;
    int r = nn_discovery_socket_path("dev", &path);

    free(path);
    return r;
}

/* Whichever allocation fails, it is said, and the next attempt works. */
static void try_without_memory(int (*body)(void))
{
    bool is_done = false;

    for (long n = 1; !is_done; n++) {
        int r;

        fail_alloc_arm(n);
        r = body();
        is_done = fail_alloc_disarm() > 0;
        ck_assert_int_eq(r, is_done ? 0 : -ENOMEM);
        ck_assert_int_lt(n, 100);
    }
}

TEST(memory_that_is_short_is_not_a_place_that_is_missing)
{
    make_tree();
    touch("one/a.sock");
    touch("one/b.sock");
    setenv("NNHAL_SOCKET_PATH", at("one"), 1);
    try_without_memory(list_sockets);
    try_without_memory(find_socket);
    unsetenv("NNHAL_SOCKET_PATH");
    setenv("XDG_RUNTIME_DIR", at("one"), 1);
    try_without_memory(list_sockets);
    touch("one/libnnhal-driver-x.so");
    setenv("NNHAL_DRIVER_PATH", at("one"), 1);
    try_without_memory(list_drivers);
    remove_tree();
}
TEST_END

CHECK_MAIN("places", sockets_are_listed_by_folder_then_name_and_the_first_wins,
           drivers_are_known_by_their_file_names,
           a_service_listens_in_the_first_folder_that_is_its_own, the_host_program_can_be_given,
           without_a_list_sockets_are_the_systems_and_the_users,
           of_a_long_list_the_first_sixteen_count,
           the_service_of_a_user_listens_in_the_users_folder, the_host_lies_beside_who_asks,
           memory_that_is_short_is_not_a_place_that_is_missing)
