/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/compile.h"

#include "base/error.h"
#include "base/log.h"
#include "drivers/cpu/lowering/passes.h"

#include <stdlib.h>
#include <string.h>

static void print_graph(const void *noun, FILE *file)
{
    nn_graph_print(noun, file);
}

/* Graphs in the order of the model: values that refer to a graph hold its number. */
static int copy_graphs(struct nn_program *program, const struct nnhal_driver_model *model,
                       const struct nn_compile_options *options, struct nn_why *why)
{
    const struct nnhal_model *from = model->model;
    struct nn_fold_budget budget = nn_fold_budget(options->stop);
    int r;

    program->graphs = calloc((size_t)from->n_referenced + 1, sizeof(*program->graphs));
    program->pools = calloc((size_t)model->n_pools + 1, sizeof(*program->pools));
    if (!program->graphs || !program->pools)
        return nn_error_origin(-ENOMEM);
    program->n_graphs = from->n_referenced + 1;
    program->n_pools = model->n_pools;
    if (model->n_pools)
        memcpy(program->pools, model->pools, model->n_pools * sizeof(*program->pools));
    for (uint32_t i = 0; i < program->n_graphs; i++) {
        struct nn_graph *graph = &program->graphs[i].graph;

        r = nn_graph_init(graph, model, i ? &from->referenced[i - 1] : NULL, program->meter);
        if (r)
            return nn_error_trace(r);
        if (graph->refusal) {
            nn_refuse(why, "%s", graph->refusal);
            return NN_PROGRAM_E_REFUSED;
        }
        r = nn_cpu_passes_run(program, i, options->passes, &budget);
        if (r)
            return r < 0 ? nn_error_trace(r) : NN_PROGRAM_E_STOPPED;
        nn_trace_printed("plan", print_graph, graph);
    }
    return 0;
}

int nn_compile_graphs(const struct nnhal_driver_model *model,
                      const struct nn_compile_options *options, struct nn_why *why,
                      struct nn_program **ret_program)
{
    _cleanup_(nn_program_freep) struct nn_program *program = nn_program_new_empty(options->team,
                                                                                  options->isa);
    int r;

    if (!program)
        return nn_error_origin(-ENOMEM);
    program->meter = options->meter;
    program->passes = options->passes;
    r = copy_graphs(program, model, options, why);
    if (r)
        return r;
    *ret_program = steal_ptr(&program);
    return 0;
}

int nn_compile(const struct nnhal_driver_model *model, const struct nn_compile_options *options,
               struct nn_why *why, struct nn_program **ret_program)
{
    const struct nn_plan_caller caller = {
        .stop = options->stop, .why = why, .meter = options->meter};
    _cleanup_(nn_program_freep) struct nn_program *program = NULL;
    int r = nn_compile_graphs(model, options, why, &program);

    if (!r)
        r = nn_program_make_first_plan(program, &caller);
    if (r)
        return r;
    *ret_program = steal_ptr(&program);
    return 0;
}
