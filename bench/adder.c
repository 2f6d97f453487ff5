/* SPDX-License-Identifier: Apache-2.0 */
#include "adder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/nnhal-bench-XXXXXX";
static char host[4096];

uint64_t adder_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void adder_die(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

void adder_pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        adder_die("sched_setaffinity");
}

ANeuralNetworksDevice *adder_device(const char *name)
{
    uint32_t n = 0;

    ANeuralNetworks_getDeviceCount(&n);
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *found = "";

        ANeuralNetworks_getDevice(i, &device);
        ANeuralNetworksDevice_getName(device, &found);
        if (strcmp(found, name) == 0)
            return device;
    }
    adder_die(name);
    return NULL;
}

ANeuralNetworksCompilation *adder_compile(const char *device, ANeuralNetworksModel **ret_model)
{
    static const uint32_t one = 1, inputs[] = {0, 1}, operands[] = {0, 1, 2}, output = 3;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &one, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const ANeuralNetworksDevice *chosen = adder_device(device);
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;

    ANeuralNetworksModel_create(&model);
    for (int i = 0; i < 4; i++)
        ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor);
    ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none));
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1, &output);
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output);
    ANeuralNetworksModel_finish(model);
    ANeuralNetworksCompilation_createForDevices(model, &chosen, 1, &compilation);
    if (!compilation || ANeuralNetworksCompilation_finish(compilation) != ANEURALNETWORKS_NO_ERROR)
        adder_die("the ADD is not compiled");
    *ret_model = model;
    return compilation;
}

/* The driver's name, or behind it ":" and a file with the configuration's line. */
static void name_driver(const char *driver, const char *configuration, char *name, size_t n_bytes)
{
    char path[64];
    FILE *file;

    snprintf(name, n_bytes, "%s", driver);
    if (!configuration)
        return;
    snprintf(path, sizeof(path), "%s/driver.conf", folder);
    file = fopen(path, "we");
    if (!file || fprintf(file, "%s\n", configuration) < 0 || fclose(file))
        adder_die(path);
    snprintf(name, n_bytes, "%s:%s", driver, path);
}

pid_t adder_start_service(const char *driver, const char *configuration, int cpu)
{
    char path[4096], name[128];
    struct stat info;
    pid_t pid;

    name_driver(driver, configuration, name, sizeof(name));
    snprintf(path, sizeof(path), "%s/%s.sock", folder, driver);
    unlink(path);
    pid = fork();
    if (pid < 0)
        adder_die("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (cpu >= 0)
            adder_pin(cpu);
        execl(host, "nnhal-host", name, (char *)NULL);
        _exit(127);
    }
    while (stat(path, &info) < 0) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            adder_die(host);
        usleep(10000);
    }
    return pid;
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

void adder_begin(void)
{
    find_host();
    if (!mkdtemp(folder))
        adder_die(folder);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
}

void adder_share(void)
{
    if (chmod(folder, 0755) < 0)
        adder_die(folder);
}

void adder_end(void)
{
    static const char *const files[] = {"sample.sock", "cpu.sock", "driver.conf"};
    char path[4096];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}
