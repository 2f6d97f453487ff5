/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - small models of every kind that the CPU driver plans differently
 *
 * One plan for all executions, of layers or of what passes fuse; open shapes; IF; a WHILE whose tensor grows; a
 * shape that is computed; a result whose shape only running shows; an input that may be
 * omitted; a sequence that a scalar says how to walk. Each is executed in some variants
 * (shapes, branches, omissions), with arguments that depend on the variant alone: the same
 * prepared model, compiled or not, gives the same result. */
#ifndef NN_TESTS_CPU_CASES_H
#define NN_TESTS_CPU_CASES_H

#include "cpu/builder.h"

#include <stdbool.h>

#define CASE_MAX_OUTPUTS 4
#define CASE_MAX_BYTES   (1 << 14) /* of an argument */
#define CASE_N_VARIANTS  4

struct cpu_case {
    const char *name;
    void (*build)(struct builder *b);
    /* NULL: numbers of no meaning. Returns: false to leave the input out. */
    bool (*fill)(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes);
};

/* The cases; the first has one plan, with every kind of layer; the last has no name. */
extern const struct cpu_case cpu_cases[];

/* What an execution gave. */
struct case_result {
    uint32_t status;
    uint32_t n_outputs;
    uint32_t n_dims[CASE_MAX_OUTPUTS];
    uint32_t dims[CASE_MAX_OUTPUTS][NNHAL_MAX_RANK];
    uint8_t bytes[CASE_MAX_OUTPUTS][CASE_MAX_BYTES];
};

/* case_execute() - of a prepared model of the builder's driver. */
void case_execute(const struct cpu_case *of, struct builder *b, void *prepared, uint32_t variant,
                  struct case_result *result);

/* case_prepare_kept() - prepares with a cache; *ret_cache's buffers live as long as the model. */
struct case_cache {
    struct nnhal_cache cache;
    struct nnhal_cache_buffer model, data;
};
void *case_prepare_kept(struct builder *b, bool is_quick, struct case_cache *ret_cache);

/* case_load() - NULL if the driver refuses. */
void *case_load(struct builder *b, struct case_cache *cache);

/* case_plan() - the block of the first plan with steps in a cache, and its header. */
struct nn_plan_header;
uint8_t *case_plan(const struct case_cache *cache, struct nn_plan_header *ret_header);

/* case_optimize() - with a cache to be filled, or NULL. Returns: the status. */
uint32_t case_optimize(struct builder *b, void *prepared, struct case_cache *ret_cache);

#endif
