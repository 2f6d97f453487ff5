/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts as an application has them, in each way: the results of compute(), nothing
 * left behind, and the burst that compute() becomes by itself. NN_TEST_ROUNDS
 * says how many bursts come and go (200). */
#include "ways.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

static int n_rounds(void)
{
    const char *value = getenv("NN_TEST_ROUNDS");

    return value ? atoi(value) * 10 : 200;
}

/* Of one burst two; in the driver's own process, where the sample executes it, both sides map them. */
static size_t n_queues(void)
{
    return count_mappings("nnhal-fmq");
}

/* Waits until what() is n, 20 s at most. */
static void wait_for(size_t (*what)(void), size_t n)
{
    uint64_t limit_ns = ways_now_ns() + 20 * SECOND_NS;

    while (what() != n) {
        ck_assert_msg(ways_now_ns() < limit_ns, "%zu are left, not %zu", what(), n);
        ways_nap(1000000);
    }
}

TEST(a_burst_gives_the_bits_of_compute)
{
    struct ways_formula plain, burst;

    ways_begin();
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        OK(ways_formula_compile(&plain));
        ways_formula_bind(&plain, in_memory);
        OK(ways_formula_compile(&burst));
        ways_formula_bind(&burst, in_memory);
        ways_formula_burst(&burst);
        ck_assert_uint_eq(n_queues(), ways_is("embedded") ? 4 : 2);
        for (int i = 0; i < 1000; i++) {
            OK(ways_formula_run(&plain, i * 7919));
            OK(ways_formula_run(&burst, i * 7919));
            ck_assert_int_eq(memcmp(plain.z, burst.z, 16), 0);
        }
        ways_formula_done(&plain);
        ways_formula_done(&burst);
        wait_for(n_queues, 0);
    }
    ways_end();
}
TEST_END

/* Packets have no place for padding: what has some is computed by calls. */
TEST(what_no_packet_can_say_is_computed_all_the_same)
{
    struct ways_formula formula;
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("padded", MFD_CLOEXEC);
    float *floats;

    ways_begin();
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    floats = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(floats, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    OK(ways_formula_compile(&formula));
    ways_formula_burst(&formula);
    OK(ANeuralNetworksExecution_create(formula.compilation, &formula.execution));
    OK(ANeuralNetworksExecution_setReusable(formula.execution, true));
    OK(ANeuralNetworksExecution_enableInputAndOutputPadding(formula.execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(formula.execution, 0, NULL, memory, 0, 64));
    OK(ANeuralNetworksExecution_setInputFromMemory(formula.execution, 1, NULL, memory, 64, 64));
    OK(ANeuralNetworksExecution_setOutputFromMemory(formula.execution, 0, NULL, memory, 128, 64));
    formula.x = floats;
    formula.y = floats + 16;
    formula.z = floats + 32;
    for (int i = 0; i < 20; i++)
        OK(ways_formula_run(&formula, i));
    ANeuralNetworksMemory_free(memory);
    ways_formula_done(&formula);
    munmap(floats, 4096);
    ways_end();
}
TEST_END

/* Slots are 1024: each memory must leave its own. */
TEST(memories_come_and_go_on_one_burst)
{
    struct ways_formula formula;
    size_t n_fds = 0;

    ways_begin();
    OK(ways_formula_compile(&formula));
    for (int i = 0; i < 1100; i++) {
        ANeuralNetworksBurst *burst = formula.burst;

        ways_formula_bind(&formula, true);
        if (!burst)
            ways_formula_burst(&formula);
        OK(ways_formula_run(&formula, i));
        ANeuralNetworksMemory_free(formula.memory);
        munmap(formula.x, 4096);
        ANeuralNetworksExecution_free(formula.execution);
        if (i == 10)
            n_fds = count_fds();
    }
    ck_assert_uint_eq(count_fds(), n_fds);
    formula.memory = NULL;
    formula.execution = NULL;
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

TEST(bursts_come_and_go)
{
    struct ways_formula formula;
    size_t n_fds, n_threads;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    ways_formula_burst(&formula);
    OK(ways_formula_run(&formula, 1));
    n_fds = count_fds();
    n_threads = count_threads();
    for (int i = 0; i < n_rounds(); i++) {
        ANeuralNetworksBurst_free(formula.burst);
        ways_formula_burst(&formula);
        OK(ways_formula_run(&formula, i));
    }
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(count_threads(), n_threads);
    ck_assert_uint_eq(n_queues(), ways_is("embedded") ? 4 : 2);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

static int in_child(struct ways_formula *formula)
{
    int result = ANeuralNetworksExecution_burstCompute(formula->execution, formula->burst);

    ways_formula_done(formula);
    return result == ANEURALNETWORKS_DEAD_OBJECT ? 0 : 1;
}

TEST(a_forked_child_leaves_the_parents_burst_alone)
{
    struct ways_formula formula;
    int status = -1;
    pid_t child;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    ways_formula_burst(&formula);
    OK(ways_formula_run(&formula, 1));
    child = fork();
    if (child == 0)
        _exit(in_child(&formula));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < 100; i++)
        OK(ways_formula_run(&formula, i));
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* -- the implicit one ------------------------------------------------------------- */

TEST(compute_becomes_a_burst_and_stops_being_one)
{
    struct ways_formula formula;
    uint64_t limit_ns = ways_now_ns() + 20 * SECOND_NS;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    for (int i = 0; i < 8; i++) {
        OK(ways_formula_run(&formula, i));
        ck_assert_uint_eq(n_queues(), 0);
    }
    if (!ways_is("embedded")) {
        for (int i = 0; n_queues() == 0; i++) { /* a loaded machine takes longer than 1 s for 8 */
            OK(ways_formula_run(&formula, i));
            ck_assert_uint_lt(ways_now_ns(), limit_ns);
        }
        ck_assert_uint_eq(n_queues(), 2);
        for (int i = 0; i < 100; i++)
            OK(ways_formula_run(&formula, i));
        wait_for(n_queues, 0); /* it is not used */
        OK(ways_formula_run(&formula, 3));
    }
    ways_formula_done(&formula);
    ck_assert_uint_eq(n_queues(), 0);
    ways_end();
}
TEST_END

TEST(it_can_be_forbidden)
{
    struct ways_formula formula;

    setenv("NNHAL_BURST", "off", 1);
    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    for (int i = 0; i < 200; i++)
        OK(ways_formula_run(&formula, i));
    ck_assert_uint_eq(n_queues(), 0);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

static void *compute_all(void *argument)
{
    struct ways_formula *formula = argument;

    for (int i = 0; i < 2000; i++)
        OK(ways_formula_run(formula, i));
    return NULL;
}

/* One has the burst, the others call meanwhile; models go while bursts are idle. */
TEST(several_threads_compute_one_model)
{
    enum { N_THREADS = 4 };
    struct ways_formula formulas[N_THREADS] = {{NULL}};
    pthread_t threads[N_THREADS];

    ways_begin();
    OK(ways_formula_compile(&formulas[0]));
    for (int i = 0; i < N_THREADS; i++) {
        formulas[i].compilation = formulas[0].compilation;
        ways_formula_bind(&formulas[i], i & 1);
        if (i == 3)
            ways_formula_burst(&formulas[i]);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, compute_all, &formulas[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < N_THREADS; i++)
        formulas[i].compilation = NULL;
    for (int i = N_THREADS; i > 0; i--)
        ways_formula_done(&formulas[i - 1]);
    ck_assert_uint_eq(n_queues(), 0);
    ways_end();
}
TEST_END

CHECK_MAIN("burst-" WAY, a_burst_gives_the_bits_of_compute,
           what_no_packet_can_say_is_computed_all_the_same, memories_come_and_go_on_one_burst,
           bursts_come_and_go, a_forked_child_leaves_the_parents_burst_alone,
           compute_becomes_a_burst_and_stops_being_one, it_can_be_forbidden,
           several_threads_compute_one_model)
