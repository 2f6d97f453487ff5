/* SPDX-License-Identifier: Apache-2.0 */
/* domains.c - memories of the device beyond one execution
 *
 * What one execution leaves in a memory of the device is the input of the next; what was never written
 * is not read. */
#include "cts.h"
#include "nnt/compare.h"

#include <stdlib.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

/* Where an argument lies: bytes of the application, or a memory. */
struct chain_place {
    uint8_t *bytes;
    ANeuralNetworksMemory *memory;
};

/* Whether the only output can be the only input. */
static bool is_chainable(const struct nnt_model *model)
{
    const struct nnt_subgraph *main = &model->subgraphs[0];
    const struct nnt_operand *in = &main->operands[main->inputs[0]];
    const struct nnt_operand *out = &main->operands[main->outputs[0]];

    return model->flags & NNT_DEVICE_MEMORY && main->n_inputs == 1 && main->n_outputs == 1 &&
           in->type == out->type && in->rank == out->rank && in->rank > 0 &&
           in->zero_point == out->zero_point &&
           memcmp(in->expected, out->expected, in->rank * sizeof(uint32_t)) == 0 &&
           memcmp(&in->scale, &out->scale, sizeof(float)) == 0;
}

static int make_memory(struct nnt_attempt *attempt, ANeuralNetworksMemory **ret_memory)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    int r = ANeuralNetworksMemoryDesc_create(&desc);

    if (r == OK)
        r = ANeuralNetworksMemoryDesc_addOutputRole(desc, attempt->compilation, 0, 1.0f);
    if (r == OK)
        r = ANeuralNetworksMemoryDesc_addInputRole(desc, attempt->compilation, 0, 1.0f);
    if (r == OK)
        r = ANeuralNetworksMemoryDesc_finish(desc);
    if (r == OK)
        r = ANeuralNetworksMemory_createFromDesc(desc, ret_memory);
    ANeuralNetworksMemoryDesc_free(desc);
    return nnt_check_call(attempt, "Memory_createFromDesc", 0, r);
}

static int compute(struct nnt_attempt *attempt, struct chain_place in, struct chain_place out)
{
    size_t n_bytes = attempt->main->operands[attempt->main->inputs[0]].n_bytes;
    ANeuralNetworksExecution *execution = NULL;
    int r = nnt_create_execution(attempt, &execution);

    if (r == OK)
        r = in.memory
                ? ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, in.memory, 0, 0)
                : ANeuralNetworksExecution_setInput(execution, 0, NULL, in.bytes, n_bytes);
    if (r == OK)
        r = out.memory
                ? ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, out.memory, 0, 0)
                : ANeuralNetworksExecution_setOutput(execution, 0, NULL, out.bytes, n_bytes);
    if (r == OK)
        r = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    return nnt_check_call(attempt, "Execution_compute", in.memory != NULL, r);
}

static bool same_values(struct nnt_attempt *attempt, const uint8_t *expected, const uint8_t *got)
{
    struct nnt_operand operand = attempt->main->operands[attempt->main->outputs[0]];
    struct nnt_difference difference;

    operand.data = expected;
    return memcmp(expected, got, operand.n_bytes) == 0 || /* what is no number, too */
           nnt_compare(attempt->model, &operand, got, &difference) ||
           nnt_report(attempt->run, "by a memory of the device element %u is %.9g, else %.9g",
                      difference.element, difference.got, difference.expected);
}

/* f(f(x)) by a memory of the device and by bytes of the application; buffers has room for three. */
static bool chains_agree(struct nnt_attempt *attempt, ANeuralNetworksMemory *memory,
                         uint8_t *buffers)
{
    const struct nnt_operand *input = &attempt->main->operands[attempt->main->inputs[0]];
    const struct chain_place first = {.bytes = buffers},
                             by_hand = {.bytes = buffers + input->n_bytes},
                             by_device = {.bytes = buffers + 2 * (size_t)input->n_bytes},
                             between = {.memory = memory};

    memcpy(by_hand.bytes, input->data, input->n_bytes);
    if (compute(attempt, between, by_device) == OK)
        return nnt_report(attempt->run, "a memory was read that was never written");
    return compute(attempt, by_hand, between) == OK && compute(attempt, between, by_device) == OK &&
           compute(attempt, by_hand, first) == OK && compute(attempt, first, by_hand) == OK &&
           same_values(attempt, by_hand.bytes, by_device.bytes);
}

static enum nnt_outcome judge_chain(struct nnt_attempt *attempt)
{
    size_t n_bytes = attempt->main->operands[attempt->main->inputs[0]].n_bytes;
    uint8_t *buffers = malloc(3 * n_bytes);
    ANeuralNetworksMemory *memory = NULL;
    bool is_right = buffers && nnt_attempt_compile(attempt) == OK &&
                    make_memory(attempt, &memory) == OK && chains_agree(attempt, memory, buffers);
    enum nnt_outcome outcome = is_right ? NNT_PASSED : cts_end_of(attempt);

    ANeuralNetworksMemory_free(memory);
    free(buffers);
    return outcome;
}

static void try_chain(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_DOMAIN);
    struct nnt_attempt attempt;

    if (!is_chainable(model) || !cts_wants(cts, "%s twice by a memory of the device", model->name))
        return;
    nnt_attempt_init(&attempt, &run, model);
    cts_say(cts, judge_chain(&attempt), run.what);
    nnt_attempt_done(&attempt);
}

void cts_domains(struct cts *cts)
{
    cts_each_model(cts, 0, 1, try_chain);
}
