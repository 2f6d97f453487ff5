/* SPDX-License-Identifier: Apache-2.0 */
/* fds.h - what a process holds: counted before and after, to see leaks */
#ifndef NN_TESTS_FDS_H
#define NN_TESTS_FDS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Open descriptors of this process. */
static inline size_t count_fds(void)
{
    return count_entries("/proc/self/fd");
}

static inline size_t count_threads(void)
{
    return count_entries("/proc/self/task");
}

/* Mappings whose line in /proc/self/maps contains what ("memfd:", a path). */
static inline size_t count_mappings(const char *what)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096];
    size_t n = 0;

    if (!maps)
        return 0;
    while (fgets(line, sizeof(line), maps))
        n += strstr(line, what) != NULL;
    fclose(maps);
    return n;
}

#endif
