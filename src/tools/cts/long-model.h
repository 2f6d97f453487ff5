/* SPDX-License-Identifier: Apache-2.0 */
/* long-model.h - a model that keeps a device busy for a while
 *
 * A chain of one operation, of a length that is found by trying. For what must end before its time: a
 * deadline, a cancellation. */
#ifndef NN_TOOLS_CTS_LONG_MODEL_H
#define NN_TOOLS_CTS_LONG_MODEL_H

#include "cts.h"
#include "nnt/file.h"

/* In place of a time: the model failed, and the device had not said that it does not do it. */
#define CTS_LONG_FAILED UINT64_MAX

/* How long the whole model must take at least. */
#define CTS_LONG_NS UINT64_C(120000000)

struct cts_long_model {
    struct nnt_model model;
    struct nnt_subgraph main;
    uint32_t n_steps;
    unsigned kind;  /* of the operations that are tried, the first is 0 */
    uint8_t *bytes; /* of the inputs and the output */
    uint32_t *numbers;
};

/* cts_long_model_make() - n_steps times the operation of this kind. Returns: false if there is no such
 * kind, or memory is short. */
bool cts_long_model_make(struct cts_long_model *made, unsigned kind, uint32_t n_steps);

void cts_long_model_free(struct cts_long_model *made);

/* cts_long_model_find() - the shortest that takes time_of(ctx, model) as long as CTS_LONG_NS; time_of()
 * returns 0 for what the device does not do or has no memory for, CTS_LONG_FAILED for what it does wrong. Free it also after
 * a failure.
 * Returns: how long it took; 0 if there is none, or the device is too fast; CTS_LONG_FAILED. */
uint64_t cts_long_model_find(struct cts_long_model *made,
                             uint64_t (*time_of)(void *ctx, const struct nnt_model *model),
                             void *ctx);

/* cts_long_model_say() - the outcome of a section that found none: what find() returned, and why one failed. */
void cts_long_model_say(struct cts *cts, uint64_t found, const char *why);

/* cts_now_ns() - CLOCK_MONOTONIC. */
uint64_t cts_now_ns(void);

#endif
