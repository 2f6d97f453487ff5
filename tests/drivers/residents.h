/* SPDX-License-Identifier: Apache-2.0 */
/* residents.h - a model two parts of which are of one device, with a value between them
 *
 * The result is EXP(x) + ABS(FLOOR(x)). In part 0 partial-0 computes EXP and FLOOR, in part 2 the sum, in
 * part 1 partial-1 computes ABS: EXP's result may stay in partial-0's own memory. */
#ifndef NN_TESTS_DRIVERS_RESIDENTS_H
#define NN_TESTS_DRIVERS_RESIDENTS_H

#include "drivers/split.h"

enum { RESIDENTS_N = 4, RESIDENTS_BYTES = RESIDENTS_N * sizeof(float) };

/* Rules of such devices; more is what else partial-0 does. */
#define RESIDENTS_RULES "0:not=ABS,buffers=%d%s;1:only=ABS"

struct residents_choices {
    bool is_open;       /* the shape is the input's, which the model does not tell */
    bool is_abs_of_exp; /* ABS reads what the sum reads */
    bool is_exp_output; /* EXP is an output, too */
};

/* What the model was compiled to, and an execution. */
struct residents {
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    const float *x; /* what the next execution reads; NULL: the x that all begin with */
    float sum[RESIDENTS_N], exp[RESIDENTS_N];
};

/* residents_init() - is_listed: the application lists both devices; else the user orders them.
 * residents_done() in the end. */
void residents_init(struct residents *residents, const struct residents_choices *choices,
                    bool is_listed);
void residents_done(struct residents *residents);

/* residents_execute() - an execution in place of the one that is there. */
void residents_execute(struct residents *residents, bool is_reusable);

/* residents_compute() - and compares. */
void residents_compute(struct residents *residents);

/* residents_check_sum() - what was computed, where ABS does not read EXP. */
void residents_check_sum(const struct residents *residents);

/* residents_check_exp() - that values are times EXP(x), of the x that all begin with. */
void residents_check_exp(const float *values, float times);

/* residents_get_moved() - the bytes that the plan moves to the last part. */
uint64_t residents_get_moved(const struct residents *residents);

#endif
