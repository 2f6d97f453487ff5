/* SPDX-License-Identifier: Apache-2.0 */
#include "queue-services.h"

#include "support/check-main.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SERVICES = 4 };

static char folder[] = "/tmp/nnhal-chain-XXXXXX";
static int n_services;
static struct {
    const char *name;
    pid_t pid;
    char path[64];
} services[MAX_SERVICES];

bool queue_is_way(const char *way)
{
    return strcmp(WAY, way) == 0;
}

void queue_nap(void)
{
    const struct timespec duration = {.tv_nsec = 2000000};

    nanosleep(&duration, NULL);
}

static void start_service(int which)
{
    pid_t parent = getpid();

    services[which].pid = fork();
    if (services[which].pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execl(BUILD_ROOT "/nnhal-host", "nnhal-host", services[which].name, NULL);
        _exit(127);
    }
    for (int i = 0; access(services[which].path, F_OK) != 0; i++) {
        ck_assert_int_lt(i, QUEUE_LIMIT_S * 500);
        queue_nap();
    }
}

void queue_services_init(const char *const *names, int n_names)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("NNHAL_MODE", WAY, 1);
    setenv("NNHAL_DRIVER_PATH", DRIVER_FOLDER, 1);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
    setenv("NNHAL_HOST", BUILD_ROOT "/nnhal-host", 1);
    if (!queue_is_way("service"))
        return;
    ck_assert_int_le(n_names, MAX_SERVICES);
    for (n_services = 0; n_services < n_names; n_services++) {
        services[n_services].name = names[n_services];
        snprintf(services[n_services].path, sizeof(services[n_services].path), "%s/%s.sock", folder,
                 names[n_services]);
        start_service(n_services);
    }
}

void queue_services_restart(int which)
{
    if (!queue_is_way("service"))
        return;
    ck_assert_int_eq(waitpid(services[which].pid, NULL, 0), services[which].pid);
    unlink(services[which].path);
    start_service(which);
}

void queue_services_done(void)
{
    for (int i = 0; i < n_services; i++) {
        kill(services[i].pid, SIGTERM);
        waitpid(services[i].pid, NULL, 0);
        unlink(services[i].path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

static bool is_stopped(const char *task)
{
    char path[320], line[256] = "";
    bool is_there = false;
    FILE *file;

    snprintf(path, sizeof(path), "%s/status", task);
    file = fopen(path, "re");
    while (file && !is_there && fgets(line, sizeof(line), file))
        is_there = strncmp(line, "State:", strlen("State:")) == 0;
    if (file)
        fclose(file);
    return !is_there || strstr(line, "T (") != NULL;
}

static bool are_stopped(int pid)
{
    char path[32], task[300];
    bool are = true;
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(task, sizeof(task), "%s/%s", path, entry->d_name);
            are &= is_stopped(task);
        }
    closedir(dir);
    return are;
}

void queue_stop(int pid)
{
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    while (!are_stopped(pid))
        queue_nap();
}
