/* SPDX-License-Identifier: Apache-2.0 */
/* GATHER, EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, LSH_PROJECTION, plain C.
 *
 * Indices are copied, checked, and only then used: the application may change
 * its memory while this runs. */
#include "base/arith.h"
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/lookup/fingerprint.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/dequantize.h"
#include "model/operands.h"

#include <errno.h>
#include <string.h>

/* ---- GATHER, EMBEDDING_LOOKUP ---- */

struct gather_params {
    uint32_t axis;
};

struct gather_job {
    const int32_t *indices;
    size_t n_indices;
    size_t dim;         /* of the axis */
    size_t inner_bytes; /* moved per index */
    const char *in;
    char *out;
    struct nn_stop *stop;
};

static void gather_items(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct gather_job *job = ctx;
    struct nn_pace pace = nn_pace(job->stop);

    for (size_t i = begin; i < end; i++) {
        size_t row = i / job->n_indices * job->dim + (size_t)job->indices[i % job->n_indices];

        nn_pace_copy(&pace, job->out + i * job->inner_bytes, job->in + row * job->inner_bytes,
                     job->inner_bytes);
    }
}

/* Indices between two looks whether to stop. */
enum { PIECE = 16384 };

/* Copies the indices, so that what is checked is what is used. */
static int take_indices(const struct nn_kernel_args *args, const struct nn_tensor *tensor,
                        size_t dim, struct gather_job *job)
{
    const volatile int32_t *from = tensor->data;
    int32_t *indices = (int32_t *)(void *)args->scratch;
    struct nn_pace pace = nn_pace(args->stop);

    job->n_indices = tensor->size / sizeof(*indices);
    for (size_t i = 0; i < job->n_indices; i++) {
        if (i % PIECE == 0 && nn_pace_ends(&pace, 4 * PIECE))
            return NN_KERNEL_E_CANCELLED;
        indices[i] = from[i];
        if (indices[i] < 0 || (uint32_t)indices[i] >= dim)
            return nn_kernel_refuse(args, "index %d is outside [0, %zu)", indices[i], dim);
    }
    job->indices = indices;
    job->dim = dim;
    return 0;
}

static int gather_rows(const struct nn_kernel_args *args, const struct nn_tensor *values,
                       uint32_t axis, const struct nn_tensor *indices)
{
    struct gather_job job = {.in = values->data, .out = args->outputs[0].data, .stop = args->stop};
    size_t n_outer = nn_dims_count(values->dims, 0, axis);
    int r = take_indices(args, indices, values->dims[axis], &job);

    if (r)
        return r;
    job.inner_bytes = nn_dims_count(values->dims, axis + 1, values->n_dims) *
                      nn_type_bytes(values->type);
    nn_parallel_for(args, n_outer * job.n_indices, 4 + job.inner_bytes / 8, gather_items, &job);
    return 0;
}

static int lower_gather(struct nn_lower *lower)
{
    struct gather_params *params = lower->params;

    params->axis = nn_lower_axis(lower, NN_GATHER_AXIS, lower->inputs[0].n_dims);
    return 0;
}

/* Indices, copied before they are checked. */
static bool find_gather_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    ret->bytes = step->inputs[NN_GATHER_INDICES].size;
    return true;
}

static int nn_gather__c(const struct nn_kernel_args *args)
{
    const struct gather_params *params = args->params;

    return gather_rows(args, &args->inputs[0], params->axis, &args->inputs[NN_GATHER_INDICES]);
}

static bool check_gather(const struct nn_kernel_step *step)
{
    const struct gather_params *p = step->params;

    return step->n_inputs == 3 && step->n_outputs == 1 && p->axis < step->inputs[0].n_dims;
}

static bool find_embedding_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    ret->bytes = step->inputs[0].size;
    return true;
}

static int nn_embedding_lookup__c(const struct nn_kernel_args *args)
{
    return gather_rows(args, &args->inputs[1], 0, &args->inputs[0]);
}

/* ---- HASHTABLE_LOOKUP ---- */

/* A place at which the key stands, or n. Keys may change while they are searched
 * (shared memory); the result is in [0, n] even then. */
static size_t find_key(const int32_t *keys, size_t n, int32_t key)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int32_t here = keys[middle];

        if (here == key)
            return middle;
        if (here < key)
            low = middle + 1;
        else
            high = middle;
    }
    return n;
}

/* A miss is a row of zero bytes: not of the zero point. */
static int nn_hashtable_lookup__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *values = &args->inputs[2];
    const int32_t *lookups = args->inputs[0].data, *keys = args->inputs[1].data;
    size_t n_keys = values->dims[0], n_lookups = args->inputs[0].dims[0];
    size_t row_bytes = values->size / n_keys;
    char *out = args->outputs[0].data;
    uint8_t *hits = args->outputs[1].data;
    struct nn_pace pace = nn_pace(args->stop);

    for (size_t i = 0; i < n_lookups && !nn_pace_ends(&pace, 50); i++, out += row_bytes) {
        size_t row = find_key(keys, n_keys, lookups[i]);

        hits[i] = row < n_keys;
        if (row < n_keys)
            nn_pace_copy(&pace, out, (const char *)values->data + row * row_bytes, row_bytes);
        else
            nn_pace_fill(&pace, out, 0, row_bytes);
    }
    return 0;
}

/* ---- LSH_PROJECTION ---- */

enum {
    LSH_SPARSE_DEPRECATED = 1,
    LSH_DENSE = 2,
    LSH_SPARSE = 3,
};

struct lsh_params {
    int32_t kind;
};

static int lower_lsh(struct nn_lower *lower)
{
    struct lsh_params *params = lower->params;

    params->kind = nn_lower_i32(lower, 3, 0);
    return 0;
}

/* Weights, widened; each worker's key, a seed and a row. */
static bool find_lsh_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct nn_tensor *input = &step->inputs[1];
    size_t n_rows = input->dims[0];

    ret->bytes = n_rows * sizeof(float);
    ret->worker_bytes = sizeof(float) + (n_rows ? input->size / n_rows : 0);
    return true;
}

struct lsh_job {
    const struct nn_kernel_args *args;
    const float *weights; /* one per row, or NULL */
    int32_t kind;
    uint32_t n_bits;
};

static bool lsh_bit(const struct lsh_job *job, size_t bit, uint8_t *key, struct nn_pace *pace)
{
    const struct nn_tensor *input = &job->args->inputs[1];
    size_t n_rows = input->dims[0], row_bytes = input->size / n_rows;
    double score = 0.0;
    float seed;

    nn_dequantize_load(&job->args->inputs[0], bit, 1, &seed);
    memcpy(key, &seed, sizeof(seed));
    for (size_t r = 0; r < n_rows && !nn_pace_ends(pace, 10); r++) {
        int64_t hash;

        nn_pace_copy(pace, key + sizeof(seed), (const char *)input->data + r * row_bytes,
                     row_bytes);
        hash = (int64_t)nn_fingerprint64(key, sizeof(seed) + row_bytes, pace);
        score += job->weights ? (double)job->weights[r] * (double)hash : (double)hash;
    }
    return score > 0.0;
}

/* One item is one hash: a number of n_bits bits, or as many numbers of one. */
static void lsh_items(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct lsh_job *job = ctx;
    uint8_t *key = nn_worker_scratch(job->args, worker);
    int32_t *out = job->args->outputs[0].data;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t i = begin; i < end; i++) {
        uint32_t signature = 0;

        for (uint32_t j = 0; j < job->n_bits; j++) {
            bool bit = lsh_bit(job, i * job->n_bits + j, key, &pace);

            signature = signature << 1 | bit;
            if (job->kind == LSH_DENSE)
                out[i * job->n_bits + j] = bit;
        }
        if (job->kind == LSH_SPARSE)
            signature += (uint32_t)((uint64_t)i << job->n_bits);
        if (job->kind != LSH_DENSE)
            out[i] = (int32_t)signature;
    }
}

static int nn_lsh_projection__c(const struct nn_kernel_args *args)
{
    const struct lsh_params *params = args->params;
    const struct nn_tensor *hash = &args->inputs[0];
    struct lsh_job job = {.args = args, .kind = params->kind, .n_bits = hash->dims[1]};
    size_t n_rows = args->inputs[1].dims[0];

    if (params->kind != LSH_DENSE && args->inputs[2].data)
        return nn_kernel_refuse(args, "the sparse kinds take no weights");
    if (params->kind == LSH_DENSE) {
        float *weights = (float *)(void *)args->scratch;

        nn_dequantize_load_long(&args->inputs[2], 0, n_rows, weights, args->stop);
        job.weights = weights;
    }
    nn_parallel_for(args, hash->dims[0], 1 + job.n_bits * (args->inputs[1].size / 4 + n_rows * 10),
                    lsh_items, &job);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("gather__c", GATHER), .params_bytes = sizeof(struct gather_params),
     .lower = lower_gather, .run = nn_gather__c, .check = check_gather,
     .find_scratch = find_gather_scratch},
    {NN_ROW("embedding_lookup__c", EMBEDDING_LOOKUP), .find_scratch = find_embedding_scratch,
     .run = nn_embedding_lookup__c},
    {NN_ROW("hashtable_lookup__c", HASHTABLE_LOOKUP), .run = nn_hashtable_lookup__c},
    {NN_ROW("lsh_projection__c", LSH_PROJECTION), .params_bytes = sizeof(struct lsh_params),
     .lower = lower_lsh, .find_scratch = find_lsh_scratch, .run = nn_lsh_projection__c},
};
NN_KERNEL_FAMILY(lookup, kernels);
