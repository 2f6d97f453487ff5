/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-choice.h"

#include "tflite/delegate-file.h"
#include "tflite/delegate-shapes.h"
#include "tflite/delegate-token.h"
#include "tflite/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choosing {
    struct lite_context *context;
    struct tfl_settings *settings;
    struct tfl_view view; /* every node that the subgraph runs */
    ANeuralNetworksMemory *constants;
    bool *is_taken;            /* by operator of the view */
    struct lite_ints *outputs; /* tensors that go out of the subgraph; NULL: not known */
    struct tfl_chosen *chosen;
    bool is_late; /* what is taken has been decided; kernels compile when they are prepared */
};

static void leave(struct choosing *c, uint32_t i, const char *reason)
{
    const struct tfl_operator *op = &c->view.graph.operators[i];

    c->is_taken[i] = false;
    tfl_log(c->context, c->settings, "node %u (%s) stays with TensorFlow Lite: %s", op->number,
            op->name, reason);
}

/* -- candidates ---------------------------------------------------------------------- */

/* A model of some operators, for what it says about them. Frees b with tfl_done(). */
static int build_part(struct choosing *c, const uint32_t *operators, uint32_t n,
                      struct tfl_view *part, struct tfl_builder *b)
{
    int r = tfl_view_part(&c->view, operators, n, NULL, part);

    if (r)
        return r;
    b->graph = &part->graph;
    b->constants = c->constants;
    b->keeps_states = true;
    tfl_build(b);
    return b->result;
}

static int check_mapping(struct choosing *c, uint32_t i)
{
    struct tfl_message message = {""};
    struct tfl_builder b = {.message = message.text, .message_size = sizeof(message.text)};
    struct tfl_view part = {0};
    int r = 0;

    if (tfl_is_folded(&c->view.graph, &c->view.graph.operators[i]))
        return 0; /* judged by who reads it */
    r = build_part(c, &i, 1, &part, &b);
    if (r == -ENOTSUP)
        leave(c, i, message.text + b.reason_at);
    tfl_done(&b);
    tfl_view_done(&part);
    return r == -ENOTSUP ? 0 : r;
}

/* Whether an operator that is not taken reads the tensor, or none does: the application may. */
static bool is_needed(const struct choosing *c, int32_t tensor)
{
    const struct tfl_graph *graph = &c->view.graph;
    bool is_read = false;

    for (uint32_t i = 0; i < graph->n_operators; i++)
        for (uint32_t k = 0; k < graph->operators[i].n_inputs; k++)
            if (graph->operators[i].inputs[k] == tensor) {
                if (!c->is_taken[i])
                    return true;
                is_read = true;
            }
    return !is_read;
}

/* Constants that are made of constants are taken if all who read them are. What goes out of the
 * subgraph is asked of the host: a partition of all nodes puts out that alone. */
static void check_folded(struct choosing *c)
{
    const struct tfl_graph *graph = &c->view.graph;

    for (uint32_t i = 0; i < graph->n_operators; i++) {
        const struct tfl_operator *op = &graph->operators[i];
        bool is_out = false;

        if (!c->is_taken[i] || !tfl_is_folded(graph, op))
            continue;
        for (int k = 0; c->outputs && k < c->outputs->size; k++)
            is_out = is_out || c->outputs->data[k] == op->outputs[0];
        if (is_out || is_needed(c, op->outputs[0]))
            leave(c, i, "its output is a constant that others read");
    }
}

static uint32_t list_taken(const struct choosing *c, uint32_t *operators)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->view.graph.n_operators; i++)
        if (c->is_taken[i])
            operators[n++] = i;
    return n;
}

/* The operator of the view that an operator of a part is. */
static uint32_t index_of(const struct choosing *c, const struct tfl_operator *op)
{
    uint32_t i = 0;

    while (c->view.graph.operators[i].number != op->number)
        i++;
    return i;
}

static void leave_unsupported(struct choosing *c, const struct tfl_builder *b,
                              const bool *is_supported)
{
    for (uint32_t i = 0; i < b->n_operations; i++) {
        uint32_t index = index_of(c, &b->graph->operators[b->origins[i]]);

        if (!is_supported[i] && c->is_taken[index])
            leave(c, index, "no device computes it");
    }
}

/* Asks the devices about all candidates at once. */
static int check_devices(struct choosing *c)
{
    struct tfl_message message = {""};
    struct tfl_builder b = {.message = message.text, .message_size = sizeof(message.text)};
    uint32_t *operators = calloc(c->view.graph.n_operators + 1u, sizeof(*operators));
    struct tfl_view part = {0};
    bool *is_supported = NULL;
    uint32_t n = operators ? list_taken(c, operators) : 0;
    int r = !operators ? -ENOMEM : n ? build_part(c, operators, n, &part, &b) : 0;

    if (!r && n) {
        is_supported = calloc(b.n_operations + 1u, sizeof(*is_supported));
        if (!is_supported)
            r = -ENOMEM;
        else if (ANeuralNetworksModel_getSupportedOperationsForDevices(
                     b.model, (const ANeuralNetworksDevice *const *)c->settings->devices,
                     c->settings->n_devices, is_supported) == ANEURALNETWORKS_NO_ERROR)
            leave_unsupported(c, &b, is_supported);
        else
            r = -ENOTSUP;
    }
    for (uint32_t i = 0; r == -ENOTSUP && i < n; i++)
        leave(c, operators[i], message.text[0] ? message.text : "the devices do not answer");
    tfl_done(&b);
    tfl_view_done(&part);
    free(is_supported);
    free(operators);
    return r == -ENOTSUP ? 0 : r;
}

/* -- partitions ----------------------------------------------------------------------- */

static struct lite_ints *ints_new(size_t n)
{
    struct lite_ints *list = malloc(sizeof(*list) + n * sizeof(list->data[0]));

    if (list)
        list->size = (int)n;
    return list;
}

static struct lite_ints *ints_dup(const struct lite_ints *from)
{
    struct lite_ints *list = ints_new((size_t)from->size);

    for (int i = 0; list && i < from->size; i++)
        list->data[i] = from->data[i];
    return list;
}

bool tfl_ints_equal(const struct lite_ints *a, const struct lite_ints *b)
{
    return a->size == b->size && memcmp(a->data, b->data, (size_t)a->size * sizeof(int)) == 0;
}

static struct lite_ints *list_nodes(const struct choosing *c)
{
    struct lite_ints *nodes = ints_new(c->view.graph.n_operators);
    int n = 0;

    if (!nodes)
        return NULL;
    for (uint32_t i = 0; i < c->view.graph.n_operators; i++)
        if (c->is_taken[i])
            nodes->data[n++] = (int)c->view.graph.operators[i].number;
    nodes->size = n;
    return nodes;
}

/* The host's answer is valid until it is asked again. */
static int preview(struct choosing *c, struct lite_delegate_params **ret, int *ret_n)
{
    struct lite_ints *nodes = list_nodes(c);
    int status;

    if (!nodes)
        return -ENOMEM;
    *ret = NULL;
    *ret_n = 0;
    status = nodes->size ? c->context->PreviewDelegatePartitioning(c->context, nodes, ret, ret_n)
                         : LITE_OK;
    free(nodes);
    return status == LITE_OK && *ret_n >= 0 && (*ret || !*ret_n) ? 0 : -EINVAL;
}

static void leave_nodes(struct choosing *c, const struct lite_ints *nodes, const char *reason)
{
    for (uint32_t i = 0; i < c->view.graph.n_operators; i++)
        for (int k = 0; k < nodes->size; k++)
            if (c->is_taken[i] && (int)c->view.graph.operators[i].number == nodes->data[k])
                leave(c, i, reason);
}

/* Leaves the smallest partitions beyond those that the user allows. Returns whether there were any. */
static bool leave_smallest(struct choosing *c, const struct lite_delegate_params *partitions, int n)
{
    const struct lite_ints *smallest = NULL;

    if (!c->settings->max_partitions || (uint32_t)n <= c->settings->max_partitions)
        return false;
    for (int i = 0; i < n; i++)
        if (!smallest || partitions[i].nodes_to_replace->size < smallest->size)
            smallest = partitions[i].nodes_to_replace;
    leave_nodes(c, smallest, "more partitions than max_partitions allows");
    return true;
}

static bool is_ready(const struct choosing *c, const struct lite_ints *nodes)
{
    for (const struct tfl_chosen *one = c->chosen; one; one = one->next)
        if (tfl_ints_equal(one->nodes, nodes))
            return true;
    return false;
}

/* The operators of the view that are the partition's nodes, in the view's order. */
static uint32_t find_operators(const struct choosing *c, const struct lite_ints *nodes,
                               uint32_t *operators)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->view.graph.n_operators; i++)
        for (int k = 0; k < nodes->size; k++)
            if ((int)c->view.graph.operators[i].number == nodes->data[k]) {
                operators[n++] = i;
                break;
            }
    return n;
}

static int add_chosen(struct choosing *c, const struct lite_ints *nodes, struct tfl_kernel *kernel)
{
    struct tfl_chosen *chosen = calloc(1, sizeof(*chosen));

    if (chosen)
        chosen->nodes = ints_dup(nodes);
    if (!chosen || !chosen->nodes) {
        free(chosen);
        tfl_kernel_free(kernel);
        return -ENOMEM;
    }
    chosen->context = c->context;
    chosen->kernel = kernel;
    chosen->next = c->chosen;
    c->chosen = chosen;
    return 0;
}

/* Returns: 0, -ENOTSUP (its nodes are left), -ENOMEM. */
static int make_ready(struct choosing *c, const struct lite_delegate_params *partition)
{
    uint32_t *operators = calloc(c->view.graph.n_operators + 1u, sizeof(*operators));
    struct tfl_message message = {""};
    struct tfl_kernel *kernel = NULL;
    struct tfl_view part = {0};
    int r = -ENOMEM;

    if (operators)
        r = tfl_view_part(&c->view, operators,
                          find_operators(c, partition->nodes_to_replace, operators),
                          partition->output_tensors, &part);
    if (!r)
        r = tfl_kernel_new(c->settings, &part, c->is_late, &kernel, &message);
    if (!r)
        r = add_chosen(c, partition->nodes_to_replace, kernel);
    else if (r == -ENOTSUP)
        leave_nodes(c, partition->nodes_to_replace, message.text);
    free(operators);
    return r;
}

/* One round: *ret_is_done if all partitions of the nodes that are taken are ready. Who reads a folded
 * constant may have been left since the last round. */
static int make_partitions(struct choosing *c, bool *ret_is_done)
{
    struct lite_delegate_params *partitions;
    int n, r;

    *ret_is_done = false;
    check_folded(c);
    r = preview(c, &partitions, &n);
    if (r || leave_smallest(c, partitions, n))
        return r;
    for (int i = 0; i < n; i++) {
        if (is_ready(c, partitions[i].nodes_to_replace))
            continue;
        r = make_ready(c, &partitions[i]);
        if (r)
            return r == -ENOTSUP ? 0 : r;
    }
    *ret_is_done = true;
    return 0;
}

static void tell(struct choosing *c, const struct lite_ints *nodes)
{
    int n = 0;

    for (const struct tfl_chosen *one = c->chosen; one; one = one->next) {
        struct tfl_message cache;

        tfl_kernel_get_cache(one->kernel, &cache);
        tfl_log(c->context, c->settings, "partition of %d nodes %s", one->nodes->size,
                c->is_late      ? "as before, for new shapes"
                : cache.text[0] ? cache.text
                                : "compiled");
        n++;
    }
    tfl_log(c->context, c->settings, "%d of %u nodes in %d partitions", nodes->size,
            c->view.graph.n_operators, n);
}

/* -- all of it ------------------------------------------------------------------------ */

/* The tensors that go out of the subgraph; what the host owns. */
static int find_outputs(struct choosing *c, const struct lite_ints **ret_outputs)
{
    struct lite_delegate_params *partitions;
    int n, r = preview(c, &partitions, &n);

    *ret_outputs = !r && n == 1 ? partitions[0].output_tensors : NULL;
    return r;
}

static int choose_candidates(struct choosing *c, const bool *is_open)
{
    const struct lite_ints *outputs;
    int r;

    for (uint32_t i = 0; i < c->view.graph.n_operators; i++)
        c->is_taken[i] = true;
    r = find_outputs(c, &outputs);
    if (r)
        return r;
    if (outputs) {
        c->outputs = ints_dup(outputs);
        if (!c->outputs)
            return -ENOMEM;
    }
    for (uint32_t i = 0; !r && i < c->view.graph.n_operators; i++) {
        if (is_open[i])
            leave(c, i, "its shapes are known only when it runs");
        else
            r = check_mapping(c, i);
    }
    if (r)
        return r;
    check_folded(c);
    return check_devices(c);
}

/* Decides by what is known of the graph now. */
static int choose_anew(struct choosing *c)
{
    bool *is_open = calloc(c->view.graph.n_operators + 1u, sizeof(*is_open));
    int r = is_open ? tfl_shapes_find_open(c->context, &c->view, is_open) : -ENOMEM;

    if (!r) {
        c->constants = tfl_file_place_constants(&c->view.graph);
        r = choose_candidates(c, is_open);
    }
    free(is_open);
    return r;
}

static void take_nodes(struct choosing *c, const struct lite_ints *nodes)
{
    uint32_t at = 0;

    for (int k = 0; k < nodes->size; k++) {
        while (at < c->view.graph.n_operators &&
               (int)c->view.graph.operators[at].number != nodes->data[k])
            at++;
        if (at < c->view.graph.n_operators)
            c->is_taken[at] = true;
    }
}

static int choose(struct choosing *c, const struct tfl_choice *before,
                  struct tfl_choice *ret_choice)
{
    bool is_done = false;
    int r = 0;

    ret_choice->hash = tfl_graph_hash(&c->view.graph);
    c->is_late = before && before->hash == ret_choice->hash;
    if (c->is_late)
        take_nodes(c, before->nodes);
    else
        r = choose_anew(c);
    while (!r && !is_done)
        r = make_partitions(c, &is_done);
    if (r)
        return r;
    ret_choice->nodes = list_nodes(c);
    if (!ret_choice->nodes)
        return -ENOMEM;
    tell(c, ret_choice->nodes);
    ret_choice->partitions = c->chosen;
    c->chosen = NULL;
    return 0;
}

int tfl_choose(struct lite_context *context, struct tfl_settings *settings,
               const struct tfl_choice *before, struct tfl_choice *ret_choice)
{
    struct choosing c = {.context = context, .settings = settings};
    struct lite_ints *plan = NULL;
    int r;

    if (context->GetExecutionPlan(context, &plan) != LITE_OK || !plan)
        return -EINVAL;
    plan = ints_dup(plan); /* the host's own lives until it is asked again */
    if (!plan)
        return -ENOMEM;
    r = tfl_view_read(context, plan->data, (uint32_t)plan->size, &c.view);
    free(plan);
    if (!r) {
        c.is_taken = calloc(c.view.graph.n_operators + 1u, sizeof(*c.is_taken));
        r = c.is_taken ? choose(&c, before, ret_choice) : -ENOMEM;
    }
    for (struct tfl_chosen *one = c.chosen, *next; one; one = next) {
        next = one->next;
        tfl_chosen_free(one);
    }
    ANeuralNetworksMemory_free(c.constants);
    tfl_view_done(&c.view);
    free(c.is_taken);
    free(c.outputs);
    return r;
}

void tfl_chosen_free(struct tfl_chosen *chosen)
{
    if (!chosen)
        return;
    tfl_kernel_free(chosen->kernel);
    free(chosen->nodes);
    free(chosen);
}
