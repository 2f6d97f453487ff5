/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal.h - the subcommands of nnhal
 *
 * Each is one file, nnhal-NAME.c, and one entry in nnhal.c's table. A command
 * gets its own name as argv[0], answers --help on standard output, and returns
 * the exit status. */
#ifndef NNHAL_TOOLS_NNHAL_H
#define NNHAL_TOOLS_NNHAL_H

enum {
    NNHAL_EXIT_OK = 0,
    NNHAL_EXIT_FAILED = 1, /* what was asked for could not be done */
    NNHAL_EXIT_USAGE = 2,  /* it was not understood */
};

int nnhal_devices(int argc, char **argv);
int nnhal_serve_command(int argc, char **argv);

/* nnhal_set_mode() - how devices are reached, as NNHAL_MODE has it; before the
 * first call of Android's API.
 * Returns: 0; NNHAL_EXIT_USAGE, having said why. */
int nnhal_set_mode(const char *mode);

/* nnhal_print_json_string() - with quotes and escapes. */
void nnhal_print_json_string(const char *text);

#endif
