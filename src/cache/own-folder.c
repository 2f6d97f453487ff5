/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/own-folder.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>
#include <sys/stat.h>

static int make_parents(const char *folder)
{
    _cleanup_(freep) char *path = strdup(folder);

    if (!path)
        return nn_error_origin(-ENOMEM);
    for (char *at = path + 1; *path && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
    return 0;
}

int nn_own_folder_make(const char *folder)
{
    struct stat status;
    int r;

    /* Looked at first: a process that may not make the folders above may still use this one. */
    if (stat(folder, &status) < 0) {
        r = make_parents(folder);
        if (r < 0)
            return nn_error_trace(r);
        if ((mkdir(folder, 0700) < 0 && errno != EEXIST) || stat(folder, &status) < 0)
            return nn_error_origin(-errno);
    }
    if (!S_ISDIR(status.st_mode))
        return nn_error_origin(-ENOTDIR);
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return nn_error_origin(-EPERM);
    return 0;
}
