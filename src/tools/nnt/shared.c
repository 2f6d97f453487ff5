/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - paths whose arguments lie in shared memory
 *
 * All inputs and outputs of an execution lie in one memory of the path's kind,
 * one after the other. Nothing is copied between here and the driver. */
#include "path.h"

#include <stdlib.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

static const struct nnt_operand *input_of(const struct nnt_attempt *attempt, uint32_t i)
{
    return &attempt->main->operands[attempt->main->inputs[i]];
}

static bool has_bytes(const struct nnt_operand *input)
{
    return !(input->flags & NNT_OMITTED_INPUT) && input->n_bytes > 0;
}

/* An output without elements needs room all the same: length 0 is none. */
static size_t output_bytes(const struct nnt_attempt *attempt, uint32_t i)
{
    uint32_t n_bytes = attempt->main->operands[attempt->main->outputs[i]].n_bytes;

    return n_bytes > 0 ? n_bytes : 1;
}

/* Where the first output's turn is. */
static size_t end_of_inputs(const struct nnt_attempt *attempt, enum nnt_memory_kind kind)
{
    size_t at = 0;

    for (uint32_t i = 0; i < attempt->main->n_inputs; i++)
        if (has_bytes(input_of(attempt, i)))
            nnt_memory_place(kind, input_of(attempt, i)->n_bytes, &at);
    return at;
}

static int make_memory(struct nnt_attempt *attempt, enum nnt_memory_kind kind)
{
    struct nnt_memory *memory = calloc(1, sizeof(*memory));
    size_t at = end_of_inputs(attempt, kind);

    if (!memory)
        return nnt_check_call(attempt, "calloc", 0, ANEURALNETWORKS_OUT_OF_MEMORY);
    attempt->path_state = memory;
    for (uint32_t i = 0; i < attempt->main->n_outputs; i++)
        nnt_memory_place(kind, output_bytes(attempt, i), &at);
    return nnt_check_call(attempt, "Memory_create", 0, nnt_memory_new(memory, kind, at));
}

static int fill_inputs(struct nnt_attempt *attempt)
{
    struct nnt_memory *memory = attempt->path_state;
    size_t at = 0;
    int r = nnt_check_call(attempt, "lock", 0, nnt_memory_begin(memory));

    if (r != OK)
        return r;
    /* Bytes that are not written differ from every expected value. */
    memset(memory->bytes, 0xa5, memory->n_bytes);
    for (uint32_t i = 0; i < attempt->main->n_inputs; i++) {
        const struct nnt_operand *input = input_of(attempt, i);

        if (has_bytes(input))
            memcpy(memory->bytes + nnt_memory_place(memory->kind, input->n_bytes, &at), input->data,
                   input->n_bytes);
    }
    return nnt_check_call(attempt, "unlock", 0, nnt_memory_end(memory));
}

static int set_input(struct nnt_attempt *attempt, uint32_t i, size_t *at)
{
    const struct nnt_memory *memory = attempt->path_state;
    const struct nnt_operand *operand = input_of(attempt, i);
    ANeuralNetworksOperandType type;
    bool is_open = nnt_input_type(operand, &type);
    size_t place;

    if (!has_bytes(operand))
        return nnt_check_call(
            attempt, "Execution_setInput", i,
            ANeuralNetworksExecution_setInput(attempt->execution, (int32_t)i, NULL, NULL, 0));
    place = nnt_memory_place(memory->kind, operand->n_bytes, at);
    return nnt_check_call(attempt, "Execution_setInputFromMemory", i,
                          ANeuralNetworksExecution_setInputFromMemory(
                              attempt->execution, (int32_t)i, is_open ? &type : NULL,
                              memory->memory, place, operand->n_bytes));
}

/* Where a path states shapes, all that are open are stated. */
static int set_output(struct nnt_attempt *attempt, uint32_t i, size_t *at)
{
    const struct nnt_memory *memory = attempt->path_state;
    const struct nnt_operand *operand = &attempt->main->operands[attempt->main->outputs[i]];
    bool is_stated = nnt_path_steps(attempt->run->path)->states_outputs && operand->rank > 0;
    ANeuralNetworksOperandType type = nnt_full_type(operand);
    size_t place = nnt_memory_place(memory->kind, output_bytes(attempt, i), at);

    return nnt_check_call(attempt, "Execution_setOutputFromMemory", i,
                          ANeuralNetworksExecution_setOutputFromMemory(
                              attempt->execution, (int32_t)i, is_stated ? &type : NULL,
                              memory->memory, place, output_bytes(attempt, i)));
}

int nnt_shared_bind(struct nnt_attempt *attempt)
{
    size_t at = 0;
    int r = OK;

    for (uint32_t i = 0; r == OK && i < attempt->main->n_inputs; i++)
        r = set_input(attempt, i, &at);
    for (uint32_t i = 0; r == OK && i < attempt->main->n_outputs; i++)
        r = set_output(attempt, i, &at);
    return r;
}

int nnt_shared_set_arguments(struct nnt_attempt *attempt)
{
    int r = make_memory(attempt, nnt_path_steps(attempt->run->path)->memory);

    if (r == OK)
        r = fill_inputs(attempt);
    return r == OK ? nnt_shared_bind(attempt) : r;
}

static bool is_range_untouched(struct nnt_attempt *attempt, const uint8_t *before, size_t begin,
                               size_t end)
{
    const struct nnt_memory *memory = attempt->path_state;

    for (size_t i = begin; i < end; i++)
        if (before[i] != memory->bytes[i])
            return nnt_report(attempt->run,
                              "byte %zu of the memory of arguments was written to, and "
                              "belongs to no output",
                              i);
    return true;
}

/* Whether nothing but outputs differs from what was there before. Outputs are not looked at: a process
 * that was given up may still write them. */
static bool is_untouched(struct nnt_attempt *attempt, const uint8_t *before)
{
    const struct nnt_memory *memory = attempt->path_state;
    size_t at = end_of_inputs(attempt, memory->kind), end = 0;
    bool is_untouched = true;

    for (uint32_t i = 0; is_untouched && i < attempt->main->n_outputs; i++) {
        size_t n_bytes = output_bytes(attempt, i);
        size_t place = nnt_memory_place(memory->kind, n_bytes, &at);

        is_untouched = is_range_untouched(attempt, before, end, place);
        end = place + n_bytes;
    }
    return is_untouched && is_range_untouched(attempt, before, end, memory->n_bytes);
}

int nnt_guarded_run(struct nnt_attempt *attempt)
{
    const struct nnt_memory *memory = attempt->path_state;
    uint8_t *before = malloc(memory->n_bytes);
    int r;

    if (!before)
        return nnt_check_call(attempt, "malloc", 0, ANEURALNETWORKS_OUT_OF_MEMORY);
    memcpy(before, memory->bytes, memory->n_bytes);
    r = nnt_check_call(attempt, "Execution_compute", 0,
                       ANeuralNetworksExecution_compute(attempt->execution));
    if (!is_untouched(attempt, before)) {
        attempt->run->is_overwritten = true;
        r = ANEURALNETWORKS_OP_FAILED;
    }
    free(before);
    return r;
}

int nnt_shared_fetch(struct nnt_attempt *attempt)
{
    struct nnt_memory *memory = attempt->path_state;
    size_t at = end_of_inputs(attempt, memory->kind);
    int r = nnt_check_call(attempt, "lock", 0, nnt_memory_begin(memory));

    if (r != OK)
        return r;
    for (uint32_t i = 0; i < attempt->main->n_outputs; i++) {
        size_t n_bytes = output_bytes(attempt, i);

        memcpy(attempt->outputs[i], memory->bytes + nnt_memory_place(memory->kind, n_bytes, &at),
               n_bytes);
    }
    return nnt_check_call(attempt, "unlock", 0, nnt_memory_end(memory));
}

void nnt_shared_release(struct nnt_attempt *attempt)
{
    if (attempt->path_state)
        nnt_memory_free(attempt->path_state);
    free(attempt->path_state);
}
