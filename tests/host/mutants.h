/* SPDX-License-Identifier: Apache-2.0 */
/* mutants.h - models made by hand, and every way to spoil them
 *
 * The mutators are those of Android's validation tests. Each visits all
 * operands or all operations of all graphs of a model, and makes mutants: copies
 * with one thing wrong. numberOfConsumers has no mutator: our HAL does not carry
 * it. Preference and priority are no part of a model; prop-mutants.c has them. */
#ifndef NN_TESTS_HOST_MUTANTS_H
#define NN_TESTS_HOST_MUTANTS_H

#include "model/maker.h"

#include <stdbool.h>

struct made_model {
    const char *name;
    /* Pools are left for the caller: n_pools of them, pool_sizes bytes. */
    void (*make)(struct maker *maker);
};

extern const struct made_model made_models[];
extern const size_t n_made_models;

enum mutant_outcome {
    MUTANT_MADE,
    MUTANT_SKIPPED, /* this variant says nothing new here */
    MUTANT_END,     /* there are no more variants */
};

/* Spoils operand, or operation, number i of a graph in the variant's way. */
struct mutator {
    const char *name;
    bool is_of_operations;
    enum mutant_outcome (*mutate)(struct maker *maker, struct maker_graph *graph, uint32_t i,
                                  uint32_t variant);
};

extern const struct mutator mutators[];
extern const size_t n_mutators;

#endif
