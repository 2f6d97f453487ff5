/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/calibration/figures-file.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/isa.h"
#include "base/sys.h"
#include "cache/hash.h"
#include "cache/own-folder.h"
#include "host/caching/build-id.h"
#include "runtime/result.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 4096, MAX_HEAD_BYTES = 2048, CPU_BYTES = 128, FILE_NAME_BYTES = 64 };

/* What no device can have. */
#define LARGEST UINT64_C(1000000000000000)

#define SUM_FORMAT "sum %016" PRIx64 "\n"

struct text {
    char bytes[MAX_BYTES];
    size_t n;
};

static void __attribute__((__format__(__printf__, 2, 3)))
text_add(struct text *text, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text->bytes + text->n, sizeof(text->bytes) - text->n, format, args);
    va_end(args);
    if (n > 0)
        text->n += (size_t)n;
    if (text->n >= sizeof(text->bytes))
        text->n = sizeof(text->bytes) - 1;
}

/* -- what figures are bound to --------------------------------------------------------- */

/* What the kernel calls it; "unknown" where it does not. */
static void read_cpu_name(char ret_name[static CPU_BYTES])
{
    int opened = nn_sys_openat(AT_FDCWD, "/proc/cpuinfo", O_RDONLY, 0);
    _cleanup_(closep) int fd = opened < 0 ? -1 : opened;
    char text[MAX_BYTES + 1], *name;
    ssize_t n = fd < 0 ? -1 : nn_sys_pread(fd, text, MAX_BYTES, 0);

    strcpy(ret_name, "unknown");
    if (n <= 0)
        return;
    text[n] = '\0';
    name = strstr(text, "model name");
    name = name ? strchr(name, ':') : NULL;
    if (name && name[1] == ' ')
        snprintf(ret_name, CPU_BYTES, "%.*s", (int)strcspn(name + 2, "\n"), name + 2);
}

static void add_head(struct text *text, const struct nn_rt_figures_owner *owner)
{
    char cpu[CPU_BYTES];

    read_cpu_name(cpu);
    text_add(text,
             "nnhal figures 1\ndevice %.300s\nversion %.300s\nreached %s\n"
             "cpu %ld x %s, features %" PRIx32 "\n",
             owner->device, owner->version, owner->way, sysconf(_SC_NPROCESSORS_ONLN), cpu,
             nn_isa_of_cpu());
}

/* -- where they are -------------------------------------------------------------------- */

static void name_file(const struct nn_rt_figures_owner *owner,
                      char ret_name[static FILE_NAME_BYTES])
{
    uint64_t hash = nn_hash_checksum(owner->device, strlen(owner->device));

    snprintf(ret_name, FILE_NAME_BYTES, "%s-%016" PRIx64, owner->way, hash);
}

/* Returns: 0, -ENOENT (there is nowhere to keep it), -ENOMEM. */
static int find_path(const struct nn_rt_figures_owner *owner, char **ret_folder, char **ret_path)
{
    _cleanup_(freep) char *folder = NULL;
    char name[FILE_NAME_BYTES];
    int r = nn_state_folder(NULL, "figures", &folder);

    if (r)
        return r;
    name_file(owner, name);
    if (asprintf(ret_path, "%s/%s", folder, name) < 0)
        return nn_error_origin(-ENOMEM);
    *ret_folder = steal_ptr(&folder);
    return 0;
}

/* -- reading ----------------------------------------------------------------------------- */

static int fail_ignored(const char *path, const char *reason, struct nn_why *why)
{
    return nn_fail(why, NN_RT_FIGURES_E_IGNORED,
                   "%s is ignored: %s; nnhal devices --calibrate measures again", path, reason);
}

/* A copy: what stands in the file may change at any time. */
static int read_text(const char *path, struct text *text, struct nn_why *why)
{
    int opened = nn_sys_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    _cleanup_(closep) int fd = opened < 0 ? -1 : opened;
    struct stat status;
    ssize_t n;

    if (opened == -ENOENT || opened == -ENOTDIR || opened == -EACCES)
        return NN_RT_FIGURES_E_NONE;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return fail_ignored(path, "it is no file that can be read", why);
    if ((status.st_uid != geteuid() && status.st_uid != 0) ||
        (status.st_mode & (S_IWGRP | S_IWOTH)))
        return fail_ignored(path, "other users can write it", why);
    n = nn_sys_pread(fd, text->bytes, MAX_BYTES, 0);
    if (n < 0 || n == MAX_BYTES)
        return fail_ignored(path, "it cannot be read", why);
    text->n = (size_t)n;
    text->bytes[n] = '\0';
    return 0;
}

/* The line with the sum is the last; it is cut off. */
static bool take_sum(struct text *text)
{
    char expected[32];
    size_t n_line = (size_t)snprintf(expected, sizeof(expected), SUM_FORMAT, UINT64_C(0));

    if (text->n < n_line || strlen(text->bytes) != text->n)
        return false;
    text->n -= n_line;
    snprintf(expected, sizeof(expected), SUM_FORMAT, nn_hash_checksum(text->bytes, text->n));
    if (strcmp(text->bytes + text->n, expected) != 0)
        return false;
    text->bytes[text->n] = '\0';
    return true;
}

/* "NAME VALUE" and the end of the line; *at moves on. */
static bool parse_figure(const char **at, struct nn_rt_figures *figures)
{
    const char *line = *at;
    size_t n_name = strcspn(line, " \n");
    char *end;
    uint64_t value;

    if (line[n_name] != ' ' || line[n_name + 1] < '1' || line[n_name + 1] > '9')
        return false;
    value = strtoull(line + n_name + 1, &end, 10);
    if (*end != '\n' || value > LARGEST)
        return false;
    *at = end + 1;
    for (int i = 0; i < NN_RT_FIGURE_N; i++)
        if (strlen(nn_rt_figure_name((enum nn_rt_figure)i)) == n_name &&
            strncmp(nn_rt_figure_name((enum nn_rt_figure)i), line, n_name) == 0) {
            figures->values[i] = value;
            return true;
        }
    return false;
}

int nn_rt_figures_load(const struct nn_rt_figures_owner *owner, struct nn_why *why,
                       struct nn_rt_figures *ret_figures)
{
    _cleanup_(freep) char *folder = NULL, *path = NULL;
    struct nn_rt_figures figures = {0};
    struct text text, head = {.n = 0};
    const char *at;
    int r = find_path(owner, &folder, &path);

    if (r)
        return r == -ENOENT ? NN_RT_FIGURES_E_NONE : r;
    r = read_text(path, &text, why);
    if (r)
        return r;
    if (!take_sum(&text))
        return fail_ignored(path, "it is damaged", why);
    add_head(&head, owner);
    if (strncmp(text.bytes, head.bytes, head.n) != 0)
        return fail_ignored(path, "it is of another version of the driver, or of another CPU", why);
    for (at = text.bytes + head.n; *at;)
        if (!parse_figure(&at, &figures))
            return fail_ignored(path, "it has a line that is no figure", why);
    *ret_figures = figures;
    return 0;
}

/* -- writing ----------------------------------------------------------------------------- */

/* Under a name of its own, then renamed: a reader finds one or the other as a whole. */
static int write_text(const char *path, const struct text *text)
{
    _cleanup_(freep) char *temporary = NULL;
    int fd, r;

    if (asprintf(&temporary, "%s.%d", path, (int)gettid()) < 0)
        return nn_error_origin(-ENOMEM);
    unlink(temporary); /* of a thread that had this number, and died */
    fd = nn_sys_openat(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return nn_error_trace(fd);
    r = nn_sys_pwrite(fd, text->bytes, text->n, 0);
    if (!r)
        r = nn_sys_fdatasync(fd);
    close(fd);
    if (!r)
        r = nn_sys_renameat(AT_FDCWD, temporary, path);
    if (r)
        unlink(temporary);
    return nn_error_trace(r);
}

int nn_rt_figures_save(const struct nn_rt_figures_owner *owner, const struct nn_rt_figures *figures,
                       struct nn_why *why)
{
    _cleanup_(freep) char *folder = NULL, *path = NULL;
    struct text text = {.n = 0};
    int r = find_path(owner, &folder, &path);

    if (!r)
        r = nn_own_folder_make(folder);
    if (!r) {
        add_head(&text, owner);
        for (int i = 0; i < NN_RT_FIGURE_N; i++)
            if (figures->values[i])
                text_add(&text, "%s %" PRIu64 "\n", nn_rt_figure_name((enum nn_rt_figure)i),
                         figures->values[i]);
        text_add(&text, SUM_FORMAT, nn_hash_checksum(text.bytes, text.n));
        r = write_text(path, &text);
    }
    if (r)
        nn_fail(why, 1, "%s cannot be written: %s; see NNHAL_STATE_PATH", path ? path : "figures",
                strerror(-r));
    return r;
}
