/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/user.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLACK_MS 20000
#else
#define SLACK_MS 2000
#endif

enum {
    N = 4,
    N_BYTES = N * sizeof(float),
    DEADLINE_MS = 300,
    /* Without a deadline: three pings, and then two seconds for its return; twice, because
     * the one that takes its place may be as silent. */
    END_MS = 12000,
    PATIENCE_MS = 20000, /* of those who must succeed */
    TOKENS = 6,
};

struct user {
    const struct user_wish *wish;
    struct user_count *count;
    uint64_t state;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksBurst *burst;
    ANeuralNetworksMemory *memory, *exact, *buffer;
    float *shared, *fetched; /* of memory; of exact, which is as large as the buffer */
    float x[N], y[N], z[N];
};

static void fail(const struct user *user, const char *what, long value)
{
    fprintf(stderr, "user with seed %llu: %s: %ld\n", (unsigned long long)user->wish->seed, what,
            value);
    abort();
}

static uint32_t below(struct user *user, uint32_t n)
{
    user->state = user->state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(user->state >> 33) % n;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ms(void)
{
    return now_ns() / 1000000;
}

/* What a call answered, begun then, which was to be back after limit_ms. */
static int judge(struct user *user, const char *what, int code, uint64_t begin_ms,
                 uint64_t limit_ms)
{
    uint64_t took_ms = now_ms() - begin_ms, longest_ms = user->count->longest_ms;

    if (took_ms > limit_ms + SLACK_MS)
        fail(user, what, (long)took_ms);
    if (code < 0 || code > ANEURALNETWORKS_DEAD_OBJECT)
        fail(user, what, code);
    if (user->wish->must_succeed && code != ANEURALNETWORKS_NO_ERROR)
        fail(user, what, code);
    while (took_ms > longest_ms &&
           !__atomic_compare_exchange_n(&user->count->longest_ms, &longest_ms, took_ms, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return code;
}

#define JUDGE(user, limit_ms, call)                                                                \
    ({                                                                                             \
        uint64_t begin_ms_ = now_ms();                                                             \
        judge(user, #call, call, begin_ms_, limit_ms);                                             \
    })

/* -- compiling ---------------------------------------------------------------------------------- */

/* z = x * y + x */
static ANeuralNetworksModel *make_model(void)
{
    const uint32_t n = N, mul[] = {0, 1, 2}, product = 3, add[] = {3, 0, 2}, in[] = {0, 1}, z = 4;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;

    ANeuralNetworksModel_create(&model);
    for (int i = 0; i < 5; i++)
        ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor);
    ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none));
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, mul, 1, &product);
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z);
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, &z);
    if (ANeuralNetworksModel_finish(model) != ANEURALNETWORKS_NO_ERROR)
        abort();
    return model;
}

static ANeuralNetworksDevice *find_device(struct user *user)
{
    ANeuralNetworksDevice *device = NULL;
    const char *name = NULL;
    uint32_t n = 0;

    JUDGE(user, 1000, ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++)
        if (ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR &&
            ANeuralNetworksDevice_getName(device, &name) == ANEURALNETWORKS_NO_ERROR &&
            !strcmp(name, user->wish->device))
            return device;
    return NULL;
}

static uint64_t deadline_ms(const struct user *user)
{
    if (user->wish->deadline_ms > 0)
        return user->wish->deadline_ms;
    return user->wish->must_succeed ? PATIENCE_MS : DEADLINE_MS;
}

static void set_caching(struct user *user)
{
    const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1,
                                                                     (uint8_t)below(user, TOKENS)};

    if (user->wish->cache &&
        ANeuralNetworksCompilation_setCaching(user->compilation, user->wish->cache, token) !=
            ANEURALNETWORKS_NO_ERROR)
        fail(user, "setCaching", 0);
}

static void note_hit(struct user *user)
{
    struct nnhal_cache_info info = {.size = sizeof(info)};

    if (nnhal_compilation_get_cache_info(user->compilation, &info) == ANEURALNETWORKS_NO_ERROR &&
        info.outcome == NNHAL_CACHE_HIT)
        __atomic_add_fetch(&user->count->n_hits, 1, __ATOMIC_RELAXED);
}

static int compile(struct user *user, const ANeuralNetworksDevice *device)
{
    ANeuralNetworksModel *model = make_model();
    bool supported[2];
    int code;

    JUDGE(user, END_MS,
          ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported));
    code = ANeuralNetworksCompilation_createForDevices(model, &device, 1, &user->compilation);
    ANeuralNetworksModel_free(model);
    if (code != ANEURALNETWORKS_NO_ERROR)
        fail(user, "create", code);
    set_caching(user);
    ANeuralNetworksCompilation_setTimeout(user->compilation, deadline_ms(user) * 1000000);
    code = JUDGE(user, deadline_ms(user), ANeuralNetworksCompilation_finish(user->compilation));
    note_hit(user);
    __atomic_add_fetch(&user->count->compiled[code], 1, __ATOMIC_RELAXED);
    return code;
}

/* -- memory ------------------------------------------------------------------------------------- */

static ANeuralNetworksMemory *make_memory(size_t n_bytes, float **ret_view)
{
    int fd = memfd_create("user", MFD_CLOEXEC);
    ANeuralNetworksMemory *memory = NULL;

    if (ftruncate(fd, (off_t)n_bytes) != 0 ||
        ANeuralNetworksMemory_createFromFd(n_bytes, PROT_READ | PROT_WRITE, fd, 0, &memory) !=
            ANEURALNETWORKS_NO_ERROR)
        abort();
    *ret_view = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory;
}

static void make_buffer(struct user *user)
{
    ANeuralNetworksMemoryDesc *desc = NULL;

    ANeuralNetworksMemoryDesc_create(&desc);
    ANeuralNetworksMemoryDesc_addInputRole(desc, user->compilation, 0, 1.0f);
    ANeuralNetworksMemoryDesc_addOutputRole(desc, user->compilation, 0, 1.0f);
    if (ANeuralNetworksMemoryDesc_finish(desc) == ANEURALNETWORKS_NO_ERROR)
        JUDGE(user, END_MS, ANeuralNetworksMemory_createFromDesc(desc, &user->buffer));
    ANeuralNetworksMemoryDesc_free(desc);
}

/* -- computing ---------------------------------------------------------------------------------- */

static ANeuralNetworksExecution *bind(struct user *user, enum user_path path)
{
    ANeuralNetworksExecution *execution = NULL;

    ANeuralNetworksExecution_create(user->compilation, &execution);
    if (path == USER_MEMORY || path == USER_BURST) {
        memcpy(user->shared, user->x, N_BYTES);
        memcpy(user->shared + N, user->y, N_BYTES);
        memset(user->shared + 2 * N, 0xff, N_BYTES);
        ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, user->memory, 0, N_BYTES);
        ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, user->memory, N_BYTES,
                                                    N_BYTES);
        ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, user->memory, 2 * N_BYTES,
                                                     N_BYTES);
    } else {
        ANeuralNetworksExecution_setInput(execution, 0, NULL, user->x, N_BYTES);
        ANeuralNetworksExecution_setInput(execution, 1, NULL, user->y, N_BYTES);
        if (path == USER_BUFFER)
            ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, user->buffer, 0, 0);
        else
            ANeuralNetworksExecution_setOutput(execution, 0, NULL, user->z, N_BYTES);
    }
    ANeuralNetworksExecution_setTimeout(execution, deadline_ms(user) * 1000000);
    return execution;
}

static int wait_for(struct user *user, int code, ANeuralNetworksEvent *event)
{
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = JUDGE(user, deadline_ms(user), ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    return code;
}

/* From the buffer into shared memory. */
static int fetch(struct user *user, int code)
{
    memset(user->fetched, 0xff, N_BYTES);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = JUDGE(user, END_MS, ANeuralNetworksMemory_copy(user->buffer, user->exact));
    return code;
}

static int compute(struct user *user, ANeuralNetworksExecution *execution, enum user_path path)
{
    ANeuralNetworksEvent *event = NULL;
    int code;

    switch (path) {
    case USER_EVENT:
        code = JUDGE(user, deadline_ms(user),
                     ANeuralNetworksExecution_startCompute(execution, &event));
        return wait_for(user, code, event);
    case USER_FENCED:
        code = JUDGE(
            user, DEADLINE_MS,
            ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event));
        return wait_for(user, code, event);
    case USER_BURST:
        return JUDGE(user, deadline_ms(user),
                     ANeuralNetworksExecution_burstCompute(execution, user->burst));
    default:
        return JUDGE(user, deadline_ms(user), ANeuralNetworksExecution_compute(execution));
    }
}

static void compute_once(struct user *user, enum user_path path)
{
    const float *z = user->z;
    ANeuralNetworksExecution *execution;
    uint64_t begin_ns;
    int code;

    for (int i = 0; i < N; i++) {
        user->x[i] = (float)below(user, 1000);
        user->y[i] = (float)below(user, 1000);
        user->z[i] = -1;
    }
    execution = bind(user, path);
    begin_ns = now_ns();
    code = compute(user, execution, path);
    if (user->wish->note)
        user->wish->note(now_ns() - begin_ns);
    if (path == USER_MEMORY || path == USER_BURST) {
        z = user->shared + 2 * N;
    } else if (path == USER_BUFFER) {
        code = fetch(user, code);
        z = user->fetched;
    }
    for (int i = 0; code == ANEURALNETWORKS_NO_ERROR && !user->wish->may_be_wrong && i < N; i++)
        if (z[i] != user->x[i] * user->y[i] + user->x[i])
            fail(user, "NO_ERROR, and a wrong result by path", (long)path);
    ANeuralNetworksExecution_free(execution);
    __atomic_add_fetch(&user->count->computed[code], 1, __ATOMIC_RELAXED);
}

static enum user_path choose_path(struct user *user)
{
    enum user_path path;

    do
        path = (enum user_path)below(user, USER_PATHS);
    while (user->wish->paths && !(user->wish->paths & 1U << path));
    if ((path == USER_BURST && !user->burst) || (path == USER_BUFFER && !user->buffer))
        return USER_MEMORY;
    return path;
}

/* A burst and a buffer are there if the service gave them. */
static void compute_all(struct user *user)
{
    ANeuralNetworksBurst_create(user->compilation, &user->burst);
    make_buffer(user);
    for (uint32_t i = 0; i < user->wish->n_computations; i++) {
        compute_once(user, choose_path(user));
    }
    ANeuralNetworksBurst_free(user->burst);
    ANeuralNetworksMemory_free(user->buffer);
    user->burst = NULL;
    user->buffer = NULL;
}

void user_main(const struct user_wish *wish, struct user_count *count)
{
    static struct user user;
    const ANeuralNetworksDevice *device;

    user = (struct user){.wish = wish, .count = count, .state = wish->seed};
    if (below(&user, 2))
        setenv("NNHAL_RECOVERY", "off", 1);
    device = find_device(&user);
    if (!device)
        return;
    user.memory = make_memory(4096, &user.shared);
    user.exact = make_memory(N_BYTES, &user.fetched);
    for (uint32_t i = 0; i < wish->n_compilations; i++) {
        if (compile(&user, device) == ANEURALNETWORKS_NO_ERROR)
            compute_all(&user);
        ANeuralNetworksCompilation_free(user.compilation);
    }
    ANeuralNetworksMemory_free(user.memory);
    ANeuralNetworksMemory_free(user.exact);
    munmap(user.shared, 4096);
    munmap(user.fetched, N_BYTES);
}
