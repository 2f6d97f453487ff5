/* SPDX-License-Identifier: Apache-2.0 */
#include "host/quota.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/memory-limit.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* What all sessions of one uid use together. */
struct nn_quota_purse {
    struct nn_quota_purse *next;
    uint32_t uid;
    uint32_t n_accounts;
    uint64_t used[NN_QUOTA_SLOT_N];
    uint64_t memory; /* bytes */
};

/* What one of a slot makes this process take: an object with its part of the tables that it is in.
 * What grows with a request is metered beside it. MEMORY_BYTES are the client's own pages, those
 * that are not are charged as BYTES; MODEL_BYTES are what the driver charges, or is believed to
 * take. */
static const uint32_t slot_bytes[NN_QUOTA_SLOT_N] = {
    [NN_QUOTA_MEMORIES] = 2048, [NN_QUOTA_PREPARED_MODELS] = 2048, [NN_QUOTA_EXECUTIONS] = 512,
    [NN_QUOTA_FENCED] = 2048,   [NN_QUOTA_BUFFERS] = 512,          [NN_QUOTA_BUFFER_BYTES] = 1,
    [NN_QUOTA_BURSTS] = 65536,  /* the stack of a thread, mostly */
    [NN_QUOTA_BURST_BYTES] = 2, /* the queue, and the copy that is judged */
    [NN_QUOTA_BYTES] = 1,
};

void nn_quota_init(struct nn_quota *quota)
{
    *quota = (struct nn_quota){.user_memory_limit = UINT64_MAX, .all_memory_limit = UINT64_MAX};
    pthread_mutex_init(&quota->lock, NULL);
}

void nn_quota_done(struct nn_quota *quota)
{
    assert(!quota->purses && quota->memory == 0);
    pthread_mutex_destroy(&quota->lock);
}

void nn_quota_limit_memory(struct nn_quota *quota, uint64_t user_limit, uint64_t all_limit)
{
    pthread_mutex_lock(&quota->lock);
    quota->user_memory_limit = user_limit;
    quota->all_memory_limit = all_limit;
    pthread_mutex_unlock(&quota->lock);
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

uint64_t nn_quota_cost(enum nn_quota_slot slot, uint64_t n)
{
    uint64_t n_bytes;

    return nn_mul_u64(n, slot_bytes[slot], &n_bytes) ? n_bytes : UINT64_MAX;
}

/* Written so that nothing overflows; limits may have been set lower than what is used already. */
static bool quota_fits(uint64_t used, uint64_t limit, uint64_t n)
{
    return used <= limit && n <= limit - used;
}

/* Under the lock. */
static int quota_take(struct nn_quota_account *account, enum nn_quota_slot slot, uint64_t n)
{
    uint64_t *used = &account->used[slot], *uid_used = &account->purse->used[slot];
    uint64_t n_bytes = nn_quota_cost(slot, n);
    struct nn_quota *quota = account->quota;

    if (!quota_fits(*used, account->limits[slot], n))
        return NN_QUOTA_E_SESSION;
    if (!quota_fits(*uid_used, account->uid_limits[slot], n))
        return NN_QUOTA_E_UID;
    if (!quota_fits(account->purse->memory, quota->user_memory_limit, n_bytes))
        return NN_QUOTA_E_USER_MEMORY;
    if (!quota_fits(quota->memory, quota->all_memory_limit, n_bytes))
        return NN_QUOTA_E_ALL_MEMORY;
    *used += n;
    *uid_used += n;
    account->purse->memory += n_bytes;
    quota->memory += n_bytes;
    return 0;
}

/* Under the lock. */
static void quota_give(struct nn_quota_account *account, enum nn_quota_slot slot, uint64_t n)
{
    uint64_t n_bytes = nn_quota_cost(slot, n);

    account->used[slot] -= n;
    account->purse->used[slot] -= n;
    account->purse->memory -= n_bytes;
    account->quota->memory -= n_bytes;
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
    nn_quota_reduce(charge, UINT64_MAX);
    charge->account = NULL;
}

int nn_quota_extend(struct nn_quota_charge *charge, uint64_t n)
{
    struct nn_quota_account *account = charge->account;
    int r;

    pthread_mutex_lock(&account->quota->lock);
    r = quota_take(account, charge->slot, n);
    if (r == 0)
        charge->n += n;
    pthread_mutex_unlock(&account->quota->lock);
    return r;
}

void nn_quota_reduce(struct nn_quota_charge *charge, uint64_t n)
{
    struct nn_quota_account *account = charge->account;

    pthread_mutex_lock(&account->quota->lock);
    if (n > charge->n)
        n = charge->n;
    charge->n -= n;
    quota_give(account, charge->slot, n);
    pthread_mutex_unlock(&account->quota->lock);
}

/* -- meters ------------------------------------------------------------------------- */

static int meter_charge(void *ctx, uint64_t n_bytes)
{
    struct nn_quota_account *account = ctx;
    int r;

    pthread_mutex_lock(&account->quota->lock);
    r = quota_take(account, NN_QUOTA_BYTES, n_bytes);
    pthread_mutex_unlock(&account->quota->lock);
    return r ? nn_error_origin(-EDQUOT) : 0;
}

static void meter_uncharge(void *ctx, uint64_t n_bytes)
{
    struct nn_quota_account *account = ctx;

    pthread_mutex_lock(&account->quota->lock);
    quota_give(account, NN_QUOTA_BYTES, n_bytes);
    pthread_mutex_unlock(&account->quota->lock);
}

struct nn_meter nn_quota_meter(struct nn_quota_account *account)
{
    return (struct nn_meter){meter_charge, meter_uncharge, account};
}

/* -- sentences ---------------------------------------------------------------------- */

int nn_quota_look(struct nn_quota_account *account, uint64_t n_bytes)
{
    bool fits;

    pthread_mutex_lock(&account->quota->lock);
    fits = quota_fits(account->purse->memory, account->quota->user_memory_limit, n_bytes);
    pthread_mutex_unlock(&account->quota->lock);
    return fits ? NN_QUOTA_E_ALL_MEMORY : NN_QUOTA_E_USER_MEMORY;
}

void nn_quota_explain(struct nn_quota_account *account, int outcome, uint64_t n_bytes, char *text,
                      size_t n_text)
{
    struct nn_quota *quota = account->quota;
    char needed[32], limit[32], used[32];

    pthread_mutex_lock(&quota->lock);
    nn_memory_print(n_bytes, needed, sizeof(needed));
    nn_memory_print(outcome == NN_QUOTA_E_USER_MEMORY ? quota->user_memory_limit
                                                      : quota->all_memory_limit,
                    limit, sizeof(limit));
    nn_memory_print(account->purse->memory, used, sizeof(used));
    pthread_mutex_unlock(&quota->lock);
    if (outcome == NN_QUOTA_E_USER_MEMORY)
        snprintf(text, n_text,
                 "this needs %s; user %u may have %s of the service's memory, %s are in use: free "
                 "something that is not needed, or let NNHAL_USER_MEMORY of the service be raised",
                 needed, account->purse->uid, limit, used);
    else
        snprintf(
            text, n_text,
            "this needs %s; all users together may have %s of the service's memory, you have %s: "
            "try again later, or let NNHAL_SERVICE_MEMORY of the service be raised",
            needed, limit, used); /* what others have is theirs to know */
}
