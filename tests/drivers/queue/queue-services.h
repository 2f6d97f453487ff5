/* SPDX-License-Identifier: Apache-2.0 */
/* queue-services.h - the environment of a test of asynchronous devices, in the way that WAY names
 *
 * In the way "service" each device is served by a process of its own. */
#ifndef NN_TESTS_QUEUE_SERVICES_H
#define NN_TESTS_QUEUE_SERVICES_H

#include <stdbool.h>

/* What may take long on a slow machine. */
enum { QUEUE_LIMIT_S = 30 };

bool queue_is_way(const char *way);

/* queue_nap() - between two looks. */
void queue_nap(void);

/* queue_services_init() - for the drivers in DRIVER_FOLDER, whose names live as long as the test. Before the
 * devices are listed. queue_services_done() in the end. */
void queue_services_init(const char *const *names, int n_names);
void queue_services_done(void);

/* queue_services_restart() - one whose process ends or has ended, as a service manager does; in other ways
 * the runtime does. */
void queue_services_restart(int which);

/* queue_stop() - SIGSTOP, until no thread of the process runs any more. */
void queue_stop(int pid);

#endif
