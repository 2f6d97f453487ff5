/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - what the commands of nnhal share
 *
 * Each command is a function of its arguments (argv[0] is its name) that returns
 * the exit status of the program. */
#ifndef NN_TOOLS_NNHAL_TOOL_H
#define NN_TOOLS_NNHAL_TOOL_H

enum tool_exit {
    TOOL_OK = 0,
    TOOL_BAD_FILE = 1,  /* a model, picture or other file cannot be used */
    TOOL_USAGE = 2,     /* the command line is wrong */
    TOOL_NO_DEVICE = 3, /* no such device, or none that runs the model */
    TOOL_FAILED = 4,    /* compiling or executing failed */
};

struct tool_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

int cmd_cache(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* tool_error() - one line on standard error: "nnhal COMMAND: text". Returns status. */
int tool_error(int status, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

/* tool_complain() - a complaint of the model's metadata, if there is one, on standard error. */
struct nnhal_tflite_info;
void tool_complain(const struct nnhal_tflite_info *info, const char *path);

/* tool_name - the command that runs, for tool_error(). */
extern const char *tool_name;

#endif
