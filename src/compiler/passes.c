/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <string.h>

/* Prints the graph if it is not what it was when *last was printed. */
static void trace_graph(const struct nn_graph *graph, const char *title, char **last)
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

int nn_passes_run(struct nn_graph *graph, const struct nn_pass *passes, size_t n_passes,
                  enum nn_pass_set set, void *ctx)
{
    _cleanup_(freep) char *last = NULL;
    int r = nn_graph_finish(graph);

    trace_graph(graph, "model", &last);
    for (size_t i = 0; !r && i < n_passes; i++) {
        if (passes[i].set > set)
            continue;
        r = passes[i].run ? passes[i].run(graph) : passes[i].run_with(ctx, graph);
        if (!r)
            r = nn_graph_finish(graph);
        trace_graph(graph, passes[i].name, &last);
    }
    return nn_error_trace(r);
}
