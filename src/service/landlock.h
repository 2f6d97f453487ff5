/* SPDX-License-Identifier: Apache-2.0 */
/* landlock.h - which files the service still reaches
 *
 * The system calls are made without a library; constants that the system's
 * header does not have yet are in landlock.c. */
#ifndef NN_SERVICE_LANDLOCK_H
#define NN_SERVICE_LANDLOCK_H

#include "service/grants.h"

/* nn_landlock_version() - of the kernel's Landlock; 0: it has none. */
int nn_landlock_version(void);

/* nn_landlock_close() - restricts this thread, and those that it starts, to the
 * rules. A path of NN_GRANT_READ may be absent, the others must exist.
 * no_new_privs must be set. Returns: 0, -errno. */
int nn_landlock_close(int version, const struct nn_grant_path *rules, size_t n_rules);

#endif
