/* SPDX-License-Identifier: Apache-2.0 */
/* From a .tflite file to results: any bytes that load are compiled and executed by the CPU driver and
 * by nnapi-reference, which both fail or give the same to the bit (NNHAL_CPU_EXACT=float). */
#include "fuzz.h"

#include <android/NeuralNetworks.h>
#include <nnhal/tflite.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MAX_TENSORS = 16,
    MAX_BYTES = 1 << 16, /* of an input or output: larger ones are slow and show nothing new */
};

#define OK              ANEURALNETWORKS_NO_ERROR
#define TIMEOUT_NS      UINT64_C(1000000000)
#define LOOP_TIMEOUT_NS UINT64_C(20000000)

static ANeuralNetworksDevice *devices[2];
static _Alignas(64) uint8_t input_bytes[MAX_BYTES], output_bytes[2][MAX_TENSORS][MAX_BYTES];

static void devices_find(void)
{
    setenv("NNHAL_MODE", "embedded", 1);
    setenv("NNHAL_DRIVER_PATH", "", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    setenv("NNHAL_CPU_EXACT", "float", 1);
    setenv("NNHAL_CPU_THREADS", "1", 1);
    for (uint32_t i = 0; i < 2; i++)
        FUZZ_CHECK(ANeuralNetworks_getDevice(i, &devices[i]) == OK);
    /* Floats around 1, and any codes. */
    for (size_t i = 0; i < MAX_BYTES; i++)
        input_bytes[i] = (uint8_t)(i % 4 == 3 ? 0x3f : i * 37);
}

static bool has_fitting_size(const struct nnhal_tflite_tensor *tensor)
{
    return tensor->n_bytes > 0 && tensor->n_bytes <= MAX_BYTES;
}

/* Whether this model is small, and says all of its shapes. */
static bool is_suitable(const struct nnhal_tflite *model)
{
    uint32_t n_in = nnhal_tflite_n_inputs(model), n_out = nnhal_tflite_n_outputs(model);

    for (uint32_t i = 0; i < n_in; i++)
        if (!has_fitting_size(nnhal_tflite_input(model, i)))
            return false;
    return n_in <= MAX_TENSORS && n_out <= MAX_TENSORS;
}

static int execute(const struct nnhal_tflite *model, ANeuralNetworksCompilation *compilation,
                   int which)
{
    ANeuralNetworksExecution *execution = NULL;
    int r = ANeuralNetworksExecution_create(compilation, &execution);

    if (r == OK)
        r = ANeuralNetworksExecution_setTimeout(execution, TIMEOUT_NS);
    if (r == OK)
        r = ANeuralNetworksExecution_setLoopTimeout(execution, LOOP_TIMEOUT_NS);
    for (uint32_t i = 0; r == OK && i < nnhal_tflite_n_inputs(model); i++)
        r = ANeuralNetworksExecution_setInput(execution, (int32_t)i, NULL, input_bytes,
                                              nnhal_tflite_input(model, i)->n_bytes);
    for (uint32_t i = 0; r == OK && i < nnhal_tflite_n_outputs(model); i++) {
        const struct nnhal_tflite_tensor *tensor = nnhal_tflite_output(model, i);

        memset(output_bytes[which][i], 0xa5, MAX_BYTES);
        r = ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, output_bytes[which][i],
                                               has_fitting_size(tensor) ? tensor->n_bytes
                                                                        : MAX_BYTES);
    }
    if (r == OK)
        r = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    return r;
}

static int run(const struct nnhal_tflite *model, int which)
{
    const ANeuralNetworksDevice *device = devices[which];
    ANeuralNetworksCompilation *compilation = NULL;
    int r = ANeuralNetworksCompilation_createForDevices(nnhal_tflite_model(model), &device, 1,
                                                        &compilation);

    if (r == OK)
        r = ANeuralNetworksCompilation_setTimeout(compilation, TIMEOUT_NS);
    if (r == OK)
        r = ANeuralNetworksCompilation_finish(compilation);
    if (r == OK)
        r = execute(model, compilation, which);
    ANeuralNetworksCompilation_free(compilation);
    return r;
}

static bool is_shortage(int r)
{
    return r == ANEURALNETWORKS_OUT_OF_MEMORY || r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE ||
           (r >= ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT &&
            r <= ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT);
}

static bool outputs_agree(int32_t type, const uint8_t *a, const uint8_t *b)
{
    if (type != ANEURALNETWORKS_TENSOR_FLOAT32)
        return memcmp(a, b, MAX_BYTES) == 0;
    for (size_t i = 0; i < MAX_BYTES; i += sizeof(float)) {
        float x, y;

        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        if (memcmp(&x, &y, sizeof(x)) != 0 && !(isnan(x) && isnan(y)))
            return false;
    }
    return true;
}

static void run_both(const struct nnhal_tflite *model)
{
    int r = run(model, 0), wanted = run(model, 1);

    FUZZ_CHECK(r == OK || r == ANEURALNETWORKS_BAD_DATA || r == ANEURALNETWORKS_OP_FAILED ||
               is_shortage(r));
    if (is_shortage(r) || is_shortage(wanted))
        return;
    FUZZ_CHECK((r == OK) == (wanted == OK));
    for (uint32_t i = 0; r == OK && i < nnhal_tflite_n_outputs(model); i++)
        FUZZ_CHECK(outputs_agree(nnhal_tflite_output(model, i)->type, output_bytes[0][i],
                                 output_bytes[1][i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct nnhal_tflite *model = NULL;
    char path[64], message[512] = "";
    int fd = memfd_create("fuzz-tflite", MFD_CLOEXEC);

    if (!devices[0])
        devices_find();
    FUZZ_CHECK(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (nnhal_tflite_load(path, &model, message, sizeof(message)) == 0) {
        if (is_suitable(model))
            run_both(model);
        nnhal_tflite_free(model);
    }
    close(fd);
    return 0;
}
