/* SPDX-License-Identifier: Apache-2.0 */
/* burst.c - what an inference through a burst costs, and what it could cost
 *
 *     burst [ROUNDS]
 *
 * The round trip of a one-element ADD on the sample driver's service, inputs and
 * output in shared memory, each side on a CPU of its own: through a burst whose
 * sides look again and again, beside two processes that pass each other a word
 * in shared memory; through one whose sides sleep, beside two processes that
 * wake each other by futex; and by ordinary calls. The host makes a burst from the
 * prepared model, or from an executor of the driver's. Every row is measured in a
 * process of its own; the rounds over all rows are interleaved, and the medians
 * of the rounds' medians and 99th percentiles are printed. */
#include "adder.h"

#include "tools/nnhal/pingpong.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A spinning burst costs a packet of 14 elements beside the ping-pong's one word. */
enum { N_CALLS = 5000, N_WARM = 500, MAX_ROUNDS = 31 };

#define FOR_EVER "1000000" /* microseconds */
#define HOST     "bursts"  /* the host serves them, from the prepared model */

/* What is measured. of: the row that it is compared with, -1: none; most: what its median may be
 * of that one's (SPECIFICATION.md). */
struct row {
    const char *name;
    int of;
    double most;
    const char *mode;  /* NULL: a raw ping-pong */
    const char *spin;  /* NNHAL_BURST_SPIN_US, of both sides; NULL: as it comes */
    const char *burst; /* NNHAL_BURST; "yes": a burst of the application's own */
    enum pingpong_kind raw;
    const char *configuration; /* of the driver; NULL: it serves bursts itself */
};

static const struct row rows[] = {
    {"raw shared memory, spinning", -1, 0, NULL, NULL, NULL, PINGPONG_SPIN, NULL},
    {"burst, spinning", 0, 15, "service", FOR_EVER, "yes", 0, HOST},
    {"burst by an executor, spinning", 0, 15, "service", FOR_EVER, "yes", 0, NULL},
    {"burst of compute()'s own, spinning", 0, 15, "service", FOR_EVER, "on", 0, HOST},
    {"raw futex", -1, 0, NULL, NULL, NULL, PINGPONG_FUTEX, NULL},
    {"burst, blocking", 4, 2, "service", "0", "yes", 0, HOST},
    {"burst by an executor, blocking", 4, 2, "service", "0", "yes", 0, NULL},
    {"call", 4, 3, "service", NULL, "off", 0, NULL},
    {"embedded, call", -1, 0, "embedded", NULL, "off", 0, NULL},
    {"embedded, burst", -1, 0, "embedded", NULL, "yes", 0, NULL},
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

struct times {
    double median_us, p99_us; /* below 0: could not be measured */
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct times judge(uint64_t *ns)
{
    qsort(ns, N_CALLS, sizeof(ns[0]), compare_u64);
    return (struct times){(double)ns[N_CALLS / 2] / 1e3, (double)ns[N_CALLS / 100 * 99] / 1e3};
}

/* -- one row, in a process of its own ------------------------------------------------ */

/* Inputs at 0 and 64, the output at 128. */
static ANeuralNetworksMemory *make_memory(float **ret_floats)
{
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("bench", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, 4096) < 0)
        adder_die("memfd");
    *ret_floats = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*ret_floats == MAP_FAILED ||
        ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &memory))
        adder_die("memory");
    close(fd);
    return memory;
}

static void compute_all(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
                        uint64_t *ret_ns)
{
    for (int i = -N_WARM; i < N_CALLS; i++) {
        uint64_t began = adder_now_ns();
        int r = burst ? ANeuralNetworksExecution_burstCompute(execution, burst)
                      : ANeuralNetworksExecution_compute(execution);

        if (r != ANEURALNETWORKS_NO_ERROR)
            adder_die("compute");
        if (i >= 0)
            ret_ns[i] = adder_now_ns() - began;
    }
}

static struct times measure_api(const struct row *row)
{
    static uint64_t ns[N_CALLS];
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation = adder_compile("nnhal-sample", &model);
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksBurst *burst = NULL;
    ANeuralNetworksMemory *memory;
    float *floats;

    memory = make_memory(&floats);
    floats[0] = 1;
    floats[16] = 2;
    if (!strcmp(row->burst, "yes") && ANeuralNetworksBurst_create(compilation, &burst))
        adder_die("burst");
    ANeuralNetworksExecution_create(compilation, &execution);
    ANeuralNetworksExecution_setReusable(execution, true);
    ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 4);
    ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memory, 64, 4);
    ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 128, 4);
    compute_all(execution, burst, ns);
    if (floats[32] != 3)
        adder_die("the sum is wrong");
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return judge(ns);
}

static struct times measure(const struct row *row, int cpu, int peer_cpu)
{
    static uint64_t ns[N_CALLS];
    bool is_served = row->mode && !strcmp(row->mode, "service");
    struct times times;
    pid_t service = 0;

    if (!row->mode) {
        if (pingpong_run(row->raw, cpu, peer_cpu, N_CALLS, ns) < 0)
            adder_die("ping-pong");
        return judge(ns);
    }
    setenv("NNHAL_MODE", row->mode, 1);
    setenv("NNHAL_BURST", row->burst, 1);
    if (row->spin)
        setenv("NNHAL_BURST_SPIN_US", row->spin, 1);
    if (is_served)
        service = adder_start_service("sample", row->configuration, peer_cpu);
    adder_pin(cpu);
    times = measure_api(row);
    if (service) {
        kill(service, SIGTERM);
        waitpid(service, NULL, 0);
    }
    return times;
}

static struct times measure_apart(const struct row *row, int cpu, int peer_cpu)
{
    struct times times = {-1, -1};
    int pipe_fds[2];
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        adder_die("pipe2");
    pid = fork();
    if (pid < 0)
        adder_die("fork");
    if (pid == 0) {
        times = measure(row, cpu, peer_cpu);
        _exit(write(pipe_fds[1], &times, sizeof(times)) == sizeof(times) ? 0 : 1);
    }
    close(pipe_fds[1]);
    if (read(pipe_fds[0], &times, sizeof(times)) != sizeof(times))
        times = (struct times){-1, -1};
    close(pipe_fds[0]);
    waitpid(pid, NULL, 0);
    return times;
}

/* -- the table ------------------------------------------------------------------------- */

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(values[0]), compare_double);
    return values[n / 2];
}

/* Returns: whether it was measured and costs no more than it may. */
static bool print_row(const struct row *row, const struct times *times)
{
    const struct times *mine = &times[row - rows], *raw = row->of >= 0 ? &times[row->of] : NULL;
    bool is_slow = raw && mine->median_us > row->most * raw->median_us;

    if (mine->median_us < 0)
        printf("  %-36s could not be measured\n", row->name);
    else if (raw)
        printf("  %-36s %8.2f us %8.2f us  %6.2f x %6.2f x %s%s\n", row->name, mine->median_us,
               mine->p99_us, mine->median_us / raw->median_us, mine->p99_us / raw->p99_us,
               rows[row->of].name, is_slow ? "   SLOW" : "");
    else
        printf("  %-36s %8.2f us %8.2f us\n", row->name, mine->median_us, mine->p99_us);
    return mine->median_us >= 0 && !is_slow;
}

static bool print_table(int rounds, int cpu, int peer_cpu)
{
    static double medians[N_ROWS][MAX_ROUNDS], p99s[N_ROWS][MAX_ROUNDS];
    struct times times[N_ROWS];
    bool is_good = true;

    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < N_ROWS; i++) {
            struct times one = measure_apart(&rows[i], cpu, peer_cpu);

            medians[i][round] = one.median_us;
            p99s[i][round] = one.p99_us;
        }
    for (int i = 0; i < N_ROWS; i++)
        times[i] = (struct times){median(medians[i], rounds), median(p99s[i], rounds)};
    printf("burst: round trip of a one-element ADD, median and p99, medians of %d rounds\n",
           rounds);
    for (int i = 0; i < N_ROWS; i++)
        is_good = print_row(&rows[i], times) && is_good;
    printf("  a spinning burst over embedded: %.2f us\n", times[1].median_us - times[8].median_us);
    return is_good;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5, cpus[2] = {-1, -1}, n = 0;
    cpu_set_t set;
    bool is_good;

    if (rounds < 1 || rounds > MAX_ROUNDS)
        rounds = 5;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        adder_die("sched_getaffinity");
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &set))
            cpus[n++] = i;
    if (n < 2) {
        puts("bursts need two CPUs to be measured: there is one only");
        return 0;
    }
    adder_begin();
    is_good = print_table(rounds, cpus[0], cpus[1]);
    adder_end();
    return is_good ? 0 : 1;
}
