/* SPDX-License-Identifier: Apache-2.0 */
/* loading.h - models of the source and of the build, for tests of the loader */
#ifndef NN_TEST_TFLITE_LOADING_H
#define NN_TEST_TFLITE_LOADING_H

#include <nnhal/tflite.h>

#include "support/check-main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char message[512];

static inline const char *source_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("NNHAL_SOURCE_ROOT");

    snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
    return path;
}

/* A model that the build made, of data/NAME.json or by a script. */
static inline const char *made_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("NNHAL_BUILD_ROOT");

    snprintf(path, sizeof(path), "%s/tests/tflite/%s.tflite", root ? root : ".", name);
    return path;
}

static inline int load_model(const char *path, struct nnhal_tflite **ret)
{
    message[0] = '\0';
    return nnhal_tflite_load(path, ret, message, sizeof(message));
}

/* Computes a model once; inputs and outputs are as large as it says. */
static inline void compute_model(struct nnhal_tflite *model, const void *const *inputs,
                                 void *const *outputs)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;

    ck_assert_int_eq(ANeuralNetworksCompilation_create(nnhal_tflite_model(model), &compilation), 0);
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), 0);
    ck_assert_int_eq(ANeuralNetworksExecution_create(compilation, &execution), 0);
    for (uint32_t i = 0; i < nnhal_tflite_n_inputs(model); i++)
        ck_assert_int_eq(ANeuralNetworksExecution_setInput(execution, (int32_t)i, NULL, inputs[i],
                                                           nnhal_tflite_input(model, i)->n_bytes),
                         0);
    for (uint32_t i = 0; i < nnhal_tflite_n_outputs(model); i++)
        ck_assert_int_eq(ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, outputs[i],
                                                            nnhal_tflite_output(model, i)->n_bytes),
                         0);
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), 0);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

static inline uint8_t *read_all(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;

    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *ret_n = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*ret_n);
    ck_assert_uint_eq(fread(bytes, 1, *ret_n, file), *ret_n);
    fclose(file);
    return bytes;
}

/* Loads n bytes as a file; frees what came of it. Returns the result. */
static inline int load_bytes(const uint8_t *bytes, size_t n)
{
    char path[] = "/tmp/nnhal-tflite-XXXXXX";
    int fd = mkstemp(path), r;
    struct nnhal_tflite *model = NULL;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    r = load_model(path, &model);
    unlink(path);
    if (r == 0)
        nnhal_tflite_free(model);
    else
        ck_assert_uint_gt(strlen(message), 0);
    return r;
}

#endif
