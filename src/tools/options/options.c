/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long() tells a row by FIRST_ROW and its number, and its short form by the letter. */
enum { MAX_ROWS = 40, FIRST_ROW = 256 };

int tool_error(int status, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

/* -- values ------------------------------------------------------------------------------- */

bool tool_read_text(const struct tool_option *option, const char *text, void *to)
{
    *(const char **)to = text;
    return true;
}

bool tool_read_number(const struct tool_option *option, const char *text, void *to)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= option->low && value <= option->high))
        return tool_error(TOOL_USAGE, "--%s wants a number from %.7g to %.7g, not \"%s\"",
                          option->name, option->low, option->high, text) == TOOL_OK;
    *(float *)to = (float)value;
    return true;
}

bool tool_read_count(const struct tool_option *option, const char *text, void *to)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || (double)value < option->low ||
        (double)value > option->high)
        return tool_error(TOOL_USAGE, "--%s wants a whole number from %.0f to %.0f, not \"%s\"",
                          option->name, option->low, option->high, text) == TOOL_OK;
    *(uint32_t *)to = (uint32_t)value;
    return true;
}

/* The number of text among words that '|' separates, or -1. */
static int find_choice(const char *choices, const char *text)
{
    size_t n_text = strlen(text), n;

    for (int i = 0;; i++) {
        n = strcspn(choices, "|");
        if (n == n_text && memcmp(choices, text, n) == 0)
            return i;
        if (!choices[n])
            return -1;
        choices += n + 1;
    }
}

/* "one, two or three" into text. */
static void put_choices(const char *choices, char *text, size_t size)
{
    size_t at = 0;

    for (;;) {
        size_t n = strcspn(choices, "|");
        bool is_last = !choices[n];
        const char *before = at == 0 ? "" : is_last ? " or " : ", ";
        int put = snprintf(text + at, size - at, "%s%.*s", before, (int)n, choices);

        if (is_last || put < 0 || (size_t)put >= size - at)
            return;
        at += (size_t)put;
        choices += n + 1;
    }
}

bool tool_read_choice(const struct tool_option *option, const char *text, void *to)
{
    int choice = find_choice(option->choices, text);
    char all[512];

    if (choice < 0) {
        put_choices(option->choices, all, sizeof(all));
        return tool_error(TOOL_USAGE, "--%s is %s, not \"%s\"", option->name, all, text) == TOOL_OK;
    }
    *(uint32_t *)to = (uint32_t)choice;
    return true;
}

bool tool_read_mode(const struct tool_option *option, const char *text, void *to)
{
    uint32_t mode;

    return tool_read_choice(option, text, &mode) && setenv("NNHAL_MODE", text, 1) == 0;
}

bool tool_add_file(struct tool_files *files, const char *path)
{
    const char **paths = reallocarray(files->paths, files->n + 1, sizeof(*paths));

    if (!paths)
        return tool_error(TOOL_USAGE, "out of memory") == TOOL_OK;
    paths[files->n++] = path;
    files->paths = paths;
    return true;
}

void tool_files_done(struct tool_files *files)
{
    free(files->paths);
    *files = (struct tool_files){0};
}

bool tool_read_file(const struct tool_option *option, const char *text, void *to)
{
    return tool_add_file(to, text);
}

int tool_find_word(const struct tool_usage *usage, const char *text)
{
    int n = 0;

    for (const struct tool_option *row = usage->options; row->sentence; row++) {
        if (row->is_word && strcmp(row->name, text) == 0)
            return n;
        n += row->is_word;
    }
    return tool_error(-1, "there is no \"%s\"; %s --help lists what there is", text,
                      usage->program);
}

/* -- the command line ------------------------------------------------------------------------ */

static bool is_option(const struct tool_option *row)
{
    return row->name && !row->is_word;
}

/* The rows as getopt_long() wants them; ret_letters begins with ':', which makes it quiet. */
static void list_options(const struct tool_usage *usage, struct option *ret_names,
                         char *ret_letters)
{
    *ret_letters++ = ':';
    for (int i = 0; usage->options[i].sentence; i++) {
        const struct tool_option *row = &usage->options[i];

        if (!is_option(row))
            continue;
        *ret_names++ = (struct option){row->name, row->argument ? required_argument : no_argument,
                                       NULL, FIRST_ROW + i};
        if (row->letter)
            *ret_letters++ = row->letter;
        if (row->letter && row->argument)
            *ret_letters++ = ':';
    }
    *ret_names = (struct option){0};
    *ret_letters = '\0';
}

/* The row that getopt_long() found, NULL if there is none. */
static const struct tool_option *find_row(const struct tool_usage *usage, int found)
{
    if (found >= FIRST_ROW)
        return &usage->options[found - FIRST_ROW];
    for (const struct tool_option *row = usage->options; row->sentence; row++)
        if (found && is_option(row) && row->letter == found)
            return row;
    return NULL;
}

/* Whether more than one long name begins with these n characters. */
static bool is_ambiguous(const struct tool_usage *usage, const char *word, size_t n)
{
    int n_rows = 0;

    for (const struct tool_option *row = usage->options; row->sentence; row++)
        n_rows += is_option(row) && strncmp(row->name, word, n) == 0;
    return n_rows > 1;
}

/* What getopt_long() did not like: '?', or ':' for an argument that is missing. */
static int refuse_option(const struct tool_usage *usage, int what, const char *word)
{
    const struct tool_option *row = find_row(usage, optopt);
    size_t n = strcspn(word, "=");

    if (row && what == ':')
        return tool_error(TOOL_USAGE, "--%s wants %s behind it; %s --help tells more", row->name,
                          row->argument, usage->program);
    if (row)
        return tool_error(TOOL_USAGE, "--%s takes no argument; %s --help tells more", row->name,
                          usage->program);
    if (optopt)
        return tool_error(TOOL_USAGE, "there is no option -%c; %s --help lists those there are",
                          optopt, usage->program);
    if (n > 2 && is_ambiguous(usage, word + 2, n - 2))
        return tool_error(TOOL_USAGE, "%.*s begins more than one option; %s --help lists them",
                          (int)n, word, usage->program);
    return tool_error(TOOL_USAGE, "there is no option %s; %s --help lists those there are", word,
                      usage->program);
}

static int parse_options(int argc, char **argv, const struct tool_usage *usage, uint8_t *ret_values)
{
    struct option names[MAX_ROWS + 1];
    char letters[2 * MAX_ROWS + 2];
    int found;

    list_options(usage, names, letters);
    while ((found = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const struct tool_option *row = find_row(usage, found);

        if (!row)
            return refuse_option(usage, found, argv[optind - 1]);
        if (row->letter == 'h') {
            tool_print_help(usage);
            return TOOL_HELPED;
        }
        if (row->read && !row->read(row, optarg, ret_values + row->offset))
            return TOOL_USAGE;
        if (!row->read)
            *(bool *)(ret_values + row->offset) = true;
    }
    return TOOL_OK;
}

int tool_parse(int argc, char **argv, const struct tool_usage *usage, void *ret_values)
{
    int n_rows = 0, status;

    while (usage->options[n_rows].sentence)
        n_rows++;
    assert(n_rows <= MAX_ROWS);
    status = parse_options(argc, argv, usage, ret_values);
    if (status == TOOL_OK && argc - optind < usage->least)
        return tool_error(TOOL_USAGE, "it wants %s; %s --help tells more", usage->arguments,
                          usage->program);
    if (status == TOOL_OK && argc - optind > usage->most)
        return tool_error(TOOL_USAGE, "\"%s\" is too much: it wants %s; %s --help tells more",
                          argv[optind + usage->most], usage->arguments, usage->program);
    return status;
}

/* -- help -------------------------------------------------------------------------------------- */

enum { HELP_COLUMNS = 80, HELP_INDENT = 21 };

/* A paragraph from column `at` on, indented by so many behind its first line. */
static void print_words(const char *words, int at, int indent)
{
    for (bool is_first = true; *words; is_first = false) {
        int n = (int)strcspn(words, " ");

        if (!is_first && at + 1 + n >= HELP_COLUMNS) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (!is_first) {
            putchar(' ');
            at++;
        }
        printf("%.*s", n, words);
        at += n;
        words += n + (words[n] == ' ');
    }
    putchar('\n');
}

static void print_row(const struct tool_option *row)
{
    char letter[] = {'-', row->letter, ',', ' ', '\0'}, text[1024], choices[512] = "";
    int at = row->is_word ? printf("  %s", row->name)
                          : printf("  %s--%s%s%s", row->letter ? letter : "    ", row->name,
                                   row->argument ? " " : "", row->argument ? row->argument : "");

    if (at >= HELP_INDENT - 1) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", HELP_INDENT - at, "");
    if (row->choices)
        put_choices(row->choices, choices, sizeof(choices));
    snprintf(text, sizeof(text), "%s%s%s", row->sentence, *choices ? ": " : "", choices);
    print_words(text, HELP_INDENT, HELP_INDENT);
}

void tool_print_help(const struct tool_usage *usage)
{
    bool is_blank = true; /* the line above */

    printf("usage: %s %s\n\n%c", usage->program, usage->arguments, toupper(usage->summary[0]));
    print_words(usage->summary + 1, 1, 0);
    putchar('\n');
    for (const struct tool_option *row = usage->options; row->sentence; row++) {
        bool is_title = !row->name && row->sentence[strlen(row->sentence) - 1] == ':';

        if (!row->name && !is_blank)
            putchar('\n');
        if (row->name)
            print_row(row);
        else
            print_words(row->sentence, 0, 0);
        is_blank = !row->name && !is_title;
        if (is_blank && row[1].sentence)
            putchar('\n');
    }
}
