/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - what a host and its sessions consist of
 *
 * dispatch.c, which is generated, holds the table of methods: each enters the session,
 * calls the body of its name (methods.h) and leaves. A session that is being
 * cancelled admits no call; its end waits until all have left, the fenced
 * executions in progress included: each of them counts as a use. */
#ifndef NN_HOST_SESSION_H
#define NN_HOST_SESSION_H

#include "base/arena.h"
#include "host/host.h"
#include "host/caching/state.h"
#include "host/journal.h"
#include "host/object.h"
#include "host/quota.h"
#include "host/caching/weights.h"

#include <semaphore.h>

struct nn_buffer;
struct nn_device_run;
struct nn_fence_watcher;
struct nn_jobs;
struct nn_permits;
struct nn_token_map;

/* The fenced executions that the driver has, oldest first (execution/device-queue.h). */
struct nn_device_queue {
    pthread_mutex_t lock;
    uint64_t last_id;
    struct nn_device_run *first, *last;
};

struct nn_host {
    uint32_t n_refs;
    unsigned level; /* the driver's feature level, 1 to 8 */
    struct nnhal_driver driver;
    char *module; /* the path of its file, without links; NULL: it is in none */
    struct nnhal_driver_services services;
    void *device;
    bool takes_impossible; /* as the device of NNAPI's own does (host.h) */
    struct nn_quota quota;
    struct nn_journal journal;
    pthread_mutex_t fence_watcher_lock;
    struct nn_fence_watcher *watcher; /* made by the first fenced execution */
    struct nn_jobs *stalling; /* made by the first stalling file (stalling.h); the same lock */
    struct nn_device_queue device_queue;
    struct nn_permits *permits; /* of the CPUs that users share; NULL: they do not */
    uint64_t last_session;
    uint64_t copied_bytes; /* atomic */
    pthread_mutex_t tokens_lock;
    struct nn_token_map *tokens; /* of the compilation cache (cache.h) */
    bool has_no_tokens;          /* opening it has failed */
    enum nn_host_sharing sharing;
    struct nn_reoptimizer reoptimizer; /* models that are being optimized */
    struct nn_weights_table weights;   /* what sessions share of data caches (weights.h) */
};

/* The live buffers of a session by token (buffer.h). Any thread. */
#define NN_BUFFER_CHAINS 64

struct nn_buffers {
    pthread_mutex_t lock;
    struct nn_buffer *chains[NN_BUFFER_CHAINS];
};

void nn_buffers_init(struct nn_buffers *buffers);
void nn_buffers_done(struct nn_buffers *buffers);

struct nn_host_session {
    struct nn_hal hal; /* first */
    struct nn_host *host;
    uint64_t number; /* names the session among the host's, for the jobs' turns */
    uint32_t uid;    /* of the client */
    int32_t pid;     /* of the client, for the journal */
    bool is_service;
    struct nn_hal_listener listener;
    struct nn_quota_account account;
    struct nn_meter meter; /* of the account: for arenas of what it holds */
    struct nn_objects objects;
    struct nn_buffers buffers;
    uint32_t n_stalling_files; /* memories and cache files that may stall every access; atomic */
    uint32_t is_cancelled;
    uint32_t n_uses; /* calls in progress, fenced executions, and the owner's one */
    sem_t idle;      /* posted when n_uses reaches 0 */
};

/* nn_host_session_enter() - a use; false if the session is being cancelled. */
bool nn_host_session_enter(struct nn_host_session *session);
void nn_host_session_leave(struct nn_host_session *session);

#endif
