/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/wave.h"

#include "base/jobs.h"
#include "runtime/object.h"
#include "runtime/registry.h"

#include <pthread.h>
#include <stdbool.h>

/* An errand that was offered. */
struct offer {
    struct nn_job job;
    struct crowd *crowd;
    struct nn_rt_errand *errand; /* the caller's: not to be touched unless it was taken */
    bool is_taken;
};

/* The offers of one wave. A job that comes too late finds it, so that it has references: the caller's, and
 * one of each job. */
struct crowd {
    uint32_t n_refs;
    pthread_mutex_t lock; /* of what follows, and of the offers */
    pthread_cond_t changed;
    uint32_t n_running; /* on other threads */
    uint32_t n_offers;
    struct offer offers[];
};

static struct crowd *crowd_new(struct nn_rt_errand *const *errands, uint32_t n_errands)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd) + n_errands * sizeof(crowd->offers[0]));

    if (!crowd)
        return NULL;
    pthread_mutex_init(&crowd->lock, NULL);
    pthread_cond_init(&crowd->changed, NULL);
    crowd->n_refs = 1;
    crowd->n_offers = n_errands;
    for (uint32_t i = 0; i < n_errands; i++)
        crowd->offers[i] = (struct offer){.crowd = crowd, .errand = errands[i]};
    return crowd;
}

static void crowd_unref(struct crowd *crowd)
{
    if (!nn_unref(&crowd->n_refs))
        return;
    pthread_cond_destroy(&crowd->changed);
    pthread_mutex_destroy(&crowd->lock);
    free(crowd);
}

/* Returns: whether it is the caller's to do. */
static bool offer_take(struct offer *offer, bool is_helper)
{
    struct crowd *crowd = offer->crowd;
    bool is_mine;

    pthread_mutex_lock(&crowd->lock);
    is_mine = !offer->is_taken;
    offer->is_taken = true;
    crowd->n_running += is_mine && is_helper;
    pthread_mutex_unlock(&crowd->lock);
    return is_mine;
}

static void offer_run(struct nn_job *job)
{
    struct offer *offer = NN_CONTAINER_OF(job, struct offer, job);
    struct crowd *crowd = offer->crowd;

    if (offer_take(offer, true)) {
        offer->errand->run(offer->errand);
        pthread_mutex_lock(&crowd->lock);
        crowd->n_running--;
        pthread_cond_signal(&crowd->changed);
        pthread_mutex_unlock(&crowd->lock);
    }
    crowd_unref(crowd);
}

/* The pool ends: the caller does it. */
static void offer_cancel(struct nn_job *job)
{
    crowd_unref(NN_CONTAINER_OF(job, struct offer, job)->crowd);
}

static void crowd_offer(struct crowd *crowd)
{
    struct nn_jobs *jobs = nn_rt_registry_get()->jobs;

    for (uint32_t i = 0; jobs && i < crowd->n_offers; i++) {
        crowd->offers[i].job = (struct nn_job){
            .priority = NN_JOBS_HIGH, .run = offer_run, .cancel = offer_cancel};
        nn_ref(&crowd->n_refs);
        if (nn_jobs_submit(jobs, &crowd->offers[i].job))
            crowd_unref(crowd);
    }
}

static void crowd_finish(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->n_offers; i++)
        if (offer_take(&crowd->offers[i], false))
            crowd->offers[i].errand->run(crowd->offers[i].errand);
    pthread_mutex_lock(&crowd->lock);
    while (crowd->n_running)
        pthread_cond_wait(&crowd->changed, &crowd->lock);
    pthread_mutex_unlock(&crowd->lock);
}

void nn_rt_wave_run(struct nn_rt_errand *const *errands, uint32_t n_errands)
{
    struct crowd *crowd = n_errands > 1 ? crowd_new(errands + 1, n_errands - 1) : NULL;

    if (crowd)
        crowd_offer(crowd);
    if (n_errands)
        errands[0]->run(errands[0]);
    for (uint32_t i = 1; !crowd && i < n_errands; i++)
        errands[i]->run(errands[i]);
    if (!crowd)
        return;
    crowd_finish(crowd);
    crowd_unref(crowd);
}
