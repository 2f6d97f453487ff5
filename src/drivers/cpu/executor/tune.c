/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/tune.h"

#include "base/error.h"
#include "base/sys.h"
#include "drivers/cpu/executor/evaluate.h"

#include <string.h>

enum {
    N_RUNS = 3,
    MAX_CANDIDATES = 8,
    LONG_NS = 20 * 1000 * 1000, /* one such run tells enough */
    MAX_ARGUMENT_BYTES = 256 << 20,
};

struct tuning {
    struct nn_program *program;
    struct nn_team *team; /* of one: no execution is disturbed */
    const struct nn_plan *plan;
    const uint32_t *is_cancelled;
    uint32_t n_changed;
};

/* ---- candidates ---- */

static size_t base_length(const char *name)
{
    const char *last = NULL;

    for (const char *at = strstr(name, "__"); at; at = strstr(at + 2, "__"))
        last = at;
    return last ? (size_t)(last - name) : strlen(name);
}

static bool gives_same_bits(const struct nn_kernel *a, const struct nn_kernel *b)
{
    size_t n = base_length(a->name);

    return n == base_length(b->name) && strncmp(a->name, b->name, n) == 0;
}

/* Rows that take the node and give the same bits as the one that was chosen. */
static uint32_t find_candidates(const struct tuning *tuning, const struct nn_node *node,
                                uint32_t chosen, uint32_t rows[MAX_CANDIDATES])
{
    const struct nn_value *values = tuning->program->graphs[0].graph.values;
    uint32_t n_types = node->n_inputs + node->n_outputs, n = 0, row = 0;
    uint32_t *types = calloc(n_types, sizeof(*types));

    for (uint32_t i = 0; types && i < n_types; i++)
        types[i] =
            values[i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs]].type;
    while (types && n < MAX_CANDIDATES) {
        row = nn_kernel_find(row, node->operation, tuning->program->isa, node->n_inputs, types,
                             node->n_outputs, types + node->n_inputs);
        if (row == UINT32_MAX)
            break;
        if (gives_same_bits(nn_kernel_at(row), nn_kernel_at(chosen)))
            rows[n++] = row;
        row++;
    }
    free(types);
    return n;
}

/* ---- one node ---- */

/* Zeroes of the shapes that the plan has. Returns: 0, -ENOMEM, -EOVERFLOW. */
static int give_inputs(const struct tuning *tuning, const struct nn_plan_step *step,
                       const struct nn_node *node, struct nn_frame *frame)
{
    const struct nn_plan_header *header = nn_plan_header(tuning->plan);
    const struct nn_plan_value *values = nn_plan_at(tuning->plan, &header->values);
    const uint32_t *refs = nn_plan_at(tuning->plan, &header->refs);
    const uint32_t *dims = nn_plan_at(tuning->plan, &header->dims);
    const struct nn_graph *graph = &tuning->program->graphs[0].graph;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct nn_plan_value *value = &values[refs[step->first_ref + i]];
        struct nn_slot *slot = &frame->slots[node->inputs[i]];
        int r;

        if (graph->values[node->inputs[i]].kind == NN_VALUE_CONSTANT || slot->data)
            continue;
        if (value->space == NN_SPACE_NONE) {
            slot->is_omitted = true;
            continue;
        }
        r = nn_slot_shape(slot, value->type, value->n_dims, dims + value->first_dim);
        if (r == 0 && slot->size > MAX_ARGUMENT_BYTES)
            r = nn_error_origin(-EOVERFLOW);
        if (r == 0)
            r = nn_slot_reserve(slot, value->type);
        if (r)
            return nn_error_trace(r);
        memset(slot->data, 0, slot->size);
        slot->scale = value->scale;
        slot->zero_point = value->zero_point;
    }
    return 0;
}

/* The shortest of some runs, UINT64_MAX if it does not run. */
static uint64_t time_row(const struct tuning *tuning, const struct nn_plan_step *step,
                         struct nn_node *node, uint32_t row)
{
    uint64_t best = UINT64_MAX;
    struct nn_frame frame;
    struct nn_evaluation alone;

    if (nn_frame_init(&frame, tuning->program->graphs[0].graph.n_values))
        return best;
    node->first_row = row;
    nn_evaluation_init(&alone, tuning->program, 0, node, tuning->team);
    if (give_inputs(tuning, step, node, &frame) == 0 &&
        nn_evaluation_run(&alone, &frame, tuning->is_cancelled) == 0) {
        for (int i = 0; i < N_RUNS; i++) {
            uint64_t start = nn_sys_now_ns(), took;

            if (nn_evaluation_run(&alone, &frame, tuning->is_cancelled))
                break;
            took = nn_sys_now_ns() - start;
            best = took < best ? took : best;
            if (took > LONG_NS)
                break;
        }
    }
    nn_evaluation_done(&alone);
    nn_frame_done(&frame);
    return best;
}

static bool is_stopped(const struct tuning *tuning)
{
    return __atomic_load_n(tuning->is_cancelled, __ATOMIC_RELAXED) != 0;
}

/* The table's own choice stays unless another is clearly faster. */
static int tune_step(struct tuning *tuning, const struct nn_plan_step *step)
{
    struct nn_node *node = &tuning->program->graphs[0].graph.nodes[step->node];
    uint32_t rows[MAX_CANDIDATES], best_row = step->kernel;
    uint32_t n = find_candidates(tuning, node, step->kernel, rows);
    uint64_t best;

    if (n < 2 || nn_kernel_at(step->kernel)->is_dynamic)
        return 0;
    best = time_row(tuning, step, node, step->kernel);
    if (best != UINT64_MAX)
        best -= best / 16;
    for (uint32_t i = 0; best != UINT64_MAX && i < n; i++) {
        uint64_t took;

        if (is_stopped(tuning))
            return NN_TUNE_E_CANCELLED;
        if (rows[i] == step->kernel)
            continue;
        took = time_row(tuning, step, node, rows[i]);
        if (took < best) {
            best = took;
            best_row = rows[i];
        }
    }
    tuning->n_changed += best_row != step->kernel;
    node->first_row = best_row == step->kernel ? 0 : best_row;
    return 0;
}

static int tune_steps(struct tuning *tuning)
{
    const struct nn_plan_header *header = nn_plan_header(tuning->plan);
    const struct nn_plan_step *steps = nn_plan_at(tuning->plan, &header->steps);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < header->steps.n; i++)
        r = is_stopped(tuning) ? NN_TUNE_E_CANCELLED : tune_step(tuning, &steps[i]);
    return r;
}

int nn_tune(struct nn_program *program, const uint32_t *is_cancelled)
{
    struct tuning tuning = {.program = program, .is_cancelled = is_cancelled};
    int r;

    if (!program->graphs[0].plans)
        return 0;
    tuning.plan = &program->graphs[0].plans->plan;
    r = nn_team_new(1, &tuning.team);
    if (r)
        return nn_error_trace(r);
    r = tune_steps(&tuning);
    nn_team_free(tuning.team);
    if (r == 0 && tuning.n_changed)
        r = nn_program_plan_again(program);
    return r;
}
