/* SPDX-License-Identifier: Apache-2.0 */
/* evil-picture.c - a module of gdk-pixbuf that was taken over, as a hostile picture would do it
 *
 * Loaded in place of the module for TIFF. It tries every way out of its
 * process; row i of the picture that it makes is white if way i succeeded. */
#define GDK_PIXBUF_ENABLE_BACKEND
#include <errno.h>
#include <fcntl.h>
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *path(void)
{
    return g_getenv("NN_TEST_VICTIM");
}

#define WAY(name, ...)                                                                             \
    static long name(void)                                                                         \
    {                                                                                              \
        return syscall(__VA_ARGS__);                                                               \
    }

WAY(open_to_write, SYS_openat, AT_FDCWD, path(), O_WRONLY)
WAY(open_to_both, SYS_openat, AT_FDCWD, path(), O_RDWR)
WAY(open_to_append, SYS_openat, AT_FDCWD, path(), O_WRONLY | O_APPEND)
WAY(make_file, SYS_openat, AT_FDCWD, "/tmp/nnhal-evil-picture", O_RDONLY | O_CREAT, 0600)
WAY(empty_file, SYS_openat, AT_FDCWD, path(), O_RDONLY | O_TRUNC)
WAY(make_unnamed, SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600)
WAY(open_by_other_call, SYS_openat2, AT_FDCWD, path(), NULL, 0)
WAY(read_file, SYS_openat, AT_FDCWD, path(), O_RDONLY)
WAY(read_input, SYS_read, 0, (char[1]){0}, 1)
WAY(make_code, SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
WAY(cut_file, SYS_truncate, path(), 0)
WAY(remove_file, SYS_unlinkat, AT_FDCWD, path(), 0)
WAY(rename_file, SYS_renameat2, AT_FDCWD, path(), AT_FDCWD, "/tmp/nnhal-evil-picture", 0)
WAY(link_file, SYS_linkat, AT_FDCWD, path(), AT_FDCWD, "/tmp/nnhal-evil-picture", 0)
WAY(make_folder, SYS_mkdirat, AT_FDCWD, "/tmp/nnhal-evil-picture", 0700)
WAY(change_mode, SYS_fchmodat, AT_FDCWD, path(), 0777)
WAY(change_owner, SYS_fchownat, AT_FDCWD, path(), getuid(), getgid(), 0)
WAY(change_times, SYS_utimensat, AT_FDCWD, path(), NULL, 0)
WAY(local_socket, SYS_socket, AF_UNIX, SOCK_STREAM, 0)
WAY(network_socket, SYS_socket, AF_INET, SOCK_STREAM, 0)
WAY(message_on_output, SYS_sendto, 1, "x", 1, 0, NULL, 0)
WAY(new_process, SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)
WAY(new_program, SYS_execve, "/bin/true", (const char *[]){"true", NULL}, NULL)
WAY(kill_parent, SYS_kill, getppid(), 0)
WAY(trace_parent, SYS_ptrace, PTRACE_SEIZE, getppid(), 0, 0)
WAY(read_parent, SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)
WAY(limit_parent, SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, NULL)
WAY(slow_parent, SYS_setpriority, PRIO_PROCESS, getppid(), 19)
WAY(bind_parent, SYS_sched_setaffinity, getppid(), 8, (unsigned long[]){1})
WAY(handle_of_parent, SYS_pidfd_open, getppid(), 0)
WAY(signals_to_parent, SYS_fcntl, 1, F_SETOWN, getppid())
WAY(asynchronous_output, SYS_fcntl, 1, F_SETFL, O_ASYNC)
WAY(type_into_terminal, SYS_ioctl, 2, TIOCSTI, "x")
WAY(count_input, SYS_ioctl, 0, FIONREAD, (int[]){0})
WAY(memory_file, SYS_memfd_create, "evil", 0)
WAY(stop_clock, SYS_alarm, 0)
WAY(block_signals, SYS_rt_sigprocmask, SIG_BLOCK, (uint64_t[]){~0ull}, NULL, 8)
WAY(sleep_long, SYS_nanosleep, (struct timespec[]){{0, 1}}, NULL)
WAY(queue_of_calls, SYS_io_uring_setup, 1, NULL)
WAY(program_in_kernel, SYS_bpf, 0, NULL, 0)
WAY(keys, SYS_keyctl, 0, -3, 0)
WAY(mount_anything, SYS_mount, "none", "/tmp", "tmpfs", 0, NULL)
WAY(leave_user, SYS_setuid, getuid())
WAY(new_namespace, SYS_unshare, CLONE_NEWUSER)

static long (*const ways[])(void) = {
    read_file,
    read_input,
    make_code,
    open_to_write,
    open_to_both,
    open_to_append,
    make_file,
    empty_file,
    make_unnamed,
    open_by_other_call,
    cut_file,
    remove_file,
    rename_file,
    link_file,
    make_folder,
    change_mode,
    change_owner,
    change_times,
    local_socket,
    network_socket,
    message_on_output,
    new_process,
    new_program,
    kill_parent,
    trace_parent,
    read_parent,
    limit_parent,
    slow_parent,
    bind_parent,
    handle_of_parent,
    signals_to_parent,
    asynchronous_output,
    type_into_terminal,
    count_input,
    memory_file,
    stop_clock,
    block_signals,
    sleep_long,
    queue_of_calls,
    program_in_kernel,
    keys,
    mount_anything,
    leave_user,
    new_namespace,
};

/* EPERM is the seal's answer; others come from the call itself, which was reached. */
static gboolean succeeds(long (*way)(void))
{
    return way() >= 0 || errno != EPERM;
}

struct loading {
    GdkPixbufModuleSizeFunc size;
    GdkPixbufModulePreparedFunc prepared;
    GdkPixbufModuleUpdatedFunc updated;
    gpointer user;
    GdkPixbuf *picture;
};

static gpointer begin(GdkPixbufModuleSizeFunc size, GdkPixbufModulePreparedFunc prepared,
                      GdkPixbufModuleUpdatedFunc updated, gpointer user, GError **error)
{
    struct loading *loading = g_new0(struct loading, 1);

    (void)error;
    *loading = (struct loading){size, prepared, updated, user, NULL};
    return loading;
}

/* The picture's first bytes have come: it takes over. */
static void take_over(struct loading *loading)
{
    int width = 1, height = G_N_ELEMENTS(ways);

    loading->picture = gdk_pixbuf_new(GDK_COLORSPACE_RGB, FALSE, 8, width, height);
    gdk_pixbuf_fill(loading->picture, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++)
        if (succeeds(ways[i]))
            memset(gdk_pixbuf_get_pixels(loading->picture) +
                       i * (size_t)gdk_pixbuf_get_rowstride(loading->picture),
                   255, 3);
    loading->size(&width, &height, loading->user);
    loading->prepared(loading->picture, NULL, loading->user);
    loading->updated(loading->picture, 0, 0, width, height, loading->user);
}

static gboolean add(gpointer context, const guchar *bytes, guint n_bytes, GError **error)
{
    struct loading *loading = context;

    (void)bytes, (void)n_bytes, (void)error;
    if (!loading->picture)
        take_over(loading);
    return TRUE;
}

static gboolean end(gpointer context, GError **error)
{
    (void)error;
    g_clear_object(&((struct loading *)context)->picture);
    g_free(context);
    return TRUE;
}

/* What gdk-pixbuf looks up in a module. */
G_MODULE_EXPORT void fill_vtable(GdkPixbufModule *module);

void fill_vtable(GdkPixbufModule *module)
{
    module->begin_load = begin;
    module->load_increment = add;
    module->stop_load = end;
}
