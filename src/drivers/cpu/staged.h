/* SPDX-License-Identifier: Apache-2.0 */
/* staged.h - a prepared model: a program, and the better one that takes its place
 *
 *   quick      the passes that cost next to nothing; as good as any for a model that
 *              runs once
 *   whole      all passes, kernels by the table's order
 *   optimized  the same, kernels timed against each other (tune.h)
 *
 * All stages give the same bits. nn_staged_optimize() makes the last one beside
 * the executions of the one before, and puts it in its place between two of them: those in
 * progress end with the program that they began with, which goes with the last of them.
 *
 * For that the model is kept: a copy of what it is made of, its constants in the pools or in
 * the data cache. Only a closed program from the cache has none, and stays what it is.
 *
 * Threads: any number execute; one optimizes. */
#ifndef NN_CPU_STAGED_H
#define NN_CPU_STAGED_H

#include "drivers/cpu/program.h"

struct nn_staged;

enum {
    NN_STAGED_E_REFUSED = 1,   /* why says what cannot be executed */
    NN_STAGED_E_INVALID = 2,   /* not a cache of ours, or for another CPU */
    NN_STAGED_E_BEST = 3,      /* there is nothing better */
    NN_STAGED_E_CANCELLED = 4, /* nothing has changed */
};

/* What it is made with. */
struct nn_staged_options {
    struct nn_team *team; /* borrowed */
    uint32_t isa;
    enum nn_passes passes; /* of the whole and the optimized stage */
    bool is_quick;         /* begin with the quick one */
};

/* nn_staged_new() - cache (may be NULL) is filled, or left empty, as struct nnhal_cache says.
 * Returns: 0, NN_STAGED_E_REFUSED, -ENOMEM. */
int nn_staged_new(const struct nnhal_driver_model *model, const struct nn_staged_options *options,
                  struct nnhal_cache *cache, struct nn_why *why, struct nn_staged **ret_staged);

/* nn_staged_load() - from what nn_staged_new() or _optimize() has put into a cache.
 * Returns: 0, NN_STAGED_E_INVALID, -ENOMEM. */
int nn_staged_load(const struct nnhal_cache *cache, const struct nn_staged_options *options,
                   struct nn_staged **ret_staged);

/* nn_staged_free() - accepts NULL; returns NULL. No execution may be in progress. */
struct nn_staged *nn_staged_free(struct nn_staged *staged);

NN_DEFINE_CLEANUP(struct nn_staged, nn_staged_free)

/* nn_staged_execute() - Returns: as nn_exec(). */
int nn_staged_execute(struct nn_staged *staged, struct nnhal_execution *execution,
                      struct nn_why *why);

/* nn_staged_open_burst(), nn_staged_close_burst() - between the two whatever executions
 * work in stays allocated, in whichever stage. Returns: how many threads an execution keeps
 * busy, as far as is known. */
unsigned nn_staged_open_burst(struct nn_staged *staged);
void nn_staged_close_burst(struct nn_staged *staged);

/* nn_staged_optimize() - makes the last stage, once; cache as above, whose bytes stay until it is
 * freed.
 * Returns: 0, NN_STAGED_E_BEST, NN_STAGED_E_CANCELLED, -ENOMEM. */
int nn_staged_optimize(struct nn_staged *staged, struct nnhal_cache *cache,
                       const uint32_t *is_cancelled);

#endif
