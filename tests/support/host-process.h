/* SPDX-License-Identifier: Apache-2.0 */
/* host-process.h - the process that a started nnhal-host runs its driver in */
#ifndef NN_TESTS_HOST_PROCESS_H
#define NN_TESTS_HOST_PROCESS_H

#include <stdio.h>
#include <sys/types.h>

/* Its only child, once there is one; where a sanitizer is in the program, itself. */
static inline pid_t host_process(pid_t pid)
{
    char path[64];
    int child = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    file = fopen(path, "re");
    if (file && fscanf(file, "%d", &child) != 1)
        child = 0;
    if (file)
        fclose(file);
    return child > 0 ? child : pid;
}

#endif
