/* SPDX-License-Identifier: Apache-2.0 */
/* nnt.c - the runner of conformance vectors: files of models through the NNAPI */
#include "json.h"
#include "path.h"
#include "try.h"
#include "variant.h"

#include <nnhal/ext.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of executions and threads. */
#define MAX_TIMES 1000

struct nnt_options {
    enum nnt_variant variant;
    enum nnt_path path;
    const char *device;
    const char *against;
    uint32_t n_split;   /* 0: one device computes a model */
    const char *name;   /* only models whose name contains it */
    unsigned n_threads; /* that run each model at a time; 0: this one alone */
    unsigned n_reuses;
    bool is_json;
};

struct nnt_counts {
    unsigned n_of[NNT_OUTCOME_N]; /* by enum nnt_outcome */
};

static const char usage[] =
    "usage: nnt [OPTION]... FILE.nnt...\n"
    "Runs the models of conformance vectors and compares what comes out.\n"
    "\n"
    "  --mode MODE        how devices are reached: embedded, private, service (NNHAL_MODE)\n"
    "  --path PATH        how models are run: sync (as if given), async,\n"
    "                     cached (compiled, dropped, and compiled from the cache),\n"
    "                     domain (arguments in memories of the device),\n"
    "                     burst (twice on a burst), blob (constants and arguments in\n"
    "                     hardware buffers), fd-offset (at odd offsets of files),\n"
    "                     fenced (twice, the second when the fence of the first signals),\n"
    "                     guarded (in a file of which nothing but outputs may change)\n"
    "  --variant VARIANT  the form of the models: plain (as if given), dynamic-output,\n"
    "                     signed, open-shapes\n"
    "  --device NAME      this device; else the runtime chooses\n"
    "  --split N          each operation on one of N devices, at random: of the drivers for\n"
    "                     tests that lie in test-drivers beside nnt, or NNHAL_DRIVER_PATH\n"
    "  --against NAME     compare with the results of that device: integers exactly,\n"
    "                     floats within the tolerances\n"
    "  --name TEXT        only models whose name contains TEXT\n"
    "  --reuse N          each model is executed N times, by one reusable execution\n"
    "  --threads N        each model is run on N threads at a time\n"
    "  --json             one object per line\n"
    "\n"
    "One line for each model that fails, one for each file, and at last\n"
    "N passed, N failed, N skipped; with --device also N unsupported: models that the device\n"
    "had said it cannot do. The exit status is 0 if none failed.\n";

/* -- what is printed -- */

static void print_failure(const struct nnt_options *options, const char *file, const char *model,
                          const char *what)
{
    if (!options->is_json) {
        printf("%s: %s: %s\n", file, model, what);
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
        printf("%s%s%u passed, %u failed, %u skipped", file ? file : "", file ? ": " : "",
               n[NNT_PASSED], n[NNT_FAILED], n[NNT_SKIPPED]);
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
        fprintf(stderr, "nnt: there is no device '%s'\n", wanted);
    return device;
}

/* -- the command line -- */

/* find_name() - the number of a name among n, which name_of tells. Returns: -1 if none. */
static int find_name(const char *wanted, int n, const char *(*name_of)(int i))
{
    for (int i = 0; i < n; i++)
        if (strcmp(wanted, name_of(i)) == 0)
            return i;
    fprintf(stderr, "nnt: there is no '%s' here; try --help\n", wanted);
    return -1;
}

static const char *path_name(int i)
{
    return nnt_path_name((enum nnt_path)i);
}

static const char *variant_name(int i)
{
    return nnt_variant_name((enum nnt_variant)i);
}

static const char *mode_name(int i)
{
    static const char *const names[] = {"embedded", "private", "service"};

    return names[i];
}

/* Returns: false if it is no number from least to most. */
static bool read_number(const char *text, long least, long most, unsigned *ret_n)
{
    char *end;
    long n = strtol(text, &end, 10);

    *ret_n = (unsigned)n;
    if (n >= least && n <= most && *end == '\0')
        return true;
    fprintf(stderr, "nnt: '%s' is no number from %ld to %ld\n", text, least, most);
    return false;
}

/* set_split() - the rule by which drivers for tests deal operations, and where they lie. */
static bool set_split(struct nnt_options *options)
{
    char text[4096] = "";
    char *name = NULL;

    if (!read_number(optarg, 2, NNT_MAX_SPLIT, &options->n_split))
        return false;
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

/* set_option() - Returns: false if its argument is not understood. */
static bool set_option(struct nnt_options *options, int option)
{
    int i;

    switch (option) {
    case 'm':
        return find_name(optarg, 3, mode_name) >= 0 && setenv("NNHAL_MODE", optarg, 1) == 0;
    case 'p':
        i = find_name(optarg, NNT_PATH_N, path_name);
        options->path = (enum nnt_path)i;
        return i >= 0;
    case 'v':
        i = find_name(optarg, NNT_VARIANT_N, variant_name);
        options->variant = (enum nnt_variant)i;
        return i >= 0;
    case 'd':
        options->device = optarg;
        return true;
    case 'a':
        options->against = optarg;
        return true;
    case 's':
        return set_split(options);
    case 'n':
        options->name = optarg;
        return true;
    case 'r':
        return read_number(optarg, 1, MAX_TIMES, &options->n_reuses);
    case 't':
        return read_number(optarg, 1, MAX_TIMES, &options->n_threads);
    case 'j':
        options->is_json = true;
        return true;
    default:
        return false;
    }
}

static bool options_parse(struct nnt_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"mode", required_argument, NULL, 'm'},    {"path", required_argument, NULL, 'p'},
        {"variant", required_argument, NULL, 'v'}, {"device", required_argument, NULL, 'd'},
        {"name", required_argument, NULL, 'n'},    {"against", required_argument, NULL, 'a'},
        {"split", required_argument, NULL, 's'},   {"reuse", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'}, {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (!set_option(options, option))
            return false;
    }
    if (optind < argc)
        return true;
    fputs(usage, stderr);
    return false;
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
    fprintf(stderr, "nnt: %s\n", why);
    return false;
}

int main(int argc, char **argv)
{
    struct nnt_options options = {0};
    struct nnt_run run = {0};
    struct nnt_counts total = {0};
    unsigned n_models = 0;

    if (!options_parse(&options, argc, argv) || !check_library())
        return 2;
    run.path = options.path;
    run.n_reuses = options.n_reuses;
    if (options.device && !(run.device = find_device(options.device)))
        return 2;
    if (!find_split(&options, &run))
        return 2;
    if (options.against && !(run.against = find_device(options.against)))
        return 2;
    for (int i = optind; i < argc; i++)
        run_file(&options, &run, argv[i], &total);
    if (options.path == NNT_CACHED && !options.is_json)
        printf("%u came from the cache\n", run.n_from_cache);
    if (options.n_split > 0 && !options.is_json)
        printf("%u in parts\n", run.n_in_parts);
    for (int i = 0; i < NNT_OUTCOME_N; i++)
        n_models += total.n_of[i];
    if (options.name && n_models == 0) {
        fprintf(stderr, "nnt: no model's name contains '%s'\n", options.name);
        return 2;
    }
    print_counts(&options, NULL, &total);
    return total.n_of[NNT_FAILED] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
