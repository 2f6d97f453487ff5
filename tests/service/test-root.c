/* SPDX-License-Identifier: Apache-2.0 */
/* A process of its own namespaces, and its root: what was granted is there as granted, nothing else
 * is. Where the kernel refuses namespaces, the tests of them are skipped and say so. */
#include "service/root.h"

#include "base/sys.h"
#include "service/namespaces.h"
#include "support/check-main.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child; its exit status is the line. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(__LINE__ % 256);                                                                 \
    } while (0)

static char folder[64];
static struct nn_namespaces namespaces;
static struct nn_host_why why; /* in the child */

static const char *at(const char *name)
{
    static char path[2][100];
    static unsigned turn;

    turn++;
    snprintf(path[turn % 2], sizeof(path[0]), "%s/%s", folder, name);
    return path[turn % 2];
}

static void write_file(const char *path)
{
    FILE *stream = fopen(path, "we");

    ck_assert_ptr_nonnull(stream);
    fputs("text", stream);
    fclose(stream);
}

/* folder/: granted/{file,sub/file,away -> chain}, hidden/file, and absolute links: link -> granted,
 * short -> folder, chain -> hidden */
static void lay_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/nnhal-root-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(mkdir(at("granted"), 0755), 0);
    ck_assert_int_eq(mkdir(at("granted/sub"), 0755), 0);
    ck_assert_int_eq(mkdir(at("hidden"), 0755), 0);
    write_file(at("granted/file"));
    write_file(at("granted/sub/file"));
    write_file(at("hidden/file"));
    ck_assert_int_eq(symlink(at("granted"), at("link")), 0);
    ck_assert_int_eq(symlink(folder, at("short")), 0);
    ck_assert_int_eq(symlink(at("hidden"), at("chain")), 0);
    ck_assert_int_eq(symlink(at("chain"), at("granted/away")), 0);
}

static void remove_folder(void)
{
    static const char *const files[] = {"granted/away", "chain",       "short",
                                        "link",         "hidden/file", "granted/sub/file",
                                        "granted/file"};
    static const char *const folders[] = {"granted/sub", "granted", "hidden"};

    for (size_t i = 0; i < NN_N_ELEMENTS(files); i++)
        ck_assert_int_eq(unlink(at(files[i])), 0);
    for (size_t i = 0; i < NN_N_ELEMENTS(folders); i++)
        ck_assert_int_eq(rmdir(at(folders[i])), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* Runs body in namespaces of its own. False: there are none here. */
static bool in_namespaces(void (*body)(void))
{
    int status, r = nn_namespaces_fork(&namespaces);

    ck_assert_int_ge(r, 0);
    if (r == 0) {
        if (namespaces.are_own)
            body();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(namespaces.pid, &status, 0), namespaces.pid);
    ck_assert_msg(status == 0, "the child ended: %#x (line %d)", (unsigned)status,
                  WEXITSTATUS(status));
    if (!namespaces.are_own)
        printf("SKIPPED: this kernel, or its settings, refuse namespaces\n");
    return namespaces.are_own;
}

static bool is_absent(const char *path)
{
    struct stat status;

    return stat(path, &status) < 0 && errno == ENOENT;
}

static bool is_readable(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void sees_nobody(void)
{
    EXPECT(getpid() == 1);
    EXPECT(namespaces.pid > 1);
    EXPECT(kill(-1, 0) < 0 && errno == ESRCH);
    EXPECT(kill(namespaces.pid, 0) < 0 && errno == ESRCH);
}

TEST(a_process_of_its_own_sees_no_other)
{
    in_namespaces(sees_nobody);
}
TEST_END

static ino_t network;

static ino_t find_network(void)
{
    struct stat status = {0};

    return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
}

/* Settings may refuse that one namespace. */
static void has_a_network_of_its_own(void)
{
    EXPECT(find_network() != network || unshare(CLONE_NEWNET) < 0);
}

TEST(a_process_of_its_own_has_a_network_of_its_own)
{
    network = find_network();
    ck_assert_uint_ne(network, 0);
    in_namespaces(has_a_network_of_its_own);
}
TEST_END

static void has_what_was_granted(void)
{
    const struct nn_grant_path paths[] = {
        {"/dev/zero", NN_GRANT_DEVICE},
        {"/dev/null", NN_GRANT_READ},
        {strdup(at("link")), NN_GRANT_READ},
        {strdup(at("granted/sub")), NN_GRANT_READ}, /* is there already */
        {"/no/such/file", NN_GRANT_READ},
    };
    bool is_new = false;
    int fd;

    EXPECT(nn_root_replace(paths, NN_N_ELEMENTS(paths), &is_new, &why) == 0);
    EXPECT(is_new);
    EXPECT(is_readable(at("granted/file")));
    EXPECT(is_readable(at("granted/sub/file")));
    EXPECT(is_readable(at("link/file")));
    EXPECT(open(at("granted/file"), O_RDWR) < 0 && errno == EROFS);
    EXPECT(open(at("granted/new"), O_CREAT | O_RDWR, 0600) < 0 && errno == EROFS);
    EXPECT(mkdir(at("new"), 0700) < 0 && errno == EROFS);
    EXPECT(mkdir("/new", 0700) < 0 && errno == EROFS);
    fd = open("/dev/zero", O_RDWR);
    EXPECT(fd >= 0 && write(fd, "x", 1) == 1);
    EXPECT(is_absent(at("hidden")));
    EXPECT(is_absent("/no"));
    EXPECT(is_absent("/etc"));
    EXPECT(is_absent("/proc"));
    EXPECT(is_absent("/dev/random"));
    EXPECT(is_absent("/../usr"));
}

TEST(the_root_has_what_was_granted_and_nothing_else)
{
    lay_folder();
    in_namespaces(has_what_was_granted);
    remove_folder();
    /* Nothing of it is seen outside. */
    ck_assert(is_readable("/proc/self/stat"));
}
TEST_END

/* Each is lost if what is on the way to it is looked for in the root that is left. */
static void has_what_links_lead_to(void)
{
    const struct nn_grant_path paths[] = {
        {"/lib", NN_GRANT_READ},
        {"/lib/x86_64-linux-gnu", NN_GRANT_READ}, /* /lib is a link where /usr was merged */
        {"/usr/lib", NN_GRANT_READ},
        {strdup(at("link/sub")), NN_GRANT_READ},
        {strdup(at("link")), NN_GRANT_READ},
        {strdup(at("short/link/sub/file")), NN_GRANT_READ},
        {strdup(at("short/short/granted/")), NN_GRANT_READ},
        {strdup(at("hidden/../link/")), NN_GRANT_READ},
    };
    bool is_new = false, has_libraries = is_readable("/lib/x86_64-linux-gnu");

    EXPECT(nn_root_replace(paths, NN_N_ELEMENTS(paths), &is_new, &why) == 0);
    EXPECT(is_new);
    EXPECT(is_readable("/lib/x86_64-linux-gnu") == has_libraries);
    for (size_t i = 3; i < NN_N_ELEMENTS(paths); i++)
        EXPECT(is_readable(paths[i].path));
    EXPECT(is_readable(at("granted/file")));
    EXPECT(is_absent(at("hidden/file")));
    EXPECT(is_absent("/etc"));
}

TEST(a_path_below_a_link_is_there)
{
    lay_folder();
    in_namespaces(has_what_links_lead_to);
    remove_folder();
}
TEST_END

static void has_it_without_openat2(void)
{
    refuse_call(SYS_openat2, ENOSYS);
    has_what_links_lead_to();
}

TEST(a_root_is_made_where_systemd_refuses_openat2)
{
    lay_folder();
    in_namespaces(has_it_without_openat2);
    remove_folder();
}
TEST_END

/* The link on the way is in a folder that cannot be changed, and the one that it leads to was not
 * granted. */
static void lacks_a_way(void)
{
    const struct nn_grant_path paths[] = {{strdup(at("granted")), NN_GRANT_READ},
                                          {strdup(at("granted/away/file")), NN_GRANT_READ}};
    bool is_new = true;

    EXPECT(nn_root_replace(paths, NN_N_ELEMENTS(paths), &is_new, &why) == 0);
    EXPECT(!is_new);
    EXPECT(strstr(why.text, "granted/away/file cannot be linked"));
    EXPECT(is_readable("/proc/self/stat"));
    EXPECT(is_readable("/usr/lib"));
}

TEST(the_root_stays_where_a_path_cannot_be_had_and_it_says_why)
{
    lay_folder();
    in_namespaces(lacks_a_way);
    remove_folder();
}
TEST_END

static void lacks_a_device(void)
{
    const struct nn_grant_path paths[] = {{"/usr", NN_GRANT_READ},
                                          {"/dev/no-such-node", NN_GRANT_DEVICE}};
    bool is_new = true;

    EXPECT(nn_root_replace(paths, NN_N_ELEMENTS(paths), &is_new, &why) == -ENOENT);
    EXPECT(!is_new);
    EXPECT(is_readable("/proc/self/stat"));
}

TEST(a_device_that_is_missing_is_an_error)
{
    in_namespaces(lacks_a_device);
}
TEST_END

static void keeps_the_root(void)
{
    const struct nn_grant_path paths[] = {{"/", NN_GRANT_READ}};
    bool is_new = true;

    EXPECT(nn_root_replace(paths, 1, &is_new, &why) == 0);
    EXPECT(!is_new);
    EXPECT(strcmp(why.text, "all of / was granted") == 0);
    EXPECT(is_readable("/proc/self/stat"));
}

TEST(who_is_granted_all_keeps_the_root)
{
    in_namespaces(keeps_the_root);
}
TEST_END

TEST(without_namespaces_the_child_is_an_ordinary_one)
{
    static struct nn_sys_fakes fakes = {.has_no_namespaces = true};
    int status, r;

    nn_sys_fakes = &fakes;
    r = nn_namespaces_fork(&namespaces);
    ck_assert_int_ge(r, 0);
    if (r == 0)
        _exit(getpid() == 1 || namespaces.are_own);
    ck_assert_int_eq(waitpid(namespaces.pid, &status, 0), namespaces.pid);
    ck_assert_int_eq(status, 0);
    nn_sys_fakes = NULL;
}
TEST_END

CHECK_MAIN("root", a_process_of_its_own_sees_no_other,
           a_process_of_its_own_has_a_network_of_its_own,
           the_root_has_what_was_granted_and_nothing_else, a_path_below_a_link_is_there,
           a_root_is_made_where_systemd_refuses_openat2,
           the_root_stays_where_a_path_cannot_be_had_and_it_says_why,
           a_device_that_is_missing_is_an_error, who_is_granted_all_keeps_the_root,
           without_namespaces_the_child_is_an_ordinary_one)
