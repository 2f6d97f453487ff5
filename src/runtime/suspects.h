/* SPDX-License-Identifier: Apache-2.0 */
/* suspects.h - requests that were on their way when a device's process died
 *
 * Which of them killed it cannot be told, but one that was there twice, without a
 * success in between, is refused: after the second death for a minute, after
 * each further one twice as long, an hour at most. It is then tried once more,
 * because it may have been innocent: processes also die for reasons of their own.
 * Several that are the same and were on their way at one death count once.
 *
 * A request is known by a hash of what it is made of (model/model-hash.h, execution/request-hash.h).
 *
 * Times are the caller's. Pure data: the owner has the lock. */
#ifndef NN_RUNTIME_SUSPECTS_H
#define NN_RUNTIME_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

#define NN_RT_SUSPECTS_MAX      32 /* the oldest is forgotten */
#define NN_RT_SUSPECTS_DEATHS   2
#define NN_RT_SUSPECTS_FIRST_NS UINT64_C(60000000000)
#define NN_RT_SUSPECTS_LONG_NS  UINT64_C(3600000000000)

struct nn_rt_suspect {
    uint64_t hash;
    uint64_t session; /* whose end was noted last */
    uint64_t noted_ns;
    uint64_t refused_for_ns; /* since then */
    uint32_t n_deaths;       /* 0: the place is free */
};

struct nn_rt_suspects {
    uint32_t n; /* places in use; atomic for those without the lock */
    struct nn_rt_suspect list[NN_RT_SUSPECTS_MAX];
};

/* nn_rt_suspects_note_death() - the session of that number ended while the request was on its way in it. */
void nn_rt_suspects_note_death(struct nn_rt_suspects *suspects, uint64_t hash, uint64_t session,
                               uint64_t now_ns);

/* nn_rt_suspects_note_success() - this request has not killed it. */
void nn_rt_suspects_note_success(struct nn_rt_suspects *suspects, uint64_t hash);

/* nn_rt_suspects_is_refused() - whether it is not to be tried now. */
bool nn_rt_suspects_is_refused(const struct nn_rt_suspects *suspects, uint64_t hash,
                               uint64_t now_ns);

#endif
