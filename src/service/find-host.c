/* SPDX-License-Identifier: Apache-2.0 */
#include <nnhal/service.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "ipc/discovery.h"

#include <errno.h>
#include <string.h>

_public_ int nnhal_find_host(char *ret_path, size_t n_bytes)
{
    _cleanup_(freep) char *path = NULL;
    int r = nn_discovery_host_path(&path);

    if (r < 0)
        return nn_error_trace(r);
    if (strlen(path) >= n_bytes)
        return nn_error_origin(-ENAMETOOLONG);
    strcpy(ret_path, path);
    return 0;
}
