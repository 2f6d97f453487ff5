/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal.c - one program with a subcommand for each thing that people do */
#include "nnhal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"devices", nnhal_devices, "what devices there are, and where they run"},
    {"serve", nnhal_serve_command, "offer a driver to other processes"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(FILE *file, int status)
{
    fputs("usage: nnhal COMMAND [OPTION]...\n\n", file);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nnnhal COMMAND --help tells more. The exit status is 0 if all went well, 1 if not,\n"
          "2 if the command line was not understood.\n",
          file);
    return status;
}

int nnhal_set_mode(const char *mode)
{
    static const char *const modes[] = {"auto", "service", "private", "embedded"};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(mode, modes[i]))
            return setenv("NNHAL_MODE", mode, 1) ? NNHAL_EXIT_FAILED : 0;
    fprintf(stderr, "nnhal: --mode %s: auto, service, private or embedded\n", mode);
    return NNHAL_EXIT_USAGE;
}

void nnhal_print_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr, NNHAL_EXIT_USAGE);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return usage(stdout, NNHAL_EXIT_OK);
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "nnhal: there is no command '%s'\n\n", argv[1]);
    return usage(stderr, NNHAL_EXIT_USAGE);
}
