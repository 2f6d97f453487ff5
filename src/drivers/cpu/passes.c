/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/passes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "drivers/cpu/fold.h"

#include <string.h>

/* A pass over the graph alone, or one that runs kernels. */
struct pass {
    const char *name;
    enum nn_passes set; /* the smallest that has it */
    int (*run)(struct nn_graph *graph);
    int (*run_program)(struct nn_program *program, uint32_t graph);
};

static const struct pass passes[] = {
    {.name = "fold", .set = NN_PASSES_QUICK, .run_program = nn_fold_constants},
    {.name = "pad", .set = NN_PASSES_ALL, .run = nn_pass_pad},
    {.name = "activation", .set = NN_PASSES_ALL, .run = nn_pass_activation},
    {.name = "infer", .set = NN_PASSES_ALL, .run = nn_pass_infer},
    {.name = "nchw", .set = NN_PASSES_ALL, .run = nn_pass_nchw},
    {.name = "dead", .set = NN_PASSES_ALL, .run = nn_pass_dead},
    {.name = "bytes", .set = NN_PASSES_ALL, .run = nn_pass_bytes},
    {.name = "fold", .set = NN_PASSES_ALL, .run_program = nn_fold_constants},
    {.name = "unsigned", .set = NN_PASSES_ALL, .run = nn_pass_unsigned},
    {.name = "fold", .set = NN_PASSES_ALL, .run_program = nn_fold_constants},
    {.name = "dead", .set = NN_PASSES_QUICK, .run = nn_pass_dead},
    {.name = "join", .set = NN_PASSES_ALL, .run = nn_pass_join},
};

/* Prints the graph if it is not what it was when *last was printed. */
static void trace(const struct nn_graph *graph, const char *title, char **last)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file;

    if (!nn_trace_enabled("passes"))
        return;
    file = open_memstream(&text, &n_bytes);
    if (!file)
        return;
    nn_graph_print(graph, file);
    if (fclose(file) || (*last && strcmp(*last, text) == 0)) {
        free(text);
        return;
    }
    nn_trace("---- %s", title);
    nn_trace_text(text);
    free(*last);
    *last = text;
}

static int run_pass(struct nn_program *program, uint32_t index, const struct pass *pass)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    int r = pass->run ? pass->run(graph) : pass->run_program(program, index);

    if (!r)
        r = nn_graph_finish(graph);
    return nn_error_trace(r);
}

int nn_passes_run(struct nn_program *program, uint32_t index, enum nn_passes set)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    _cleanup_(freep) char *last = NULL;
    int r = nn_graph_finish(graph);

    trace(graph, "model", &last);
    for (size_t i = 0; !r && i < NN_N_ELEMENTS(passes); i++) {
        if (passes[i].set > set)
            continue;
        r = run_pass(program, index, &passes[i]);
        trace(graph, passes[i].name, &last);
    }
    return nn_error_trace(r);
}
