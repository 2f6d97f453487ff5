/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h - what became of a folder's entries the last time, for people
 *
 * The file "notes" has a fixed number of records; a key's is at a place that its hash
 * says, so that the newer of two that meet there is known. Nothing is decided by it: a record
 * that is damaged, or half written, is none. */
#ifndef NN_CACHE_NOTES_H
#define NN_CACHE_NOTES_H

#include "cache/folder.h"

#define NN_NOTES_MAX 256

struct nn_note {
    struct nn_hash key;
    int64_t time_s;   /* since 1970 */
    uint32_t outcome; /* whoever writes it says what it means */
    char device[64];
    char why[256];
};

/* nn_notes_put() - what fails is not noted. */
void nn_notes_put(const struct nn_folder *folder, const struct nn_note *note);

/* nn_notes_get() - all that there are, at most NN_NOTES_MAX. Returns: how many. */
size_t nn_notes_get(const struct nn_folder *folder, struct nn_note *ret_notes);

/* nn_notes_clear() - removes them. */
void nn_notes_clear(const struct nn_folder *folder);

#endif
