/* SPDX-License-Identifier: Apache-2.0 */
/* What nnhal-host tells the journal of its clients. As root, the service and each client have users of
 * their own, as under systemd; its namespaces then hide who the clients are. */
#include "hal/dial.h"
#include "host/desk.h"
#include "ipc/sock.h"

#include "support/check-main.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { SERVICE_UID = 4711, CLIENT_UID = 4712, FLOOD_UID = 4713, N_MODELS = 500, PATIENCE_S = 60 };

static char folder[64], path[100], said[1 << 20];
static bool has_users; /* several can be had, and reach what was built */
static FILE *errors;
static pid_t service;

static void become(uid_t uid)
{
    if (has_users && setuid(uid) < 0)
        _exit(90);
}

/* Whether another user may execute what was built. */
static bool is_reachable(void)
{
    pid_t pid = geteuid() == 0 ? fork() : -1;
    int status = 1;

    if (pid == 0)
        _exit(setuid(CLIENT_UID) < 0 || access(getenv("NNHAL_HOST"), X_OK) < 0 ||
              access(getenv("NNHAL_DRIVER_PATH"), X_OK) < 0);
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status == 0;
}

static void exec_service(int fd)
{
    char number[16], stream[64];
    struct stat status;

    become(SERVICE_UID);
    snprintf(number, sizeof(number), "%d", (int)getpid());
    setenv("LISTEN_PID", number, 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("NNHAL_LOG", "info", 1);
    setenv("NNHAL_STATE_PATH", folder, 1);
    if (dup2(fileno(errors), STDERR_FILENO) < 0 || fstat(STDERR_FILENO, &status) < 0)
        _exit(91);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    if (fd == 3)
        fcntl(3, F_SETFD, 0);
    else
        dup2(fd, 3);
    execl(getenv("NNHAL_HOST"), "nnhal-host", "sample", NULL);
    _exit(92);
}

/* Behind a socket that systemd would have made. */
static void begin(void)
{
    int fd = -1;

    has_users = is_reachable();
    if (!has_users)
        printf("SKIPPED in part: users are not told apart: that takes root and a tree that "
               "others can read\n");
    strcpy(folder, "/tmp/nnhal-test-journal-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0755), 0);
    snprintf(path, sizeof(path), "%s/sample.sock", folder);
    ck_assert_int_eq(nn_sock_listen(path, 0666, &fd), 0);
    errors = tmpfile();
    ck_assert_ptr_nonnull(errors);
    setenv("NNHAL_SERVICE_UID", "4711", 1);
    service = fork();
    if (service == 0)
        exec_service(fd);
    close(fd);
}

static void end(void)
{
    int status;

    kill(service, SIGTERM);
    ck_assert_int_eq(waitpid(service, &status, 0), service);
    ck_assert_int_eq(status, 0);
    fclose(errors);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void read_said(void)
{
    ssize_t n = pread(fileno(errors), said, sizeof(said) - 1, 0);

    said[n > 0 ? n : 0] = '\0';
}

static bool is_said(const char *words)
{
    read_said();
    return strstr(said, words) != NULL;
}

static void expect_said(const char *words)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (time_t limit = time(NULL) + PATIENCE_S; time(NULL) < limit && !is_said(words);)
        nanosleep(&pause, NULL);
    ck_assert_msg(is_said(words), "\"%s\" is missing: %s", words, said);
}

static size_t count_said(const char *words)
{
    size_t n = 0;

    read_said();
    for (const char *at = said; (at = strstr(at, words)); at++)
        n++;
    return n;
}

/* -- clients ------------------------------------------------------------------------------------- */

static void open_desk(struct desk *desk)
{
    memset(desk, 0, sizeof(*desk));
    ck_assert_int_eq(nn_dial_socket(path, NULL, &desk->hal), 0);
    nn_arena_init(&desk->arena, 0);
}

static void close_desk(struct desk *desk)
{
    nn_hal_close(desk->hal);
    nn_arena_done(&desk->arena);
}

static uint32_t prepare_for_nothing(struct desk *desk)
{
    struct nn_hal_prepare_model_args args = {.deadline_ns = NNHAL_NO_TIME, .preference = 99};
    struct nn_hal_prepare_model_reply reply;

    args.model = *desk_formula(desk, DIMS(2, 2));
    return nn_hal_prepare_model(desk->hal, &args, &reply, &desk->arena);
}

/* A model, one that is refused, and a memory that is larger than a session may have. */
static void use_all(void)
{
    const uint64_t huge = UINT64_C(1) << 41;
    int fd = memfd_create("test-journal", MFD_CLOEXEC);
    uint64_t memory;
    struct desk desk;

    open_desk(&desk);
    desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
    ck_assert_uint_eq(prepare_for_nothing(&desk), NNHAL_INVALID_ARGUMENT);
    ck_assert_int_eq(ftruncate(fd, (off_t)huge), 0);
    ck_assert_uint_eq(
        desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, PROT_READ | PROT_WRITE, huge, 0, &memory),
        NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    close(fd);
    close_desk(&desk);
}

static void prepare_many(void)
{
    struct desk desk;

    open_desk(&desk);
    for (int i = 0; i < N_MODELS; i++)
        desk_free_prepared(&desk, desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2))));
    close_desk(&desk);
}

/* Returns the process that did it. */
static pid_t run_client(uid_t uid, void (*body)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        become(uid);
        body();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    return pid;
}

static unsigned uid_of(uid_t uid)
{
    return (unsigned)(has_users ? uid : geteuid());
}

/* "client P of user U" and the words, with the priority of information. */
static void expect_said_of(pid_t pid, uid_t uid, const char *words)
{
    char line[256];

    snprintf(line, sizeof(line), "\n<6>nnhal service info: client %d of user %u%s", (int)pid,
             uid_of(uid), words);
    expect_said(line);
}

TEST(each_client_model_and_limit_has_a_line)
{
    pid_t pid;

    begin();
    pid = run_client(CLIENT_UID, use_all);
    expect_said_of(pid, CLIENT_UID, " connected\n");
    expect_said_of(pid, CLIENT_UID, ": a model of 3 operations was prepared in ");
    expect_said_of(pid, CLIENT_UID, ": a model of 3 operations was refused: preference 99");
    expect_said_of(pid, CLIENT_UID, ": a limit is reached: this connection may hold at most ");
    expect_said_of(pid, CLIENT_UID, " is gone\n");
    end();
}
TEST_END

TEST(a_flood_of_clients_is_counted_instead)
{
    char words[64];
    pid_t pid;

    begin();
    run_client(FLOOD_UID, prepare_many);
    snprintf(words, sizeof(words), "left out, the last one about user %u", uid_of(FLOOD_UID));
    expect_said(words);
    ck_assert_uint_lt(count_said("was prepared"), N_MODELS);
    if (has_users) { /* another one's lines are all there */
        pid = run_client(CLIENT_UID, use_all);
        expect_said_of(pid, CLIENT_UID, " connected\n");
        expect_said_of(pid, CLIENT_UID, " is gone\n");
    }
    end();
}
TEST_END

CHECK_MAIN("service-journal", each_client_model_and_limit_has_a_line,
           a_flood_of_clients_is_counted_instead)
