/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-serve.c - nnhal serve: becomes the program that offers a driver */
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: nnhal serve NAME [OPTION]...\n\n"
    "Offers the driver NAME (as in libnnhal-driver-NAME.so; NAME:CONFIGURATION passes it a\n"
    "configuration) to other programs until it is stopped. The socket is NAME.sock in the first\n"
    "folder of NNHAL_SOCKET_PATH, else in /run/nnhal for root and $XDG_RUNTIME_DIR/nnhal for "
    "others.\n\n"
    "  --socket PATH  listen there instead\n";

/* nnhal-host: as NNHAL_HOST says, beside this program, or where it is installed. */
static bool find_host(char path[4096])
{
    const char *given = secure_getenv("NNHAL_HOST");
    ssize_t n;
    char *end;

    if (given) {
        snprintf(path, 4096, "%s", given);
        return true;
    }
    n = readlink("/proc/self/exe", path, 4000);
    if (n > 0) {
        path[n] = '\0';
        end = strrchr(path, '/');
        strcpy(end ? end + 1 : path, "nnhal-host");
        if (access(path, X_OK) == 0)
            return true;
    }
    snprintf(path, 4096, "%s", NNHAL_LIBEXECDIR "/nnhal-host");
    return access(path, X_OK) == 0;
}

int cmd_serve(int argc, char **argv)
{
    static const struct option names[] = {{"socket", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    static char listen[] = "--listen";
    char host[4096], *arguments[5] = {host}, **next = arguments + 1;
    int c;

    while ((c = getopt_long(argc, argv, "h", names, NULL)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return TOOL_OK;
        }
        if (c == '?')
            return TOOL_USAGE;
        next = arguments + 1;
        *next++ = listen;
        *next++ = optarg;
    }
    if (optind + 1 != argc)
        return tool_error(TOOL_USAGE, "one NAME is needed; nnhal serve --help tells more");
    *next = argv[optind];
    if (!find_host(host))
        return tool_error(TOOL_FAILED, "nnhal-host is not installed; NNHAL_HOST says where it is");
    execv(host, arguments);
    return tool_error(TOOL_FAILED, "%s: %s", host, strerror(errno));
}
