/* SPDX-License-Identifier: Apache-2.0 */
/* queue-driver - an asynchronous device that does what the tensors say
 *
 * A model is z = x + y, eight floats each. x has a number: z gets it with this device's digit
 * appended, so that the number says which devices computed in which order. y says what is to happen:
 *
 *     [QUEUE_GATE]    computing waits until it is not 0
 *     [QUEUE_DEED]    enum queue_deed, when it would compute
 *
 * and z tells, beside the number in [QUEUE_NUMBER], how many fences were active when the execution
 * was handed over, in [QUEUE_ACTIVE]. A thread named "queue-device" serves each execution. The device takes
 * every operation, and execute() always fails: nothing runs but by fences. Or it takes one
 * (QUEUE_OPERATION), as if that were the addition, and execute() obeys no order. */
#include "queue-driver.h"
#include "support/capabilities.h"

#include <nnhal/driver.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define NAP_MS 1

#ifdef QUEUE_OPERATION
#define QUEUE_TAKES(type) ((type) == QUEUE_OPERATION)
#else
#define QUEUE_TAKES(type) ((void)(type), 1)
#endif

static const struct nnhal_driver_services *services;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned n_threads; /* under the lock */

static uint32_t queue_open(const struct nnhal_driver_services *given, void **ret_device)
{
    services = given;
    *ret_device = &services;
    return NNHAL_NONE;
}

static void queue_close(void *device)
{
    pthread_mutex_lock(&lock);
    while (n_threads)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static uint32_t queue_supported(void *device, const struct nnhal_driver_model *model,
                                uint8_t *supported)
{
    for (uint32_t i = 0; i < model->model->main.n_operations; i++)
        supported[i] = QUEUE_TAKES(model->model->main.operations[i].type);
    return NNHAL_NONE;
}

static uint32_t queue_prepare(void *device, const struct nnhal_prepare *prepare,
                              void **ret_prepared)
{
    *ret_prepared = device;
    return NNHAL_NONE;
}

static void queue_release(void *prepared)
{
}

/* -- an execution ------------------------------------------------------------------- */

enum state { WAITING, READY, FAILED };

static enum state look(const struct nnhal_fenced *fenced, int timeout_ms, float *n_active)
{
    struct pollfd fds[NNHAL_MAX_FENCES];
    enum state all = READY;

    *n_active = 0;
    for (uint32_t i = 0; i < fenced->n_fences; i++)
        fds[i] = (struct pollfd){.fd = fenced->fences[i], .events = POLLIN};
    poll(fds, fenced->n_fences, timeout_ms);
    for (uint32_t i = 0; i < fenced->n_fences; i++) {
        if (fds[i].revents & (POLLERR | POLLNVAL))
            return FAILED;
        if (!(fds[i].revents & POLLIN)) {
            all = WAITING;
            ++*n_active;
        }
    }
    return all;
}

static bool is_cancelled(const struct nnhal_fenced *fenced)
{
    return __atomic_load_n(fenced->execution->is_cancelled, __ATOMIC_RELAXED);
}

static float read_order(const struct nnhal_execution *execution, int which)
{
    return ((const volatile float *)execution->inputs[1].data)[which];
}

/* A fence orders what was computed before it and after it, but a poll() of one
 * orders nothing for ThreadSanitizer: it is told. */
#ifdef __SANITIZE_THREAD__
#define read_after_fence(x)     __tsan_acquire((void *)(x))
#define written_before_fence(z) __tsan_release(z)
#else
#define read_after_fence(x)     ((void)0)
#define written_before_fence(z) ((void)0)
#endif

static uint32_t compute(struct nnhal_execution *execution, float n_active)
{
    const float *x = execution->inputs[0].data;
    float *z = execution->outputs[0].data;

    read_after_fence(x);
    read_after_fence(z); /* which an execution before may have written */
    z[QUEUE_NUMBER] = x[QUEUE_NUMBER] * 10 + QUEUE_DIGIT;
    z[QUEUE_ACTIVE] = n_active;
    written_before_fence(z);
    return NNHAL_NONE;
}

static uint32_t queue_execute(void *prepared, struct nnhal_execution *execution)
{
#ifdef QUEUE_OPERATION
    return compute(execution, 0);
#else
    services->explain(services->ctx, "it computes by fences alone");
    return NNHAL_GENERAL_FAILURE;
#endif
}

static uint32_t obey(const struct nnhal_fenced *fenced, float n_active)
{
    struct nnhal_execution *execution = fenced->execution;

    while (read_order(execution, QUEUE_GATE) == 0 && !is_cancelled(fenced))
        poll(NULL, 0, NAP_MS);
    switch ((enum queue_deed)read_order(execution, QUEUE_DEED)) {
    case QUEUE_FAIL:
        services->explain(services->ctx, "as it was told to");
        return NNHAL_GENERAL_FAILURE;
    case QUEUE_DIE:
        _exit(9);
    case QUEUE_HANG:
        while (!is_cancelled(fenced))
            poll(NULL, 0, NAP_MS);
        return NNHAL_GENERAL_FAILURE;
    default:
        return compute(execution, n_active);
    }
}

static bool fails_early(const struct nnhal_fenced *fenced)
{
    if (read_order(fenced->execution, QUEUE_DEED) != QUEUE_FAIL_EARLY)
        return false;
    services->explain(services->ctx, "before it could begin");
    return true;
}

/* What a thread is for. */
struct job {
    const struct nnhal_fenced *fenced;
    enum state state; /* when it was handed over, and how many fences were active then */
    float n_active;
};

static void *serve(void *argument)
{
    const struct job job = *(struct job *)argument;
    const struct nnhal_fenced *fenced = job.fenced;
    enum state state = job.state;
    uint32_t status = NNHAL_GENERAL_FAILURE;
    float n_active_now;

    free(argument);
    pthread_setname_np(pthread_self(), "queue-device");
    while (state == WAITING && !is_cancelled(fenced) && !fails_early(fenced))
        state = look(fenced, NAP_MS, &n_active_now);
    if (state == READY)
        status = obey(fenced, job.n_active);
    services->end_fenced(services->ctx, fenced->id, status);
    pthread_mutex_lock(&lock);
    n_threads--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static uint32_t queue_execute_fenced(void *prepared, struct nnhal_fenced *fenced)
{
    bool is_refused = read_order(fenced->execution, QUEUE_DEED) == QUEUE_REFUSE;
    struct job *job = is_refused ? NULL : malloc(sizeof(*job));
    sigset_t all, old;
    pthread_t thread;
    int r;

    if (!job)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    job->fenced = fenced;
    job->state = look(fenced, 0, &job->n_active);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_mutex_lock(&lock);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&thread, NULL, serve, job);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r == 0) {
        n_threads++;
        pthread_detach(thread);
    } else {
        free(job);
    }
    pthread_mutex_unlock(&lock);
    return r == 0 ? NNHAL_NONE : NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
}

/* Every thread looks each millisecond. */
static void queue_cancel_fenced(void *prepared, uint64_t id)
{
}

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    static const struct nnhal_driver driver = {
        .size = sizeof(driver),
        .abi = NNHAL_DRIVER_ABI,
        .type = NNHAL_DEVICE_ACCELERATOR,
        .name = QUEUE_NAME,
        .version = "1",
        .feature_level = NNHAL_FEATURE_LEVEL_8,
        .capabilities = &least_capabilities,
        .open = queue_open,
        .close = queue_close,
        .get_supported_operations = queue_supported,
        .prepare = queue_prepare,
        .release = queue_release,
        .execute = queue_execute,
        .execute_fenced = queue_execute_fenced,
        .cancel_fenced = queue_cancel_fenced,
    };

    return &driver;
}
