/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/stalling.h"

#include "base/error.h"
#include "base/jobs.h"

enum {
    MAX_THREADS = 64,
    MAX_THREADS_PER_UID = 8,
    MAX_QUEUED = 65536,
};

static int get_jobs(struct nn_host *host, struct nn_jobs **ret_jobs)
{
    int r = 0;

    pthread_mutex_lock(&host->fence_watcher_lock);
    if (!host->stalling) {
        r = nn_jobs_new("nnhal-stalling", MAX_THREADS, MAX_QUEUED, &host->stalling);
        if (r == 0)
            nn_jobs_limit(host->stalling, MAX_THREADS_PER_UID, 0);
    }
    *ret_jobs = host->stalling;
    pthread_mutex_unlock(&host->fence_watcher_lock);
    return nn_error_trace(r);
}

int nn_host_submit_stalling(struct nn_host *host, uint32_t uid, struct nn_job *job)
{
    struct nn_jobs *jobs = NULL;
    int r = get_jobs(host, &jobs);

    if (r < 0)
        return nn_error_trace(r);
    job->user = job->owner = uid;
    return nn_jobs_submit(jobs, job);
}

void nn_stalling_free(struct nn_host *host)
{
    nn_jobs_free(host->stalling);
}

bool nn_host_may_stall(struct nn_hal *hal)
{
    return __atomic_load_n(&((struct nn_host_session *)hal)->n_stalling_files, __ATOMIC_ACQUIRE) >
           0;
}

bool nn_binding_may_stall(const struct nn_binding *binding)
{
    const struct nn_constants *constants = &binding->prepared->constants;

    for (uint32_t i = 0; i < binding->n_pools; i++)
        if (binding->pools[i].memory && nn_region_may_stall(binding->pools[i].memory->region))
            return true;
    for (uint32_t i = 0; i < constants->n_pools; i++)
        if (nn_region_may_stall(constants->memories[i]->region))
            return true;
    return false;
}

bool nn_binding_is_for_one_thread(const struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_pools; i++) {
        const struct nn_memory *memory = binding->pools[i].memory;

        if (memory && memory->session->is_service && nn_region_may_stall(memory->region))
            return true;
    }
    return false;
}
