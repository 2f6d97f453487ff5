/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-serve.c - nnhal serve: becomes nnhal-host, the program that serves a driver
 *
 * The host program is one of its own because it gives up nearly all rights
 * (sandbox) and links nothing but what a service needs. It is found where the
 * library finds it for private children: NNHAL_HOST, beside this program, in
 * libexecdir. Its options are ours. */
#include "nnhal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns only if there is no such program; another failure is told and final. */
static int try(const char *path, char **argv)
{
    execv(path, argv);
    if (errno == ENOENT || errno == ENOTDIR)
        return NNHAL_EXIT_OK;
    fprintf(stderr, "nnhal serve: %s: %s\n", path, strerror(errno));
    return NNHAL_EXIT_FAILED;
}

static int try_beside(char **argv)
{
    static const char name[] = "nnhal-host";
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(name));
    char *slash;

    if (length <= 0)
        return NNHAL_EXIT_OK;
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return NNHAL_EXIT_OK;
    memcpy(slash + 1, name, sizeof(name));
    return try(path, argv);
}

int nnhal_serve_command(int argc, char **argv)
{
    const char *chosen = secure_getenv("NNHAL_HOST");
    int status;

    (void)argc;
    if (chosen && chosen[0]) {
        status = try(chosen, argv);
    } else {
        status = try_beside(argv);
        if (status == NNHAL_EXIT_OK)
            status = try(NNHAL_HOST_PROGRAM, argv);
    }
    if (status == NNHAL_EXIT_OK)
        fprintf(stderr,
                "nnhal serve: there is no host program at %s: install it, or name it in "
                "NNHAL_HOST\n",
                chosen && chosen[0] ? chosen : NNHAL_HOST_PROGRAM);
    return NNHAL_EXIT_FAILED;
}
