/* SPDX-License-Identifier: Apache-2.0 */
/* change.h - copies of a model with other data
 *
 * A copy lives as long as the model, has arrays of its own, and may be changed. */
#ifndef NN_TOOLS_CTS_CHANGE_H
#define NN_TOOLS_CTS_CHANGE_H

#include "nnt/file.h"

/* cts_copy_model() - Returns: NULL if memory is short. */
struct nnt_model *cts_copy_model(struct nnt_file *file, const struct nnt_model *model);

/* cts_change_inputs() - a copy that feeds other values of ordinary sizes: what comes out is not known. */
struct nnt_model *cts_change_inputs(struct nnt_file *file, const struct nnt_model *model);

/* cts_feed_integers() - a copy in which every integer and boolean that is a constant of the main graph
 * is fed, so that its value is known at execution only. Returns: NULL if there is none, or memory
 * is short. */
struct nnt_model *cts_feed_integers(struct nnt_file *file, const struct nnt_model *model);

/* cts_feed_strange() - a copy in which every integer that is fed has this value, and every float
 * that is fed is no number. */
struct nnt_model *cts_feed_strange(struct nnt_file *file, const struct nnt_model *model,
                                   int32_t value);

#endif
