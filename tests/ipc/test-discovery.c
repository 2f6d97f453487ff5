/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/discovery.h"

#include "support/check-main.h"

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

CHECK_MAIN("places", sockets_are_listed_by_folder_then_name_and_the_first_wins,
           drivers_are_known_by_their_file_names,
           a_service_listens_in_the_first_folder_that_is_its_own, the_host_program_can_be_given)
