/* SPDX-License-Identifier: Apache-2.0 */
/* plan-seeds FOLDER LIST - what the CPU driver keeps of each model of tests/cpu/cases.c, in the
 * form of the target plan-load: one file each in the folder, which are named in the list. */
#include "cpu/cases.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void fail(const char *what)
{
    fprintf(stderr, "plan-seeds: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void write_seed(const char *path, const struct case_cache *cache)
{
    uint64_t n_model = htole64(cache->model.size);
    FILE *file = fopen(path, "wb");

    if (!file)
        fail(path);
    fwrite(&n_model, sizeof(n_model), 1, file);
    fwrite(cache->model.bytes, 1, cache->model.size, file);
    if (cache->data.size)
        fwrite(cache->data.bytes, 1, cache->data.size, file);
    if (fclose(file) != 0)
        fail(path);
}

static void make_seed(const struct cpu_case *of, bool is_quick, const char *path)
{
    struct case_cache cache;
    struct builder b;
    void *prepared;

    builder_init(&b, 1);
    of->build(&b);
    prepared = case_prepare_kept(&b, is_quick, &cache);
    write_seed(path, &cache);
    b.driver->release(prepared);
    builder_done(&b);
}

int main(int argc, char **argv)
{
    FILE *list;

    if (argc != 3) {
        fprintf(stderr, "usage: plan-seeds FOLDER LIST\n");
        return EXIT_FAILURE;
    }
    /* The target has plain C kernels: so does what it reads. */
    setenv("NNHAL_CPU_ISA", "c", 1);
    if (mkdir(argv[1], 0777) < 0 && errno != EEXIST)
        fail(argv[1]);
    list = fopen(argv[2], "w");
    if (!list)
        fail(argv[2]);
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        for (int is_quick = 0; is_quick < 2; is_quick++) {
            char path[4096];

            snprintf(path, sizeof(path), "%s/%s%s", argv[1], is_quick ? "quick-" : "", of->name);
            make_seed(of, is_quick, path);
            fprintf(list, "%s\n", path);
        }
    }
    if (fclose(list) != 0)
        fail(argv[2]);
    return EXIT_SUCCESS;
}
