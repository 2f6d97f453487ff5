/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - work whose result is not needed any more ends soon
 *
 * is_cancelled is set before a call, and while it lasts. How soon the call returns is judged by what it takes
 * without that. */
#include "cts.h"
#include "direct.h"
#include "long-model.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { N_TRIES = 3, MOST_TRIES = 20 };

struct cancel {
    struct cts *cts;
    struct cts_direct direct;
    struct nnt_file file; /* has the memory of the job */
    struct cts_job job;
    uint64_t delay_ns; /* until is_cancelled is set */
    uint64_t set_ns;   /* when it was */
};

/* -- one execution -- */

static void *set_cancelled(void *argument)
{
    struct cancel *cancel = argument;
    const struct timespec nap = {.tv_nsec = (long)cancel->delay_ns};

    nanosleep(&nap, NULL);
    cancel->set_ns = cts_now_ns();
    __atomic_store_n(&cancel->job.is_cancelled, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static uint32_t execute_job(struct cancel *cancel, uint64_t *ret_ns)
{
    uint64_t began_ns;
    uint32_t status;

    cts_go_on(cancel->cts);
    began_ns = cts_now_ns();
    status = cts_job_execute(&cancel->direct, &cancel->job);

    *ret_ns = cts_now_ns() - began_ns;
    return status;
}

/* Once, cancelled after delay_ns; *ret_ns is how long it went on. Returns: its status, or
 * NNHAL_DEAD_OBJECT if the machine was too busy to cancel it in the first half. */
static uint32_t execute_cancelled(struct cancel *cancel, uint64_t whole_ns, uint64_t *ret_ns)
{
    uint64_t began_ns = cts_now_ns(), took_ns;
    uint32_t status;
    pthread_t thread;

    cancel->set_ns = began_ns;
    cancel->job.is_cancelled = cancel->delay_ns == 0;
    if (cancel->delay_ns && pthread_create(&thread, NULL, set_cancelled, cancel) != 0)
        return NNHAL_DEAD_OBJECT;
    status = execute_job(cancel, &took_ns);
    *ret_ns = cts_now_ns();
    if (cancel->delay_ns)
        pthread_join(thread, NULL);
    cancel->job.is_cancelled = 0;
    *ret_ns -= cancel->set_ns < *ret_ns ? cancel->set_ns : *ret_ns;
    return cancel->set_ns - began_ns < whole_ns / 2 ? status : NNHAL_DEAD_OBJECT;
}

/* Some, until one ends soon. Returns: the shortest time that one went on; 0 if one was successful
 * all the same, UINT64_MAX if none could be cancelled in time. */
static uint64_t time_cancelled(struct cancel *cancel, uint64_t whole_ns)
{
    uint64_t shortest_ns = UINT64_MAX, went_on_ns;

    for (int i = 0; i < MOST_TRIES && shortest_ns >= whole_ns / 2; i++) {
        uint32_t status = execute_cancelled(cancel, whole_ns, &went_on_ns);

        if (status == NNHAL_NONE)
            return 0;
        if (status != NNHAL_DEAD_OBJECT && went_on_ns < shortest_ns)
            shortest_ns = went_on_ns;
    }
    return shortest_ns;
}

/* Returns: the shortest time; CTS_LONG_FAILED. */
static uint64_t time_whole(struct cancel *cancel)
{
    uint64_t shortest_ns = UINT64_MAX, took_ns;

    for (int i = 0; i < N_TRIES; i++) {
        if (execute_job(cancel, &took_ns) != NNHAL_NONE)
            return CTS_LONG_FAILED;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    return shortest_ns;
}

/* In place of a time. A device may lack the memory for so long a model. */
static uint64_t no_time(uint32_t status)
{
    return status == NNHAL_RESOURCE_EXHAUSTED_TRANSIENT ||
                   status == NNHAL_RESOURCE_EXHAUSTED_PERSISTENT
               ? 0
               : CTS_LONG_FAILED;
}

static uint64_t time_of(void *ctx, const struct nnt_model *model)
{
    struct cancel *cancel = ctx;
    uint32_t status;

    cts_job_release(&cancel->direct, &cancel->job);
    nnt_file_close(&cancel->file);
    cancel->file = (struct nnt_file){0};
    if (!cts_job_init(&cancel->job, &cancel->file, model) ||
        !cts_job_is_supported(&cancel->direct, &cancel->job))
        return 0;
    cts_go_on(cancel->cts);
    status = cts_job_prepare(&cancel->direct, &cancel->job);
    return status == NNHAL_NONE ? time_whole(cancel) : no_time(status);
}

/* -- checks -- */

static void check_soon(struct cts *cts, struct cancel *cancel, uint64_t delay_ns, const char *name)
{
    uint64_t went_on_ns, whole_ns;
    char why[200];

    if (!cts_wants(cts, "%s", name))
        return;
    cancel->delay_ns = delay_ns;
    whole_ns = time_whole(cancel);
    if (whole_ns == CTS_LONG_FAILED) {
        cts_say(cts, NNT_FAILED, cancel->direct.why);
        return;
    }
    went_on_ns = time_cancelled(cancel, whole_ns);
    if (went_on_ns == UINT64_MAX) {
        cts_say(cts, NNT_UNSUPPORTED, NULL); /* by this machine */
        return;
    }
    if (went_on_ns == 0)
        snprintf(why, sizeof(why), "it was successful all the same");
    else
        snprintf(why, sizeof(why), "it went on for %.1f ms; the whole takes %.1f ms",
                 (double)went_on_ns / 1e6, (double)whole_ns / 1e6);
    cts_expect(cts, went_on_ns > 0 && went_on_ns < whole_ns / 2, why);
}

/* Any end is right, but what was prepared has to be good. */
static void check_preparation(struct cts *cts, struct cancel *cancel)
{
    uint64_t took_ns;
    uint32_t status;
    bool is_right = true;

    if (!cts_wants(cts, "a preparation that is cancelled"))
        return;
    cts_job_release(&cancel->direct, &cancel->job);
    cancel->job.is_cancelled = 1;
    status = cts_job_prepare(&cancel->direct, &cancel->job);
    cancel->job.is_cancelled = 0;
    if (status == NNHAL_NONE)
        is_right = execute_job(cancel, &took_ns) == NNHAL_NONE;
    cts_job_release(&cancel->direct, &cancel->job);
    is_right = is_right && cts_job_prepare(&cancel->direct, &cancel->job) == NNHAL_NONE &&
               execute_job(cancel, &took_ns) == NNHAL_NONE;
    cts_expect(cts, is_right, cancel->direct.why);
}

void cts_cancellation(struct cts *cts)
{
    struct cancel cancel = {.cts = cts};
    struct cts_long_model made;
    uint64_t whole_ns;

    if (cts_direct_load(&cancel.direct, cts->options->driver) ||
        cts_direct_open(&cancel.direct) != NNHAL_NONE)
        return; /* the table's checks say so */
    whole_ns = cts_long_model_find(&made, time_of, &cancel);
    if (whole_ns == 0 || whole_ns == CTS_LONG_FAILED) {
        cts_long_model_say(cts, whole_ns, cancel.direct.why);
    } else {
        check_soon(cts, &cancel, 0, "an execution that is cancelled before it begins");
        check_soon(cts, &cancel, whole_ns / 8, "an execution that is cancelled while it lasts");
        check_preparation(cts, &cancel);
    }
    cts_job_release(&cancel.direct, &cancel.job);
    cts_direct_close(&cancel.direct);
    nnt_file_close(&cancel.file);
    cts_long_model_free(&made);
}
