/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of a command, as a table */
#ifndef NN_TOOLS_NNHAL_OPTIONS_H
#define NN_TOOLS_NNHAL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* An option, how its argument is read, and where the value goes. */
struct tool_option {
    const char *name; /* without "--" */
    /* NULL: there is no argument, and *(bool *)to becomes true. Returns whether text is a value
     * of the kind; otherwise the complaint has been printed. */
    bool (*read)(const struct tool_option *option, const char *text);
    void *to;
    double low, high; /* of a number; of a count the high end, it begins at 1 */
};

enum { TOOL_MAX_OPTIONS = 16 };

/* The values of an option that may be given many times. */
struct tool_files {
    const char **paths; /* malloc'ed; each is borrowed */
    uint32_t n;
};

bool tool_read_text(const struct tool_option *option, const char *text);   /* const char ** */
bool tool_read_number(const struct tool_option *option, const char *text); /* float * */
bool tool_read_count(const struct tool_option *option, const char *text);  /* uint32_t * */
bool tool_read_file(const struct tool_option *option, const char *text);   /* struct tool_files * */

/* tool_add_file() - one more. Returns: TOOL_OK, or TOOL_FAILED with the complaint printed. */
int tool_add_file(struct tool_files *files, const char *path);
void tool_files_done(struct tool_files *files);

/* tool_read_mode() - auto, service, private or embedded: sets NNHAL_MODE before the library
 * reads it; to is not used. */
bool tool_read_mode(const struct tool_option *option, const char *text);

/* What a command line may say. */
struct tool_usage {
    const char *help; /* printed for --help */
    const struct tool_option *options;
    uint32_t n_options;
    int n_arguments;   /* those that are no options */
    const char *needs; /* the complaint if there are more or fewer of them */
    bool takes_more;   /* of the arguments */
};

/* tool_parse() - reads all options. argv is permuted: the arguments stand from argv[optind] on.
 * Returns: TOOL_OK, TOOL_USAGE with the complaint printed, or -1 after --help. */
int tool_parse(int argc, char **argv, const struct tool_usage *usage);

#endif
