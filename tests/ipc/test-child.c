/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/child.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/wait-limit.h"

#include "support/check-main.h"
#include "support/fds.h"
#include "support/refuse-call.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Orphans come to the test instead of init, which reaps them with it. */
static void adopt_orphans(void)
{
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

static void reap_orphans(void)
{
    while (waitpid(-1, NULL, __WALL) > 0)
        ;
}

static void wait_for_death(int pidfd)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};

    ck_assert_int_eq(poll(&poll_fd, 1, 60000), 1);
}

static volatile sig_atomic_t n_sigchld;

static void on_sigchld(int number)
{
    n_sigchld++;
}

TEST(the_host_gets_a_socket_a_name_and_nothing_else)
{
    size_t n_fds = count_fds();
    int fd = -1, pidfd = -1, open_fd = open("/dev/null", O_RDONLY); /* stays open over exec */
    sigset_t set, mask;
    char text[256] = "";

    adopt_orphans();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR1, SIG_IGN);
    ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "a-driver", &fd, &pidfd), 0);
    ck_assert_int_gt(recv(fd, text, sizeof(text) - 1, 0), 0);
    /* Standard three, the socket and what it reports over. */
    ck_assert_str_eq(text, "--fd 3 --report 4 -- a-driver fds=5 blocked=0 ignored=0");
    sigprocmask(SIG_SETMASK, NULL, &mask);
    ck_assert(sigismember(&mask, SIGUSR2));
    ck_assert(!sigismember(&mask, SIGUSR1));
    close(fd);
    wait_for_death(pidfd);
    close(pidfd);
    close(open_fd);
    ck_assert_uint_eq(count_fds(), n_fds);
    reap_orphans();
}
TEST_END

TEST(the_application_sees_no_child_and_no_sigchld)
{
    int fd = -1, pidfd = -1;

    signal(SIGCHLD, on_sigchld);
    ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "x", &fd, &pidfd), 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    close(fd);
    wait_for_death(pidfd);
    ck_assert_int_eq(n_sigchld, 0);
    close(pidfd);
}
TEST_END

TEST(a_program_that_cannot_be_started_is_an_error)
{
    size_t n_fds = count_fds();
    int fd = -1, pidfd = -1;

    adopt_orphans();
    ck_assert_int_eq(nn_child_spawn("/nonexistent", "x", &fd, &pidfd), -ENOENT);
    ck_assert_int_eq(nn_child_spawn("/tmp", "x", &fd, &pidfd), -EACCES);
    ck_assert_int_eq(fd, -1);
    ck_assert_uint_eq(count_fds(), n_fds);
    reap_orphans();
}
TEST_END

static void *spawn_some(void *argument)
{
    for (size_t i = 0; i < 5; i++) {
        int fd = -1, pidfd = -1;
        char byte[256];

        ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "x", &fd, &pidfd), 0);
        ck_assert_int_gt(recv(fd, byte, sizeof(byte), 0), 0);
        close(fd);
        wait_for_death(pidfd);
        close(pidfd);
    }
    return NULL;
}

TEST(threads_spawn_at_once)
{
    size_t n_fds = count_fds();
    pthread_t threads[3];

#ifdef __SANITIZE_THREAD__
    return; /* it takes the descriptors of the cloned process for this one's */
#endif

    adopt_orphans();
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, spawn_some, NULL);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(count_fds(), n_fds);
    reap_orphans();
}
TEST_END

TEST(whichever_call_fails_nothing_is_left)
{
    size_t n_fds = count_fds();

    adopt_orphans();
    for (long n = 1;; n++) {
        int fd = -1, pidfd = -1, r;
        bool is_done;

        nn_sys_fault_errno = ENOBUFS;
        nn_sys_fault = n;
        r = nn_child_spawn(getenv("NN_TEST_CHILD"), "x", &fd, &pidfd);
        is_done = nn_sys_fault > 0 && r == 0;
        nn_sys_fault = 0;
        closep(&fd);
        if (pidfd >= 0)
            wait_for_death(pidfd);
        closep(&pidfd);
        ck_assert_uint_eq(count_fds(), n_fds);
        if (is_done)
            break;
        ck_assert_int_lt(n, 100);
    }
    reap_orphans();
}
TEST_END

/* -- what a kernel lacks, and an application ------------------------------------------------- */

static const char wanted[] = "--fd 3 --report 4 -- x fds=5 blocked=0 ignored=0";

static void gets_the_usual(void)
{
    int fd = -1, pidfd = -1;
    char text[256] = "";

    ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "x", &fd, &pidfd), 0);
    ck_assert_int_gt(recv(fd, text, sizeof(text) - 1, 0), 0);
    ck_assert_str_eq(text, wanted);
    close(fd);
    wait_for_death(pidfd);
    close(pidfd);
}

TEST(without_close_range_the_host_gets_nothing_else_either)
{
    int open_fd = open("/dev/null", O_RDONLY); /* stays open over exec */

    ck_assert_int_ge(open_fd, 0);
    refuse_in_child((struct refusal){SYS_close_range, ENOSYS}, gets_the_usual);
    close(open_fd);
}
TEST_END

static void has_no_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    gets_the_usual();
}

TEST(an_application_may_have_closed_its_standard_streams)
{
    refuse_in_child((struct refusal){-1, 0}, has_no_standard_streams);
}
TEST_END

static void cannot_spawn(void)
{
    size_t n_fds = count_fds();
    int fd = -1, pidfd = -1;

    ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "x", &fd, &pidfd), -refused.error);
    ck_assert_int_eq(fd, -1);
    ck_assert_int_eq(pidfd, -1);
    ck_assert_uint_eq(count_fds(), n_fds);
}

TEST(a_process_that_cannot_be_made_is_an_error)
{
    static const struct refusal refusals[] = {
        {SYS_clone, EAGAIN}, {SYS_socketpair, EMFILE}, {SYS_execve, EACCES}, {SYS_dup3, EMFILE}};

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        refuse_in_child(refusals[i], cannot_spawn);
}
TEST_END

/* -- hosts that report what they should not ----------------------------------------------------- */

static void expect_killed(void)
{
    int status;
    pid_t pid = waitpid(-1, &status, __WALL);

    ck_assert_int_gt(pid, 0);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%#x", (unsigned)status);
}

TEST(a_host_that_reports_nonsense_is_an_error)
{
    static const struct {
        const char *name;
        int error;
    } cases[] = {{"fails", -ENODEV}, {"lacks-a-pidfd", -EIO}};
    size_t n_fds = count_fds();

    adopt_orphans();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = -1, pidfd = -1;

        ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), cases[i].name, &fd, &pidfd),
                         cases[i].error);
        ck_assert_int_eq(fd, -1);
        ck_assert_uint_eq(count_fds(), n_fds);
        reap_orphans();
    }
}
TEST_END

TEST(a_host_that_never_reports_is_waited_for_as_long_as_the_caller_may)
{
    size_t n_fds = count_fds();
    int fd = -1, pidfd = -1;

    adopt_orphans();
    nn_wait_limit_narrow(nn_sys_now_ns() + 300000000);
    ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "mute", &fd, &pidfd), -ETIMEDOUT);
    ck_assert_int_eq(fd, -1);
    expect_killed();
    nn_wait_limit_narrow(1);
    ck_assert_int_eq(nn_child_spawn(getenv("NN_TEST_CHILD"), "mute", &fd, &pidfd), -ETIMEDOUT);
    ck_assert_uint_eq(count_fds(), n_fds);
    reap_orphans();
}
TEST_END

TEST(a_report_that_cannot_be_sent_is_an_error)
{
    int pair[2];

    ck_assert_int_eq(nn_child_report(-1, -1), -EBADF);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    close(pair[1]);
    ck_assert_int_eq(nn_child_report(pair[0], -1), -EPIPE);
    close(pair[0]);
}
TEST_END

/* What the kernel does not end, as where a disk does not answer, keeps no application. */
TEST(the_end_of_a_process_is_waited_for_for_a_second)
{
    pid_t pid = fork();
    struct timespec begin, end;
    int pidfd;

    if (pid == 0)
        for (;;)
            pause();
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ck_assert_int_ge(pidfd, 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    nn_child_await(pidfd);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert_int_lt(end.tv_sec - begin.tv_sec, 30);
    ck_assert_int_eq(kill(pid, 0), 0);
    nn_child_kill(pidfd);
    nn_child_await(pidfd);
    ck_assert_int_eq(waitpid(pid, NULL, 0), -1); /* it was reaped */
    close(pidfd);
}
TEST_END

CHECK_MAIN("child", the_host_gets_a_socket_a_name_and_nothing_else,
           the_application_sees_no_child_and_no_sigchld,
           a_program_that_cannot_be_started_is_an_error, threads_spawn_at_once,
           whichever_call_fails_nothing_is_left,
           without_close_range_the_host_gets_nothing_else_either,
           an_application_may_have_closed_its_standard_streams,
           a_process_that_cannot_be_made_is_an_error, a_host_that_reports_nonsense_is_an_error,
           a_host_that_never_reports_is_waited_for_as_long_as_the_caller_may,
           a_report_that_cannot_be_sent_is_an_error,
           the_end_of_a_process_is_waited_for_for_a_second)
