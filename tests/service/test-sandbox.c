/* SPDX-License-Identifier: Apache-2.0 */
/* What a closed process can and cannot do. Says which of seccomp and Landlock
 * the kernel had; what it lacks is not asserted. */
#include "service/sandboxed.h"

#include "base/cleanup.h"
#include "base/sanitized.h"
#include "base/sys.h"
#include "service/landlock.h"
#include "service/namespaces.h"

#include "support/check-main.h"

#include <nnhal/service.h>

#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static const struct nn_grants no_grants;

static void *thread_main(void *argument)
{
    return argument;
}

static int work_goes_on(void)
{
    pthread_t thread;
    struct rlimit core;
    char name[16];
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
    EXPECT(prctl(PR_SET_NAME, "test-name", 0, 0, 0) == 0);
    EXPECT(prctl(PR_GET_NAME, name, 0, 0, 0) == 0 && strcmp(name, "test-name") == 0);
    EXPECT(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0);
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || errno == EPERM);
    return 0;
}

TEST(what_a_service_does_goes_on)
{
    struct nn_sandbox_options options = {.grants = &no_grants};

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
    struct nn_sandbox_options options = {.grants = &no_grants};

    lay_sandbox_folder();
    in_sandbox(&options, files_are_refused);
    in_sandbox(&options, sockets_are_refused);
    in_sandbox(&options, processes_are_refused);
    remove_sandbox_folder();
}
TEST_END

/* Each bit is one way out that is open. A mended process is refused before it changes anything. */
#define OPEN_WAY(condition) (open_ways |= (condition) ? 1UL << n_tried : 0, n_tried++)
#define UPPER               (UINT64_C(1) << 32) /* in the half of a register that no int has */
enum { NO_SUCH_GROUP = 0x3ffffff0, NO_SUCH_USER = 0x3ffffff0 };

static pid_t neighbor; /* of the same user, without privileges, as an application is */

static bool pair_is_there(uint64_t family, uint64_t type)
{
    int fds[2];
    long r = syscall(SYS_socketpair, family, type, 0, fds);

    if (r == 0) {
        close(fds[0]);
        close(fds[1]);
    }
    return r == 0;
}

static unsigned long try_descriptors(void)
{
    unsigned long open_ways = 0;
    int n_tried = 0, pair[2], number = 0;
    struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = getppid()};
    struct ifconf list = {0};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return 1;
    OPEN_WAY(pair_is_there(AF_UNIX, SOCK_DGRAM));
    OPEN_WAY(pair_is_there(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK));
    OPEN_WAY(pair_is_there(AF_UNIX, SOCK_RAW));
    OPEN_WAY(pair_is_there(AF_UNIX | UPPER, SOCK_DGRAM | UPPER));
    OPEN_WAY(!is_refused(syscall(SYS_ioctl, pair[0], TIOCSTI, "x")));
    OPEN_WAY(!is_refused(syscall(SYS_ioctl, pair[0], TIOCSTI | UPPER, "x")));
    OPEN_WAY(!is_refused(syscall(SYS_ioctl, pair[0], TIOCLINUX, "x")));
    number = getppid();
    OPEN_WAY(!is_refused(syscall(SYS_ioctl, pair[0], FIOSETOWN, &number)));
    OPEN_WAY(!is_refused(syscall(SYS_ioctl, pair[0], SIOCSPGRP | UPPER, &number)));
    OPEN_WAY(!is_refused(ioctl(pair[0], SIOCGIFCONF, &list)));
    OPEN_WAY(!is_refused(fcntl(pair[0], F_SETOWN, getppid())));
    OPEN_WAY(!is_refused(fcntl(pair[0], F_SETOWN_EX, &owner)));
    OPEN_WAY(!is_refused(fcntl(pair[0], F_SETSIG, SIGKILL)));
    OPEN_WAY(!is_refused(syscall(SYS_fcntl, pair[0], F_SETSIG | UPPER, SIGKILL)));
    return open_ways;
}

static unsigned long try_processes(void)
{
    const pid_t other = neighbor;
    const struct sched_param param = {0};
    unsigned long open_ways = 0, cpus[128];
    int n_tried = 0;
    struct rlimit limit;
    struct {
        uint32_t size, policy;
        uint64_t rest[6];
    } attr = {.size = 48};

    OPEN_WAY(!is_refused(prlimit(other, RLIMIT_CORE, NULL, &limit)));
    OPEN_WAY(!is_refused(syscall(SYS_prlimit64, other | UPPER, RLIMIT_CORE, NULL, &limit)));
    OPEN_WAY(!is_refused(setpriority(PRIO_PROCESS, (id_t)other, 19)));
    OPEN_WAY(!is_refused(setpriority(PRIO_PGRP, NO_SUCH_GROUP, 19)));
    OPEN_WAY(!is_refused(setpriority(PRIO_USER, NO_SUCH_USER, 19)));
    memset(cpus, 0xff, sizeof(cpus));
    OPEN_WAY(!is_refused(syscall(SYS_sched_setaffinity, other, sizeof(cpus), cpus)));
    OPEN_WAY(!is_refused(sched_setscheduler(other, SCHED_OTHER, &param)));
    OPEN_WAY(!is_refused(sched_setparam(other, &param)));
    OPEN_WAY(!is_refused(syscall(SYS_sched_setattr, other, &attr, 0)));
    OPEN_WAY(!is_refused(syscall(SYS_ioprio_set, 1, other, 0)));
    OPEN_WAY(!is_refused(kill(other, 0)));
    OPEN_WAY(!is_refused(kill(0, 0)));
    OPEN_WAY(!is_refused(kill(-1, 0)));
    OPEN_WAY(!is_refused(syscall(SYS_tkill, other, 0)));
    OPEN_WAY(!is_refused(syscall(SYS_tgkill, other, other, 0)));
    OPEN_WAY(!is_refused(syscall(SYS_tgkill, other | UPPER, other, 0)));
    return open_ways;
}

static void *try_all(void *argument)
{
    unsigned long *open_ways = argument;

    open_ways[0] = try_descriptors();
    open_ways[1] = try_processes();
    return NULL;
}

static int no_way_is_open(void)
{
    unsigned long ways[4] = {0}; /* of this thread, of another */
    unsigned long cpus[128];
    struct rlimit limit;
    pthread_t thread;

    if (!report.has_seccomp)
        return 0;
    try_all(ways);
    EXPECT(pthread_create(&thread, NULL, try_all, &ways[2]) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    if (ways[0] | ways[1] | ways[2] | ways[3])
        printf("open: descriptors %#lx and %#lx, processes %#lx and %#lx\n", ways[0], ways[2],
               ways[1], ways[3]);
    fflush(stdout);
    EXPECT((ways[0] | ways[1] | ways[2] | ways[3]) == 0);
    /* What OpenBLAS and Mesa do to themselves goes on. */
    EXPECT(getrlimit(RLIMIT_STACK, &limit) == 0);
    EXPECT(prlimit(getpid(), RLIMIT_STACK, NULL, &limit) == 0);
    memset(cpus, 0xff, sizeof(cpus));
    EXPECT(syscall(SYS_sched_setaffinity, 0, sizeof(cpus), cpus) == 0);
    EXPECT(setpriority(PRIO_PROCESS, 0, 19) == 0);
    EXPECT(kill(getpid(), 0) == 0);
    EXPECT(pair_is_there(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK));
    return 0;
}

static void *wait_for_end(void *argument)
{
    pthread_mutex_lock(argument);
    return NULL;
}

/* What pthread_setaffinity_np() of another thread does: no process but this has a number here. */
static int threads_may_be_named(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cpu_set_t cpus;
    pthread_t thread;

    if (!report.has_seccomp)
        return 0;
    pthread_mutex_lock(&lock);
    EXPECT(pthread_create(&thread, NULL, wait_for_end, &lock) == 0);
    EXPECT(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
    EXPECT(pthread_setaffinity_np(thread, sizeof(cpus), &cpus) == 0);
    pthread_mutex_unlock(&lock);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(is_refused(setpriority(PRIO_PGRP, NO_SUCH_GROUP, 19)));
    EXPECT(is_refused(kill(-1, 0)));
    return 0;
}

TEST(threads_of_a_process_that_is_alone_may_be_named)
{
    struct nn_sandbox_options options = {.grants = &no_grants, .has_namespaces = true};
    struct nn_namespaces namespaces;
    int status, r = nn_namespaces_fork(&namespaces);

    ck_assert_int_ge(r, 0);
    if (r == 0) {
        if (!namespaces.are_own)
            _exit(0);
        if (nn_sandbox_close(&options, &report) != 0)
            _exit(255);
        _exit(threads_may_be_named());
    }
    ck_assert_int_eq(waitpid(namespaces.pid, &status, 0), namespaces.pid);
    ck_assert_int_eq(status, 0);
}
TEST_END

static pid_t start_neighbor(void)
{
    struct nn_sandbox_options options = {.grants = &no_grants};
    int ready[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (nn_sandbox_close(&options, &report) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Also where a driver declares the calls. */
TEST(no_other_process_is_reached)
{
    static const char *const calls[] = {"socketpair", "prlimit64",        "setpriority",
                                        "kill",       "tgkill",           "ioctl",
                                        "fcntl",      "sched_setaffinity"};
    struct nn_grants grants = {.n_calls = NN_N_ELEMENTS(calls)};
    struct nn_sandbox_options options = {.grants = &no_grants};

    neighbor = start_neighbor();
    in_sandbox(&options, no_way_is_open);
    memcpy(grants.calls, calls, sizeof(calls));
    options.grants = &grants;
    in_sandbox(&options, no_way_is_open);
    ck_assert_int_eq(kill(neighbor, SIGKILL), 0);
    ck_assert_int_eq(waitpid(neighbor, NULL, 0), neighbor);
}
TEST_END

static int declared_things_work(void)
{
    int fd;

    if (report.landlock_version > 0) {
        fd = open("/dev/zero", O_RDWR);
        EXPECT(fd >= 0);
        EXPECT(is_refused(open("/dev/null", O_RDWR)));
        EXPECT(open("/etc/passwd", O_RDONLY) >= 0);
        EXPECT(is_refused(open("/etc/passwd", O_RDWR)));
    }
    EXPECT(syscall(SYS_sched_setaffinity, 0, 0, NULL) < 0 && errno != EPERM);
    EXPECT(setpriority(PRIO_PROCESS, 0, 19) == 0); /* a lower one needs privileges */
    return 0;
}

TEST(what_the_driver_declared_is_there)
{
    const struct nn_grants grants = {
        .n_paths = 2,
        .paths = {{"/dev/zero", NN_GRANT_DEVICE}, {"/etc/passwd", NN_GRANT_READ}},
        .n_calls = 2,
        .calls = {"setpriority", "futex"},
    };
    struct nn_sandbox_options options = {.grants = &grants};

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
    struct nn_sandbox_options options = {.grants = &no_grants, .user = "nobody"};

    if (geteuid() == 0)
        in_sandbox(&options, has_no_privileges);
    options.user = "no such user";
    if (geteuid() == 0)
        expect_refused(&options, -ENOENT);
}
TEST_END

TEST(a_declaration_that_cannot_be_met_is_an_error)
{
    struct nn_grants grants = {.n_paths = 1, .paths = {{"/dev/no-such-node", NN_GRANT_DEVICE}}};
    struct nn_sandbox_options options = {.grants = &grants};

    if (nn_landlock_version() > 0)
        expect_refused(&options, -ENOENT);
    grants = (struct nn_grants){.n_calls = 1, .calls = {"no_such_call"}};
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
        expect_refused(&options, -EINVAL);
    grants.calls[0] = "socketcall"; /* of machines with 32 bits */
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
        expect_refused(&options, -EINVAL);
}
TEST_END

static int tell(void)
{
    printf("the kernel has seccomp: %s, Landlock: version %d\n", report.has_seccomp ? "yes" : "no",
           report.landlock_version);
    fflush(stdout);
    return 0;
}

static int a_later_version(void)
{
    return 1000;
}

/* The kernel refuses rules with rights that it does not know. */
TEST(no_version_is_taken_for_a_later_one)
{
    static const struct nn_sys_fakes fakes = {.landlock_version = a_later_version};
    const int had = nn_landlock_version();

    nn_sys_fakes = &fakes;
    ck_assert_int_eq(nn_landlock_version(), had);
    nn_sys_fakes = NULL;
}
TEST_END

static int no_version(void)
{
    return 0;
}

/* What a service prints until its driver turns out not to be there. */
static void start_without_driver(const struct nn_sys_fakes *fakes, FILE *log)
{
    const struct nnhal_serve_options options = {
        .size = sizeof(options),
        .driver = "/nonexistent/driver.so",
        .socket_path = "/nonexistent/socket",
        .user = "nobody",
    };
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        dup2(fileno(log), STDERR_FILENO);
        nn_sys_fakes = fakes;
        _exit(nnhal_serve(&options));
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

TEST(a_service_warns_of_each_wall_that_is_missing)
{
    static const struct nn_sys_fakes fakes[] = {
        {.has_no_namespaces = true}, {.landlock_version = no_version}, {.has_no_seccomp = true}};
    static const char *const warnings[] = {
        "warning: the driver's process has no root of its own: the kernel, or its settings, refuse",
        "warning: the driver's process is without Landlock: the kernel has none",
        "warning: the driver's process is without seccomp: the kernel has none",
    };

    for (size_t i = 0; i < NN_N_ELEMENTS(fakes) && !NN_IS_SANITIZED; i++) {
        char text[4096] = "";
        FILE *log = tmpfile();

        ck_assert_ptr_nonnull(log);
        start_without_driver(&fakes[i], log);
        rewind(log);
        fread(text, 1, sizeof(text) - 1, log);
        ck_assert_msg(strstr(text, warnings[i]), "%s is not in: %s", warnings[i], text);
        fclose(log);
    }
}
TEST_END

TEST(it_tells_what_the_kernel_had)
{
    struct nn_sandbox_options options = {.grants = &no_grants};

    in_sandbox(&options, tell);
}
TEST_END

CHECK_MAIN("sandbox", what_a_service_does_goes_on, what_no_driver_declared_is_refused,
           no_other_process_is_reached, threads_of_a_process_that_is_alone_may_be_named,
           what_the_driver_declared_is_there, root_becomes_somebody_else,
           a_declaration_that_cannot_be_met_is_an_error, no_version_is_taken_for_a_later_one,
           a_service_warns_of_each_wall_that_is_missing, it_tells_what_the_kernel_had)
