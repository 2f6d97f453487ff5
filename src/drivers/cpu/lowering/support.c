/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/support.h"

#include "base/error.h"
#include "compiler/own-extension.h"
#include "drivers/cpu/lowering/lower.h"
#include "drivers/cpu/lowering/possible.h"
#include "model/ops.h"
#include "model/types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TYPES = 4 };

/* An operation that has no kernel, in a graph or in one that it reaches. */
struct culprit {
    uint32_t graph;
    const struct nn_node *node; /* NULL: there is none */
};

struct support {
    const struct nnhal_driver_model *model;
    const struct nn_support_request *request;
    uint8_t *supported;
    uint32_t n_graphs;
    struct nn_graph *graphs;
    struct culprit *culprits; /* per graph; nothing refers to the first, which has none */
};

static bool is_control(const struct nn_node *node)
{
    return node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE;
}

/* -- sentences ----------------------------------------------------------------------- */

/* The types of tensors, each once: "TENSOR_FLOAT32, TENSOR_INT32". */
static void name_types(const struct nn_graph *graph, const struct nn_node *node, char *text,
                       size_t n_text)
{
    uint32_t types[MAX_TYPES], n_types = 0;
    size_t n = 0;

    *text = '\0';
    for (uint32_t i = 0; i < node->n_inputs + node->n_outputs && n_types < MAX_TYPES; i++) {
        uint32_t index = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
        uint32_t type = graph->values[index].type, j = 0;

        while (j < n_types && types[j] != type)
            j++;
        if (j < n_types || nn_type_is_scalar(type))
            continue;
        types[n_types++] = type;
        n += (size_t)snprintf(text + n, n_text - n, "%s%s", n ? ", " : "", nn_type_name(type));
        if (n >= n_text)
            return;
    }
}

static void describe(const struct support *support, const struct culprit *culprit,
                     const char *where, struct nn_why *ret_why)
{
    const struct nnhal_model *model = support->model->model;
    const struct nnhal_subgraph *subgraph = culprit->graph ? &model->referenced[culprit->graph - 1]
                                                           : &model->main;
    char types[128];
    uint32_t code;

    if (culprit->node->operation == NN_OWN_NONE) {
        /* It was asked before, which kept no sentence. */
        if (nn_own_operation(model, subgraph, &subgraph->operations[culprit->node->origin], ret_why,
                             &code) == 0)
            nn_why_prefix(ret_why, "%s", where);
        return;
    }
    name_types(&support->graphs[culprit->graph], culprit->node, types, sizeof(types));
    nn_refuse(ret_why, "%sthere is no kernel for %s of %s", where,
              nn_op_name(culprit->node->operation), types);
}

static void refuse(const struct support *support, uint32_t operation, const struct culprit *culprit,
                   const char *where)
{
    struct nn_why why = {0};

    describe(support, culprit, where, &why);
    support->supported[operation] = 0;
    support->request->refuse(support->request->ctx, operation, why.text);
}

static void refuse_impossible(void *ctx, uint32_t operation, const char *text)
{
    const struct support *support = ctx;

    support->supported[operation] = 0;
    support->request->refuse(support->request->ctx, operation, text);
}

/* -- judging ------------------------------------------------------------------------- */

/* Returns: NULL: all that it reaches is supported. */
static const struct culprit *find_inner(const struct support *support, const struct nn_graph *graph,
                                        const struct nn_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct nn_value *value = &graph->values[node->inputs[i]];

        if (value->kind == NN_VALUE_SUBGRAPH && support->culprits[value->index].node)
            return &support->culprits[value->index];
    }
    return NULL;
}

/* Each graph that is referred to, by its own operations. Returns: 0, -ENOMEM. */
static int judge_operations(struct support *support)
{
    for (uint32_t g = 1; g < support->n_graphs; g++) {
        const struct nn_graph *graph = &support->graphs[g];

        for (uint32_t i = 0; i < graph->n_nodes && !support->culprits[g].node; i++) {
            int r = is_control(&graph->nodes[i])
                        ? 1
                        : nn_lower_supports(graph, &graph->nodes[i], support->request->isa);

            if (r < 0)
                return nn_error_trace(r);
            if (!r)
                support->culprits[g] = (struct culprit){g, &graph->nodes[i]};
        }
    }
    return 0;
}

/* A graph that cannot be executed makes those that refer to it so, and so on. */
static void judge_references(struct support *support)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (uint32_t g = 1; g < support->n_graphs; g++) {
            const struct nn_graph *graph = &support->graphs[g];

            for (uint32_t i = 0; i < graph->n_nodes && !support->culprits[g].node; i++) {
                const struct culprit *inner = is_control(&graph->nodes[i])
                                                  ? find_inner(support, graph, &graph->nodes[i])
                                                  : NULL;

                if (!inner)
                    continue;
                support->culprits[g] = *inner;
                has_changed = true;
            }
        }
    }
}

/* Returns: 0, -ENOMEM. */
static int judge_main(const struct support *support)
{
    const struct nn_graph *graph = &support->graphs[0];

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct nn_node *node = &graph->nodes[i];
        const struct culprit *inner = is_control(node) ? find_inner(support, graph, node) : NULL;
        int r = is_control(node) ? 1 : nn_lower_supports(graph, node, support->request->isa);

        if (r < 0)
            return nn_error_trace(r);
        if (inner)
            refuse(support, i, inner, "in a subgraph: ");
        else if (!r)
            refuse(support, i, &(struct culprit){0, node}, "");
    }
    return 0;
}

/* -- a model ------------------------------------------------------------------------- */

static bool support_init(struct support *support)
{
    const struct nnhal_driver_model *model = support->model;
    uint32_t n = model->model->n_referenced + 1;

    support->graphs = calloc(n, sizeof(*support->graphs));
    support->culprits = calloc(n, sizeof(*support->culprits));
    if (!support->graphs || !support->culprits)
        return false;
    for (; support->n_graphs < n; support->n_graphs++) {
        uint32_t i = support->n_graphs;

        if (nn_graph_init(&support->graphs[i], model, i ? &model->model->referenced[i - 1] : NULL,
                          NULL))
            return false;
    }
    return true;
}

static void support_done(struct support *support)
{
    for (uint32_t i = 0; i < support->n_graphs; i++)
        nn_graph_done(&support->graphs[i]);
    free(support->graphs);
    free(support->culprits);
}

int nn_support_judge(const struct nnhal_driver_model *model,
                     const struct nn_support_request *request, uint8_t *supported)
{
    struct support support = {.model = model, .request = request, .supported = supported};
    int r = support_init(&support) ? 0 : nn_error_origin(-ENOMEM);

    memset(supported, 1, model->model->main.n_operations);
    if (!r && !request->takes_invalid)
        r = nn_graph_find_impossible(&support.graphs[0], refuse_impossible, &support);
    if (!r)
        r = judge_operations(&support);
    if (!r) {
        judge_references(&support);
        r = judge_main(&support);
    }
    support_done(&support);
    return r ? nn_error_trace(r) : 0;
}
