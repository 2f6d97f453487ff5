/* SPDX-License-Identifier: Apache-2.0 */
#include "services.h"

#include "support/ended-threads.h"
#include "support/find-device.h"

#include <nnhal/ext.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const *services_names;
static char folder[] = "/tmp/nnhal-chain-XXXXXX";
pid_t chain_services[N_DEVICES];

bool chain_is_way(const char *way)
{
    return strcmp(WAY, way) == 0;
}

void chain_nap(void)
{
    const struct timespec duration = {.tv_nsec = 2000000};

    nanosleep(&duration, NULL);
}

static void socket_path(int which, char *path, size_t n_bytes)
{
    snprintf(path, n_bytes, "%s/%s.sock", folder, services_names[which]);
}

static void start_service(int which)
{
    pid_t parent = getpid();
    char path[64];

    socket_path(which, path, sizeof(path));
    chain_services[which] = fork();
    if (chain_services[which] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execl(BUILD_ROOT "/nnhal-host", "nnhal-host", services_names[which], NULL);
        _exit(127);
    }
    for (int i = 0; access(path, F_OK) != 0; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        chain_nap();
    }
}

void services_begin(const char *const names[N_DEVICES])
{
    services_names = names;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("NNHAL_MODE", WAY, 1);
    setenv("NNHAL_DRIVER_PATH", DRIVER_FOLDER, 1);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
    setenv("NNHAL_HOST", BUILD_ROOT "/nnhal-host", 1);
    for (int i = 0; i < N_DEVICES; i++)
        if (chain_is_way("service"))
            start_service(i);
}

static void end_service(int which)
{
    char path[64];

    waitpid(chain_services[which], NULL, 0);
    socket_path(which, path, sizeof(path));
    unlink(path);
}

void services_restart(int which)
{
    if (!chain_services[which])
        return;
    end_service(which);
    start_service(which);
}

void services_end(void)
{
    for (int i = 0; i < N_DEVICES; i++) {
        if (!chain_services[i])
            continue;
        kill(chain_services[i], SIGTERM);
        end_service(i);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

ANeuralNetworksDevice *services_find(int which)
{
    ANeuralNetworksDevice *device = find_device(services_names[which]);

    ck_assert_msg(device != NULL, "no device %s", services_names[which]);
    return device;
}

int32_t services_pid(const ANeuralNetworksDevice *device)
{
    struct nnhal_where where = {.size = sizeof(where)};

    OK(nnhal_device_get_where(device, &where));
    return where.pid;
}

void services_count(struct nnhal_device_counts counts[N_DEVICES])
{
    for (int i = 0; i < N_DEVICES; i++) {
        counts[i] = (struct nnhal_device_counts){.size = sizeof(counts[i])};
        OK(nnhal_device_get_counts(services_find(i), &counts[i]));
    }
}

void services_check_blame(const struct nnhal_device_counts before[N_DEVICES], int which)
{
    struct nnhal_device_counts now[N_DEVICES];

    services_count(now);
    for (int i = 0; i < N_DEVICES; i++)
        ck_assert_uint_eq(now[i].n_failed - before[i].n_failed, i == which);
}
