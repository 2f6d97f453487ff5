/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal.c - the nnhal program: finds the command and runs it */
#include "text.h"
#include "tool.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>
#include <nnhal/tflite-info.h>
#include <nnhal/version.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tool_command *const commands[] = {
    &cmd_devices, &cmd_info, &cmd_run, &cmd_bench, &cmd_explain, &cmd_cache, &cmd_serve,
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static const char *name_of(const struct tool_command *command)
{
    return command->usage->program + strlen("nnhal ");
}

static void print_help(FILE *to)
{
    fputs("usage: nnhal COMMAND [OPTION]...\n\n", to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", name_of(commands[i]), commands[i]->usage->summary);
    fputs("\nnnhal COMMAND --help tells more. Exit status: 0 done, 1 a file cannot be used,\n"
          "2 wrong usage, 3 no such device, 4 compiling or executing failed.\n",
          to);
}

void tool_complain(const struct nnhal_tflite_info *info, const char *path)
{
    const char *complaint = nnhal_tflite_info_complaint(info);
    char *plain = complaint ? strdup(complaint) : NULL;

    if (plain)
        tool_error(TOOL_OK, "%s: %s", path, text_make_plain(plain));
    free(plain);
}

/* The library's first call looks at the variables. */
static int check_environment(void)
{
    ANeuralNetworksModel *model = NULL;
    char text[512] = "";
    int code = ANeuralNetworksModel_create(&model);

    ANeuralNetworksModel_free(model);
    if (code != ANEURALNETWORKS_BAD_DATA)
        return TOOL_OK;
    nnhal_get_last_error(text, sizeof(text));
    return tool_error(TOOL_USAGE, "%s", text);
}

/* What could not be printed is a failure too: the disk of a redirection is full. */
static int flush_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return status == TOOL_OK
               ? tool_error(TOOL_BAD_FILE, "the output cannot be written: %s", strerror(errno))
               : status;
}

int main(int argc, char **argv)
{
    static char name[32]; /* what complaints begin with */

    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return TOOL_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("nnhal " NNHAL_VERSION);
        return TOOL_OK;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], name_of(commands[i])) == 0) {
            snprintf(name, sizeof(name), "%s", commands[i]->usage->program);
            program_invocation_short_name = name;
            if (check_environment() != TOOL_OK)
                return TOOL_USAGE;
            return flush_output(commands[i]->run(argc - 1, argv + 1));
        }
    fprintf(stderr, "nnhal: there is no command \"%s\"; nnhal --help lists them\n", argv[1]);
    return TOOL_USAGE;
}
