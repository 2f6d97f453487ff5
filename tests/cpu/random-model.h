/* SPDX-License-Identifier: Apache-2.0 */
/* random-model.h - models of the layers that passes change, chosen at random or by any bytes
 *
 * Convolutions, pools, arithmetic, conversions, transposes and resizes of one tensor shape, in
 * floats and 8 bits, which read each other's results. A failure of the builder ends the program. */
#ifndef NN_TESTS_CPU_RANDOM_MODEL_H
#define NN_TESTS_CPU_RANDOM_MODEL_H

#include "cpu/builder.h"
#include "drivers/cpu/lowering/compile.h"

#include <stdbool.h>

enum {
    RANDOM_SMALL = 6,
    RANDOM_LARGE = 48,    /* enough work for several threads */
    RANDOM_CHANNELS = 16, /* from which on Winograd's convolution is taken */
    RANDOM_MAX_BYTES = 4 * RANDOM_LARGE * RANDOM_LARGE * RANDOM_CHANNELS,
};

/* Where choices come from: the bytes, and when there are no more the seed. */
struct random_choices {
    const uint8_t *bytes;
    size_t n_bytes;
    uint32_t seed;
};

struct random_run {
    enum nn_pass_set passes;
    uint32_t isa;
    unsigned n_threads;
};

/* Outputs; bytes that are not written are 0xee. */
struct random_results {
    uint8_t bytes[2][RANDOM_MAX_BYTES];
};

/* random_model_make() - graph 0 of an empty builder: one input, two outputs, side x side. */
void random_model_make(struct builder *b, const struct random_choices *choices, uint32_t side);

/* random_model_has_floats() - whether a tensor of it is of floats. */
bool random_model_has_floats(const struct builder *b);

/* random_model_usable_isa() - the set, or plain C where the CPU has less. */
uint32_t random_model_usable_isa(uint32_t isa);

/* random_model_run() - compiles it, has the plan verified as if it came from a cache, and executes it
 * with an input that depends on the seed. Returns: 0, or what failed with; b->why says why. */
int random_model_run(struct builder *b, const struct random_run *run, uint32_t seed,
                     struct random_results *ret_results);

#endif
