/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-serve.c - nnhal serve: becomes the program that offers a driver */
#include "tool.h"

#include <nnhal/service.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

struct serve_options {
    const char *socket;
    bool is_open;
};

#define TOOL_VALUES struct serve_options
static const struct tool_usage serve_usage = {
#include "options/serve.def"
};

static int serve_command(int argc, char **argv)
{
    struct serve_options o = {0};
    int status = tool_parse(argc, argv, &serve_usage, &o);
    char host[PATH_MAX], *arguments[6] = {host}, **next = arguments + 1;

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (o.socket) {
        *next++ = (char *)"--listen";
        *next++ = (char *)o.socket;
    }
    if (o.is_open)
        *next++ = (char *)"--no-sandbox";
    *next = argv[optind];
    if (nnhal_find_host(host, sizeof(host)) < 0)
        return tool_error(TOOL_FAILED, "nnhal-host is not installed; NNHAL_HOST says where it is");
    execv(host, arguments);
    return tool_error(TOOL_FAILED, "%s: %s", host, strerror(errno));
}

const struct tool_command cmd_serve = {&serve_usage, serve_command};
