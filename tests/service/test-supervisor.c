/* SPDX-License-Identifier: Apache-2.0 */
/* Both processes of a supervisor, below a test that stands for who started them. */
#include "service/supervisor.h"

#include "base/cleanup.h"
#include "base/error.h"

#include "support/check-main.h"
#include "support/fds.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int numbers[2]; /* the driver's process tells its number, and what else the test asks for */

static int answer(void *ctx, const struct nn_supervisor_request *request, int *ret_fd)
{
    if (request->what != NN_SUPERVISOR_READY)
        return -EINVAL;
    *ret_fd = memfd_create("an answer", MFD_CLOEXEC);
    return 0;
}

static const struct nn_supervisor plain = {
    .answer = answer, .socket_fd = -1, .client_fd = -1, .report_fd = -1};

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

static int ask_all(struct nn_supervisor *supervisor)
{
    const struct nn_supervisor_request ready = {.what = NN_SUPERVISOR_READY};
    const struct nn_supervisor_request unknown = {.what = 99};
    char bytes[64] = "not a request";
    int fd = -1, none = -1;

    if (nn_supervisor_ask(supervisor, &ready, &fd) != 0 || fd < 0 || ftruncate(fd, 4096) < 0)
        return 1;
    if (nn_supervisor_ask(supervisor, &unknown, &none) != -EINVAL)
        return 2;
    /* One that is none ends the line, and nothing else. */
    send(supervisor->line_fd, bytes, 2, MSG_NOSIGNAL);
    if (nn_supervisor_ask(supervisor, &ready, &none) >= 0)
        return 3;
    dprintf(STDERR_FILENO, "still there\n");
    return none == -1 ? 0 : 4;
}

TEST(it_answers_requests_and_no_others)
{
    ck_assert_int_eq(await_end(start(&plain, ask_all), "still there\n"), 0);
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

CHECK_MAIN("supervisor", it_ends_as_the_drivers_process_ends, it_ends_by_the_same_signal,
           it_passes_termination_on, the_drivers_process_ends_with_it,
           it_answers_requests_and_no_others, the_socket_is_open_in_the_drivers_process_alone)
