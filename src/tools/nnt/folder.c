/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool nnt_folder_make(char path[NNT_FOLDER_BYTES])
{
    const char *parent = getenv("TMPDIR");

    snprintf(path, NNT_FOLDER_BYTES, "%.240s/nnt-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(path) != NULL;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

void nnt_folder_remove(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
