/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/common/broadcast.h"

#include "drivers/cpu/kernels/common/vector.h"

#include <string.h>

/* Elements that are handed out together. */
enum { BLOCK = 1024 };

/* The joined dimensions, the innermost first. */
struct broadcast_walk {
    uint32_t n;
    size_t dims[NNHAL_MAX_RANK];
    size_t strides[2][NNHAL_MAX_RANK];
};

struct broadcast_job {
    const struct nn_kernel_args *args;
    struct broadcast_walk walk;
    nn_row_fn fn;
    size_t n; /* elements */
};

/* An operand's dimension d of the output's rank, counted from the innermost. */
static size_t operand_dim(const struct nn_tensor *tensor, uint32_t d)
{
    return d < tensor->n_dims ? tensor->dims[tensor->n_dims - 1 - d] : 1;
}

/* Whether a dimension of these strides continues the outermost one so far. */
static bool strides_continue(const struct broadcast_walk *walk, const size_t strides[2])
{
    uint32_t last = walk->n - 1;

    return strides[0] == walk->strides[0][last] * walk->dims[last] &&
           strides[1] == walk->strides[1][last] * walk->dims[last];
}

static void add_dimension(struct broadcast_walk *walk, size_t dim, const size_t strides[2])
{
    if (dim == 1)
        return;
    if (walk->n && strides_continue(walk, strides)) {
        walk->dims[walk->n - 1] *= dim;
        return;
    }
    walk->dims[walk->n] = dim;
    walk->strides[0][walk->n] = strides[0];
    walk->strides[1][walk->n] = strides[1];
    walk->n++;
}

static struct broadcast_walk make_walk(const struct nn_tensor *out, const struct nn_tensor *in0,
                                       const struct nn_tensor *in1)
{
    const struct nn_tensor *in[2] = {in0, in1};
    struct broadcast_walk walk = {.n = 0};
    size_t size[2] = {1, 1}; /* elements of the operand inside dimension d */

    for (uint32_t d = 0; d < out->n_dims; d++) {
        size_t strides[2];

        for (int i = 0; i < 2; i++) {
            size_t dim = operand_dim(in[i], d);

            strides[i] = dim == 1 ? 0 : size[i];
            size[i] *= dim;
        }
        add_dimension(&walk, operand_dim(out, d), strides);
    }
    if (!walk.n)
        add_dimension(&walk, 2, (const size_t[]){0, 0}), walk.dims[0] = 1;
    return walk;
}

/* Where element number at of the output comes from. */
static void locate_row(const struct broadcast_walk *walk, size_t at, struct nn_row *row,
                       size_t *ret_inner)
{
    *ret_inner = at % walk->dims[0];
    row->out = at;
    row->in0 = *ret_inner * walk->strides[0][0];
    row->in1 = *ret_inner * walk->strides[1][0];
    at /= walk->dims[0];
    for (uint32_t d = 1; d < walk->n; d++) {
        size_t index = at % walk->dims[d];

        at /= walk->dims[d];
        row->in0 += index * walk->strides[0][d];
        row->in1 += index * walk->strides[1][d];
    }
}

static void walk_elements(const struct broadcast_job *job, size_t at, size_t last)
{
    while (at < last) {
        struct nn_row row = {.step0 = job->walk.strides[0][0], .step1 = job->walk.strides[1][0]};
        size_t inner;

        locate_row(&job->walk, at, &row, &inner);
        row.n = nn_min_size(job->walk.dims[0] - inner, last - at);
        job->fn(job->args, &row);
        at += row.n;
    }
}

static void walk_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct broadcast_job *job = ctx;

    walk_elements(job, begin * BLOCK, nn_min_size(end * BLOCK, job->n));
}

static void run_walk(struct broadcast_job *job, size_t cost)
{
    const struct nn_kernel_args *args = job->args;

    if (args->is_part)
        walk_elements(job, args->part_begin, args->part_end);
    else if (job->n)
        nn_parallel_for(args, (job->n + BLOCK - 1) / BLOCK, cost * BLOCK / 16, walk_blocks, job);
}

void nn_broadcast_run(const struct nn_kernel_args *args, size_t cost, nn_row_fn fn)
{
    struct broadcast_job job = {.args = args, .fn = fn, .n = nn_tensor_count(&args->outputs[0])};

    job.walk = make_walk(&args->outputs[0], &args->inputs[0], &args->inputs[1]);
    run_walk(&job, cost);
}

/* Of the walk one dimension is filled: to clear them all takes as long as a short row. */
void nn_rows_run(const struct nn_kernel_args *args, size_t cost, nn_row_fn fn)
{
    struct broadcast_job job;

    job.args = args;
    job.fn = fn;
    job.n = nn_tensor_count(&args->outputs[0]);
    job.walk.n = 1;
    job.walk.dims[0] = job.n;
    job.walk.strides[0][0] = 1;
    job.walk.strides[1][0] = 0;
    run_walk(&job, cost);
}
