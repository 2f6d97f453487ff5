/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "tool.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tool_read_text(const struct tool_option *option, const char *text)
{
    *(const char **)option->to = text;
    return true;
}

bool tool_read_number(const struct tool_option *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= option->low && value <= option->high))
        return tool_error(TOOL_USAGE, "--%s wants a number from %.7g to %.7g, not \"%s\"",
                          option->name, option->low, option->high, text) == TOOL_OK;
    *(float *)option->to = (float)value;
    return true;
}

bool tool_read_count(const struct tool_option *option, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < 1 || (double)value > option->high)
        return tool_error(TOOL_USAGE, "--%s wants a whole number from 1 to %.0f, not \"%s\"",
                          option->name, option->high, text) == TOOL_OK;
    *(uint32_t *)option->to = (uint32_t)value;
    return true;
}

int tool_add_file(struct tool_files *files, const char *path)
{
    const char **paths = reallocarray(files->paths, files->n + 1, sizeof(*paths));

    if (!paths)
        return tool_error(TOOL_FAILED, "out of memory");
    paths[files->n++] = path;
    files->paths = paths;
    return TOOL_OK;
}

void tool_files_done(struct tool_files *files)
{
    free(files->paths);
    *files = (struct tool_files){0};
}

bool tool_read_file(const struct tool_option *option, const char *text)
{
    return tool_add_file(option->to, text) == TOOL_OK;
}

bool tool_read_mode(const struct tool_option *option, const char *text)
{
    static const char *const modes[] = {"auto", "service", "private", "embedded"};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(text, modes[i]) == 0)
            return setenv("NNHAL_MODE", text, 1) == 0;
    return tool_error(TOOL_USAGE, "--%s is auto, service, private or embedded, not \"%s\"",
                      option->name, text) == TOOL_OK;
}

int tool_parse(int argc, char **argv, const struct tool_usage *usage)
{
    struct option names[TOOL_MAX_OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    int c, index = 0;

    assert(usage->n_options <= TOOL_MAX_OPTIONS);
    for (uint32_t i = 0; i < usage->n_options; i++)
        names[i + 1] = (struct option){usage->options[i].name,
                                       usage->options[i].read ? required_argument : no_argument,
                                       NULL, 0};
    while ((c = getopt_long(argc, argv, "h", names, &index)) != -1) {
        const struct tool_option *option = c == 0 ? &usage->options[index - 1] : NULL;

        if (c == 'h') {
            fputs(usage->help, stdout);
            return -1;
        }
        if (!option || (option->read && !option->read(option, optarg)))
            return TOOL_USAGE; /* getopt or the reader has complained */
        if (!option->read)
            *(bool *)option->to = true;
    }
    if (argc - optind < usage->n_arguments ||
        (argc - optind > usage->n_arguments && !usage->takes_more))
        return tool_error(TOOL_USAGE, "%s; nnhal %s --help tells more", usage->needs, tool_name);
    return TOOL_OK;
}
