/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory-limit.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PATH = 4096,
    MAX_GROUPS_BYTES = 8192, /* of /proc/self/cgroup: a line for each hierarchy */
};

static const char *const names_v1[] = {"memory.limit_in_bytes", NULL};
static const char *const names_v2[] = {"memory.max", "memory.high", NULL};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The beginning of a file. */
static bool read_text(const char *path, char *text, size_t n_bytes)
{
    _cleanup_(closep) int fd = nn_sys_openat(AT_FDCWD, path, O_RDONLY, 0);
    ssize_t n = fd < 0 ? -1 : nn_sys_pread(fd, text, n_bytes - 1, 0);

    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

/* A number that a line break or nothing follows; all else, "max" above all, is no limit. */
static uint64_t parse_limit(const char *text)
{
    unsigned long long n;
    char *end;

    if (*text < '0' || *text > '9')
        return UINT64_MAX;
    errno = 0;
    n = strtoull(text, &end, 10);
    return errno || (*end && *end != '\n') ? UINT64_MAX : n;
}

static uint64_t limit_of_group(const char *root, const char *group, const char *const *names)
{
    char path[2 * MAX_PATH], text[64];
    uint64_t limit = UINT64_MAX;

    for (; *names; names++) {
        snprintf(path, sizeof(path), "%s%s/%s", root, group, *names);
        if (read_text(path, text, sizeof(text)))
            limit = smaller(limit, parse_limit(text));
    }
    return limit;
}

/* Every group above has limits of its own, and the lowest of all holds. */
static uint64_t limit_of_groups(const char *root, const char *own, const char *const *names)
{
    uint64_t limit = UINT64_MAX;
    char group[MAX_PATH];

    snprintf(group, sizeof(group), "%s", strcmp(own, "/") == 0 ? "" : own);
    for (;;) {
        char *last = strrchr(group, '/');

        limit = smaller(limit, limit_of_group(root, group, names));
        if (!last)
            return limit;
        *last = '\0';
    }
}

/* Whether "memory" is one of a list that commas separate. */
static bool has_memory(const char *controllers)
{
    for (size_t n; *controllers; controllers += n + (controllers[n] == ',')) {
        n = strcspn(controllers, ",");
        if (n == strlen("memory") && strncmp(controllers, "memory", n) == 0)
            return true;
    }
    return false;
}

/* A line is "NUMBER:CONTROLLERS:GROUP"; version 2 has no controllers, and lies at one of two
 * places. */
static uint64_t limit_of_line(char *line)
{
    char *controllers = strchr(line, ':'), *group;

    group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group || group[1] != '/')
        return UINT64_MAX;
    *controllers++ = '\0';
    *group++ = '\0';
    if (has_memory(controllers))
        return limit_of_groups("/sys/fs/cgroup/memory", group, names_v1);
    if (strcmp(line, "0") != 0 || *controllers)
        return UINT64_MAX;
    return smaller(limit_of_groups("/sys/fs/cgroup", group, names_v2),
                   limit_of_groups("/sys/fs/cgroup/unified", group, names_v2));
}

static uint64_t limit_of_own_groups(void)
{
    char text[MAX_GROUPS_BYTES], *rest = text, *line;
    uint64_t limit = UINT64_MAX;

    if (!read_text("/proc/self/cgroup", text, sizeof(text)))
        return limit;
    while ((line = strsep(&rest, "\n")))
        limit = smaller(limit, limit_of_line(line));
    return limit;
}

static uint64_t limit_of_machine(void)
{
    char text[1024], *line;
    unsigned long long n;

    if (!read_text("/proc/meminfo", text, sizeof(text)))
        return UINT64_MAX;
    line = strstr(text, "MemTotal:");
    return line && sscanf(line, "MemTotal: %llu kB", &n) == 1 && n <= UINT64_MAX / 1024
               ? n * 1024
               : UINT64_MAX;
}

uint64_t nn_memory_limit(void)
{
    return smaller(limit_of_machine(), limit_of_own_groups());
}

bool nn_memory_parse(const char *text, uint64_t whole, uint64_t *ret_bytes)
{
    static const char units[] = "KMG";
    const char *unit;
    uint64_t n;
    char *end;

    if (strcmp(text, "none") == 0) {
        *ret_bytes = UINT64_MAX;
        return true;
    }
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || (*end && end[1]))
        return false;
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        if (!nn_mul_u64(n, UINT64_C(1024) << 10 * (unit - units), &n))
            return false;
    } else if (*end == '%') {
        if (n > 100)
            return false;
        /* Of what is not known there is no part. */
        n = whole == UINT64_MAX ? whole : whole / 100 * n + whole % 100 * n / 100;
    } else if (*end) {
        return false;
    }
    *ret_bytes = n;
    return true;
}

void nn_memory_print(uint64_t n_bytes, char *text, size_t n_text)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double n = (double)n_bytes / 1024;
    size_t unit = 0;

    if (n_bytes < 1024) {
        snprintf(text, n_text, "%llu bytes", (unsigned long long)n_bytes);
        return;
    }
    for (; n >= 1024 && unit + 1 < NN_N_ELEMENTS(units); unit++)
        n /= 1024;
    snprintf(text, n_text, "%.1f %s", n, units[unit]);
}
