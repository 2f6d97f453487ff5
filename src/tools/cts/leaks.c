/* SPDX-License-Identifier: Apache-2.0 */
/* leaks.c - what was freed is free
 *
 * The process of the driver is looked at from outside: its resident memory and its descriptors, before
 * and after a batch of rounds. What leaks grows in every batch; what is taken once, and a heap that
 * settles, does not. */
#include "cts.h"
#include "nnt/memory.h"

#include <nnhal/ext.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum {
    N_ROUNDS = 100,
    MOST_BATCHES = 6,
    N_WEIGHTS = 1 << 16,          /* floats */
    MOST_BYTES = N_ROUNDS * 5000, /* a small model leaks more, and a heap grows by less */
    MOST_DESCRIPTORS = N_ROUNDS / 4,
};

struct process_use {
    long n_bytes;
    long n_descriptors; /* -1: they cannot be counted */
};

/* -- what the process of the driver has -- */

static int pid_of(const struct cts *cts)
{
    struct nnhal_where where = {.size = sizeof(where)};

    nnhal_device_get_where(cts->device, &where);
    return where.pid;
}

static long count_descriptors(int pid)
{
    char path[64];
    DIR *dir;
    long n = -1;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (!dir)
        return -1;
    for (n = 0; readdir(dir); n++)
        ;
    closedir(dir);
    return n;
}

static struct process_use use_of(int pid)
{
    struct process_use use = {.n_descriptors = count_descriptors(pid)};
    long n_all = 0, n_resident = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", pid);
    file = fopen(path, "re");
    if (file && fscanf(file, "%ld %ld", &n_all, &n_resident) == 2)
        use.n_bytes = n_resident * sysconf(_SC_PAGESIZE);
    if (file)
        fclose(file);
    return use;
}

/* A sanitizer holds freed memory back. It tells of what leaks by itself, when the process ends. */
static bool is_sanitized(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/* Whether a batch took so little that nothing of a round can have been left. */
static bool is_settled(const struct process_use *before, const struct process_use *after, char *why,
                       size_t n_why)
{
    long n_bytes = after->n_bytes - before->n_bytes;
    long n = after->n_descriptors - before->n_descriptors;

    snprintf(
        why, n_why,
        "each %d rounds more the driver's process has more, at last %ld KiB and %ld descriptors",
        N_ROUNDS, n_bytes / 1024, n);
    return (n_bytes < MOST_BYTES || is_sanitized()) && n < MOST_DESCRIPTORS;
}

/* -- a model with weights: z = x + weights -- */

struct weighty {
    struct nnt_model model;
    struct nnt_subgraph main;
    struct nnt_operand operands[4];
    struct nnt_operation operation;
    float *weights;
};

static const uint32_t shape[] = {N_WEIGHTS}, inputs[] = {0}, outputs[] = {3}, terms[] = {0, 1, 2};

static bool weighty_make(struct weighty *made)
{
    static const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    struct nnt_operand tensor = {.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                 .n_bytes = 4 * N_WEIGHTS,
                                 .rank = 1,
                                 .declared_rank = 1,
                                 .declared = shape,
                                 .expected = shape};

    made->weights = calloc(N_WEIGHTS, sizeof(float));
    tensor.data = (const uint8_t *)made->weights;
    made->operands[0] = made->operands[1] = made->operands[3] = tensor;
    made->operands[0].lifetime = NNT_INPUT;
    made->operands[1].lifetime = NNT_CONSTANT_COPY;
    made->operands[2] = (struct nnt_operand){.type = ANEURALNETWORKS_INT32,
                                             .lifetime = NNT_CONSTANT_COPY,
                                             .n_bytes = sizeof(none),
                                             .data = (const uint8_t *)&none};
    made->operands[3].lifetime = NNT_OUTPUT;
    made->operands[3].flags = NNT_EXPECTED;
    made->operation = (struct nnt_operation){.type = ANEURALNETWORKS_ADD,
                                             .n_inputs = 3,
                                             .n_outputs = 1,
                                             .inputs = terms,
                                             .outputs = outputs};
    made->main = (struct nnt_subgraph){.n_operands = 4,
                                       .n_operations = 1,
                                       .n_inputs = 1,
                                       .n_outputs = 1,
                                       .operands = made->operands,
                                       .operations = &made->operation,
                                       .inputs = inputs,
                                       .outputs = outputs};
    made->model = (struct nnt_model){.n_subgraphs = 1, .subgraphs = &made->main, .name = "weights"};
    return made->weights != NULL;
}

/* -- rounds; each returns whether it went well, with the sentence noted -- */

static bool compile_once(struct nnt_attempt *attempt)
{
    struct nnt_attempt other;
    struct nnt_run run = *attempt->run;
    bool is_right;

    nnt_attempt_init(&other, &run, attempt->model);
    is_right = nnt_attempt_compile(&other) == OK && nnt_attempt_execute(&other) == OK;
    nnt_attempt_done(&other);
    return is_right || nnt_report(attempt->run, "%s", run.what);
}

static bool execute_once(struct nnt_attempt *attempt)
{
    nnt_attempt_forget(attempt);
    return nnt_attempt_execute(attempt) == OK;
}

struct round {
    const char *name;
    enum nnt_path path;
    bool (*make)(struct nnt_attempt *attempt);
};

static bool make_batch(struct cts *cts, const struct round *round, struct nnt_attempt *attempt)
{
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        if (!round->make(attempt))
            return false;
        cts_go_on(cts);
    }
    return true;
}

static void make_batches(struct cts *cts, const struct round *round, struct nnt_attempt *attempt)
{
    bool is_right = nnt_attempt_compile(attempt) == OK && make_batch(cts, round, attempt);
    bool is_free = false;
    char why[160] = "";

    for (unsigned i = 0; is_right && !is_free && i < MOST_BATCHES; i++) {
        struct process_use before = use_of(pid_of(cts)), after;

        is_right = make_batch(cts, round, attempt);
        after = use_of(pid_of(cts));
        is_free = is_settled(&before, &after, why, sizeof(why));
    }
    if (is_right)
        cts_expect(cts, is_free, why);
    else
        cts_say(cts, cts_end_of(attempt), attempt->run->what);
}

void cts_leaks(struct cts *cts)
{
    static const struct round rounds[] = {
        {"models", NNT_SYNC, compile_once},
        {"executions", NNT_SYNC, execute_once},
        {"executions in shared memory", NNT_BLOB, execute_once},
        {"executions in memories of the device", NNT_DOMAIN, execute_once},
        {"executions between fences", NNT_FENCED, execute_once},
        {"bursts", NNT_BURST, execute_once},
    };
    struct weighty made = {.weights = NULL};
    struct nnt_attempt attempt;

    if (!weighty_make(&made)) {
        if (cts_wants(cts, "a model"))
            cts_say(cts, NNT_FAILED, "memory is short");
        return;
    }
    for (unsigned i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        struct nnt_run run = cts_run(cts, rounds[i].path);

        if (!cts_wants(cts, "%s are freed", rounds[i].name))
            continue;
        nnt_attempt_init(&attempt, &run, &made.model);
        make_batches(cts, &rounds[i], &attempt);
        nnt_attempt_done(&attempt);
    }
    free(made.weights);
}
