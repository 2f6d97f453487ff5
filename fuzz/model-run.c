/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of models, built, compiled and executed through the API, by the CPU driver and
 * by nnapi-reference: both end with a code that an application can expect, and both fail or have
 * the same results to the bit (NNHAL_CPU_EXACT=float).
 *
 * The file's checksum is made right. Its reserved word says what to spoil in each model by the
 * mutators of tests/conf: how many, which, and their seed; 0 spoils nothing. Seeds are models of
 * every operation, made by tests/oracle. */
#include "fuzz.h"

#include "conf/mutator.h"
#include "nnt/extension.h"
#include "nnt/run.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 40, /* checksum and reserved word are the last of it */
    MAX_MODELS = 4,
};

#define LOOP_TIMEOUT_NS UINT64_C(20000000)
#define TIMEOUT_NS      UINT64_C(1000000000)

static const ANeuralNetworksDevice *devices[2];

static void devices_find(void)
{
    setenv("NNHAL_MODE", "embedded", 1);
    setenv("NNHAL_DRIVER_PATH", "", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    setenv("NNHAL_CPU_EXACT", "float", 1);
    setenv("NNHAL_CPU_THREADS", "1", 1);
    for (uint32_t i = 0; i < 2; i++) {
        ANeuralNetworksDevice *device = NULL;

        FUZZ_CHECK(ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR);
        devices[i] = device;
    }
}

/* What compiling and running a legal but strange model may end with. */
static bool is_expected(int result)
{
    return result == ANEURALNETWORKS_NO_ERROR || result == ANEURALNETWORKS_BAD_DATA ||
           result == ANEURALNETWORKS_OP_FAILED ||
           result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE || nnt_is_shortage(result);
}

static void run_models(struct nnt_file *file, const uint8_t *spoil)
{
    struct nnt_model model;

    for (int i = 0; i < MAX_MODELS && nnt_file_next(file, &model) > 0; i++) {
        struct nnt_run run = {.path = NNT_SYNC,
                              .device = devices[0],
                              .against = devices[1],
                              .is_exact = true,
                              .loop_timeout_ns = LOOP_TIMEOUT_NS,
                              .timeout_ns = TIMEOUT_NS};
        bool agrees;

        if (nnt_extension_name(&model) != ANEURALNETWORKS_NO_ERROR)
            return;
        mutator_seed(spoil[2] | (uint64_t)spoil[3] << 8);
        for (unsigned k = 0; k < spoil[0] % 4u; k++)
            mutators[(spoil[1] + k) % n_mutators].mutate(file, &model);
        agrees = nnt_run_model(&run, &model);
        if (!agrees && run.what[0])
            fprintf(stderr, "%s\n", run.what);
        FUZZ_CHECK(run.is_built || run.result == ANEURALNETWORKS_BAD_DATA);
        FUZZ_CHECK(is_expected(run.result));
        FUZZ_CHECK(agrees || run.result != ANEURALNETWORKS_NO_ERROR);
        FUZZ_CHECK(!run.is_different);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint8_t *copy, spoil[4];
    struct nnt_file file;
    char path[64];
    uint32_t sum;
    int fd;

    if (!devices[0])
        devices_find();
    if (n_bytes < HEADER_BYTES)
        return 0;
    copy = malloc(n_bytes);
    FUZZ_CHECK(copy);
    memcpy(copy, bytes, n_bytes);
    memcpy(spoil, copy + HEADER_BYTES - 4, sizeof(spoil));
    memset(copy + HEADER_BYTES - 4, 0, sizeof(spoil));
    sum = nnt_checksum(copy + HEADER_BYTES, n_bytes - HEADER_BYTES);
    memcpy(copy + HEADER_BYTES - 8, &sum, sizeof(sum));
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, copy, n_bytes) == (ssize_t)n_bytes);
    free(copy);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (nnt_file_open(&file, path))
        run_models(&file, spoil);
    nnt_file_close(&file);
    close(fd);
    return 0;
}
