/* SPDX-License-Identifier: Apache-2.0 */
#include <nnhal/tflite-extension.h>

#include "tflite/loading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TEST(inputs_and_outputs_are_described)
{
    struct nnhal_tflite *model;
    const struct nnhal_tflite_tensor *tensor;

    ck_assert_int_eq(load_model(source_path("models/glyphs/glyphs-int8.tflite"), &model), 0);
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

static void check_origins(const char *name, uint32_t n, const uint32_t *origins)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load_model(made_path(name), &model), 0);
    ck_assert_uint_eq(nnhal_tflite_n_operations(model), n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(nnhal_tflite_origin(model, i), origins[i]);
    ck_assert_uint_eq(nnhal_tflite_origin(model, n), UINT32_MAX);
    nnhal_tflite_free(model);
}

/* SQUARED_DIFFERENCE and UNPACK become several, DENSIFY of a constant none. */
TEST(operations_say_which_of_the_file_they_are_of)
{
    check_origins("small-ops", 7, (const uint32_t[]){0, 0, 1, 2, 3, 3, 3});
    check_origins("sparse", 2, (const uint32_t[]){1, 3});
}
TEST_END

TEST(what_is_no_file_is_refused)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load_model("/nonexistent/model.tflite", &model), -ENOENT);
    ck_assert_int_eq(load_model("/tmp", &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "regular file"));
    ck_assert_int_eq(load_bytes((const uint8_t *)"", 0), -EINVAL);
    ck_assert_int_eq(load_bytes((const uint8_t *)"hello, this is text", 19), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "TFL3"));
}
TEST_END

TEST(every_truncation_is_refused)
{
    size_t n;
    uint8_t *bytes = read_all(source_path("models/glyphs/glyphs-int8.tflite"), &n);

    for (size_t cut = 0; cut < n; cut += cut < 4096 ? 131 : 7919)
        ck_assert_int_eq(load_bytes(bytes, cut), -EINVAL);
    free(bytes);
}
TEST_END

/* Any result, but a result: sanitizers see the rest. */
TEST(flipped_bits_do_no_harm)
{
    size_t n;
    uint8_t *bytes = read_all(source_path("models/glyphs/glyphs-int8.tflite"), &n);
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

    ck_assert_int_eq(load_model(made_path("unmapped"), &model), -ENOTSUP);
    ck_assert_str_eq(message, "operation 1 (CUMSUM): NNAPI has no such operation");
    ck_assert_int_eq(load_model(made_path("shifted"), &model), -ENOTSUP);
    ck_assert_str_eq(message, "operation 0 (ADD): 16 bits with scales that are powers of two");
    ck_assert_int_eq(load_model(made_path("sixteen-refused"), &model), -ENOTSUP);
    ck_assert_str_eq(message, "operation 1 (LEAKY_RELU): 16 bits with a slope below 0");
}
TEST_END

/* NNAPI computes them otherwise than TensorFlow Lite, or they count beyond 32 bits. */
TEST(operators_that_mean_something_else_are_refused)
{
    static const struct {
        const char *model, *says;
    } cases[] = {
        {"refused-quotient", "operation 0 (DIV): of integers, whose quotients NNAPI rounds down"},
        {"refused-scalar", "operation 0 (SHAPE): of a scalar"},
        {"refused-weights", "operation 0 (DEPTHWISE_CONV_2D): int8 weights with a zero point"},
        {"refused-cell", "operation 0 (RNN): input 1: int8 weights with a zero point"},
        {"refused-row", "operation 0 (TOPK_V2): along a dimension that is open"},
        {"refused-slice", "operation 0 (STRIDED_SLICE): an axis begins at 2147483647"},
        {"refused-split", "operation 0 (SPLIT_V): output 1 goes beyond the input"}};
    struct nnhal_tflite *model;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(load_model(made_path(cases[i].model), &model), -ENOTSUP);
        ck_assert_str_eq(message, cases[i].says);
    }
}
TEST_END

/* They would give other codes than TensorFlow Lite. */
TEST(scales_and_cells_that_cannot_be_exact_are_refused)
{
    static const struct {
        const char *model, *says;
    } cases[] = {
        {"scales-tanh", "operation 0 (TANH): to the scale 0.02 and zero point 0"},
        {"scales-logistic", "operation 0 (LOGISTIC): to the scale 0.02 and zero point 0"},
        {"scales-select",
         "operation 0 (SELECT): to another scale or zero point than those of input 2"},
        {"scales-pack", "operation 0 (PACK): to another scale or zero point than those of input 0"},
        {"scales-largest",
         "operation 0 (REDUCE_MAX): to another scale or zero point than those of input 0"},
        {"scales-channels", "operation 0 (MUL): of codes with a scale for each channel"},
        {"scales-pad", "operation 0 (PAD): from the zero point -11 to 7"},
        {"lstm-bare", "operation 0 (UNIDIRECTIONAL_SEQUENCE_LSTM): 0 intermediate "
                      "tensors, in place of 5"},
        {"lstm-sixteen-peephole",
         "operation 0 (UNIDIRECTIONAL_SEQUENCE_LSTM): input 9 must be left "
         "out in a cell of 16 bits"}};
    struct nnhal_tflite *model;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(load_model(made_path(cases[i].model), &model), -ENOTSUP);
        ck_assert_str_eq(message, cases[i].says);
    }
}
TEST_END

TEST(damaged_contents_are_named)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load_model(made_path("bad-index"), &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "tensor 7"));
    ck_assert_int_eq(load_model(made_path("bad-size"), &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "needs 16 bytes"));
    ck_assert_int_eq(load_model(made_path("bad-sparse"), &model), -EINVAL);
    ck_assert_str_eq(message, "the sparse tensor 1 contradicts itself");
    ck_assert_int_eq(load_model(made_path("old-version"), &model), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "version is 2"));
}
TEST_END

/* A small file takes neither long nor much memory. */
TEST(files_that_ask_for_too_much_are_refused)
{
    static const struct {
        const char *model, *says;
    } cases[] = {{"bad-lists", "the lists in the file have more than 16777216 entries together"},
                 {"bad-room", "sparse constants and composites take more than 256 MiB"},
                 {"bad-zero-points", "tensor 0 has 3 zero points and 2 scales"}};
    struct nnhal_tflite *model;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(load_model(made_path(cases[i].model), &model), -EINVAL);
        ck_assert_str_eq(message, cases[i].says);
    }
}
TEST_END

/* As pairs of real numbers they would be computed wrongly. */
TEST(complex_numbers_are_refused_where_they_mean_something_else)
{
    static const struct {
        const char *model, *says;
    } cases[] = {{"bad-complex-product", "(MUL): of complex numbers"},
                 {"bad-complex-cast", "(RESHAPE): of complex numbers"},
                 {"bad-complex-part", "(REAL): of other numbers than complex"},
                 {"bad-complex-input", "(RFFT2D): of other numbers than float32"},
                 {"bad-complex-constant", "complex constants"}};
    struct nnhal_tflite *model;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_msg(load_model(made_path(cases[i].model), &model) == -ENOTSUP, "%s: %s",
                      cases[i].model, message);
        ck_assert_msg(strstr(message, cases[i].says) != NULL, "%s: %s", cases[i].model, message);
    }
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
    float got[5][4] = {{0}};

    ck_assert_int_eq(load_model(made_path("small-ops"), &model), 0);
    compute_model(model, (const void *[]){x, y},
                  (void *[]){got[0], got[1], got[2], got[3], got[4]});
    for (int i = 0; i < 5; i++)
        for (uint32_t k = 0; k < wanted[i].n; k++)
            ck_assert_float_eq_tol(got[i][k], wanted[i].values[k], 1e-5f);
    nnhal_tflite_free(model);
}
TEST_END

/* What NNAPI has not becomes operations of nnhal.tflite, and integers of 64 bits come out. */
TEST(the_extension_computes_what_nnapi_has_not)
{
    static const float x[24] = {0.5f, 1.5f, -0.5f, -2.5f, 9, [8] = 9, [13] = -4};
    static const int32_t n[6] = {9, 9, 9, -9, -9, -9};
    static const float round[4] = {0, 2, -0.0f, -2}, rest[4] = {0.5f, -0.5f, 0.25f, 0.5f};
    static const int64_t most[8] = {1, 0, 1, 1, 0, 1, 0, 0}, least[8] = {0, 1, 0, 0, 0, 0, 0, 0};
    static const int64_t dimensions[3] = {2, 3, 4};
    static const int32_t rest_of_n[6] = {2, -5, 0, 5, -2, 0};
    struct nnhal_tflite *model;
    float floats[3][36];
    int64_t longs[3][8];
    int32_t ints[6];
    void *const got[] = {floats[0], floats[1], longs[0], longs[1], longs[2], floats[2], ints};

    ck_assert_msg(load_model(made_path("extension"), &model) == 0, "%s", message);
    ck_assert_int_eq(nnhal_tflite_output(model, 2)->type & 0xffff, NNHAL_TFLITE_TENSOR_INT64);
    ck_assert_int_gt(nnhal_tflite_output(model, 2)->type, 0xffff);
    ck_assert_uint_eq(nnhal_tflite_output(model, 2)->n_bytes, sizeof(most));
    compute_model(model, (const void *[]){x, n}, got);
    for (int i = 0; i < 4; i++) {
        ck_assert_float_eq(floats[0][i], round[i]);
        ck_assert_float_eq(floats[1][i], rest[i]);
    }
    ck_assert_mem_eq(longs[0], most, sizeof(most));
    ck_assert_mem_eq(longs[1], least, sizeof(least));
    ck_assert_mem_eq(longs[2], dimensions, sizeof(dimensions));
    for (int i = 0; i < 36; i++) /* both slabs fall into the last place */
        ck_assert_float_eq(floats[2][i], i < 24 ? 0 : x[i - 24] + x[i - 12]);
    ck_assert_mem_eq(ints, rest_of_n, sizeof(rest_of_n));
    nnhal_tflite_free(model);
}
TEST_END

/* A pulse in the first of three matrices has a flat spectrum; complex numbers are pairs of floats. */
TEST(transforms_compute)
{
    float x[90] = {1}, magnitude[60], real[60], imaginary[60], cosine[90], spectrum[120];
    void *const got[] = {magnitude, real, imaginary, cosine, spectrum};
    struct nnhal_tflite *model;

    ck_assert_msg(load_model(made_path("fourier"), &model) == 0, "%s", message);
    ck_assert_int_eq(nnhal_tflite_output(model, 4)->type, ANEURALNETWORKS_TENSOR_FLOAT32);
    ck_assert_uint_eq(nnhal_tflite_output(model, 4)->dimensions[2], 10);
    ck_assert_uint_eq(nnhal_tflite_output(model, 4)->n_bytes, sizeof(spectrum));
    compute_model(model, (const void *[]){x}, got);
    for (int i = 0; i < 60; i++) {
        ck_assert_float_eq(magnitude[i], i < 20);
        ck_assert_float_eq(real[i], i < 20);
        ck_assert_float_eq(imaginary[i], 0);
        ck_assert_float_eq(spectrum[2 * i], i < 20);
    }
    ck_assert_float_eq_tol(cosine[0], cosf(1), 1e-6f);
    ck_assert_float_eq(cosine[1], 1);
    nnhal_tflite_free(model);
}
TEST_END

/* Blocks of two dimensions, and a tensor whose levels are in another order than its dimensions. */
TEST(sparse_constants_are_made_dense)
{
    static const float zeros[24];
    static const float blocks[16] = {1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8};
    static const float points[24] = {[3] = 1, [7] = 2, [16] = 3, [20] = 4, [18] = 5, [22] = 6};
    struct nnhal_tflite *model;
    float got[2][24];

    ck_assert_msg(load_model(made_path("sparse"), &model) == 0, "%s", message);
    compute_model(model, (const void *[]){zeros, zeros}, (void *[]){got[0], got[1]});
    ck_assert_mem_eq(got[0], blocks, sizeof(blocks));
    ck_assert_mem_eq(got[1], points, sizeof(points));
    nnhal_tflite_free(model);
}
TEST_END

/* Runs a model on inputs of 0.017 and of the code 0; codes of its first outputs from 0 on. */
static void run_sixteen(struct nnhal_tflite *model, int16_t codes[2][120])
{
    static uint8_t rest[4096];
    void *outputs[128] = {codes[0], codes[1]};
    const int16_t row[4] = {0};
    float image[120];

    for (int i = 0; i < 120; i++)
        image[i] = 0.017f;
    ck_assert_uint_le(nnhal_tflite_n_outputs(model), 128);
    for (uint32_t i = 2; i < nnhal_tflite_n_outputs(model); i++) {
        ck_assert_uint_le(nnhal_tflite_output(model, i)->n_bytes, sizeof(rest));
        outputs[i] = rest;
    }
    compute_model(model, (const void *[]){image, row}, outputs);
}

/* All operators with 16 bits are loaded; the first outputs are the quantized image, in steps of 0.0017,
 * and its sum with 0, in steps of 0.0023. tests/tflite/scenes.py compares all of them. */
TEST(activations_of_16_bits_compute)
{
    struct nnhal_tflite *model;
    int16_t codes[2][120];

    ck_assert_msg(load_model(made_path("sixteen"), &model) == 0, "%s", message);
    ck_assert_int_eq(nnhal_tflite_output(model, 0)->type, ANEURALNETWORKS_TENSOR_QUANT16_SYMM);
    ck_assert_uint_eq(nnhal_tflite_output(model, 0)->n_bytes, sizeof(codes[0]));
    run_sixteen(model, codes);
    for (int i = 0; i < 120; i++) {
        ck_assert_int_eq(codes[0][i], 10);
        ck_assert_int_eq(codes[1][i], 7);
    }
    nnhal_tflite_free(model);
}
TEST_END

/* ---- LSTM cells of 8 bits, beside the same in float ---- */

enum { LSTM_SIZE = 2, LSTM_STEPS = 3 };

/* The codes that the files' weights have, one by one. */
static float small_weight(int k)
{
    return (float)(k * 37 % 101 - 50) / 64;
}

static float small_bias(int k)
{
    return 20 * small_weight(k) / 128;
}

static float sigmoid_f32(float x)
{
    return 1 / (1 + expf(-x));
}

/* Where gate g of the cell has its weight for column i of [data, output], row r. */
typedef float (*lstm_weight)(int gate, int row, int column);

static float basic_weight(int gate, int row, int column)
{
    static const int block[] = {0, 2, 1, 3}; /* input, forget, cell, output */

    return small_weight((block[gate] * LSTM_SIZE + row) * 2 * LSTM_SIZE + column);
}

static float basic_bias(int gate, int row)
{
    static const int block[] = {0, 2, 1, 3};

    return small_bias(block[gate] * LSTM_SIZE + row);
}

static float full_weight(int gate, int row, int column)
{
    int at = gate * 4 + row * LSTM_SIZE + column % LSTM_SIZE;

    return small_weight(column < LSTM_SIZE ? at : 16 + at);
}

static float full_bias(int gate, int row)
{
    return small_bias(gate * LSTM_SIZE + row);
}

static void lstm_step(lstm_weight of, float (*bias_of)(int gate, int row), const float *x,
                      float *output, float *cell)
{
    float next[LSTM_SIZE];

    for (int r = 0; r < LSTM_SIZE; r++) {
        float sums[4];

        for (int g = 0; g < 4; g++) {
            sums[g] = bias_of(g, r);
            for (int i = 0; i < LSTM_SIZE; i++)
                sums[g] += of(g, r, i) * x[i] + of(g, r, LSTM_SIZE + i) * output[i];
        }
        cell[r] = sigmoid_f32(sums[1]) * cell[r] + sigmoid_f32(sums[0]) * tanhf(sums[2]);
        next[r] = sigmoid_f32(sums[3]) * tanhf(cell[r]);
    }
    memcpy(output, next, sizeof(next));
}

static void real_values(const int8_t *codes, int n, int zero_point, float *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (float)(codes[i] - zero_point) / 128;
}

static void check_codes(const int8_t *codes, int zero_point, const float *wanted)
{
    for (int i = 0; i < LSTM_SIZE; i++)
        ck_assert_float_eq_tol((float)(codes[i] - zero_point) / 128, wanted[i], 1.5f / 128);
}

TEST(lstm_cells_of_8_bits_compute)
{
    static const uint8_t x0[] = {200, 40}, h0[] = {100, 170};
    static const int16_t c0[] = {1500, -900}, c1[] = {-700, 2000};
    static const int8_t x1[] = {90, -60}, h1[] = {30, -100}, x2[] = {50, -90, 120, 7, -128, 60};
    const void *inputs[] = {x0, h0, c0, x1, h1, c1, x2};
    float x[LSTM_SIZE * LSTM_STEPS], output[LSTM_SIZE], cell[LSTM_SIZE];
    uint8_t y0[LSTM_SIZE];
    int16_t n0[LSTM_SIZE];
    int8_t y1[LSTM_SIZE], y2[LSTM_SIZE * LSTM_STEPS];
    void *outputs[] = {y0, n0, y1, y2};
    struct nnhal_tflite *model;

    ck_assert_msg(load_model(made_path("quantized-lstm"), &model) == 0, "%s", message);
    compute_model(model, inputs, outputs);
    for (int i = 0; i < LSTM_SIZE; i++) {
        x[i] = (float)(x0[i] - 128) / 128;
        output[i] = (float)(h0[i] - 128) / 128;
        cell[i] = (float)c0[i] / 2048;
    }
    lstm_step(basic_weight, basic_bias, x, output, cell);
    for (int i = 0; i < LSTM_SIZE; i++) {
        ck_assert_float_eq_tol((float)(y0[i] - 128) / 128, output[i], 1.5f / 128);
        ck_assert_float_eq_tol((float)n0[i] / 2048, cell[i], 0.01f);
    }
    real_values(x1, LSTM_SIZE, 3, x);
    real_values(h1, LSTM_SIZE, -5, output);
    for (int i = 0; i < LSTM_SIZE; i++)
        cell[i] = (float)c1[i] / 2048;
    lstm_step(full_weight, full_bias, x, output, cell);
    check_codes(y1, -5, output);
    real_values(x2, LSTM_SIZE * LSTM_STEPS, 3, x);
    memset(output, 0, sizeof(output));
    memset(cell, 0, sizeof(cell));
    for (int t = 0; t < LSTM_STEPS; t++) {
        lstm_step(full_weight, full_bias, x + t * LSTM_SIZE, output, cell);
        check_codes(y2 + t * LSTM_SIZE, -5, output);
    }
    nnhal_tflite_free(model);
}
TEST_END

/* TensorFlow Lite subtracts the zero point of the hidden values: 5 here, for the output's -5. */
TEST(lstm_cells_have_zero_points_of_int8)
{
    const int64_t was = 5, is = INT32_MIN;
    size_t n, n_found = 0;
    uint8_t *bytes = read_all(made_path("quantized-lstm"), &n);

    for (size_t i = 0; i + sizeof(was) <= n; i++) {
        if (memcmp(bytes + i, &was, sizeof(was)) != 0)
            continue;
        memcpy(bytes + i, &is, sizeof(is));
        ck_assert_int_lt(load_bytes(bytes, n), 0);
        n_found += strstr(message, "hidden values is -2147483648") != NULL;
        memcpy(bytes + i, &was, sizeof(was));
    }
    ck_assert_uint_ge(n_found, 1);
    free(bytes);
}
TEST_END

/* ---- LSTM cells of 16 bits ---- */

enum { N_SIXTEEN_CELLS = 4, SIXTEEN_ROOM = 2048 };

static const uint8_t *take(const uint8_t **at, size_t n)
{
    const uint8_t *taken = *at;

    *at += n;
    return taken;
}

/* TensorFlow Lite 2.9.0 has no such kernel: the codes are those of the oracle, exactly, and near the
 * real numbers that they stand for. lstm-sixteen.bin has of each cell its sequence, the oracle's codes, and
 * what it gives in real numbers. */
TEST(lstm_cells_of_16_bits_compute)
{
    static int16_t codes[N_SIXTEEN_CELLS][SIXTEEN_ROOM];
    const void *inputs[N_SIXTEEN_CELLS];
    const uint8_t *wanted[N_SIXTEEN_CELLS], *real[N_SIXTEEN_CELLS];
    void *outputs[N_SIXTEEN_CELLS];
    struct nnhal_tflite *model;
    char path[4096];
    size_t n;
    uint8_t *bytes;
    const uint8_t *at;

    ck_assert_msg(load_model(made_path("lstm-sixteen"), &model) == 0, "%s", message);
    snprintf(path, sizeof(path), "%s", made_path("lstm-sixteen"));
    strcpy(strrchr(path, '.'), ".bin");
    at = bytes = read_all(path, &n);
    ck_assert_uint_eq(nnhal_tflite_n_outputs(model), N_SIXTEEN_CELLS);
    for (uint32_t i = 0; i < N_SIXTEEN_CELLS; i++) {
        size_t n_bytes = nnhal_tflite_output(model, i)->n_bytes;

        ck_assert_uint_le(n_bytes, sizeof(codes[i]));
        inputs[i] = take(&at, nnhal_tflite_input(model, i)->n_bytes);
        wanted[i] = take(&at, n_bytes);
        real[i] = take(&at, n_bytes / sizeof(int16_t) * sizeof(float));
        outputs[i] = codes[i];
    }
    ck_assert_ptr_eq(at, bytes + n);
    compute_model(model, inputs, outputs);
    for (uint32_t i = 0; i < N_SIXTEEN_CELLS; i++) {
        const struct nnhal_tflite_tensor *output = nnhal_tflite_output(model, i);

        ck_assert_mem_eq(codes[i], wanted[i], output->n_bytes);
        for (size_t k = 0; k < output->n_bytes / sizeof(int16_t); k++) {
            float number;

            memcpy(&number, real[i] + k * sizeof(number), sizeof(number));
            ck_assert_float_eq_tol((float)codes[i][k] * output->scale, number, 0.0005f);
        }
    }
    nnhal_tflite_free(model);
    free(bytes);
}
TEST_END

/* One scale has no dimension along which there are several: what the file says of it is no index. */
TEST(a_dimension_of_scales_is_no_index)
{
    struct nnhal_tflite *model = NULL;

    ck_assert_int_eq(load_model(made_path("far-dimension"), &model), 0);
    ck_assert_float_eq(nnhal_tflite_output(model, 0)->scale, 0.5f);
    nnhal_tflite_free(model);
}
TEST_END

CHECK_MAIN("tflite", a_dimension_of_scales_is_no_index, lstm_cells_have_zero_points_of_int8,
           inputs_and_outputs_are_described, operations_say_which_of_the_file_they_are_of,
           what_is_no_file_is_refused, every_truncation_is_refused, flipped_bits_do_no_harm,
           an_operation_that_cannot_be_mapped_is_named,
           operators_that_mean_something_else_are_refused,
           scales_and_cells_that_cannot_be_exact_are_refused, damaged_contents_are_named,
           files_that_ask_for_too_much_are_refused,
           complex_numbers_are_refused_where_they_mean_something_else, composed_operations_compute,
           the_extension_computes_what_nnapi_has_not, transforms_compute,
           activations_of_16_bits_compute, sparse_constants_are_made_dense,
           lstm_cells_of_8_bits_compute, lstm_cells_of_16_bits_compute)
