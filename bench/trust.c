/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - what one user of a service can cost another one
 *
 *     trust [LOAD]
 *
 * A service of the CPU driver, and two users. One computes an ADD of one element: single calls
 * with a pause of 1 ms, rare ones with 150 ms, after which it counts for nothing any more, and
 * an own burst; first alone, then while the other one loads the service with what is said in the
 * row. LOAD is the number of a row. Printed are the 99th percentile of the calls, the 90th
 * of the rare ones, and the burst's median beside the quiet one. Ends with 1, and says which
 * rows, if a figure is above what SPECIFICATION.md promises, or if a load does not run: then the
 * service computes for less than half of a CPU's time. Needs root, to have two users; without, it
 * ends with 77: not measured. */
#include "adder.h"
#include "load.h"
#include "support/host-process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOADER = 60001,
    CALLER = 60002,
    N_CALLS = 1000,
    N_RARE = 20,
    N_BURST = 4000,
    SHORT_US = 1000,
    LONG_US = 150000,
    BEGIN_US = 1000000, /* until a load is there */
    LOOK_US = 500000,   /* how long it is looked at */
    NOT_MEASURED = 77,
    AHEAD_NICE = -15,
    TRIES = 3,
};

/* SPECIFICATION.md: milliseconds, and times the quiet burst. */
#define MOST_MS    5.0
#define MOST_RATIO 3.0

static const struct load loads[] = {
    {"12 loops of 1 connection", LOAD_LOOPS, 1, 12, ANEURALNETWORKS_PRIORITY_MEDIUM},
    {"12 loops of each of 2", LOAD_LOOPS, 2, 12, ANEURALNETWORKS_PRIORITY_HIGH},
    {"12 loops of each of 20", LOAD_LOOPS, 20, 12, ANEURALNETWORKS_PRIORITY_MEDIUM},
    {"250 bursts without end", LOAD_BURSTS, 5, 50, ANEURALNETWORKS_PRIORITY_MEDIUM},
    {"20 preparations that fold", LOAD_FOLDS, 20, 1, ANEURALNETWORKS_PRIORITY_MEDIUM},
    {"memory, 8 times 64 MiB", LOAD_MEMORY, 4, 2, ANEURALNETWORKS_PRIORITY_MEDIUM},
    {"40 executions of low priority", LOAD_LOOPS, 2, 20, ANEURALNETWORKS_PRIORITY_LOW},
};

enum { N_LOADS = sizeof(loads) / sizeof(loads[0]) };

struct figures {
    double calls_ms, rare_ms, burst_us, burst_p99_us; /* calls_ms below 0: not measured */
};

/* -- the other user, in a process of its own -------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The times of n calls, sorted; burst: NULL for single ones. */
static void measure_calls(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
                          uint32_t pause_us, int n, uint64_t *ret_ns)
{
    for (int i = 0; i < n; i++) {
        uint64_t began;
        int r;

        if (pause_us)
            usleep(pause_us);
        began = adder_now_ns();
        r = burst ? ANeuralNetworksExecution_burstCompute(execution, burst)
                  : ANeuralNetworksExecution_compute(execution);
        ret_ns[i] = adder_now_ns() - began;
        if (r != ANEURALNETWORKS_NO_ERROR)
            adder_die("compute");
    }
    qsort(ret_ns, (size_t)n, sizeof(ret_ns[0]), compare_u64);
}

static struct figures measure(void)
{
    static uint64_t ns[N_BURST];
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation = adder_compile("nnhal-cpu", &model);
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksBurst *burst = NULL;
    float x = 1, y = 2, z = 0;
    struct figures figures;

    ANeuralNetworksExecution_create(compilation, &execution);
    ANeuralNetworksExecution_setReusable(execution, true);
    ANeuralNetworksExecution_setInput(execution, 0, NULL, &x, sizeof(x));
    ANeuralNetworksExecution_setInput(execution, 1, NULL, &y, sizeof(y));
    ANeuralNetworksExecution_setOutput(execution, 0, NULL, &z, sizeof(z));
    if (ANeuralNetworksBurst_create(compilation, &burst))
        adder_die("burst");
    measure_calls(execution, NULL, SHORT_US, N_CALLS, ns);
    figures.calls_ms = (double)ns[N_CALLS / 100 * 99] / 1e6;
    measure_calls(execution, NULL, LONG_US, N_RARE, ns);
    figures.rare_ms = (double)ns[N_RARE / 10 * 9] / 1e6;
    measure_calls(execution, burst, 0, N_BURST / 10, ns);
    measure_calls(execution, burst, 0, N_BURST, ns);
    figures.burst_us = (double)ns[N_BURST / 2] / 1e3;
    figures.burst_p99_us = (double)ns[N_BURST / 100 * 99] / 1e3;
    if (z != 3)
        adder_die("the sum is wrong");
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return figures;
}

static struct figures measure_apart(void)
{
    struct figures figures = {.calls_ms = -1};
    int pipe_fds[2];
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        adder_die("pipe2");
    pid = fork();
    if (pid < 0)
        adder_die("fork");
    if (pid == 0) {
        load_become(CALLER);
        figures = measure();
        _exit(write(pipe_fds[1], &figures, sizeof(figures)) == sizeof(figures) ? 0 : 1);
    }
    close(pipe_fds[1]);
    if (read(pipe_fds[0], &figures, sizeof(figures)) != sizeof(figures))
        figures.calls_ms = -1;
    close(pipe_fds[0]);
    waitpid(pid, NULL, 0);
    return figures;
}

/* -- the table ------------------------------------------------------------------------------- */

/* Returns: whether it was measured and keeps the promise. */
static bool print_row(const struct load *load, const struct figures *quiet,
                      const struct figures *loaded)
{
    double ratio = loaded->burst_us / quiet->burst_us;
    bool is_slow = loaded->calls_ms > MOST_MS || loaded->rare_ms > MOST_MS || ratio > MOST_RATIO;

    if (quiet->calls_ms < 0 || loaded->calls_ms < 0) {
        printf("  %-30s could not be measured\n", load->name);
        return false;
    }
    printf("  %-30s %7.3f %7.3f   %7.3f %7.3f   %7.2f %7.2f %6.2f %9.2f%s\n", load->name,
           quiet->calls_ms, loaded->calls_ms, quiet->rare_ms, loaded->rare_ms, quiet->burst_us,
           loaded->burst_us, ratio, loaded->burst_p99_us, is_slow ? "   SLOW" : "");
    fflush(stdout);
    return !is_slow;
}

/* Of the process of the driver. */
static double cpu_s(pid_t service)
{
    unsigned long user = 0, kernel = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)host_process(service));
    file = fopen(path, "re");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                        &user, &kernel) != 2)
        adder_die(path);
    fclose(file);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* What a service refuses keeps no one waiting, and would pass for a promise that is kept. */
static bool load_runs(const struct load *load, pid_t service)
{
    double before;

    usleep(BEGIN_US);
    before = cpu_s(service);
    usleep(LOOK_US);
    if (cpu_s(service) - before > LOOK_US / 2e6)
        return true;
    printf("  %-30s does not run\n", load->name);
    return false;
}

/* What is above is measured again: what else the machine does costs time, too. */
static bool measure_load(const struct load *load)
{
    bool is_good = false;

    for (int i = 0; i < TRIES && !is_good; i++) {
        pid_t pids[LOAD_MAX_CONNECTIONS], service = adder_start_service("cpu", NULL, -1);
        struct figures quiet = measure_apart(), loaded;
        bool runs;

        load_start(load, LOADER, pids);
        runs = load_runs(load, service);
        loaded = measure_apart();
        load_stop(load, pids);
        kill(service, SIGTERM);
        waitpid(service, NULL, 0);
        is_good = print_row(load, &quiet, &loaded) && runs;
    }
    return is_good;
}

int main(int argc, char **argv)
{
    int only = argc > 1 ? atoi(argv[1]) : -1;
    bool is_good[N_LOADS], are_good = true;

    if (geteuid() != 0) {
        puts("what one user costs another: NOT MEASURED, two users need root");
        return NOT_MEASURED;
    }
    adder_begin();
    adder_share();
    /* The two users and their service alike, before all else that runs on the machine. */
    setpriority(PRIO_PROCESS, 0, AHEAD_NICE);
    setenv("NNHAL_MODE", "service", 1);
    printf("another user's ADD of one element: 99 of 100 calls, 9 of 10 rare ones, its burst\n"
           "  %-30s %15s   %15s   %s\n",
           "load of a user", "quiet, now (ms)", "quiet, now (ms)",
           "quiet, now (us), times, 99 of 100");
    for (int i = 0; i < N_LOADS; i++)
        is_good[i] = (only >= 0 && only != i) || measure_load(&loads[i]);
    adder_end();
    for (int i = 0; i < N_LOADS; i++) {
        if (!is_good[i])
            printf("%s%s", are_good ? "above 5 ms or 3 times the quiet burst, or no load: " : ", ",
                   loads[i].name);
        are_good = are_good && is_good[i];
    }
    puts(are_good ? "each within 5 ms and 3 times the quiet burst" : "");
    return are_good ? 0 : 1;
}
