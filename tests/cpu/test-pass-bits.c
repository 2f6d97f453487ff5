/* SPDX-License-Identifier: Apache-2.0 */
/* Passes change no bit: random models, with and without the passes that optimize.
 * NN_TEST_ROUNDS says how many (400). */
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

CHECK_MAIN("pass-bits", random_models_keep_their_bits)
