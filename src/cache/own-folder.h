/* SPDX-License-Identifier: Apache-2.0 */
/* own-folder.h - folders of files that only this user writes */
#ifndef NN_CACHE_OWN_FOLDER_H
#define NN_CACHE_OWN_FOLDER_H

/* nn_own_folder_make() - the folder, with those above it, unless it is there. It must belong to this
 * user and be writable by no other user. Any thread.
 * Returns: 0, -ENOMEM, -EPERM (another user's, or others may write into it), -ENOTDIR, -errno. */
int nn_own_folder_make(const char *folder);

#endif
