/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - the threads of a process, by their names */
#ifndef NN_TESTS_THREADS_H
#define NN_TESTS_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool read_line_of(const char *path, const char *word, char *line, int n_bytes)
{
    FILE *file = fopen(path, "re");
    bool is_found = false;

    while (file && !is_found && fgets(line, n_bytes, file))
        is_found = strncmp(line, word, strlen(word)) == 0;
    if (file)
        fclose(file);
    return is_found;
}

struct thread_count {
    unsigned n_threads;
    unsigned n_asleep;     /* of them */
    unsigned long n_woken; /* how often they have gone to sleep, which is how often they woke */
};

static inline void count_thread(const char *task, const char *name, struct thread_count *count)
{
    char path[320], line[256];

    snprintf(path, sizeof(path), "%s/status", task);
    if (!read_line_of(path, "Name:", line, sizeof(line)) || !strstr(line, name))
        return;
    count->n_threads++;
    if (read_line_of(path, "State:", line, sizeof(line)))
        count->n_asleep += strstr(line, "S (") != NULL;
    if (read_line_of(path, "voluntary_ctxt_switches:", line, sizeof(line)))
        count->n_woken += strtoul(line + strlen("voluntary_ctxt_switches:"), NULL, 10);
}

/* The threads of process pid whose names contain it. */
static inline struct thread_count count_threads_of(int32_t pid, const char *name)
{
    struct thread_count count = {0};
    char path[32], task[300];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(task, sizeof(task), "%s/%s", path, entry->d_name);
        count_thread(task, name, &count);
    }
    if (dir)
        closedir(dir);
    return count;
}

#endif
