/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - lines of the log about clients, of which no user can make too many
 *
 * A service tells who comes and goes, what was prepared for whom, and which limits are reached. Who can
 * make it tell something a thousand times a second would hide the lines about others, and fill a disk.
 * So each user has room for NN_JOURNAL_LINES lines, and for one more a second, and a second room of
 * the same size for warnings and errors: what is of interest is not crowded out by what is usual. What
 * finds no room is counted, and the count, a line as well, is said as soon as there is room for it and
 * for one more.
 *
 * No number of users needs memory: of each kind there are NN_JOURNAL_N_ROOMS rooms. One belongs to a
 * user from a line of it until there is room for all lines again, then to who comes next. While all
 * belong to others a user shares one of them. So only who has as many user numbers as there are rooms
 * can take a line from another user.
 *
 * The lines are the administrator's: none of them goes to a client.
 *
 * Threads: any. Nothing blocks longer than nn_log() does. */
#ifndef NN_HOST_JOURNAL_H
#define NN_HOST_JOURNAL_H

#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NN_JOURNAL_N_KINDS = 2, /* information; warnings and errors */
    NN_JOURNAL_N_ROOMS = 64,
    NN_JOURNAL_LINES = 64, /* at once */
};

struct nn_journal_room {
    uint64_t full_ns; /* when there will be room for all lines again */
    uint64_t n_left_out;
    uint32_t uid;          /* whose it is, unless it is idle */
    uint32_t left_out_uid; /* of the last line that was left out */
};

struct nn_journal {
    pthread_mutex_t lock;
    struct nn_journal_room rooms[NN_JOURNAL_N_KINDS][NN_JOURNAL_N_ROOMS];
    uint32_t n_waiting; /* rooms with lines that were left out and not counted yet; atomic */
};

void nn_journal_init(struct nn_journal *journal);
void nn_journal_done(struct nn_journal *journal);

/* nn_journal_say() - a line of topic "service" about a client of uid, if there is room for it. */
void nn_journal_say(struct nn_journal *journal, uint32_t uid, enum nn_log_level level,
                    const char *format, ...) __attribute__((__format__(__printf__, 4, 5)));

/* nn_journal_owes() - whether lines were left out and not counted yet: nn_journal_settle() is due. */
bool nn_journal_owes(const struct nn_journal *journal);

/* nn_journal_settle() - says how many lines were left out of rooms that have room now.
 * Returns: when to call it again, NNHAL_NO_TIME: when something else happens. */
uint64_t nn_journal_settle(struct nn_journal *journal, uint64_t now_ns);

#endif
