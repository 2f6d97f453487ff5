/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of rank 5 and 6, and composites, which are computed by the subgraphs that files give them
 * (make-ranks.py). tests/tflite/scenes.py compares them with TensorFlow Lite. */
#include "tflite/loading.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { N = 144, GROUP = 3 * 12 };

static void fill(float *values, uint32_t n, float offset)
{
    for (uint32_t i = 0; i < n; i++)
        values[i] = (float)(i * 37 % 101) / 25 - 2 + offset;
}

/* Dimensions that are broadcast by turns, and an order in which no two of six stay neighbors. */
TEST(six_dimensions_are_broadcast_and_transposed)
{
    float x[72], comb[12], sum[72], product[72], moved[72];
    struct nnhal_tflite *model;
    uint32_t at = 0;

    ck_assert_msg(load_model(made_path("ranks-alone"), &model) == 0, "%s", message);
    ck_assert_uint_eq(nnhal_tflite_output(model, 2)->n_dimensions, 6);
    fill(x, 72, 0);
    fill(comb, 12, 0.25f);
    compute_model(model, (const void *[]){x, comb}, (void *[]){sum, product, moved});
    for (uint32_t i = 0; i < 72; i++) { /* [2,3,2,2,1,3] and [2,1,2,1,1,3] */
        float other = comb[i / 36 * 6 + i / 6 % 2 * 3 + i % 3];

        ck_assert_float_eq(sum[i], x[i] + other);
        ck_assert_float_eq(product[i], x[i] * other);
    }
    for (uint32_t f = 0; f < 3; f++) /* in the order 5, 3, 1, 4, 0, 2 */
        for (uint32_t d = 0; d < 2; d++)
            for (uint32_t b = 0; b < 3; b++)
                for (uint32_t a = 0; a < 2; a++)
                    for (uint32_t c = 0; c < 2; c++)
                        ck_assert_float_eq(moved[at++], x[((a * 3 + b) * 2 + c) * 6 + d * 3 + f]);
    nnhal_tflite_free(model);
}
TEST_END

/* One picture's group of channels; images are [2,4,3,6], and groups have three channels. */
static void normalize_group(const float *image, float *result, uint32_t group, const float *gamma,
                            const float *beta)
{
    double mean = 0, variance = 0;

    for (uint32_t i = 0; i < GROUP; i++)
        mean += (double)image[i / 3 * 6 + group * 3 + i % 3] / GROUP;
    for (uint32_t i = 0; i < GROUP; i++)
        variance += pow((double)image[i / 3 * 6 + group * 3 + i % 3] - mean, 2) / GROUP;
    for (uint32_t i = 0; i < GROUP; i++) {
        uint32_t at = i / 3 * 6 + group * 3 + i % 3, channel = group * 3 + i % 3;

        result[at] = (float)(((double)image[at] - mean) / sqrt(variance + 1e-5)) * gamma[channel] +
                     beta[channel];
    }
}

static void normalize(const float *images, float *result, float gamma_offset, float beta_offset)
{
    float gamma[6], beta[6];

    for (uint32_t i = 0; i < 6; i++) {
        gamma[i] = 0.5f * (float)i + gamma_offset;
        beta[i] = 0.5f * (float)i + beta_offset;
    }
    for (uint32_t i = 0; i < 4; i++)
        normalize_group(images + i / 2 * (N / 2), result + i / 2 * (N / 2), i % 2, gamma, beta);
}

/* A composite in a composite, used twice, is the operators of which it is made, to the bit. */
TEST(composites_are_what_they_are_made_of)
{
    float x[N], first[N], wanted[N], got[2][N];
    struct nnhal_tflite *model;

    fill(x, N, 0.5f);
    normalize(x, first, 1, -1);
    for (uint32_t i = 0; i < N; i++)
        first[i] = fmaxf(first[i], 0);
    normalize(first, wanted, -2, 0.25f);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "group-norm-composite" : "group-norm";

        ck_assert_msg(load_model(made_path(name), &model) == 0, "%s", message);
        compute_model(model, (const void *[]){x}, (void *[]){got[i]});
        nnhal_tflite_free(model);
    }
    for (uint32_t i = 0; i < N; i++)
        ck_assert_float_eq_tol(got[0][i], wanted[i], 1e-4f);
    ck_assert_mem_eq(got[0], got[1], sizeof(got[0]));
}
TEST_END

/* One without an end is no model; one whose subgraph gives another shape is not computed by it. */
TEST(composites_that_do_not_fit_are_refused)
{
    struct nnhal_tflite *model;

    ck_assert_int_eq(load_model(made_path("bad-composite"), &model), -EINVAL);
    ck_assert_str_eq(message, "operation 0: composites in more than 8 others, or with more than "
                              "65536 tensors together");
    ck_assert_int_eq(load_model(made_path("odd-composite"), &model), -ENOTSUP);
    ck_assert_str_eq(message, "operation 0 (STABLEHLO_COMPOSITE): NNAPI has no such operation");
}
TEST_END

/* Any result, but a result: sanitizers see the rest. */
TEST(flipped_bits_of_composites_do_no_harm)
{
    size_t n;
    uint8_t *bytes = read_all(made_path("group-norm-composite"), &n);

    for (size_t at = 0; at < n; at += 2) {
        uint8_t bit = (uint8_t)(1u << at % 7);

        bytes[at] ^= bit;
        load_bytes(bytes, n);
        bytes[at] ^= bit;
    }
    free(bytes);
}
TEST_END

CHECK_MAIN("tflite-ranks", six_dimensions_are_broadcast_and_transposed,
           composites_are_what_they_are_made_of, composites_that_do_not_fit_are_refused,
           flipped_bits_of_composites_do_no_harm)
