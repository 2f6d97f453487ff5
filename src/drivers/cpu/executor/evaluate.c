/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/evaluate.h"

void nn_evaluation_init(struct nn_evaluation *alone, struct nn_program *program, uint32_t graph,
                        struct nn_node *node, struct nn_stop *stop)
{
    *alone = (struct nn_evaluation){
        .graph = &program->graphs[graph].graph, .node = node, .stop = stop};
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        struct nn_value *value = &alone->graph->values[node->outputs[i]];

        if (value->kind == NN_VALUE_TEMPORARY)
            value->kind = NN_VALUE_OUTPUT;
    }
    alone->only.graph = *alone->graph;
    alone->only.graph.nodes = node;
    alone->only.graph.n_nodes = 1;
    alone->small = (struct nn_program){.team = program->team,
                                       .meter = program->meter,
                                       .isa = program->isa,
                                       .n_graphs = 1,
                                       .graphs = &alone->only,
                                       .n_pools = program->n_pools,
                                       .pools = program->pools};
    pthread_mutex_init(&alone->small.lock, NULL);
}

int nn_evaluation_run(struct nn_evaluation *alone, struct nn_frame *frame)
{
    struct nn_why why; /* dropped: what is refused here is refused when it is executed */
    struct nn_run run = {.program = &alone->small,
                         .workspace = &alone->workspace,
                         .team = alone->small.team,
                         .stop = alone->stop,
                         .loop_timeout_ns = NNHAL_NO_TIME,
                         .why = &why};

    nn_why_clear(&why);
    return nn_run_graph(&run, 0, frame);
}

/* A plan knows the sizes before anything runs, so that a constant that would be too large is
 * never computed. */
int nn_evaluation_size(struct nn_evaluation *alone, const struct nn_frame *frame,
                       uint64_t *ret_bytes)
{
    const struct nn_plan_value *values;
    const struct nn_plan_write *writes;
    const struct nn_plan_header *header;
    struct nn_program_plan *plan;
    struct nn_why why = {0};
    const struct nn_plan_caller caller = {
        .stop = alone->stop, .why = &why, .meter = alone->small.meter};
    int r = nn_program_get_plan(&alone->small, 0, 0, frame, &caller, &plan);

    if (r)
        return r;
    header = nn_plan_header(&plan->plan);
    values = nn_plan_at(&plan->plan, &header->values);
    writes = nn_plan_at(&plan->plan, &header->writes);
    *ret_bytes = 0;
    for (uint32_t i = 0; i < header->writes.n; i++)
        *ret_bytes += values[writes[i].plan_value].size; /* each less than 2^32 */
    nn_program_put_plan(&alone->small, plan);
    return 0;
}

static bool is_graph_output(const struct nn_graph *graph, uint32_t value)
{
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i] == value)
            return true;
    return false;
}

void nn_evaluation_done(struct nn_evaluation *alone)
{
    while (alone->only.plans) {
        struct nn_program_plan *plan = alone->only.plans;

        alone->only.plans = plan->next;
        nn_plan_done(&plan->plan);
        free(plan);
    }
    for (uint32_t i = 0; i < alone->node->n_outputs; i++) {
        struct nn_value *value = &alone->graph->values[alone->node->outputs[i]];

        if (value->kind == NN_VALUE_OUTPUT &&
            !is_graph_output(alone->graph, alone->node->outputs[i]))
            value->kind = NN_VALUE_TEMPORARY;
    }
    pthread_mutex_destroy(&alone->small.lock);
    nn_workspace_done(&alone->workspace, alone->small.meter);
}
