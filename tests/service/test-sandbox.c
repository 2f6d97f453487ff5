/* SPDX-License-Identifier: Apache-2.0 */
/* What a closed process can and cannot do. Says which of seccomp and Landlock
 * the kernel had; what it lacks is not asserted. */
#include "service/sandbox.h"

#include "base/cleanup.h"
#include "service/landlock.h"

#include "support/check-main.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct nn_sandbox_report report;
static char folder[64];

static const char *at(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* Runs body in a process of its own behind the sandbox; its result is 0 or the
 * number of the line that was not as expected. */
static void in_sandbox(const struct nn_sandbox_options *options, int (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (nn_sandbox_close(options, &report) != 0)
            _exit(255);
        _exit(body());
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "line %d, signal %d", WEXITSTATUS(status), WTERMSIG(status));
}

/* Lines are below 255 here. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__ % 255;                                                                 \
    } while (0)

static bool is_refused(long r)
{
    bool refused = r < 0 && (errno == EPERM || errno == EACCES);

    if (r >= 0)
        close((int)r);
    return refused;
}

static void *thread_main(void *argument)
{
    return argument;
}

static int work_goes_on(void)
{
    pthread_t thread;
    void *memory;
    int fds[2], fd;

    EXPECT(pthread_create(&thread, NULL, thread_main, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    fd = memfd_create("test-sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT(fd >= 0 && ftruncate(fd, 4096) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(memory != MAP_FAILED);
    EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
    EXPECT(send(fds[0], "x", 1, 0) == 1);
    EXPECT(recv(fds[1], memory, 1, 0) == 1);
    EXPECT(sysconf(_SC_NPROCESSORS_ONLN) > 0);
    free(malloc(1 << 24));
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || errno == EPERM);
    return 0;
}

TEST(what_a_service_does_goes_on)
{
    struct nn_sandbox_options options = {0};

    in_sandbox(&options, work_goes_on);
}
TEST_END

static int files_are_refused(void)
{
    if (report.landlock_version == 0 && !report.has_seccomp)
        return 0;
    EXPECT(is_refused(open("/etc/passwd", O_RDONLY)));
    EXPECT(is_refused(open("/dev/null", O_RDWR)));
    EXPECT(is_refused(open("/tmp", O_RDONLY | O_DIRECTORY)));
    EXPECT(is_refused(open(at("undeclared"), O_RDWR | O_CREAT, 0600)));
    EXPECT(is_refused(unlink(at("there"))));
    if (!report.has_seccomp)
        return 0; /* Landlock has no say in what follows */
    EXPECT(is_refused(chmod(at("there"), 0644)));
    EXPECT(is_refused(fchmod(STDERR_FILENO, 0600)));
    EXPECT(is_refused(utimensat(AT_FDCWD, at("there"), NULL, 0)));
    return 0;
}

static int sockets_are_refused(void)
{
    if (!report.has_seccomp)
        return 0;
    EXPECT(is_refused(socket(AF_INET, SOCK_STREAM, 0)));
    EXPECT(is_refused(socket(AF_INET6, SOCK_DGRAM, 0)));
    EXPECT(is_refused(socket(AF_UNIX, SOCK_STREAM, 0)));
    EXPECT(is_refused(socket(AF_NETLINK, SOCK_RAW, 0)));
    return 0;
}

static int processes_are_refused(void)
{
    char *const arguments[] = {(char *)"true", NULL};

    if (!report.has_seccomp)
        return 0;
    EXPECT(is_refused(fork()));
    EXPECT(is_refused(execv("/bin/true", arguments)));
    EXPECT(is_refused(kill(getppid(), 0)));
    EXPECT(is_refused(ptrace(PTRACE_ATTACH, getppid(), 0, 0)));
    EXPECT(is_refused(syscall(SYS_mount, "x", "/", "tmpfs", 0, 0)));
    EXPECT(is_refused(syscall(SYS_bpf, 0, 0, 0)));
    return 0;
}

TEST(what_no_driver_declared_is_refused)
{
    struct nn_sandbox_options options = {0};

    snprintf(folder, sizeof(folder), "/tmp/nnhal-test-sandbox-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    close(open(at("there"), O_CREAT | O_RDWR, 0600));
    in_sandbox(&options, files_are_refused);
    in_sandbox(&options, sockets_are_refused);
    in_sandbox(&options, processes_are_refused);
    ck_assert_int_eq(unlink(at("there")), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
TEST_END

static int declared_things_work(void)
{
    int fd;

    if (report.landlock_version > 0) {
        fd = open("/dev/zero", O_RDWR);
        EXPECT(fd >= 0);
        EXPECT(is_refused(open("/dev/null", O_RDWR)));
    }
    EXPECT(syscall(SYS_sched_setaffinity, 0, 0, NULL) < 0 && errno != EPERM);
    EXPECT(setpriority(PRIO_PROCESS, 0, 19) == 0); /* a lower one needs privileges */
    return 0;
}

TEST(what_the_driver_declared_is_there)
{
    static const char *const nodes[] = {"/dev/zero"};
    static const char *const calls[] = {"setpriority", "futex"};
    struct nnhal_sandbox driver = {
        .n_device_nodes = 1, .device_nodes = nodes, .n_system_calls = 2, .system_calls = calls};
    struct nn_sandbox_options options = {.driver = &driver};

    in_sandbox(&options, declared_things_work);
}
TEST_END

static int has_no_privileges(void)
{
    uid_t real, effective, saved;

    getresuid(&real, &effective, &saved);
    EXPECT(real == 65534 && effective == 65534 && saved == 65534);
    EXPECT(is_refused(setuid(0)));
    return 0;
}

TEST(root_becomes_somebody_else)
{
    struct nn_sandbox_options options = {.user = "nobody"};

    if (geteuid() == 0)
        in_sandbox(&options, has_no_privileges);
    options.user = "no such user";
    if (geteuid() == 0)
        ck_assert_int_eq(nn_sandbox_close(&options, &report), -ENOENT);
}
TEST_END

TEST(a_declaration_that_cannot_be_met_is_an_error)
{
    static const char *const missing[] = {"/dev/no-such-node"};
    static const char *const unknown[] = {"no_such_call"};
    struct nnhal_sandbox driver = {.n_device_nodes = 1, .device_nodes = missing};
    struct nn_sandbox_options options = {.driver = &driver};

    if (nn_landlock_version() > 0)
        ck_assert_int_eq(nn_sandbox_close(&options, &report), -ENOENT);
    driver = (struct nnhal_sandbox){.n_system_calls = 1, .system_calls = unknown};
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
        ck_assert_int_eq(nn_sandbox_close(&options, &report), -EINVAL);
}
TEST_END

static int tell(void)
{
    printf("the kernel has seccomp: %s, Landlock: version %d\n", report.has_seccomp ? "yes" : "no",
           report.landlock_version);
    fflush(stdout);
    return 0;
}

TEST(it_tells_what_the_kernel_had)
{
    struct nn_sandbox_options options = {0};

    in_sandbox(&options, tell);
}
TEST_END

CHECK_MAIN("sandbox", what_a_service_does_goes_on, what_no_driver_declared_is_refused,
           what_the_driver_declared_is_there, root_becomes_somebody_else,
           a_declaration_that_cannot_be_met_is_an_error, it_tells_what_the_kernel_had)
