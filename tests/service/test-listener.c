/* SPDX-License-Identifier: Apache-2.0 */
/* Where a service listens: at its path, in the usual place, or at what systemd passed to it. */
#include "service/listener.h"

#include <nnhal/service.h>

#include "ipc/sock.h"
#include "service/activation.h"
#include "support/check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[100];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/nnhal-listener-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("NNHAL_SOCKET_PATH", folder, 1);
}

static const char *at(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* -- a path ------------------------------------------------------------------------------------- */

TEST(its_name_in_the_usual_place_is_the_drivers)
{
    static const struct {
        const char *driver, *file;
    } cases[] = {
        {"sample", "sample.sock"},
        {"libnnhal-driver-x", "x.sock"},
        {"a.so", "a.so.sock"},
        {"/opt/libnnhal-driver-y.so", "y.sock"},
        {"./other.so", "other.sock"},
        {"/opt/.so", ".so.sock"},
        {"/opt/no-suffix", "no-suffix.sock"},
    };

    make_folder();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *place = NULL;
        int fd = -1, client = -1;

        ck_assert_int_eq(nn_listener_open(cases[i].driver, NULL, &fd, &place), 0);
        ck_assert_str_eq(place, at(cases[i].file));
        ck_assert_int_eq(nn_sock_connect(place, &client), 0);
        close(client);
        close(fd);
        unlink(place);
        free(place);
    }
    rmdir(folder);
}
TEST_END

TEST(a_path_that_is_given_is_the_one)
{
    struct stat status;
    char *place = NULL;
    int fd = -1;

    make_folder();
    setenv("NNHAL_SOCKET_PATH", "/nonexistent", 1);
    ck_assert_int_eq(nn_listener_open("sample", at("mine"), &fd, &place), 0);
    ck_assert_str_eq(place, path);
    ck_assert_int_eq(stat(place, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, geteuid() == 0 ? 0666 : 0600);
    close(fd);
    unlink(place);
    free(place);
    rmdir(folder);
}
TEST_END

TEST(where_it_cannot_listen_there_is_no_socket)
{
    char deep[200], *place = NULL;
    int fd = -1, first = -1;

    make_folder();
    memset(deep, 'x', sizeof(deep) - 1);
    deep[0] = '/';
    deep[sizeof(deep) - 1] = '\0';
    ck_assert_int_eq(nn_sock_listen(at("taken"), 0600, &first), 0);
    ck_assert_int_eq(nn_listener_open("x", path, &fd, &place), -EADDRNOTAVAIL);
    ck_assert_int_eq(nn_listener_open("x", deep, &fd, &place), -EADDRNOTAVAIL);
    ck_assert_int_eq(nn_listener_open("x", "/nonexistent/x", &fd, &place), -EADDRNOTAVAIL);
    ck_assert_int_eq(nn_listener_open("x", "no-folder", &fd, &place), -EADDRNOTAVAIL);
    unlink(path);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(nn_listener_open("x", at("open"), &fd, &place), -EADDRNOTAVAIL);
    setenv("NNHAL_SOCKET_PATH", "/nonexistent/deeper", 1);
    ck_assert_int_eq(nn_listener_open("x", NULL, &fd, &place), -EADDRNOTAVAIL);
    ck_assert_int_eq(fd, -1);
    ck_assert_ptr_null(place);
    close(first);
    rmdir(folder);
}
TEST_END

/* -- what was passed ----------------------------------------------------------------------------- */

/* As systemd does; it becomes descriptor 3. */
static void pass(int fd, const char *n_fds)
{
    char number[16];

    if (fd != 3) {
        ck_assert_int_eq(dup2(fd, 3), 3);
        close(fd);
    }
    fcntl(3, F_SETFD, 0);
    snprintf(number, sizeof(number), "%d", (int)getpid());
    setenv("LISTEN_PID", number, 1);
    setenv("LISTEN_FDS", n_fds, 1);
    setenv("LISTEN_FDNAMES", "sample", 1);
}

static void expect_taken(int type, bool listens, int wanted)
{
    int fd = -1, pair[2];
    bool is_listening = false;

    ck_assert_int_eq(socketpair(AF_UNIX, type, 0, pair), 0);
    if (listens) {
        close(pair[0]);
        pair[0] = -1;
        ck_assert_int_eq(nn_sock_listen(at("passed"), 0600, &pair[0]), 0);
        unlink(path);
    }
    pass(pair[0], "1");
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), wanted);
    if (wanted != 0)
        return;
    ck_assert_int_eq(fd, 3);
    ck_assert_int_eq(is_listening, listens);
    ck_assert_int_eq(fcntl(3, F_GETFD), FD_CLOEXEC);
    /* One that listens must not block the loop; one that is connected is waited at. */
    ck_assert_int_eq((fcntl(3, F_GETFL) & O_NONBLOCK) != 0, listens);
    /* Not for the next that reads them. */
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), NN_ACTIVATION_E_ABSENT);
    ck_assert_ptr_null(getenv("LISTEN_FDNAMES"));
}

TEST(one_socket_of_packets_is_taken)
{
    make_folder();
    expect_taken(SOCK_SEQPACKET, true, 0);
    close(3);
    expect_taken(SOCK_SEQPACKET | SOCK_NONBLOCK, false, 0);
    close(3);
    rmdir(folder);
}
TEST_END

TEST(anything_else_that_was_passed_is_refused)
{
    bool is_listening;
    int fd = -1;

    expect_taken(SOCK_STREAM, false, -EINVAL);
    pass(3, "2");
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), -EINVAL);
    close(3);
    pass(open("/dev/null", O_RDONLY), "1");
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), -EINVAL);
    unsetenv("LISTEN_FDS");
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), NN_ACTIVATION_E_ABSENT);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", "1", 1); /* inherited */
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), NN_ACTIVATION_E_ABSENT);
    unsetenv("LISTEN_PID");
    ck_assert_int_eq(nn_activation_take(&fd, &is_listening), NN_ACTIVATION_E_ABSENT);
    ck_assert_int_eq(fd, -1);
}
TEST_END

/* -- telling it -------------------------------------------------------------------------------- */

static int open_manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    size_t n = strlen(name);

    memcpy(address.sun_path, name, n);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void expect_told(int fd, const char *wanted)
{
    char text[64] = "";

    nn_activation_notify("READY=1");
    recv(fd, text, sizeof(text) - 1, 0);
    ck_assert_str_eq(text, wanted);
}

TEST(the_manager_is_told_at_its_path_or_abstract_name)
{
    char name[64], deep[200];
    int fd;

    make_folder();
    fd = open_manager(at("notify"));
    expect_told(fd, "READY=1");
    close(fd);
    unlink(path);
    nn_activation_notify("READY=1"); /* it has gone */
    snprintf(name, sizeof(name), "@nnhal-listener-%d", (int)getpid());
    fd = open_manager(name);
    expect_told(fd, "READY=1");
    unsetenv("NOTIFY_SOCKET");
    expect_told(fd, "");
    setenv("NOTIFY_SOCKET", "", 1);
    expect_told(fd, "");
    memset(deep, '@', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    setenv("NOTIFY_SOCKET", deep, 1);
    expect_told(fd, "");
    close(fd);
    rmdir(folder);
}
TEST_END

/* -- who starts it ----------------------------------------------------------------------------- */

TEST(the_program_of_a_service_is_found_where_it_fits)
{
    char found[16] = "";

    setenv("NNHAL_HOST", "/bin/sh", 1);
    ck_assert_int_eq(nnhal_find_host(found, sizeof("/bin/sh")), 0);
    ck_assert_str_eq(found, "/bin/sh");
    ck_assert_int_eq(nnhal_find_host(found, sizeof("/bin/sh") - 1), -ENAMETOOLONG);
    setenv("NNHAL_HOST", "/nonexistent", 1);
    ck_assert_int_eq(nnhal_find_host(found, sizeof(found)), -ENOENT);
    ck_assert_str_eq(found, "/bin/sh");
}
TEST_END

CHECK_MAIN("listener", its_name_in_the_usual_place_is_the_drivers, a_path_that_is_given_is_the_one,
           where_it_cannot_listen_there_is_no_socket, one_socket_of_packets_is_taken,
           anything_else_that_was_passed_is_refused,
           the_manager_is_told_at_its_path_or_abstract_name,
           the_program_of_a_service_is_found_where_it_fits)
