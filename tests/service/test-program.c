/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-host with the sample driver, started in every way that there is. */
#include "base/sys.h"
#include "hal/dial.h"
#include "host/desk.h"
#include "ipc/sock.h"
#include "service/landlock.h"
#include "service/seccomp-filter.h"

#include "service/told.h"
#include "support/check-main.h"
#include "support/fds.h"
#include "support/host-process.h"
#include "support/refuse-call.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANDBOX false
#else
#define HAS_SANDBOX true
#endif

static char folder[64], path[100], notify_path[100];

static void begin(void)
{
    /* Private children come to the test when their parent is gone. */
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    snprintf(folder, sizeof(folder), "/tmp/nnhal-test-program-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/sample.sock", folder);
    snprintf(notify_path, sizeof(notify_path), "%s/notify", folder);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
}

static void end(void)
{
    while (waitpid(-1, NULL, __WALL) > 0)
        ;
    unlink(path);
    unlink(notify_path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* -- a session, tried --------------------------------------------------------------- */

/* relu(x * y + x) once; returns the status. */
static uint32_t infer(struct desk *desk, uint64_t memory, uint64_t prepared)
{
    float *floats = desk_bytes(desk, memory);
    uint32_t status;

    for (int i = 0; i < 4; i++) {
        floats[i] = (float)i - 1.5f;
        floats[4 + i] = 2;
        floats[8 + i] = -99;
    }
    desk_formula_request(desk, memory, 16);
    status = desk_execute(desk, prepared);
    for (int i = 0; status == NNHAL_NONE && i < 4; i++)
        ck_assert_float_eq(floats[8 + i], i < 2 ? 0.0f : 3 * ((float)i - 1.5f));
    return status;
}

static void open_desk(struct desk *desk, struct nn_hal *hal)
{
    memset(desk, 0, sizeof(*desk));
    desk->hal = hal;
    nn_arena_init(&desk->arena, 0);
}

static void close_desk(struct desk *desk)
{
    nn_hal_close(desk->hal);
    nn_arena_done(&desk->arena);
    for (uint32_t i = 0; i < desk->n_memories; i++)
        munmap(desk->memories[i].bytes, desk->memories[i].size);
}

/* Runs a model over the session and ends it. Returns the driver's process. */
static pid_t try_session(struct nn_hal *hal)
{
    struct nn_hal_get_device_info_args args = {0};
    struct nn_hal_get_device_info_reply info;
    uint64_t memory, prepared;
    struct desk desk;

    open_desk(&desk, hal);
    ck_assert_uint_eq(nn_hal_get_device_info(hal, &args, &info, &desk.arena), NNHAL_NONE);
    ck_assert_str_eq(info.name, "nnhal-sample");
    ck_assert_int_ne(info.pid, getpid());
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
    ck_assert_uint_eq(infer(&desk, memory, prepared), NNHAL_NONE);
    close_desk(&desk);
    return info.pid;
}

static void try_path(void)
{
    struct nn_hal *hal = NULL;

    ck_assert_int_eq(nn_dial_socket(path, NULL, &hal), 0);
    try_session(hal);
}

/* -- the program ------------------------------------------------------------------------ */

/* Starts the program with these arguments. passed (-1: none) becomes its
 * descriptor 3, as systemd passes a socket. */
static pid_t start(char *const *arguments, int passed)
{
    pid_t pid = fork();

    if (pid == 0) {
        char own_pid[16];

        if (passed >= 0) {
            snprintf(own_pid, sizeof(own_pid), "%d", (int)getpid());
            setenv("LISTEN_PID", own_pid, 1);
            setenv("LISTEN_FDS", "1", 1);
            if (passed == 3)
                fcntl(3, F_SETFD, 0);
            else
                dup2(passed, 3);
        }
        execv(getenv("NNHAL_HOST"), arguments);
        _exit(99);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* Starts it and waits until it says that it is ready. */
static pid_t start_ready(char *const *arguments, int passed)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    char text[64] = "";
    pid_t pid;

    memcpy(address.sun_path, notify_path, strlen(notify_path));
    unlink(notify_path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", notify_path, 1);
    pid = start(arguments, passed);
    ck_assert_int_eq(poll(&poll_fd, 1, 60000), 1);
    ck_assert_int_gt(recv(fd, text, sizeof(text) - 1, 0), 0);
    ck_assert_str_eq(text, "READY=1");
    unsetenv("NOTIFY_SOCKET");
    close(fd);
    return pid;
}

static int exit_status(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static char *const plain[] = {(char *)"nnhal-host", (char *)"sample", NULL};

TEST(it_listens_in_the_usual_place_until_it_is_terminated)
{
    pid_t pid;

    begin();
    pid = start_ready(plain, -1);
    try_path();
    try_path();
    kill(pid, SIGTERM);
    ck_assert_int_eq(exit_status(pid), 0);
    ck_assert_int_eq(access(path, F_OK), -1);
    end();
}
TEST_END

TEST(one_listens_and_the_second_says_why_it_cannot)
{
    pid_t first, second;

    begin();
    first = start_ready(plain, -1);
    second = start(plain, -1);
    ck_assert_int_eq(exit_status(second), 1);
    try_path();
    kill(host_process(first), SIGKILL);
    ck_assert_int_eq(waitpid(first, NULL, 0), first);
    /* The one that made the socket has outlived the driver's process. */
    if (HAS_SANDBOX)
        ck_assert_int_eq(access(path, F_OK), -1);
    first = start_ready(plain, -1);
    kill(first, SIGKILL);
    ck_assert_int_eq(waitpid(first, NULL, 0), first);
    /* What is left of the killed one does not keep the next from listening. */
    first = start_ready(plain, -1);
    try_path();
    kill(first, SIGINT);
    ck_assert_int_eq(exit_status(first), 0);
    end();
}
TEST_END

TEST(it_takes_a_listening_socket_from_systemd)
{
    int fd = -1;
    pid_t pid;

    begin();
    ck_assert_int_eq(nn_sock_listen(path, 0600, &fd), 0);
    pid = start_ready(plain, fd);
    close(fd);
    try_path();
    try_path();
    kill(pid, SIGTERM);
    ck_assert_int_eq(exit_status(pid), 0);
    end();
}
TEST_END

TEST(it_takes_one_connection_from_systemd)
{
    struct nn_hal *hal = NULL;
    int listener = -1, client = -1, server = -1;
    pid_t pid;

    begin();
    ck_assert_int_eq(nn_sock_listen(path, 0600, &listener), 0);
    ck_assert_int_eq(nn_sock_connect(path, &client), 0);
    ck_assert_int_eq(nn_sock_accept(listener, &server), 0);
    pid = start_ready(plain, server);
    close(server);
    close(listener);
    ck_assert_int_eq(nn_dial_fd(client, -1, UINT64_C(60000000000), NULL, &hal), 0);
    try_session(hal);
    ck_assert_int_eq(exit_status(pid), 0); /* its one client has gone */
    end();
}
TEST_END

TEST(bad_arguments_and_drivers_are_errors)
{
    static char *const cases[][5] = {
        {(char *)"nnhal-host", NULL},
        {(char *)"nnhal-host", (char *)"sample", (char *)"more", NULL},
        {(char *)"nnhal-host", (char *)"--fd", (char *)"x", (char *)"sample", NULL},
        {(char *)"nnhal-host", (char *)"--fd", (char *)"2", (char *)"sample", NULL},
        {(char *)"nnhal-host", (char *)"--fd", (char *)"1048576", (char *)"sample", NULL},
        {(char *)"nnhal-host", (char *)"--report", (char *)"5x", (char *)"sample", NULL},
        {(char *)"nnhal-host", (char *)"", NULL},
        {(char *)"nnhal-host", (char *)"--unknown", (char *)"sample", NULL},
        {(char *)"nnhal-host", (char *)"no-such-driver", NULL},
        {(char *)"nnhal-host", (char *)"/etc/passwd", NULL},
        {(char *)"nnhal-host", (char *)"--listen", (char *)"/nonexistent/x", (char *)"sample",
         NULL},
    };
    static const int wanted[] = {2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1};

    begin();
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_int_eq(exit_status(start(cases[i], -1)), wanted[i]);
    end();
}
TEST_END

/* What the driver that reaches for too much was told, served with an option. */
static void expect_reached(char *option, const char *wanted)
{
    char *const arguments[] = {
        (char *)"nnhal-host", (char *)"--listen", path, option, getenv("NN_TEST_NAUGHTY"), NULL};
    pid_t pid = start_ready(arguments, -1);
    struct nn_hal *hal = NULL;
    const char *told;

    ck_assert_int_eq(nn_dial_socket(path, NULL, &hal), 0);
    told = told_ask(hal);
    ck_assert_msg(strstr(told, wanted) != NULL, "%s", told);
    kill(pid, SIGTERM);
    ck_assert_int_eq(exit_status(pid), 0);
}

TEST(a_driver_gets_what_it_declared_and_nothing_else)
{
    begin();
    expect_reached((char *)"--no-sandbox", "file got, socket got, device got, declared device got");
    if (HAS_SANDBOX && nn_landlock_version() > 0)
        expect_reached((char *)"--user=nobody",
                       "file refused, socket refused, device refused, declared device got");
    end();
}
TEST_END

/* Instead of this process's standard error: the end that it would be read at. */
static int replace_terminal(int fd, int *ret_saved)
{
    *ret_saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    return close(fd);
}

static int open_terminal(int *ret_terminal)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    *ret_terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(*ret_terminal, 0);
    return master;
}

/* What it prints arrives at the terminal, which takes no commands from it. */
TEST(no_driver_holds_the_terminal)
{
    struct nn_hal *hal = NULL;
    int terminal, saved, master = open_terminal(&terminal);
    char text[256] = "";

    begin();
    replace_terminal(terminal, &saved);
    if (HAS_SANDBOX) {
        expect_reached((char *)"--user=nobody", "input other, output pipe, errors pipe");
        ck_assert_int_eq(nn_dial_child(getenv("NN_TEST_NAUGHTY"), NULL, &hal), 0);
        ck_assert_ptr_nonnull(strstr(told_ask(hal), "input other, output pipe, errors pipe"));
        for (size_t n = 0; n < 2 * strlen("a driver ?[6n\r\n");)
            n += (size_t)read(master, text + n, sizeof(text) - 1 - n);
        ck_assert_str_eq(text, "a driver ?[6n\r\na driver ?[6n\r\n");
    }
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(master);
    end();
}
TEST_END

/* A client of the driver that reads its inputs, with an input in a file. */
struct reader {
    struct desk desk;
    int fd;
    uint64_t memory, prepared;
    pid_t pid; /* of the driver's process */
};

static void open_reader(struct reader *reader)
{
    struct nn_hal_get_device_info_args args = {0};
    struct nn_hal_get_device_info_reply info;
    struct nn_hal *hal = NULL;

    ck_assert_int_eq(nn_dial_socket(path, NULL, &hal), 0);
    open_desk(&reader->desk, hal);
    ck_assert_uint_eq(nn_hal_get_device_info(hal, &args, &info, &reader->desk.arena), NNHAL_NONE);
    reader->pid = info.pid;
    reader->fd = memfd_create("test-program", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(reader->fd, 4096), 0);
    ck_assert_uint_eq(
        desk_import(&reader->desk, reader->fd, NNHAL_MEMORY_ASHMEM, 0, 4096, 0, &reader->memory),
        NNHAL_NONE);
    reader->prepared = desk_prepare(&reader->desk, desk_formula(&reader->desk, DIMS(2, 2)));
}

static uint32_t read_once(struct reader *reader)
{
    desk_formula_request(&reader->desk, reader->memory, 16);
    return desk_execute(&reader->desk, reader->prepared);
}

static void close_reader(struct reader *reader)
{
    close_desk(&reader->desk);
    close(reader->fd);
}

/* Returns the driver's process. */
static pid_t shrink_and_read(void)
{
    struct reader reader;

    open_reader(&reader);
    ck_assert_int_eq(ftruncate(reader.fd, 0), 0);
    ck_assert_uint_eq(read_once(&reader), NNHAL_GENERAL_FAILURE);
    close_reader(&reader);
    return reader.pid;
}

/* Clients come and shrink their files; another one, which has been there before, is not concerned. */
static void outlive_files_that_shrink(const char *configuration)
{
    char name[512];
    char *const arguments[] = {(char *)"nnhal-host", (char *)"--listen", path, name, NULL};
    struct reader other;
    pid_t pid;

    snprintf(name, sizeof(name), "%s:%s", getenv("NN_TEST_NAUGHTY"), configuration);
    pid = start_ready(arguments, -1);
    open_reader(&other);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(shrink_and_read(), other.pid);
        ck_assert_uint_eq(read_once(&other), NNHAL_NONE);
    }
    close_reader(&other);
    kill(pid, SIGTERM);
    ck_assert_int_eq(exit_status(pid), 0);
}

TEST(a_driver_that_blocks_signals_outlives_files_that_shrink)
{
    begin();
    if (HAS_SANDBOX && nn_seccomp_is_there())
        outlive_files_that_shrink("blocks");
    end();
}
TEST_END

TEST(a_driver_that_blocks_signals_by_raw_calls_outlives_files_that_shrink)
{
    begin();
    if (HAS_SANDBOX && nn_seccomp_is_there())
        outlive_files_that_shrink("blocks-raw");
    end();
}
TEST_END

TEST(a_driver_that_reads_in_a_signal_handler_outlives_files_that_shrink)
{
    begin();
    if (HAS_SANDBOX && nn_seccomp_is_there())
        outlive_files_that_shrink("blocks-in-handler");
    end();
}
TEST_END

/* -- the private child --------------------------------------------------------------------- */

static void expect_gone(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    time_t limit = time(NULL) + 60;

    while (kill(pid, 0) == 0 && time(NULL) < limit) {
        waitpid(-1, NULL, WNOHANG | __WALL);
        nanosleep(&pause, NULL);
    }
    ck_assert_int_eq(kill(pid, 0), -1);
}

TEST(a_private_child_lives_as_long_as_its_session)
{
    size_t n_fds, n_threads;
    struct nn_hal *hal = NULL;

    begin();
    n_fds = count_fds();
    n_threads = count_threads();
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(nn_dial_child("sample", NULL, &hal), 0);
        expect_gone(try_session(hal));
        ck_assert_uint_eq(count_fds(), n_fds);
    }
    ck_assert_uint_le(count_threads(), n_threads + 1); /* one may be on its way out */
    ck_assert_int_eq(nn_dial_child("no-such-driver", NULL, &hal), NN_DIAL_E_REFUSED);
    ck_assert_uint_eq(count_fds(), n_fds);
    end();
}
TEST_END

struct caller {
    struct desk desk;
    uint64_t memory, prepared;
    uint32_t status;
};

static void *call_until_dead(void *argument)
{
    struct caller *caller = argument;

    do
        caller->status = infer(&caller->desk, caller->memory, caller->prepared);
    while (caller->status == NNHAL_NONE);
    return NULL;
}

/* Kills the service at some moment of a busy session. */
static void kill_busy_child(unsigned *seed)
{
    struct timespec moment = {.tv_nsec = (long)(rand_r(seed) % 2000000)};
    struct nn_hal_get_device_info_args args = {0};
    struct nn_hal_get_device_info_reply info;
    struct nn_hal *hal = NULL;
    static struct caller caller;
    pthread_t thread;

    ck_assert_int_eq(nn_dial_child("sample", NULL, &hal), 0);
    open_desk(&caller.desk, hal);
    ck_assert_uint_eq(nn_hal_get_device_info(hal, &args, &info, &caller.desk.arena), NNHAL_NONE);
    caller.memory = desk_memory(&caller.desk, 4096);
    caller.prepared = desk_prepare(&caller.desk, desk_formula(&caller.desk, DIMS(2, 2)));
    pthread_create(&thread, NULL, call_until_dead, &caller);
    nanosleep(&moment, NULL);
    ck_assert_int_eq(kill(info.pid, SIGKILL), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(caller.status, NNHAL_DEAD_OBJECT);
    close_desk(&caller.desk);
    expect_gone(info.pid);
}

TEST(a_child_that_is_killed_ends_its_calls)
{
    const char *rounds = getenv("NN_TEST_ROUNDS");
    size_t n_rounds = rounds ? strtoul(rounds, NULL, 10) : 20, n_fds;
    unsigned seed = 1;

    begin();
    n_fds = count_fds();
    for (size_t i = 0; i < n_rounds; i++)
        kill_busy_child(&seed);
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(count_mappings("memfd:"), 0);
    end();
}
TEST_END

static void kill_application(bool stops_child)
{
    int numbers[2];
    pid_t application, child = 0, heir = 0;

    begin();
    ck_assert_int_eq(pipe(numbers), 0);
    application = fork();
    if (application == 0) {
        struct nn_hal_get_device_info_args args = {0};
        struct nn_hal_get_device_info_reply info;
        struct nn_hal *hal = NULL;
        struct nn_arena arena;
        pid_t pids[2];

        nn_arena_init(&arena, 0);
        if (nn_dial_child("sample", NULL, &hal) != 0 ||
            nn_hal_get_device_info(hal, &args, &info, &arena) != NNHAL_NONE)
            _exit(1);
        pids[0] = info.pid;
        pids[1] = fork();
        if (pids[1] != 0 && write(numbers[1], pids, sizeof(pids)) != sizeof(pids))
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(numbers[0], &child, sizeof(child)), sizeof(child));
    ck_assert_int_eq(read(numbers[0], &heir, sizeof(heir)), sizeof(heir));
    if (stops_child)
        ck_assert_int_eq(kill(child, SIGSTOP), 0);
    kill(application, SIGKILL);
    ck_assert_int_eq(waitpid(application, NULL, 0), application);
    expect_gone(child);
    ck_assert_int_eq(kill(heir, SIGKILL), 0);
    close(numbers[0]);
    close(numbers[1]);
    end();
}

TEST(a_child_ends_with_its_application_though_a_forked_one_is_left)
{
    kill_application(false);
}
TEST_END

TEST(a_child_that_is_stopped_ends_with_its_application)
{
    if (HAS_SANDBOX) /* else it is alone */
        kill_application(true);
}
TEST_END

/* -- walls that are missing ------------------------------------------------------------------ */

static char said[4096]; /* by the program, on its standard error */

/* Runs the program to its end, or while it is tried; returns its exit status. */
static int run_and_read(char *const *arguments, bool is_to_serve)
{
    int pair[2], saved;
    size_t n = 0;
    ssize_t m;
    pid_t pid;

    ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
    replace_terminal(pair[1], &saved);
    pid = is_to_serve ? start_ready(arguments, -1) : start(arguments, -1);
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    close(saved);
    if (is_to_serve) {
        try_path();
        kill(pid, SIGTERM);
    }
    memset(said, 0, sizeof(said));
    while ((m = read(pair[0], said + n, sizeof(said) - 1 - n)) > 0)
        n += (size_t)m;
    close(pair[0]);
    return exit_status(pid);
}

static const char *wanted_words; /* in the child */

static void serves_and_says(void)
{
    ck_assert_int_eq(run_and_read(plain, true), 0);
    ck_assert_msg(strstr(said, wanted_words) != NULL, "it said: %s", said);
}

static void serves_nobody_and_says(void)
{
    ck_assert_int_eq(run_and_read(plain, false), 1);
    ck_assert_msg(strstr(said, wanted_words) != NULL, "it said: %s", said);
    ck_assert_int_eq(access(path, F_OK), -1);
}

struct refused_program {
    struct refusal refusal;
    const char *words;
};

TEST(what_the_kernel_lacks_for_the_sandbox_is_said)
{
    static const struct refused_program cases[] = {
        {{SYS_unshare, EPERM}, "has no root of its own"},
        {{SYS_pivot_root, EPERM}, "has no root of its own: it cannot be entered"},
        {{SYS_landlock_create_ruleset, ENOSYS}, "without Landlock"},
    };

    begin();
    for (size_t i = 0; HAS_SANDBOX && i < sizeof(cases) / sizeof(cases[0]); i++) {
        wanted_words = cases[i].words;
        refuse_in_child(cases[i].refusal, serves_and_says);
    }
    end();
}
TEST_END

TEST(a_service_that_cannot_be_walled_in_or_run_ends)
{
    static const struct refused_program cases[] = {
        {{SYS_capset, EPERM}, "the sandbox cannot be closed"},
        {{SYS_socketpair, EMFILE}, "cannot start a process for the driver"},
        {{SYS_eventfd2, EMFILE}, "cannot open its device"},
        {{SYS_listen, ENOMEM}, "cannot listen"},
    };

    begin();
    for (size_t i = 0; HAS_SANDBOX && i < sizeof(cases) / sizeof(cases[0]); i++) {
        wanted_words = cases[i].words;
        refuse_in_child(cases[i].refusal, serves_nobody_and_says);
    }
    end();
}
TEST_END

TEST(what_a_driver_declares_wrongly_is_said)
{
    char module[128], file[128];
    char *const arguments[] = {(char *)"nnhal-host", module, NULL};
    FILE *stream;

    begin();
    snprintf(module, sizeof(module), "%s/libx.so", folder);
    snprintf(file, sizeof(file), "%s/libx.sandbox", folder);
    close(open(module, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    stream = fopen(file, "we");
    ck_assert_ptr_nonnull(stream);
    fputs("read /etc\nwrite /etc\n", stream);
    fclose(stream);
    ck_assert_int_eq(run_and_read(arguments, false), 1);
    if (HAS_SANDBOX)
        ck_assert_msg(strstr(said, "libx.sandbox:2: ") != NULL, "it said: %s", said);
    unlink(file);
    unlink(module);
    end();
}
TEST_END

TEST(what_cannot_be_meant_is_said)
{
    char *const both[] = {(char *)"nnhal-host", (char *)"--listen", path, (char *)"--fd",
                          (char *)"9",          (char *)"sample",   NULL};
    char *const nowhere[] = {(char *)"nnhal-host", (char *)"--no-sandbox", (char *)"--report",
                             (char *)"99",         (char *)"sample",       NULL};
    int pair[2];

    begin();
    ck_assert_int_eq(run_and_read(both, false), 2);
    ck_assert_ptr_nonnull(strstr(said, "exclude each other"));
    ck_assert_int_eq(run_and_read(nowhere, false), 1);
    ck_assert_ptr_nonnull(strstr(said, "cannot report"));
    setenv("NNHAL_SHARE_WEIGHTS", "perhaps", 1);
    ck_assert_int_eq(run_and_read(plain, false), 2);
    ck_assert_ptr_nonnull(strstr(said, "NNHAL_SHARE_WEIGHTS"));
    unsetenv("NNHAL_SHARE_WEIGHTS");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(exit_status(start(plain, pair[0])), 1); /* as systemd passes it */
    close(pair[0]);
    close(pair[1]);
    end();
}
TEST_END

/* Of a list of folders the absolute ones are readable for the driver's process. */
TEST(it_serves_whatever_the_library_path_names)
{
    char long_list[1024] = "relative:/usr/lib:/nonexistent";

    begin();
    for (int i = 0; i < 70; i++)
        strcat(long_list, ":/usr/lib");
    setenv("LD_LIBRARY_PATH", long_list, 1);
    setenv("NNHAL_SHARE_WEIGHTS", "all", 1);
    ck_assert_int_eq(run_and_read(plain, true), 0);
    unsetenv("NNHAL_SHARE_WEIGHTS");
    unsetenv("LD_LIBRARY_PATH");
    end();
}
TEST_END

CHECK_MAIN("program", it_listens_in_the_usual_place_until_it_is_terminated,
           one_listens_and_the_second_says_why_it_cannot, it_takes_a_listening_socket_from_systemd,
           it_takes_one_connection_from_systemd, bad_arguments_and_drivers_are_errors,
           a_driver_gets_what_it_declared_and_nothing_else, no_driver_holds_the_terminal,
           a_driver_that_blocks_signals_outlives_files_that_shrink,
           a_driver_that_blocks_signals_by_raw_calls_outlives_files_that_shrink,
           a_driver_that_reads_in_a_signal_handler_outlives_files_that_shrink,
           a_private_child_lives_as_long_as_its_session, a_child_that_is_killed_ends_its_calls,
           a_child_ends_with_its_application_though_a_forked_one_is_left,
           a_child_that_is_stopped_ends_with_its_application,
           what_the_kernel_lacks_for_the_sandbox_is_said,
           a_service_that_cannot_be_walled_in_or_run_ends, what_a_driver_declares_wrongly_is_said,
           what_cannot_be_meant_is_said, it_serves_whatever_the_library_path_names)
