/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - sections in processes of their own, and the count of what they tell
 *
 * The judge forks a process for each section and reads lines from it. A process that ends or is
 * silent for too long fails the check that was under way; the next process goes on
 * behind that one. A section is given up where too many checks end so: each that hangs takes
 * the patience of a user. The judge itself never calls the library or the driver. One thread. */
#ifndef NN_TOOLS_CTS_JUDGE_H
#define NN_TOOLS_CTS_JUDGE_H

#include "cts.h"

struct cts_tally {
    unsigned n_of[NNT_OUTCOME_N];
    unsigned n_silent; /* of those that failed: they did not end */
};

/* cts_judge() - runs a section to its end, prints what failed, and counts in tally, which was empty. The driver's word for its
 * device goes to options->device. */
void cts_judge(struct cts_options *options, const struct cts_section *section,
               struct cts_tally *tally);

/* cts_give_up() - fails a section without making a check: so often has the driver hung before. */
void cts_give_up(struct cts_options *options, const struct cts_section *section,
                 struct cts_tally *tally);

#endif
