/* SPDX-License-Identifier: Apache-2.0 */
#include "service/supervisor.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "ipc/child.h"
#include "ipc/sock.h"
#include "service/line.h"
#include "service/namespaces.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* In which the driver's process ends by itself: when its client is gone; when it was told to, for
 * which it has 5 s of its own (serve.c). */
#define GRACE_NS       UINT64_C(1000000000)
#define TERMINATION_NS UINT64_C(6000000000)
#define DOOR_PAUSE_NS  UINT64_C(100000000)

enum {
    POLL_MS = 100,        /* while it is waited for */
    LAST_WORDS_MS = 1000, /* in which who reads what is printed must have gone on */
    SIGNAL_EXIT = 128,
    OLD_MAX_FD = 65536, /* before Linux 5.9, without close_range() */
};

/* -- the line ------------------------------------------------------------------------------- */

int nn_supervisor_ask(struct nn_supervisor *supervisor, const struct nn_supervisor_request *request,
                      int *ret_fd)
{
    int32_t answer;
    int fd = -1, r = nn_line_send(supervisor->line_fd, request, sizeof(*request), NULL, 0, 0);

    if (r >= 0)
        r = nn_line_receive(supervisor->line_fd, &answer, sizeof(answer), &fd, 1, 0);
    if (r < 0)
        return nn_error_trace(r);
    if (answer < 0) {
        closep(&fd);
        return nn_error_origin(answer);
    }
    *ret_fd = fd;
    return 0;
}

/* Each of them is asked for once. */
static bool is_due(struct nn_supervisor *supervisor, unsigned what)
{
    bool is_due = what >= NN_SUPERVISOR_READY && what <= NN_SUPERVISOR_TOKENS &&
                  !(supervisor->asked & 1U << what);

    if (is_due)
        supervisor->asked |= 1U << what;
    return is_due;
}

/* What comes is the driver's process's word, which may be the driver's: that the answer is not
 * read must not stop this process. */
static int answer_request(struct nn_supervisor *supervisor)
{
    _cleanup_(closep) int fd = -1;
    struct nn_supervisor_request request;
    int32_t answer;
    int r = nn_line_receive(supervisor->line_fd, &request, sizeof(request), NULL, 0, 0);

    if (r < 0)
        return nn_error_trace(r);
    if (!is_due(supervisor, request.what))
        return nn_error_origin(-EPROTO);
    answer = supervisor->answer(supervisor->ctx, &request, &fd);
    if (request.what == NN_SUPERVISOR_READY && fd >= 0)
        supervisor->listen_fd = steal_fd(&fd);
    return nn_error_trace(
        nn_line_send(supervisor->line_fd, &answer, sizeof(answer), &fd, fd >= 0, MSG_DONTWAIT));
}

/* -- the door ------------------------------------------------------------------------------------ */

/* Whom it may come to: who is there before the driver is ready waits at the socket. */
static bool may_accept(const struct nn_supervisor *supervisor)
{
    return supervisor->asked & 1U << NN_SUPERVISOR_READY && supervisor->arrival.fd < 0;
}

/* What fails for want of something is tried again after a while, not at once and again and again. */
static void pause_door(struct nn_supervisor *supervisor)
{
    supervisor->no_door_before_ns = nn_sys_now_ns() + DOOR_PAUSE_NS;
}

/* One client each time: the others wait at the socket. */
static void accept_client(struct nn_supervisor *supervisor)
{
    if (nn_door_accept(supervisor->listen_fd, &supervisor->arrival) < 0)
        pause_door(supervisor);
}

/* A client that cannot be passed on for another reason than that it has to wait is dropped. */
static void pass_client(struct nn_supervisor *supervisor)
{
    int r = nn_door_pass(supervisor->door_fd, &supervisor->arrival);

    if (r == NN_DOOR_E_FULL)
        pause_door(supervisor);
    else
        nn_arrival_done(&supervisor->arrival);
}

/* -- the driver's process --------------------------------------------------------------------- */

static void close_from_to(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    for (unsigned fd = first; fd <= last && fd < OLD_MAX_FD; fd++)
        close((int)fd);
}

/* All but the standard three, a and b (-1: none). */
static void close_others(int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    unsigned next = STDERR_FILENO + 1;

    if (low >= (int)next) {
        close_from_to(next, (unsigned)low - 1);
        next = (unsigned)low + 1;
    }
    if (high >= (int)next) {
        close_from_to(next, (unsigned)high - 1);
        next = (unsigned)high + 1;
    }
    close_from_to(next, UINT32_MAX);
}

/* The pipe has no reader when the supervisor is gone. */
bool nn_supervisor_is_there(void)
{
    struct pollfd output = {.fd = STDERR_FILENO};

    return poll(&output, 1, 0) == 0;
}

static int enter_process(struct nn_supervisor *supervisor, int output_fd)
{
    int null_fd = nn_sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);

    /* No terminal's signals, and no /dev/tty. */
    setsid();
    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(output_fd, STDOUT_FILENO) < 0 ||
        dup2(output_fd, STDERR_FILENO) < 0)
        return nn_error_origin(-errno);
    /* A terminal or a journal that stands still does not stop who serves. */
    fcntl(output_fd, F_SETFL, O_NONBLOCK);
    close_others(supervisor->line_fd,
                 supervisor->socket_fd >= 0 ? supervisor->socket_fd : supervisor->door_fd);
    supervisor->listen_fd = -1;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return nn_error_origin(-errno);
    return nn_supervisor_is_there() ? 0 : nn_error_origin(-EPIPE);
}

/* -- the supervisor ----------------------------------------------------------------------------- */

/* What is in the way of a pidfd leaves the socket's end, which the driver's process sees. */
static void watch_client(struct nn_supervisor *supervisor)
{
    supervisor->watch_fd = -1;
    if (supervisor->client_fd >= 0)
        nn_sock_pidfd(supervisor->client_fd, &supervisor->watch_fd);
}

static int become_supervisor(struct nn_supervisor *supervisor, const sigset_t *terminations)
{
    int r = 0;

    supervisor->arrival = (struct nn_arrival){.fd = -1, .pidfd = -1};
    supervisor->no_door_before_ns = 0;
    supervisor->signal_fd = signalfd(-1, terminations, SFD_CLOEXEC | SFD_NONBLOCK);
    supervisor->pidfd = (int)syscall(SYS_pidfd_open, supervisor->pid, 0);
    if (supervisor->signal_fd < 0 || supervisor->pidfd < 0)
        return nn_error_origin(-errno);
    if (supervisor->report_fd >= 0)
        r = nn_child_report(supervisor->report_fd, supervisor->pidfd);
    /* A second copy would keep the socket open when the driver's process is gone. */
    closep(&supervisor->report_fd);
    closep(&supervisor->socket_fd);
    supervisor->report_fd = supervisor->socket_fd = supervisor->client_fd = -1;
    fcntl(supervisor->output_fd, F_SETFL, O_NONBLOCK);
    return nn_error_trace(r);
}

static sigset_t termination_set(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

int nn_supervisor_split(struct nn_supervisor *supervisor)
{
    _cleanup_(closep) int reader = -1, writer = -1, near = -1, far = -1, inner = -1, outer = -1;
    const sigset_t terminations = termination_set();
    struct nn_namespaces namespaces;
    int pair[2], r;

    if (pipe2(pair, O_CLOEXEC) < 0)
        return nn_error_origin(-errno);
    reader = pair[0];
    writer = pair[1];
    r = nn_sock_pair(pair);
    if (r < 0)
        return nn_error_trace(r);
    near = pair[0];
    far = pair[1];
    r = nn_door_pair(pair);
    if (r < 0)
        return nn_error_trace(r);
    outer = pair[0];
    inner = pair[1];
    watch_client(supervisor);
    /* For good: nn_supervisor_watch() reads them. */
    sigprocmask(SIG_BLOCK, &terminations, NULL);
    r = nn_namespaces_fork(&namespaces);
    supervisor->pid = namespaces.pid;
    supervisor->has_namespaces = namespaces.are_own;
    supervisor->namespaces_error = namespaces.error;
    if (r == 0) {
        supervisor->line_fd = steal_fd(&far);
        supervisor->door_fd = steal_fd(&inner);
        r = enter_process(supervisor, writer);
        /* Closed with all others. */
        reader = writer = near = outer = -1;
        if (r < 0)
            _exit(1);
        return 1;
    }
    if (r > 0) {
        supervisor->line_fd = steal_fd(&near);
        supervisor->door_fd = steal_fd(&outer);
        supervisor->output_fd = steal_fd(&reader);
        r = become_supervisor(supervisor, &terminations);
        if (r < 0)
            kill(supervisor->pid, SIGKILL);
    }
    if (r < 0)
        sigprocmask(SIG_UNBLOCK, &terminations, NULL);
    return nn_error_trace(r);
}

/* As the driver's process ended. */
static int end_as(int status)
{
    const struct rlimit none = {0};
    sigset_t set;

    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), WTERMSIG(status));
    return SIGNAL_EXIT + WTERMSIG(status); /* the init of a container */
}

/* Whether a block, or a line of the log, can be printed without waiting for who reads it. */
static bool may_print(int timeout_ms)
{
    struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&errors, 1, timeout_ms) > 0;
}

static int collect_end(struct nn_supervisor *supervisor)
{
    int status = 0;

    while (waitpid(supervisor->pid, &status, 0) < 0 && errno == EINTR)
        ;
    while (may_print(LAST_WORDS_MS) &&
           nn_relay_pass(&supervisor->relay, supervisor->output_fd, STDERR_FILENO) > 0)
        ;
    closep(&supervisor->output_fd);
    closep(&supervisor->line_fd);
    closep(&supervisor->door_fd);
    closep(&supervisor->listen_fd);
    nn_arrival_done(&supervisor->arrival);
    closep(&supervisor->pidfd);
    closep(&supervisor->watch_fd);
    closep(&supervisor->signal_fd);
    if (supervisor->ended)
        supervisor->ended(supervisor->ctx);
    return end_as(status);
}

/* The other process is not reaped before it is told no more. */
static void tell(const struct nn_supervisor *supervisor, int signal_number)
{
    syscall(SYS_pidfd_send_signal, supervisor->pidfd, signal_number, NULL, 0);
}

/* Returns how long the other process may go on. */
static uint64_t pass_termination(const struct nn_supervisor *supervisor)
{
    struct signalfd_siginfo info;

    while (read(supervisor->signal_fd, &info, sizeof(info)) > 0)
        tell(supervisor, SIGTERM);
    return TERMINATION_NS;
}

static void pass_output(struct nn_supervisor *supervisor)
{
    int r = nn_relay_pass(&supervisor->relay, supervisor->output_fd, STDERR_FILENO);

    if (r > 0 || r == -EAGAIN || r == -EINTR)
        return;
    closep(&supervisor->output_fd);
    supervisor->output_fd = -1;
}

static void pass_request(struct nn_supervisor *supervisor)
{
    if (answer_request(supervisor) >= 0)
        return;
    /* So that none waits at the other end for an answer. */
    closep(&supervisor->line_fd);
    supervisor->line_fd = -1;
}

int nn_supervisor_watch(struct nn_supervisor *supervisor)
{
    enum { ENDED, CLIENT, TERMINATION, CAME, DOOR, PRINTED, ASKED, ERRORS };
    struct pollfd fds[] = {
        [ENDED] = {.fd = supervisor->pidfd, .events = POLLIN},
        [CLIENT] = {.fd = supervisor->watch_fd, .events = POLLIN},
        [TERMINATION] = {.fd = supervisor->signal_fd, .events = POLLIN},
        [CAME] = {.events = POLLIN},
        [DOOR] = {.events = POLLOUT},
        [PRINTED] = {.events = POLLIN},
        [ASKED] = {.events = POLLIN},
        [ERRORS] = {.events = POLLOUT},
    };
    uint64_t end_ns = UINT64_MAX;

    for (;;) {
        bool may = may_print(0), is_paused = nn_sys_now_ns() < supervisor->no_door_before_ns;
        uint64_t now_ns, rest_ns = UINT64_MAX;

        fds[CAME].fd = may_accept(supervisor) && !is_paused ? supervisor->listen_fd : -1;
        fds[DOOR].fd = supervisor->arrival.fd >= 0 && !is_paused ? supervisor->door_fd : -1;

        /* Both may print, and wait where that would. */
        fds[PRINTED].fd = may ? supervisor->output_fd : -1;
        fds[ASKED].fd = may ? supervisor->line_fd : -1;
        fds[ERRORS].fd = may ? -1 : STDERR_FILENO;
        poll(fds, NN_N_ELEMENTS(fds), end_ns == UINT64_MAX && !is_paused ? -1 : POLL_MS);
        now_ns = nn_sys_now_ns();
        if (now_ns >= end_ns)
            tell(supervisor, SIGKILL);
        if (fds[ENDED].revents)
            return collect_end(supervisor);
        if (fds[CAME].revents)
            accept_client(supervisor);
        if (fds[DOOR].revents)
            pass_client(supervisor);
        if (fds[ASKED].revents)
            pass_request(supervisor);
        else if (fds[PRINTED].revents)
            pass_output(supervisor);
        if (fds[TERMINATION].revents)
            rest_ns = pass_termination(supervisor);
        if (fds[CLIENT].revents) {
            fds[CLIENT].fd = -1;
            rest_ns = GRACE_NS;
        }
        if (rest_ns < UINT64_MAX && now_ns + rest_ns < end_ns)
            end_ns = now_ns + rest_ns;
    }
}
