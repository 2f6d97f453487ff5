/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/renewal.h"

#include "base/wait-limit.h"
#include "runtime/compilation/preparation.h"
#include "runtime/registry.h"

/* Without the lock, and without a deadline: all that call meanwhile wait for this. */
static void renewal_run(ANeuralNetworksCompilation *compilation)
{
    struct nn_rt_renewal *renewal = &compilation->renewal;
    struct nn_rt_cache cache = compilation->cache; /* what finish() said stays */
    struct nn_rt_prepared *prepared = NULL, *dead = NULL;
    struct nn_why why = {0};
    int r = nn_rt_compilation_prepare_on(compilation, compilation->device,
                                         nn_rt_cache_is_wanted(&cache) ? &cache : NULL, &why,
                                         &prepared);

    pthread_mutex_lock(&compilation->lock);
    if (!r) {
        dead = compilation->prepared;
        __atomic_store_n(&compilation->prepared, prepared, __ATOMIC_RELEASE);
    }
    renewal->result = r;
    renewal->why = why;
    renewal->is_running = false;
    renewal->n_ended++;
    pthread_cond_broadcast(&renewal->ended);
    pthread_mutex_unlock(&compilation->lock);
    nn_rt_prepared_unref(dead);
}

/* The job holds a reference to the compilation. */
static void renewal_job(struct nn_job *job)
{
    ANeuralNetworksCompilation *compilation = NN_CONTAINER_OF(job, ANeuralNetworksCompilation,
                                                              renewal.job);

    renewal_run(compilation);
    nn_rt_compilation_unref(compilation);
}

/* A thread with a deadline leaves the work to another one, so that it can leave. */
static void renewal_start(ANeuralNetworksCompilation *compilation)
{
    struct nn_jobs *jobs = nn_rt_registry_get()->renewals;

    compilation->renewal.job = (struct nn_job){
        .priority = NN_JOBS_HIGH, .run = renewal_job, .cancel = renewal_job};
    if (jobs && nn_wait_limit_get() != NN_WAIT_UNLIMITED) {
        nn_rt_compilation_ref(compilation);
        if (nn_jobs_submit(jobs, &compilation->renewal.job) == 0)
            return;
        nn_rt_compilation_unref(compilation);
    }
    renewal_run(compilation);
}

/* Under the lock. */
static int renewal_await(ANeuralNetworksCompilation *compilation, uint64_t n_ended,
                         struct nn_why *why)
{
    struct nn_rt_renewal *renewal = &compilation->renewal;
    const struct timespec limit = nn_wait_limit_timespec(nn_wait_limit_get());
    int r = 0;

    while (renewal->n_ended == n_ended && !r)
        r = pthread_cond_clockwait(&renewal->ended, &compilation->lock, CLOCK_MONOTONIC, &limit);
    if (renewal->n_ended == n_ended)
        return nn_fail(why, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
                       "%s: its process died, and the model has not been prepared again in time",
                       compilation->device->name);
    if (renewal->result)
        *why = renewal->why;
    return renewal->result;
}

int nn_rt_compilation_renew(ANeuralNetworksCompilation *compilation,
                            const struct nn_rt_prepared *dead, struct nn_why *why)
{
    uint64_t n_ended;
    bool is_first;
    int r = nn_rt_device_may_recover(compilation->device);

    if (r)
        return r;
    pthread_mutex_lock(&compilation->lock);
    if (compilation->prepared == dead) {
        n_ended = compilation->renewal.n_ended;
        is_first = !compilation->renewal.is_running;
        if (is_first) {
            compilation->renewal.is_running = true;
            pthread_mutex_unlock(&compilation->lock);
            renewal_start(compilation);
            pthread_mutex_lock(&compilation->lock);
        }
        r = renewal_await(compilation, n_ended, why);
    }
    pthread_mutex_unlock(&compilation->lock);
    return r;
}
