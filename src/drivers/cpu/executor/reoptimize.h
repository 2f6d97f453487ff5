/* SPDX-License-Identifier: Apache-2.0 */
/* reoptimize.h - a prepared model: a program, and the better one that takes its place
 *
 *   quick      the passes that cost next to nothing; as good as any for a model that
 *              runs once
 *   optimized  all passes
 *
 * Both stages give the same bits. nn_compiled_reoptimize() makes the last one beside
 * the executions of the one before, and puts it in its place between two of them: those in
 * progress end with the program that they began with, which goes with the last of them.
 *
 * For that the model of a quick program is kept: a copy of what it is made of, its constants in the pools or in
 * the data cache. Only a closed program from the cache has none, and stays what it is.
 *
 * Threads: any number execute; one optimizes. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_REOPTIMIZE_H
#define NN_DRIVERS_CPU_EXECUTOR_REOPTIMIZE_H

#include "drivers/cpu/executor/program.h"

struct nn_compiled;

enum {
    NN_COMPILED_E_REFUSED = 1, /* why says what cannot be executed */
    NN_COMPILED_E_INVALID = 2, /* not a cache of ours, or for another CPU */
    NN_COMPILED_E_BEST = 3,    /* there is nothing better */
    NN_COMPILED_E_STOPPED =
        4, /* the deadline has passed, or it was cancelled: nothing has changed */
};

/* What it is made with. */
struct nn_compiled_options {
    struct nn_team *team; /* borrowed */
    uint32_t isa;
    enum nn_pass_set passes;      /* of the optimized stage */
    bool is_quick;                /* begin with the quick one */
    const struct nn_meter *meter; /* borrowed while the model lives; NULL: none */
};

/* nn_compiled_new() - cache (may be NULL) is filled, or left empty, as struct nnhal_cache says.
 * Returns: 0, NN_COMPILED_E_REFUSED, NN_COMPILED_E_STOPPED, -ENOMEM, -EDQUOT. */
int nn_compiled_new(const struct nnhal_driver_model *model,
                    const struct nn_compiled_options *options, struct nn_stop *stop,
                    struct nnhal_cache *cache, struct nn_why *why, struct nn_compiled **ret_staged);

/* nn_compiled_load() - from what nn_compiled_new() or _optimize() has put into a cache.
 * Returns: 0, NN_COMPILED_E_INVALID, NN_COMPILED_E_STOPPED, -ENOMEM, -EDQUOT. */
int nn_compiled_load(const struct nnhal_cache *cache, const struct nn_compiled_options *options,
                     struct nn_stop *stop, struct nn_compiled **ret_staged);

/* nn_compiled_free() - accepts NULL; returns NULL. No execution may be in progress. */
struct nn_compiled *nn_compiled_free(struct nn_compiled *staged);

NN_DEFINE_CLEANUP(struct nn_compiled, nn_compiled_free)

/* nn_compiled_execute() - Returns: as nn_exec(). */
int nn_compiled_execute(struct nn_compiled *staged, struct nnhal_execution *execution,
                        struct nn_why *why);

/* nn_compiled_open_burst(), nn_compiled_close_burst() - between the two, what executions
 * work in stays allocated, in whichever stage. Returns: how many threads an execution keeps
 * busy, as far as is known. */
unsigned nn_compiled_open_burst(struct nn_compiled *staged);
void nn_compiled_close_burst(struct nn_compiled *staged);

/* nn_compiled_reoptimize() - makes the last stage, once; cache as above, whose bytes stay until it is
 * freed.
 * Returns: 0, NN_COMPILED_E_BEST, NN_COMPILED_E_STOPPED, -ENOMEM, -EDQUOT. */
int nn_compiled_reoptimize(struct nn_compiled *staged, struct nnhal_cache *cache,
                           struct nn_stop *stop);

#endif
