/* SPDX-License-Identifier: Apache-2.0 */
#include "ways.h"

#include "support/host-process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N       4
#define LIMIT_S 30

static char folder[] = "/tmp/nnhal-e2e-XXXXXX";
static char socket_path[64];
static pid_t service;

bool ways_is(const char *way)
{
    return !strcmp(WAY, way);
}

pid_t ways_service(void)
{
    return host_process(service);
}

uint64_t ways_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void ways_nap(uint64_t duration_ns)
{
    struct timespec duration = {.tv_sec = (time_t)(duration_ns / 1000000000),
                                .tv_nsec = (long)(duration_ns % 1000000000)};

    while (nanosleep(&duration, &duration) && errno == EINTR)
        ;
}

/* -- the service ---------------------------------------------------------------- */

static bool can_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool result;

    strcpy(address.sun_path, socket_path);
    result = !connect(fd, (const struct sockaddr *)&address, sizeof(address));
    close(fd);
    return result;
}

void ways_spawn_service(void)
{
    pid_t parent = getpid();

    service = fork();
    ck_assert_int_ge(service, 0);
    if (service == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execl(BUILD_ROOT "/nnhal-host", "nnhal-host", "--listen", socket_path, "sample", NULL);
        _exit(127);
    }
}

void ways_start_service(void)
{
    uint64_t limit_ns = ways_now_ns() + LIMIT_S * UINT64_C(1000000000);

    ways_spawn_service();
    while (!can_connect()) {
        ck_assert_int_eq(waitpid(service, NULL, WNOHANG), 0);
        ck_assert_msg(ways_now_ns() < limit_ns, "the service does not listen");
        ways_nap(1000000);
    }
}

void ways_kill_service(int signal_number)
{
    if (service <= 0)
        return;
    /* Killed is the driver's process: of the other's end it learns a moment later. */
    kill(signal_number == SIGKILL ? ways_service() : service, signal_number);
    ck_assert_int_eq(waitpid(service, NULL, 0), service);
    service = 0;
}

void ways_await_service_end(uint64_t limit_ns)
{
    uint64_t end_ns = ways_now_ns() + limit_ns;

    while (waitpid(service, NULL, WNOHANG) == 0) {
        ck_assert_msg(ways_now_ns() < end_ns, "the service has not ended");
        ways_nap(10000000);
    }
    service = 0;
}

void ways_begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(socket_path, sizeof(socket_path), "%s/sample.sock", folder);
    setenv("NNHAL_MODE", WAY, 1);
    setenv("NNHAL_DRIVER_PATH", SAMPLE_FOLDER, 1);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
    setenv("NNHAL_HOST", BUILD_ROOT "/nnhal-host", 1);
    if (ways_is("service"))
        ways_start_service();
}

void ways_end(void)
{
    ways_kill_service(SIGTERM);
    unlink(socket_path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* -- the device ------------------------------------------------------------------- */

ANeuralNetworksDevice *ways_device(void)
{
    ANeuralNetworksDevice *device = NULL;
    const char *name = NULL;

    OK(ANeuralNetworks_getDevice(0, &device));
    OK(ANeuralNetworksDevice_getName(device, &name));
    ck_assert_str_eq(name, "nnhal-sample");
    return device;
}

/* A process that is being killed counts as alive until its sockets are closed: another is waited for. */
pid_t ways_pid(void)
{
    struct nnhal_where where = {.size = sizeof(where)};

    for (int i = 0; i < 10 && where.pid == 0; i++) {
        OK(ANeuralNetworksDevice_wait(ways_device()));
        OK(nnhal_device_get_where(ways_device(), &where));
    }
    ck_assert_str_eq(where.way_name, WAY);
    ck_assert_int_ge(where.pid, 1); /* 0 would kill this test */
    return where.pid;
}

/* -- the formula -------------------------------------------------------------------- */

static ANeuralNetworksModel *make_model(void)
{
    const uint32_t n = N, mul[] = {0, 1, 2}, product = 3, add[] = {3, 0, 4}, in[] = {0, 1}, z = 5;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE, relu = ANEURALNETWORKS_FUSED_RELU;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const bool is_scalar[] = {false, false, true, false, true, false};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 6; i++)
        OK(ANeuralNetworksModel_addOperand(model, is_scalar[i] ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_setOperandValue(model, 4, &relu, sizeof(relu)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, mul, 1, &product));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void create_compilation(struct ways_formula *formula)
{
    const ANeuralNetworksDevice *device = ways_device();
    ANeuralNetworksModel *model = make_model();

    *formula = (struct ways_formula){.compilation = NULL};
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &formula->compilation));
    ANeuralNetworksModel_free(model);
}

int ways_formula_compile(struct ways_formula *formula)
{
    create_compilation(formula);
    return ANeuralNetworksCompilation_finish(formula->compilation);
}

int ways_formula_compile_for_any(struct ways_formula *formula)
{
    ANeuralNetworksModel *model = make_model();

    *formula = (struct ways_formula){.compilation = NULL};
    OK(ANeuralNetworksCompilation_create(model, &formula->compilation));
    ANeuralNetworksModel_free(model);
    return ANeuralNetworksCompilation_finish(formula->compilation);
}

int ways_formula_try_in(struct ways_formula *formula, const char *cache, uint32_t *ret_outcome)
{
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = "the formula";
    struct nnhal_cache_info info = {.size = sizeof(info)};
    int result;

    create_compilation(formula);
    OK(ANeuralNetworksCompilation_setCaching(formula->compilation, cache, token));
    result = ANeuralNetworksCompilation_finish(formula->compilation);
    if (result == ANEURALNETWORKS_NO_ERROR)
        OK(nnhal_compilation_get_cache_info(formula->compilation, &info));
    *ret_outcome = info.outcome;
    return result;
}

uint32_t ways_formula_compile_in(struct ways_formula *formula, const char *cache)
{
    uint32_t outcome;

    OK(ways_formula_try_in(formula, cache, &outcome));
    return outcome;
}

static void bind_memory(struct ways_formula *formula)
{
    int fd = memfd_create("formula", MFD_CLOEXEC);
    void *bytes;

    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &formula->memory));
    close(fd);
    formula->x = bytes;
    formula->y = formula->x + N;
    formula->z = formula->y + N;
    OK(ANeuralNetworksExecution_setInputFromMemory(formula->execution, 0, NULL, formula->memory, 0,
                                                   16));
    OK(ANeuralNetworksExecution_setInputFromMemory(formula->execution, 1, NULL, formula->memory, 16,
                                                   16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(formula->execution, 0, NULL, formula->memory,
                                                    32, 16));
}

static void bind_pointers(struct ways_formula *formula)
{
    formula->x = formula->buffer;
    formula->y = formula->x + N;
    formula->z = formula->y + N;
    OK(ANeuralNetworksExecution_setInput(formula->execution, 0, NULL, formula->x, 16));
    OK(ANeuralNetworksExecution_setInput(formula->execution, 1, NULL, formula->y, 16));
    OK(ANeuralNetworksExecution_setOutput(formula->execution, 0, NULL, formula->z, 16));
}

void ways_formula_bind(struct ways_formula *formula, bool in_memory)
{
    OK(ANeuralNetworksExecution_create(formula->compilation, &formula->execution));
    OK(ANeuralNetworksExecution_setReusable(formula->execution, true));
    if (in_memory)
        bind_memory(formula);
    else
        bind_pointers(formula);
}

void ways_formula_bind_within(struct ways_formula *formula, bool in_memory, uint64_t timeout_ns)
{
    ways_formula_bind(formula, in_memory);
    OK(ANeuralNetworksExecution_setTimeout(formula->execution, timeout_ns));
}

void ways_formula_burst(struct ways_formula *formula)
{
    OK(ANeuralNetworksBurst_create(formula->compilation, &formula->burst));
}

void ways_formula_fill(struct ways_formula *formula, int seed)
{
    for (int i = 0; i < N; i++) {
        formula->x[i] = (float)(seed % 1000 - i);
        formula->y[i] = (float)(i * seed % 100 - 50);
        formula->z[i] = -1;
    }
}

void ways_formula_check(const struct ways_formula *formula)
{
    for (int i = 0; i < N; i++) {
        float z = formula->x[i] * formula->y[i] + formula->x[i];

        ck_assert_float_eq(formula->z[i], z > 0 ? z : 0);
    }
}

int ways_formula_run(struct ways_formula *formula, int seed)
{
    int result;

    ways_formula_fill(formula, seed);
    result = formula->burst
                 ? ANeuralNetworksExecution_burstCompute(formula->execution, formula->burst)
                 : ANeuralNetworksExecution_compute(formula->execution);
    if (result == ANEURALNETWORKS_NO_ERROR)
        ways_formula_check(formula);
    return result;
}

int ways_formula_run_by(enum ways_path path, struct ways_formula *formula, int seed)
{
    ANeuralNetworksEvent *event = NULL;
    int r;

    if (path == WAYS_COMPUTE || path == WAYS_BURST)
        return ways_formula_run(formula, seed);
    ways_formula_fill(formula, seed);
    r = path == WAYS_EVENT ? ANeuralNetworksExecution_startCompute(formula->execution, &event)
                           : ANeuralNetworksExecution_startComputeWithDependencies(
                                 formula->execution, NULL, 0, 0, &event);
    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    if (r == ANEURALNETWORKS_NO_ERROR)
        ways_formula_check(formula);
    return r;
}

void ways_formula_done(struct ways_formula *formula)
{
    /* Memory first, as TensorFlow Lite does. */
    if (formula->memory) {
        ANeuralNetworksMemory_free(formula->memory);
        munmap(formula->x, 4096);
    }
    ANeuralNetworksBurst_free(formula->burst);
    ANeuralNetworksExecution_free(formula->execution);
    ANeuralNetworksCompilation_free(formula->compilation);
}
