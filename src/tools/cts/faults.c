/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - memory that is refused, and a data cache that someone has changed
 *
 * Each request for memory of a model's life fails in turn. No end but a crash is wrong, and
 * afterwards the same model computes. Of a changed data cache the interface wants no more. */
#include "cts.h"
#include "direct.h"
#include "nnt/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REFUSALS = 60, N_DAMAGES = 6 };

static struct cts_direct direct; /* of the section's process */

/* -- one model -- */

/* Extensions' codes are a process's own, and random results have no check here. */
static bool is_left_out(const struct nnt_model *model)
{
    for (uint32_t i = 0; i < model->subgraphs[0].n_operations; i++)
        if (model->subgraphs[0].operations[i].type > UINT16_MAX)
            return true;
    return model->flags & NNT_MULTINOMIAL;
}

static bool are_right(const struct nnt_model *model, const struct cts_job *job)
{
    const struct nnt_subgraph *main = &model->subgraphs[0];
    struct nnt_difference difference;

    for (uint32_t i = 0; i < main->n_outputs; i++) {
        const struct nnt_operand *output = &main->operands[main->outputs[i]];

        if (output->flags & NNT_EXPECTED &&
            !nnt_compare(model, output, job->outputs[i].data, &difference))
            return false;
    }
    return true;
}

/* Bytes that are not written are no results of an execution before. */
static void spoil_outputs(struct cts_job *job)
{
    for (uint32_t i = 0; i < job->execution.n_outputs; i++)
        if (job->outputs[i].data)
            memset(job->outputs[i].data, 0xa5, job->outputs[i].capacity);
}

/* From prepare() to release(). Returns: the status of the last call. */
static uint32_t live(struct cts_job *job)
{
    uint32_t status = cts_job_prepare(&direct, job);

    spoil_outputs(job);

    if (status == NNHAL_NONE)
        status = cts_job_execute(&direct, job);
    cts_job_release(&direct, job);
    return status;
}

/* -- memory -- */

static const char *refuse_each(struct cts_job *job, const struct nnt_model *model)
{
    uint32_t status;

    for (unsigned n = 1; n <= MOST_REFUSALS; n++) {
        direct.n_taken = 0;
        direct.was_refused = false;
        direct.refusal = n;
        status = live(job);
        direct.refusal = 0;
        if (status == NNHAL_NONE && !are_right(model, job))
            return "memory was refused, and the results are wrong";
        if (!direct.was_refused)
            break;
    }
    if (live(job) != NNHAL_NONE)
        return direct.why;
    return are_right(model, job) ? NULL : "after memory was refused results are wrong";
}

static void try_refusals(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    const char *why;
    struct cts_job job;

    if (is_left_out(model) || !cts_job_init(&job, file, model) ||
        !cts_wants(cts, "%s where memory is refused", model->name))
        return;
    if (!cts_job_is_supported(&direct, &job)) {
        cts_say(cts, NNT_UNSUPPORTED, NULL);
        return;
    }
    why = refuse_each(&job, model);
    cts_expect(cts, !why, why);
}

/* -- the data cache -- */

/* Buffers of the host, in which what prepare() hands over is kept. */
struct kept {
    struct nnhal_cache cache;
    struct nnhal_cache_buffer files[2 * NNHAL_MAX_CACHE_FILES];
};

static void kept_init(struct kept *kept)
{
    const struct nnhal_driver *table = direct.table;

    *kept = (struct kept){.cache = {.size = sizeof(kept->cache),
                                    .n_model_files = table->n_model_cache_files,
                                    .n_data_files = table->n_data_cache_files,
                                    .model_files = kept->files,
                                    .data_files = kept->files + NNHAL_MAX_CACHE_FILES}};
}

static bool is_empty(const struct kept *kept)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < 2 * NNHAL_MAX_CACHE_FILES; i++)
        n += kept->files[i].size;
    return n == 0;
}

/* Gives each file bytes of its own. Returns: false if memory is short. */
static bool kept_copy(struct kept *kept)
{
    for (unsigned i = 0; i < 2 * NNHAL_MAX_CACHE_FILES; i++) {
        void *bytes = aligned_alloc(64, (kept->files[i].size + 127) / 64 * 64);

        if (!bytes)
            return false;
        if (kept->files[i].size > 0)
            memcpy(bytes, kept->files[i].bytes, kept->files[i].size);
        kept->files[i].bytes = bytes;
    }
    return true;
}

static void kept_done(struct kept *kept)
{
    for (unsigned i = 0; i < 2 * NNHAL_MAX_CACHE_FILES; i++)
        free((void *)kept->files[i].bytes);
}

/* Damage 0 is none; then all bits of every n-th byte, all bytes, and shorter files. */
static void damage_data(struct kept *kept, unsigned damage)
{
    static const unsigned steps[N_DAMAGES] = {0, 1, 7, 64, 0, 0};

    for (uint32_t i = 0; i < kept->cache.n_data_files; i++) {
        struct nnhal_cache_buffer *data = &kept->cache.data_files[i];
        uint8_t *bytes = (uint8_t *)data->bytes;

        for (uint64_t k = 0; steps[damage] && k < data->size; k += steps[damage])
            bytes[k] = (uint8_t)~bytes[k];
        if (damage == 4)
            data->size /= 2;
        if (damage == 5)
            data->size = 0;
    }
}

/* What prepare() hands over, copied. Returns: false if the driver keeps nothing of this model. */
static bool keep(struct cts_job *job, struct kept *kept)
{
    bool is_kept;

    kept_init(kept);
    job->prepare.cache = &kept->cache;
    is_kept = cts_job_prepare(&direct, job) == NNHAL_NONE && !is_empty(kept);
    job->prepare.cache = NULL;
    if (!is_kept || !kept_copy(kept))
        *kept = (struct kept){.cache = {.size = 0}};
    cts_job_release(&direct, job);
    return is_kept;
}

/* Undamaged it has to compute what it did; damaged it may refuse, or compute anything. */
static const char *prepare_from(struct cts_job *job, const struct nnt_model *model,
                                const struct kept *kept, bool is_damaged)
{
    const struct nnhal_prepare_from_cache prepare = {.size = sizeof(prepare),
                                                     .cache = &kept->cache,
                                                     .deadline_ns = NNHAL_NO_TIME,
                                                     .is_cancelled = &job->is_cancelled,
                                                     .account = &direct};
    uint32_t status = direct.table->prepare_from_cache(direct.device, &prepare, &job->prepared);
    bool is_right;

    if (status != NNHAL_NONE) {
        job->prepared = NULL;
        return is_damaged ? NULL : "it refuses what it has handed over";
    }
    is_right = cts_job_execute(&direct, job) == NNHAL_NONE && are_right(model, job);
    cts_job_release(&direct, job);
    return is_damaged || is_right ? NULL : "what came from the cache computes something else";
}

static void try_damages(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct cts_job job;
    struct kept kept;

    if (!direct.table->prepare_from_cache || is_left_out(model) || !cts_job_init(&job, file, model))
        return;
    for (unsigned damage = 0; damage < N_DAMAGES; damage++) {
        const char *why;

        if (!cts_wants(cts, "%s from its cache%s (%u)", model->name,
                       damage ? " with changed data" : "", damage))
            continue;
        if (!cts_job_is_supported(&direct, &job) || !keep(&job, &kept)) {
            cts_say(cts, NNT_UNSUPPORTED, NULL);
            continue;
        }
        damage_data(&kept, damage);
        why = prepare_from(&job, model, &kept, damage > 0);
        cts_expect(cts, !why, why);
        kept_done(&kept);
    }
}

void cts_faults(struct cts *cts)
{
    if (cts_direct_load(&direct, cts->options->driver) || cts_direct_open(&direct) != NNHAL_NONE)
        return; /* the table's checks say so */
    cts_each_model(cts, 1, CTS_PER_OPERATION, try_refusals);
    cts_each_model(cts, 2, CTS_PER_OPERATION, try_damages);
    cts_direct_close(&direct);
}
