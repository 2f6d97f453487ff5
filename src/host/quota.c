/* SPDX-License-Identifier: Apache-2.0 */
#include "host/quota.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>

/* What all sessions of one uid use together. */
struct nn_quota_purse {
    struct nn_quota_purse *next;
    uint32_t uid;
    uint32_t n_accounts;
    uint64_t used[NN_QUOTA_SLOT_N];
};

void nn_quota_init(struct nn_quota *quota)
{
    *quota = (struct nn_quota){.purses = NULL};
    pthread_mutex_init(&quota->lock, NULL);
}

void nn_quota_done(struct nn_quota *quota)
{
    assert(!quota->purses);
    pthread_mutex_destroy(&quota->lock);
}

static struct nn_quota_purse *purse_of(struct nn_quota *quota, uint32_t uid)
{
    struct nn_quota_purse *purse;

    for (purse = quota->purses; purse; purse = purse->next)
        if (purse->uid == uid)
            return purse;
    purse = calloc(1, sizeof(*purse));
    if (!purse)
        return NULL;
    purse->uid = uid;
    purse->next = quota->purses;
    quota->purses = purse;
    return purse;
}

int nn_quota_account_open(struct nn_quota *quota, uint32_t uid, struct nn_quota_account *account)
{
    struct nn_quota_purse *purse;

    pthread_mutex_lock(&quota->lock);
    purse = purse_of(quota, uid);
    if (purse)
        purse->n_accounts++;
    pthread_mutex_unlock(&quota->lock);
    if (!purse)
        return nn_error_origin(-ENOMEM);
    *account = (struct nn_quota_account){.quota = quota, .purse = purse};
    return 0;
}

static void unlink_purse(struct nn_quota *quota, struct nn_quota_purse *purse)
{
    struct nn_quota_purse **at = &quota->purses;

    while (*at != purse)
        at = &(*at)->next;
    *at = purse->next;
}

void nn_quota_account_close(struct nn_quota_account *account)
{
    struct nn_quota *quota = account->quota;
    struct nn_quota_purse *purse = account->purse;

    for (int slot = 0; slot < NN_QUOTA_SLOT_N; slot++)
        assert(account->used[slot] == 0);
    pthread_mutex_lock(&quota->lock);
    if (--purse->n_accounts == 0)
        unlink_purse(quota, purse);
    else
        purse = NULL;
    pthread_mutex_unlock(&quota->lock);
    free(purse);
}

static int quota_take(struct nn_quota_account *account, enum nn_quota_slot slot, uint64_t n)
{
    uint64_t *used = &account->used[slot], *uid_used = &account->purse->used[slot];

    /* Written so that nothing overflows; limits of the uid may have been set
     * lower than what is used already. */
    if (*used > account->limits[slot] || n > account->limits[slot] - *used)
        return NN_QUOTA_E_SESSION;
    if (*uid_used > account->uid_limits[slot] || n > account->uid_limits[slot] - *uid_used)
        return NN_QUOTA_E_UID;
    *used += n;
    *uid_used += n;
    return 0;
}

int nn_quota_charge(struct nn_quota_account *account, enum nn_quota_slot slot, uint64_t n,
                    struct nn_quota_charge *charge)
{
    int r;

    pthread_mutex_lock(&account->quota->lock);
    r = quota_take(account, slot, n);
    pthread_mutex_unlock(&account->quota->lock);
    if (r)
        return r;
    *charge = (struct nn_quota_charge){.account = account, .slot = slot, .n = n};
    return 0;
}

void nn_quota_release(struct nn_quota_charge *charge)
{
    struct nn_quota_account *account = charge->account;

    if (!account)
        return;
    pthread_mutex_lock(&account->quota->lock);
    account->used[charge->slot] -= charge->n;
    account->purse->used[charge->slot] -= charge->n;
    pthread_mutex_unlock(&account->quota->lock);
    charge->account = NULL;
}
