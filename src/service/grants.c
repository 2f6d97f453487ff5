/* SPDX-License-Identifier: Apache-2.0 */
#include "service/grants.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "host/load.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DRIVER_SUFFIX ".so"
#define GRANTS_SUFFIX ".sandbox"

void nn_grants_done(struct nn_grants *grants)
{
    free(grants->text);
    *grants = (struct nn_grants){0};
}

/* -- one line ----------------------------------------------------------------------------- */

static bool has_dots(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

/* NULL: no path. */
static const char *grant_variable(const struct nn_grants *grants, const char *name)
{
    const char *value = strcmp(name, "CONFIGURATION") == 0 ? grants->configuration
                                                           : secure_getenv(name);

    return value && *value == '/' ? value : NULL;
}

/* Each gives what is wrong with the line, as the end of a sentence; NULL: nothing. */

static const char *grant_path(struct nn_grants *grants, const char *text,
                              enum nn_grant_access access)
{
    const char *path = text;

    if (*text == '$') {
        if (text[1] == '\0')
            return "has no variable's name after $";
        path = grant_variable(grants, text + 1);
        if (!path)
            return NULL;
    }
    if (*path != '/')
        return "needs an absolute path";
    if (has_dots(path) || strlen(path) >= PATH_MAX)
        return "has a path with .., or one that is too long";
    if (grants->n_paths == NN_GRANTS_MAX)
        return "is one too many";
    grants->paths[grants->n_paths++] = (struct nn_grant_path){path, access};
    return NULL;
}

static const char *grant_call(struct nn_grants *grants, const char *name)
{
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name) || *name == '\0')
        return "needs the name of a system call";
    if (grants->n_calls == NN_GRANTS_MAX)
        return "is one too many";
    grants->calls[grants->n_calls++] = name;
    return NULL;
}

static const char *grant_line(struct nn_grants *grants, char *line)
{
    char *rest;

    for (const char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return "has a control character";
    if (*line == '\0' || *line == '#')
        return NULL;
    if (strcmp(line, "executable-memory") == 0) {
        grants->has_executable_memory = true;
        return NULL;
    }
    rest = strchr(line, ' ');
    if (!rest)
        return "is no \"read PATH\", \"device PATH\", \"call NAME\" or \"executable-memory\"";
    *rest++ = '\0';
    if (strcmp(line, "read") == 0)
        return grant_path(grants, rest, NN_GRANT_READ);
    if (strcmp(line, "device") == 0)
        return grant_path(grants, rest, NN_GRANT_DEVICE);
    if (strcmp(line, "call") == 0)
        return grant_call(grants, rest);
    return "begins with none of read, device, call and executable-memory";
}

/* -- the file -------------------------------------------------------------------------------- */

/* The name of the file, of ret_path's size. */
static int grants_path(const char *driver, char ret_path[static PATH_MAX])
{
    _cleanup_(freep) char *real = realpath(driver, NULL);
    size_t n, n_suffix = strlen(DRIVER_SUFFIX);

    if (!real)
        return nn_error_origin(-errno);
    n = strlen(real);
    if (n > n_suffix && strcmp(real + n - n_suffix, DRIVER_SUFFIX) == 0)
        real[n - n_suffix] = '\0';
    if (snprintf(ret_path, PATH_MAX, "%s" GRANTS_SUFFIX, real) >= PATH_MAX)
        return nn_error_origin(-ENAMETOOLONG);
    return 0;
}

static int grants_parse(struct nn_grants *grants, char *text, const char *path,
                        struct nn_host_why *why)
{
    unsigned number = 1;

    for (char *line = text; *line; number++) {
        size_t n = strcspn(line, "\n");
        bool is_last = line[n] == '\0';
        const char *wrong;

        line[n] = '\0';
        wrong = grant_line(grants, line);
        if (wrong)
            return nn_why(why, -EINVAL, "%s:%u: the line %s", path, number, wrong);
        line += n + !is_last;
    }
    return 0;
}

/* All of it, as text; what is wrong with it is in why. */
static int grants_load(int fd, const char *path, char **ret_text, struct nn_host_why *why)
{
    _cleanup_(freep) char *text = malloc(NN_GRANTS_MAX_BYTES + 1);
    ssize_t n = text ? nn_sys_pread(fd, text, NN_GRANTS_MAX_BYTES + 1, 0) : -ENOMEM;

    if (n < 0)
        return nn_why(why, (int)n, "%s: %s", path, strerror((int)-n));
    if (n > NN_GRANTS_MAX_BYTES || memchr(text, '\0', (size_t)n))
        return nn_why(why, -EINVAL, "%s is longer than %d bytes, or no text", path,
                      NN_GRANTS_MAX_BYTES);
    text[n] = '\0';
    *ret_text = steal_ptr(&text);
    return 0;
}

int nn_grants_read(const char *driver, const char *configuration, struct nn_grants *ret_grants,
                   struct nn_host_why *why)
{
    _cleanup_(closep) int fd = -1;
    char path[PATH_MAX];
    int r = grants_path(driver, path);

    *ret_grants = (struct nn_grants){.configuration = configuration};
    if (r < 0)
        return r == -ENOENT ? 0 : nn_why(why, r, "%s: %s", driver, strerror(-r));
    fd = nn_sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return nn_why(why, fd, "%s: %s", path, strerror(-fd));
    r = grants_load(fd, path, &ret_grants->text, why);
    if (r == 0)
        r = grants_parse(ret_grants, ret_grants->text, path, why);
    if (r < 0)
        nn_grants_done(ret_grants);
    return r;
}
