/* SPDX-License-Identifier: Apache-2.0 */
/* evil-driver - a driver that tries every way out of its process
 *
 * It tries them when its constructors run, on a thread that they start, then
 * in open(), and when a model is prepared, each time on the thread that is there
 * and on the constructors' thread. It prints a line for each place:
 *
 *     evil: PLACE THREAD: N tried; open: NAME NAME ...
 *
 * With EVIL_FILTER its constructor first installs a filter that makes later ones pass for installed.
 * EVIL_FOLDER has the files "secret" and "socket", and EVIL_PID is a process of the same user. */
#include "attack/evil.h"
#include "support/capabilities.h"

#include <nnhal/driver.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *wanted_place; /* that the constructors' thread is to try from */

static void report(const char *place, const char *thread)
{
    char line[4096];
    size_t n;

    n = (size_t)snprintf(line, sizeof(line), "evil: %s %s: ", place, thread);
    evil_try_all(line + n, sizeof(line) - n);
    dprintf(STDERR_FILENO, "%s\n", line);
}

static void *early_main(void *argument)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!wanted_place)
            pthread_cond_wait(&changed, &lock);
        report(wanted_place, "early");
        wanted_place = NULL;
        pthread_cond_broadcast(&changed);
    }
    return argument;
}

/* On both threads, one after the other. */
static void try_from(const char *place)
{
    report(place, "own");
    pthread_mutex_lock(&lock);
    wanted_place = place;
    pthread_cond_broadcast(&changed);
    while (wanted_place)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* From now on more filters are installed without effect, but with success. */
static void hide_filters(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

__attribute__((__constructor__)) static void evil_construct(void)
{
    pthread_t thread;

    if (getenv("EVIL_FILTER"))
        hide_filters();

    if (pthread_create(&thread, NULL, early_main, NULL) == 0)
        pthread_detach(thread);
    try_from("constructor");
}

static uint32_t evil_open(const struct nnhal_driver_services *services, void **ret_device)
{
    try_from("open");
    *ret_device = &lock;
    return NNHAL_NONE;
}

static void evil_close(void *device)
{
}

static uint32_t evil_supported(void *device, const struct nnhal_driver_model *model,
                               uint8_t *supported)
{
    return NNHAL_GENERAL_FAILURE;
}

static uint32_t evil_prepare(void *device, const struct nnhal_prepare *prepare, void **ret_prepared)
{
    try_from("prepare");
    return NNHAL_GENERAL_FAILURE;
}

static void evil_release(void *prepared)
{
}

static uint32_t evil_execute(void *prepared, struct nnhal_execution *execution)
{
    return NNHAL_GENERAL_FAILURE;
}

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    static const struct nnhal_driver driver = {
        .size = sizeof(driver),
        .abi = NNHAL_DRIVER_ABI,
        .type = NNHAL_DEVICE_OTHER,
        .name = "evil",
        .version = "1",
        .feature_level = NNHAL_FEATURE_LEVEL_8,
        .capabilities = &least_capabilities,
        .open = evil_open,
        .close = evil_close,
        .get_supported_operations = evil_supported,
        .prepare = evil_prepare,
        .release = evil_release,
        .execute = evil_execute,
    };

    return &driver;
}
