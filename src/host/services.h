/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - what the host gives a driver: log, explanations, memory
 *
 * A driver explains a failure on the thread that then returns it; the text is
 * kept per thread until the host takes it. So the host clears it before each
 * callback and takes it after one that failed. What it refuses goes to where the host collects
 * refusals on that thread. */
#ifndef NN_HOST_SERVICES_H
#define NN_HOST_SERVICES_H

#include "base/arena.h"

#include <nnhal/driver.h>

struct nn_refusals;

/* nn_services_init() - fills the table; valid for as long as its storage. */
void nn_services_init(struct nnhal_driver_services *services);

/* nn_services_clear() - forgets this thread's explanation. */
void nn_services_clear(void);

/* nn_services_explanation() - this thread's explanation, NULL if there is none;
 * valid until the next nn_services_clear() on this thread. */
const char *nn_services_explanation(void);

/* nn_services_collect() - what the driver refuses on this thread from now on is added to refusals; NULL:
 * nothing any more. */
void nn_services_collect(struct nn_refusals *refusals);

#endif
