/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "text.h"
#include "tool.h"

#include <nnhal/tflite-extension.h>

#include <cjson/cJSON.h>
#include <openssl/evp.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ALIGNMENT = 64, UNKNOWN_BYTES = 65536, MAX_ATTEMPTS = 4 };

uint64_t session_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What the library says of the last failure, after what we wanted. */
static int library_error(int status, const char *what, int code)
{
    char text[256] = "";

    nnhal_get_last_error(text, sizeof(text));
    return tool_error(status, "%s: %s%s%s", what, nnhal_get_result_name(code), *text ? ": " : "",
                      text_make_plain(text));
}

static int find_device(struct session *session)
{
    uint32_t n = 0;
    int code = ANeuralNetworks_getDeviceCount(&n);

    if (code != ANEURALNETWORKS_NO_ERROR)
        return library_error(TOOL_FAILED, "there are no devices", code);
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = "";

        ANeuralNetworks_getDevice(i, &device);
        ANeuralNetworksDevice_getName(device, &name);
        if (strcmp(name, session->options.device) == 0) {
            session->device = device;
            return TOOL_OK;
        }
    }
    return tool_error(TOOL_NO_DEVICE, "there is no device \"%s\"; nnhal devices lists them",
                      session->options.device);
}

/* The SHA-256 of the model's file: another file is another token. */
static int hash_model(struct session *session, FILE *file)
{
    uint8_t *token = session->token;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    uint8_t bytes[65536];
    size_t n;

    while (is_good && (n = fread(bytes, 1, sizeof(bytes), file)) > 0)
        is_good = EVP_DigestUpdate(context, bytes, n);
    is_good = is_good && !ferror(file) && EVP_DigestFinal_ex(context, token, NULL);
    EVP_MD_CTX_free(context);
    if (!is_good)
        return tool_error(TOOL_BAD_FILE, "%s: cannot be read", session->options.model);
    return TOOL_OK;
}

static int load_model(struct session *session, const char *path)
{
    char message[384] = "";

    if (nnhal_tflite_load(path, &session->net, message, sizeof(message)) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", session->options.model,
                          text_make_plain(message));
    return TOOL_OK;
}

/* The model and its token are of one file, also if another one takes its name meanwhile. */
static int load_for_cache(struct session *session)
{
    const char *folder = session->options.cache;
    FILE *file = fopen(session->options.model, "rbe");
    char path[64];
    int status;

    if (!file)
        return tool_error(TOOL_BAD_FILE, "%s: %s", session->options.model, strerror(errno));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
    status = load_model(session, path);
    if (status == TOOL_OK && mkdir(folder, 0700) < 0 && errno != EEXIST)
        status = tool_error(TOOL_BAD_FILE, "%s: %s", folder, strerror(errno));
    if (status == TOOL_OK)
        status = hash_model(session, file);
    fclose(file);
    return status;
}

const char *session_cache_name(const struct session *session)
{
    switch (session->cache.outcome) {
    case NNHAL_CACHE_HIT:
        return "hit";
    case NNHAL_CACHE_COMPILED:
        return "compiled";
    case NNHAL_CACHE_UNCACHED:
        return "uncached";
    default:
        return "none";
    }
}

static int create_compilation(struct session *session)
{
    ANeuralNetworksModel *model = nnhal_tflite_model(session->net);
    const ANeuralNetworksDevice *device = session->device;

    return session->options.device
               ? ANeuralNetworksCompilation_createForDevices(model, &device, 1,
                                                             &session->compilation)
               : ANeuralNetworksCompilation_create(model, &session->compilation);
}

int session_compile(struct session *session)
{
    uint64_t began = session_now_ns();
    int code;

    ANeuralNetworksBurst_free(session->burst);
    session->burst = NULL;
    ANeuralNetworksCompilation_free(session->compilation);
    session->compilation = NULL;
    code = create_compilation(session);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksCompilation_setPreference(session->compilation,
                                                        ANEURALNETWORKS_PREFER_SUSTAINED_SPEED);
    if (code == ANEURALNETWORKS_NO_ERROR && session->options.cache)
        code = ANeuralNetworksCompilation_setCaching(session->compilation, session->options.cache,
                                                     session->token);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksCompilation_finish(session->compilation);
    if (code == ANEURALNETWORKS_NO_ERROR && session->options.path == SESSION_BURST)
        code = ANeuralNetworksBurst_create(session->compilation, &session->burst);
    if (code != ANEURALNETWORKS_NO_ERROR)
        return library_error(TOOL_FAILED, "the model cannot be compiled", code);
    session->prepare_ns = session_now_ns() - began;
    nnhal_compilation_get_device(session->compilation, &session->device);
    session->cache.size = sizeof(session->cache);
    nnhal_compilation_get_cache_info(session->compilation, &session->cache);
    return TOOL_OK;
}

/* Lays the buffers one after the other; capacity is what each needs at least. */
static int lay_out(struct session *session)
{
    size_t total = 0;

    for (uint32_t i = 0; i < session->n_inputs + session->n_outputs; i++) {
        struct session_buffer *buffer = i < session->n_inputs
                                            ? &session->inputs[i]
                                            : &session->outputs[i - session->n_inputs];

        buffer->offset = total;
        if (__builtin_add_overflow(total, buffer->capacity + ALIGNMENT, &total))
            return tool_error(TOOL_BAD_FILE, "the model's inputs and outputs are too large");
        total &= ~(size_t)(ALIGNMENT - 1);
    }
    session->n_mapped = total ? total : ALIGNMENT;
    return TOOL_OK;
}

static int map_buffers(struct session *session)
{
    int fd = memfd_create("nnhal-tensors", MFD_CLOEXEC), code = ANEURALNETWORKS_OUT_OF_MEMORY;

    if (fd >= 0 && ftruncate(fd, (off_t)session->n_mapped) == 0) {
        session->map = mmap(NULL, session->n_mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (session->map == MAP_FAILED)
            session->map = NULL;
        else
            code = ANeuralNetworksMemory_createFromFd(session->n_mapped, PROT_READ | PROT_WRITE, fd,
                                                      0, &session->memory);
    }
    if (fd >= 0)
        close(fd);
    if (code != ANEURALNETWORKS_NO_ERROR)
        return library_error(TOOL_FAILED, "no memory for the inputs and outputs", code);
    for (uint32_t i = 0; i < session->n_inputs; i++)
        session->inputs[i].data = session->map + session->inputs[i].offset;
    for (uint32_t i = 0; i < session->n_outputs; i++)
        session->outputs[i].data = session->map + session->outputs[i].offset;
    return TOOL_OK;
}

static void buffer_describe(struct session_buffer *buffer, const struct nnhal_tflite_tensor *tensor)
{
    buffer->n_bytes = tensor->n_bytes;
    buffer->capacity = tensor->n_bytes ? tensor->n_bytes : UNKNOWN_BYTES;
    buffer->n_dimensions = tensor->n_dimensions;
    memcpy(buffer->dimensions, tensor->dimensions, tensor->n_dimensions * sizeof(uint32_t));
}

static int make_buffers(struct session *session)
{
    int status;

    session->n_inputs = nnhal_tflite_n_inputs(session->net);
    session->n_outputs = nnhal_tflite_n_outputs(session->net);
    session->inputs = calloc(session->n_inputs + 1, sizeof(*session->inputs));
    session->outputs = calloc(session->n_outputs + 1, sizeof(*session->outputs));
    if (!session->inputs || !session->outputs)
        return tool_error(TOOL_FAILED, "out of memory");
    for (uint32_t i = 0; i < session->n_inputs; i++)
        buffer_describe(&session->inputs[i], nnhal_tflite_input(session->net, i));
    for (uint32_t i = 0; i < session->n_outputs; i++)
        buffer_describe(&session->outputs[i], nnhal_tflite_output(session->net, i));
    status = lay_out(session);
    return status == TOOL_OK ? map_buffers(session) : status;
}

static void buffers_unmap(struct session *session)
{
    ANeuralNetworksExecution_free(session->execution);
    ANeuralNetworksMemory_free(session->memory);
    if (session->map)
        munmap(session->map, session->n_mapped);
    session->execution = NULL;
    session->memory = NULL;
    session->map = NULL;
}

static int make_execution(struct session *session)
{
    int code = ANeuralNetworksExecution_create(session->compilation, &session->execution);

    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksExecution_setReusable(session->execution, true);
    if (code == ANEURALNETWORKS_NO_ERROR && session->options.measures && session->options.device)
        code = ANeuralNetworksExecution_setMeasureTiming(session->execution, true);
    for (uint32_t i = 0; i < session->n_inputs && code == ANEURALNETWORKS_NO_ERROR; i++)
        code = ANeuralNetworksExecution_setInputFromMemory(
            session->execution, (int32_t)i, NULL, session->memory, session->inputs[i].offset,
            session->inputs[i].n_bytes);
    for (uint32_t i = 0; i < session->n_outputs && code == ANEURALNETWORKS_NO_ERROR; i++)
        code = ANeuralNetworksExecution_setOutputFromMemory(
            session->execution, (int32_t)i, NULL, session->memory, session->outputs[i].offset,
            session->outputs[i].capacity);
    if (code != ANEURALNETWORKS_NO_ERROR)
        return library_error(TOOL_FAILED, "the execution cannot be set up", code);
    return TOOL_OK;
}

int session_load(const struct session_options *options, struct session *ret_session)
{
    uint64_t began = session_now_ns();
    int status;

    *ret_session = (struct session){.options = *options, .cache.why = ""};
    status = options->cache ? load_for_cache(ret_session) : load_model(ret_session, options->model);
    ret_session->load_ns = session_now_ns() - began;
    if (status == TOOL_OK && options->device)
        status = find_device(ret_session);
    return status;
}

int session_open(const struct session_options *options, struct session *ret_session)
{
    uint64_t began = session_now_ns();
    int status = session_load(options, ret_session);

    if (status == TOOL_OK)
        status = session_compile(ret_session);
    if (status == TOOL_OK)
        status = make_buffers(ret_session);
    if (status == TOOL_OK)
        status = make_execution(ret_session);
    ret_session->open_ns = session_now_ns() - began;
    return status;
}

void session_close(struct session *session)
{
    buffers_unmap(session);
    ANeuralNetworksBurst_free(session->burst);
    ANeuralNetworksCompilation_free(session->compilation);
    nnhal_tflite_free(session->net);
    free(session->inputs);
    free(session->outputs);
    *session = (struct session){0};
}

static int session_compute(struct session *session)
{
    ANeuralNetworksEvent *event = NULL;
    int code;

    if (session->options.path == SESSION_SYNC)
        return ANeuralNetworksExecution_compute(session->execution);
    if (session->options.path == SESSION_BURST)
        return ANeuralNetworksExecution_burstCompute(session->execution, session->burst);
    code = ANeuralNetworksExecution_startCompute(session->execution, &event);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return code;
}

/* The one type of nnhal.tflite. */
static bool is_int64(int32_t type)
{
    return type > UINT16_MAX && (type & UINT16_MAX) == NNHAL_TFLITE_TENSOR_INT64;
}

static size_t element_bytes(int32_t type)
{
    if (is_int64(type))
        return 8;
    switch (type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
    case ANEURALNETWORKS_TENSOR_INT32:
        return 4;
    case ANEURALNETWORKS_TENSOR_FLOAT16:
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
        return 2;
    default:
        return 1;
    }
}

/* Asks what the dimensions came out as. */
static void read_shapes(struct session *session)
{
    for (uint32_t i = 0; i < session->n_outputs; i++) {
        struct session_buffer *output = &session->outputs[i];
        uint32_t rank = 0;

        if (ANeuralNetworksExecution_getOutputOperandRank(session->execution, (int32_t)i, &rank) ==
                ANEURALNETWORKS_BAD_DATA ||
            rank > sizeof(output->dimensions) / sizeof(output->dimensions[0]))
            continue;
        output->n_dimensions = rank;
        ANeuralNetworksExecution_getOutputOperandDimensions(session->execution, (int32_t)i,
                                                            output->dimensions);
        output->n_bytes = element_bytes(nnhal_tflite_output(session->net, i)->type);
        for (uint32_t k = 0; k < rank; k++)
            output->n_bytes *= output->dimensions[k];
    }
}

/* Larger buffers for outputs that did not fit; the inputs move along. */
static int buffers_grow(struct session *session)
{
    uint8_t *old = session->map;
    size_t n_old = session->n_mapped;
    int status;

    session->map = NULL;
    buffers_unmap(session);
    for (uint32_t i = 0; i < session->n_outputs; i++)
        if (session->outputs[i].n_bytes > session->outputs[i].capacity)
            session->outputs[i].capacity = session->outputs[i].n_bytes;
    status = lay_out(session);
    if (status == TOOL_OK)
        status = map_buffers(session);
    if (status == TOOL_OK) {
        size_t n_inputs = session->n_outputs ? session->outputs[0].offset : n_old;

        memcpy(session->map, old, n_inputs < n_old ? n_inputs : n_old);
        status = make_execution(session);
    }
    munmap(old, n_old);
    return status;
}

int session_run(struct session *session, uint64_t *ret_ns)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        uint64_t began = session_now_ns();
        int code = session_compute(session), status;

        *ret_ns = session_now_ns() - began;
        if (code == ANEURALNETWORKS_NO_ERROR) {
            read_shapes(session);
            return session_check_devices(session);
        }
        if (code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
            return library_error(TOOL_FAILED, "the execution failed", code);
        read_shapes(session);
        status = buffers_grow(session);
        if (status != TOOL_OK)
            return status;
    }
    return tool_error(TOOL_FAILED, "the outputs grow with every execution");
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int session_run_median(struct session *session, uint32_t n, uint64_t *ret_ns)
{
    uint64_t *times = calloc(n, sizeof(*times));
    int status = times ? TOOL_OK : tool_error(TOOL_FAILED, "out of memory");

    for (uint32_t i = 0; i < n && status == TOOL_OK; i++)
        status = session_run(session, &times[i]);
    if (status == TOOL_OK) {
        qsort(times, n, sizeof(*times), compare_times);
        *ret_ns = times[n / 2];
    }
    free(times);
    return status;
}

/* float16 by bits. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? __builtin_nan("") : __builtin_inf())
                   : exponent     ? __builtin_ldexp(1024 + fraction, exponent - 25)
                                  : __builtin_ldexp(fraction, -24);

    return bits & 0x8000 ? -value : value;
}

static double value_at(const struct nnhal_tflite_tensor *tensor, const uint8_t *data, size_t i)
{
    union {
        float f32;
        int32_t i32;
        uint16_t u16;
        int16_t i16;
        int64_t i64;
    } v;

    memcpy(&v, data + i * element_bytes(tensor->type), element_bytes(tensor->type));
    if (is_int64(tensor->type))
        return (double)v.i64;
    switch (tensor->type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
        return v.f32;
    case ANEURALNETWORKS_TENSOR_INT32:
        return v.i32;
    case ANEURALNETWORKS_TENSOR_FLOAT16:
        return half_value(v.u16);
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
        return tensor->scale * v.i16;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
        return (double)tensor->scale * ((int8_t)data[i] - tensor->zero_point);
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
        return (double)tensor->scale * (data[i] - tensor->zero_point);
    default:
        return data[i];
    }
}

size_t session_values(const struct session *session, uint32_t output, double **ret_values)
{
    const struct nnhal_tflite_tensor *tensor = nnhal_tflite_output(session->net, output);
    const struct session_buffer *buffer = &session->outputs[output];
    size_t n = buffer->n_bytes / element_bytes(tensor->type);
    double *values = calloc(n ? n : 1, sizeof(*values));

    *ret_values = values;
    if (!values)
        return 0;
    for (size_t i = 0; i < n; i++)
        values[i] = value_at(tensor, buffer->data, i);
    return n;
}
