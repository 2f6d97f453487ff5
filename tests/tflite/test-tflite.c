/* SPDX-License-Identifier: Apache-2.0 */
#include <nnhal/tflite.h>

#include "support/check-main.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char message[512];

static const char *source(const char *name)
{
    static char path[4096];
    const char *root = getenv("NNHAL_SOURCE_ROOT");

    snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
    return path;
}

/* A model that the build made of tests/tflite/data/NAME.json. */
static const char *made(const char *name)
{
    static char path[4096];
    const char *root = getenv("NNHAL_BUILD_ROOT");

    snprintf(path, sizeof(path), "%s/tests/tflite/%s.tflite", root ? root : ".", name);
    return path;
}

static int load(const char *path, struct nnhal_tflite **ret)
{
    message[0] = '\0';
    return nnhal_tflite_load(path, ret, message, sizeof(message));
}

static uint8_t *read_all(const char *path, size_t *ret_n)
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
static int load_bytes(const uint8_t *bytes, size_t n)
{
    char path[] = "/tmp/nnhal-tflite-XXXXXX";
    int fd = mkstemp(path), r;
    struct nnhal_tflite *model = NULL;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    r = load(path, &model);
    unlink(path);
    if (r == 0)
        nnhal_tflite_free(model);
    else
        ck_assert_uint_gt(strlen(message), 0);
    return r;
}

TEST(inputs_and_outputs_are_described)
{
    struct nnhal_tflite *model;
    const struct nnhal_tflite_tensor *tensor;

    ck_assert_int_eq(load(source("models/glyphs/glyphs-int8.tflite"), &model), 0);
    ck_assert_uint_eq(nnhal_tflite_n_inputs(model), 1);
    ck_assert_uint_eq(nnhal_tflite_n_outputs(model), 1);
    tensor = nnhal_tflite_input(model, 0);
    ck_assert_str_eq(tensor->name, "picture");
    ck_assert_int_eq(tensor->type, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED);
    ck_assert_uint_eq(tensor->n_dimensions, 4);
    ck_assert_uint_eq(tensor->n_bytes, 32 * 32);
    ck_assert_int_eq(tensor->zero_point, -128);
    ck_assert_ptr_null(nnhal_tflite_input(model, 1));
    tensor = nnhal_tflite_output(model, 0);
    ck_assert_uint_eq(tensor->n_bytes, 46);
    ck_assert_float_eq_tol(tensor->scale, 1.0f / 256, 1e-9f);
    ck_assert_ptr_nonnull(nnhal_tflite_model(model));
    nnhal_tflite_free(model);
}
TEST_END

TEST(what_is_no_file_is_refused)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load("/nonexistent/model.tflite", &model), -ENOENT);
    ck_assert_int_eq(load("/tmp", &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "regular file"));
    ck_assert_int_eq(load_bytes((const uint8_t *)"", 0), -EINVAL);
    ck_assert_int_eq(load_bytes((const uint8_t *)"hello, this is text", 19), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "TFL3"));
}
TEST_END

TEST(every_truncation_is_refused)
{
    size_t n;
    uint8_t *bytes = read_all(source("models/glyphs/glyphs-int8.tflite"), &n);

    for (size_t cut = 0; cut < n; cut += cut < 4096 ? 131 : 7919)
        ck_assert_int_eq(load_bytes(bytes, cut), -EINVAL);
    free(bytes);
}
TEST_END

/* Any result, but a result: sanitizers see the rest. */
TEST(flipped_bits_do_no_harm)
{
    size_t n;
    uint8_t *bytes = read_all(source("models/glyphs/glyphs-int8.tflite"), &n);
    uint32_t seed = 1;

    for (int i = 0; i < 400; i++) {
        size_t at;

        seed = seed * 1664525u + 1013904223u;
        at = i % 2 ? seed % n : n - 1 - seed % 4096;
        bytes[at] ^= (uint8_t)(1u << (seed >> 29));
        load_bytes(bytes, n);
        bytes[at] ^= (uint8_t)(1u << (seed >> 29));
    }
    free(bytes);
}
TEST_END

TEST(an_operation_that_cannot_be_mapped_is_named)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load(made("unmapped"), &model), -ENOTSUP);
    ck_assert_str_eq(message, "operation 1 (CUMSUM): NNAPI has no such operation");
}
TEST_END

TEST(damaged_contents_are_named)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load(made("bad-index"), &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "tensor 7"));
    ck_assert_int_eq(load(made("bad-size"), &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "needs 16 bytes"));
    ck_assert_int_eq(load(made("old-version"), &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "version is 2"));
}
TEST_END

/* Operations that become more than one of NNAPI's compute the same. */
TEST(composed_operations_compute)
{
    static const float x[] = {1, -2, 0.5f, 3}, y[] = {2, 2, 0, 5};
    static const struct {
        uint32_t n;
        float values[4];
    } wanted[] = {{4, {1, 16, 0.25f, 4}},
                  {4, {1, -1, 0.5f, 3}},
                  {4, {0.5403023f, -0.4161468f, 0.8775826f, -0.9899925f}},
                  {2, {1, -2}},
                  {2, {0.5f, 3}}};
    struct nnhal_tflite *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    float got[5][4] = {{0}};

    ck_assert_int_eq(load(made("small-ops"), &model), 0);
    ck_assert_int_eq(ANeuralNetworksCompilation_create(nnhal_tflite_model(model), &compilation), 0);
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), 0);
    ck_assert_int_eq(ANeuralNetworksExecution_create(compilation, &execution), 0);
    ck_assert_int_eq(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)), 0);
    ck_assert_int_eq(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)), 0);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(ANeuralNetworksExecution_setOutput(execution, i, NULL, got[i],
                                                            wanted[i].n * sizeof(float)),
                         0);
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), 0);
    for (int i = 0; i < 5; i++)
        for (uint32_t k = 0; k < wanted[i].n; k++)
            ck_assert_float_eq_tol(got[i][k], wanted[i].values[k], 1e-5f);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    nnhal_tflite_free(model);
}
TEST_END

CHECK_MAIN("tflite", inputs_and_outputs_are_described, what_is_no_file_is_refused,
           every_truncation_is_refused, flipped_bits_do_no_harm,
           an_operation_that_cannot_be_mapped_is_named, damaged_contents_are_named,
           composed_operations_compute)
