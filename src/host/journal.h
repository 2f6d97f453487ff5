/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - lines of the log about clients, of which no user can make too many
 *
 * A service tells who comes and goes, what was prepared for whom, and which limits are reached. Who can
 * make it tell something a thousand times a second would hide the lines about others, and fill a disk.
 * So each user has room for NN_JOURNAL_LINES lines, and for one more a second; what finds none is
 * counted, and the count is said as soon as there is room. Users are told apart by their numbers
 * modulo NN_JOURNAL_N_ROOMS: those who share a room share it, and no number of users needs memory.
 *
 * The lines are the administrator's: none of them goes to a client.
 *
 * Threads: any. Nothing blocks longer than standard error does. */
#ifndef NN_HOST_JOURNAL_H
#define NN_HOST_JOURNAL_H

#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NN_JOURNAL_N_ROOMS = 64,
    NN_JOURNAL_LINES = 64, /* at once */
};

struct nn_journal_room {
    uint64_t full_ns; /* when there will be room for all lines again */
    uint64_t n_left_out;
    uint32_t uid; /* of the last line that was left out */
};

struct nn_journal {
    pthread_mutex_t lock;
    struct nn_journal_room rooms[NN_JOURNAL_N_ROOMS];
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
