/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the HAL over a driver in this process
 *
 * A host is one open driver: loaded from a module, or taken from a table that
 * was linked in. It is opened once and shared by any number of sessions. A
 * session implements struct nn_hal for one client: it validates models and
 * requests, maps memory, checks bounds, keeps deadlines and quotas, and hands
 * the driver nothing but validated models and mapped pointers. What a driver
 * answers is checked as well: a lie becomes NNHAL_GENERAL_FAILURE.
 *
 *     nn_host --< session (nn_hal) --< memory, prepared model, execution,
 *                                      fenced callback, buffer, burst
 *
 * Sessions share nothing but the driver and the sums of their quotas per uid:
 * an id of one means nothing to another.
 *
 * Threads: a synchronous call runs on its caller's thread from beginning to
 * end; the host adds none. execute_fenced runs on the host's job threads, and
 * one more thread waits for the fences of all sessions; both are started by
 * the first fenced execution and end with the host. Each burst has a thread.
 * After fork the child must not call into a session: its holder checks
 * that, once, for all the objects that it made from it.
 *
 * Errors: a module that cannot be used and a session that cannot be opened are
 * -errno, with a sentence. Inside the HAL statuses come with reply->message. */
#ifndef NN_HOST_HOST_H
#define NN_HOST_HOST_H

#include "base/cleanup.h"
#include "hal/hal.h"

#include <nnhal/driver.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_host;
struct nn_job;
struct nn_journal;
struct nn_meter;

/* The sentence that goes with a failure: what is wrong and what to do. */
struct nn_host_why {
    char text[512];
};

/* nn_host_open_module() - loads the driver at path and opens its device.
 * configuration is what followed ':' in the driver's name, NULL if nothing
 * did. The module stays loaded for the life of the process. Blocks for as long
 * as the driver's open() does. why (may be NULL) is set on failure.
 * Returns: 0, -ENOENT (no such file), -ELIBBAD (cannot be loaded, or exports
 * no driver), -EPROTO (its table is not one that this host understands),
 * -ENODEV (the driver refused), -ENOMEM. */
int nn_host_open_module(const char *path, const char *configuration, struct nn_host_why *why,
                        struct nn_host **ret_host);

/* nn_host_open_builtin() - the same for a driver that is linked in: main is its
 * nnhal_driver_main() under any name.
 * Returns: as nn_host_open_module(), without -ENOENT and -ELIBBAD. */
int nn_host_open_builtin(const struct nnhal_driver *(*driver_main)(const char *configuration),
                         const char *configuration, struct nn_host_why *why,
                         struct nn_host **ret_host);

/* nn_host_open_tokens() - opens what the compilation cache has to remember, in
 * folder (NULL: where this driver keeps its state). It is opened by
 * itself when it is first needed. A driver without a cache opens nothing. Any thread.
 * Returns: 0, -EIO (nothing will be cached), -ENOMEM. */
int nn_host_open_tokens(struct nn_host *host, const char *folder);

/* Which map a driver's host needs: what it asks another process for if it can open no files. */
struct nn_host_tokens {
    uint8_t epoch[32];
};

/* nn_host_name_tokens() - Returns: false if the driver has no cache. */
bool nn_host_name_tokens(const struct nn_host *host, struct nn_host_tokens *ret_tokens);

/* nn_host_open_tokens_file() - in the other process, which does not trust the one that asks: it
 * knows itself which module that one serves (a path without links). For every epoch the map
 * is one of that module. Returns: 0 with *ret_fd, -EIO, -ENOMEM. */
int nn_host_open_tokens_file(const char *module, const struct nn_host_tokens *tokens, int *ret_fd);

/* nn_host_take_tokens() - the file that was opened, which it takes over; -1: nothing will be
 * cached. Before the first session. */
void nn_host_take_tokens(struct nn_host *host, int fd);

/* Whose prepared models may share one copy of the same data cache (weights.h). */
enum nn_host_sharing {
    NN_HOST_SHARING_NONE = 0, /* for a process with one client; the default */
    NN_HOST_SHARING_UID = 1,
    NN_HOST_SHARING_ALL = 2,
};

/* nn_host_share_weights() - before the first session. */
void nn_host_share_weights(struct nn_host *host, enum nn_host_sharing sharing);

/* nn_host_take_impossible() - from now on the driver supports what it says, also of operations that no
 * execution can compute (execution/impossible.h): as NNAPI's own device does, which leaves them to the
 * execution, so that a model that has them can be finished. Before the first session. */
void nn_host_take_impossible(struct nn_host *host);

/* nn_host_share_cpus() - from now on the threads of each user's calls are counted, and wait
 * where they are more than their part (base/permits.h). Before the first session.
 * Returns: 0, -ENOMEM. */
int nn_host_share_cpus(struct nn_host *host);

/* nn_host_limit_memory() - bounds what sessions make this process take, for each user and for all
 * together: what NNHAL_USER_MEMORY and NNHAL_SERVICE_MEMORY say. Where they say nothing: if
 * is_shared, a quarter and three quarters of what this process may have, else no bound: whole_bytes,
 * which nn_host_whole_memory() found. An open host is not shared. Before the first session. */
void nn_host_limit_memory(struct nn_host *host, bool is_shared, uint64_t whole_bytes);

/* nn_host_whole_memory() - what this process may have (base/memory-limit.h); 0, without a look,
 * where no bound follows from it. Reads files: before a sandbox is closed. */
uint64_t nn_host_whole_memory(bool is_shared);

/* nn_host_user_memory() - what one user may have; UINT64_MAX: no bound. */
uint64_t nn_host_user_memory(const struct nn_host *host);

/* nn_host_ref() / nn_host_unref() - a session holds one reference; the last
 * one closes the device, after all that uses it. Any thread. unref accepts
 * NULL and returns NULL. */
struct nn_host *nn_host_ref(struct nn_host *host);
struct nn_host *nn_host_unref(struct nn_host *host);

NN_DEFINE_CLEANUP(struct nn_host, nn_host_unref)

/* nn_host_driver() - the driver's table, with every member that its size does
 * not cover set to NULL or 0. Lives as long as the host. */
const struct nnhal_driver *nn_host_driver(const struct nn_host *host);

/* What a session may hold, and what all sessions of a uid may hold together.
 * 0: the default, NN_HOST_DEFAULT_LIMITS. What goes beyond is answered with
 * NNHAL_RESOURCE_EXHAUSTED_TRANSIENT. */
struct nn_host_limits {
    uint32_t n_memories;
    uint32_t n_prepared_models;
    uint32_t n_executions; /* reusable ones */
    uint32_t n_fenced;     /* fenced executions, until their callback is freed */
    uint32_t n_fences;     /* descriptors that fenced executions in progress hold */
    uint32_t n_buffers;    /* of allocate() */
    uint32_t n_bursts;     /* each has a thread */
    uint64_t memory_bytes; /* mapped */
    uint64_t model_bytes;  /* of prepared models: their values, operands and pools */
    uint64_t buffer_bytes; /* of values in buffers, and of their roles */
    uint64_t burst_bytes;  /* of the queues of bursts */
};

#define NN_HOST_DEFAULT_LIMITS                                                                     \
    ((struct nn_host_limits){.n_memories = 65536,                                                  \
                             .n_prepared_models = 4096,                                            \
                             .n_executions = 65536,                                                \
                             .n_fenced = 1024,                                                     \
                             .n_fences = 512,                                                      \
                             .n_buffers = 4096,                                                    \
                             .n_bursts = 256,                                                      \
                             .memory_bytes = UINT64_C(1) << 40,                                    \
                             .model_bytes = UINT64_C(1) << 36,                                     \
                             .buffer_bytes = UINT64_C(1) << 32,                                    \
                             .burst_bytes = UINT64_C(1) << 28})

struct nn_host_session_options {
    uint32_t uid; /* the user that the quotas charge */
    int32_t pid;  /* of the client, where it is another process: the journal names it */
    /* The client is another process: memory that it can shrink is mapped
     * behind the SIGBUS guard, which the service has installed (shm/guard.h).
     * False in the application's own process, where there is none. */
    bool is_service;
    struct nn_host_limits limits;     /* of this session */
    struct nn_host_limits uid_limits; /* of all sessions of uid together */
    struct nn_hal_listener listener;  /* copied; ctx must outlive the session */
};

/* nn_host_open_session() - a new session; ends with nn_hal_close(), which waits
 * for the calls in progress. options are copied; NULL: embedded, defaults.
 * Any thread. Returns: 0, -ENOMEM. */
int nn_host_open_session(struct nn_host *host, const struct nn_host_session_options *options,
                         struct nn_hal **ret_hal);

/* nn_host_meter() - charges the session for memory that is taken on the way to it: messages. Lives
 * as long as the session. */
const struct nn_meter *nn_host_meter(struct nn_hal *hal);

/* nn_host_explain_memory() - why the meter refused n_bytes: a sentence. */
void nn_host_explain_memory(struct nn_hal *hal, uint64_t n_bytes, char *text, size_t n_text);

/* nn_host_journal() - what a service says of its clients (journal.h). Lives as long as the host. */
struct nn_journal *nn_host_journal(struct nn_host *host);

/* nn_host_has_executors() - whether the driver may execute bursts by executors of its own
 * (struct nnhal_burst_executor): then a burst needs queues also in its own process. */
bool nn_host_has_executors(const struct nn_host *host);

/* nn_host_priority() - with which priority an execution is to be scheduled: the one
 * that its model was prepared with. Either id may be 0; for ids that are none
 * of this session it is MEDIUM. Any thread, does not block.
 * Returns: an enum nnhal_priority. */
uint32_t nn_host_priority(struct nn_hal *hal, uint64_t prepared_model, uint64_t execution);

/* nn_host_may_stall() - whether the session holds memories or cache files that a server
 * serves, who may never answer: calls to it, closing it too, then belong on
 * threads that its uid may lose (nn_host_submit_stalling). Any thread, does not block. */
bool nn_host_may_stall(struct nn_hal *hal);

/* nn_host_submit_stalling() - runs job on one of the threads that are there for such
 * calls, of which no uid gets more than a part. job->user and job->owner are set here. Any thread.
 * Returns: as nn_jobs_submit(). */
int nn_host_submit_stalling(struct nn_host *host, uint32_t uid, struct nn_job *job);

/* nn_host_listen_steps() - on_step is called after each step of the executions of all hosts in
 * this process, if their drivers report them; NULL: no more. While nothing is executed. */
void nn_host_listen_steps(nnhal_step_fn on_step, void *ctx);

/* nn_host_copied_bytes() - bytes that copies into and out of buffers and padded pictures have moved,
 * of all sessions so far. Nothing else that a host does copies arguments. Any thread. */
uint64_t nn_host_copied_bytes(const struct nn_host *host);

/* nn_host_session_cancel() - this session's results are no longer wanted:
 * tells executions in progress to end early and calls that begin later to
 * answer NNHAL_DEAD_OBJECT. For a client that died; nn_hal_close() does the
 * same, then waits. Any thread, does not block. */
void nn_host_session_cancel(struct nn_hal *hal);

/* nn_host_session_renew_bursts() - the client has waited for a while and asks whether the host is
 * there: words of its bursts' queues that were overwritten are written again. Any thread, does
 * not block. */
void nn_host_session_renew_bursts(struct nn_hal *hal);

#endif
