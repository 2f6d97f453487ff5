/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-cts.c - whether a driver keeps to the interface, in one report */
#include "judge.h"
#include "nnt/folder.h"
#include "options/options.h"
#include "stop.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cts_arguments {
    const char *driver, *device, *vectors;
    uint32_t section; /* its number; n_sections: all */
    uint32_t patience_s;
    bool is_json;
};

#define TOOL_VALUES struct cts_arguments
static const struct tool_usage usage = {
#include "options/cts.def"
};

/* In the order of the choices of --section. */
static const struct cts_section sections[] = {
    {"table", true, cts_table},
    {"operations", false, cts_operations},
    {"paths", false, cts_paths},
    {"forms", false, cts_forms},
    {"reuse", false, cts_reuse},
    {"threads", false, cts_threads},
    {"state", false, cts_state},
    {"shapes", false, cts_shapes},
    {"values", false, cts_values},
    {"deadlines", false, cts_deadlines},
    {"cancellation", true, cts_cancellation},
    {"cache", false, cts_cache},
    {"domains", false, cts_domains},
    {"leaks", false, cts_leaks},
    {"faults", true, cts_faults},
};

/* Checks that did not end, of all sections: then the rest is given up. */
enum { MAX_SILENT = 6 };
static const unsigned n_sections = sizeof(sections) / sizeof(sections[0]);

/* -- the report -- */

static unsigned checks_of(const struct cts_tally *tally)
{
    return tally->n_of[NNT_PASSED] + tally->n_of[NNT_FAILED] + tally->n_of[NNT_UNSUPPORTED];
}

static void print_counts(const struct cts_options *options, const char *section,
                         const struct cts_tally *tally)
{
    const unsigned *n = tally->n_of;

    if (options->is_json)
        printf(
            "{%s%s%s\"n_checks\": %u, \"n_passed\": %u, \"n_failed\": %u, \"n_unsupported\": %u}\n",
            section ? "\"section\": \"" : "", section ? section : "", section ? "\", " : "",
            checks_of(tally), n[NNT_PASSED], n[NNT_FAILED], n[NNT_UNSUPPORTED]);
    else if (section)
        printf("%-13s %4u passed, %u failed, %u unsupported\n", section, n[NNT_PASSED],
               n[NNT_FAILED], n[NNT_UNSUPPORTED]);
    else
        printf("%u checks: %u passed, %u failed, %u unsupported\n", checks_of(tally), n[NNT_PASSED],
               n[NNT_FAILED], n[NNT_UNSUPPORTED]);
    fflush(stdout);
}

static bool is_chosen(const struct cts_options *options, const struct cts_section *section)
{
    if (section->is_direct && !options->driver)
        return false;
    if (!options->device[0])
        return section == &sections[0]; /* it says why there is no device */
    return !options->section || strcmp(options->section, section->name) == 0;
}

static void add(struct cts_tally *total, const struct cts_tally *tally)
{
    for (int i = 0; i < NNT_OUTCOME_N; i++)
        total->n_of[i] += tally->n_of[i];
    total->n_silent += tally->n_silent;
}

/* The table tells what the device is called. What else is to be said of it was not asked for. */
static void learn_device(struct cts_options *options)
{
    struct cts_options quiet = *options;
    struct cts_tally tally = {.n_silent = 0};

    quiet.is_quiet = true;
    cts_judge(&quiet, &sections[0], &tally);
    memcpy(options->device, quiet.device, sizeof(options->device));
}

static int report(struct cts_options *options)
{
    struct cts_tally total = {.n_silent = 0};

    if (options->section && options->driver && strcmp(options->section, "table") != 0)
        learn_device(options);
    for (unsigned i = 0; i < n_sections && !cts_is_stopped(options->stop_fd); i++) {
        struct cts_tally tally = {.n_silent = 0};

        if (!is_chosen(options, &sections[i]))
            continue;
        if (total.n_silent >= MAX_SILENT) {
            cts_give_up(options, &sections[i], &total);
            break;
        }
        cts_judge(options, &sections[i], &tally);
        print_counts(options, sections[i].name, &tally);
        add(&total, &tally);
    }
    print_counts(options, NULL, &total);
    if (checks_of(&total) == 0)
        return 2;
    return total.n_of[NNT_FAILED] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* -- the command line -- */

/* Returns: TOOL_OK, TOOL_USAGE with a sentence, or TOOL_HELPED after --help. */
static int arguments_parse(int argc, char **argv, struct cts_options *options)
{
    struct cts_arguments given = {.section = n_sections, .patience_s = options->patience_s};
    int status = tool_parse(argc, argv, &usage, &given);

    if (status != TOOL_OK)
        return status;
    if (!given.driver == !given.device)
        return tool_error(TOOL_USAGE,
                          "it wants --driver FILE.so or --device DEVICE; %s --help tells "
                          "more",
                          usage.program);
    options->driver = given.driver;
    if (given.device)
        snprintf(options->device, sizeof(options->device), "%s", given.device);
    options->section = given.section < n_sections ? sections[given.section].name : NULL;
    options->vectors = given.vectors;
    options->patience_s = given.patience_s;
    options->is_json = given.is_json;
    return TOOL_OK;
}

/* -- where things lie -- */

static bool complain(const char *sentence, const char *subject)
{
    return tool_error(TOOL_USAGE, "%s%s", subject, sentence) == TOOL_OK;
}

/* The library is to find this driver, and what lies beside it. The file itself may be a link to
 * elsewhere. Returns: false, with a sentence. */
static bool set_driver(struct cts_options *options, char path[PATH_MAX])
{
    const char *given = options->driver, *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    char folder[PATH_MAX];

    if (strncmp(name, "libnnhal-driver-", strlen("libnnhal-driver-")) != 0)
        return complain(": a driver is called libnnhal-driver-NAME.so", given);
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash + 1 - given) : 1,
             slash ? given : ".");
    if (!realpath(folder, path) || setenv("NNHAL_DRIVER_PATH", path, 1) != 0 ||
        !realpath(given, path))
        return complain(": there is no such file", given);
    options->driver = path;
    return true;
}

/* Beside the program, where it is built, or where they were installed. */
static bool find_vectors(struct cts_options *options, char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("conformance.nnt") - 1);
    char *name;

    path[n > 0 ? n : 0] = '\0';
    name = strrchr(path, '/');
    if (name)
        strcpy(name + 1, "conformance.nnt");
    if (!options->vectors)
        options->vectors = access(path, R_OK) == 0 ? path : CTS_VECTORS;
    return access(options->vectors, R_OK) == 0 ||
           complain(": there is no such file of vectors", options->vectors);
}

/* Also what a process leaves that crashed lies there, and goes with the rest; so it does when the user
 * ends the program. */
static bool set_folder(struct cts_options *options, char folder[NNT_FOLDER_BYTES])
{
    options->folder = folder;
    options->stop_fd = cts_stop_open();
    return nnt_folder_make(folder) && setenv("NNHAL_STATE_PATH", folder, 1) == 0 &&
           setenv("TMPDIR", folder, 1) == 0;
}

int main(int argc, char **argv)
{
    struct cts_options options = {.patience_s = 60};
    char driver[PATH_MAX], vectors[PATH_MAX], folder[NNT_FOLDER_BYTES];
    int status;

    setenv("NNHAL_MODE", "embedded", 0);
    status = arguments_parse(argc, argv, &options);
    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (!find_vectors(&options, vectors) || (options.driver && !set_driver(&options, driver)))
        return TOOL_USAGE;
    if (!set_folder(&options, folder)) {
        complain("there is no room for a folder of its own", "");
        return 2;
    }
    status = report(&options);
    nnt_folder_remove(folder);
    cts_stop_normally(options.stop_fd);
    return status;
}
