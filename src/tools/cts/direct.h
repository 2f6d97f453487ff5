/* SPDX-License-Identifier: Apache-2.0 */
/* direct.h - a driver's table, called without a host
 *
 * For what a host keeps from a driver, or gives it at bad moments only: memory that is refused,
 * cancellation, a data cache that someone has changed. Models are the vectors', as the interface has
 * them; nothing else of a host's work is done here. One thread, unless said otherwise. */
#ifndef NN_TOOLS_CTS_DIRECT_H
#define NN_TOOLS_CTS_DIRECT_H

#include "nnt/file.h"

#include <nnhal/driver.h>

/* A driver that is loaded, and the services that it has been given. */
struct cts_direct {
    void *module;
    const struct nnhal_driver
        *table; /* whole, as a host takes it: what a smaller one lacks is NULL */
    struct nnhal_driver whole;
    size_t table_size; /* the driver's own */
    struct nnhal_driver_services services;
    void *device;
    unsigned n_taken; /* calls of allocate() and charge() so far */
    unsigned refusal; /* the call that is refused, counted from 1; 0: none */
    bool was_refused;
    char why[400]; /* what the driver explained last */
};

/* A model as the interface has it, and all that an execution needs. */
struct cts_job {
    struct nnhal_model model;
    struct nnhal_prepare prepare;
    struct nnhal_execution execution;
    struct nnhal_input *inputs;
    struct nnhal_output *outputs;
    uint32_t is_cancelled;
    void *prepared; /* NULL: not so */
};

/* cts_direct_load() - loads the module and asks for its table; does not open it.
 * Returns: NULL, or why not. */
const char *cts_direct_load(struct cts_direct *direct, const char *path);

/* cts_direct_open() - Returns: an enum nnhal_error_status. */
uint32_t cts_direct_open(struct cts_direct *direct);
void cts_direct_close(struct cts_direct *direct);

/* cts_job_init() - a model's data; the job lives as long as the model. Returns: false if memory is short. */
bool cts_job_init(struct cts_job *job, struct nnt_file *file, const struct nnt_model *model);

/* cts_job_is_supported() - whether the driver takes every operation. */
bool cts_job_is_supported(struct cts_direct *direct, struct cts_job *job);

/* cts_job_prepare(), cts_job_execute() - Returns: an enum nnhal_error_status. */
uint32_t cts_job_prepare(struct cts_direct *direct, struct cts_job *job);
uint32_t cts_job_execute(struct cts_direct *direct, struct cts_job *job);

/* cts_job_release() - the prepared model, if there is one. */
void cts_job_release(struct cts_direct *direct, struct cts_job *job);

#endif
