/* SPDX-License-Identifier: Apache-2.0 */
/* domain.c - the path "domain": arguments in memories of the device
 *
 * Each input and each output is a memory made from a descriptor with that one
 * role. Inputs are copied into theirs before the execution, and outputs out of
 * theirs after it. What the model leaves open of an output, its memory leaves
 * open too; of an input it cannot, because bytes alone do not say their shape. */
#include "path.h"

#include <stdlib.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

/* Brings bytes into a memory of the device, or out of it. */
static int copy_argument(struct nnt_attempt *attempt, uint32_t i, ANeuralNetworksMemory *memory,
                         const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    struct nnt_memory shared;
    int r = nnt_check_call(attempt, "Memory_create", i,
                           nnt_memory_new(&shared, NNT_MEMORY_PLAIN, n_bytes));

    if (r != OK)
        return r;
    if (in)
        memcpy(shared.bytes, in, n_bytes);
    r = nnt_check_call(attempt, "Memory_copy", i,
                       in ? ANeuralNetworksMemory_copy(shared.memory, memory)
                          : ANeuralNetworksMemory_copy(memory, shared.memory));
    if (r == OK && out)
        memcpy(out, shared.bytes, n_bytes);
    nnt_memory_free(&shared);
    return r;
}

/* -- memories of the device ----------------------------------------------------------- */

static int add_role(struct nnt_attempt *attempt, ANeuralNetworksMemoryDesc *desc, bool is_input,
                    uint32_t i)
{
    if (is_input)
        return nnt_check_call(
            attempt, "MemoryDesc_addInputRole", i,
            ANeuralNetworksMemoryDesc_addInputRole(desc, attempt->compilation, i, 1.0f));
    return nnt_check_call(
        attempt, "MemoryDesc_addOutputRole", i,
        ANeuralNetworksMemoryDesc_addOutputRole(desc, attempt->compilation, i, 1.0f));
}

static int new_memory(struct nnt_attempt *attempt, bool is_input, uint32_t i,
                      const ANeuralNetworksOperandType *type, ANeuralNetworksMemory **ret_memory)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    int r = nnt_check_call(attempt, "MemoryDesc_create", i,
                           ANeuralNetworksMemoryDesc_create(&desc));

    if (r == OK)
        r = add_role(attempt, desc, is_input, i);
    if (r == OK && type)
        r = nnt_check_call(
            attempt, "MemoryDesc_setDimensions", i,
            ANeuralNetworksMemoryDesc_setDimensions(desc, type->dimensionCount, type->dimensions));
    if (r == OK)
        r = nnt_check_call(attempt, "MemoryDesc_finish", i, ANeuralNetworksMemoryDesc_finish(desc));
    if (r == OK)
        r = nnt_check_call(attempt, "Memory_createFromDesc", i,
                           ANeuralNetworksMemory_createFromDesc(desc, ret_memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return r;
}

static int set_input(struct nnt_attempt *attempt, uint32_t i, ANeuralNetworksMemory **memory)
{
    const struct nnt_operand *operand = &attempt->main->operands[attempt->main->inputs[i]];
    ANeuralNetworksOperandType type;
    bool is_open = nnt_input_type(operand, &type);
    int r;

    if ((operand->flags & NNT_OMITTED_INPUT) || operand->n_bytes == 0)
        return nnt_check_call(
            attempt, "Execution_setInput", i,
            ANeuralNetworksExecution_setInput(attempt->execution, (int32_t)i, NULL, NULL, 0));
    r = new_memory(attempt, true, i, is_open ? &type : NULL, memory);
    if (r == OK)
        r = copy_argument(attempt, i, *memory, operand->data, NULL, operand->n_bytes);
    if (r == OK)
        r = nnt_check_call(attempt, "Execution_setInputFromMemory", i,
                           ANeuralNetworksExecution_setInputFromMemory(
                               attempt->execution, (int32_t)i, NULL, *memory, 0, 0));
    return r;
}

static int set_output(struct nnt_attempt *attempt, uint32_t i, ANeuralNetworksMemory **memory)
{
    int r = new_memory(attempt, false, i, NULL, memory);

    if (r == OK)
        r = nnt_check_call(attempt, "Execution_setOutputFromMemory", i,
                           ANeuralNetworksExecution_setOutputFromMemory(
                               attempt->execution, (int32_t)i, NULL, *memory, 0, 0));
    return r;
}

/* -- the path's steps -------------------------------------------------------------------- */

int nnt_domain_set_arguments(struct nnt_attempt *attempt)
{
    const struct nnt_subgraph *main = attempt->main;
    /* The inputs', then the outputs'; NULL where an argument has no bytes. */
    ANeuralNetworksMemory **memories = calloc((size_t)main->n_inputs + main->n_outputs,
                                              sizeof(ANeuralNetworksMemory *));
    int r = OK;

    if (!memories)
        return nnt_check_call(attempt, "calloc", 0, ANEURALNETWORKS_OUT_OF_MEMORY);
    attempt->path_state = memories;
    for (uint32_t i = 0; r == OK && i < main->n_inputs; i++)
        r = set_input(attempt, i, &memories[i]);
    for (uint32_t i = 0; r == OK && i < main->n_outputs; i++)
        r = set_output(attempt, i, &memories[main->n_inputs + i]);
    return r;
}

int nnt_domain_fetch(struct nnt_attempt *attempt)
{
    const struct nnt_subgraph *main = attempt->main;
    ANeuralNetworksMemory *const *memories = attempt->path_state;
    int r = OK;

    for (uint32_t i = 0; r == OK && i < main->n_outputs; i++)
        r = copy_argument(attempt, i, memories[main->n_inputs + i], NULL, attempt->outputs[i],
                          main->operands[main->outputs[i]].n_bytes);
    return r;
}

void nnt_domain_release(struct nnt_attempt *attempt)
{
    ANeuralNetworksMemory **memories = attempt->path_state;

    for (uint32_t i = 0; memories && i < attempt->main->n_inputs + attempt->main->n_outputs; i++)
        ANeuralNetworksMemory_free(memories[i]);
    free(memories);
}
