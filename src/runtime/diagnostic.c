/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/diagnostic.h"

#include "base/process.h"
#include "base/sys.h"

#include <pthread.h>

struct listener {
    ANeuralNetworksDiagnosticCompilationFinishedCallback on_compilation;
    ANeuralNetworksDiagnosticExecutionFinishedCallback on_execution;
    void *ctx;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of listener */
static struct listener listener;
static uint32_t is_heard; /* atomic */

void nn_rt_diagnostic_listen(ANeuralNetworksDiagnosticCompilationFinishedCallback on_compilation,
                             ANeuralNetworksDiagnosticExecutionFinishedCallback on_execution,
                             void *ctx)
{
    pthread_mutex_lock(&lock);
    listener = (struct listener){on_compilation, on_execution, ctx};
    __atomic_store_n(&is_heard, on_compilation || on_execution, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

bool nn_rt_diagnostic_is_heard(void)
{
    return __atomic_load_n(&is_heard, __ATOMIC_RELAXED) != 0;
}

/* A copy: a callback may take its time, and register others. */
static struct listener get_listener(void)
{
    struct listener copy;

    pthread_mutex_lock(&lock);
    copy = listener;
    pthread_mutex_unlock(&lock);
    return copy;
}

void nn_rt_diagnostic_tell_compilation(const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    struct listener to = get_listener();

    if (to.on_compilation)
        to.on_compilation(to.ctx, info);
}

void nn_rt_diagnostic_tell_execution(const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    struct listener to = get_listener();

    if (to.on_execution)
        to.on_execution(to.ctx, info);
}

/* Numbers of processes come again: the time of the first question tells two of them apart. */
int32_t nn_rt_diagnostic_session(void)
{
    static uint32_t session; /* atomic; 0: not chosen */
    uint32_t none = 0;
    uint32_t chosen = ((uint32_t)nn_process_number() * UINT32_C(2654435761) ^
                       (uint32_t)(nn_sys_now_ns() >> 10)) &
                      INT32_MAX;

    if (__atomic_compare_exchange_n(&session, &none, chosen ? chosen : 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        return (int32_t)(chosen ? chosen : 1);
    return (int32_t)none;
}
