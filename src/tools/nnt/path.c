/* SPDX-License-Identifier: Apache-2.0 */
#include "path.h"

#define OK ANEURALNETWORKS_NO_ERROR

/* -- compilations -- */

static int path_compile(struct nnt_attempt *attempt)
{
    int r = nnt_create_compilation(attempt);

    if (r == OK)
        r = nnt_check_call(attempt, "Compilation_finish", 0,
                           ANeuralNetworksCompilation_finish(attempt->compilation));
    return r;
}

/* -- arguments by pointer -- */

static int set_input(struct nnt_attempt *attempt, uint32_t i)
{
    const struct nnt_operand *operand = &attempt->main->operands[attempt->main->inputs[i]];
    bool is_omitted = operand->flags & NNT_OMITTED_INPUT;
    ANeuralNetworksOperandType type;
    bool is_open = nnt_input_type(operand, &type);

    return ANeuralNetworksExecution_setInput(attempt->execution, (int32_t)i, is_open ? &type : NULL,
                                             is_omitted ? NULL : operand->data,
                                             is_omitted ? 0 : operand->n_bytes);
}

static int set_output(struct nnt_attempt *attempt, uint32_t i)
{
    uint32_t n_bytes = attempt->main->operands[attempt->main->outputs[i]].n_bytes;

    return ANeuralNetworksExecution_setOutput(attempt->execution, (int32_t)i, NULL,
                                              attempt->outputs[i], n_bytes > 0 ? n_bytes : 1);
}

static int set_pointers(struct nnt_attempt *attempt)
{
    int r = OK;

    for (uint32_t i = 0; r == OK && i < attempt->main->n_inputs; i++)
        r = nnt_check_call(attempt, "Execution_setInput", i, set_input(attempt, i));
    for (uint32_t i = 0; r == OK && i < attempt->main->n_outputs; i++)
        r = nnt_check_call(attempt, "Execution_setOutput", i, set_output(attempt, i));
    return r;
}

/* -- runs -- */

static int path_compute(struct nnt_attempt *attempt)
{
    return nnt_check_call(attempt, "Execution_compute", 0,
                          ANeuralNetworksExecution_compute(attempt->execution));
}

static int start_and_wait(struct nnt_attempt *attempt)
{
    ANeuralNetworksEvent *event = NULL;
    int r = nnt_check_call(attempt, "Execution_startCompute", 0,
                           ANeuralNetworksExecution_startCompute(attempt->execution, &event));

    if (r == OK)
        r = nnt_check_call(attempt, "Event_wait", 0, ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    return r;
}

/* The second computation finds the slots of the first one's memories. */
static int burst_compute(struct nnt_attempt *attempt)
{
    ANeuralNetworksBurst *burst = attempt->path_state;
    int r = OK;

    if (!burst)
        r = nnt_check_call(attempt, "Burst_create", 0,
                           ANeuralNetworksBurst_create(attempt->compilation, &burst));
    attempt->path_state = burst;
    for (int i = 0; i < 2 && r == OK; i++)
        r = nnt_check_call(attempt, "Execution_burstCompute", 0,
                           ANeuralNetworksExecution_burstCompute(attempt->execution, burst));
    return r;
}

static int set_reusable(struct nnt_attempt *attempt)
{
    int r = nnt_check_call(attempt, "Execution_setReusable", 0,
                           ANeuralNetworksExecution_setReusable(attempt->execution, true));

    return r == OK ? set_pointers(attempt) : r;
}

static void free_burst(struct nnt_attempt *attempt)
{
    ANeuralNetworksBurst_free(attempt->path_state);
}

/* -- the table -- */

static const struct nnt_path_steps paths[NNT_PATH_N] = {
    [NNT_SYNC] = {.compile = path_compile, .set_arguments = set_pointers, .run = path_compute},
    [NNT_ASYNC] = {.compile = path_compile, .set_arguments = set_pointers, .run = start_and_wait},
    [NNT_CACHED] = {.compile = nnt_compile_cached,
                    .set_arguments = set_pointers,
                    .run = path_compute},
    [NNT_DOMAIN] = {.needs = NNT_DEVICE_MEMORY,
                    .compile = path_compile,
                    .set_arguments = nnt_domain_set_arguments,
                    .run = path_compute,
                    .fetch = nnt_domain_fetch,
                    .release = nnt_domain_release},
    [NNT_BURST] = {.compile = path_compile,
                   .set_arguments = set_reusable,
                   .run = burst_compute,
                   .release = free_burst},
    [NNT_BLOB] = {.memory = NNT_MEMORY_BLOB,
                  .compile = path_compile,
                  .set_arguments = nnt_shared_set_arguments,
                  .run = path_compute,
                  .fetch = nnt_shared_fetch,
                  .release = nnt_shared_release},
    [NNT_FD_OFFSET] = {.memory = NNT_MEMORY_FD_OFFSET,
                       .compile = path_compile,
                       .set_arguments = nnt_shared_set_arguments,
                       .run = path_compute,
                       .fetch = nnt_shared_fetch,
                       .release = nnt_shared_release},
    [NNT_FENCED] = {.states_outputs = true,
                    .compile = path_compile,
                    .set_arguments = nnt_shared_set_arguments,
                    .run = nnt_fenced_run,
                    .fetch = nnt_shared_fetch,
                    .release = nnt_shared_release},
    [NNT_GUARDED] = {.memory = NNT_MEMORY_GUARDED,
                     .compile = path_compile,
                     .set_arguments = nnt_shared_set_arguments,
                     .run = nnt_guarded_run,
                     .fetch = nnt_shared_fetch,
                     .release = nnt_shared_release},
};

const struct nnt_path_steps *nnt_path_steps(enum nnt_path path)
{
    return &paths[path];
}

static bool has_elements(const struct nnt_operand *operand)
{
    for (uint32_t i = 0; i < operand->rank; i++)
        if (operand->expected[i] == 0)
            return false;
    return true;
}

/* Outputs without elements cannot be stated. */
static bool can_state_outputs(const struct nnt_subgraph *main)
{
    for (uint32_t i = 0; i < main->n_outputs; i++)
        if (!has_elements(&main->operands[main->outputs[i]]))
            return false;
    return true;
}

bool nnt_path_has(enum nnt_path path, const struct nnt_model *model)
{
    return (model->flags & paths[path].needs) == paths[path].needs &&
           (!paths[path].states_outputs || can_state_outputs(&model->subgraphs[0]));
}
