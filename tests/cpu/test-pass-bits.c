/* SPDX-License-Identifier: Apache-2.0 */
/* Passes change no bit: random models, with and without the passes that optimize.
 * NN_TEST_ROUNDS says how many (400). And convolutions of many widths behind which there is a sum. */
#include "cpu/random-model.h"

#include "support/check-main.h"

#include <stdlib.h>
#include <string.h>

static void run(struct builder *b, const struct random_run *how, uint32_t seed,
                struct random_results *results)
{
    int r = random_model_run(b, how, seed, results);

    ck_assert_msg(r == 0, "model %u: %d: %s", seed, r, b->why);
}

TEST(random_models_keep_their_bits)
{
    static const uint32_t sets[] = {NN_ISA_C, NN_ISA_AVX2 | NN_ISA_FMA,
                                    NN_ISA_AVX2 | NN_ISA_FMA | NN_ISA_AVX512,
                                    NN_ISA_AVX2 | NN_ISA_FMA | NN_ISA_AVX512 | NN_ISA_AVX512_VNNI};
    static struct random_results plain, optimized;
    const char *rounds = getenv("NN_TEST_ROUNDS");
    uint32_t n_models = rounds ? (uint32_t)strtoul(rounds, NULL, 10) : 400;

    for (uint32_t seed = 0; seed < n_models; seed++) {
        uint32_t isa = random_model_usable_isa(sets[seed % 4]);
        struct builder b;

        builder_init(&b, 1);
        random_model_make(&b, &(struct random_choices){.seed = seed},
                          seed % 10 == 9 ? RANDOM_LARGE : RANDOM_SMALL);
        run(&b, &(struct random_run){NN_PASSES_QUICK, isa, 1}, seed, &plain);
        run(&b, &(struct random_run){NN_PASSES_ALL, isa, seed % 10 == 9 ? 3 : 1}, seed, &optimized);
        ck_assert_msg(memcmp(&plain, &optimized, sizeof(plain)) == 0, "model %u differs", seed);
        builder_done(&b);
    }
}
TEST_END

/* A tensor of random floats. */
static uint32_t constant(struct builder *b, uint32_t rank, const uint32_t *dims, uint32_t *seed)
{
    static float numbers[72 * 3 * 3 * 72];
    size_t n = 1;

    for (uint32_t d = 0; d < rank; d++)
        n *= dims[d];
    ck_assert_uint_le(n, sizeof(numbers) / sizeof(*numbers));
    for (size_t i = 0; i < n; i++)
        numbers[i] = builder_random_float(seed, -1.0f, 1.0f);
    return builder_constant(b, 0, NNHAL_TENSOR_FLOAT32, rank, dims, 0, 0, numbers,
                            n * sizeof(*numbers), 0);
}

/* A convolution that keeps the size of what it reads, from ci channels to those of dims. */
static uint32_t add_conv(struct builder *b, uint32_t in, uint32_t ci, const uint32_t dims[4],
                         uint32_t *seed)
{
    uint32_t side = builder_random_int(seed, 0, 1) ? 3 : 1;
    uint32_t filter[] = {dims[3], side, side, ci};
    uint32_t out = builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 4, dims, 0, 0);
    uint32_t operands[] = {in,
                           constant(b, 4, filter, seed),
                           constant(b, 1, &dims[3], seed),
                           builder_i32(b, 0, 1),
                           builder_i32(b, 0, 1),
                           builder_i32(b, 0, 1),
                           builder_i32(b, 0, builder_random_int(seed, 0, 3))};

    builder_operation(b, 0, NNHAL_OP_CONV_2D, 7, operands, 1, &out);
    return out;
}

/* The sum of a convolution and of its input, or of another one; a TANH behind it or not. */
static void make_sum(struct builder *b, uint32_t seed)
{
    static const uint32_t channels[] = {1, 7, 8, 16, 20, 24, 28, 40, 64, 72};
    uint32_t co = channels[seed % 10], ci = channels[builder_random_int(&seed, 0, 9)];
    bool is_point = builder_random_int(&seed, 0, 4) == 0, is_last = builder_random_int(&seed, 0, 1);
    uint32_t side = is_point ? 1 : (uint32_t)builder_random_int(&seed, 1, 20);
    uint32_t in_dims[] = {1, side, side, ci}, dims[] = {1, side, side, co};
    uint32_t in = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, in_dims, 0, 0), out;
    uint32_t other = ci == co ? in : add_conv(b, in, ci, dims, &seed);
    uint32_t result = add_conv(b, in, ci, dims, &seed);
    bool is_swapped = builder_random_int(&seed, 0, 1);
    uint32_t operands[] = {is_swapped ? other : result, is_swapped ? result : other,
                           builder_i32(b, 0, builder_random_int(&seed, 0, 3))};

    out = is_last ? builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, dims, 0, 0)
                  : builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 4, dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_ADD, 3, operands, 1, &out);
    if (is_last)
        return;
    result = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_TANH, 1, &out, 1, &result);
}

TEST(sums_behind_convolutions_keep_their_bits)
{
    static struct random_results plain, optimized;
    uint32_t isa = random_model_usable_isa(NN_ISA_AVX2 | NN_ISA_FMA);

    for (uint32_t seed = 0; seed < 200; seed++) {
        struct builder b;

        builder_init(&b, 1);
        make_sum(&b, seed);
        run(&b, &(struct random_run){NN_PASSES_QUICK, isa, 1}, seed, &plain);
        run(&b, &(struct random_run){NN_PASSES_ALL, isa, seed % 3 + 1}, seed, &optimized);
        ck_assert_msg(memcmp(&plain, &optimized, sizeof(plain)) == 0, "sum %u differs", seed);
        builder_done(&b);
    }
}
TEST_END

CHECK_MAIN("pass-bits", random_models_keep_their_bits, sums_behind_convolutions_keep_their_bits)
