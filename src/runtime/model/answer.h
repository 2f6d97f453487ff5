/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what a device said of the operations of a model
 *
 * A verdict on each, and of those that it does not take a sentence, if it told one. A service may say
 * anything: here its reply becomes verdicts and plain lines, and what refers to nothing is left out.
 * An answer does not change once it is kept with the model. */
#ifndef NN_RUNTIME_MODEL_ANSWER_H
#define NN_RUNTIME_MODEL_ANSWER_H

#include "base/cleanup.h"
#include "hal/hal.h"

#include <android/NeuralNetworksTypes.h>

struct nn_rt_answer {
    struct nn_rt_answer *next; /* of the same model */
    const ANeuralNetworksDevice *device;
    uint32_t n_operations;
    uint32_t n_reasons;
    uint8_t *verdicts; /* enum nnhal_verdict, per operation in the order of execution */
    uint8_t *whys;     /* per operation: which reason, from 1; 0: none */
    char (*reasons)[NNHAL_MAX_REASON_BYTES + 1];
};

/* nn_rt_answer_new() - one that says nothing: all verdicts are 0. Returns: 0, -ENOMEM. */
int nn_rt_answer_new(uint32_t n_operations, struct nn_rt_answer **ret_answer);

/* nn_rt_answer_free() - accepts NULL; returns NULL. */
struct nn_rt_answer *nn_rt_answer_free(struct nn_rt_answer *answer);

/* nn_rt_answer_take_reply() - sets all of a new answer: TAKEN or UNSUPPORTED, and why. The reply, which
 * may come from anyone, is of this many operations. Returns: 0, -ENOMEM. */
int nn_rt_answer_take_reply(struct nn_rt_answer *answer,
                            const struct nn_hal_get_supported_operations_reply *reply);

/* nn_rt_answer_take_part() - what was said of some operations alone, whose numbers are in operations;
 * the answer is new, and takes the reasons out of the part. */
void nn_rt_answer_take_part(struct nn_rt_answer *answer, struct nn_rt_answer *part,
                            const uint32_t *operations);

/* nn_rt_answer_explain() - a sentence of our own for all operations with that verdict.
 * Returns: 0, -ENOMEM. */
int nn_rt_answer_explain(struct nn_rt_answer *answer, uint8_t verdict, const char *text);

/* nn_rt_answer_why() - the sentence on an operation; "": there is none. */
const char *nn_rt_answer_why(const struct nn_rt_answer *answer, uint32_t operation);

NN_DEFINE_CLEANUP(struct nn_rt_answer, nn_rt_answer_free)

#endif
