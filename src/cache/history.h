/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - what became of a folder's entries the last time, for people
 *
 * The file "notes" has a fixed number of records; a key's is at a place that its hash
 * says, so that the newer of two that meet there is known. Nothing is decided by it: a record
 * that is damaged, or half written, is none. */
#ifndef NN_CACHE_HISTORY_H
#define NN_CACHE_HISTORY_H

#include "cache/folder.h"

#define NN_HISTORY_MAX 256

struct nn_history_record {
    struct nn_hash key;
    int64_t time_s;   /* since 1970 */
    uint32_t outcome; /* its meaning is the writer's */
    char device[64];
    char why[256];
};

/* nn_history_write() - what fails is not noted. */
void nn_history_write(const struct nn_folder *folder, const struct nn_history_record *note);

/* nn_history_read() - all that there are, at most NN_HISTORY_MAX. Returns: how many. */
size_t nn_history_read(const struct nn_folder *folder, struct nn_history_record *ret_notes);

/* nn_history_clear() - removes them. */
void nn_history_clear(const struct nn_folder *folder);

#endif
