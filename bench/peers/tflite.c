/* SPDX-License-Identifier: Apache-2.0 */
/* tflite.c - a model in TensorFlow Lite
 *
 *     tflite LIBRARY.so MODEL.tflite builtin|xnnpack|nnapi|delegate THREADS RUNS
 *
 * LIBRARY is libtensorflowlite_c.so of 2.9.0. nnapi is its NNAPI delegate, which loads
 * libneuralnetworks.so from LD_LIBRARY_PATH; delegate is libnnhal-delegate.so from there. The
 * declarations are facts of its C API (tensorflow/lite/c/c_api.h, delegates/xnnpack/xnnpack_delegate.h
 * and delegates/external/external_delegate.h); no header is needed. */
#include "measure.h"

#include <stdio.h>
#include <string.h>

typedef struct TfLiteModel TfLiteModel;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteTensor TfLiteTensor;
typedef struct TfLiteDelegate TfLiteDelegate;

struct xnnpack_options {
    int32_t n_threads;
    uint32_t flags; /* 1: signed 8-bit operations, 2: unsigned ones */
};

/* The functions of the library that are called here. */
static struct tflite {
    TfLiteModel *(*model_create)(const char *path);
    TfLiteInterpreterOptions *(*options_create)(void);
    void (*set_num_threads)(TfLiteInterpreterOptions *options, int32_t n);
    void (*set_use_nnapi)(TfLiteInterpreterOptions *options, bool use);
    void (*add_delegate)(TfLiteInterpreterOptions *options, TfLiteDelegate *delegate);
    TfLiteInterpreter *(*interpreter_create)(const TfLiteModel *model,
                                             const TfLiteInterpreterOptions *options);
    int (*allocate_tensors)(TfLiteInterpreter *interpreter);
    int32_t (*count_inputs)(const TfLiteInterpreter *interpreter);
    TfLiteTensor *(*input)(const TfLiteInterpreter *interpreter, int32_t index);
    int (*tensor_type)(const TfLiteTensor *tensor);
    void *(*tensor_data)(const TfLiteTensor *tensor);
    size_t (*tensor_bytes)(const TfLiteTensor *tensor);
    int (*invoke)(TfLiteInterpreter *interpreter);
    struct xnnpack_options (*xnnpack_default)(void);
    TfLiteDelegate *(*xnnpack_create)(const struct xnnpack_options *options);
} tflite;

/* Of TfLiteType. */
enum { TYPE_FLOAT32 = 1, TYPE_UINT8 = 3, TYPE_INT8 = 9 };

static void tflite_open(const char *path)
{
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"TfLiteModelCreateFromFile", &tflite.model_create},
        {"TfLiteInterpreterOptionsCreate", &tflite.options_create},
        {"TfLiteInterpreterOptionsSetNumThreads", &tflite.set_num_threads},
        {"TfLiteInterpreterOptionsSetUseNNAPI", &tflite.set_use_nnapi},
        {"TfLiteInterpreterOptionsAddDelegate", &tflite.add_delegate},
        {"TfLiteInterpreterCreate", &tflite.interpreter_create},
        {"TfLiteInterpreterAllocateTensors", &tflite.allocate_tensors},
        {"TfLiteInterpreterGetInputTensorCount", &tflite.count_inputs},
        {"TfLiteInterpreterGetInputTensor", &tflite.input},
        {"TfLiteTensorType", &tflite.tensor_type},
        {"TfLiteTensorData", &tflite.tensor_data},
        {"TfLiteTensorByteSize", &tflite.tensor_bytes},
        {"TfLiteInterpreterInvoke", &tflite.invoke},
        {"TfLiteXNNPackDelegateOptionsDefault", &tflite.xnnpack_default},
        {"TfLiteXNNPackDelegateCreate", &tflite.xnnpack_create},
    };
    void *library = peer_open(path);

    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *symbol = peer_symbol(library, symbols[i].name);

        memcpy(symbols[i].to, &symbol, sizeof(symbol));
    }
}

typedef TfLiteDelegate *(*create_delegate_fn)(char **keys, char **values, size_t n,
                                              void (*report)(const char *text));

static void report(const char *text)
{
    fprintf(stderr, "libnnhal-delegate.so: %s\n", text);
}

static TfLiteDelegate *create_delegate(void)
{
    void *symbol = peer_symbol(peer_open("libnnhal-delegate.so"), "tflite_plugin_create_delegate");
    TfLiteDelegate *delegate;
    create_delegate_fn create;

    memcpy(&create, &symbol, sizeof(symbol));
    delegate = create(NULL, NULL, 0, report);
    if (!delegate)
        peer_fail("libnnhal-delegate.so makes no delegate");
    return delegate;
}

static TfLiteInterpreterOptions *make_options(const struct peer_options *options)
{
    TfLiteInterpreterOptions *to = tflite.options_create();

    tflite.set_num_threads(to, (int32_t)options->n_threads);
    if (!strcmp(options->variant, "nnapi")) {
        tflite.set_use_nnapi(to, true);
    } else if (!strcmp(options->variant, "xnnpack")) {
        struct xnnpack_options xnnpack = tflite.xnnpack_default();

        xnnpack.n_threads = (int32_t)options->n_threads;
        xnnpack.flags |= 3;
        tflite.add_delegate(to, tflite.xnnpack_create(&xnnpack));
    } else if (!strcmp(options->variant, "delegate")) {
        tflite.add_delegate(to, create_delegate());
    } else if (strcmp(options->variant, "builtin")) {
        peer_fail("%s: is none of builtin, xnnpack, nnapi, delegate", options->variant);
    }
    return to;
}

static void fill_inputs(const TfLiteInterpreter *interpreter)
{
    for (int32_t i = 0; i < tflite.count_inputs(interpreter); i++) {
        TfLiteTensor *tensor = tflite.input(interpreter, i);
        int type = tflite.tensor_type(tensor);

        peer_fill(tflite.tensor_data(tensor), tflite.tensor_bytes(tensor),
                  type == TYPE_FLOAT32                      ? PEER_FLOAT
                  : type == TYPE_UINT8 || type == TYPE_INT8 ? PEER_BYTES
                                                            : PEER_OTHER);
    }
}

static bool run_interpreter(void *ctx)
{
    return tflite.invoke(ctx) == 0;
}

int main(int argc, char **argv)
{
    struct peer_options options = peer_parse(argc, argv);
    TfLiteInterpreter *interpreter;
    TfLiteModel *model;
    uint64_t began;

    tflite_open(options.library);
    began = peer_now_ns();
    model = tflite.model_create(options.model);
    if (!model)
        peer_fail("%s: not a model", options.model);
    interpreter = tflite.interpreter_create(model, make_options(&options));
    if (!interpreter || tflite.allocate_tensors(interpreter))
        peer_fail("%s: TensorFlow Lite does not run it", options.model);
    began = peer_now_ns() - began;
    fill_inputs(interpreter);
    peer_measure(&options, began, run_interpreter, interpreter);
    return 0;
}
