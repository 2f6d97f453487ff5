/* SPDX-License-Identifier: Apache-2.0 */
/* build-id.h - which build of which driver, and where it keeps what it must remember */
#ifndef NN_HOST_CACHING_BUILD_ID_H
#define NN_HOST_CACHING_BUILD_ID_H

#include "cache/hash.h"

#include <nnhal/driver.h>

/* nn_build_id_of() - changes with the driver's name, version and code, and with the form of the
 * host's files. It is the same for every way in which one driver is reached. */
void nn_build_id_of(const struct nnhal_driver *driver, struct nn_hash *ret_epoch);

/* nn_state_folder() - the folder for what a driver remembers: under
 * $NNHAL_STATE_PATH, else $XDG_STATE_HOME/nnhal, else /var/lib/nnhal (root) or
 * ~/.local/state/nnhal. It is told by the module, a path without links, and not by what the driver
 * in it calls itself: no driver gets what another one keeps. One that is in no module (NULL) is
 * told by its name; "figures" is the runtime's own (calibration). Not made here.
 * Returns: 0 with a string to be freed, -ENOENT, -ENOMEM. */
int nn_state_folder(const char *module, const char *driver, char **ret_path);

#endif
