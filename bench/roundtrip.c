/* SPDX-License-Identifier: Apache-2.0 */
/* roundtrip.c - what one call costs: a one-element ADD on the sample driver
 *
 *     roundtrip [ROUNDS]
 *
 * In each round every way is measured in a process of its own (embedded, private,
 * service), beside a raw ping-pong of 64-byte SOCK_SEQPACKET packets between two
 * processes. The medians of the rounds are printed, for both sides on one CPU and
 * on two. NNHAL_HOST says where nnhal-host is; by default beside this program's
 * folder. Ends with 1 if a way costs more than SPECIFICATION.md promises. */
#include "adder.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_CALLS = 2000, N_WARM = 200, MAX_ROUNDS = 31, PACKET_BYTES = 64, N_WAYS = 4 };

static const char *const ways[N_WAYS] = {"raw", "embedded", "private", "service"};

/* What each may cost of raw (SPECIFICATION.md). */
static const double most[N_WAYS] = {1, 0.2, 1.5, 1.5};

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

/* The median of calls of step, microseconds. */
static double median_us(void (*step)(void *ctx), void *ctx)
{
    static uint64_t times[N_CALLS];

    for (int i = 0; i < N_WARM; i++)
        step(ctx);
    for (int i = 0; i < N_CALLS; i++) {
        uint64_t began = adder_now_ns();

        step(ctx);
        times[i] = adder_now_ns() - began;
    }
    qsort(times, N_CALLS, sizeof(times[0]), compare_u64);
    return (double)times[N_CALLS / 2] / 1e3;
}

static void ping(void *ctx)
{
    char packet[PACKET_BYTES] = {0};
    int fd = *(int *)ctx;

    if (send(fd, packet, sizeof(packet), 0) < 0 || recv(fd, packet, sizeof(packet), 0) <= 0)
        adder_die("ping");
}

static void echo(int fd)
{
    char packet[PACKET_BYTES];

    while (recv(fd, packet, sizeof(packet), 0) > 0)
        if (send(fd, packet, sizeof(packet), MSG_NOSIGNAL) < 0)
            break;
    _exit(0);
}

static double measure_raw(int peer_cpu)
{
    int pair[2];
    double result;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        adder_die("socketpair");
    pid = fork();
    if (pid < 0)
        adder_die("fork");
    if (pid == 0) {
        close(pair[0]);
        adder_pin(peer_cpu);
        echo(pair[1]);
    }
    close(pair[1]);
    result = median_us(ping, &pair[0]);
    close(pair[0]);
    waitpid(pid, NULL, 0);
    return result;
}

static void compute(void *execution)
{
    if (ANeuralNetworksExecution_compute(execution) != ANEURALNETWORKS_NO_ERROR)
        adder_die("compute");
}

static double measure_api(void)
{
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation = adder_compile("nnhal-sample", &model);
    ANeuralNetworksExecution *execution;
    float x = 1, y = 2, z = 0;
    double result;

    ANeuralNetworksExecution_create(compilation, &execution);
    ANeuralNetworksExecution_setReusable(execution, true);
    ANeuralNetworksExecution_setInput(execution, 0, NULL, &x, sizeof(x));
    ANeuralNetworksExecution_setInput(execution, 1, NULL, &y, sizeof(y));
    ANeuralNetworksExecution_setOutput(execution, 0, NULL, &z, sizeof(z));
    result = median_us(compute, execution);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return z == 3 ? result : -1;
}

/* Runs in a process of its own. The private child takes over this process's CPUs
 * when it is started, so it is made before this side is pinned. */
static double measure(int way, int cpu, int peer_cpu)
{
    pid_t service = way == 3 ? adder_start_service("sample", NULL, peer_cpu) : 0;
    uint32_t n;
    double result;

    if (way == 0) {
        adder_pin(cpu);
        return measure_raw(peer_cpu);
    }
    setenv("NNHAL_MODE", ways[way], 1);
    if (way == 2) {
        adder_pin(peer_cpu);
        ANeuralNetworks_getDeviceCount(&n);
    }
    adder_pin(cpu);
    result = measure_api();
    if (service) {
        kill(service, SIGTERM);
        waitpid(service, NULL, 0);
    }
    return result;
}

static double measure_apart(int way, int cpu, int peer_cpu)
{
    double result = -1;
    int pipe_fds[2];
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        adder_die("pipe2");
    pid = fork();
    if (pid < 0)
        adder_die("fork");
    if (pid == 0) {
        result = measure(way, cpu, peer_cpu);
        _exit(write(pipe_fds[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
    }
    close(pipe_fds[1]);
    if (read(pipe_fds[0], &result, sizeof(result)) != sizeof(result))
        result = -1;
    close(pipe_fds[0]);
    waitpid(pid, NULL, 0);
    return result;
}

/* Returns: whether every way was measured and costs no more than it may. */
static bool print_table(int rounds, int cpu, int peer_cpu)
{
    static double results[N_WAYS][MAX_ROUNDS];
    bool is_good = true;

    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < N_WAYS; way++)
            results[way][round] = measure_apart(way, cpu, peer_cpu);
    printf("round trip of a one-element ADD, %s, median of %d rounds\n",
           cpu == peer_cpu ? "both sides on one CPU" : "each side on its CPU", rounds);
    for (int way = 0; way < N_WAYS; way++)
        qsort(results[way], (size_t)rounds, sizeof(double), compare_double);
    for (int way = 0; way < N_WAYS; way++) {
        double median = results[way][rounds / 2], ratio = median / results[0][rounds / 2];
        bool is_measured = results[way][0] >= 0, is_slow = is_measured && ratio > most[way];

        if (is_measured)
            printf("  %-9s %8.2f us  %6.2f x raw%s\n", ways[way], median, ratio,
                   is_slow ? "   SLOW" : "");
        else
            printf("  %-9s could not be measured\n", ways[way]);
        is_good = is_good && is_measured && !is_slow;
    }
    return is_good;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5, cpus[2] = {-1, -1}, n = 0;
    cpu_set_t set;
    bool is_good;

    if (rounds < 1 || rounds > MAX_ROUNDS)
        rounds = 5;
    adder_begin();
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        adder_die("sched_getaffinity");
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &set))
            cpus[n++] = i;
    is_good = print_table(rounds, cpus[0], cpus[0]);
    if (n > 1)
        is_good = print_table(rounds, cpus[0], cpus[1]) && is_good;
    else
        puts("there is one CPU only");
    adder_end();
    return is_good ? 0 : 1;
}
