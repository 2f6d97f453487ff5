/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-serve.c - nnhal serve: becomes the program that offers a driver */
#include "options.h"
#include "tool.h"

#include <nnhal/service.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: nnhal serve NAME [OPTION]...\n\n"
    "Offers the driver NAME (as in libnnhal-driver-NAME.so; NAME:CONFIGURATION passes it a\n"
    "configuration) to other programs until it is stopped. The socket is NAME.sock in the first\n"
    "folder of NNHAL_SOCKET_PATH, else in /run/nnhal for root and $XDG_RUNTIME_DIR/nnhal for "
    "others.\n\n"
    "  --socket PATH  listen there instead\n";

int cmd_serve(int argc, char **argv)
{
    const char *path = NULL;
    const struct tool_option options[] = {{"socket", tool_read_text, &path, 0, 0}};
    int status = tool_parse(argc, argv,
                            &(struct tool_usage){help, options, 1, 1, "one NAME is needed"});
    char host[PATH_MAX], *arguments[5] = {host}, **next = arguments + 1;

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (path) {
        *next++ = (char *)"--listen";
        *next++ = (char *)path;
    }
    *next = argv[optind];
    if (nnhal_find_host(host, sizeof(host)) < 0)
        return tool_error(TOOL_FAILED, "nnhal-host is not installed; NNHAL_HOST says where it is");
    execv(host, arguments);
    return tool_error(TOOL_FAILED, "%s: %s", host, strerror(errno));
}
