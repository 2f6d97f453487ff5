/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A line of /proc/self/maps. */
struct mapping {
    unsigned long start, end, offset, inode;
    unsigned int major, minor;
    char permissions[5];
    int path_at; /* in the line */
};

static bool mapping_parse(const char *line, struct mapping *ret)
{
    ret->path_at = 0;
    return sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &ret->start, &ret->end, ret->permissions,
                  &ret->offset, &ret->major, &ret->minor, &ret->inode, &ret->path_at) == 7 &&
           ret->path_at > 0;
}

/* Opens the file of a mapping, if its name still leads to it. Returns -1 if it does not. */
static int mapping_open(const struct mapping *mapping, char *line)
{
    char *path = line + mapping->path_at;
    struct stat info;
    int fd;

    path[strcspn(path, "\n")] = '\0';
    if (mapping->inode == 0 || path[0] != '/')
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_ino != mapping->inode ||
        major(info.st_dev) != mapping->major || minor(info.st_dev) != mapping->minor) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The file behind an address in a mapping that cannot be written through; -1: none. */
static int file_behind(const void *address, struct mapping *ret_mapping)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    int fd = -1;

    while (maps && getline(&line, &size, maps) > 0) {
        if (!mapping_parse(line, ret_mapping) || (uintptr_t)address < ret_mapping->start ||
            (uintptr_t)address >= ret_mapping->end)
            continue;
        if (ret_mapping->permissions[1] != 'w')
            fd = mapping_open(ret_mapping, line);
        break;
    }
    free(line);
    if (maps)
        fclose(maps);
    return fd;
}

/* Constants of fewer bytes travel with the model. */
static bool is_large(const struct tfl_tensor *tensor)
{
    return tensor->data && tensor->n_bytes > ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES;
}

static void place(struct tfl_graph *graph, const struct mapping *mapping, size_t n_file_bytes)
{
    for (uint32_t i = 0; i < graph->n_tensors; i++) {
        struct tfl_tensor *tensor = &graph->tensors[i];
        uintptr_t start = (uintptr_t)tensor->data;
        size_t offset = start - mapping->start + mapping->offset;

        if (is_large(tensor) && start >= mapping->start && start < mapping->end &&
            tensor->n_bytes <= mapping->end - start && offset <= n_file_bytes &&
            tensor->n_bytes <= n_file_bytes - offset)
            tensor->file_offset = offset;
    }
}

ANeuralNetworksMemory *tfl_file_place_constants(struct tfl_graph *graph)
{
    ANeuralNetworksMemory *memory = NULL;
    struct mapping mapping;
    struct stat info;
    uint32_t first = 0;
    int fd;

    while (first < graph->n_tensors && !is_large(&graph->tensors[first]))
        first++;
    fd = first < graph->n_tensors ? file_behind(graph->tensors[first].data, &mapping) : -1;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 &&
        ANeuralNetworksMemory_createFromFd((size_t)info.st_size, PROT_READ, fd, 0, &memory) ==
            ANEURALNETWORKS_NO_ERROR)
        place(graph, &mapping, (size_t)info.st_size);
    close(fd);
    return memory;
}
