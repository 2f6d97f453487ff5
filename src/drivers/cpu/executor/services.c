/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/services.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/sys.h"
#include "model/infer.h"
#include "model/types.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    MIN_SPLIT_NS = 2000, /* a shorter loop is not worth a hand-over */
    MIN_CHUNK_NS = 1000,
    CHUNKS_PER_THREAD = 8,
    WAKE_NS = 50000,       /* of loops: a shorter execution does not wake a team that sleeps */
    MOST_CLAIM_NS = 50000, /* what others wait for if a thread is interrupted */
    PIECE_NS = 1000000,    /* of a range, between two looks at the caller's deadline */
};

int nn_run_declared(struct nn_run *run, const struct nn_value *value, const struct nn_slot *slot)
{
    uint32_t n, dims[NNHAL_MAX_RANK];

    if (nn_type_is_scalar(value->type) ||
        nn_dims_merge(value->n_dims, value->dims, slot->n_dims, slot->dims, &n, dims))
        return 0;
    nn_refuse(run->why, "a result's shape contradicts the one in the model");
    return NN_EXEC_E_REFUSED;
}

size_t nn_tensor_count(const struct nn_tensor *tensor)
{
    size_t count = 1;

    for (uint32_t i = 0; i < tensor->n_dims; i++)
        count *= tensor->dims[i];
    return count;
}

bool nn_kernel_stopped(const struct nn_kernel_args *args)
{
    return nn_stop_look(args->stop) != 0;
}

int nn_kernel_refuse(const struct nn_kernel_args *args, const char *format, ...)
{
    char text[NN_WHY_BYTES];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    nn_refuse(args->run->why, "%s", text);
    return NN_KERNEL_E_REFUSED;
}

/* A kept program has no graph to look a late result up in, and its plan is of fixed shapes. */
int nn_output_resize(const struct nn_kernel_args *args, uint32_t output, uint32_t n_dims,
                     const uint32_t *dims)
{
    struct nn_run *run = args->run;
    const struct nn_graph *graph = &run->program->graphs[run->graph].graph;
    const struct nn_node *node;
    const struct nn_value *value;
    struct nn_slot *slot;
    int r;

    if (run->program->is_kept)
        return nn_kernel_refuse(args, "a result has another shape than when it was compiled");
    node = &graph->nodes[run->step->node];
    if (output >= node->n_outputs ||
        graph->values[node->outputs[output]].type != args->outputs[output].type)
        return nn_kernel_refuse(args, "the plan is another model's");
    value = &graph->values[node->outputs[output]];
    slot = &run->frame->slots[node->outputs[output]];
    if ((r = nn_slot_shape(slot, value->type, n_dims, dims)) ||
        (r = nn_slot_reserve(slot, value->type)))
        return nn_error_trace(r);
    if (nn_run_declared(run, value, slot))
        return NN_KERNEL_E_REFUSED;
    slot->scale = args->outputs[output].scale;
    slot->zero_point = args->outputs[output].zero_point;
    args->outputs[output].data = slot->data;
    args->outputs[output].size = slot->size;
    args->outputs[output].n_dims = n_dims;
    args->outputs[output].dims = slot->dims;
    return 0;
}

struct range_job {
    nn_range_fn fn;
    void *ctx;
    struct nn_stop *stop;
    size_t n_items, item_cost;
    uint32_t n_chunks;
};

/* A range in pieces, with a look before each. An item's cost is what its kernel believes: where
 * a piece takes longer, or much less, the next is smaller or larger. */
static void run_pieces(const struct range_job *job, size_t begin, size_t end, unsigned worker)
{
    size_t n = 1 + PIECE_NS / (job->item_cost ? job->item_cost : 1);

    while (begin < end && !nn_stop_look(job->stop)) {
        size_t n_now = end - begin < n ? end - begin : n;
        uint64_t start_ns = n_now < end - begin ? nn_sys_now_ns() : 0, spent_ns;

        job->fn(job->ctx, begin, begin + n_now, worker);
        begin += n_now;
        if (begin == end)
            return;
        spent_ns = nn_sys_now_ns() - start_ns;
        if (spent_ns > 2 * PIECE_NS)
            n = n / 2 + 1;
        else if (spent_ns < PIECE_NS / 2 && n < end)
            n *= 2;
    }
}

/* The first chunks have one item more where they do not divide. */
static size_t chunk_begin(const struct range_job *job, uint32_t chunk)
{
    size_t base = job->n_items / job->n_chunks, extra = job->n_items % job->n_chunks;

    return chunk * base + (chunk < extra ? chunk : extra);
}

static void run_chunks(void *ctx, uint32_t first, uint32_t end, unsigned worker)
{
    const struct range_job *job = ctx;

    run_pieces(job, chunk_begin(job, first), chunk_begin(job, end), worker);
}

/* Whether the loops of this execution are worth the team, asleep or not. The first execution of a
 * program finds out on its way, those that follow know from their first loop on. */
static bool is_worth_team(struct nn_run *run, size_t cost)
{
    if (__atomic_load_n(&run->program->is_long, __ATOMIC_RELAXED))
        return true;
    run->loops_ns += cost < WAKE_NS ? cost : WAKE_NS;
    if (run->loops_ns >= WAKE_NS) {
        __atomic_store_n(&run->program->is_long, 1, __ATOMIC_RELAXED);
        return true;
    }
    return nn_team_is_awake(run->team);
}

/* More chunks than threads, so that one that was interrupted does not hold up the rest. */
void nn_parallel_for(const struct nn_kernel_args *args, size_t n_items, size_t item_cost,
                     nn_range_fn fn, void *ctx)
{
    struct nn_team *team = args->run->team;
    size_t cost, n_chunks = (size_t)nn_team_size(team) * CHUNKS_PER_THREAD;

    if (n_items == 0)
        return;
    if (!nn_mul_size(n_items, item_cost, &cost))
        cost = SIZE_MAX;
    if (n_chunks > cost / MIN_CHUNK_NS)
        n_chunks = cost / MIN_CHUNK_NS;
    if (n_chunks > n_items)
        n_chunks = n_items;
    if (nn_team_size(team) < 2 || args->run->is_alone || !is_worth_team(args->run, cost) ||
        cost < MIN_SPLIT_NS || n_chunks < 2) {
        run_pieces(&(struct range_job){fn, ctx, args->stop, n_items, item_cost, 1}, 0, n_items, 0);
        return;
    }
    struct range_job job = {fn, ctx, args->stop, n_items, item_cost, (uint32_t)n_chunks};

    if (!__atomic_load_n(&args->run->program->is_split, __ATOMIC_RELAXED))
        __atomic_store_n(&args->run->program->is_split, 1, __ATOMIC_RELAXED);
    nn_team_run(team, args->stop ? args->stop->turn : NULL, job.n_chunks,
                (uint32_t)(MOST_CLAIM_NS / (cost / n_chunks + 1)), run_chunks, &job);
}
