/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h - who executes the requests of one burst
 *
 * The driver's execute(), or an executor that the driver made for this burst
 * (struct nnhal_burst_executor). Such an executor has a bounded cache of
 * memories, by key: a memory is added before the first request that uses it, and
 * removed when its slot is freed, when another needs its key, and at the end;
 * it stays mapped until then. An executor is called by one thread at a time: what is
 * to be removed during a run is removed after it.
 *
 * Threads: nn_burst_executor_forget(): any. The rest: the burst's. */
#ifndef NN_HOST_BURST_EXECUTOR_H
#define NN_HOST_BURST_EXECUTOR_H

#include "host/execution/binding.h"

#include <pthread.h>

struct nn_burst_executor_entry {
    struct nn_memory *memory; /* NULL: the key is free */
    uint64_t last_used;
    bool is_doomed; /* to be removed after the run */
};

struct nn_burst_executor {
    struct nnhal_burst_executor table; /* execute is NULL: there is none */
    const struct nn_host *host;
    pthread_mutex_t lock;
    bool is_running;
    uint64_t n_runs;
    bool has_doomed;
    struct nn_burst_executor_entry *entries; /* table.n_keys of them */
};

/* nn_burst_executor_open() - asks the driver. executor is to be closed also on
 * failure. Returns: NNHAL_NONE, or the status with *message set. */
uint32_t nn_burst_executor_open(struct nn_call *call, struct nn_burst_executor *executor,
                                const struct nn_prepared *prepared);

/* nn_burst_executor_close() - the burst's thread has ended. */
void nn_burst_executor_close(struct nn_burst_executor *executor);

/* nn_burst_executor_begin() - before a run: adds the memories that are new.
 * *ret_keys, in arena: a key for each pool of the binding.
 * Returns: NNHAL_NONE, or the status with *message set; a run that began ends. */
uint32_t nn_burst_executor_begin(struct nn_call *call, struct nn_burst_executor *executor,
                                 const struct nn_binding *binding, const uint32_t **ret_keys);

/* nn_burst_executor_end() - after a run that began. forgets: its memories were
 * taken out of their slots meanwhile. */
void nn_burst_executor_end(struct nn_burst_executor *executor, const struct nn_binding *binding,
                           bool forgets);

/* nn_burst_executor_forget() - removes a memory, now or after the run. */
void nn_burst_executor_forget(struct nn_burst_executor *executor, const struct nn_memory *memory);

#endif
