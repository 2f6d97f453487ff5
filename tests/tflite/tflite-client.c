/* SPDX-License-Identifier: Apache-2.0 */
/* tflite-client.c - makes the calls that TensorFlow Lite's NNAPI delegate makes
 *
 *     tflite-client MODEL.tflite FOLDER INPUT...
 *
 * The library is found as the delegate finds it: dlopen("libneuralnetworks.so")
 * and dlsym by plain name. The functions that the .tflite loader calls are
 * defined here and pass on to what dlsym found, so that the loader builds the
 * model through it: constants by the file's descriptor at the offsets they
 * have. Then, as the delegate does: all devices but nnapi-reference, asked what
 * they support; one reusable execution with padding, on two pools made by
 * shm_open, whose lengths are multiples of 64; compute again and again; memories
 * freed before everything else. Writes FOLDER/out0, out1, ... */
#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <nnhal/ext.h>
#include <nnhal/tflite.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUND = 64, N_RUNS = 3, MAX_DEVICES = 16 };

static void *library;
static ANeuralNetworksMemory *constants; /* freed when the delegate would */

static void *find_symbol(const char *name)
{
    void *function = dlsym(library, name);

    if (!function) {
        fprintf(stderr, "nnapi error: unable to open function %s\n", name);
        exit(1);
    }
    return function;
}

#define NN(name) ((__typeof__(&name))find_symbol(#name))

static void check_call(int code, const char *what)
{
    if (code != ANEURALNETWORKS_NO_ERROR) {
        fprintf(stderr, "%s: %d\n", what, code);
        exit(1);
    }
}

#define CALL(name, ...) check_call(NN(name)(__VA_ARGS__), #name)

/* -- what the loader calls -- */

int ANeuralNetworksModel_create(ANeuralNetworksModel **model)
{
    return NN(ANeuralNetworksModel_create)(model);
}

void ANeuralNetworksModel_free(ANeuralNetworksModel *model)
{
    NN(ANeuralNetworksModel_free)(model);
}

int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model, bool allow)
{
    return NN(ANeuralNetworksModel_relaxComputationFloat32toFloat16)(model, allow);
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel *model)
{
    return NN(ANeuralNetworksModel_finish)(model);
}

int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
                                    const ANeuralNetworksOperandType *type)
{
    return NN(ANeuralNetworksModel_addOperand)(model, type);
}

int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
                                         const void *buffer, size_t length)
{
    return NN(ANeuralNetworksModel_setOperandValue)(model, index, buffer, length);
}

int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel *model, int32_t index, const ANeuralNetworksSymmPerChannelQuantParams *q)
{
    return NN(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams)(model, index, q);
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
                                                   const ANeuralNetworksMemory *memory,
                                                   size_t offset, size_t length)
{
    return NN(ANeuralNetworksModel_setOperandValueFromMemory)(model, index, memory, offset, length);
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType op,
                                      uint32_t n_inputs, const uint32_t *inputs, uint32_t n_outputs,
                                      const uint32_t *outputs)
{
    return NN(ANeuralNetworksModel_addOperation)(model, op, n_inputs, inputs, n_outputs, outputs);
}

int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model, uint32_t n_inputs,
                                                  const uint32_t *inputs, uint32_t n_outputs,
                                                  const uint32_t *outputs)
{
    return NN(ANeuralNetworksModel_identifyInputsAndOutputs)(model, n_inputs, inputs, n_outputs,
                                                             outputs);
}

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory **memory)
{
    int code = NN(ANeuralNetworksMemory_createFromFd)(size, protect, fd, offset, memory);

    constants = *memory;
    return code;
}

int ANeuralNetworks_getDeviceCount(uint32_t *n)
{
    return NN(ANeuralNetworks_getDeviceCount)(n);
}

int ANeuralNetworks_getDevice(uint32_t index, ANeuralNetworksDevice **device)
{
    return NN(ANeuralNetworks_getDevice)(index, device);
}

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device, const char *name,
                                              bool *is_supported)
{
    return NN(ANeuralNetworksDevice_getExtensionSupport)(device, name, is_supported);
}

int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model, const char *name,
                                                 uint16_t code, int32_t *type)
{
    return NN(ANeuralNetworksModel_getExtensionOperandType)(model, name, code, type);
}

int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model, const char *name,
                                                   uint16_t code,
                                                   ANeuralNetworksOperationType *type)
{
    return NN(ANeuralNetworksModel_getExtensionOperationType)(model, name, code, type);
}

/* The delegate keeps the constants until it is torn down. */
void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory)
{
    (void)memory;
}

size_t nnhal_model_get_error(const ANeuralNetworksModel *model, char *text, size_t n_bytes)
{
    return NN(nnhal_model_get_error)(model, text, n_bytes);
}

/* -- the delegate -- */

struct pool {
    char name[64];
    int fd;
    size_t size;
    uint8_t *map;
    ANeuralNetworksMemory *memory;
};

static size_t padded_size(size_t n)
{
    return (n + ROUND - 1) / ROUND * ROUND;
}

static struct pool make_pool(const char *kind, size_t size)
{
    struct pool pool = {.size = size};

    snprintf(pool.name, sizeof(pool.name), "%s_pool-tmp-file-%d", kind, (int)getpid());
    pool.fd = shm_open(pool.name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (pool.fd < 0 || ftruncate(pool.fd, (off_t)size) < 0) {
        perror(pool.name);
        exit(1);
    }
    shm_unlink(pool.name);
    pool.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pool.fd, 0);
    if (pool.map == MAP_FAILED)
        exit(1);
    check_call(NN(ANeuralNetworksMemory_createFromFd)(size, PROT_READ | PROT_WRITE, pool.fd, 0,
                                                      &pool.memory),
               "ANeuralNetworksMemory_createFromFd");
    return pool;
}

static void free_pool(struct pool *pool)
{
    munmap(pool->map, pool->size);
    NN(ANeuralNetworksMemory_free)(pool->memory);
    close(pool->fd);
}

/* Every device but nnapi-reference. */
static uint32_t choose_devices(const ANeuralNetworksDevice *devices[MAX_DEVICES])
{
    uint32_t n = 0, n_chosen = 0;

    CALL(ANeuralNetworks_getDeviceCount, &n);
    for (uint32_t i = 0; i < n && n_chosen < MAX_DEVICES; i++) {
        ANeuralNetworksDevice *device;
        const char *name;
        int64_t level;

        CALL(ANeuralNetworks_getDevice, i, &device);
        CALL(ANeuralNetworksDevice_getName, device, &name);
        if (strcmp(name, "nnapi-reference") == 0)
            continue;
        CALL(ANeuralNetworksDevice_getFeatureLevel, device, &level);
        devices[n_chosen++] = device;
    }
    return n_chosen;
}

/* The delegate compiles for every device it chose; one that supports the whole
 * model is what this library takes. Returns the first such device's index. */
static uint32_t ask_support(const ANeuralNetworksModel *model, uint32_t n_operations,
                            const ANeuralNetworksDevice *const *devices, uint32_t n)
{
    bool *supported = calloc(n_operations, sizeof(*supported));

    for (uint32_t i = 0; supported && i < n; i++) {
        uint32_t n_true = 0;

        CALL(ANeuralNetworksModel_getSupportedOperationsForDevices, model, &devices[i], 1,
             supported);
        for (uint32_t k = 0; k < n_operations; k++)
            n_true += supported[k];
        if (n_true == n_operations) {
            free(supported);
            return i;
        }
    }
    fputs("no device supports every operation\n", stderr);
    exit(1);
}

static size_t total_bytes(const struct nnhal_tflite *net, bool of_inputs)
{
    uint32_t n = of_inputs ? nnhal_tflite_n_inputs(net) : nnhal_tflite_n_outputs(net);
    size_t total = 0;

    for (uint32_t i = 0; i < n; i++)
        total += padded_size(
            (of_inputs ? nnhal_tflite_input(net, i) : nnhal_tflite_output(net, i))->n_bytes);
    return total;
}

static void read_inputs(const struct nnhal_tflite *net, struct pool *pool, char **paths)
{
    size_t at = 0;

    for (uint32_t i = 0; i < nnhal_tflite_n_inputs(net); i++) {
        size_t n = nnhal_tflite_input(net, i)->n_bytes;
        FILE *file = fopen(paths[i], "rbe");

        if (!file || fread(pool->map + at, 1, n, file) != n) {
            perror(paths[i]);
            exit(1);
        }
        fclose(file);
        at += padded_size(n);
    }
}

static void write_outputs(const struct nnhal_tflite *net, const struct pool *pool,
                          const char *folder)
{
    size_t at = 0;

    for (uint32_t i = 0; i < nnhal_tflite_n_outputs(net); i++) {
        size_t n = nnhal_tflite_output(net, i)->n_bytes;
        char path[4096];
        FILE *file;

        snprintf(path, sizeof(path), "%s/out%u", folder, i);
        file = fopen(path, "wbe");
        if (!file || fwrite(pool->map + at, 1, n, file) != n || fclose(file) != 0) {
            perror(path);
            exit(1);
        }
        at += padded_size(n);
    }
}

static ANeuralNetworksExecution *make_execution(const struct nnhal_tflite *net,
                                                ANeuralNetworksCompilation *compilation,
                                                const struct pool *in, const struct pool *out)
{
    ANeuralNetworksExecution *execution;
    size_t at = 0;

    CALL(ANeuralNetworksExecution_create, compilation, &execution);
    CALL(ANeuralNetworksExecution_setReusable, execution, true);
    CALL(ANeuralNetworksExecution_enableInputAndOutputPadding, execution, true);
    for (uint32_t i = 0; i < nnhal_tflite_n_inputs(net); i++) {
        size_t n = padded_size(nnhal_tflite_input(net, i)->n_bytes);

        CALL(ANeuralNetworksExecution_setInputFromMemory, execution, (int32_t)i, NULL, in->memory,
             at, n);
        at += n;
    }
    at = 0;
    for (uint32_t i = 0; i < nnhal_tflite_n_outputs(net); i++) {
        size_t n = padded_size(nnhal_tflite_output(net, i)->n_bytes);

        CALL(ANeuralNetworksExecution_setOutputFromMemory, execution, (int32_t)i, NULL, out->memory,
             at, n);
        at += n;
    }
    return execution;
}

/* Counted as they are added, because the API does not tell. */
static uint32_t count_operations(const struct nnhal_tflite *net, uint32_t most,
                                 const ANeuralNetworksDevice *device)
{
    bool *supported = malloc(most);
    uint32_t n = 0;

    memset(supported, 2, most);
    CALL(ANeuralNetworksModel_getSupportedOperationsForDevices, nnhal_tflite_model(net), &device, 1,
         supported);
    while (n < most && ((const uint8_t *)supported)[n] != 2)
        n++;
    free(supported);
    return n;
}

static void invoke_model(struct nnhal_tflite *net, const char *folder, char **inputs)
{
    const ANeuralNetworksDevice *devices[MAX_DEVICES];
    uint32_t n_devices = choose_devices(devices), n_operations, chosen;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksMemory *file = constants;
    struct pool in = make_pool("input", total_bytes(net, true));
    struct pool out = make_pool("output", total_bytes(net, false));

    if (!n_devices) {
        fputs("there is no device but the reference\n", stderr);
        exit(1);
    }
    n_operations = count_operations(net, 1 << 16, devices[0]);
    chosen = ask_support(nnhal_tflite_model(net), n_operations, devices, n_devices);
    CALL(ANeuralNetworksCompilation_createForDevices, nnhal_tflite_model(net), &devices[chosen], 1,
         &compilation);
    CALL(ANeuralNetworksCompilation_setPriority, compilation, ANEURALNETWORKS_PRIORITY_MEDIUM);
    CALL(ANeuralNetworksCompilation_finish, compilation);
    execution = make_execution(net, compilation, &in, &out);
    for (int run = 0; run < N_RUNS; run++) {
        memset(out.map, 0xee, out.size);
        read_inputs(net, &in, inputs);
        CALL(ANeuralNetworksExecution_compute, execution);
    }
    write_outputs(net, &out, folder);
    NN(ANeuralNetworksMemory_free)(file);
    free_pool(&out);
    free_pool(&in);
    NN(ANeuralNetworksExecution_free)(execution);
    NN(ANeuralNetworksCompilation_free)(compilation);
    nnhal_tflite_free(net);
}

int main(int argc, char **argv)
{
    struct nnhal_tflite *net;
    char message[512] = "";

    library = dlopen("libneuralnetworks.so", RTLD_LAZY | RTLD_LOCAL);
    if (argc < 4 || !library) {
        fprintf(stderr, "usage: tflite-client MODEL.tflite FOLDER INPUT... (%s)\n",
                library ? "too few arguments" : dlerror());
        return 2;
    }
    if (NN(ANeuralNetworks_getRuntimeFeatureLevel)() < 1000008)
        return 1;
    if (nnhal_tflite_load(argv[1], &net, message, sizeof(message)) < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], message);
        return 1;
    }
    if (nnhal_tflite_n_inputs(net) != (uint32_t)argc - 3) {
        fprintf(stderr, "%u inputs are needed\n", nnhal_tflite_n_inputs(net));
        return 2;
    }
    invoke_model(net, argv[2], argv + 3);
    return 0;
}
