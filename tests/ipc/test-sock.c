/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/sock.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/wait-limit.h"

#include "support/check-main.h"
#include "support/fds.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static char folder[64], path[100];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/nnhal-test-sock-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.sock", folder);
}

static void remove_folder(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST(a_client_reaches_a_service_and_each_knows_the_other)
{
    struct nn_sock_credentials credentials;
    int listener = -1, client = -1, server = -1, pidfd = -1;
    struct stat status;

    make_folder();
    ck_assert_int_eq(nn_sock_connect(path, &client), NN_SOCK_E_ABSENT);
    ck_assert_int_eq(nn_sock_listen(path, 0660, &listener), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0660);
    ck_assert_int_eq(nn_sock_accept(listener, &server), NN_SOCK_E_ABSENT);
    ck_assert_int_eq(nn_sock_connect(path, &client), 0);
    ck_assert_int_eq(nn_sock_accept(listener, &server), 0);
    ck_assert_int_eq(nn_sock_credentials(server, &credentials), 0);
    ck_assert_int_eq(credentials.pid, getpid());
    ck_assert_uint_eq(credentials.uid, geteuid());
    ck_assert_int_eq(nn_sock_pidfd(client, &pidfd), 0);
    close(pidfd);
    close(client);
    close(server);
    close(listener);
    /* A service that is gone leaves its socket, which refuses to connect. */
    ck_assert_int_eq(nn_sock_connect(path, &client), NN_SOCK_E_ABSENT);
    remove_folder();
}
TEST_END

TEST(one_service_per_path_and_a_dead_one_is_replaced)
{
    int first = -1, second = -1;

    make_folder();
    ck_assert_int_eq(nn_sock_listen(path, 0600, &first), 0);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &second), NN_SOCK_E_BUSY);
    close(first);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &second), 0);
    close(second);
    remove_folder();
}
TEST_END

/* Fills the backlog of a service that accepts nothing, as one that is stopped. */
static void fill_backlog(int *fds, size_t n_fds)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    strcpy(address.sun_path, path);
    for (size_t i = 0; i < n_fds; i++) {
        fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ck_assert_int_ge(fds[i], 0);
        if (connect(fds[i], (const struct sockaddr *)&address, sizeof(address)) < 0) {
            ck_assert_int_eq(errno, EAGAIN);
            return;
        }
    }
    ck_abort_msg("the backlog has no end");
}

TEST(a_service_whose_backlog_is_full_keeps_no_second_one_waiting)
{
    static int fds[4096];
    struct timespec begin, end;
    int first = -1, second = -1;

    make_folder();
    memset(fds, -1, sizeof(fds));
    ck_assert_int_eq(nn_sock_listen(path, 0600, &first), 0);
    ck_assert_int_eq(listen(first, 1), 0);
    fill_backlog(fds, NN_N_ELEMENTS(fds));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    alarm(20); /* the unmended code waits for ever */
    ck_assert_int_eq(nn_sock_listen(path, 0600, &second), NN_SOCK_E_BUSY);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert_int_lt(end.tv_sec - begin.tv_sec, 3);
    for (size_t i = 0; i < NN_N_ELEMENTS(fds); i++)
        closep(&fds[i]);
    close(first);
    remove_folder();
}
TEST_END

TEST(folders_that_others_can_write_are_not_trusted)
{
    char file[100], deep[300];
    size_t n_fds = count_fds();
    int fd = -1;

    make_folder();
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), NN_SOCK_E_UNTRUSTED);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    snprintf(file, sizeof(file), "%s/file", folder);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(nn_sock_listen(file, 0600, &fd), NN_SOCK_E_UNTRUSTED);
    ck_assert_int_eq(access(file, F_OK), 0);
    unlink(file);
    memset(deep, 'x', sizeof(deep) - 1);
    deep[0] = '/';
    deep[sizeof(deep) - 1] = '\0';
    ck_assert_int_eq(nn_sock_listen(deep, 0600, &fd), NN_SOCK_E_BAD_PATH);
    ck_assert_int_eq(nn_sock_connect(deep, &fd), NN_SOCK_E_BAD_PATH);
    ck_assert_int_eq(nn_sock_connect("", &fd), NN_SOCK_E_BAD_PATH);
    ck_assert_int_eq(nn_sock_listen("/nonexistent/nnhal/a.sock", 0600, &fd), -ENOENT);
    ck_assert_uint_eq(count_fds(), n_fds);
    remove_folder();
}
TEST_END

TEST(the_pidfd_tells_of_the_other_sides_death)
{
    struct pollfd poll_fd = {.events = POLLIN};
    int listener = -1, server = -1, pidfd = -1;
    pid_t pid;

    make_folder();
    ck_assert_int_eq(nn_sock_listen(path, 0600, &listener), 0);
    pid = fork();
    if (pid == 0) {
        int fd = -1;

        if (nn_sock_connect(path, &fd) == 0)
            pause();
        _exit(1);
    }
    poll_fd.fd = listener;
    ck_assert_int_eq(poll(&poll_fd, 1, 60000), 1);
    ck_assert_int_eq(nn_sock_accept(listener, &server), 0);
    ck_assert_int_eq(nn_sock_pidfd(server, &pidfd), 0);
    poll_fd.fd = pidfd;
    ck_assert_int_eq(poll(&poll_fd, 1, 0), 0);
    kill(pid, SIGKILL);
    ck_assert_int_eq(poll(&poll_fd, 1, 60000), 1);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    close(pidfd);
    close(server);
    close(listener);
    remove_folder();
}
TEST_END

TEST(a_service_of_another_user_is_not_trusted)
{
    int listener = -1, client = -1, status;
    char text[32];
    pid_t pid;

    if (geteuid() != 0)
        return; /* only root can be two users */
    make_folder();
    ck_assert_int_eq(chmod(folder, 0755), 0);
    pid = fork();
    if (pid == 0) {
        int fd = -1;

        if (chown(folder, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
            nn_sock_listen(path, 0666, &fd) == 0)
            raise(SIGSTOP);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
    ck_assert_int_eq(nn_sock_connect(path, &client), NN_SOCK_E_UNTRUSTED);
    snprintf(text, sizeof(text), "%d", 65534);
    setenv("NNHAL_SERVICE_UID", text, 1);
    ck_assert_int_eq(nn_sock_connect(path, &client), 0);
    close(client);
    setenv("NNHAL_SERVICE_UID", "65534x", 1);
    ck_assert_int_eq(nn_sock_connect(path, &client), NN_SOCK_E_UNTRUSTED);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    closep(&listener);
    remove_folder();
}
TEST_END

/* -- what a kernel refuses ----------------------------------------------------------------- */

static void cannot_listen(void)
{
    size_t n_fds = count_fds();
    int fd = -1;

    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), -refused.error);
    ck_assert_int_eq(fd, -1);
    ck_assert_uint_eq(count_fds(), n_fds);
    /* Nothing is left that a client would take for a service. */
    ck_assert_int_eq(nn_sock_connect(path, &fd),
                     refused.call == SYS_socket ? -refused.error : NN_SOCK_E_ABSENT);
}

TEST(a_call_that_fails_leaves_no_socket)
{
    static const struct refusal refusals[] = {
        {SYS_socket, EMFILE}, {SYS_fchmod, EPERM},  {SYS_bind, EROFS},
        {CALL_CHMOD, EPERM},  {SYS_listen, ENOMEM}, {SYS_fcntl, EPERM},
    };

    make_folder();
    for (size_t i = 0; i < NN_N_ELEMENTS(refusals); i++) {
        refuse_in_child(refusals[i], cannot_listen);
        ck_assert_int_eq(access(path, F_OK), -1);
    }
    remove_folder();
}
TEST_END

/* Between the look and bind(). */
static void finds_it_taken(void)
{
    int fd = -1;

    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), NN_SOCK_E_BUSY);
}

/* What a dead service left, where its folder cannot be changed. */
static void cannot_clear(void)
{
    int fd = -1;

    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), -refused.error);
    ck_assert_int_eq(access(path, F_OK), 0);
}

TEST(what_is_in_the_way_is_said)
{
    int fd = -1;

    make_folder();
    refuse_in_child((struct refusal){SYS_bind, EADDRINUSE}, finds_it_taken);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), 0);
    close(fd);
    refuse_in_child((struct refusal){CALL_UNLINK, EROFS}, cannot_clear);
    refuse_in_child((struct refusal){SYS_newfstatat, EACCES}, cannot_clear);
    refuse_in_child((struct refusal){SYS_fcntl, EPERM}, cannot_clear);
    remove_folder();
}
TEST_END

/* Another program's: of a kind that no service of ours listens at. */
TEST(a_socket_of_streams_is_not_trusted)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;

    make_folder();
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(stream, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(stream, 1), 0);
    ck_assert_int_eq(nn_sock_connect(path, &fd), NN_SOCK_E_UNTRUSTED);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), NN_SOCK_E_UNTRUSTED);
    ck_assert_int_eq(access(path, F_OK), 0);
    close(stream);
    remove_folder();
}
TEST_END

TEST(paths_that_lead_nowhere_are_absent)
{
    char file[100], below[120];
    int fd = -1;

    make_folder();
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(below, sizeof(below), "%s/a.sock", file);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(nn_sock_connect(below, &fd), NN_SOCK_E_ABSENT);
    ck_assert_int_eq(nn_sock_listen(below, 0600, &fd), NN_SOCK_E_UNTRUSTED);
    ck_assert_int_eq(nn_sock_listen("relative.sock", 0600, &fd), NN_SOCK_E_BAD_PATH);
    /* A folder whose path ends with its slash. */
    if (geteuid() == 0) {
        ck_assert_int_eq(nn_sock_listen("/nnhal-test.sock", 0600, &fd), 0);
        close(fd);
        unlink("/nnhal-test.sock");
    }
    unlink(file);
    remove_folder();
}
TEST_END

static void cannot_connect(void)
{
    int fd = -1;

    ck_assert_int_eq(nn_sock_connect(path, &fd), -refused.error);
    ck_assert_int_eq(fd, -1);
}

static void cannot_accept(void)
{
    int listener = -1, fd = -1;

    ck_assert_int_eq(nn_sock_listen(path, 0600, &listener), 0);
    ck_assert_int_eq(nn_sock_accept(listener, &fd), -refused.error);
    ck_assert_int_eq(fd, -1);
}

TEST(a_connection_that_is_refused_is_an_error)
{
    int listener = -1;

    make_folder();
    ck_assert_int_eq(nn_sock_listen(path, 0600, &listener), 0);
    refuse_in_child((struct refusal){SYS_connect, EACCES}, cannot_connect);
    refuse_in_child((struct refusal){SYS_getsockopt, ENOMEM}, cannot_connect);
    close(listener);
    refuse_in_child((struct refusal){SYS_accept4, EMFILE}, cannot_accept);
    remove_folder();
}
TEST_END

/* With a backlog that is full, a caller's limit is when it ends; one that has passed ends it at once. */
TEST(who_may_wait_less_waits_less_for_a_full_backlog)
{
    static int fds[4096];
    struct timespec begin, end;
    int listener = -1, fd = -1;

    make_folder();
    memset(fds, -1, sizeof(fds));
    ck_assert_int_eq(nn_sock_listen(path, 0600, &listener), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    fill_backlog(fds, NN_N_ELEMENTS(fds));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    nn_wait_limit_narrow(nn_sys_now_ns() + UINT64_C(3600000000000));
    ck_assert_int_eq(nn_sock_connect(path, &fd), NN_SOCK_E_ABSENT);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert_int_lt(end.tv_sec - begin.tv_sec, 60); /* an hour is more than is ever waited */
    nn_wait_limit_narrow(nn_sys_now_ns() + 20000000);
    ck_assert_int_eq(nn_sock_connect(path, &fd), NN_SOCK_E_ABSENT);
    nn_wait_limit_narrow(1);
    ck_assert_int_eq(nn_sock_connect(path, &fd), NN_SOCK_E_ABSENT);
    for (size_t i = 0; i < NN_N_ELEMENTS(fds); i++)
        closep(&fds[i]);
    close(listener);
    remove_folder();
}
TEST_END

/* -- the other side's pidfd --------------------------------------------------------------------- */

static void watches_by_number(void)
{
    struct pollfd end = {.events = POLLIN};
    int pair[2];

    refuse_call_with(SYS_getsockopt, 2, 77 /* SO_PEERPIDFD */, ENOPROTOOPT);
    ck_assert_int_eq(nn_sock_pair(pair), 0);
    ck_assert_int_eq(nn_sock_pidfd(pair[0], &end.fd), 0);
    ck_assert_int_eq(poll(&end, 1, 0), 0); /* of this process */
    close(end.fd);
    refuse_call(SYS_pidfd_open, ESRCH);
    ck_assert_int_eq(nn_sock_pidfd(pair[0], &end.fd), NN_SOCK_E_ABSENT);
    refuse_call(SYS_pidfd_open, EMFILE);
    ck_assert_int_eq(nn_sock_pidfd(pair[0], &end.fd), -EMFILE);
    refuse_call(SYS_getsockopt, ENOPROTOOPT);
    ck_assert_int_eq(nn_sock_pidfd(pair[0], &end.fd), -ENOPROTOOPT);
}

TEST(before_linux_6_5_a_pidfd_is_had_by_number)
{
    refuse_in_child((struct refusal){-1, 0}, watches_by_number);
}
TEST_END

static void peer_is_gone(void)
{
    int pair[2], pidfd = -1;

    ck_assert_int_eq(nn_sock_pair(pair), 0);
    ck_assert_int_eq(nn_sock_pidfd(pair[0], &pidfd), NN_SOCK_E_ABSENT);
}

static void peer_cannot_be_had(void)
{
    int pair[2], pidfd = -1;

    ck_assert_int_eq(nn_sock_pair(pair), 0);
    ck_assert_int_eq(nn_sock_pidfd(pair[0], &pidfd), -refused.error);
}

static void pair_cannot_be_made(void)
{
    int pair[2] = {-1, -1};

    ck_assert_int_eq(nn_sock_pair(pair), -refused.error);
    ck_assert_int_eq(pair[0], -1);
}

TEST(who_is_gone_has_no_pidfd)
{
    static const int errors[] = {ESRCH, EINVAL, ENODATA}; /* by version */

    for (size_t i = 0; i < NN_N_ELEMENTS(errors); i++)
        refuse_in_child((struct refusal){SYS_getsockopt, errors[i]}, peer_is_gone);
    refuse_in_child((struct refusal){SYS_getsockopt, EMFILE}, peer_cannot_be_had);
    refuse_in_child((struct refusal){SYS_socketpair, EMFILE}, pair_cannot_be_made);
}
TEST_END

CHECK_MAIN("sock", a_client_reaches_a_service_and_each_knows_the_other,
           one_service_per_path_and_a_dead_one_is_replaced,
           a_service_whose_backlog_is_full_keeps_no_second_one_waiting,
           folders_that_others_can_write_are_not_trusted, the_pidfd_tells_of_the_other_sides_death,
           a_service_of_another_user_is_not_trusted, a_call_that_fails_leaves_no_socket,
           what_is_in_the_way_is_said, a_socket_of_streams_is_not_trusted,
           paths_that_lead_nowhere_are_absent, a_connection_that_is_refused_is_an_error,
           who_may_wait_less_waits_less_for_a_full_backlog,
           before_linux_6_5_a_pidfd_is_had_by_number, who_is_gone_has_no_pidfd)
