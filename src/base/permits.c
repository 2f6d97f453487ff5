/* SPDX-License-Identifier: Apache-2.0 */
#include "base/permits.h"

#include "base/error.h"
#include "base/sys.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* How long the word of nn_permit_n_helpers() is believed: users go quiet without a call. */
#define HELPERS_AGE_NS UINT64_C(10000000)

/* Low priority stands behind the others of all users. */
enum { BEHIND = 0, AHEAD = 1, N_GROUPS = 2 };

/* A thread that waits; on its stack. */
struct waiter {
    struct waiter *next;
    enum nn_jobs_priority priority;
    bool has_begun; /* it gave way: behind those that begin */
    bool is_granted;
    pthread_cond_t changed;
};

struct nn_permits_user {
    struct nn_permits_user *next;
    uint64_t id;
    size_t n_permits;
    size_t n_running[N_GROUPS], n_waiting[N_GROUPS];
    uint64_t quiet_ns[N_GROUPS]; /* when it is not recent any more */
    uint64_t look_ns;            /* when a thread of it was heard of last */
    uint64_t stuck_ns;           /* when n_stuck threads had not been heard of for long */
    size_t n_stuck;
    struct waiter *waiters; /* in the order in which they come */
    uint32_t is_wanted;     /* atomic */
    uint32_t n_helpers;     /* atomic */
};

struct nn_permits {
    pthread_mutex_t lock;
    size_t n_cpus;
    uint64_t (*clock)(void);
    struct nn_permits_user *users;
    size_t n_running[N_GROUPS], n_stuck;
    uint64_t helpers_end_ns; /* atomic: until then n_helpers is believed */
};

static size_t group_of(enum nn_jobs_priority priority)
{
    return priority == NN_JOBS_LOW ? BEHIND : AHEAD;
}

/* -- the rules; all under the lock ---------------------------------------- */

static size_t user_n_running(const struct nn_permits_user *user)
{
    return user->n_running[BEHIND] + user->n_running[AHEAD] - user->n_stuck;
}

static size_t permits_sum_running(const struct nn_permits *permits)
{
    return permits->n_running[BEHIND] + permits->n_running[AHEAD] - permits->n_stuck;
}

static bool user_is_active(const struct nn_permits_user *user, size_t group, uint64_t now_ns)
{
    for (; group < N_GROUPS; group++)
        if (user->n_running[group] > 0 || user->n_waiting[group] > 0 ||
            now_ns < user->quiet_ns[group])
            return true;
    return false;
}

/* How many threads of user may run while one of them is of this group. */
static size_t user_limit(const struct nn_permits *permits, const struct nn_permits_user *user,
                         size_t group, uint64_t now_ns)
{
    for (const struct nn_permits_user *other = permits->users; other; other = other->next)
        if (other != user && user_is_active(other, group, now_ns))
            return permits->n_cpus > 1 ? permits->n_cpus / 2 : 1;
    return permits->n_cpus;
}

static bool user_may_run(const struct nn_permits *permits, const struct nn_permits_user *user,
                         size_t group, uint64_t now_ns)
{
    if (group == BEHIND && permits->n_running[AHEAD] > 0 &&
        permits_sum_running(permits) >= permits->n_cpus)
        return false;
    return user_n_running(user) < user_limit(permits, user, group, now_ns);
}

/* Whether running threads of this group are more than there may be. */
static bool user_is_over(const struct nn_permits *permits, const struct nn_permits_user *user,
                         size_t group, uint64_t now_ns)
{
    if (user->n_running[group] == 0)
        return false;
    if (group == BEHIND && permits->n_running[AHEAD] > 0 &&
        permits_sum_running(permits) > permits->n_cpus)
        return true;
    return user_n_running(user) > user_limit(permits, user, group, now_ns);
}

static bool permit_gives_way(const struct nn_permit *permit, uint64_t now_ns)
{
    const struct nn_permits_user *user = permit->user;

    if (user_is_over(permit->permits, user, group_of(permit->priority), now_ns))
        return true;
    if (!user->waiters || user->waiters->priority < permit->priority)
        return false;
    return user->waiters->priority > permit->priority ||
           now_ns - permit->since_ns >= NN_PERMITS_TURN_NS;
}

/* -- waiting; all under the lock ------------------------------------------- */

static void user_queue(struct nn_permits_user *user, struct waiter *waiter)
{
    struct waiter **link = &user->waiters;

    while (*link &&
           ((*link)->priority > waiter->priority ||
            ((*link)->priority == waiter->priority && (!(*link)->has_begun || waiter->has_begun))))
        link = &(*link)->next;
    waiter->next = *link;
    *link = waiter;
    user->n_waiting[group_of(waiter->priority)]++;
}

static void user_unqueue(struct nn_permits_user *user, struct waiter *waiter)
{
    struct waiter **link = &user->waiters;

    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    user->n_waiting[group_of(waiter->priority)]--;
    /* The first one waits for time to pass, too (see permit_wait()). */
    if (user->waiters)
        pthread_cond_signal(&user->waiters->changed);
}

static void user_count(struct nn_permits *permits, struct nn_permits_user *user, size_t group,
                       uint64_t now_ns)
{
    user->n_running[group]++;
    permits->n_running[group]++;
    user->look_ns = now_ns;
}

/* A thread of permit is heard of: none of its threads is taken for stuck any more. */
static void permit_look(struct nn_permit *permit, uint64_t now_ns)
{
    struct nn_permits_user *user = permit->user;
    bool was_stuck = user->n_stuck > 0 && permit->look_ns < user->stuck_ns;
    size_t n = !was_stuck                          ? 0
               : permit->n_running < user->n_stuck ? permit->n_running
                                                   : user->n_stuck;

    user->look_ns = now_ns;
    permit->look_ns = now_ns;
    user->n_stuck -= n;
    permit->permits->n_stuck -= n;
}

static void permit_uncount(struct nn_permit *permit, uint64_t now_ns)
{
    struct nn_permits_user *user = permit->user;
    size_t group = group_of(permit->priority);

    permit_look(permit, now_ns);
    /* Of several threads of a permit one may have been taken for another. */
    if (user_n_running(user) == 0) {
        user->n_stuck--;
        permit->permits->n_stuck--;
    }
    permit->n_running--;
    user->n_running[group]--;
    permit->permits->n_running[group]--;
    user->quiet_ns[group] = now_ns + NN_PERMITS_RECENT_NS;
}

/* A thread has waited long enough: which users have threads that were not heard of. Those that
 * compute are asked to look from now on, and are then counted again. */
static void permits_find_stuck(struct nn_permits *permits, uint64_t now_ns)
{
    for (struct nn_permits_user *user = permits->users; user; user = user->next) {
        if (now_ns - user->look_ns < NN_PERMITS_WAIT_NS)
            continue;
        permits->n_stuck += user_n_running(user);
        user->n_stuck += user_n_running(user);
        user->stuck_ns = now_ns;
    }
}

static void user_grant(struct nn_permits *permits, struct nn_permits_user *user, uint64_t now_ns)
{
    while (user->waiters) {
        struct waiter *first = user->waiters;
        size_t group = group_of(first->priority);

        if (!user_may_run(permits, user, group, now_ns))
            return;
        user_unqueue(user, first);
        user_count(permits, user, group, now_ns);
        first->is_granted = true;
        pthread_cond_signal(&first->changed);
    }
}

static uint32_t user_count_helpers(const struct nn_permits *permits,
                                   const struct nn_permits_user *user, uint64_t now_ns)
{
    size_t limit = user_limit(permits, user, AHEAD, now_ns), n_own = user_n_running(user);
    size_t n_all = permits_sum_running(permits), n;

    if (user->waiters || n_all >= permits->n_cpus || n_own >= limit)
        return 0;
    n = permits->n_cpus - n_all;
    return (uint32_t)(n < limit - n_own ? n : limit - n_own);
}

/* After each change, and when time has passed: who may run now, and what running threads see. */
static void permits_settle(struct nn_permits *permits, uint64_t now_ns)
{
    for (struct nn_permits_user *user = permits->users; user; user = user->next)
        user_grant(permits, user, now_ns);
    for (struct nn_permits_user *user = permits->users; user; user = user->next) {
        bool is_wanted = user->waiters || user->n_stuck > 0 ||
                         user_is_over(permits, user, BEHIND, now_ns) ||
                         user_is_over(permits, user, AHEAD, now_ns);

        __atomic_store_n(&user->is_wanted, is_wanted, __ATOMIC_RELAXED);
        __atomic_store_n(&user->n_helpers, user_count_helpers(permits, user, now_ns),
                         __ATOMIC_RELAXED);
    }
    __atomic_store_n(&permits->helpers_end_ns, now_ns + HELPERS_AGE_NS, __ATOMIC_RELAXED);
}

static bool permit_is_cancelled(const struct nn_permit *permit)
{
    return permit->is_cancelled && __atomic_load_n(permit->is_cancelled, __ATOMIC_RELAXED);
}

static void waiter_sleep(struct nn_permits *permits, struct waiter *waiter, uint64_t pause_ns)
{
    uint64_t until_ns = nn_sys_now_ns() + pause_ns;
    struct timespec until = {
        .tv_sec = (time_t)(until_ns / 1000000000U),
        .tv_nsec = (long)(until_ns % 1000000000U),
    };

    pthread_cond_timedwait(&waiter->changed, &permits->lock, &until);
}

/* A thread of permit, which has been counted for its user, has its turn. That tells nothing of
 * those that run. */
static void permit_run(struct nn_permit *permit, uint64_t now_ns)
{
    if (permit->n_running++ == 0)
        permit->look_ns = now_ns;
    permit->since_ns = now_ns;
}

/* Until this thread may run, or has waited long enough. That other users are not recent any
 * more is seen by the first one that waits alone. */
static void permit_wait(struct nn_permit *permit, bool has_begun, uint64_t now_ns)
{
    struct nn_permits *permits = permit->permits;
    struct waiter waiter = {.priority = permit->priority, .has_begun = has_begun};
    uint64_t begin_ns = now_ns, end_ns = now_ns + NN_PERMITS_WAIT_NS;
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (permit->deadline_ns < end_ns)
        end_ns = permit->deadline_ns;
    user_queue(permit->user, &waiter);
    permits_settle(permits, now_ns);
    while (!waiter.is_granted && now_ns < end_ns && !permit_is_cancelled(permit)) {
        uint64_t pause_ns = end_ns - now_ns;

        if (permit->user->waiters == &waiter && pause_ns > NN_PERMITS_RECENT_NS)
            pause_ns = NN_PERMITS_RECENT_NS;
        waiter_sleep(permits, &waiter, pause_ns);
        now_ns = permits->clock();
        if (!waiter.is_granted)
            permits_settle(permits, now_ns);
    }
    if (!waiter.is_granted) {
        if (now_ns - begin_ns >= NN_PERMITS_WAIT_NS)
            permits_find_stuck(permits, now_ns);
        user_unqueue(permit->user, &waiter);
        user_count(permits, permit->user, group_of(permit->priority), now_ns);
        permits_settle(permits, now_ns);
    }
    permit_run(permit, now_ns);
    pthread_cond_destroy(&waiter.changed);
}

/* Whether all that wait come after a thread of permit. */
static bool permit_is_first(const struct nn_permit *permit, bool has_begun)
{
    const struct waiter *first = permit->user->waiters;

    if (!first || first->priority < permit->priority)
        return true;
    return first->priority == permit->priority && first->has_begun && !has_begun;
}

static void permit_enter_locked(struct nn_permit *permit, bool has_begun, uint64_t now_ns)
{
    struct nn_permits_user *user = permit->user;
    size_t group = group_of(permit->priority);

    if (!permit_is_first(permit, has_begun) ||
        !user_may_run(permit->permits, user, group, now_ns)) {
        permit_wait(permit, has_begun, now_ns);
        return;
    }
    user_count(permit->permits, user, group, now_ns);
    permit_run(permit, now_ns);
    permits_settle(permit->permits, now_ns);
}

/* -- users; all under the lock ---------------------------------------------- */

static void permits_drop_unused(struct nn_permits *permits, uint64_t now_ns)
{
    struct nn_permits_user **link = &permits->users;

    while (*link) {
        struct nn_permits_user *user = *link;

        if (user->n_permits > 0 || user_is_active(user, BEHIND, now_ns)) {
            link = &user->next;
            continue;
        }
        *link = user->next;
        free(user);
    }
}

static struct nn_permits_user *permits_find(const struct nn_permits *permits, uint64_t id)
{
    struct nn_permits_user *user = permits->users;

    while (user && user->id != id)
        user = user->next;
    return user;
}

static struct nn_permits_user *permits_get(struct nn_permits *permits, uint64_t id, uint64_t now_ns)
{
    struct nn_permits_user *user = permits_find(permits, id);

    if (user)
        return user;
    permits_drop_unused(permits, now_ns);
    user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->id = id;
    user->next = permits->users;
    permits->users = user;
    return user;
}

/* -- permits ----------------------------------------------------------------- */

int nn_permits_new(size_t n_cpus, uint64_t (*clock)(void), struct nn_permits **ret_permits)
{
    struct nn_permits *permits = calloc(1, sizeof(*permits));

    if (!permits)
        return nn_error_origin(-ENOMEM);
    permits->n_cpus = n_cpus > 0 ? n_cpus : 1;
    permits->clock = clock ? clock : nn_sys_now_ns;
    pthread_mutex_init(&permits->lock, NULL);
    *ret_permits = permits;
    return 0;
}

struct nn_permits *nn_permits_free(struct nn_permits *permits)
{
    if (!permits)
        return NULL;
    permits_drop_unused(permits, UINT64_MAX);
    pthread_mutex_destroy(&permits->lock);
    free(permits);
    return NULL;
}

void nn_permits_wake(struct nn_permits *permits)
{
    pthread_mutex_lock(&permits->lock);
    for (struct nn_permits_user *user = permits->users; user; user = user->next)
        for (struct waiter *waiter = user->waiters; waiter; waiter = waiter->next)
            pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&permits->lock);
}

size_t nn_permits_n_running(struct nn_permits *permits, uint64_t id)
{
    struct nn_permits_user *user;
    size_t n;

    pthread_mutex_lock(&permits->lock);
    user = permits_find(permits, id);
    n = user ? user->n_running[BEHIND] + user->n_running[AHEAD] : 0;
    pthread_mutex_unlock(&permits->lock);
    return n;
}

size_t nn_permits_n_waiting(struct nn_permits *permits, uint64_t id)
{
    struct nn_permits_user *user;
    size_t n;

    pthread_mutex_lock(&permits->lock);
    user = permits_find(permits, id);
    n = user ? user->n_waiting[BEHIND] + user->n_waiting[AHEAD] : 0;
    pthread_mutex_unlock(&permits->lock);
    return n;
}

/* Under the lock. Returns: false if memory is short, and nothing is counted. */
static bool permit_open_locked(struct nn_permit *permit, uint64_t user, uint64_t now_ns)
{
    permit->n_running = 0;
    permit->user = permits_get(permit->permits, user, now_ns);
    if (permit->user)
        permit->user->n_permits++;
    return permit->user != NULL;
}

void nn_permit_begin(struct nn_permit *permit, struct nn_permits *permits, uint64_t user,
                     enum nn_jobs_priority priority)
{
    uint64_t now_ns;

    permit->permits = permits;
    permit->user = NULL;
    permit->priority = priority;
    if (!permits)
        return;
    pthread_mutex_lock(&permits->lock);
    now_ns = permits->clock();
    if (permit_open_locked(permit, user, now_ns))
        permit_enter_locked(permit, false, now_ns);
    pthread_mutex_unlock(&permits->lock);
}

void nn_permit_open(struct nn_permit *permit, struct nn_permits *permits, uint64_t user,
                    enum nn_jobs_priority priority)
{
    permit->permits = permits;
    permit->user = NULL;
    permit->priority = priority;
    if (!permits)
        return;
    pthread_mutex_lock(&permits->lock);
    permit_open_locked(permit, user, permits->clock());
    pthread_mutex_unlock(&permits->lock);
}

void nn_permit_end(struct nn_permit *permit)
{
    uint64_t now_ns;

    if (!permit->permits || !permit->user)
        return;
    pthread_mutex_lock(&permit->permits->lock);
    now_ns = permit->permits->clock();
    while (permit->n_running > 0)
        permit_uncount(permit, now_ns);
    permit->user->n_permits--;
    permits_settle(permit->permits, now_ns);
    pthread_mutex_unlock(&permit->permits->lock);
    permit->user = NULL;
}

void nn_permit_set_priority(struct nn_permit *permit, enum nn_jobs_priority priority)
{
    uint64_t now_ns;

    if (!permit->permits || !permit->user || permit->priority == priority)
        return;
    pthread_mutex_lock(&permit->permits->lock);
    now_ns = permit->permits->clock();
    permit->user->n_running[group_of(permit->priority)]--;
    permit->permits->n_running[group_of(permit->priority)]--;
    user_count(permit->permits, permit->user, group_of(priority), now_ns);
    permit->priority = priority;
    permits_settle(permit->permits, now_ns);
    pthread_mutex_unlock(&permit->permits->lock);
}

void nn_permit_leave(struct nn_permit *permit)
{
    uint64_t now_ns;

    if (!permit->permits || !permit->user)
        return;
    pthread_mutex_lock(&permit->permits->lock);
    now_ns = permit->permits->clock();
    if (permit->n_running > 0)
        permit_uncount(permit, now_ns);
    permits_settle(permit->permits, now_ns);
    pthread_mutex_unlock(&permit->permits->lock);
}

void nn_permit_enter(struct nn_permit *permit)
{
    if (!permit->permits || !permit->user)
        return;
    pthread_mutex_lock(&permit->permits->lock);
    permit_enter_locked(permit, true, permit->permits->clock());
    pthread_mutex_unlock(&permit->permits->lock);
}

void nn_permit_give_way(struct nn_permit *permit)
{
    uint64_t now_ns;

    if (!permit->permits || !permit->user)
        return;
    pthread_mutex_lock(&permit->permits->lock);
    now_ns = permit->permits->clock();
    permit_look(permit, now_ns);
    if (permit->n_running > 0 && permit_gives_way(permit, now_ns)) {
        permit_uncount(permit, now_ns);
        permit_wait(permit, true, now_ns);
    }
    pthread_mutex_unlock(&permit->permits->lock);
}

const uint32_t *nn_permit_is_wanted(const struct nn_permit *permit)
{
    return permit->permits && permit->user ? &permit->user->is_wanted : NULL;
}

uint32_t nn_permit_n_helpers(struct nn_permit *permit)
{
    struct nn_permits *permits = permit->permits;
    uint32_t n;

    if (!permits || !permit->user)
        return UINT32_MAX;
    n = __atomic_load_n(&permit->user->n_helpers, __ATOMIC_RELAXED);
    if (n > 0 || permits->clock() < __atomic_load_n(&permits->helpers_end_ns, __ATOMIC_RELAXED))
        return n;
    pthread_mutex_lock(&permits->lock);
    permits_settle(permits, permits->clock());
    pthread_mutex_unlock(&permits->lock);
    return __atomic_load_n(&permit->user->n_helpers, __ATOMIC_RELAXED);
}
