/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - from a module on disk to a driver's table that can be trusted in form
 *
 * A module exports one symbol, nnhal_driver_main(). Its table says how large it
 * is: members beyond that size count as NULL or 0, members beyond what this
 * host knows are not looked at. The copy that is made here has all members of
 * this host; what a driver must have is there and well formed. */
#ifndef NN_HOST_LOAD_H
#define NN_HOST_LOAD_H

#include "host/host.h"

typedef const struct nnhal_driver *(*nn_driver_main)(const char *configuration);

/* nn_load_module() - dlopens path and finds the driver's main function. The
 * module is never unloaded: threads of its own may run its code.
 * Returns: 0, -ENOENT, -ELIBBAD. */
int nn_load_module(const char *path, struct nn_host_why *why, nn_driver_main *ret_main);

/* nn_load_table() - calls main and copies a table that passes all checks.
 * Returns: 0, -ENODEV (main gave no table), -EPROTO. */
int nn_load_table(nn_driver_main driver_main, const char *configuration, struct nn_host_why *why,
                  struct nnhal_driver *driver);

/* nn_driver_name_is_well_formed() - it is a part of paths, too: [a-z0-9_.-], no dot first, at most
 * NNHAL_MAX_NAME_BYTES. */
bool nn_driver_name_is_well_formed(const char *name);

/* nn_driver_version_is_well_formed() - it is shown on terminals: printable ASCII, 1 to
 * NNHAL_MAX_NAME_BYTES. */
bool nn_driver_version_is_well_formed(const char *version);

/* nn_why() - sets the sentence, if there is somewhere to put it; returns r. */
int nn_why(struct nn_host_why *why, int r, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

#endif
