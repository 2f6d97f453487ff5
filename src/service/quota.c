/* SPDX-License-Identifier: Apache-2.0 */
#include "service/quota.h"

#include "base/error.h"

#include <assert.h>
#include <pthread.h>

struct nn_service_quota_user {
    struct nn_service_quota_user *next;
    struct nn_service_quota *quota;
    uid_t uid;
    size_t n_connections;
    size_t n_bytes, n_fds;
    size_t n_passed_fds;
};

struct nn_service_quota {
    struct nn_service_quota_limits limits;
    pthread_mutex_t lock;
    size_t n_connections;
    struct nn_service_quota_user *users;
};

int nn_service_quota_new(const struct nn_service_quota_limits *limits,
                         struct nn_service_quota **ret_quota)
{
    struct nn_service_quota *quota = calloc(1, sizeof(*quota));

    if (!quota)
        return nn_error_origin(-ENOMEM);
    quota->limits = *limits;
    pthread_mutex_init(&quota->lock, NULL);
    *ret_quota = quota;
    return 0;
}

struct nn_service_quota *nn_service_quota_free(struct nn_service_quota *quota)
{
    if (!quota)
        return NULL;
    assert(!quota->users);
    pthread_mutex_destroy(&quota->lock);
    free(quota);
    return NULL;
}

/* Under the lock. */
static struct nn_service_quota_user *get_user(struct nn_service_quota *quota, uid_t uid)
{
    struct nn_service_quota_user *user = quota->users;

    while (user && user->uid != uid)
        user = user->next;
    if (user)
        return user;
    user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->quota = quota;
    user->uid = uid;
    user->next = quota->users;
    quota->users = user;
    return user;
}

/* Under the lock. */
static void drop_unused(struct nn_service_quota *quota, struct nn_service_quota_user *user)
{
    struct nn_service_quota_user **link = &quota->users;

    /* Nothing is charged without connections: a call holds its session, which leaves after
     * it. */
    if (user->n_connections > 0)
        return;
    while (*link != user)
        link = &(*link)->next;
    *link = user->next;
    free(user);
}

int nn_service_quota_enter(struct nn_service_quota *quota, uid_t uid,
                           struct nn_service_quota_user **ret_user)
{
    struct nn_service_quota_user *user;
    int r = 0;

    pthread_mutex_lock(&quota->lock);
    user = get_user(quota, uid);
    if (!user) {
        r = nn_error_origin(-ENOMEM);
    } else if (quota->n_connections >= quota->limits.n_connections ||
               user->n_connections >= quota->limits.n_connections_per_user) {
        drop_unused(quota, user);
        r = NN_SERVICE_QUOTA_E_FULL;
    } else {
        quota->n_connections++;
        user->n_connections++;
        *ret_user = user;
    }
    pthread_mutex_unlock(&quota->lock);
    return r;
}

void nn_service_quota_leave(struct nn_service_quota_user *user)
{
    struct nn_service_quota *quota = user->quota;

    pthread_mutex_lock(&quota->lock);
    quota->n_connections--;
    user->n_connections--;
    drop_unused(quota, user);
    pthread_mutex_unlock(&quota->lock);
}

/* No limit is checked here, since the packet is received already: the loop asks
 * nn_service_quota_may_receive() before each one, so that a user exceeds a limit by one packet
 * at most. */
void nn_service_quota_charge(struct nn_service_quota_user *user, size_t n_bytes, size_t n_fds)
{
    pthread_mutex_lock(&user->quota->lock);
    user->n_bytes += n_bytes;
    user->n_fds += n_fds;
    pthread_mutex_unlock(&user->quota->lock);
}

void nn_service_quota_release(struct nn_service_quota_user *user, size_t n_bytes, size_t n_fds)
{
    pthread_mutex_lock(&user->quota->lock);
    assert(user->n_bytes >= n_bytes && user->n_fds >= n_fds);
    user->n_bytes -= n_bytes;
    user->n_fds -= n_fds;
    pthread_mutex_unlock(&user->quota->lock);
}

int nn_service_quota_pass(struct nn_service_quota_user *user, size_t n_fds)
{
    size_t n_max = user->quota->limits.n_fds_per_user;
    int r = 0;

    pthread_mutex_lock(&user->quota->lock);
    if (n_fds > n_max || user->n_passed_fds > n_max - n_fds)
        r = nn_error_origin(-EDQUOT);
    else
        user->n_passed_fds += n_fds;
    pthread_mutex_unlock(&user->quota->lock);
    return r;
}

void nn_service_quota_passed(struct nn_service_quota_user *user, size_t n_fds)
{
    pthread_mutex_lock(&user->quota->lock);
    assert(user->n_passed_fds >= n_fds);
    user->n_passed_fds -= n_fds;
    pthread_mutex_unlock(&user->quota->lock);
}

bool nn_service_quota_may_receive(struct nn_service_quota_user *user)
{
    const struct nn_service_quota_limits *limits = &user->quota->limits;
    bool may;

    pthread_mutex_lock(&user->quota->lock);
    may = user->n_bytes < limits->n_bytes_per_user && user->n_fds < limits->n_fds_per_user;
    pthread_mutex_unlock(&user->quota->lock);
    return may;
}
