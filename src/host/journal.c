/* SPDX-License-Identifier: Apache-2.0 */
#include "host/journal.h"

#include "base/sys.h"

#include <nnhal/types.h>

#include <stdarg.h>
#include <stdio.h>

#define LINE_NS UINT64_C(1000000000) /* in which room for one comes */

enum { TEXT_BYTES = 2048 };

void nn_journal_init(struct nn_journal *journal)
{
    pthread_mutex_init(&journal->lock, NULL);
}

void nn_journal_done(struct nn_journal *journal)
{
    pthread_mutex_destroy(&journal->lock);
}

static bool is_idle(const struct nn_journal_room *room, uint64_t now_ns)
{
    return room->full_ns <= now_ns && !room->n_left_out;
}

/* Under the lock. The user's own, else an idle one, else one of another user. */
static struct nn_journal_room *room_find(struct nn_journal_room *rooms, uint32_t uid,
                                         uint64_t now_ns)
{
    struct nn_journal_room *idle = NULL;

    for (size_t i = 0; i < NN_JOURNAL_N_ROOMS; i++) {
        if (is_idle(&rooms[i], now_ns))
            idle = &rooms[i];
        else if (rooms[i].uid == uid)
            return &rooms[i];
    }
    if (!idle)
        return &rooms[uid % NN_JOURNAL_N_ROOMS];
    idle->uid = uid;
    return idle;
}

/* Under the lock. */
static bool room_take(struct nn_journal_room *room, uint64_t now_ns)
{
    uint64_t begin_ns = room->full_ns > now_ns ? room->full_ns : now_ns;

    if (begin_ns + LINE_NS > now_ns + NN_JOURNAL_LINES * LINE_NS)
        return false;
    room->full_ns = begin_ns + LINE_NS;
    return true;
}

void nn_journal_say(struct nn_journal *journal, uint32_t uid, enum nn_log_level level,
                    const char *format, ...)
{
    struct nn_journal_room *room;
    uint64_t now_ns = nn_sys_now_ns();
    char text[TEXT_BYTES];
    va_list arguments;
    bool has_room;

    if (!nn_log_enabled("service", level))
        return;
    pthread_mutex_lock(&journal->lock);
    room = room_find(journal->rooms[level <= NN_LOG_WARNING], uid, now_ns);
    /* A count that is due comes first. */
    has_room = !room->n_left_out && room_take(room, now_ns);
    if (!has_room) {
        if (room->n_left_out++ == 0)
            __atomic_add_fetch(&journal->n_waiting, 1, __ATOMIC_RELAXED);
        room->left_out_uid = uid;
    }
    pthread_mutex_unlock(&journal->lock);
    if (!has_room)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nn_log("service", level, "%s", text);
}

bool nn_journal_owes(const struct nn_journal *journal)
{
    return __atomic_load_n(&journal->n_waiting, __ATOMIC_RELAXED) > 0;
}

/* When there is room for the count and a line after it: where lines go on coming, some are said. */
static uint64_t count_ns(const struct nn_journal_room *room)
{
    return room->full_ns - (NN_JOURNAL_LINES - 2) * LINE_NS;
}

static void tell_left_out(uint64_t n_left_out, uint32_t uid)
{
    nn_log("service", NN_LOG_WARNING,
           "%llu lines about clients were left out, the last one about user %u: they came faster "
           "than one a second",
           (unsigned long long)n_left_out, (unsigned)uid);
}

/* Returns when to look at this room again, NNHAL_NO_TIME: nothing is owed. */
static uint64_t settle_one(struct nn_journal *journal, struct nn_journal_room *room,
                           uint64_t now_ns)
{
    uint64_t next_ns = NNHAL_NO_TIME, n_left_out = 0;
    uint32_t uid;

    pthread_mutex_lock(&journal->lock);
    uid = room->left_out_uid;
    if (room->n_left_out && now_ns < count_ns(room)) {
        next_ns = count_ns(room);
    } else if (room->n_left_out) {
        n_left_out = room->n_left_out;
        room->n_left_out = 0;
        room_take(room, now_ns);
        __atomic_sub_fetch(&journal->n_waiting, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&journal->lock);
    if (n_left_out)
        tell_left_out(n_left_out, uid);
    return next_ns;
}

uint64_t nn_journal_settle(struct nn_journal *journal, uint64_t now_ns)
{
    uint64_t deadline_ns = NNHAL_NO_TIME;

    if (!nn_journal_owes(journal))
        return deadline_ns;
    for (size_t kind = 0; kind < NN_JOURNAL_N_KINDS; kind++)
        for (size_t i = 0; i < NN_JOURNAL_N_ROOMS; i++) {
            uint64_t next_ns = settle_one(journal, &journal->rooms[kind][i], now_ns);

            deadline_ns = next_ns < deadline_ns ? next_ns : deadline_ns;
        }
    return deadline_ns;
}
