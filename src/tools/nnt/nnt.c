/* SPDX-License-Identifier: Apache-2.0 */
/* nnt.c - the runner of conformance vectors: files of models through the NNAPI */
#include "json.h"
#include "path.h"
#include "try.h"
#include "variant.h"

#include "options/options.h"
#include "text/plain.h"

#include <nnhal/ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nnt_options {
    enum nnt_variant variant;
    enum nnt_path path;
    const char *device;
    const char *against;
    uint32_t n_split;   /* 0: one device computes a model */
    const char *name;   /* only models whose name contains it */
    uint32_t n_threads; /* that run each model at a time; 0: this one alone */
    uint32_t n_reuses;
    bool is_json;
};

struct nnt_counts {
    unsigned n_of[NNT_OUTCOME_N]; /* by enum nnt_outcome */
};

#define TOOL_VALUES struct nnt_options
static const struct tool_usage usage = {
#include "options/nnt.def"
};

/* -- what is printed -- */

static void print_failure(const struct nnt_options *options, const char *file, const char *model,
                          const char *what)
{
    if (!options->is_json) {
        text_print(file);
        printf(": ");
        text_print(model);
        printf(": ");
        text_print(what);
        putchar('\n');
        return;
    }
    printf("{\"file\": ");
    nnt_print_json_string(file);
    printf(", \"model\": ");
    nnt_print_json_string(model);
    printf(", \"failed\": ");
    nnt_print_json_string(what);
    printf("}\n");
}

static void print_counts(const struct nnt_options *options, const char *file,
                         const struct nnt_counts *counts)
{
    const unsigned *n = counts->n_of;

    if (options->is_json) {
        printf("{");
        if (file) {
            printf("\"file\": ");
            nnt_print_json_string(file);
            printf(", ");
        }
        printf("\"n_passed\": %u, \"n_failed\": %u, \"n_skipped\": %u, \"n_unsupported\": %u}\n",
               n[NNT_PASSED], n[NNT_FAILED], n[NNT_SKIPPED], n[NNT_UNSUPPORTED]);
    } else {
        text_print(file ? file : "");
        printf("%s%u passed, %u failed, %u skipped", file ? ": " : "", n[NNT_PASSED], n[NNT_FAILED],
               n[NNT_SKIPPED]);
        if (options->device)
            printf(", %u unsupported", n[NNT_UNSUPPORTED]);
        putchar('\n');
    }
    fflush(stdout);
}

/* -- files -- */

/* try_model() - one model, if the options select it. */
static void try_model(const struct nnt_options *options, struct nnt_run *run, struct nnt_file *file,
                      const char *path, struct nnt_model *model, struct nnt_counts *counts)
{
    enum nnt_outcome outcome = nnt_try_model(run, options->variant, options->n_threads, file,
                                             model);

    counts->n_of[outcome]++;
    if (outcome == NNT_FAILED)
        print_failure(options, path, model->name, run->what);
}

static void run_file(const struct nnt_options *options, struct nnt_run *run, const char *path,
                     struct nnt_counts *total)
{
    struct nnt_file file;
    struct nnt_model model;
    struct nnt_counts counts = {0};
    bool is_open = nnt_file_open(&file, path);
    int r = -1;

    while (is_open && (r = nnt_file_next(&file, &model)) > 0)
        if (!options->name || strstr(model.name, options->name))
            try_model(options, run, &file, path, &model, &counts);
    /* What cannot be read was not run: that is a failure. */
    if (r < 0) {
        print_failure(options, path, "the file", file.error);
        counts.n_of[NNT_FAILED]++;
    }
    nnt_file_close(&file);
    print_counts(options, path, &counts);
    for (int i = 0; i < NNT_OUTCOME_N; i++)
        total->n_of[i] += counts.n_of[i];
}

/* find_device() - Returns: the device of that name, NULL, with a sentence, if there is none. */
static const ANeuralNetworksDevice *find_device(const char *wanted)
{
    const ANeuralNetworksDevice *device = nnt_find_device(wanted);

    if (!device)
        tool_error(TOOL_USAGE, "there is no device \"%s\"; nnhal devices lists them", wanted);
    return device;
}

/* -- the command line -- */

/* set_split() - the rule by which drivers for tests deal operations, and where they lie. */
static bool set_split(const struct nnt_options *options)
{
    char text[4096] = "";
    char *name = NULL;

    if (options->n_split == 0)
        return true;
    snprintf(text, sizeof(text), "*:deal=%u", options->n_split);
    if (setenv("NN_TEST_PARTIAL", text, 0) != 0)
        return false;
    if (readlink("/proc/self/exe", text, sizeof(text) - sizeof("test-drivers")) > 0)
        name = strrchr(text, '/');
    if (!name)
        return false;
    strcpy(name + 1, "test-drivers");
    return setenv("NNHAL_DRIVER_PATH", text, 0) == 0;
}

/* The devices that share the operations. Returns: false, with a sentence, if one is missing. */
static bool find_split(const struct nnt_options *options, struct nnt_run *run)
{
    char name[32];

    for (uint32_t i = 0; i < options->n_split; i++) {
        snprintf(name, sizeof(name), "partial-%u", i);
        run->split[i] = find_device(name);
        if (!run->split[i])
            return false;
    }
    run->n_split = options->n_split;
    return true;
}

/* Whether the library can be used in this environment. */
static bool check_library(void)
{
    char why[512] = "";
    uint32_t n;

    if (ANeuralNetworks_getDeviceCount(&n) == ANEURALNETWORKS_NO_ERROR)
        return true;
    nnhal_get_last_error(why, sizeof(why));
    return tool_error(TOOL_USAGE, "%s", text_make_plain(why)) == TOOL_OK;
}

int main(int argc, char **argv)
{
    struct nnt_options options = {0};
    struct nnt_run run = {0};
    struct nnt_counts total = {0};
    unsigned n_models = 0;
    int status = tool_parse(argc, argv, &usage, &options);

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (!set_split(&options) || !check_library())
        return TOOL_USAGE;
    run.path = options.path;
    run.n_reuses = options.n_reuses;
    if (options.device && !(run.device = find_device(options.device)))
        return TOOL_USAGE;
    if (!find_split(&options, &run))
        return TOOL_USAGE;
    if (options.against && !(run.against = find_device(options.against)))
        return TOOL_USAGE;
    for (int i = optind; i < argc; i++)
        run_file(&options, &run, argv[i], &total);
    if (options.path == NNT_CACHED && !options.is_json)
        printf("%u came from the cache\n", run.n_from_cache);
    if (options.n_split > 0 && !options.is_json)
        printf("%u in parts\n", run.n_in_parts);
    for (int i = 0; i < NNT_OUTCOME_N; i++)
        n_models += total.n_of[i];
    if (options.name && n_models == 0)
        return tool_error(TOOL_USAGE, "no model's name contains \"%s\"", options.name);
    print_counts(&options, NULL, &total);
    return total.n_of[NNT_FAILED] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
