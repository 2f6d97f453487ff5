/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h - what a call into a driver knows of the CPUs that users share
 *
 * The thread of a call has a permit (base/permits.h). A driver of a CPU computes with it, and
 * gets the functions with which its threads count themselves and give way. Any other driver
 * mostly waits for its device: the permit is given up while it is called. */
#ifndef NN_HOST_EXECUTION_TURN_H
#define NN_HOST_EXECUTION_TURN_H

#include "host/call.h"

#include <nnhal/driver.h>

struct nn_turn {
    struct nnhal_turn table;
    struct nn_permit *permit; /* the call's; NULL: users do not share */
    bool has_left;
};

/* nn_turn_begin() - around a call into the driver, on the thread of call. turn lives until
 * nn_turn_end(). Returns: what the driver is given, which may be NULL. */
const struct nnhal_turn *nn_turn_begin(struct nn_call *call, struct nn_turn *turn);

/* nn_turn_end() - after it. May wait, as base/permits.h says. */
void nn_turn_end(struct nn_turn *turn);

/* nn_turn_offer() - of work that the driver's own threads will make, with a permit that was opened
 * for it (nn_permit_open()). Returns: what the driver is given, which may be NULL. */
const struct nnhal_turn *nn_turn_offer(const struct nnhal_driver *driver, struct nn_permit *permit,
                                       struct nn_turn *turn);

#endif
