/* SPDX-License-Identifier: Apache-2.0 */
/* tflite.c - any bytes as a .tflite file: refused with a sentence, or a model, and what it says of
 * itself */
#include "fuzz.h"

#include <nnhal/tflite-info.h>
#include <nnhal/tflite.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void describe(const char *path)
{
    struct nnhal_tflite_info *info = NULL;
    char message[512] = "";

    if (nnhal_tflite_info_read(path, &info, message, sizeof(message)) < 0) {
        FUZZ_CHECK(strlen(message) > 0);
        return;
    }
    for (uint32_t i = 0; i < nnhal_tflite_info_n_outputs(info); i++) {
        const struct nnhal_tflite_description *output = nnhal_tflite_info_output(info, i);

        for (uint32_t k = 0; k < output->n_labels; k++)
            FUZZ_CHECK(strlen(output->labels[k]) < 4U << 20);
        nnhal_tflite_info_score(info, i, 0, 0.5);
    }
    for (uint32_t i = 0; i < nnhal_tflite_info_n_inputs(info); i++)
        for (uint32_t k = 0; k < nnhal_tflite_info_input(info, i)->n_means; k++)
            FUZZ_CHECK(nnhal_tflite_info_input(info, i)->deviations[k] > 0);
    nnhal_tflite_info_free(info);
}

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
    describe(path);
    close(fd);
    return 0;
}
