/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - results of functions inside the runtime
 *
 * The states of the runtime's objects are the API's contract, so their functions
 * return its ResultCodes as outcomes (above 0), each with a sentence in a struct
 * nn_why. What comes from below is translated in result.c alone: -errno by
 * nn_result_from_error(), where a call ends (api.c) or its result is kept for
 * later; a device's status by nn_fail_status(); a refusal of model/ by
 * nn_fail_refused(). */
#ifndef NN_RUNTIME_RESULT_H
#define NN_RUNTIME_RESULT_H

#include "model/why.h"

#include <android/NeuralNetworksTypes.h>

#include <stdbool.h>
#include <stdint.h>

/* nn_fail() - writes the sentence; returns code, so that a rule reads
 *     if (a > b) return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "a is above b"); */
int nn_fail(struct nn_why *why, int code, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* nn_fail_forked() - DEAD_OBJECT: a forked child asks for what, whose devices are its parent's. */
int nn_fail_forked(struct nn_why *why, const char *what);

/* nn_fail_refused() - a refusal by a rule of model/ is BAD_DATA; the rule has written
 * the sentence. Passes 0 and negative numbers on. */
int nn_fail_refused(int r);

/* nn_fail_status() - the status that a device answered; message is its own sentence (may
 * be NULL), who its name. NNHAL_NONE is 0. */
int nn_fail_status(struct nn_why *why, uint32_t status, const char *who, const char *message);

/* nn_result_from_error() - any result of a function here to ResultCode. */
int nn_result_from_error(int r);

/* nn_result_blames_device() - whether what ended with r may end otherwise on another device, or with
 * another memory. */
bool nn_result_blames_device(int r);

/* nn_result_name() - "BAD_DATA"; never NULL. */
const char *nn_result_name(int code);

#endif
