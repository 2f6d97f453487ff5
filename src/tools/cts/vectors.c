/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - models with known results, in every way of running them */
#include "cts.h"

struct way {
    const char *name;
    enum nnt_path path;
    enum nnt_variant variant;
    unsigned n_reuses;
    unsigned n_threads;
};

/* The one that try_way() is to take: sections have one thread. */
static const struct way *way;

static void try_way(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, way->path);
    enum nnt_outcome outcome;

    if (!cts_wants(cts, "%s %s", model->name, way->name))
        return;
    run.n_reuses = way->n_reuses;
    outcome = nnt_try_model(&run, way->variant, way->n_threads, file, model);
    cts_say(cts, outcome, run.what);
}

/* Each way with another one of an operation's models. */
static void try_ways(struct cts *cts, const struct way *ways, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        way = &ways[i];
        cts_each_vector(cts, i % CTS_PER_OPERATION, CTS_PER_OPERATION, try_way);
    }
}

void cts_operations(struct cts *cts)
{
    static const struct way plain = {.name = "as it is"};

    way = &plain;
    cts_each_vector(cts, 0, 1, try_way);
}

void cts_paths(struct cts *cts)
{
    static const struct way ways[] = {
        {.name = "by startCompute", .path = NNT_ASYNC},
        {.name = "on a burst", .path = NNT_BURST},
        {.name = "in hardware buffers", .path = NNT_BLOB},
        {.name = "at odd offsets of files", .path = NNT_FD_OFFSET},
        {.name = "between fences", .path = NNT_FENCED},
        {.name = "in memories of the device", .path = NNT_DOMAIN},
        {.name = "from the cache", .path = NNT_CACHED},
        {.name = "between guards", .path = NNT_GUARDED},
    };

    try_ways(cts, ways, sizeof(ways) / sizeof(ways[0]));
}

void cts_forms(struct cts *cts)
{
    static const struct way ways[] = {
        {.name = "with open outputs", .variant = NNT_DYNAMIC_OUTPUT},
        {.name = "with signed operands", .variant = NNT_SIGNED},
        {.name = "with open ranks", .variant = NNT_OPEN_SHAPES},
        {.name = "with open outputs in memories of the device",
         .path = NNT_DOMAIN,
         .variant = NNT_DYNAMIC_OUTPUT},
    };

    try_ways(cts, ways, sizeof(ways) / sizeof(ways[0]));
}

void cts_reuse(struct cts *cts)
{
    static const struct way ways[] = {
        {.name = "five times", .n_reuses = 5},
        {.name = "five times on a burst", .path = NNT_BURST, .n_reuses = 5},
    };

    try_ways(cts, ways, sizeof(ways) / sizeof(ways[0]));
}

void cts_threads(struct cts *cts)
{
    static const struct way ways[] = {
        {.name = "on four threads", .n_reuses = 3, .n_threads = 4},
    };

    try_ways(cts, ways, sizeof(ways) / sizeof(ways[0]));
}
