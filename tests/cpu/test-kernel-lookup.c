/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/lookup/fingerprint.h"

#include "support/check-main.h"

#include <math.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED

static struct kernel_case c;

static int32_t number_at(uint32_t output, size_t i)
{
    int32_t value;

    memcpy(&value, c.outputs[output].data + i * sizeof(value), sizeof(value));
    return value;
}

/* ---- GATHER, EMBEDDING_LOOKUP ---- */

static void gather(uint32_t type, const uint32_t dims[3], int32_t axis, uint32_t n,
                   const int32_t *indices, uint64_t *seed)
{
    void *elements = kernel_case_random(type, (size_t)dims[0] * dims[1] * dims[2], seed);

    kernel_case_init(&c, NNHAL_OP_GATHER, &nn_kernels_lookup);
    kernel_case_tensor(&c, type, 3, dims, elements);
    kernel_case_i32(&c, axis);
    kernel_case_i32s(&c, n, indices);
    kernel_case_output(&c, type);
    free(elements);
}

TEST(gather_along_each_axis)
{
    static const uint32_t types[] = {F32, NNHAL_TENSOR_FLOAT16, I32, Q8, Q8S};
    const uint32_t dims[3] = {4, 5, 6};

    for (uint64_t i = 0; i < 60; i++) {
        uint64_t seed = i;
        uint32_t axis = (uint32_t)i % 3, n = 1 + kernel_case_below(&seed, 7), at[3];
        int32_t indices[8];
        size_t bytes;

        for (uint32_t k = 0; k < n; k++)
            indices[k] = (int32_t)kernel_case_below(&seed, dims[axis]);
        gather(types[i % 5], dims, (int32_t)axis - (i % 2 ? 3 : 0), n, indices, &seed);
        kernel_case_run(&c);
        bytes = c.outputs[0].size / kernel_case_count(&c.outputs[0]);
        for (size_t k = 0; k < kernel_case_count(&c.outputs[0]); k++) {
            const uint32_t *out = c.outputs[0].dims;
            size_t from;

            at[2] = (uint32_t)(k % out[2]);
            at[1] = (uint32_t)(k / out[2] % out[1]);
            at[0] = (uint32_t)(k / out[2] / out[1]);
            at[axis] = (uint32_t)indices[at[axis]];
            from = ((size_t)at[0] * dims[1] + at[1]) * dims[2] + at[2];
            ck_assert_int_eq(
                memcmp(c.outputs[0].data + k * bytes, c.inputs[0].data + from * bytes, bytes), 0);
        }
        kernel_case_done(&c);
    }
}
TEST_END

TEST(gather_refuses_indices_outside)
{
    static const int32_t wrong[] = {5, -1, INT32_MAX, INT32_MIN};
    const uint32_t dims[3] = {4, 5, 6};
    uint64_t seed = 1;

    for (size_t i = 0; i < 4; i++) {
        gather(F32, dims, 1, 2, (int32_t[]){0, wrong[i]}, &seed);
        ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
        ck_assert_str_ne(c.why, "");
        kernel_case_done(&c);
    }
}
TEST_END

TEST(embedding_lookup_takes_rows)
{
    const float table[] = {0, 1, 10, 11, 20, 21};

    kernel_case_init(&c, NNHAL_OP_EMBEDDING_LOOKUP, &nn_kernels_lookup);
    kernel_case_i32s(&c, 4, (int32_t[]){2, 0, 2, 1});
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){3, 2}, table);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 4);
    ck_assert(kernel_case_real(&c.outputs[0], 0) == 20 && kernel_case_real(&c.outputs[0], 3) == 1 &&
              kernel_case_real(&c.outputs[0], 7) == 11);
    c.inputs[0].data[0] = 3;
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
    kernel_case_done(&c);
}
TEST_END

/* ---- HASHTABLE_LOOKUP ---- */

TEST(hashtable_lookup_hits_and_misses)
{
    const uint8_t values[] = {1, 2, 3, 4, 5, 6};

    kernel_case_init(&c, NNHAL_OP_HASHTABLE_LOOKUP, &nn_kernels_lookup);
    kernel_case_i32s(&c, 4, (int32_t[]){INT32_MAX, -7, INT32_MIN, 0});
    kernel_case_i32s(&c, 3, (int32_t[]){INT32_MIN, 0, INT32_MAX});
    kernel_case_tensor(&c, Q8, 2, (uint32_t[]){3, 2}, values)->zero_point = 9;
    kernel_case_output(&c, Q8);
    kernel_case_output(&c, Q8);
    kernel_case_run(&c);
    /* A miss is zero bytes, not the zero point. */
    ck_assert_int_eq(memcmp(c.outputs[0].data, ((uint8_t[]){5, 6, 0, 0, 1, 2, 3, 4}), 8), 0);
    ck_assert_int_eq(memcmp(c.outputs[1].data, ((uint8_t[]){1, 0, 1, 1}), 4), 0);
    kernel_case_done(&c);
}
TEST_END

TEST(hashtable_lookup_survives_unsorted_keys)
{
    uint64_t seed = 5;

    for (int i = 0; i < 50; i++) {
        int32_t keys[16], lookups[8];

        for (int k = 0; k < 16; k++)
            keys[k] = (int32_t)kernel_case_below(&seed, 20);
        for (int k = 0; k < 8; k++)
            lookups[k] = (int32_t)kernel_case_below(&seed, 20);
        kernel_case_init(&c, NNHAL_OP_HASHTABLE_LOOKUP, &nn_kernels_lookup);
        kernel_case_i32s(&c, 8, lookups);
        kernel_case_i32s(&c, 16, keys);
        kernel_case_tensor(&c, I32, 1, (uint32_t[]){16}, keys);
        kernel_case_output(&c, I32);
        kernel_case_output(&c, Q8);
        kernel_case_run(&c);
        /* What is called a hit is one. */
        for (size_t k = 0; k < 8; k++)
            ck_assert_int_eq(number_at(0, k), c.outputs[1].data[k] ? lookups[k] : 0);
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- LSH_PROJECTION ---- */

TEST(fingerprint_is_farmhash)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } known[] = {
        {0, UINT64_C(0x9ae16a3b2f90404f)},   {3, UINT64_C(0x373a2b2a12e0c581)},
        {7, UINT64_C(0x960838fbc6d9c975)},   {12, UINT64_C(0x12a0d52d6f922439)},
        {20, UINT64_C(0x9c9eaf52a36e5a4c)},  {50, UINT64_C(0x971695896babf4e0)},
        {64, UINT64_C(0x000f03eac52d3535)},  {65, UINT64_C(0xfb360c5023f60db6)},
        {200, UINT64_C(0x51320a19a60cbd6e)},
    };
    struct nn_pace pace = nn_pace(NULL);
    uint8_t bytes[200];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        ck_assert(nn_fingerprint64(bytes, known[i].n, &pace) == known[i].hash);
}
TEST_END

static void lsh(int32_t kind, bool has_weight)
{
    uint64_t seed = 3;
    void *hash = kernel_case_random(F32, 12, &seed), *input = kernel_case_random(I32, 6, &seed);

    kernel_case_init(&c, NNHAL_OP_LSH_PROJECTION, &nn_kernels_lookup);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){4, 3}, hash);
    kernel_case_tensor(&c, I32, 2, (uint32_t[]){3, 2}, input);
    if (has_weight)
        kernel_case_tensor(&c, F32, 1, (uint32_t[]){3}, (float[]){1.0f, 1.0f, 1.0f});
    else
        kernel_case_omit(&c, F32);
    kernel_case_i32(&c, kind);
    kernel_case_output(&c, I32);
    free(hash);
    free(input);
}

TEST(lsh_kinds_agree)
{
    int32_t bits[12];

    lsh(2, true);
    kernel_case_run(&c);
    for (size_t i = 0; i < 12; i++)
        bits[i] = number_at(0, i);
    kernel_case_done(&c);
    /* Weights of 1 change nothing, so the sparse kinds pack the same bits. */
    for (int32_t kind = 1; kind <= 3; kind += 2) {
        lsh(kind, false);
        kernel_case_run(&c);
        for (int32_t i = 0; i < 4; i++) {
            int32_t packed = bits[i * 3] * 4 + bits[i * 3 + 1] * 2 + bits[i * 3 + 2];

            ck_assert_int_eq(number_at(0, (size_t)i), packed + (kind == 3 ? i * 8 : 0));
        }
        kernel_case_done(&c);
    }
}
TEST_END

TEST(lsh_weights_belong_to_the_dense_kind)
{
    for (int32_t kind = 0; kind <= 4; kind++) {
        lsh(kind, kind != 2);
        ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- SELECT ---- */

TEST(select_chooses_by_any_non_zero_byte)
{
    static const uint8_t condition[] = {0, 1, 2, 255};

    kernel_case_init(&c, NNHAL_OP_SELECT, &nn_kernels_select);
    kernel_case_tensor(&c, NNHAL_TENSOR_BOOL8, 1, (uint32_t[]){4}, condition);
    kernel_case_i32s(&c, 4, (int32_t[]){1, 2, 3, 4});
    kernel_case_i32s(&c, 4, (int32_t[]){-1, -2, -3, -4});
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(number_at(0, i), i ? (int32_t)i + 1 : -1);
    kernel_case_done(&c);
}
TEST_END

TEST(select_requantizes)
{
    static const uint8_t condition[] = {1, 1, 0, 0};

    kernel_case_init(&c, NNHAL_OP_SELECT, &nn_kernels_select);
    kernel_case_tensor(&c, NNHAL_TENSOR_BOOL8, 1, (uint32_t[]){4}, condition);
    kernel_case_tensor(&c, Q8S, 1, (uint32_t[]){4}, (int8_t[]){-3, 127, 0, 0})->scale = 0.5f;
    kernel_case_tensor(&c, Q8S, 1, (uint32_t[]){4}, (int8_t[]){0, 0, 7, -128})->zero_point = 4;
    kernel_case_output(&c, Q8S)->zero_point = -100;
    kernel_case_run(&c);
    /* -1.5, 63.5, 3, -132 steps from -100: halves go away from zero, then clamped. */
    ck_assert_int_eq((int8_t)c.outputs[0].data[0], -102);
    ck_assert_int_eq((int8_t)c.outputs[0].data[1], -37);
    ck_assert_int_eq((int8_t)c.outputs[0].data[2], -97);
    ck_assert_int_eq((int8_t)c.outputs[0].data[3], -128);
    kernel_case_done(&c);
}
TEST_END

/* ---- TOPK_V2 ---- */

TEST(topk_ranks_values_then_indices)
{
    static const uint32_t types[] = {F32, NNHAL_TENSOR_FLOAT16, I32, Q8, Q8S};

    for (uint64_t i = 0; i < 100; i++) {
        uint64_t seed = i;
        uint32_t n = 1 + kernel_case_below(&seed, 40), k = 1 + kernel_case_below(&seed, n);
        uint32_t type = types[i % 5];
        void *elements = kernel_case_random(type, 3 * n, &seed);

        kernel_case_init(&c, NNHAL_OP_TOPK_V2, &nn_kernels_select);
        kernel_case_tensor(&c, type, 2, (uint32_t[]){3, n}, elements);
        kernel_case_i32(&c, (int32_t)k);
        kernel_case_output(&c, type);
        kernel_case_output(&c, I32);
        kernel_case_run(&c);
        for (size_t row = 0; row < 3; row++) {
            for (size_t j = 0; j < k; j++) {
                int32_t at = number_at(1, row * k + j), n_better = 0;
                double value = kernel_case_real(&c.inputs[0], row * n + (size_t)at);

                ck_assert(value == kernel_case_real(&c.outputs[0], row * k + j));
                /* Exactly j elements come before it. */
                for (int32_t x = 0; x < (int32_t)n; x++) {
                    double other = kernel_case_real(&c.inputs[0], row * n + (size_t)x);

                    n_better += other > value || (other == value && x > at);
                }
                ck_assert_int_eq(n_better, (int32_t)j);
            }
        }
        kernel_case_done(&c);
        free(elements);
    }
}
TEST_END

TEST(topk_takes_both_zeros_as_equal_and_survives_nan)
{
    kernel_case_init(&c, NNHAL_OP_TOPK_V2, &nn_kernels_select);
    kernel_case_tensor(&c, F32, 1, (uint32_t[]){3}, (float[]){0.0f, -0.0f, -1.0f});
    kernel_case_i32(&c, 2);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
    ck_assert_int_eq(number_at(1, 0), 1);
    ck_assert_int_eq(number_at(1, 1), 0);
    kernel_case_done(&c);

    kernel_case_init(&c, NNHAL_OP_TOPK_V2, &nn_kernels_select);
    kernel_case_tensor(&c, F32, 1, (uint32_t[]){4}, (float[]){NAN, 1.0f, -NAN, 2.0f});
    kernel_case_i32(&c, 4);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
    ck_assert_int_eq(number_at(1, 0) + number_at(1, 1) + number_at(1, 2) + number_at(1, 3), 6);
    kernel_case_done(&c);
}
TEST_END

/* ---- RANDOM_MULTINOMIAL ---- */

static void multinomial(uint32_t n_classes, const float *logits, int32_t n_samples, int32_t seed)
{
    kernel_case_init(&c, NNHAL_OP_RANDOM_MULTINOMIAL, &nn_kernels_random);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){2, n_classes}, logits);
    kernel_case_i32(&c, n_samples);
    kernel_case_i32s(&c, 2, (int32_t[]){seed, seed ? 40 : 0});
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
}

TEST(multinomial_follows_the_distribution)
{
    const float logits[] = {0.0f, 1.0f, -1.0f, 0.5f, -INFINITY, NAN, 2.0f, 1.0f};
    int32_t n = 20000;

    multinomial(4, logits, n, 37);
    for (size_t b = 0; b < 2; b++) {
        double total = 0.0;
        size_t counts[4] = {0};

        for (size_t k = 0; k < 4; k++)
            total += isfinite(logits[b * 4 + k]) ? exp((double)logits[b * 4 + k]) : 0.0;
        for (size_t i = 0; i < (size_t)n; i++) {
            int32_t class = number_at(0, b * (size_t)n + i);

            ck_assert(class >= 0 && class < 4);
            counts[class]++;
        }
        for (size_t k = 0; k < 4; k++) {
            double p = isfinite(logits[b * 4 + k]) ? exp((double)logits[b * 4 + k]) / total : 0.0;

            ck_assert(fabs((double)counts[k] / n - p) < 0.02);
        }
    }
    kernel_case_done(&c);
}
TEST_END

TEST(multinomial_repeats_for_the_same_seeds)
{
    const float logits[8] = {0};
    int32_t first[200];

    multinomial(4, logits, 100, 37);
    memcpy(first, c.outputs[0].data, sizeof(first));
    kernel_case_done(&c);
    multinomial(4, logits, 100, 37);
    ck_assert_int_eq(memcmp(first, c.outputs[0].data, sizeof(first)), 0);
    kernel_case_done(&c);
    multinomial(4, logits, 100, 38);
    ck_assert_int_ne(memcmp(first, c.outputs[0].data, sizeof(first)), 0);
    kernel_case_done(&c);
    /* Seeds of 0: others every time. */
    multinomial(4, logits, 100, 0);
    memcpy(first, c.outputs[0].data, sizeof(first));
    kernel_case_done(&c);
    multinomial(4, logits, 100, 0);
    ck_assert_int_ne(memcmp(first, c.outputs[0].data, sizeof(first)), 0);
    kernel_case_done(&c);
}
TEST_END

TEST(multinomial_without_any_probability_stays_in_range)
{
    const float logits[] = {NAN, INFINITY, -INFINITY, NAN};

    multinomial(2, logits, 50, 7);
    for (size_t i = 0; i < 100; i++)
        ck_assert(number_at(0, i) >= 0 && number_at(0, i) < 2);
    kernel_case_done(&c);
}
TEST_END

CHECK_MAIN("kernel-lookup", gather_along_each_axis, gather_refuses_indices_outside,
           embedding_lookup_takes_rows, hashtable_lookup_hits_and_misses,
           hashtable_lookup_survives_unsorted_keys, fingerprint_is_farmhash, lsh_kinds_agree,
           lsh_weights_belong_to_the_dense_kind, select_chooses_by_any_non_zero_byte,
           select_requantizes, topk_ranks_values_then_indices,
           topk_takes_both_zeros_as_equal_and_survives_nan, multinomial_follows_the_distribution,
           multinomial_repeats_for_the_same_seeds,
           multinomial_without_any_probability_stays_in_range)
