/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that rewrite the queues of their bursts while a service serves them: they cost
 * themselves a burst at most, another user is answered, and nothing is left of them. What a
 * service can do to the queues of its clients: test-middle.c.
 * NN_TEST_ROUNDS: bursts of each kind; NN_TEST_SEED: the first. */
#include "attack/probe.h"
#include "attack/vandal.h"
#include "attack/victim.h"

#include "base/sys.h"
#include "hal/dial.h"
#include "host/burst-line.h"
#include "support/check-main.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_NS UINT64_C(20000000000)
#else
#define LIMIT_NS UINT64_C(2000000000)
#endif

#define ANSWER_NS UINT64_C(1000000)

enum {
    ROUNDS = 40,
    CLIENTS = 2,
    PACKETS = 24, /* of a burst */
    ELEMENTS = 64,
    SLACK_KIB = 8192,
    PATIENCE = 8, /* times as many bursts, if few are answered */
};

/* Of all clients; atomic. */
struct count {
    uint64_t n_changes, n_sent, n_answers, n_right;
};

static struct victim victim;
static struct count *count;

/* A client's burst, and who rewrites its queues. */
struct scene {
    struct desk desk;
    struct line line;
    struct vandal vandal;
    pthread_t thread;
    uint32_t must_stop;
    float *floats;
    uint64_t prepared;
};

static void *rewrite(void *argument)
{
    struct scene *scene = argument;

    while (!__atomic_load_n(&scene->must_stop, __ATOMIC_ACQUIRE))
        vandal_act(&scene->vandal);
    return NULL;
}

static void open_line(struct scene *scene, uint64_t spin_ns)
{
    scene->line = (struct line){.spin_ns = spin_ns};
    ck_assert_uint_eq(
        line_try_open(&scene->line, &scene->desk, scene->prepared, ELEMENTS, ELEMENTS), NNHAL_NONE);
    line_set_all(&scene->line);
    line_pack(&scene->line);
}

static void start_rewriting(struct scene *scene, enum vandal_kind kind, uint64_t seed)
{
    struct nnhal_fmq_descriptor requests, results;

    nn_ring_descriptor(scene->line.requests, &requests);
    nn_ring_descriptor(scene->line.results, &results);
    ck_assert(vandal_open(&scene->vandal, kind, seed, (const int[]){requests.fd, results.fd}));
    scene->must_stop = 0;
    ck_assert_int_eq(pthread_create(&scene->thread, NULL, rewrite, scene), 0);
}

static void stop_rewriting(struct scene *scene)
{
    __atomic_store_n(&scene->must_stop, 1, __ATOMIC_RELEASE);
    pthread_join(scene->thread, NULL);
    __atomic_add_fetch(&count->n_changes, scene->vandal.n_changes, __ATOMIC_RELAXED);
    vandal_close(&scene->vandal);
}

/* A packet, if this side of the queue is still good, and what comes back, if anything. */
static void try_packet(struct line *line)
{
    line->sequence++;
    for (uint32_t i = 0; i < line->n_data; i++)
        line->data[i].sequence = line->sequence;
    if (nn_ring_write(line->requests, line->data, line->n_data) == 0)
        __atomic_add_fetch(&count->n_sent, 1, __ATOMIC_RELAXED);
    if (nn_ring_wait_to_read(line->results, 1, nn_sys_now_ns() + ANSWER_NS) == 0 &&
        nn_burst_receive_result(line->results, line->answer, &line->n_answer) == 0)
        __atomic_add_fetch(&count->n_answers, 1, __ATOMIC_RELAXED);
}

/* The end of the burst is answered in time, also while it is attacked. */
static void attack_burst(struct scene *scene, enum vandal_kind kind, uint64_t seed)
{
    uint64_t begin_ns;

    open_line(scene, seed % 2 ? 100000 : 0);
    start_rewriting(scene, kind, seed);
    for (int i = 0; i < PACKETS; i++)
        try_packet(&scene->line);
    begin_ns = nn_sys_now_ns();
    line_close(&scene->line, true);
    ck_assert_uint_lt(nn_sys_now_ns() - begin_ns, LIMIT_NS);
    stop_rewriting(scene);
}

/* On the same session. */
static void use_burst(struct scene *scene)
{
    open_line(scene, 0);
    for (int i = 0; i < 4; i++) {
        scene->floats[0] = (float)i;
        scene->floats[1] = 1;
        scene->floats[2] = -1;
        ck_assert_uint_eq(line_execute(&scene->line), NNHAL_NONE);
        ck_assert_float_eq(scene->floats[2], (float)i + 1);
    }
    line_close(&scene->line, true);
    __atomic_add_fetch(&count->n_right, 1, __ATOMIC_RELAXED);
}

/* Whether the next burst, I of N, is due: packets that never come as far as the driver would prove
 * nothing, and on a busy machine few come back in time. */
static bool is_due(uint32_t i, uint32_t n)
{
    uint64_t n_answers = __atomic_load_n(&count->n_answers, __ATOMIC_RELAXED);

    return i < n || (i < n * PATIENCE && n_answers <= n * CLIENTS / 4);
}

static void be_hostile(enum vandal_kind kind, uint64_t seed, uint32_t n)
{
    static struct scene scene;
    uint64_t memory;

    ck_assert_int_eq(nn_dial_socket(victim.path, NULL, &scene.desk.hal), 0);
    nn_arena_init(&scene.desk.arena, 0);
    memory = desk_memory(&scene.desk, 4096);
    scene.floats = desk_bytes(&scene.desk, memory);
    scene.prepared = desk_prepare(&scene.desk,
                                  desk_sum(&scene.desk, NNHAL_TENSOR_FLOAT32, DIMS(1)));
    desk_formula_request(&scene.desk, memory, 4);
    for (uint32_t i = 0; is_due(i, n); i++) {
        attack_burst(&scene, kind, seed + i);
        if (i % 4 == 0)
            use_burst(&scene);
        nn_arena_reset(&scene.desk.arena);
    }
    use_burst(&scene);
    /* The last one ends with its process. */
    open_line(&scene, 0);
    start_rewriting(&scene, kind, seed + n);
    for (int i = 0; i < PACKETS; i++)
        try_packet(&scene.line);
    _exit(0);
}

static void attack_service(enum vandal_kind kind, uint64_t seed, uint32_t n)
{
    pid_t pids[CLIENTS];
    int status;

    for (int i = 0; i < CLIENTS; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        probe_become_user(2);
        be_hostile(kind, seed + (uint64_t)i * n, n / CLIENTS);
    }
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_msg(status == 0, "a client that changes %s ended: %#x; seed %llu",
                      vandal_name(kind), (unsigned)status, (unsigned long long)seed);
    }
}

static void attack_driver(const char *name)
{
    uint32_t n = victim_number("NN_TEST_ROUNDS", ROUNDS);
    uint64_t seed = victim_number("NN_TEST_SEED", 1);
    struct victim_state before;
    struct probe probe;
    char what[64];

    count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(count, MAP_FAILED);
    victim_start(&victim, name);
    attack_service(VANDAL_PACKETS, seed, CLIENTS);
    before = victim_look(&victim);
    for (int kind = 0; kind < VANDAL_KINDS; kind++) {
        *count = (struct count){0};
        probe_start(&probe, victim.path);
        attack_service((enum vandal_kind)kind, seed, n);
        snprintf(what, sizeof(what), "%s, %s", name, vandal_name((enum vandal_kind)kind));
        probe_stop(&probe, what);
        printf("%s: %llu changes, %llu packets, %llu answers\n", what,
               (unsigned long long)count->n_changes, (unsigned long long)count->n_sent,
               (unsigned long long)count->n_answers);
        ck_assert_uint_gt(count->n_changes, (uint64_t)n * PACKETS);
        ck_assert_uint_gt(count->n_answers, n / 4);
        ck_assert_uint_ge(count->n_right, CLIENTS);
    }
    victim_expect_back(&victim, &before, SLACK_KIB);
    victim_stop(&victim);
    munmap(count, sizeof(*count));
}

TEST(a_service_of_the_sample_driver_outlives_its_clients_queues)
{
    attack_driver("sample");
}
TEST_END

TEST(a_service_of_the_cpu_driver_outlives_its_clients_queues)
{
    attack_driver("cpu");
}
TEST_END

CHECK_MAIN("queue", a_service_of_the_sample_driver_outlives_its_clients_queues,
           a_service_of_the_cpu_driver_outlives_its_clients_queues)
