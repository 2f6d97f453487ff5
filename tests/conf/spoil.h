/* SPDX-License-Identifier: Apache-2.0 */
/* spoil.h - one thing wrong in a model of vectors
 *
 * Each spoiler changes one number at a random place of a model that was just
 * read. Some changes leave nothing legal; others may, by chance, give a model
 * that is legal too: then every surface must agree that it is. */
#ifndef NN_TESTS_CONF_SPOIL_H
#define NN_TESTS_CONF_SPOIL_H

#include "nnt/file.h"

enum spoil_outcome {
    SPOIL_NOTHING, /* this model has no such place */
    SPOIL_MAY_BE_LEGAL,
    SPOIL_NEVER_LEGAL,
};

struct spoiler {
    const char *name;
    enum spoil_outcome (*spoil)(struct nnt_file *file, struct nnt_model *model);
};

extern const struct spoiler spoilers[];
extern const unsigned n_spoilers;

/* spoil_seed() - from here on the same places are chosen again. */
void spoil_seed(uint64_t seed);

#endif
