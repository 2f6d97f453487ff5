/* SPDX-License-Identifier: Apache-2.0 */
/* Three processes: the application; the parent, which it makes without an exit
 * signal, and which makes the host, hands its pidfd over, and ends; the host,
 * which execs, and reports the process that it runs its driver in. Between clone and exec only what a signal handler may do is
 * done: the application may have threads that hold any lock. */
#include "ipc/child.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "ipc/sock.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

#define REPORT_TIMEOUT_NS UINT64_C(60000000000)

enum {
    HOST_FD = 3,
    REPORT_FD = 4,         /* its end says that the host has nothing more to report */
    BY_HOST = 1,           /* a report by the host, not by the parent */
    END_TIMEOUT_MS = 1000, /* until a killed process is gone */
    SAFE_FD = 16,          /* above all of them, while they are put in place */
};

/* As fork, but the child has no exit signal and comes with a pidfd. */
static pid_t clone_with_pidfd(int *ret_pidfd)
{
    return (pid_t)syscall(SYS_clone, CLONE_PIDFD, 0, ret_pidfd, 0, 0);
}

/* What the parent and the host tell the application: errno, or who tells it, and a pidfd. */
static int send_report(int control, int error, int pidfd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room;
    struct iovec part = {.iov_base = &error, .iov_len = sizeof(error)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (pidfd >= 0) {
        struct cmsghdr *cmsg;

        memset(&room, 0, sizeof(room));
        message.msg_control = room.bytes;
        message.msg_controllen = sizeof(room.bytes);
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &pidfd, sizeof(int));
    }
    return (int)nn_sys_sendmsg(control, &message, 0);
}

int nn_child_report(int fd, int pidfd)
{
    int r = send_report(fd, BY_HOST, pidfd);

    return r < 0 ? nn_error_trace(r) : 0;
}

/* Waits for at most the time that a hello may take, and until the thread's limit. */
static int await_report(int control)
{
    uint64_t end_ns = nn_sys_now_ns() + REPORT_TIMEOUT_NS, limit_ns = nn_wait_limit_get();
    struct pollfd report = {.fd = control, .events = POLLIN};

    if (limit_ns < end_ns)
        end_ns = limit_ns;
    for (;;) {
        uint64_t now_ns = nn_sys_now_ns();

        if (now_ns >= end_ns)
            return nn_error_origin(-ETIMEDOUT);
        if (poll(&report, 1, (int)((end_ns - now_ns) / 1000000 + 1)) > 0)
            return 0;
    }
}

/* Returns: 0 or 1 (how much was reported), or -errno. */
static int receive_report(int control, int *ret_error, int *ret_pidfd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room;
    struct iovec part = {.iov_base = ret_error, .iov_len = sizeof(*ret_error)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = sizeof(room.bytes),
    };
    ssize_t n = await_report(control);
    struct cmsghdr *cmsg;

    if (n == 0)
        n = nn_sys_recvmsg(control, &message, 0);
    if (n <= 0)
        return (int)n;
    cmsg = CMSG_FIRSTHDR(&message);
    if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
        memcpy(ret_pidfd, CMSG_DATA(cmsg), sizeof(int));
    return 1;
}

/* -- in the host's process, before exec --------------------------------------------- */

static void reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        sigaction(i, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* As dup2() of two numbers, and _exit(), but the kernel's own: a sanitizer has them do more, with the locks that
 * the application's other threads held when this process was copied. */
static int put_fd(int from, int to)
{
    return (int)syscall(SYS_dup3, from, to, 0);
}

__attribute__((__noreturn__)) static void leave(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

/* Leaves standard input empty, standard output and error, HOST_FD, REPORT_FD. */
static int arrange_fds(int host, int control)
{
    int null_fd = nn_sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0), flags;

    if (null_fd < 0)
        return nn_error_trace(null_fd);
    /* Moved up first: in an application that has closed its standard streams, they may have the
     * very numbers that are overwritten below. */
    null_fd = fcntl(null_fd, F_DUPFD, SAFE_FD);
    host = fcntl(host, F_DUPFD, SAFE_FD);
    control = fcntl(control, F_DUPFD, SAFE_FD);
    if (null_fd < 0 || host < 0 || control < 0 || put_fd(null_fd, STDIN_FILENO) < 0)
        return nn_error_origin(-errno);
    /* What is closed by exec is no standard error: it may be the application's end of the socket, and
     * a host that held that one would never see it close. */
    flags = fcntl(STDERR_FILENO, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC))
        put_fd(null_fd, STDERR_FILENO);
    if (put_fd(STDERR_FILENO, STDOUT_FILENO) < 0 || put_fd(host, HOST_FD) < 0 ||
        put_fd(control, REPORT_FD) < 0)
        return nn_error_origin(-errno);
    /* Descriptors of the application that are not close-on-exec must not stay open in the
     * host. Before Linux 5.9 there is no close_range. */
    if (syscall(SYS_close_range, REPORT_FD + 1, UINT32_MAX, 0) < 0)
        for (int fd = REPORT_FD + 1; fd < 65536; fd++)
            close(fd);
    return 0;
}

__attribute__((__noreturn__)) static void become_host(const char *path, char *const *arguments,
                                                      int host, int control)
{
    int r = arrange_fds(host, control);

    if (r == 0) {
        setsid(); /* the terminal's signals are the application's */
        reset_signals();
        execv(path, arguments);
        r = -errno;
        control = REPORT_FD;
    }
    send_report(control, r, -1);
    leave(127);
}

__attribute__((__noreturn__)) static void be_parent(const char *path, char *const *arguments,
                                                    int host, int control)
{
    int pidfd = -1;
    pid_t pid = clone_with_pidfd(&pidfd);

    if (pid == 0)
        become_host(path, arguments, host, control);
    send_report(control, pid < 0 ? -errno : 0, pidfd);
    leave(0);
}

/* -- in the application ----------------------------------------------------------------- */

/* Makes the parent and waits for its end, with every signal blocked: the
 * application's handlers must not run in the two processes. */
static int run_parent(const char *path, char *const *arguments, int host, int control)
{
    _cleanup_(closep) int pidfd = -1;
    sigset_t all, saved;
    siginfo_t info;
    pid_t pid;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    pid = clone_with_pidfd(&pidfd);
    if (pid == 0)
        be_parent(path, arguments, host, control);
    if (pid < 0)
        r = nn_error_origin(-errno);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (r == 0)
        /* By pidfd, as an application that waits for any child may have reaped it already;
         * __WALL, as a child without an exit signal is not waited for otherwise. */
        while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
            ;
    return r;
}

/* The reports come in either order. A host that ends before it reports has a reason, which the
 * connection shows; its own pidfd is as good then. */
static int collect_reports(int reports, int *ret_pidfd)
{
    _cleanup_(closep) int host = -1, driver = -1;
    int teller = 0, r;

    for (;;) {
        int pidfd = -1;

        r = receive_report(reports, &teller, &pidfd);
        if (r > 0 && teller >= 0 && pidfd >= 0) {
            int *place = teller == BY_HOST ? &driver : &host;

            closep(place);
            *place = pidfd;
        } else if (r > 0) {
            closep(&pidfd);
            r = nn_error_origin(teller < 0 ? teller : -EIO);
        }
        if (r <= 0)
            break;
    }
    if (r < 0 && host >= 0)
        nn_child_kill(host);
    /* No report came: the parent was killed before it could send one. */
    if (r == 0 && host < 0 && driver < 0)
        r = -EIO;
    if (r < 0)
        return nn_error_origin(r);
    *ret_pidfd = driver >= 0 ? steal_fd(&driver) : steal_fd(&host);
    return 0;
}

int nn_child_spawn(const char *path, const char *name, int *ret_fd, int *ret_pidfd)
{
    char *arguments[] = {
        (char *)"nnhal-host", (char *)"--fd",          (char *)"3", (char *)"--report", (char *)"4",
        (char *)"--",         (char *)(uintptr_t)name, NULL};
    _cleanup_(closep) int ours = -1, theirs = -1, reports = -1, control = -1, pidfd = -1;
    int pair[2], r;

    r = nn_sock_pair(pair);
    if (r < 0)
        return nn_error_trace(r);
    ours = pair[0];
    theirs = pair[1];
    r = nn_sock_pair(pair);
    if (r < 0)
        return nn_error_trace(r);
    reports = pair[0];
    control = pair[1];
    r = run_parent(path, arguments, theirs, control);
    if (r < 0)
        return nn_error_trace(r);
    /* Only the two processes hold it now, so that their exec or end is what ends the loop
     * below. */
    closep(&control);
    control = -1;
    r = collect_reports(reports, &pidfd);
    if (r < 0)
        return nn_error_trace(r);
    *ret_fd = steal_fd(&ours);
    *ret_pidfd = steal_fd(&pidfd);
    return 0;
}

void nn_child_kill(int pidfd)
{
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

void nn_child_await(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    siginfo_t info;

    while (poll(&end, 1, END_TIMEOUT_MS) < 0 && errno == EINTR)
        ;
    if (end.revents)
        waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL);
}
