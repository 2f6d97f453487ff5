/* SPDX-License-Identifier: Apache-2.0 */
/* roundtrip.c - what one call costs: a one-element ADD on the sample driver
 *
 *     roundtrip [ROUNDS]
 *
 * In each round every way is measured in a process of its own (embedded, private,
 * service), beside a raw ping-pong of 64-byte SOCK_SEQPACKET packets between two
 * processes. The medians of the rounds are printed, for both sides on one CPU and
 * on two. NNHAL_HOST says where nnhal-host is; by default beside this program's
 * folder. */
#include <android/NeuralNetworks.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_CALLS = 2000, N_WARM = 200, MAX_ROUNDS = 31, PACKET_BYTES = 64, N_WAYS = 4 };

static const char *const ways[N_WAYS] = {"raw", "embedded", "private", "service"};
static char folder[] = "/tmp/nnhal-roundtrip-XXXXXX";
static char host[4096];

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "roundtrip: %s: %s\n", what, strerror(errno));
    exit(1);
}

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

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        die("sched_setaffinity");
}

/* The median of calls of step, microseconds. */
static double median_us(void (*step)(void *ctx), void *ctx)
{
    static uint64_t times[N_CALLS];

    for (int i = 0; i < N_WARM; i++)
        step(ctx);
    for (int i = 0; i < N_CALLS; i++) {
        uint64_t began = now_ns();

        step(ctx);
        times[i] = now_ns() - began;
    }
    qsort(times, N_CALLS, sizeof(times[0]), compare_u64);
    return (double)times[N_CALLS / 2] / 1e3;
}

static void ping(void *ctx)
{
    char packet[PACKET_BYTES] = {0};
    int fd = *(int *)ctx;

    if (send(fd, packet, sizeof(packet), 0) < 0 || recv(fd, packet, sizeof(packet), 0) <= 0)
        die("ping");
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
        die("socketpair");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        close(pair[0]);
        pin(peer_cpu);
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
        die("compute");
}

/* The sample's compilation of z = x + y, one element. */
static ANeuralNetworksCompilation *compile(ANeuralNetworksModel **ret_model)
{
    static const uint32_t one = 1, inputs[] = {0, 1}, operands[] = {0, 1, 2}, output = 3;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &one, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;
    uint32_t n = 0;

    ANeuralNetworksModel_create(&model);
    for (int i = 0; i < 4; i++)
        ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor);
    ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none));
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1, &output);
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output);
    ANeuralNetworksModel_finish(model);
    ANeuralNetworks_getDeviceCount(&n);
    for (uint32_t i = 0; i < n && !compilation; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = "";

        ANeuralNetworks_getDevice(i, &device);
        ANeuralNetworksDevice_getName(device, &name);
        if (strcmp(name, "nnhal-sample") == 0)
            ANeuralNetworksCompilation_createForDevices(
                model, (const ANeuralNetworksDevice *const *)&device, 1, &compilation);
    }
    if (!compilation || ANeuralNetworksCompilation_finish(compilation) != ANEURALNETWORKS_NO_ERROR)
        die("there is no device nnhal-sample");
    *ret_model = model;
    return compilation;
}

static double measure_api(void)
{
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation = compile(&model);
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

/* A service of the sample driver on peer_cpu, listening when this returns. */
static pid_t start_service(int peer_cpu)
{
    char path[4096];
    struct stat info;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/sample.sock", folder);
    unlink(path);
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        pin(peer_cpu);
        execl(host, "nnhal-host", "sample", (char *)NULL);
        _exit(127);
    }
    while (stat(path, &info) < 0) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            die(host);
        usleep(10000);
    }
    return pid;
}

/* Runs in a process of its own. The private child takes over this process's CPUs
 * when it is started, so it is made before this side is pinned. */
static double measure(int way, int cpu, int peer_cpu)
{
    pid_t service = way == 3 ? start_service(peer_cpu) : 0;
    uint32_t n;
    double result;

    if (way == 0) {
        pin(cpu);
        return measure_raw(peer_cpu);
    }
    setenv("NNHAL_MODE", ways[way], 1);
    if (way == 2) {
        pin(peer_cpu);
        ANeuralNetworks_getDeviceCount(&n);
    }
    pin(cpu);
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
        die("pipe2");
    pid = fork();
    if (pid < 0)
        die("fork");
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

static void print_table(int rounds, int cpu, int peer_cpu)
{
    static double results[N_WAYS][MAX_ROUNDS];

    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < N_WAYS; way++)
            results[way][round] = measure_apart(way, cpu, peer_cpu);
    printf("round trip of a one-element ADD, %s, median of %d rounds\n",
           cpu == peer_cpu ? "both sides on one CPU" : "each side on its CPU", rounds);
    for (int way = 0; way < N_WAYS; way++) {
        qsort(results[way], (size_t)rounds, sizeof(double), compare_double);
        if (results[way][0] < 0)
            printf("  %-9s could not be measured\n", ways[way]);
        else
            printf("  %-9s %8.2f us  %6.2f x raw\n", ways[way], results[way][rounds / 2],
                   results[way][rounds / 2] / results[0][rounds / 2]);
    }
}

static void find_host(void)
{
    const char *given = getenv("NNHAL_HOST");
    ssize_t n = readlink("/proc/self/exe", host, sizeof(host) - 32);
    char *end;

    if (given) {
        snprintf(host, sizeof(host), "%s", given);
        return;
    }
    host[n > 0 ? n : 0] = '\0';
    for (int i = 0; i < 2; i++) {
        end = strrchr(host, '/');
        if (end)
            *end = '\0';
    }
    strcat(host, "/nnhal-host");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5, cpus[2] = {-1, -1}, n = 0;
    cpu_set_t set;

    if (rounds < 1 || rounds > MAX_ROUNDS)
        rounds = 5;
    find_host();
    if (!mkdtemp(folder) || sched_getaffinity(0, sizeof(set), &set) < 0)
        die(folder);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &set))
            cpus[n++] = i;
    print_table(rounds, cpus[0], cpus[0]);
    if (n > 1)
        print_table(rounds, cpus[0], cpus[1]);
    else
        puts("there is one CPU only");
    rmdir(folder);
    return 0;
}
