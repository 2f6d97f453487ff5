/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include "base/sys.h"

#include <nnhal/driver.h>

/* Bytes that are touched at once, and how many of them in a nanosecond, if their pages are new. */
enum { PIECE_BYTES = 1 << 16, BYTES_PER_NS = 2 };

void (*nn_stop_observer)(void);

/* Two threads may find two reasons; either is true, and the first one stays. */
static int keep_outcome(struct nn_stop *stop, uint32_t outcome)
{
    uint32_t expected = 0;

    if (!__atomic_compare_exchange_n(&stop->outcome, &expected, outcome, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return (int)expected;
    return (int)outcome;
}

int nn_stop_look(struct nn_stop *stop)
{
    if (nn_stop_observer)
        nn_stop_observer();
    if (!stop)
        return 0;
    if (nn_stop_outcome(stop))
        return nn_stop_outcome(stop);
    if (stop->turn && __atomic_load_n(stop->turn->is_wanted, __ATOMIC_RELAXED))
        stop->turn->give_way(stop->turn->host);
    if (stop->is_cancelled && __atomic_load_n(stop->is_cancelled, __ATOMIC_RELAXED))
        return keep_outcome(stop, NN_STOP_E_CANCELLED);
    if (stop->deadline_ns != UINT64_MAX && nn_sys_now_ns() >= stop->deadline_ns)
        return keep_outcome(stop, NN_STOP_E_DEADLINE);
    return 0;
}

/* The next piece of n_bytes, from at on. Returns: its bytes, 0 at the end, or to stop. */
static size_t next_piece(struct nn_pace *pace, size_t at, size_t n_bytes)
{
    size_t n = n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES;

    return nn_pace_ends(pace, n / BYTES_PER_NS) ? 0 : n;
}

void nn_pace_copy_long(struct nn_pace *pace, void *to, const void *from, size_t n_bytes)
{
    for (size_t at = 0, n; (n = next_piece(pace, at, n_bytes)) > 0; at += n)
        memcpy((char *)to + at, (const char *)from + at, n);
}

void nn_pace_fill(struct nn_pace *pace, void *to, unsigned char byte, size_t n_bytes)
{
    for (size_t at = 0, n; (n = next_piece(pace, at, n_bytes)) > 0; at += n)
        memset((char *)to + at, byte, n);
}
