/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - what became of a call, inside the runtime
 *
 * Functions of the runtime's objects return int: 0; below 0 -errno; above 0 an
 * outcome, which here is the ResultCode that the application is to see. api.c
 * turns what is negative into a ResultCode too (nn_result_from_error). With an
 * outcome comes a sentence in a struct nn_why. */
#ifndef NN_RUNTIME_RESULT_H
#define NN_RUNTIME_RESULT_H

#include "model/why.h"

#include <android/NeuralNetworksTypes.h>

#include <stdint.h>

/* nn_fail() - writes the sentence; returns code, so that a rule reads
 *     if (a > b) return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "a is above b"); */
int nn_fail(struct nn_why *why, int code, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* nn_fail_refused() - what a rule of model/ refused is BAD_DATA; the sentence
 * is there already. Passes 0 and negative numbers on. */
int nn_fail_refused(int r);

/* nn_fail_status() - what a device answered; message is its own sentence (may
 * be NULL), who its name. NNHAL_NONE is 0. */
int nn_fail_status(struct nn_why *why, uint32_t status, const char *who, const char *message);

/* nn_result_from_status() - enum nnhal_error_status to ResultCode. */
int nn_result_from_status(uint32_t status);

/* nn_result_from_error() - any result of a function here to ResultCode. */
int nn_result_from_error(int r);

/* nn_result_name() - "BAD_DATA"; never NULL. */
const char *nn_result_name(int code);

#endif
