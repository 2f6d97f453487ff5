/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-host - the service of one driver, as a program */
#include "options/options.h"

#include <nnhal/service.h>

#include <getopt.h>

struct host_arguments {
    const char *socket_path, *user;
    uint32_t fd, report_fd;
    bool is_open;
};

#define TOOL_VALUES struct host_arguments
static const struct tool_usage host_usage = {
#include "options/host.def"
};

int main(int argc, char **argv)
{
    struct host_arguments given = {0};
    int status = tool_parse(argc, argv, &host_usage, &given);
    const struct nnhal_serve_options options = {
        .size = sizeof(options),
        .flags = given.is_open ? NNHAL_SERVE_NO_SANDBOX : 0,
        .driver = status == TOOL_OK ? argv[optind] : NULL,
        .socket_path = given.socket_path,
        .user = given.user,
        .fd = (int)given.fd,
        .report_fd = (int)given.report_fd,
    };

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    return nnhal_serve(&options);
}
