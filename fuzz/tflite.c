/* SPDX-License-Identifier: Apache-2.0 */
/* tflite.c - any bytes as a .tflite file: refused with a sentence, or a model */
#include "fuzz.h"

#include <nnhal/tflite.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct nnhal_tflite *model = NULL;
    char path[64], message[512] = "";
    int fd = memfd_create("fuzz-tflite", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (nnhal_tflite_load(path, &model, message, sizeof(message)) < 0) {
        FUZZ_CHECK(strlen(message) > 0);
    } else {
        FUZZ_CHECK(nnhal_tflite_model(model));
        for (uint32_t i = 0; i < nnhal_tflite_n_inputs(model); i++)
            FUZZ_CHECK(nnhal_tflite_input(model, i)->name);
        nnhal_tflite_free(model);
    }
    close(fd);
    return 0;
}
