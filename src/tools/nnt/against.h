/* SPDX-License-Identifier: Apache-2.0 */
/* against.h - the results of two devices for one model, side by side */
#ifndef NN_TOOLS_NNT_AGAINST_H
#define NN_TOOLS_NNT_AGAINST_H

#include "attempt.h"

/* nnt_check_against() - whether two executed attempts at one model gave the same: dimensions,
 * and elements of integer and boolean types exactly; floats within the format's tolerances, or
 * exactly if the run says so. What is no number is the same as any other such. Notes the first
 * difference in attempt->run. Returns: true if there is none. */
bool nnt_check_against(struct nnt_attempt *attempt, const struct nnt_attempt *reference);

#endif
