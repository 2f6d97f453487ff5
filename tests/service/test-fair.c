/* SPDX-License-Identifier: Apache-2.0 */
/* Two users of one service: what one of them asks for does not keep the other one waiting.
 * Needs root, to have two users. NN_TEST_SEED chooses the loads. */
#include "service/stand.h"

#include "base/permits.h"
#include "base/sys.h"
#include "cpu/endless.h"
#include "hal/messages.h"
#include "host/burst-line.h"
#include "host/session.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    USER_A = 60001,
    USER_B = 60002,
    MAX_CONNECTIONS = 20,
    MAX_THREADS = 50,
    N_CALLS = 100,
    BUSY_MS = 500,
    FOLD_RATIO = 3000, /* some tenths of a second */
    SIDE = 4096,       /* of an output of 64 MiB */
};

#define ANSWERED_NS UINT64_C(2000000000)
#define PATIENCE_NS UINT64_C(20000000000) /* for what must come */

static struct stand stand;

enum load_kind {
    LOOPS,  /* executions without end */
    BURSTS, /* the same, a burst for each of n_threads, and one thread for all of them */
    FOLDS,  /* preparations of constants */
    MEMORY, /* outputs of 64 MiB, each in a memory of its own */
};

/* What a thread of user A asks for, again and again. */
struct load {
    enum load_kind kind;
    uint32_t priority;
    size_t n_connections, n_threads; /* threads of each connection */
};

struct asker {
    const struct load *load;
    struct nn_hal *hal;
    pthread_t thread;
};

static uint64_t prepare(struct desk *desk, const struct nnhal_model *model, uint32_t priority)
{
    const struct nn_hal_prepare_model_args args = {.model = *model,
                                                   .preference = NNHAL_FAST_SINGLE_ANSWER,
                                                   .priority = priority,
                                                   .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_prepare_model_reply reply;

    if (nn_hal_prepare_model(desk->hal, &args, &reply, &desk->arena) != NNHAL_NONE)
        return 0;
    return reply.prepared_model;
}

static void ask_for_loops(struct desk *desk, const struct load *load)
{
    struct builder b;
    const struct nnhal_model *model = endless_build(
        &b, load->kind == FOLDS, load->kind == FOLDS ? FOLD_RATIO : ENDLESS_RATIO);
    uint64_t memory = desk_memory(desk, 4096), prepared;

    for (;;) {
        prepared = prepare(desk, model, load->priority);
        if (prepared && load->kind == LOOPS) {
            desk_begin(desk);
            desk_input(desk, 0, NULL, memory, 0, ENDLESS_INPUT_BYTES);
            desk_output(desk, 0, NULL, memory, 1024, ENDLESS_OUTPUT_BYTES);
            desk_execute(desk, prepared);
        }
        if (prepared)
            desk_free_prepared(desk, prepared);
    }
}

static void ask_for_bursts(struct desk *desk, const struct load *load)
{
    uint64_t memory = desk_memory(desk, 4096), prepared;
    struct builder b;

    prepared = prepare(desk, endless_build(&b, false, ENDLESS_RATIO), load->priority);
    for (size_t i = 0; i < load->n_threads; i++) {
        struct line *line = calloc(1, sizeof(*line));

        line_open(line, desk, prepared, 64, 64);
        line_set_all(line);
        desk_begin(desk);
        desk_input(desk, 0, NULL, memory, 0, ENDLESS_INPUT_BYTES);
        desk_output(desk, 0, NULL, memory, 1024, ENDLESS_OUTPUT_BYTES);
        line_pack(line);
        line_send(line);
    }
    for (;;)
        pause();
}

static const struct nnhal_model *build_square(struct builder *b)
{
    const uint32_t column[] = {SIDE, 1}, row[] = {1, SIDE}, square[] = {SIDE, SIDE};
    uint32_t in[3], out;

    builder_init(b, 2);
    in[0] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 2, column, 0, 0);
    in[1] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 2, row, 0, 0);
    in[2] = builder_i32(b, 0, 0);
    out = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 2, square, 0, 0);
    builder_operation(b, 0, NNHAL_OP_ADD, 3, in, 1, &out);
    builder_model(b);
    b->model.n_pools = 0;
    return &b->model;
}

static void ask_for_memory(struct desk *desk, const struct load *load)
{
    const size_t n_bytes = (size_t)SIDE * SIDE * 4;
    uint64_t inputs = desk_memory(desk, SIDE * 4), output, prepared;
    struct nn_hal_free_memory_reply reply;
    struct builder b;

    prepared = prepare(desk, build_square(&b), load->priority);
    for (;;) {
        int fd = nn_sys_memfd_create("square", false);

        ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
        if (desk_import(desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, n_bytes, 0,
                        &output) == NNHAL_NONE) {
            desk_begin(desk);
            desk_input(desk, 0, NULL, inputs, 0, SIDE * 4);
            desk_input(desk, 0, NULL, inputs, 0, SIDE * 4);
            desk_output(desk, 0, NULL, output, 0, n_bytes);
            desk_execute(desk, prepared);
            nn_hal_free_memory(desk->hal, &(struct nn_hal_free_memory_args){.memory = output},
                               &reply, &desk->arena);
            nn_arena_reset(&desk->arena);
        }
        close(fd);
    }
}

static void *asker_main(void *argument)
{
    const struct asker *asker = argument;
    struct desk *desk = calloc(1, sizeof(*desk));

    desk->hal = asker->hal;
    nn_arena_init(&desk->arena, 0);
    if (asker->load->kind == BURSTS)
        ask_for_bursts(desk, asker->load);
    else if (asker->load->kind == MEMORY)
        ask_for_memory(desk, asker->load);
    else
        ask_for_loops(desk, asker->load);
    return NULL;
}

static void become(uid_t user)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 ||
        setresuid(user, user, user) < 0)
        _exit(2);
}

/* A process of the user's that waits for the word to begin. Returns: its number; 0 in it. */
static pid_t start_process(int begin_fd, uid_t user)
{
    pid_t pid = fork();
    char byte;

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    become(user);
    if (read(begin_fd, &byte, 1) != 1)
        _exit(1);
    return 0;
}

/* Once it may begin it has one connection. */
static pid_t start_asker(int begin_fd, uid_t user, const struct load *load)
{
    struct asker askers[MAX_THREADS];
    pid_t pid = start_process(begin_fd, user);

    if (pid > 0)
        return pid;
    for (size_t i = 0; i < (load->kind == BURSTS ? 1 : load->n_threads); i++) {
        askers[i] = (struct asker){.load = load,
                                   .hal = i == 0 ? stand_dial(&stand) : askers[0].hal};
        pthread_create(&askers[i].thread, NULL, asker_main, &askers[i]);
    }
    for (;;)
        pause();
}

/* The other user, in a process of its own. Returns by its exit status. */
static void call_often(void)
{
    uint64_t begin_ns, before_ns, slowest_ns = 0, memory, prepared;
    struct desk desk;

    stand_desk(&stand, &desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(1)));
    desk_formula_request(&desk, memory, 4);
    begin_ns = nn_sys_now_ns();
    for (size_t i = 0; i < N_CALLS; i++) {
        before_ns = nn_sys_now_ns();
        if (desk_execute(&desk, prepared) != NNHAL_NONE)
            _exit(1);
        if (nn_sys_now_ns() - before_ns > slowest_ns)
            slowest_ns = nn_sys_now_ns() - before_ns;
    }
    before_ns = nn_sys_now_ns() - begin_ns;
    fprintf(stderr, "%d calls in %.1f ms, the slowest %.1f ms\n", N_CALLS, (double)before_ns / 1e6,
            (double)slowest_ns / 1e6);
    _exit(before_ns < ANSWERED_NS ? 0 : 1);
}

static pid_t start_caller(int begin_fd, uid_t user)
{
    pid_t pid = start_process(begin_fd, user);

    if (pid > 0)
        return pid;
    call_often();
    _exit(1);
}

static bool has_users(void)
{
    if (geteuid() == 0)
        return true;
    fprintf(stderr, "SKIPPED: two users need root\n");
    return false;
}

static void nap_until(uint64_t end_ns)
{
    ck_assert_uint_lt(nn_sys_now_ns(), end_ns);
    usleep(1000);
}

/* Whether user A computes at all: what a service refuses keeps no one waiting. */
static void await_load(void)
{
    uint64_t end_ns = nn_sys_now_ns() + PATIENCE_NS;

    while (nn_permits_n_running(stand.host->permits, USER_A) == 0)
        nap_until(end_ns);
}

static void expect_answers(uid_t caller, const struct load *load)
{
    pid_t askers[MAX_CONNECTIONS], other;
    int begin[2], later[2], status;

    if (!has_users())
        return;
    stand_place(&stand);
    ck_assert_int_eq(chmod(stand.folder, 0755), 0);
    ck_assert_int_eq(pipe(begin) | pipe(later), 0);
    for (size_t i = 0; i < load->n_connections; i++)
        askers[i] = start_asker(begin[0], USER_A, load);
    other = start_caller(later[0], caller);
    stand_open_with(&stand, nn_cpu_driver_main);
    ck_assert_int_eq(chmod(stand.path, 0666), 0);
    ck_assert_int_eq((int)write(begin[1], "gogogogogogogogogogo", load->n_connections),
                     (int)load->n_connections);
    await_load();
    usleep(BUSY_MS * 1000);
    ck_assert_int_eq((int)write(later[1], "g", 1), 1);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    await_load();
    for (size_t i = 0; i < load->n_connections; i++)
        kill(askers[i], SIGKILL);
    for (size_t i = 0; i < load->n_connections; i++)
        ck_assert_int_eq(waitpid(askers[i], NULL, 0), askers[i]);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}

TEST(loops_of_one_connection)
{
    expect_answers(
        USER_B,
        &(struct load){.priority = NNHAL_PRIORITY_MEDIUM, .n_connections = 1, .n_threads = 12});
}
TEST_END

TEST(loops_of_two_connections)
{
    expect_answers(
        USER_B,
        &(struct load){.priority = NNHAL_PRIORITY_HIGH, .n_connections = 2, .n_threads = 6});
}
TEST_END

TEST(loops_of_twenty_connections)
{
    expect_answers(USER_B, &(struct load){.priority = NNHAL_PRIORITY_MEDIUM,
                                          .n_connections = MAX_CONNECTIONS,
                                          .n_threads = 12});
}
TEST_END

TEST(bursts_without_end)
{
    expect_answers(USER_B, &(struct load){.kind = BURSTS,
                                          .priority = NNHAL_PRIORITY_MEDIUM,
                                          .n_connections = 5,
                                          .n_threads = 50});
}
TEST_END

TEST(large_outputs)
{
    expect_answers(USER_B, &(struct load){.kind = MEMORY,
                                          .priority = NNHAL_PRIORITY_MEDIUM,
                                          .n_connections = 4,
                                          .n_threads = 2});
}
TEST_END

TEST(preparations_that_fold)
{
    expect_answers(USER_B, &(struct load){.kind = FOLDS,
                                          .priority = NNHAL_PRIORITY_MEDIUM,
                                          .n_connections = 20,
                                          .n_threads = 1});
}
TEST_END

TEST(low_priority_of_another_user)
{
    expect_answers(
        USER_B,
        &(struct load){.priority = NNHAL_PRIORITY_LOW, .n_connections = 2, .n_threads = 20});
}
TEST_END

/* The same user: its own calls overtake what runs with low priority, and find a worker. */
TEST(low_priority_of_the_same_user)
{
    expect_answers(
        USER_A,
        &(struct load){.priority = NNHAL_PRIORITY_LOW, .n_connections = 4, .n_threads = 10});
}
TEST_END

TEST(loads_by_seed)
{
    const char *text = getenv("NN_TEST_SEED");
    uint32_t seed = text ? (uint32_t)strtoul(text, NULL, 0) : 1;

    for (size_t round = 0; round < 3; round++) {
        struct load load = {.kind = (seed >> 8) % 4 == 0 ? FOLDS : LOOPS,
                            .priority = (seed >> 10) % 3,
                            .n_connections = 1 + (seed >> 12) % MAX_CONNECTIONS,
                            .n_threads = 1 + (seed >> 20) % 6};

        fprintf(stderr, "seed %u: ", (unsigned)seed);
        expect_answers(USER_B, &load);
        memset(&stand, 0, sizeof(stand));
        seed = seed * 1103515245 + 12345;
    }
}
TEST_END

/* -- sessions that end ----------------------------------------------------------------------- */

enum { N_LEAVING = 6, N_CLOSERS_OF_USER = 2 };

static struct {
    void (*release)(void *prepared);
    _Atomic uint32_t n_begun, may_end;
} closing;

static void release_late(void *prepared)
{
    closing.n_begun++;
    while (!closing.may_end)
        usleep(1000);
    closing.release(prepared);
}

static void release_late_from_now_on(void)
{
    closing.release = fake.driver.release;
    fake.driver.release = release_late;
}

static void await_count(const _Atomic uint32_t *counter, uint32_t n)
{
    uint64_t end_ns = nn_sys_now_ns() + PATIENCE_NS;

    while (*counter < n)
        nap_until(end_ns);
}

/* A process with some connections, of each of which the driver holds a model. */
static pid_t start_holder(int begin_fd, uid_t user, size_t n_connections)
{
    pid_t pid = start_process(begin_fd, user);

    if (pid > 0)
        return pid;
    for (size_t i = 0; i < n_connections; i++) {
        struct desk *desk = calloc(1, sizeof(*desk));

        stand_desk(&stand, desk);
        desk_prepare(desk, desk_formula(desk, DIMS(1)));
    }
    for (;;)
        pause();
}

static void end_holder(pid_t pid)
{
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

TEST(sessions_that_do_not_end_hold_up_those_of_their_user_alone)
{
    pid_t holder, other;
    int begin[2];

    if (!has_users())
        return;
    stand_place(&stand);
    ck_assert_int_eq(chmod(stand.folder, 0755), 0);
    ck_assert_int_eq(pipe(begin), 0);
    holder = start_holder(begin[0], USER_A, N_LEAVING);
    other = start_holder(begin[0], USER_B, 1);
    fake_on_reset = release_late_from_now_on;
    stand_open(&stand);
    ck_assert_int_eq(chmod(stand.path, 0666), 0);
    ck_assert_int_eq((int)write(begin[1], "gg", 2), 2);
    await_count(&fake.n_prepared, N_LEAVING + 1);
    end_holder(holder);
    await_count(&closing.n_begun, N_CLOSERS_OF_USER);
    usleep(BUSY_MS * 1000);
    ck_assert_uint_eq(closing.n_begun, N_CLOSERS_OF_USER);
    end_holder(other);
    await_count(&closing.n_begun, N_CLOSERS_OF_USER + 1);
    closing.may_end = 1;
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

CHECK_MAIN("fair", loops_of_one_connection, loops_of_two_connections, loops_of_twenty_connections,
           bursts_without_end, large_outputs, preparations_that_fold, low_priority_of_another_user,
           low_priority_of_the_same_user, loads_by_seed,
           sessions_that_do_not_end_hold_up_those_of_their_user_alone)
