/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal.c - the nnhal program: finds the command and runs it */
#include "text.h"
#include "tool.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>
#include <nnhal/tflite-info.h>
#include <nnhal/version.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tool_name = "";

static const struct tool_command commands[] = {
    {"devices", "list the devices and how they are reached", cmd_devices},
    {"info", "tell what is in a .tflite model", cmd_info},
    {"run", "run a .tflite model on files or pictures", cmd_run},
    {"bench", "measure how fast a .tflite model runs", cmd_bench},
    {"cache", "show, check or clear a folder of compiled models", cmd_cache},
    {"serve", "offer a driver to other programs", cmd_serve},
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *to)
{
    fputs("usage: nnhal COMMAND [OPTION]...\n\n", to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\nnnhal COMMAND --help tells more. Exit status: 0 done, 1 a file cannot be used,\n"
          "2 wrong usage, 3 no such device, 4 compiling or executing failed.\n",
          to);
}

int tool_error(int status, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "nnhal %s: ", tool_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
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
    char name[32];

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
        if (strcmp(argv[1], commands[i].name) == 0) {
            tool_name = commands[i].name;
            snprintf(name, sizeof(name), "nnhal %s", tool_name); /* as getopt complains */
            argv[1] = name;
            if (check_environment() != TOOL_OK)
                return TOOL_USAGE;
            return flush_output(commands[i].run(argc - 1, argv + 1));
        }
    fprintf(stderr, "nnhal: there is no command \"%s\"; nnhal --help lists them\n", argv[1]);
    return TOOL_USAGE;
}
