/* SPDX-License-Identifier: Apache-2.0 */
/* ort.c - a model in ONNX Runtime
 *
 *     ort libonnxruntime.so.1 MODEL.onnx IO THREADS RUNS
 *
 * IO names what goes in and out, as to-onnx.py prints it: one word a tensor, NAME:TYPE:DIMS with
 * < or > before it for an input or output, TYPE a number of ONNX, DIMS joined by x; words are
 * joined by commas. The functions are entries of the table that OrtGetApiBase() gives; their
 * numbers are facts of the C API (onnxruntime_c_api.h), which only ever grows at its end. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    API_VERSION = 13,
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_INTRA_OP_NUM_THREADS = 24,
    CREATE_TENSOR_WITH_DATA = 49,
    CREATE_CPU_MEMORY_INFO = 69,
};
enum { LOG_ERRORS = 3, ARENA_ALLOCATOR = 1, DEFAULT_MEMORY = 0 };
enum { TYPE_FLOAT = 1, TYPE_UINT8 = 2, TYPE_INT8 = 3, TYPE_INT32 = 6, TYPE_INT64 = 7 };
enum { MAX_TENSORS = 32, MAX_DIMS = 8 };

typedef void ort_status; /* NULL: no error */

struct ort_api_base {
    const void *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

/* What goes in or out. */
struct ort_tensors {
    size_t n;
    const char *names[MAX_TENSORS];
    void *values[MAX_TENSORS]; /* OrtValue */
};

static struct ort {
    const void *const *api;
    void *session;
    struct ort_tensors inputs, outputs;
} ort;

/* A function of the table, as the type of pointer to. */
#define ORT_FUNCTION(to, number) memcpy(&(to), &ort.api[number], sizeof(to))

static void check(ort_status *status)
{
    const char *(*message)(const ort_status *status);

    if (!status)
        return;
    ORT_FUNCTION(message, GET_ERROR_MESSAGE);
    peer_fail("ONNX Runtime: %s", message(status));
}

static void ort_open(const struct peer_options *options)
{
    const struct ort_api_base *(*get_base)(void);
    void *symbol = peer_symbol(peer_open(options->library), "OrtGetApiBase");

    memcpy(&get_base, &symbol, sizeof(symbol));
    ort.api = get_base()->get_api(API_VERSION);
    if (!ort.api)
        peer_fail("%s: has no API of version %d", options->library, API_VERSION);
}

static void session_create(const struct peer_options *options)
{
    ort_status *(*create_env)(int level, const char *name, void **ret);
    ort_status *(*create_options)(void **ret);
    ort_status *(*set_threads)(void *session_options, int n);
    ort_status *(*create_session)(const void *env, const char *path, const void *session_options,
                                  void **ret);
    void *env, *session_options;

    ORT_FUNCTION(create_env, CREATE_ENV);
    ORT_FUNCTION(create_options, CREATE_SESSION_OPTIONS);
    ORT_FUNCTION(set_threads, SET_INTRA_OP_NUM_THREADS);
    ORT_FUNCTION(create_session, CREATE_SESSION);
    check(create_env(LOG_ERRORS, "peer", &env));
    check(create_options(&session_options));
    check(set_threads(session_options, (int)options->n_threads));
    check(create_session(env, options->model, session_options, &ort.session));
}

static size_t element_bytes(int type)
{
    return type == TYPE_FLOAT || type == TYPE_INT32 ? 4 : type == TYPE_INT64 ? 8 : 1;
}

/* A tensor with memory of its own, filled as an input of its type is. */
static void *value_create(int type, const int64_t *dims, size_t n_dims)
{
    ort_status *(*create_info)(int allocator, int memory, void **ret);
    ort_status *(*create_tensor)(const void *info, void *data, size_t n_bytes, const int64_t *shape,
                                 size_t n, int element_type, void **ret);
    size_t n_bytes = element_bytes(type);
    void *info, *value, *data;

    for (size_t i = 0; i < n_dims; i++)
        n_bytes *= (size_t)dims[i];
    data = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    if (!data)
        peer_fail("out of memory");
    peer_fill(data, n_bytes,
              type == TYPE_FLOAT                        ? PEER_FLOAT
              : type == TYPE_UINT8 || type == TYPE_INT8 ? PEER_BYTES
                                                        : PEER_OTHER);
    ORT_FUNCTION(create_info, CREATE_CPU_MEMORY_INFO);
    ORT_FUNCTION(create_tensor, CREATE_TENSOR_WITH_DATA);
    check(create_info(ARENA_ALLOCATOR, DEFAULT_MEMORY, &info));
    check(create_tensor(info, data, n_bytes, dims, n_dims, type, &value));
    return value;
}

/* Reads one word of IO. */
static void tensor_read(char *word)
{
    struct ort_tensors *to = *word == '<' ? &ort.inputs : &ort.outputs;
    char *type = strchr(word, ':'), *dims = type ? strchr(type + 1, ':') : NULL;
    int64_t shape[MAX_DIMS];
    size_t n = 0;

    if (!dims || to->n == MAX_TENSORS)
        peer_fail("%s: not NAME:TYPE:DIMS", word);
    *type++ = *dims++ = '\0';
    while (*dims && n < MAX_DIMS) {
        shape[n++] = strtoll(dims, &dims, 10);
        dims += *dims == 'x';
    }
    to->names[to->n] = word + 1;
    to->values[to->n++] = value_create(atoi(type), shape, n);
}

static bool run_session(void *ctx)
{
    ort_status *(*run)(void *session, const void *run_options, const char *const *input_names,
                       const void *const *inputs, size_t n_inputs, const char *const *output_names,
                       size_t n_outputs, void **outputs);

    (void)ctx;
    ORT_FUNCTION(run, RUN);
    check(run(ort.session, NULL, ort.inputs.names, (const void *const *)ort.inputs.values,
              ort.inputs.n, ort.outputs.names, ort.outputs.n, ort.outputs.values));
    return true;
}

int main(int argc, char **argv)
{
    struct peer_options options = peer_parse(argc, argv);
    char *tensors = strdup(options.variant), *rest = tensors, *word;
    uint64_t began;

    if (!tensors)
        peer_fail("out of memory");
    ort_open(&options);
    began = peer_now_ns();
    session_create(&options);
    began = peer_now_ns() - began;
    while ((word = strsep(&rest, ",")))
        tensor_read(word);
    peer_measure(&options, began, run_session, NULL);
    free(tensors);
    return 0;
}
