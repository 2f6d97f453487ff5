/* SPDX-License-Identifier: Apache-2.0 */
/* cache-writer.h - brings compiled entries to the disk, on a thread of its own
 *
 * finish() returns when a model is prepared and its entry's files are written.
 * Waiting for the disk is left to this file: the data files are synced, then the
 * model files, then they get their names, in the same order. One thread per
 * process does so, entry by entry; it runs while there are entries.
 *
 *     written --submit--> queued --> synced --> named --> noted, unlocked
 *
 * Until then the entry holds the folder's lock for its key, so that another
 * compilation of the model, in this process or another, waits for the entry and
 * takes it. exit() waits for the thread. A process that ends in another way
 * leaves files without a name, which make room later (cache/folder.h). A forked
 * child closes its copies of the descriptors: the entries are the parent's. */
#ifndef NN_RUNTIME_COMPILATION_CACHE_WRITER_H
#define NN_RUNTIME_COMPILATION_CACHE_WRITER_H

#include "cache/folder.h"
#include "cache/history.h"

/* nn_rt_cache_writer_submit() - takes over folder, which is locked for the entry's key, and entry,
 * which was written; both are closed afterwards. record is noted when the entry is whole. Returns
 * at once, unless too many entries are queued or no thread can be started: then it waits for
 * the disk. Threads: any. */
void nn_rt_cache_writer_submit(struct nn_folder *folder, struct nn_entry *entry,
                               const struct nn_history_record *record);

#endif
