/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - random models on every set of kernels that the CPU has, with all passes, beside plain C
 * with the necessary ones (nnapi-reference): the same results to the bit
 *
 * The input: the choices of tests/cpu/random-model.c. Sets that fuse multiplications and additions
 * are asked for models of integers alone; floats may differ there. */
#include "fuzz.h"

#include "cpu/random-model.h"

#include <string.h>

static const uint32_t sets[] = {NN_ISA_C, NN_ISA_AVX2, NN_ISA_AVX2 | NN_ISA_AVX512,
                                NN_ISA_AVX2 | NN_ISA_AVX512 | NN_ISA_AVX512_VNNI, NN_ISA_NEON};

static void compare_sets(struct builder *b, uint32_t seed)
{
    static struct random_results plain, other;
    struct random_run run = {.passes = NN_PASSES_QUICK, .isa = NN_ISA_C, .n_threads = 1};

    FUZZ_CHECK(random_model_run(b, &run, seed, &plain) == 0);
    run.passes = NN_PASSES_ALL;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        run.isa = random_model_usable_isa(sets[i]);
        if (run.isa != sets[i])
            continue;
        if ((run.isa & NN_ISA_AVX2) && !random_model_has_floats(b))
            run.isa |= NN_ISA_FMA;
        FUZZ_CHECK(random_model_run(b, &run, seed, &other) == 0);
        FUZZ_CHECK(memcmp(&plain, &other, sizeof(plain)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct random_choices choices = {.bytes = bytes, .n_bytes = n_bytes, .seed = 1};
    struct builder b;

    if (n_bytes >= 2)
        choices.seed = (uint32_t)(bytes[0] | bytes[1] << 8);
    builder_init(&b, 1);
    random_model_make(&b, &choices, RANDOM_SMALL);
    compare_sets(&b, choices.seed);
    builder_done(&b);
    return 0;
}
