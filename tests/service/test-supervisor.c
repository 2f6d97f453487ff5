/* SPDX-License-Identifier: Apache-2.0 */
/* Both processes of a supervisor, below a test that stands for who started them. */
#include "service/supervisor.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "ipc/sock.h"

#include "support/check-main.h"
#include "support/fds.h"
#include "support/lateness.h"
#include "support/refuse-call.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int numbers[2]; /* the driver's process tells its number, and what else the test asks for */

static int answer(void *ctx, const struct nn_supervisor_request *request, int *ret_fd)
{
    *ret_fd = memfd_create("an answer", MFD_CLOEXEC);
    return 0;
}

static const struct nn_supervisor plain = {
    .answer = answer, .socket_fd = -1, .listen_fd = -1, .client_fd = -1, .report_fd = -1};

/* The number of the driver's process, on a descriptor that split closed: given over errors. */
static void tell_number(const struct nn_supervisor *supervisor)
{
    dprintf(STDERR_FILENO, "%d\n", (int)supervisor->pid);
}

/* Starts both; body runs in the driver's process. The read end is the supervisor's errors. */
static pid_t start(const struct nn_supervisor *form, int (*body)(struct nn_supervisor *supervisor))
{
    pid_t pid;

    ck_assert_int_eq(pipe(numbers), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct nn_supervisor supervisor = *form;
        int r;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(numbers[1], STDERR_FILENO);
        close(numbers[0]);
        close(numbers[1]);
        r = nn_supervisor_split(&supervisor);
        if (r == 0)
            _exit(nn_supervisor_watch(&supervisor));
        _exit(r == 1 ? body(&supervisor) : 200);
    }
    close(numbers[1]);
    return pid;
}

static pid_t read_number(void)
{
    char text[16] = "";

    for (size_t n = 0; n < sizeof(text) - 1 && !strchr(text, '\n'); n++)
        ck_assert_int_eq(read(numbers[0], text + n, 1), 1);
    return (pid_t)atoi(text);
}

/* What is left to be read, and the status. */
static int await_end(pid_t pid, const char *wanted)
{
    char text[256] = "";
    size_t n = 0;
    ssize_t m;
    int status;

    while ((m = read(numbers[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)m;
    close(numbers[0]);
    ck_assert_str_eq(text, wanted);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static int print_and_end(struct nn_supervisor *supervisor)
{
    bool is_arranged = !isatty(STDIN_FILENO) && read(STDIN_FILENO, &(char){0}, 1) == 0 &&
                       getsid(0) == getpid() && fcntl(STDERR_FILENO + 1, F_GETFD) < 0;

    dprintf(STDOUT_FILENO, "one\a ");
    dprintf(STDERR_FILENO, "two\n");
    return is_arranged ? 7 : 8;
}

TEST(it_ends_as_the_drivers_process_ends)
{
    int status = await_end(start(&plain, print_and_end), "one? two\n");

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 7);
}
TEST_END

/* A page that is not in its file. No signal that a process sends itself ends the first one of a
 * PID namespace. */
static int fault(struct nn_supervisor *supervisor)
{
    int fd = memfd_create("empty", MFD_CLOEXEC);
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    signal(SIGBUS, SIG_DFL);
    return page == MAP_FAILED ? 1 : *page;
}

TEST(it_ends_by_the_same_signal)
{
    int status = await_end(start(&plain, fault), "");

    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGBUS);
}
TEST_END

static void end_well(int number)
{
    _exit(9);
}

static int await_termination(struct nn_supervisor *supervisor)
{
    sigset_t none;

    signal(SIGTERM, end_well);
    tell_number(supervisor);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    while (pause() < 0)
        continue;
    return 0;
}

TEST(it_passes_termination_on)
{
    static const int signals[] = {SIGTERM, SIGINT};

    for (size_t i = 0; i < NN_N_ELEMENTS(signals); i++) {
        pid_t pid = start(&plain, await_termination);
        int status;

        ck_assert_int_ne(read_number(), pid);
        kill(pid, signals[i]);
        status = await_end(pid, "");
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    }
}
TEST_END

TEST(the_drivers_process_ends_with_it)
{
    pid_t pid, driver;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid = start(&plain, await_termination);
    driver = read_number();
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(waitpid(driver, NULL, 0), driver);
    close(numbers[0]);
}
TEST_END

static const struct nn_supervisor_request unknown = {.what = 99};

/* ctx: how much of the unknown one. */
static int ask_all(struct nn_supervisor *supervisor)
{
    const struct nn_supervisor_request ready = {.what = NN_SUPERVISOR_READY};
    const struct nn_supervisor_request tokens = {.what = NN_SUPERVISOR_TOKENS};
    int fd = -1, none = -1;

    if (nn_supervisor_ask(supervisor, &tokens, &fd) != 0 || fd < 0 || ftruncate(fd, 4096) < 0)
        return 1;
    /* What clients come to is not for this process. */
    if (nn_supervisor_ask(supervisor, &ready, &none) != 0 || none >= 0)
        return 5;
    if (supervisor->ctx && send(supervisor->line_fd, &unknown, *(size_t *)supervisor->ctx, 0) < 0)
        return 2;
    /* Not twice, and not after what is no request. */
    if (nn_supervisor_ask(supervisor, &ready, &none) >= 0)
        return 3;
    dprintf(STDERR_FILENO, "still there\n");
    return none == -1 ? 0 : 4;
}

TEST(it_answers_requests_and_no_others)
{
    size_t sizes[] = {2, sizeof(unknown)};
    struct nn_supervisor form = plain;

    ck_assert_int_eq(await_end(start(&form, ask_all), "still there\n"), 0);
    for (size_t i = 0; i < NN_N_ELEMENTS(sizes); i++) {
        form.ctx = &sizes[i];
        ck_assert_int_eq(await_end(start(&form, ask_all), "still there\n"), 0);
    }
}
TEST_END

/* -- clients ---------------------------------------------------------------------------------------- */

enum { SERVICE_UID = 4711, CLIENT_UID = 4712, N_CLIENTS = 40 };

static char place[64], socket_path[80];

static int answer_with_socket(void *ctx, const struct nn_supervisor_request *request, int *ret_fd)
{
    return nn_sock_listen(socket_path, 0666, ret_fd);
}

/* Tells of each client who it is, as the service of a user that is not root. */
static int tell_clients(struct nn_supervisor *supervisor)
{
    const struct nn_supervisor_request ready = {.what = NN_SUPERVISOR_READY};
    struct pollfd door = {.fd = supervisor->door_fd, .events = POLLIN};
    struct nn_arrival arrival;
    int none = -1;

    if (nn_supervisor_ask(supervisor, &ready, &none) != 0)
        return 1;
    tell_number(supervisor);
    for (int i = 0; i < N_CLIENTS; i++) {
        struct pollfd end = {.events = POLLIN};

        if (poll(&door, 1, -1) != 1 || nn_door_receive(door.fd, &arrival) != 0)
            return 2;
        end.fd = arrival.pidfd;
        if (write(arrival.fd, &arrival.client, sizeof(arrival.client)) < 0)
            return 3;
        if (arrival.pidfd >= 0 && poll(&end, 1, -1) != 1)
            return 4;
        nn_arrival_done(&arrival);
    }
    return 0;
}

/* Whether it is told to be who it is. */
static void be_client(bool is_another_user)
{
    struct nn_sock_credentials told;
    int fd = -1;

    setenv("NNHAL_SERVICE_UID", "4711", 1);
    if (is_another_user && setuid(CLIENT_UID) < 0)
        _exit(1);
    if (nn_sock_connect(socket_path, &fd) != 0 || read(fd, &told, sizeof(told)) != sizeof(told))
        _exit(2);
    _exit(told.uid == geteuid() && told.pid == getpid() ? 0 : 3);
}

static pid_t start_as(uid_t uid, const struct nn_supervisor *form)
{
    uid_t own = geteuid();
    pid_t pid;

    /* The real one as well, which the child inherits; the saved one brings this process back. */
    ck_assert_int_eq(setresuid(uid, uid, own), 0);
    pid = start(form, tell_clients);
    ck_assert_int_eq(setresuid(own, own, own), 0);
    return pid;
}

/* In namespaces of its own the driver's process would see one user and no process. More of them come
 * than the door has room for. */
TEST(who_a_client_is_is_said_by_the_kernel_outside)
{
    bool is_root = geteuid() == 0;
    struct nn_supervisor form = plain;
    pid_t pid, clients[N_CLIENTS];
    int status;

    if (!is_root)
        printf("SKIPPED in part: clients of other users are not told apart: that takes root\n");
    strcpy(place, "/tmp/nnhal-door-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(place));
    snprintf(socket_path, sizeof(socket_path), "%s/socket", place);
    form.answer = answer_with_socket;
    ck_assert_int_eq(chmod(place, 0755), 0);
    ck_assert_int_eq(is_root ? chown(place, SERVICE_UID, (gid_t)-1) : 0, 0);
    pid = start_as(is_root ? SERVICE_UID : geteuid(), &form);
    read_number();
    for (int i = 0; i < N_CLIENTS; i++) {
        clients[i] = fork();
        if (clients[i] == 0)
            be_client(is_root && i % 2 == 0);
    }
    for (int i = 0; i < N_CLIENTS; i++) {
        ck_assert_int_eq(waitpid(clients[i], &status, 0), clients[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(await_end(pid, ""), 0);
    unlink(socket_path);
    ck_assert_int_eq(rmdir(place), 0);
}
TEST_END

/* -- what a driver may try to stop it with -------------------------------------------------------- */

static int ignore_termination(struct nn_supervisor *supervisor)
{
    signal(SIGTERM, SIG_IGN);
    tell_number(supervisor);
    while (pause() < 0)
        continue;
    return 0;
}

TEST(termination_that_is_ignored_is_insisted_on)
{
    pid_t pid = start(&plain, ignore_termination);
    uint64_t begin_ns;
    int status;

    read_number();
    begin_ns = nn_sys_now_ns();
    kill(pid, SIGTERM);
    status = await_end(pid, "");
    ck_assert_uint_gt(nn_sys_now_ns() - begin_ns, UINT64_C(5900) * 1000000);
    ck_assert_uint_lt(nn_sys_now_ns() - begin_ns, UINT64_C(6) * 1000000000 + 10 * late_ns());
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
TEST_END

/* The answers are not read. */
static int flood_line(struct nn_supervisor *supervisor)
{
    struct nn_supervisor_request request = {.what = NN_SUPERVISOR_READY};

    tell_number(supervisor);
    while (true) {
        send(supervisor->line_fd, &request, sizeof(request), MSG_NOSIGNAL);
        request.what = request.what % 3 + 1;
    }
    return 0;
}

/* No process reads it. */
static int flood_errors(struct nn_supervisor *supervisor)
{
    tell_number(supervisor);
    while (true)
        dprintf(STDERR_FILENO, "more and more and more and more\n");
    return 0;
}

static int flood_errors_and_ask(struct nn_supervisor *supervisor)
{
    if (fork() == 0)
        return flood_errors(supervisor);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    return flood_line(supervisor);
}

/* More than both pipes hold. */
static int print_much(struct nn_supervisor *supervisor)
{
    for (int i = 0; i < 10000; i++)
        nn_log("service", NN_LOG_WARNING, "client %d did what many do", i);
    for (int i = 0; i < 10000; i++)
        dprintf(STDOUT_FILENO, "and the driver speaks of it as well\n");
    return 7;
}

TEST(the_drivers_process_goes_on_while_what_it_prints_is_not_read)
{
    int status;
    pid_t pid;

    setenv("NNHAL_LOG", "warning", 1);
    pid = start(&plain, print_much);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    close(numbers[0]);
}
TEST_END

/* A process that connected; *ret_fd is the service's end. */
static pid_t start_client(int *ret_fd)
{
    int listen_fd = -1, fd = -1;
    char folder[] = "/tmp/nnhal-supervisor-XXXXXX", path[64];
    pid_t pid;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/socket", folder);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &listen_fd), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (nn_sock_connect(path, &fd) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    while (nn_sock_accept(listen_fd, ret_fd) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    close(listen_fd);
    unlink(path);
    rmdir(folder);
    return pid;
}

TEST(no_flood_keeps_it_from_its_clients_end)
{
    static int (*const bodies[])(struct nn_supervisor * supervisor) = {flood_line, flood_errors,
                                                                       flood_errors_and_ask};

    for (size_t i = 0; i < NN_N_ELEMENTS(bodies); i++) {
        struct nn_supervisor form = plain;
        int status;
        pid_t pid, client_pid = start_client(&form.client_fd);

        pid = start(&form, bodies[i]);
        read_number();
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        kill(client_pid, SIGKILL);
        ck_assert_int_eq(waitpid(client_pid, NULL, 0), client_pid);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(form.client_fd);
        close(numbers[0]);
    }
}
TEST_END

static int await_end_of_client(struct nn_supervisor *supervisor)
{
    char byte;

    while (read(supervisor->socket_fd, &byte, 1) > 0)
        continue;
    return 5;
}

TEST(the_socket_is_open_in_the_drivers_process_alone)
{
    struct nn_supervisor form = plain;
    int pair[2], status;
    pid_t pid;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    form.socket_fd = pair[1];
    fcntl(pair[0], F_SETFD, 0);
    pid = start(&form, await_end_of_client);
    close(pair[1]);
    shutdown(pair[0], SHUT_RDWR);
    status = await_end(pid, "");
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    close(pair[0]);
}
TEST_END

/* -- what a kernel refuses --------------------------------------------------------------------- */

static void driver_starts_and_ends(void)
{
    int status = await_end(start(&plain, print_and_end), "one? two\n");

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 7);
}

TEST(without_close_range_the_drivers_process_has_nothing_else_open)
{
    refuse_in_child((struct refusal){SYS_close_range, ENOSYS}, driver_starts_and_ends);
}
TEST_END

/* No driver is left without a supervisor, and this process can be terminated. */
static void cannot_split(void)
{
    struct nn_supervisor supervisor = plain;
    sigset_t mask;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    ck_assert_int_eq(nn_supervisor_split(&supervisor), -refused.error);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    ck_assert(!sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGINT));
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

TEST(a_driver_that_cannot_be_supervised_does_not_run)
{
    static const struct refusal refusals[] = {
        {SYS_pipe2, EMFILE},     {SYS_socketpair, EMFILE}, {SYS_clone, EAGAIN},
        {SYS_signalfd4, EMFILE}, {SYS_pidfd_open, ENOSYS},
    };

    for (size_t i = 0; i < NN_N_ELEMENTS(refusals); i++)
        refuse_in_child(refusals[i], cannot_split);
}
TEST_END

static void cannot_report(void)
{
    struct nn_supervisor supervisor = plain;
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[1]);
    supervisor.report_fd = pair[0];
    ck_assert_int_eq(nn_supervisor_split(&supervisor), -EPIPE);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

TEST(who_started_it_has_to_be_told)
{
    refuse_in_child((struct refusal){-1, 0}, cannot_report);
}
TEST_END

/* The supervisor sees that it has ended. */
static void driver_gives_up(void)
{
    int status = await_end(start(&plain, print_and_end), "");

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
}

TEST(a_process_that_cannot_be_arranged_ends)
{
    static const struct refusal refusals[] = {{SYS_openat, EMFILE}};

    for (size_t i = 0; i < NN_N_ELEMENTS(refusals); i++)
        refuse_in_child(refusals[i], driver_gives_up);
}
TEST_END

static int refuse(void *ctx, const struct nn_supervisor_request *request, int *ret_fd)
{
    *ret_fd = memfd_create("of no use", MFD_CLOEXEC);
    return -EADDRINUSE;
}

static int ask_once(struct nn_supervisor *supervisor)
{
    const struct nn_supervisor_request ready = {.what = NN_SUPERVISOR_READY};
    int fd = -1, next = dup(STDIN_FILENO);

    close(next);
    if (nn_supervisor_ask(supervisor, &ready, &fd) != -EADDRINUSE || fd != -1)
        return 1;
    return dup(STDIN_FILENO) == next ? 0 : 2; /* what came with it is closed */
}

TEST(an_answer_may_be_an_error)
{
    struct nn_supervisor form = plain;

    form.answer = refuse;
    ck_assert_int_eq(await_end(start(&form, ask_once), ""), 0);
}
TEST_END

/* What the test's own death leaves: a supervisor whose errors have no reader. */
static int print_without_reader(struct nn_supervisor *supervisor)
{
    close(supervisor->line_fd); /* asks nothing, either */
    for (int i = 0; i < 1000; i++)
        dprintf(STDOUT_FILENO, "a line without a reader\n");
    return 3;
}

TEST(output_without_a_reader_ends_nothing)
{
    int status;
    pid_t pid;

    signal(SIGPIPE, SIG_IGN);
    pid = start(&plain, print_without_reader);
    close(numbers[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 3);
}
TEST_END

CHECK_MAIN("supervisor", it_ends_as_the_drivers_process_ends, it_ends_by_the_same_signal,
           it_passes_termination_on, the_drivers_process_ends_with_it,
           it_answers_requests_and_no_others, who_a_client_is_is_said_by_the_kernel_outside,
           termination_that_is_ignored_is_insisted_on, no_flood_keeps_it_from_its_clients_end,
           the_drivers_process_goes_on_while_what_it_prints_is_not_read,
           the_socket_is_open_in_the_drivers_process_alone,
           without_close_range_the_drivers_process_has_nothing_else_open,
           a_driver_that_cannot_be_supervised_does_not_run, who_started_it_has_to_be_told,
           a_process_that_cannot_be_arranged_ends, an_answer_may_be_an_error,
           output_without_a_reader_ends_nothing)
