/* SPDX-License-Identifier: Apache-2.0 */
/* root.h - a root folder with some paths of the machine and nothing else
 *
 * In the new root stand the files and folders that are granted, with what is
 * mounted below them; read-only, but for device nodes. Everything else, the
 * folders on the way to them excepted, does not exist. */
#ifndef NN_SERVICE_ROOT_H
#define NN_SERVICE_ROOT_H

#include "service/grants.h"

#include <stdbool.h>
#include <stddef.h>

/* nn_root_replace() - in a mount namespace of its own (namespaces.h), by the one thread of the
 * process. A path through links leads to what it led to. Where the kernel refuses (before
 * Linux 5.12, or in a root that is no mount), where a path cannot be had and where all of "/" was
 * granted, all stays as it was, and why (may be NULL) is set.
 * Returns: 0 with *ret_is_new, -ENOENT (a granted device is missing), -ENOMEM, -errno (the process
 * is to end: it stands between two roots). */
int nn_root_replace(const struct nn_grant_path *paths, size_t n_paths, bool *ret_is_new,
                    struct nn_host_why *why);

#endif
