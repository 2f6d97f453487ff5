/* SPDX-License-Identifier: Apache-2.0 */
/* plan-seeds FOLDER LIST - what the CPU driver keeps of each model of tests/cpu/cases.c, in the
 * form of the target plan-load: one file each in the folder, which are named in the list. Of a
 * finding that depends on the format a spoilt plan is made anew, too. */
#include "cpu/cases.h"
#include "drivers/cpu/executor/plan.h"
#include "drivers/cpu/kernels/quantized-lstm/cell8.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
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

/* The plan loses its last step, whose references no step has then; the first of them is to nothing. */
static void spoil_ref(const struct case_cache *cache)
{
    const uint32_t nothing = UINT32_MAX;
    struct nn_plan_header header;
    struct nn_plan_step step;
    uint8_t *block = case_plan(cache, &header);

    header.steps.n--;
    memcpy(block, &header, sizeof(header));
    memcpy(&step, block + header.steps.offset + header.steps.n * sizeof(step), sizeof(step));
    memcpy(block + header.refs.offset + step.first_ref * sizeof(nothing), &nothing,
           sizeof(nothing));
}

/* The parameters of the first step, not its shapes, say that steps come before batches. */
static void spoil_sequence(const struct case_cache *cache)
{
    const uint32_t is_time_major = 1;
    struct nn_plan_header header;
    struct nn_plan_step step;
    uint8_t *block = case_plan(cache, &header);

    memcpy(&step, block + header.steps.offset, sizeof(step));
    memcpy(block + step.params + offsetof(struct nn_cell8_params, is_time_major), &is_time_major,
           sizeof(is_time_major));
}

/* Plans of findings, made of cases. */
static const struct spoilt_seed {
    const char *name, *of;
    void (*spoil)(const struct case_cache *cache);
} spoilt_seeds[] = {
    {"ref-of-no-step", "layers", spoil_ref},
    {"turned-sequence", "sequence", spoil_sequence},
};

static void make_seed(const struct cpu_case *of, bool is_quick,
                      void (*spoil)(const struct case_cache *cache), const char *path)
{
    struct case_cache cache;
    struct builder b;
    void *prepared;

    builder_init(&b, 1);
    of->build(&b);
    prepared = case_prepare_kept(&b, is_quick, &cache);
    if (spoil)
        spoil(&cache);
    write_seed(path, &cache);
    b.driver->release(prepared);
    builder_done(&b);
}

int main(int argc, char **argv)
{
    char path[4096];
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
            snprintf(path, sizeof(path), "%s/%s%s", argv[1], is_quick ? "quick-" : "", of->name);
            make_seed(of, is_quick, NULL, path);
            fprintf(list, "%s\n", path);
        }
        for (size_t i = 0; i < sizeof(spoilt_seeds) / sizeof(spoilt_seeds[0]); i++) {
            if (strcmp(spoilt_seeds[i].of, of->name) != 0)
                continue;
            snprintf(path, sizeof(path), "%s/%s", argv[1], spoilt_seeds[i].name);
            make_seed(of, false, spoilt_seeds[i].spoil, path);
            fprintf(list, "%s\n", path);
        }
    }
    if (fclose(list) != 0)
        fail(argv[2]);
    return EXIT_SUCCESS;
}
