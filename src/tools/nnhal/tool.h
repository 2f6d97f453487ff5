/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - what the commands of nnhal share
 *
 * Each command is a function of its arguments (argv[0] is its name) that returns
 * the exit status of the program, and a table of what they may be. */
#ifndef NN_TOOLS_NNHAL_TOOL_H
#define NN_TOOLS_NNHAL_TOOL_H

#include "options/options.h"

/* Beside TOOL_OK and TOOL_USAGE. */
enum tool_exit {
    TOOL_BAD_FILE = 1,  /* a model, picture or other file cannot be used */
    TOOL_NO_DEVICE = 3, /* no such device, or none that runs the model */
    TOOL_FAILED = 4,    /* compiling or executing failed */
};

struct tool_command {
    const struct tool_usage *usage;
    int (*run)(int argc, char **argv);
};

extern const struct tool_command cmd_bench, cmd_cache, cmd_devices, cmd_explain, cmd_info, cmd_run,
    cmd_serve;

/* tool_complain() - a complaint of the model's metadata, if there is one, on standard error. */
struct nnhal_tflite_info;
void tool_complain(const struct nnhal_tflite_info *info, const char *path);

#endif
