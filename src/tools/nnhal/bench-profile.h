/* SPDX-License-Identifier: Apache-2.0 */
/* bench-profile.h - where the time of an execution goes, step by step
 *
 * The CPU driver tells what each of its steps took. A step's figure is the median over the runs;
 * loops of the model that do not always take the same way mix what stands at the same place. */
#ifndef NN_TOOLS_NNHAL_BENCH_PROFILE_H
#define NN_TOOLS_NNHAL_BENCH_PROFILE_H

#include "bench-peak.h"
#include "session.h"

struct profile_step {
    char operation[40], kernel[48], shape[48];
    bool is_integer;
    uint32_t n_fused;
    double us;                  /* median */
    double n_products, n_bytes; /* of one run */
};

struct profile {
    uint32_t n_steps, n_runs;
    struct profile_step *steps;
    double steps_us;   /* the sum of the steps' medians */
    double run_us;     /* median of whole runs, measured with the steps */
    double peak_scale; /* threads: what the peak of one is multiplied by */
    struct bench_peak peak;
};

/* profile_measure() - n_runs executions on n_threads threads. profile_free() what comes back, also
 * after a failure. Returns: TOOL_OK, or a status with the complaint printed. */
int profile_measure(struct session *session, uint32_t n_runs, uint32_t n_threads,
                    struct profile *ret_profile);

void profile_free(struct profile *profile);

/* profile_print() - a table, the slowest step first. profile_print_json() - in the model's order. */
void profile_print(const struct profile *profile);
void profile_print_json(const struct profile *profile, const char *model);

#endif
