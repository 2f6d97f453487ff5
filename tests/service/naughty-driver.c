/* SPDX-License-Identifier: Apache-2.0 */
/* naughty-driver - a driver that reaches for what it did not declare
 *
 * /dev/zero is declared in libnaughty-driver.sandbox. Preparing any model fails, with a sentence that tells what became of each
 * attempt: "got" or "refused". With the configuration "blocks" it prepares, and reads each
 * execution's inputs in a thread that blocks all signals; with "blocks-raw" by system calls that
 * no library sees; with "blocks-in-handler" in a handler that all signals wait for. */
#include "support/capabilities.h"

#include <nnhal/driver.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct nnhal_driver_services *services;

static void block_by_library(void);
static void block_by_calls(void);
static void read_in_handler(void);

static const struct way {
    const char *configuration;
    void (*block)(void); /* before this thread reads */
} ways[] = {
    {"blocks", block_by_library},
    {"blocks-raw", block_by_calls},
    {"blocks-in-handler", read_in_handler},
};
static const struct way *way; /* NULL: it prepares nothing */

static const char *outcome(int fd)
{
    if (fd < 0)
        return "refused";
    close(fd);
    return "got";
}

static const char *kind_of(int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return "closed";
    return isatty(fd) ? "terminal" : S_ISFIFO(status.st_mode) ? "pipe" : "other";
}

static uint32_t naughty_open(const struct nnhal_driver_services *given, void **ret_device)
{
    services = given;
    *ret_device = &services;
    return NNHAL_NONE;
}

static void naughty_close(void *device)
{
}

static uint32_t naughty_supported(void *device, const struct nnhal_driver_model *model,
                                  uint8_t *supported)
{
    return NNHAL_GENERAL_FAILURE;
}

static uint32_t naughty_prepare(void *device, const struct nnhal_prepare *prepare,
                                void **ret_prepared)
{
    char text[300];
    int n;

    if (way) {
        *ret_prepared = &services;
        return NNHAL_NONE;
    }
    n = snprintf(text, sizeof(text), "file %s", outcome(open("/etc/passwd", O_RDONLY)));
    n += snprintf(text + n, sizeof(text) - (size_t)n, ", socket %s",
                  outcome(socket(AF_INET, SOCK_STREAM, 0)));
    n += snprintf(text + n, sizeof(text) - (size_t)n, ", device %s",
                  outcome(open("/dev/null", O_RDWR)));
    n += snprintf(text + n, sizeof(text) - (size_t)n, ", declared device %s",
                  outcome(open("/dev/zero", O_RDWR)));
    snprintf(text + n, sizeof(text) - (size_t)n, ", input %s, output %s, errors %s",
             kind_of(STDIN_FILENO), kind_of(STDOUT_FILENO), kind_of(STDERR_FILENO));
    dprintf(STDOUT_FILENO, "a driver \33[6n\n");
    services->explain(services->ctx, text);
    return NNHAL_GENERAL_FAILURE;
}

static void naughty_release(void *prepared)
{
}

static _Thread_local const struct nnhal_execution *execution;

static void read_inputs(void)
{
    for (uint32_t i = 0; i < execution->n_inputs; i++)
        (void)*(const volatile char *)execution->inputs[i].data;
}

/* As libraries do that leave signals to the application. */
static void block_by_library(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    sigprocmask(SIG_BLOCK, &all, NULL);
    sigaction(SIGBUS, &action, NULL);
    signal(SIGBUS, SIG_DFL);
}

/* As runtimes of other languages do. */
static void block_by_calls(void)
{
    static const int numbers[] = {SIGBUS, SIGSYS};
    uint64_t all = UINT64_MAX, action[4] = {0}; /* the default, as the kernel has it */

    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
    for (int i = 0; i < 2; i++)
        syscall(SYS_rt_sigaction, numbers[i], action, NULL, sizeof(all));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
}

static void on_signal(int number)
{
    read_inputs();
}

static void read_in_handler(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t mask;

    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    raise(SIGUSR1);
}

static void *block_and_read(void *argument)
{
    execution = argument;
    way->block();
    read_inputs();
    return NULL;
}

static uint32_t naughty_execute(void *prepared, struct nnhal_execution *given)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all;
    int r;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setsigmask_np(&attr, &all);
    r = pthread_create(&thread, &attr, block_and_read, given);
    pthread_attr_destroy(&attr);
    if (r != 0)
        return NNHAL_GENERAL_FAILURE;
    pthread_join(thread, NULL);
    return NNHAL_NONE;
}

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    static const struct nnhal_driver driver = {
        .size = sizeof(driver),
        .abi = NNHAL_DRIVER_ABI,
        .type = NNHAL_DEVICE_OTHER,
        .name = "naughty",
        .version = "1",
        .feature_level = NNHAL_FEATURE_LEVEL_8,
        .capabilities = &least_capabilities,
        .open = naughty_open,
        .close = naughty_close,
        .get_supported_operations = naughty_supported,
        .prepare = naughty_prepare,
        .release = naughty_release,
        .execute = naughty_execute,
    };

    for (size_t i = 0; configuration && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(configuration, ways[i].configuration) == 0)
            way = &ways[i];
    return &driver;
}
