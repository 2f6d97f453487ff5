/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 4096 };

static unsigned cpus_of_affinity(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 1)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

unsigned nn_cpus_parse_quota(const char *text)
{
    unsigned long long quota, period;

    if (sscanf(text, "%llu %llu", &quota, &period) != 2 || quota == 0 || period == 0 ||
        quota / period >= 65536)
        return 0;
    /* Rounded up: half a CPU still runs one thread. */
    return (unsigned)((quota + period - 1) / period);
}

static bool read_line(const char *path, char *line, int n_bytes)
{
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(line, n_bytes, file);

    if (file)
        fclose(file);
    return is_read;
}

/* This process's group below the mount point: "" for the root. */
static bool find_group(char *group, size_t n_bytes)
{
    char line[MAX_PATH];

    if (!read_line("/proc/self/cgroup", line, sizeof(line)) || strncmp(line, "0::/", 4) != 0)
        return false;
    line[strcspn(line, "\n")] = '\0';
    snprintf(group, n_bytes, "%s", strcmp(line + 3, "/") == 0 ? "" : line + 3);
    return true;
}

static unsigned cpus_of_group(const char *group)
{
    char path[MAX_PATH + 64], line[64];

    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
    return read_line(path, line, sizeof(line)) ? nn_cpus_parse_quota(line) : 0;
}

static unsigned cpus_of_groups(void)
{
    unsigned lowest = UINT_MAX;
    char group[MAX_PATH];

    if (!find_group(group, sizeof(group)))
        return lowest;
    for (;;) {
        unsigned quota = cpus_of_group(group);
        char *last = strrchr(group, '/');

        /* Every group above has its own limit, and the lowest holds. */
        if (quota && quota < lowest)
            lowest = quota;
        if (!last)
            return lowest;
        *last = '\0';
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned group_limit;

static void read_groups(void)
{
    group_limit = cpus_of_groups();
}

unsigned nn_cpus_allowed(void)
{
    unsigned n = cpus_of_affinity();

    pthread_once(&once, read_groups);
    return n < group_limit ? n : group_limit;
}
