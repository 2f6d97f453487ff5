/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the reference of operations to the validation: `scripts/operations.py forms` prints what
 * the reference allows, this program reads it.
 *
 * Each line (code, level, types of inputs : types of outputs; * is any type) must be accepted at that
 * level. With one type replaced, or the last input left out, an operation must be accepted exactly
 * if another line allows it. Shapes are not stated in a line: some are tried, and one must do. */
#include "model/ops.h"

#include "base/cleanup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINES = 1024,
    MAX_OPERANDS = 80,
    ANY = NNHAL_OPERAND_TYPE_N,
    N_SHAPES = 4,
};

/* A line: an operation's types, inputs before outputs. */
struct form {
    uint32_t code;
    unsigned level;
    uint32_t n_inputs, n_outputs;
    uint8_t types[MAX_OPERANDS];
};

static struct form forms[MAX_LINES];
static uint32_t n_forms;
static uint32_t n_failed;

static void read_line(char *line)
{
    struct form *form = &forms[n_forms++];
    uint32_t n = 0;
    char *word = strtok(line, " \n");

    form->code = (uint32_t)atoi(word);
    form->level = (unsigned)atoi(strtok(NULL, " \n"));
    while ((word = strtok(NULL, " \n"))) {
        if (*word == ':') {
            form->n_inputs = n;
            continue;
        }
        assert(n < MAX_OPERANDS);
        form->types[n++] = *word == '*' ? ANY : (uint8_t)atoi(word);
    }
    form->n_outputs = n - form->n_inputs;
}

static bool is_allowed(const struct form *form)
{
    for (uint32_t i = 0; i < n_forms; i++)
        if (forms[i].code == form->code && forms[i].n_inputs == form->n_inputs &&
            forms[i].n_outputs == form->n_outputs &&
            !memcmp(forms[i].types, form->types, form->n_inputs + form->n_outputs))
            return true;
    return false;
}

/* Ranks that are tried: of inputs 0 and 1, of the other inputs, of outputs (0: not stated). Of
 * dimensions only that of rank 1 is stated. */
static const uint32_t shapes[N_SHAPES][3] = {{4, 1, 1}, {2, 1, 1}, {1, 1, 1}, {2, 1, 0}};

static void set_shape(struct nnhal_operand *operand, uint32_t rank)
{
    static const uint32_t unknown[4] = {0}, one = 1;

    if (!nn_type_is_tensor(operand->type))
        return;
    operand->n_dimensions = rank;
    operand->dimensions = rank == 1 ? &one : unknown;
}

/* Returns: the level at which an operation of these types and that shape is accepted, 0: it is not. */
static unsigned level_with(const struct form *form, uint32_t shape)
{
    struct nnhal_operand operands[MAX_OPERANDS] = {0};
    uint32_t n = form->n_inputs + form->n_outputs, indexes[MAX_OPERANDS];
    struct nnhal_operation operation = {.type = form->code,
                                        .n_inputs = form->n_inputs,
                                        .inputs = indexes,
                                        .n_outputs = form->n_outputs,
                                        .outputs = indexes + form->n_inputs};
    struct nn_operation_facts facts;

    for (uint32_t i = 0; i < n; i++) {
        indexes[i] = i;
        operands[i].type = form->types[i] == ANY ? NNHAL_TENSOR_FLOAT32 : form->types[i];
        operands[i].scale = nn_type_is_quantized(operands[i].type) ? 0.5f : 0.0f;
        operands[i].channel_quant.channel_dim = form->code == NNHAL_OP_DEPTHWISE_CONV_2D ? 3 : 0;
        set_shape(&operands[i], shapes[shape][i >= form->n_inputs ? 2 : i >= 2]);
    }
    if (nn_operation_validate(operands, n, &operation, &facts, NULL) || facts.is_tolerated)
        return 0;
    return facts.level;
}

/* The lowest level of all shapes that are tried. */
static unsigned level_of(const struct form *form)
{
    unsigned level, lowest = 0;

    for (uint32_t shape = 0; shape < N_SHAPES; shape++) {
        level = level_with(form, shape);
        if (level && (!lowest || level < lowest))
            lowest = level;
    }
    return lowest;
}

static bool is_accepted(const struct form *form)
{
    for (uint32_t shape = 0; shape < N_SHAPES; shape++)
        if (level_with(form, shape))
            return true;
    return false;
}

static void complain(const struct form *form, const char *what)
{
    printf("%s with types", nn_op_name(form->code));
    for (uint32_t i = 0; i < form->n_inputs + form->n_outputs; i++)
        printf("%s %u", i == form->n_inputs ? " :" : "", form->types[i]);
    printf(": %s\n", what);
    n_failed++;
}

static void check_agrees(const struct form *form)
{
    bool is_allowed_there = is_allowed(form), is_accepted_here = is_accepted(form);

    if (is_allowed_there != is_accepted_here)
        complain(form, is_accepted_here ? "accepted, and not in the reference"
                                        : "in the reference, and refused");
}

/* Every form that differs from this one in the type of one operand. */
static void check_neighbors(const struct form *form)
{
    struct form changed = *form;

    for (uint32_t i = 0; i < form->n_inputs + form->n_outputs; i++) {
        for (uint8_t type = 0; type < NNHAL_OPERAND_TYPE_N && form->types[i] != ANY; type++) {
            changed.types[i] = type;
            check_agrees(&changed);
        }
        changed.types[i] = form->types[i];
    }
}

/* The form without its last input, where no operand stands for several. */
static void check_shorter(const struct form *form)
{
    struct form shorter = *form;

    if (memchr(form->types, ANY, form->n_inputs) || form->n_inputs == 0)
        return;
    shorter.n_inputs--;
    memmove(shorter.types + shorter.n_inputs, form->types + form->n_inputs, form->n_outputs);
    check_agrees(&shorter);
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) > 0) {
        assert(n_forms < MAX_LINES);
        read_line(line);
    }
    free(line);
    for (uint32_t i = 0; i < n_forms; i++) {
        if (level_of(&forms[i]) != forms[i].level)
            complain(&forms[i], "refused, or of another level");
        check_neighbors(&forms[i]);
        check_shorter(&forms[i]);
    }
    printf("%u forms, %u complaints\n", n_forms, n_failed);
    return n_failed != 0;
}
