/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-host - the service of one driver, as a program */
#include <nnhal/service.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static int print_usage(FILE *file, int status)
{
    fputs("usage: nnhal-host [options] DRIVER[:CONFIGURATION]\n"
          "\n"
          "Serves a driver to other processes. DRIVER is a name, as in\n"
          "libnnhal-driver-NAME.so, or the path of such a file.\n"
          "\n"
          "  --listen PATH   listen at PATH; else at a socket passed by systemd; else at\n"
          "                  DRIVER.sock in $NNHAL_SOCKET_PATH, /run/nnhal (root) or\n"
          "                  $XDG_RUNTIME_DIR/nnhal\n"
          "  --fd N          serve the one client that is connected to descriptor N\n"
          "  --report N      send a pidfd of the driver's process over descriptor N\n"
          "  --user NAME     the user that root becomes (nnhal, else nobody)\n"
          "  --no-sandbox    keep files, calls and privileges: for debugging a driver\n"
          "  --help          this text\n"
          "\n"
          "NNHAL_LOG=LEVEL or TOPIC:LEVEL,... says what is printed: error, warning, info,\n"
          "debug.\n",
          file);
    return status;
}

/* A descriptor's number, 0 if it is none that could be meant. */
static int parse_fd(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    return *end == '\0' && value > 2 && value < 1 << 20 ? (int)value : 0;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"listen", required_argument, NULL, 'l'},
        {"fd", required_argument, NULL, 'f'},
        {"user", required_argument, NULL, 'u'},
        {"no-sandbox", no_argument, NULL, 'n'},
        {"report", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct nnhal_serve_options options = {.size = sizeof(options)};
    int option;

    while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        switch (option) {
        case 'l':
            options.socket_path = optarg;
            break;
        case 'f':
            options.fd = parse_fd(optarg);
            if (options.fd == 0)
                return print_usage(stderr, 2);
            break;
        case 'r':
            options.report_fd = parse_fd(optarg);
            if (options.report_fd == 0)
                return print_usage(stderr, 2);
            break;
        case 'u':
            options.user = optarg;
            break;
        case 'n':
            options.flags |= NNHAL_SERVE_NO_SANDBOX;
            break;
        case 'h':
            return print_usage(stdout, 0);
        default:
            return print_usage(stderr, 2);
        }
    }
    if (optind != argc - 1)
        return print_usage(stderr, 2);
    options.driver = argv[optind];
    return nnhal_serve(&options);
}
