/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what a command line may say, as one table
 *
 * Each command has a file of rows, which is included where the command is:
 *
 *     static const struct tool_usage usage = {
 *     #include "options/run.def"
 *     };
 *
 * Its values are members of a struct, which the file that includes it names as TOOL_VALUES.
 * Parsing, --help, the manual page and the completions of shells come from these rows:
 * scripts/options.py reads the same file. Rows are
 *
 *     COMMAND(program, arguments, least, most, summary)  the first: how many arguments are no options
 *     SAYS(paragraph)                                    for --help
 *     GROUP(title)                                       of the options below it
 *     WORD(word, sentence)                               of the first argument's
 *     OPTION(name, letter, argument, kind, member, sentence)
 *     MODE, JSON, HELP                                   options that many commands have
 *     END                                                the last
 *
 * The name of an argument says what a shell completes: DEVICE a device, DIR a folder, FILE a file,
 * and FILE.tflite or MODEL.tflite one that ends so. */
#ifndef NN_TOOLS_OPTIONS_OPTIONS_H
#define NN_TOOLS_OPTIONS_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit statuses that all programs share, and what tool_parse() returns for --help. */
enum { TOOL_HELPED = -1, TOOL_OK = 0, TOOL_USAGE = 2 };

/* A row. One without a name is a paragraph. */
struct tool_option {
    const char *name;     /* without "--" */
    char letter;          /* of the short form; 0: there is none */
    bool is_word;         /* of the first argument, not an option */
    const char *argument; /* what it is called; NULL: there is none, and the value is a bool */
    const char *sentence; /* without its end */
    /* Reads text into *to. Returns: false, the complaint printed, if it is no value of the kind. */
    bool (*read)(const struct tool_option *option, const char *text, void *to);
    size_t offset;       /* of the value */
    double low, high;    /* of a number */
    const char *choices; /* separated by '|' */
};

struct tool_usage {
    const char *program;   /* with its command */
    const char *arguments; /* behind it, as --help shows them */
    int least, most;       /* of the arguments that are no options */
    const char *summary;
    const struct tool_option *options; /* up to one without a sentence */
};

enum { TOOL_ANY = INT_MAX };

/* The values of an option that may be given many times. */
struct tool_files {
    const char **paths; /* malloc'ed; each is borrowed */
    uint32_t n;
};

/* The kinds of values, and the types of their members. */
#define FLAG                .read = NULL           /* bool */
#define TEXT                .read = tool_read_text /* const char * */
#define FILES               .read = tool_read_file /* struct tool_files */
#define NUMBER(least, most) .read = tool_read_number, .low = least, .high = most /* float */
#define COUNT(least, most)  .read = tool_read_count, .low = least, .high = most  /* uint32_t */
#define CHOICE(words)       .read = tool_read_choice, .choices = words /* uint32_t: which */

#define COMMAND(PROGRAM, ARGUMENTS, LEAST, MOST, SUMMARY)                                          \
    .program = PROGRAM, .arguments = ARGUMENTS, .least = LEAST, .most = MOST, .summary = SUMMARY,  \
    .options = (const struct tool_option[])                                                        \
    {
#define SAYS(TEXT_)          {.sentence = TEXT_},
#define GROUP(TITLE)         {.sentence = TITLE ":"},
#define WORD(NAME, SENTENCE) {.name = NAME, .is_word = true, .sentence = SENTENCE},
#define OPTION(NAME, LETTER, ARGUMENT, KIND, MEMBER, SENTENCE)                                     \
    {.name = NAME,                                                                                 \
     .letter = LETTER,                                                                             \
     .argument = ARGUMENT,                                                                         \
     .sentence = SENTENCE,                                                                         \
     .offset = offsetof(TOOL_VALUES, MEMBER),                                                      \
     KIND},
#define MODE                                                                                       \
    {.name = "mode",                                                                               \
     .letter = 'm',                                                                                \
     .argument = "MODE",                                                                           \
     .sentence = "how drivers are reached",                                                        \
     .read = tool_read_mode,                                                                       \
     .choices = "auto|service|private|embedded"},
#define JSON OPTION("json", 'j', NULL, FLAG, is_json, "print JSON")
#define HELP {.name = "help", .letter = 'h', .sentence = "print this"},
#define END                                                                                        \
    {                                                                                              \
    }                                                                                              \
    }                                                                                              \
    ,

bool tool_read_text(const struct tool_option *option, const char *text, void *to);
bool tool_read_number(const struct tool_option *option, const char *text, void *to);
bool tool_read_count(const struct tool_option *option, const char *text, void *to);
bool tool_read_choice(const struct tool_option *option, const char *text, void *to);
bool tool_read_file(const struct tool_option *option, const char *text, void *to);
/* tool_read_mode() - sets NNHAL_MODE before the library reads it; to is not used. */
bool tool_read_mode(const struct tool_option *option, const char *text, void *to);

/* tool_add_file() - one more. Returns: false, the complaint printed, if memory is short. */
bool tool_add_file(struct tool_files *files, const char *path);
void tool_files_done(struct tool_files *files);

/* tool_parse() - reads all options into *ret_values, the command's TOOL_VALUES, which has the values of
 * those that are not given. argv is permuted: the arguments stand from argv[optind] on.
 * Returns: TOOL_OK, TOOL_USAGE with the complaint printed, or TOOL_HELPED after --help. */
int tool_parse(int argc, char **argv, const struct tool_usage *usage, void *ret_values);

/* tool_find_word() - which of the words of the first argument text is. Returns: -1, the complaint
 * printed, if it is none. */
int tool_find_word(const struct tool_usage *usage, const char *text);

/* tool_print_help() - what --help prints. */
void tool_print_help(const struct tool_usage *usage);

/* tool_error() - one line on standard error, behind what the program calls itself
 * (program_invocation_short_name). Returns: status. */
int tool_error(int status, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

#endif
