/* SPDX-License-Identifier: Apache-2.0 */
/* told.h - what drivers that prepare nothing tell about themselves */
#ifndef NN_TESTS_SERVICE_TOLD_H
#define NN_TESTS_SERVICE_TOLD_H

#include "hal/hal.h"

/* told_dial() - a session with the service at path, as soon as it listens; within 30 s. */
struct nn_hal *told_dial(const char *path);

/* told_ask() - has a model prepared, which fails with a sentence, and closes the session. The sentence
 * is there until the next call. */
const char *told_ask(struct nn_hal *hal);

#endif
