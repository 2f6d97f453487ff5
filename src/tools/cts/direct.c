/* SPDX-License-Identifier: Apache-2.0 */
#include "direct.h"

#include "nnt/hal-model.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- services -- */

static void service_log(void *ctx, uint32_t level, const char *text)
{
}

static void service_explain(void *ctx, const char *text)
{
    struct cts_direct *direct = ctx;

    snprintf(direct->why, sizeof(direct->why), "%s", text ? text : "");
}

static bool is_refused(struct cts_direct *direct)
{
    unsigned n = __atomic_add_fetch(&direct->n_taken, 1, __ATOMIC_RELAXED);

    if (n != direct->refusal)
        return false;
    direct->was_refused = true;
    return true;
}

static void service_refuse(void *ctx, uint32_t operation, const char *text)
{
}

static void *service_allocate(void *ctx, size_t n_bytes)
{
    return is_refused(ctx) ? NULL : aligned_alloc(64, (n_bytes + 63) / 64 * 64 + 64);
}

static void service_release(void *ctx, void *block)
{
    free(block);
}

static uint32_t service_charge(void *ctx, void *account, uint64_t n_bytes)
{
    return is_refused(ctx) ? NNHAL_RESOURCE_EXHAUSTED_TRANSIENT : NNHAL_NONE;
}

static void service_uncharge(void *ctx, void *account, uint64_t n_bytes)
{
}

/* None is under way, since the kit starts none: as of an id that has ended, nothing comes of it. */
static void service_end_fenced(void *ctx, uint64_t id, uint32_t status)
{
}

/* -- the driver -- */

static void take_table(struct cts_direct *direct, const struct nnhal_driver *theirs)
{
    size_t n = theirs->size < sizeof(direct->whole) ? theirs->size : sizeof(direct->whole);

    memcpy(&direct->whole, theirs, n);
    direct->table_size = theirs->size;
    direct->table = &direct->whole;
}

const char *cts_direct_load(struct cts_direct *direct, const char *path)
{
    const struct nnhal_driver *(*main)(const char *configuration), *theirs;

    *direct = (struct cts_direct){.services = {.size = sizeof(direct->services),
                                               .ctx = direct,
                                               .log = service_log,
                                               .explain = service_explain,
                                               .allocate = service_allocate,
                                               .release = service_release,
                                               .charge = service_charge,
                                               .uncharge = service_uncharge,
                                               .end_fenced = service_end_fenced,
                                               .refuse = service_refuse}};
    direct->services.n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    direct->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!direct->module)
        return dlerror();
    main = (const struct nnhal_driver *(*)(const char *))dlsym(direct->module, "nnhal_driver_main");
    if (!main)
        return "it exports no nnhal_driver_main()";
    theirs = main(NULL);
    if (theirs)
        take_table(direct, theirs);
    return theirs ? NULL : "nnhal_driver_main() returned NULL";
}

uint32_t cts_direct_open(struct cts_direct *direct)
{
    return direct->table->open(&direct->services, &direct->device);
}

void cts_direct_close(struct cts_direct *direct)
{
    if (direct->device && direct->table->close)
        direct->table->close(direct->device);
    direct->device = NULL;
}

/* -- jobs -- */

static void set_input(struct nnhal_input *to, const struct nnt_operand *from)
{
    *to = (struct nnhal_input){.data = from->n_bytes > 0 ? from->data : NULL,
                               .size = from->n_bytes,
                               .n_dimensions = from->rank,
                               .is_omitted = from->flags & NNT_OMITTED_INPUT ? 1 : 0};
    for (uint32_t i = 0; i < from->rank && i < NNHAL_MAX_RANK; i++)
        to->dimensions[i] = from->expected[i];
}

static bool set_output(struct nnt_file *file, struct nnhal_output *to,
                       const struct nnt_operand *from)
{
    *to = (struct nnhal_output){.data = nnt_file_alloc(file, from->n_bytes + 1u, 1),
                                .capacity = from->n_bytes,
                                .n_dimensions = from->rank};
    for (uint32_t i = 0; i < from->rank && i < NNHAL_MAX_RANK; i++)
        to->dimensions[i] = from->expected[i];
    return to->data;
}

bool cts_job_init(struct cts_job *job, struct nnt_file *file, const struct nnt_model *model)
{
    const struct nnt_subgraph *main = &model->subgraphs[0];
    bool has_room = true;

    *job = (struct cts_job){.prepare = {.size = sizeof(job->prepare),
                                        .preference = NNHAL_FAST_SINGLE_ANSWER,
                                        .priority = NNHAL_PRIORITY_MEDIUM,
                                        .deadline_ns = NNHAL_NO_TIME},
                            .execution = {.size = sizeof(job->execution),
                                          .n_inputs = main->n_inputs,
                                          .n_outputs = main->n_outputs,
                                          .deadline_ns = NNHAL_NO_TIME,
                                          .loop_timeout_ns = NNHAL_MAX_LOOP_TIMEOUT_NS,
                                          .timing = {NNHAL_NO_TIME, NNHAL_NO_TIME}}};
    job->inputs = nnt_file_alloc(file, main->n_inputs + 1u, sizeof(*job->inputs));
    job->outputs = nnt_file_alloc(file, main->n_outputs + 1u, sizeof(*job->outputs));
    if (!job->inputs || !job->outputs || !nnt_hal_model_make(file, model, &job->model))
        return false;
    for (uint32_t i = 0; i < main->n_inputs; i++)
        set_input(&job->inputs[i], &main->operands[main->inputs[i]]);
    for (uint32_t i = 0; i < main->n_outputs; i++)
        has_room &= set_output(file, &job->outputs[i], &main->operands[main->outputs[i]]);
    return has_room;
}

/* A job may be moved until it is used. */
static void bind_job(struct cts_direct *direct, struct cts_job *job)
{
    job->prepare.model.model = &job->model;
    job->prepare.is_cancelled = &job->is_cancelled;
    job->prepare.account = direct;
    job->execution.is_cancelled = &job->is_cancelled;
    job->execution.inputs = job->inputs;
    job->execution.outputs = job->outputs;
}

bool cts_job_is_supported(struct cts_direct *direct, struct cts_job *job)
{
    uint8_t *supported = calloc(job->model.main.n_operations + 1u, 1);
    bool is_supported = false;

    bind_job(direct, job);
    if (supported && direct->table->get_supported_operations(direct->device, &job->prepare.model,
                                                             supported) == NNHAL_NONE)
        is_supported = !memchr(supported, 0, job->model.main.n_operations);
    free(supported);
    return is_supported;
}

uint32_t cts_job_prepare(struct cts_direct *direct, struct cts_job *job)
{
    uint32_t status;

    bind_job(direct, job);
    status = direct->table->prepare(direct->device, &job->prepare, &job->prepared);
    if (status != NNHAL_NONE)
        job->prepared = NULL; /* a call that fails may leave anything there */
    return status;
}

uint32_t cts_job_execute(struct cts_direct *direct, struct cts_job *job)
{
    bind_job(direct, job);
    return direct->table->execute(job->prepared, &job->execution);
}

void cts_job_release(struct cts_direct *direct, struct cts_job *job)
{
    if (job->prepared)
        direct->table->release(job->prepared);
    job->prepared = NULL;
}
