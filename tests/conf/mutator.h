/* SPDX-License-Identifier: Apache-2.0 */
/* mutator.h - one thing wrong in a model of vectors
 *
 * Each mutator changes one number at a random place of a model that was just
 * read. Some changes leave nothing legal; others may, by chance, give a model
 * that is legal too: then every surface must agree that it is. */
#ifndef NN_TESTS_CONF_MUTATOR_H
#define NN_TESTS_CONF_MUTATOR_H

#include "nnt/file.h"

enum mutator_outcome {
    MUTATOR_NO_PLACE, /* this model has no such place */
    MUTATOR_MAY_BE_LEGAL,
    MUTATOR_NEVER_LEGAL,
};

struct mutator {
    const char *name;
    enum mutator_outcome (*mutate)(struct nnt_file *file, struct nnt_model *model);
};

extern const struct mutator mutators[];
extern const unsigned n_mutators;

/* mutator_seed() - from here on the same places are chosen again. */
void mutator_seed(uint64_t seed);

#endif
