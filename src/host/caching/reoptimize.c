/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/reoptimize.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/variable.h"
#include "host/caching/cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    STANDARD_THRESHOLD = 32,
    MAX_QUEUED = 256, /* models of a host that wait for their turn */
    MAX_HELD = 64,    /* models of a host whose files are held */
    LOWEST_NICE = 19,
};

void nn_reoptimizer_init(struct nn_reoptimizer *reoptimizer)
{
    *reoptimizer = (struct nn_reoptimizer){0};
    pthread_mutex_init(&reoptimizer->lock, NULL);
}

void nn_reoptimizer_done(struct nn_reoptimizer *reoptimizer)
{
    nn_jobs_free(reoptimizer->jobs);
    pthread_mutex_destroy(&reoptimizer->lock);
}

/* ---- which and when ---- */

static uint32_t reoptimize_threshold(void)
{
    const char *text = nn_variable_get(NN_VARIABLE_OPTIMIZE_AFTER);
    unsigned long n = text ? strtoul(text, NULL, 10) : STANDARD_THRESHOLD;

    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

bool nn_reoptimize_is_deferred(const struct nn_host_session *session,
                               const struct nn_hal_prepare_model_args *args)
{
    static const char *const names[] = {"off", "on", NULL};
    int chosen = nn_variable_choose(NN_VARIABLE_DEFER, names);

    /* A driver that cannot optimize would stay at the quick stage for ever. */
    if (!session->host->driver.optimize)
        return false;
    if (chosen >= 0)
        return chosen == 1;
    return args->is_deferred ||
           (args->preference == NNHAL_LOW_POWER && !args->n_model_cache && !args->n_data_cache);
}

void nn_reoptimize_init(struct nn_prepared *prepared, struct nn_host_session *session,
                        enum nn_stage stage)
{
    struct nn_reoptimization *reoptimization = &prepared->reoptimization;

    reoptimization->session = session;
    reoptimization->stage = stage;
    /* Shared weights are left alone: their one copy for all clients is worth more than the
     * better plan. */
    if (session->host->driver.optimize &&
        (stage == NN_STAGE_QUICK || (stage == NN_STAGE_WHOLE && !prepared->loaded.n_weights)))
        reoptimization->threshold = reoptimize_threshold();
}

/* Closing these files may wait for the server of their file system (stalling.h). */
static void files_hold(struct nn_reoptimization *reoptimization, const int32_t *fds, uint32_t n)
{
    struct nn_sys_file file;

    for (uint32_t i = 0; i < n; i++) {
        reoptimization->fds[reoptimization->n_model + reoptimization->n_data + i] = fcntl(
            fds[i], F_DUPFD_CLOEXEC, 0);
        if (nn_sys_inspect(fds[i], &file) == 0 && file.kind == NN_SYS_STALLING_FILE)
            reoptimization->n_stalling++;
    }
}

void nn_reoptimize_hold(struct nn_prepared *prepared, const uint8_t *token, uint32_t n_model,
                        const int32_t *model, uint32_t n_data, const int32_t *data)
{
    struct nn_reoptimizer *reoptimizer = &prepared->host->reoptimizer;
    struct nn_reoptimization *reoptimization = &prepared->reoptimization;
    bool is_allowed;

    if (!reoptimization->threshold || !nn_cache_are_writable(n_model, model) ||
        !nn_cache_are_writable(n_data, data))
        return;
    pthread_mutex_lock(&reoptimizer->lock);
    /* A host has few descriptors, and clients decide how many models there are. */
    is_allowed = reoptimizer->n_held < MAX_HELD;
    reoptimizer->n_held += is_allowed;
    pthread_mutex_unlock(&reoptimizer->lock);
    if (!is_allowed)
        return;
    reoptimization->fds = calloc((size_t)n_model + n_data, sizeof(*reoptimization->fds));
    if (reoptimization->fds) {
        memcpy(reoptimization->token, token, sizeof(reoptimization->token));
        files_hold(reoptimization, model, n_model);
        reoptimization->n_model = n_model;
        files_hold(reoptimization, data, n_data);
        reoptimization->n_data = n_data;
        __atomic_add_fetch(&reoptimization->session->n_stalling_files, reoptimization->n_stalling,
                           __ATOMIC_RELEASE);
        return;
    }
    pthread_mutex_lock(&reoptimizer->lock);
    reoptimizer->n_held--;
    pthread_mutex_unlock(&reoptimizer->lock);
}

static void let_go(struct nn_prepared *prepared)
{
    struct nn_reoptimizer *reoptimizer = &prepared->host->reoptimizer;
    struct nn_reoptimization *reoptimization = &prepared->reoptimization;

    if (!reoptimization->fds)
        return;
    for (uint32_t i = 0; i < reoptimization->n_model + reoptimization->n_data; i++)
        closep(&reoptimization->fds[i]);
    free(steal_ptr(&reoptimization->fds));
    __atomic_sub_fetch(&reoptimization->session->n_stalling_files, reoptimization->n_stalling,
                       __ATOMIC_RELEASE);
    pthread_mutex_lock(&reoptimizer->lock);
    reoptimizer->n_held--;
    pthread_mutex_unlock(&reoptimizer->lock);
}

void nn_reoptimize_done(struct nn_prepared *prepared)
{
    let_go(prepared);
}

/* ---- the work ---- */

/* What is kept from now on takes the place of what was. */
static void files_rewrite(struct nn_prepared *prepared, const struct nnhal_cache *cache)
{
    struct nn_reoptimization *reoptimization = &prepared->reoptimization;
    struct nn_host_session *session = reoptimization->session;
    struct nn_hal_prepare_model_args args = {.n_model_cache = reoptimization->n_model,
                                             .n_data_cache = reoptimization->n_data,
                                             .model_cache = reoptimization->fds,
                                             .data_cache = reoptimization->fds +
                                                           reoptimization->n_model};
    const struct nn_hal_cache_written_event event = {.prepared_model = prepared->object.id};

    memcpy(args.token, reoptimization->token, sizeof(args.token));
    if (nn_cache_save_again(session, &args, cache, prepared) && session->listener.cache_written)
        session->listener.cache_written(session->listener.ctx, &event);
}

static void model_optimize(struct nn_prepared *prepared)
{
    const struct nn_host *host = prepared->host;
    struct nnhal_optimize request = {.size = sizeof(request),
                                     .is_cancelled = &prepared->reoptimization.is_cancelled};
    struct nnhal_cache *cache = NULL;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    if (prepared->reoptimization.fds)
        cache = nn_cache_new(host, &arena);
    request.cache = cache;
    if (host->driver.optimize(prepared->driver_prepared, &request) == NNHAL_NONE) {
        nn_log("host", NN_LOG_DEBUG, "a model of driver %s was optimized", host->driver.name);
        prepared->reoptimization.stage = NN_STAGE_OPTIMIZED;
        if (cache && !nn_prepared_is_broken(prepared))
            files_rewrite(prepared, cache);
    }
    let_go(prepared);
    nn_arena_done(&arena);
}

static void job_end(struct nn_prepared *prepared)
{
    struct nn_host_session *session = prepared->reoptimization.session;

    nn_prepared_unref(prepared);
    nn_host_session_leave(session);
}

/* Who cancels finds either the model that runs, or sees to it that it does not begin. */
static bool job_begin(struct nn_prepared *prepared)
{
    struct nn_reoptimizer *reoptimizer = &prepared->host->reoptimizer;
    bool is_wanted;

    pthread_mutex_lock(&reoptimizer->lock);
    is_wanted = !__atomic_load_n(&prepared->reoptimization.is_cancelled, __ATOMIC_RELAXED) &&
                !__atomic_load_n(&prepared->reoptimization.session->is_cancelled, __ATOMIC_SEQ_CST);
    reoptimizer->running = is_wanted ? prepared : NULL;
    pthread_mutex_unlock(&reoptimizer->lock);
    return is_wanted;
}

static void run_job(struct nn_job *job)
{
    struct nn_prepared *prepared =
        (struct nn_prepared *)((char *)job - offsetof(struct nn_prepared, reoptimization.job));
    struct nn_reoptimizer *reoptimizer = &prepared->host->reoptimizer;

    /* The thread, not the process: executions keep their priority. By 0, as a sandbox refuses
     * a thread's number. */
    setpriority(PRIO_PROCESS, 0, LOWEST_NICE);
    if (job_begin(prepared)) {
        model_optimize(prepared);
        pthread_mutex_lock(&reoptimizer->lock);
        reoptimizer->running = NULL;
        pthread_mutex_unlock(&reoptimizer->lock);
    }
    job_end(prepared);
}

static void cancel_job(struct nn_job *job)
{
    job_end((struct nn_prepared *)((char *)job - offsetof(struct nn_prepared, reoptimization.job)));
}

/* ---- asking for it ---- */

static struct nn_jobs *find_jobs(struct nn_reoptimizer *reoptimizer)
{
    struct nn_jobs *jobs;

    pthread_mutex_lock(&reoptimizer->lock);
    if (!reoptimizer->jobs)
        nn_jobs_new("nn-optimize", 1, MAX_QUEUED, &reoptimizer->jobs);
    jobs = reoptimizer->jobs;
    pthread_mutex_unlock(&reoptimizer->lock);
    return jobs;
}

void nn_reoptimize_count(struct nn_prepared *prepared)
{
    struct nn_reoptimization *reoptimization = &prepared->reoptimization;
    struct nn_jobs *jobs;

    if (!reoptimization->threshold ||
        __atomic_add_fetch(&reoptimization->n_executions, 1, __ATOMIC_RELAXED) !=
            reoptimization->threshold)
        return;
    jobs = find_jobs(&prepared->host->reoptimizer);
    /* The session must not end before the job, which uses it. */
    if (!jobs || !nn_host_session_enter(reoptimization->session))
        return;
    reoptimization->job = (struct nn_job){.user = reoptimization->session->uid,
                                          .owner = reoptimization->session->number,
                                          .priority = NN_JOBS_LOW,
                                          .run = run_job,
                                          .cancel = cancel_job};
    nn_object_ref(&prepared->object);
    if (nn_jobs_submit(jobs, &reoptimization->job) != 0)
        job_end(prepared);
}

void nn_reoptimize_cancel(struct nn_prepared *prepared)
{
    __atomic_store_n(&prepared->reoptimization.is_cancelled, 1, __ATOMIC_RELAXED);
}

void nn_reoptimizer_cancel(struct nn_host_session *session)
{
    struct nn_reoptimizer *reoptimizer = &session->host->reoptimizer;
    struct nn_jobs *jobs;

    pthread_mutex_lock(&reoptimizer->lock);
    jobs = reoptimizer->jobs;
    /* Under the lock that job_begin() takes: the model that is compared cannot be freed
     * meanwhile. */
    if (reoptimizer->running && reoptimizer->running->reoptimization.session == session)
        nn_reoptimize_cancel(reoptimizer->running);
    pthread_mutex_unlock(&reoptimizer->lock);
    if (jobs)
        nn_jobs_cancel_owner(jobs, session->number);
}
