/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that are stopped (SIGSTOP) in the middle of what they do, and stay so: in a handshake, a
 * call, a burst, while they give memory, and where they hold the lock of a cache. Others are
 * answered meanwhile; those that go on find all as it was; nothing is left of those that are
 * killed. A service that is stopped: test-middle.c.
 * NN_TEST_SECONDS: how long they are stopped; NN_TEST_SEED: when. */
#include "attack/probe.h"
#include "attack/user.h"
#include "attack/victim.h"

#include "hal/dial.h"
#include "host/burst-line.h"
#include "support/check-main.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PATIENCE_MS 60000
#else
#define PATIENCE_MS 5000
#endif

enum {
    USER = 2,
    EACH = 5, /* clients of each kind */
    TURNS_OF_BURST = 16,
    LONGEST_US = 20000, /* until one is stopped */
    SLACK_KIB = 8192,
    TRIES = 400,        /* to stop one that holds a lock */
    COMPILATIONS = 24,  /* of six tokens: of one is the lock */
    DEADLINE_MS = 2000, /* half of it waits for the lock, the rest compiles */
};

enum kind { HANDSHAKES, CALLS, BURSTS, MEMORIES, KINDS };

struct stopped {
    enum kind kind;
    pid_t pid;
    uint64_t *n_turns; /* shared with it; atomic */
};

static struct victim victim;
static unsigned seed;

static unsigned any_us(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* -- what they do -------------------------------------------------------------------------------- */

static float *open_adder(struct desk *desk, uint64_t *ret_prepared)
{
    uint64_t memory;

    ck_assert_int_eq(nn_dial_socket(victim.path, NULL, &desk->hal), 0);
    nn_arena_init(&desk->arena, 0);
    memory = desk_memory(desk, 4096);
    *ret_prepared = desk_prepare(desk, desk_sum(desk, NNHAL_TENSOR_FLOAT32, DIMS(1)));
    desk_formula_request(desk, memory, 4);
    return desk_bytes(desk, memory);
}

static void shake_hands(void)
{
    struct nn_hal *hal;

    ck_assert_int_eq(nn_dial_socket(victim.path, NULL, &hal), 0);
    nn_hal_close(hal);
}

static void import_memory(struct desk *desk)
{
    struct nn_hal_free_memory_reply reply;
    int fd = memfd_create("stopped", MFD_CLOEXEC);
    uint64_t memory;

    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(desk_import(desk, fd, NNHAL_MEMORY_ASHMEM, 0, 4096, 0, &memory), NNHAL_NONE);
    close(fd);
    ck_assert_uint_eq(nn_hal_free_memory(desk->hal,
                                         &(struct nn_hal_free_memory_args){.memory = memory},
                                         &reply, &desk->arena),
                      NNHAL_NONE);
}

static void take_turn(enum kind kind, struct desk *desk, struct line *line, uint64_t prepared,
                      float *floats)
{
    switch (kind) {
    case HANDSHAKES:
        shake_hands();
        return;
    case MEMORIES:
        import_memory(desk);
        return;
    case CALLS:
        ck_assert_uint_eq(desk_execute(desk, prepared), NNHAL_NONE);
        break;
    default:
        if ((int)floats[0] % TURNS_OF_BURST == 1) {
            line_close(line, true);
            line_open(line, desk, prepared, 64, 64);
            line_set_all(line);
        }
        ck_assert_uint_eq(line_execute(line), NNHAL_NONE);
    }
    ck_assert_float_eq(floats[2], floats[0] + floats[1]);
}

static void take_turns(const struct stopped *stopped)
{
    static struct desk desk;
    static struct line line;
    uint64_t prepared;
    float *floats = open_adder(&desk, &prepared);

    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    for (uint32_t i = 0;; i++) {
        floats[0] = (float)(i % 1000);
        floats[1] = 1;
        floats[2] = -1;
        take_turn(stopped->kind, &desk, &line, prepared, floats);
        nn_arena_reset(&desk.arena);
        __atomic_add_fetch(stopped->n_turns, 1, __ATOMIC_RELEASE);
    }
}

/* -- stopping ------------------------------------------------------------------------------------- */

static void stop_process(pid_t pid)
{
    int status;

    kill(pid, SIGSTOP);
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert_msg(WIFSTOPPED(status), "a client ended: %#x", (unsigned)status);
}

static void kill_process(pid_t pid)
{
    int status;

    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a client ended: %#x",
                  (unsigned)status);
}

static void await_turns(const struct stopped *stopped, uint64_t n)
{
    for (int i = 0; __atomic_load_n(stopped->n_turns, __ATOMIC_ACQUIRE) < n; i++) {
        ck_assert_msg(i < PATIENCE_MS, "a client of kind %d does not go on", (int)stopped->kind);
        ck_assert_int_eq(waitpid(stopped->pid, NULL, WNOHANG), 0);
        usleep(1000);
    }
}

static void start_and_stop(struct stopped *stopped)
{
    stopped->pid = fork();
    ck_assert_int_ge(stopped->pid, 0);
    if (stopped->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        probe_become_user(USER);
        take_turns(stopped);
    }
    await_turns(stopped, 1);
    usleep(any_us(LONGEST_US));
    stop_process(stopped->pid);
}

static void stop_clients(const char *name)
{
    uint32_t n_seconds = victim_number("NN_TEST_SECONDS", 1);
    uint64_t *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct stopped clients[KINDS * EACH];
    struct victim_state before;
    struct probe probe;

    seed = victim_number("NN_TEST_SEED", 1);
    victim_start(&victim, name);
    probe_start(&probe, victim.path);
    probe_stop(&probe, "quiet");
    before = victim_look(&victim);
    for (int i = 0; i < KINDS * EACH; i++) {
        clients[i] = (struct stopped){.kind = (enum kind)(i % KINDS), .n_turns = &turns[i]};
        start_and_stop(&clients[i]);
    }
    probe_start(&probe, victim.path);
    sleep(n_seconds);
    probe_stop(&probe, "stopped clients");
    for (int i = 0; i < KINDS * EACH; i += 2)
        kill(clients[i].pid, SIGCONT);
    for (int i = 0; i < KINDS * EACH; i += 2)
        await_turns(&clients[i], turns[i] + 2 * TURNS_OF_BURST);
    for (int i = 0; i < KINDS * EACH; i++)
        kill_process(clients[i].pid);
    victim_expect_back(&victim, &before, SLACK_KIB);
    victim_stop(&victim);
    munmap(turns, 4096);
}

/* -- the lock of a cache ---------------------------------------------------------------------------- */

static char folder[64];

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static pid_t start_application(struct user_count *count, uint32_t n)
{
    const struct user_wish wish = {.device = "nnhal-cpu",
                                   .seed = seed,
                                   .n_compilations = n,
                                   .n_computations = 1,
                                   .deadline_ms = DEADLINE_MS,
                                   .cache = folder};
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("NNHAL_MODE", "embedded", 1);
    setenv("NNHAL_STATE_PATH", folder, 1);
    user_main(&wish, count);
    exit(0);
}

static void remove_compiled(void)
{
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    char path[400];

    while ((entry = readdir(listing)))
        if (strstr(entry->d_name, "-m0")) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            unlink(path);
        }
    closedir(listing);
}

static bool is_locked(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[100];
    int fd;

    snprintf(path, sizeof(path), "%s/lock", folder);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
    close(fd);
    return lock.l_type != F_UNLCK;
}

TEST(clients_of_the_sample_driver_are_stopped)
{
    stop_clients("sample");
}
TEST_END

TEST(clients_of_the_cpu_driver_are_stopped)
{
    stop_clients("cpu");
}
TEST_END

/* Another that wants the same model waits for half of its own deadline at most, 10 s without one,
 * and compiles. */
TEST(an_application_is_stopped_while_it_holds_the_lock_of_a_cache)
{
    struct user_count *counts = mmap(NULL, 2 * sizeof(*counts), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool is_held = false;
    pid_t holder;
    int status;

    seed = victim_number("NN_TEST_SEED", 1);
    snprintf(folder, sizeof(folder), "/tmp/nnhal-stops-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    holder = start_application(&counts[0], UINT32_MAX);
    for (int i = 0; i < TRIES && !is_held; i++) {
        remove_compiled();
        usleep(any_us(LONGEST_US / 4));
        stop_process(holder);
        is_held = is_locked();
        if (!is_held)
            kill(holder, SIGCONT);
    }
    ck_assert_msg(is_held, "none was stopped with the lock");
    remove_compiled();
    ck_assert_int_eq(waitpid(start_application(&counts[1], COMPILATIONS), &status, 0) > 0, 1);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(counts[1].compiled[0], COMPILATIONS);
    ck_assert(is_locked());
    printf("a lock that stays: %d compilations, longest call %llu ms\n", COMPILATIONS,
           (unsigned long long)counts[1].longest_ms);
    kill_process(holder);
    ck_assert_int_eq(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    munmap(counts, 2 * sizeof(*counts));
}
TEST_END

CHECK_MAIN("stops", clients_of_the_sample_driver_are_stopped, clients_of_the_cpu_driver_are_stopped,
           an_application_is_stopped_while_it_holds_the_lock_of_a_cache)
