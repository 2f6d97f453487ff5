/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - folders that are gone afterwards */
#ifndef NN_TOOLS_NNT_FOLDER_H
#define NN_TOOLS_NNT_FOLDER_H

#include <stdbool.h>

enum { NNT_FOLDER_BYTES = 256 };

/* nnt_folder_make() - an empty one in $TMPDIR, or in /tmp. Returns: false if it cannot be made. */
bool nnt_folder_make(char path[NNT_FOLDER_BYTES]);

/* nnt_folder_remove() - with all that lies in it. */
void nnt_folder_remove(const char *path);

#endif
