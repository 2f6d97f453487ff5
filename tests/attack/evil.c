/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/evil.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/wireless.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define UPPER (UINT64_C(1) << 32) /* in the half of a register that no int has */
enum { NO_SUCH_GROUP = 0x3ffffff0, NO_SUCH_USER = 0x3ffffff0 };

struct way {
    const char *name;
    bool (*is_open)(void);
};

/* -- helpers --------------------------------------------------------------------------------- */

/* A call that is refused has one of these errors; with any other one it was looked at. */
static bool passes(long r)
{
    return r >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS);
}

/* Also refused where the other process has no number. */
static bool sets(long r)
{
    return r >= 0 || (passes(r) && errno != ESRCH);
}

static bool opens(int fd)
{
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Whether the module of this driver, which the test names, lies below the entry. */
static bool leads_here(const char *folder, const char *entry)
{
    const char *module = getenv("NN_TEST_EVIL");
    char begin[300];
    int n = snprintf(begin, sizeof(begin), "%s/%s/", folder, entry);

    return module && strncmp(module, begin, (size_t)n) == 0;
}

/* Whether a folder shows anything. Where the tree itself lies below it, a root of its own has it for the
 * way to the driver, with nothing else inside. */
static bool shows(const char *folder)
{
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    bool is_way = false, is_open = false;

    if (!stream)
        return false;
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (leads_here(folder, entry->d_name))
            is_way = true;
        else
            is_open = true;
    }
    closedir(stream);
    return is_open || !is_way;
}

static pid_t target(void)
{
    const char *number = getenv("EVIL_PID");

    return number ? atoi(number) : 1;
}

static const char *in_folder(const char *name)
{
    static __thread char path[100];
    const char *folder = getenv("EVIL_FOLDER");

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "/tmp", name);
    return path;
}

static int any_pair(void)
{
    static __thread int pair[2];

    if (pair[0] == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    return pair[0];
}

#define WAY(function, expression)                                                                  \
    static bool function(void)                                                                     \
    {                                                                                              \
        return (expression);                                                                       \
    }
#define OPENS(function, path, flags) WAY(function, opens(open(path, (flags) | O_CLOEXEC, 0600)))
#define PASSES(function, call)       WAY(function, passes(call))
#define CALL(function, ...)          WAY(function, passes(syscall(__VA_ARGS__)))
#define SETTING(function, ...)       WAY(function, sets(syscall(__VA_ARGS__)))

/* -- files -------------------------------------------------------------------------------------- */

OPENS(file_passwd, "/etc/passwd", O_RDONLY)
OPENS(file_shadow, "/etc/shadow", O_RDONLY)
OPENS(file_hosts, "/etc/hostname", O_RDONLY)
OPENS(file_secret, in_folder("secret"), O_RDONLY)
OPENS(file_secret_write, in_folder("secret"), O_RDWR)
OPENS(file_create, in_folder("new"), O_CREAT | O_RDWR)
OPENS(file_tmpfile, "/tmp", O_TMPFILE | O_RDWR)
OPENS(file_shm, "/dev/shm/evil", O_CREAT | O_RDWR)
WAY(file_tmp_folder, shows("/tmp"))
WAY(file_home, shows("/root"))
OPENS(file_root_write, "/evil", O_CREAT | O_RDWR)
OPENS(file_library_write, "/usr/lib/evil", O_CREAT | O_RDWR)
OPENS(file_null, "/dev/null", O_RDWR)
OPENS(file_zero, "/dev/zero", O_RDONLY)
OPENS(file_mem, "/dev/mem", O_RDONLY)
OPENS(file_tty, "/dev/tty", O_RDWR)
OPENS(file_ptmx, "/dev/ptmx", O_RDWR | O_NOCTTY)
OPENS(file_fuse, "/dev/fuse", O_RDWR)
OPENS(file_kmsg, "/dev/kmsg", O_RDONLY)
OPENS(proc_mem, "/proc/self/mem", O_RDWR)
OPENS(proc_environ, "/proc/1/environ", O_RDONLY)
OPENS(proc_net, "/proc/self/net/tcp", O_RDONLY)
OPENS(proc_mounts, "/proc/self/mountinfo", O_RDONLY)
OPENS(proc_oom, "/proc/self/oom_score_adj", O_RDWR)
OPENS(sys_kernel, "/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY)
OPENS(cgroup_procs, "/sys/fs/cgroup/cgroup.procs", O_RDWR)

static bool proc_of_target(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)target());
    return opens(open(path, O_RDONLY | O_CLOEXEC));
}

/* A descriptor that may only be read, opened anew through its name. */
static bool reopen_memfd(void)
{
    char path[64];
    int fd = memfd_create("evil", MFD_CLOEXEC);
    bool is_open;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    is_open = opens(open(path, O_RDWR | O_CLOEXEC));
    close(fd);
    return is_open;
}

static bool stat_path(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

WAY(see_stat, stat_path("/etc/passwd"))
WAY(see_stat_folder, stat_path(in_folder("secret")))
WAY(see_access, access("/etc/passwd", F_OK) == 0)
WAY(see_readlink, readlink("/proc/self/exe", (char[64]){0}, 64) > 0)
WAY(see_statfs, statfs("/etc/passwd", &(struct statfs){0}) == 0)
WAY(file_unlink, unlink(in_folder("secret")) == 0)
WAY(file_rename, rename(in_folder("secret"), in_folder("secret")) == 0)
WAY(file_mkdir, mkdir(in_folder("evil"), 0700) == 0)
WAY(file_rmdir, rmdir(in_folder("empty")) == 0)
PASSES(file_symlink, symlink("x", in_folder("link")))
PASSES(file_link, link(in_folder("secret"), in_folder("link2")))
PASSES(file_mknod, mknod(in_folder("fifo"), S_IFIFO | 0600, 0))
PASSES(file_chmod, chmod(in_folder("secret"), 0644))
PASSES(file_fchmod, fchmod(STDERR_FILENO, 0600))
PASSES(file_chown, chown(in_folder("secret"), (uid_t)-1, (gid_t)-1))
PASSES(file_utimens, utimensat(AT_FDCWD, in_folder("secret"), NULL, 0))
PASSES(file_truncate, truncate(in_folder("secret"), 0))
PASSES(file_setxattr, setxattr(in_folder("secret"), "user.evil", "", 0, 0))
CALL(file_openat2, SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0)
CALL(file_handle, SYS_open_by_handle_at, -1, NULL, 0)
CALL(file_handle_name, SYS_name_to_handle_at, AT_FDCWD, "/", NULL, NULL, 0)
PASSES(file_chroot, chroot("/"))
PASSES(file_chdir, chdir("/"))
CALL(file_inotify, SYS_inotify_init1, -1)
CALL(file_fanotify, SYS_fanotify_init, -1, 0)

/* -- sockets -------------------------------------------------------------------------------------- */

WAY(socket_inet, opens(socket(AF_INET, SOCK_STREAM, 0)))
WAY(socket_inet_packets, opens(socket(AF_INET, SOCK_DGRAM, 0)))
WAY(socket_inet6, opens(socket(AF_INET6, SOCK_STREAM, 0)))
WAY(socket_unix, opens(socket(AF_UNIX, SOCK_STREAM, 0)))
WAY(socket_unix_packets, opens(socket(AF_UNIX, SOCK_DGRAM, 0)))
WAY(socket_unix_seqpacket, opens(socket(AF_UNIX, SOCK_SEQPACKET, 0)))
WAY(socket_netlink, opens(socket(AF_NETLINK, SOCK_RAW, 0)))
WAY(socket_packet, opens(socket(AF_PACKET, SOCK_RAW, 0)))
WAY(socket_alg, opens(socket(AF_ALG, SOCK_SEQPACKET, 0)))
WAY(socket_vsock, opens(socket(AF_VSOCK, SOCK_STREAM, 0)))
CALL(socket_upper, SYS_socket, AF_UNIX | UPPER, SOCK_STREAM | UPPER, 0)
CALL(socket_bind, SYS_bind, any_pair(), NULL, 0)
CALL(socket_connect, SYS_connect, any_pair(), NULL, 0)
CALL(socket_listen, SYS_listen, any_pair(), 1)
CALL(io_uring, SYS_io_uring_setup, 0, NULL)

/* Addresses of the machine, for which any socket can be asked, those that were passed to the process
 * too. */
static bool net_addresses(void)
{
    struct ifreq addresses[8];
    bool is_open = false;

    any_pair();
    for (int fd = 0; fd < 64; fd++) {
        struct ifconf list = {.ifc_len = sizeof(addresses), .ifc_req = addresses};

        is_open |= ioctl(fd, SIOCGIFCONF, &list) == 0;
    }
    return is_open;
}

/* The name of an interface, by its number. */
static bool net_interface(void)
{
    char name[IFNAMSIZ];
    socklen_t n_bytes = sizeof(name);
    const int number = 1;
    bool is_open = false;

    any_pair();
    for (int fd = 0; fd < 64; fd++)
        is_open |= setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &number, sizeof(number)) == 0 &&
                   getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &n_bytes) == 0;
    return is_open;
}

/* What drivers of wireless networks are asked: they answer any socket, where there are some. */
static bool net_wireless(void)
{
    struct iwreq request = {.ifr_name = "lo"};

    return ioctl(any_pair(), SIOCGIWNAME, &request) == 0 || errno != EPERM;
}

static bool pair_reaches(uint64_t type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int pair[2];
    bool is_open;

    if (syscall(SYS_socketpair, (uint64_t)AF_UNIX, type, UINT64_C(0), pair) < 0)
        return false;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_folder("socket"));
    is_open = sendto(pair[0], "x", 1, MSG_DONTWAIT, (const struct sockaddr *)&address,
                     sizeof(address)) == 1 ||
              errno != EISCONN;
    close(pair[0]);
    close(pair[1]);
    return is_open;
}

WAY(pair_packets, pair_reaches(SOCK_DGRAM))
WAY(pair_packets_flags, pair_reaches(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK))
WAY(pair_packets_upper, pair_reaches(SOCK_DGRAM | UPPER))
WAY(pair_raw, pair_reaches(SOCK_RAW))

/* Streams and packets do not look at an address, or refuse one. */
static bool stream_to_path(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_folder("socket"));
    return sendto(any_pair(), "x", 1, MSG_DONTWAIT, (const struct sockaddr *)&address,
                  sizeof(address)) >= 0;
}

/* -- processes ------------------------------------------------------------------------------------- */

static bool makes_process(long pid)
{
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, __WALL);
    return pid > 0;
}

/* Machines that came later have no such call. */
#ifdef SYS_fork
#define FORK() syscall(SYS_fork)
#else
#define FORK() fork()
#endif

WAY(process_fork, makes_process(FORK()))
WAY(process_clone, makes_process(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)))
CALL(process_clone3, SYS_clone3, NULL, 0)
CALL(process_exec, SYS_execve, NULL, NULL, NULL)
CALL(process_exec_memfd, SYS_execveat, -1, "", NULL, NULL, AT_EMPTY_PATH)
CALL(signal_kill, SYS_kill, target(), 0)
CALL(signal_kill_upper, SYS_kill, (uint64_t)target() | UPPER, 0)
CALL(signal_group, SYS_kill, 0, 0)
CALL(signal_all, SYS_kill, -1, 0)
CALL(signal_tkill, SYS_tkill, target(), 0)
CALL(signal_tgkill, SYS_tgkill, target(), target(), 0)
CALL(signal_queue, SYS_rt_sigqueueinfo, target(), 0, NULL)
CALL(signal_queue_thread, SYS_rt_tgsigqueueinfo, target(), target(), 0, NULL)
CALL(signal_pidfd, SYS_pidfd_send_signal, -1, 0, NULL, 0)
CALL(process_getfd, SYS_pidfd_getfd, -1, 0, 0)
CALL(process_ptrace, SYS_ptrace, PTRACE_SEIZE, target(), 0, 0)
CALL(process_read, SYS_process_vm_readv, target(), NULL, 0, NULL, 0, 0)
CALL(process_write, SYS_process_vm_writev, target(), NULL, 0, NULL, 0, 0)
CALL(process_advise, SYS_process_madvise, -1, NULL, 0, 0, 0)
CALL(process_kcmp, SYS_kcmp, target(), target(), 0, 0, 0)
SETTING(process_limit, SYS_prlimit64, target(), RLIMIT_CORE, NULL, NULL)
SETTING(process_limit_upper, SYS_prlimit64, (uint64_t)target() | UPPER, RLIMIT_CORE, NULL, NULL)
SETTING(process_nice, SYS_setpriority, PRIO_PROCESS, target(), 19)
CALL(process_nice_group, SYS_setpriority, PRIO_PGRP, NO_SUCH_GROUP, 19)
CALL(process_nice_user, SYS_setpriority, PRIO_USER, NO_SUCH_USER, 19)
SETTING(process_affinity, SYS_sched_setaffinity, target(), 0, NULL)
CALL(process_scheduler, SYS_sched_setscheduler, target(), 0, NULL)
CALL(process_param, SYS_sched_setparam, target(), NULL)
CALL(process_attr, SYS_sched_setattr, target(), NULL, 0)
CALL(process_ioprio, SYS_ioprio_set, 1, target(), 0)
CALL(process_migrate, SYS_migrate_pages, target(), 0, NULL, NULL)
CALL(process_setpgid, SYS_setpgid, 0, 0)
CALL(process_setsid, SYS_setsid)

/* A pidfd shows only that there is such a process; without namespaces there is. */
WAY(see_pidfd, opens((int)syscall(SYS_pidfd_open, target(), 0)))

/* -- descriptors ------------------------------------------------------------------------------------- */

static int owner_number;

CALL(fd_setown, SYS_fcntl, any_pair(), F_SETOWN, target())
CALL(fd_setown_upper, SYS_fcntl, any_pair(), F_SETOWN | UPPER, target())
CALL(fd_setown_ex, SYS_fcntl, any_pair(), F_SETOWN_EX, NULL)
CALL(fd_setsig, SYS_fcntl, any_pair(), F_SETSIG, SIGKILL)
CALL(fd_sti, SYS_ioctl, STDERR_FILENO, TIOCSTI, "x")
CALL(fd_sti_upper, SYS_ioctl, STDERR_FILENO, TIOCSTI | UPPER, "x")
CALL(fd_linux, SYS_ioctl, STDERR_FILENO, TIOCLINUX, "x")
CALL(fd_fiosetown, SYS_ioctl, any_pair(), FIOSETOWN, &owner_number)
CALL(fd_siocspgrp, SYS_ioctl, any_pair(), SIOCSPGRP | UPPER, &owner_number)

/* -- the kernel -------------------------------------------------------------------------------------- */

CALL(kernel_unshare, SYS_unshare, CLONE_NEWUSER)
CALL(kernel_setns, SYS_setns, -1, 0)
CALL(kernel_mount, SYS_mount, NULL, NULL, NULL, 0, NULL)
CALL(kernel_umount, SYS_umount2, NULL, 0)
CALL(kernel_open_tree, SYS_open_tree, -1, NULL, 0)
CALL(kernel_fsopen, SYS_fsopen, NULL, 0)
CALL(kernel_pivot, SYS_pivot_root, NULL, NULL)
CALL(kernel_bpf, SYS_bpf, 0, NULL, 0)
CALL(kernel_perf, SYS_perf_event_open, NULL, 0, -1, -1, 0)
CALL(kernel_userfaultfd, SYS_userfaultfd, -1)
CALL(kernel_add_key, SYS_add_key, NULL, NULL, NULL, 0, 0)
CALL(kernel_keyctl, SYS_keyctl, -1, 0, 0, 0, 0)
CALL(kernel_module, SYS_init_module, NULL, 0, NULL)
CALL(kernel_kexec, SYS_kexec_load, 0, 0, NULL, -1)
CALL(kernel_reboot, SYS_reboot, 0, 0, 0, NULL)
CALL(kernel_syslog, SYS_syslog, -1, NULL, 0)
CALL(kernel_clock, SYS_clock_settime, -1, NULL)
CALL(kernel_adjtime, SYS_clock_adjtime, -1, NULL)
CALL(kernel_hostname, SYS_sethostname, NULL, -1)
CALL(kernel_personality, SYS_personality, 0xffffffff)
CALL(kernel_shm, SYS_shmget, 1, -1, 0)
CALL(kernel_msg, SYS_msgget, 1, 0)
CALL(kernel_sem, SYS_semget, 1, -1, 0)
CALL(kernel_mq, SYS_mq_open, NULL, 0, 0, NULL)
CALL(kernel_swap, SYS_swapon, NULL, 0)
CALL(kernel_acct, SYS_acct, "/nonexistent")
CALL(kernel_vhangup, SYS_vhangup)

/* -- its own rights ---------------------------------------------------------------------------------- */

PASSES(right_setuid, setuid(0))
PASSES(right_setgid, setgid(0))
CALL(right_setgroups, SYS_setgroups, -1, NULL)
CALL(right_capset, SYS_capset, NULL, NULL)
PASSES(right_dumpable, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
PASSES(right_outlive, prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0))
PASSES(right_no_new_privs, prctl(PR_SET_MM, -1, 0, 0, 0))
WAY(right_core, setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) == 0)

static bool maps_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    munmap(page, 4096);
    return true;
}

static bool changes_to_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_open = page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;

    if (page != MAP_FAILED)
        munmap(page, 4096);
    return is_open;
}

/* -- all -------------------------------------------------------------------------------------------- */

#define NAMED(kind, function)                                                                      \
    {                                                                                              \
        kind #function, function                                                                   \
    }

static const struct way ways[] = {
    NAMED("path-", file_passwd),
    NAMED("path-", file_shadow),
    NAMED("path-", file_hosts),
    NAMED("path-", file_secret),
    NAMED("path-", file_secret_write),
    NAMED("path-", file_create),
    NAMED("path-", file_tmpfile),
    NAMED("path-", file_shm),
    NAMED("path-", file_tmp_folder),
    NAMED("path-", file_home),
    NAMED("path-", file_root_write),
    NAMED("path-", file_library_write),
    NAMED("path-", file_null),
    NAMED("path-", file_zero),
    NAMED("path-", file_mem),
    NAMED("path-", file_tty),
    NAMED("path-", file_ptmx),
    NAMED("path-", file_fuse),
    NAMED("path-", file_kmsg),
    NAMED("path-", proc_mem),
    NAMED("path-", proc_environ),
    NAMED("path-", proc_net),
    NAMED("path-", proc_mounts),
    NAMED("path-", proc_oom),
    NAMED("path-", sys_kernel),
    NAMED("path-", cgroup_procs),
    NAMED("path-", proc_of_target),
    NAMED("root-", reopen_memfd),
    NAMED("root-", see_stat),
    NAMED("root-", see_stat_folder),
    NAMED("root-", see_access),
    NAMED("root-", see_readlink),
    NAMED("root-", see_statfs),
    NAMED("path-", file_unlink),
    NAMED("path-", file_rename),
    NAMED("path-", file_mkdir),
    NAMED("path-", file_rmdir),
    NAMED("", file_symlink),
    NAMED("", file_link),
    NAMED("", file_mknod),
    NAMED("", file_chmod),
    NAMED("", file_fchmod),
    NAMED("", file_chown),
    NAMED("", file_utimens),
    NAMED("", file_truncate),
    NAMED("", file_setxattr),
    NAMED("", file_openat2),
    NAMED("", file_handle),
    NAMED("", file_handle_name),
    NAMED("", file_chroot),
    NAMED("", file_chdir),
    NAMED("", file_inotify),
    NAMED("", file_fanotify),
    NAMED("", socket_inet),
    NAMED("", socket_inet_packets),
    NAMED("", socket_inet6),
    NAMED("", socket_unix),
    NAMED("", socket_unix_packets),
    NAMED("", socket_unix_seqpacket),
    NAMED("", socket_netlink),
    NAMED("", socket_packet),
    NAMED("", socket_alg),
    NAMED("", socket_vsock),
    NAMED("", socket_upper),
    NAMED("", socket_bind),
    NAMED("", socket_connect),
    NAMED("", socket_listen),
    NAMED("", io_uring),
    NAMED("", net_addresses),
    NAMED("", net_interface),
    NAMED("", net_wireless),
    NAMED("", pair_packets),
    NAMED("", pair_packets_flags),
    NAMED("", pair_packets_upper),
    NAMED("", pair_raw),
    NAMED("", stream_to_path),
    NAMED("", process_fork),
    NAMED("", process_clone),
    NAMED("", process_clone3),
    NAMED("", process_exec),
    NAMED("", process_exec_memfd),
    NAMED("", signal_kill),
    NAMED("", signal_kill_upper),
    NAMED("", signal_group),
    NAMED("", signal_all),
    NAMED("", signal_tkill),
    NAMED("", signal_tgkill),
    NAMED("", signal_queue),
    NAMED("", signal_queue_thread),
    NAMED("", signal_pidfd),
    NAMED("", process_getfd),
    NAMED("", process_ptrace),
    NAMED("", process_read),
    NAMED("", process_write),
    NAMED("", process_advise),
    NAMED("", process_kcmp),
    NAMED("", process_limit),
    NAMED("", process_limit_upper),
    NAMED("", process_nice),
    NAMED("", process_nice_group),
    NAMED("", process_nice_user),
    NAMED("", process_affinity),
    NAMED("", process_scheduler),
    NAMED("", process_param),
    NAMED("", process_attr),
    NAMED("", process_ioprio),
    NAMED("", process_migrate),
    NAMED("", process_setpgid),
    NAMED("", process_setsid),
    NAMED("root-", see_pidfd),
    NAMED("", fd_setown),
    NAMED("", fd_setown_upper),
    NAMED("", fd_setown_ex),
    NAMED("", fd_setsig),
    NAMED("", fd_sti),
    NAMED("", fd_sti_upper),
    NAMED("", fd_linux),
    NAMED("", fd_fiosetown),
    NAMED("", fd_siocspgrp),
    NAMED("", kernel_unshare),
    NAMED("", kernel_setns),
    NAMED("", kernel_mount),
    NAMED("", kernel_umount),
    NAMED("", kernel_open_tree),
    NAMED("", kernel_fsopen),
    NAMED("", kernel_pivot),
    NAMED("", kernel_bpf),
    NAMED("", kernel_perf),
    NAMED("", kernel_userfaultfd),
    NAMED("", kernel_add_key),
    NAMED("", kernel_keyctl),
    NAMED("", kernel_module),
    NAMED("", kernel_kexec),
    NAMED("", kernel_reboot),
    NAMED("", kernel_syslog),
    NAMED("", kernel_clock),
    NAMED("", kernel_adjtime),
    NAMED("", kernel_hostname),
    NAMED("", kernel_personality),
    NAMED("", kernel_shm),
    NAMED("", kernel_msg),
    NAMED("", kernel_sem),
    NAMED("", kernel_mq),
    NAMED("", kernel_swap),
    NAMED("", kernel_acct),
    NAMED("", kernel_vhangup),
    NAMED("", right_setuid),
    NAMED("", right_setgid),
    NAMED("", right_setgroups),
    NAMED("", right_capset),
    NAMED("", right_dumpable),
    NAMED("", right_outlive),
    NAMED("", right_no_new_privs),
    NAMED("", right_core),
    NAMED("code-", maps_code),
    NAMED("code-", changes_to_code),
};

void evil_try_all(char *text, size_t n_text)
{
    size_t n_ways = sizeof(ways) / sizeof(ways[0]), n;

    n = (size_t)snprintf(text, n_text, "%zu tried; open:", n_ways);
    for (size_t i = 0; i < n_ways && n < n_text; i++)
        if (ways[i].is_open())
            n += (size_t)snprintf(text + n, n_text - n, " %s", ways[i].name);
}
