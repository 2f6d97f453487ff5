/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - what a session and a uid may hold
 *
 * Each session has an account, and all accounts of one uid at one host have a
 * purse in common: what is taken must fit in both. A charge lives inside
 * the object that it pays for and is given back when that object goes, which
 * may be later than its id.
 *
 *     nn_quota (the host's) --< purse (a uid's) --< account (a session's) --< charge
 *
 * Beside the counts there is memory: what a slot's charges make this process take is counted in
 * bytes as well, whichever slot it is, and must fit into what the uid and all uids together may
 * have. Without nn_quota_limit_memory() it is counted and not limited.
 *
 * Threads: all functions, any thread. Nothing blocks longer than a few adds. */
#ifndef NN_HOST_QUOTA_H
#define NN_HOST_QUOTA_H

#include "base/meter.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum nn_quota_slot {
    NN_QUOTA_MEMORIES,
    NN_QUOTA_MEMORY_BYTES,
    NN_QUOTA_PREPARED_MODELS,
    NN_QUOTA_MODEL_BYTES,
    NN_QUOTA_EXECUTIONS,
    NN_QUOTA_FENCED,
    NN_QUOTA_FENCES,
    NN_QUOTA_BUFFERS,
    NN_QUOTA_BUFFER_BYTES,
    NN_QUOTA_BURSTS,
    NN_QUOTA_BURST_BYTES,
    NN_QUOTA_BYTES, /* of memory that belongs to no other slot */
    NN_QUOTA_SLOT_N,
};

enum {
    NN_QUOTA_E_SESSION = 1,     /* the session's own limit would be exceeded */
    NN_QUOTA_E_UID = 2,         /* the sum over the uid's sessions would be */
    NN_QUOTA_E_USER_MEMORY = 3, /* the uid's memory would be */
    NN_QUOTA_E_ALL_MEMORY = 4,  /* that of all uids would be */
};

struct nn_quota_purse;

struct nn_quota {
    pthread_mutex_t lock;
    struct nn_quota_purse *purses;
    uint64_t user_memory_limit, all_memory_limit; /* UINT64_MAX: none */
    uint64_t memory;                              /* bytes that all uids use */
};

struct nn_quota_account {
    struct nn_quota *quota;
    struct nn_quota_purse *purse;
    uint64_t limits[NN_QUOTA_SLOT_N];
    uint64_t uid_limits[NN_QUOTA_SLOT_N];
    uint64_t used[NN_QUOTA_SLOT_N];
};

struct nn_quota_charge {
    struct nn_quota_account *account; /* NULL: nothing is charged */
    enum nn_quota_slot slot;
    uint64_t n;
};

void nn_quota_init(struct nn_quota *quota);

/* nn_quota_done() - all accounts must be closed. */
void nn_quota_done(struct nn_quota *quota);

/* nn_quota_limit_memory() - from now on; what is used already stays. */
void nn_quota_limit_memory(struct nn_quota *quota, uint64_t user_limit, uint64_t all_limit);

/* nn_quota_account_open() - an account of uid; limits are the caller's to set.
 * Returns: 0, -ENOMEM. */
int nn_quota_account_open(struct nn_quota *quota, uint32_t uid, struct nn_quota_account *account);

/* nn_quota_account_close() - every charge must have been given back. */
void nn_quota_account_close(struct nn_quota_account *account);

/* nn_quota_charge() - takes n of a slot; charge must be zero. Returns: 0, NN_QUOTA_E_*. */
int nn_quota_charge(struct nn_quota_account *account, enum nn_quota_slot slot, uint64_t n,
                    struct nn_quota_charge *charge);

/* nn_quota_release() - gives back; a charge of nothing is no error. */
void nn_quota_release(struct nn_quota_charge *charge);

/* nn_quota_extend() - n more for a charge that has its account and slot. Returns: 0, NN_QUOTA_E_*. */
int nn_quota_extend(struct nn_quota_charge *charge, uint64_t n);

/* nn_quota_reduce() - gives n of a charge back, at most all of it. */
void nn_quota_reduce(struct nn_quota_charge *charge, uint64_t n);

/* nn_quota_meter() - charges what is taken by it as NN_QUOTA_BYTES of the account, which
 * outlives it. */
struct nn_meter nn_quota_meter(struct nn_quota_account *account);

/* nn_quota_cost() - the memory that n of a slot stand for. */
uint64_t nn_quota_cost(enum nn_quota_slot slot, uint64_t n);

/* nn_quota_look() - which limit keeps n_bytes from being charged now.
 * Returns: NN_QUOTA_E_USER_MEMORY, NN_QUOTA_E_ALL_MEMORY (also if none does). */
int nn_quota_look(struct nn_quota_account *account, uint64_t n_bytes);

/* nn_quota_explain() - the sentence for one of the two refusals for memory: how much was needed,
 * what the limit is, how much this uid uses: others' use is not for a client to know. Cuts what n_text
 * bytes do not hold. */
void nn_quota_explain(struct nn_quota_account *account, int outcome, uint64_t n_bytes, char *text,
                      size_t n_text);

#endif
