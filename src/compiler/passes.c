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

int nn_passes_run(struct nn_graph *graph, const struct nn_pass_list *list, enum nn_pass_set set,
                  void *ctx)
{
    _cleanup_(freep) char *last = NULL;
    int r = nn_graph_finish(graph);

    trace_graph(graph, "model", &last);
    for (size_t i = 0; !r && i < list->n_passes; i++) {
        const struct nn_pass *pass = &list->passes[i];

        if (pass->set > set)
            continue;
        if (nn_stop_look(list->stop))
            return NN_PASSES_E_STOPPED;
        r = pass->run ? pass->run(graph) : pass->run_with(ctx, graph);
        if (!r)
            r = nn_graph_finish(graph);
        trace_graph(graph, pass->name, &last);
    }
    return r < 0 ? nn_error_trace(r) : r;
}
