/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/device-list.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "base/variable.h"
#include "host/load.h"

#include <nnhal/types.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME      "devices.conf"
#define MAX_FILE_BYTES 16384

/* "FOLDER" and what is below it. Returns: NULL if memory is short. */
static char *join(struct nn_arena *arena, const char *folder, size_t n, const char *below)
{
    char *path = nn_arena_alloc(arena, n + 1 + strlen(below) + 1);

    if (path) {
        memcpy(path, folder, n);
        path[n] = '/';
        strcpy(path + n + 1, below);
    }
    return path;
}

/* -- a file --------------------------------------------------------------------------- */

/* What counts of a line: without its comment, and without spaces around. */
static const char *trim(const char *line, size_t *n)
{
    const char *comment = memchr(line, '#', *n);

    if (comment)
        *n = (size_t)(comment - line);
    while (*n && strchr(" \t\r", line[*n - 1]) && line[*n - 1])
        --*n;
    while (*n && strchr(" \t", *line) && *line) {
        line++;
        --*n;
    }
    return line;
}

/* names has room for two bytes more than text. */
static int parse(const char *text, size_t n_bytes, const char *path, char *names,
                 struct nn_why *why)
{
    const char *end = text + n_bytes;

    for (unsigned number = 1; text < end; number++) {
        const char *next = memchr(text, '\n', (size_t)(end - text)), *name;
        size_t n = (size_t)((next ? next : end) - text);

        name = trim(text, &n);
        memcpy(names, name, n);
        names[n] = '\0';
        if (n && (strlen(names) < n || !nn_driver_name_is_well_formed(names + (*names == '-'))))
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "%s:%u: each line has the name of one device, or -NAME, and nothing "
                           "more",
                           path, number);
        names += n;
        if (n)
            *names++ = ',';
        text = next ? next + 1 : end;
    }
    return 0;
}

/* Where the process lacks something, or the disk fails, what stands in the file is not to blame. */
static int fail_unreadable(const char *path, int r, struct nn_why *why)
{
    int code = r == -EIO ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_BAD_DATA;

    if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
        return nn_error_trace(r);
    return nn_fail(why, code, "%s cannot be read: %s", path, strerror(-r));
}

/* Nothing is said where there is no such file. */
static int read_file(const char *path, struct nn_arena *arena, struct nn_why *why,
                     struct nn_rt_device_list *list)
{
    int opened = nn_sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    _cleanup_(closep) int fd = opened < 0 ? -1 : opened;
    char *text, *names;
    ssize_t n;

    if (opened == -ENOENT || opened == -ENOTDIR)
        return 0;
    if (opened < 0)
        return fail_unreadable(path, opened, why);
    text = nn_arena_alloc(arena, MAX_FILE_BYTES + 1);
    names = nn_arena_alloc(arena, MAX_FILE_BYTES + 2);
    if (!text || !names)
        return nn_error_origin(-ENOMEM);
    n = nn_sys_pread(fd, text, MAX_FILE_BYTES + 1, 0);
    if (n < 0)
        return fail_unreadable(path, (int)n, why);
    if (n > MAX_FILE_BYTES)
        return fail_unreadable(path, -EFBIG, why);
    *list = (struct nn_rt_device_list){names, path};
    return parse(text, (size_t)n, path, names, why);
}

/* -- where it may be ------------------------------------------------------------------- */

/* The first file in a list of folders, separated by ':'. A relative one means nothing: the current
 * directory changes. */
static int read_listed(const char *folders, struct nn_arena *arena, struct nn_why *why,
                       struct nn_rt_device_list *list)
{
    int r = 0;

    while (!r && !list->names && *folders) {
        size_t n = strcspn(folders, ":");
        const char *path = join(arena, folders, n, FILE_NAME);

        if (!path)
            r = nn_error_origin(-ENOMEM);
        else if (*folders == '/')
            r = read_file(path, arena, why, list);
        folders += n + (folders[n] == ':');
    }
    return r;
}

/* secure_getenv() and absolute paths: a program with raised privileges must not be led elsewhere. */
static int read_own(struct nn_arena *arena, struct nn_why *why, struct nn_rt_device_list *list)
{
    const char *xdg = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME"), *path;

    if (xdg && xdg[0] == '/')
        path = join(arena, xdg, strlen(xdg), "nnhal/" FILE_NAME);
    else if (home && home[0] == '/')
        path = join(arena, home, strlen(home), ".config/nnhal/" FILE_NAME);
    else
        return 0;
    return path ? read_file(path, arena, why, list) : nn_error_origin(-ENOMEM);
}

static int read_standard(struct nn_arena *arena, struct nn_why *why, struct nn_rt_device_list *list)
{
    int r = read_own(arena, why, list);

    return r || list->names ? r : read_file("/etc/nnhal/" FILE_NAME, arena, why, list);
}

int nn_rt_device_list_read(struct nn_arena *arena, struct nn_why *why,
                           struct nn_rt_device_list *ret_list)
{
    const char *names = nn_variable_get(NN_VARIABLE_DEVICES);
    const char *folders = nn_variable_get(NN_VARIABLE_CONFIG_PATH);

    *ret_list = (struct nn_rt_device_list){names, "NNHAL_DEVICES"};
    if (names)
        return 0;
    return folders ? read_listed(folders, arena, why, ret_list)
                   : read_standard(arena, why, ret_list);
}
