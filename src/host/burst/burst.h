/* SPDX-License-Identifier: Apache-2.0 */
/* burst.h - the driver's side of a burst
 *
 * A burst context serves one pair of queues for one prepared model: a thread of
 * its own takes requests from the one, executes them one after the other, and
 * puts results into the other. It exists from configure_execution_burst to
 * free_burst or the end of the session, and so does its thread.
 *
 *     requests --copy--> known? --no--> decode, find memories, judge, bind
 *                          '--yes--------------------------------'--> run --> results
 *
 * What a client can do wrong costs its own burst at most. A packet that is none,
 * or names a slot that stays empty, is answered with GENERAL_FAILURE and no
 * shapes; one that an ordinary execution would refuse, with that status. A
 * result that is longer than the queue of results becomes GENERAL_FAILURE. A
 * client that does not take its results is not served until it does, and an
 * impossible counter ends the serving for good.
 *
 * A service takes only memories that cannot stall (host/execution/stalling.h): a caller that frees a
 * burst waits for its thread.
 *
 * In the steady state, with requests that came before, serving one costs no
 * system call while the client spins, no allocation and no copy of a tensor's
 * bytes, but for padded pictures (host/memory/picture.h).
 *
 * Freeing a burst, and the end of its session, wake the thread wherever it waits,
 * and wait for the request in progress. */
#ifndef NN_HOST_BURST_BURST_H
#define NN_HOST_BURST_BURST_H

#include "host/session.h"

/* nn_bursts_cancel() - ends the waits of the threads of all bursts of a session,
 * which then end. Does not block. */
void nn_bursts_cancel(struct nn_host_session *session);

/* nn_bursts_renew() - the threads of all bursts of a session store their counters again and wake
 * the client, when they wait next. Does not block. */
void nn_bursts_renew(struct nn_host_session *session);

#endif
