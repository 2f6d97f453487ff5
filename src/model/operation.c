/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c - judging one operation by what is declared of its operands */
#include "model/signature.h"

#include <stdio.h>
#include <string.h>

/* The operands of one side, by the operation's indexes. */
struct operand_side {
    const struct nnhal_operand *operands;
    const uint32_t *indexes;
};

static uint32_t side_type(const void *ctx, uint32_t i)
{
    const struct operand_side *side = ctx;

    return side->operands[side->indexes[i]].type;
}

static uint32_t side_rank(const void *ctx, uint32_t i)
{
    const struct operand_side *side = ctx;

    return side->operands[side->indexes[i]].n_dimensions;
}

/* -- sentences -- */

/* The numbers of operands that rows allow, as text: "7, 8 or more". */
struct counts {
    char text[96];
    uint32_t seen[16];
    uint32_t n_seen;
};

static void add_count(void *ctx, uint32_t n, bool or_more)
{
    struct counts *counts = ctx;
    size_t length = strlen(counts->text);

    for (uint32_t i = 0; i < counts->n_seen; i++)
        if (counts->seen[i] == n)
            return;
    if (counts->n_seen == 16)
        return;
    counts->seen[counts->n_seen++] = n;
    snprintf(counts->text + length, sizeof(counts->text) - length, "%s%u%s", length > 0 ? ", " : "",
             n, or_more ? " or more" : "");
}

static int refuse_counts(const struct nn_op *op, const struct nnhal_operation *operation,
                         struct nn_why *why)
{
    struct counts inputs = {0}, outputs = {0};

    for (uint32_t i = 0; i < op->n_signatures; i++) {
        nn_signature_counts(&op->signatures[i], false, add_count, &inputs);
        nn_signature_counts(&op->signatures[i], true, add_count, &outputs);
    }
    return nn_refuse(why, "%s has %u inputs and %u outputs; it takes inputs: %s; outputs: %s",
                     op->name, operation->n_inputs, operation->n_outputs, inputs.text,
                     outputs.text);
}

static int refuse_operand(const struct nn_op *op, const struct nn_signature_match *match,
                          const struct nnhal_operand *operand, struct nn_why *why)
{
    const char *side = match->is_output ? "output" : "input";
    uint32_t expected = match->expected == 'T' ? match->bound : nn_signature_type(match->expected);

    if (match->is_rank)
        return nn_refuse(why, "%s %s %u has rank %u, the limit is %u", op->name, side,
                         match->operand, operand->n_dimensions, match->max_rank);
    if (expected == UINT32_MAX)
        return nn_refuse(why, "%s %s %u is %s, which is not allowed here", op->name, side,
                         match->operand, nn_type_name(operand->type));
    return nn_refuse(why, "%s %s %u is %s, it must be %s", op->name, side, match->operand,
                     nn_type_name(operand->type), nn_type_name(expected));
}

/* is_farther() - whether a failed match came farther than another, and so explains more. */
static bool is_farther(const struct nn_signature_match *a, const struct nn_signature_match *b)
{
    if (a->counts_fit != b->counts_fit)
        return a->counts_fit;
    if (a->is_output != b->is_output)
        return a->is_output;
    if (a->operand != b->operand)
        return a->operand > b->operand;
    return a->is_rank && !b->is_rank;
}

/* -- rules -- */

static int check_indexes(uint32_t n_operands, uint32_t n, const uint32_t *indexes, const char *what,
                         struct nn_why *why)
{
    for (uint32_t i = 0; i < n; i++)
        if (indexes[i] >= n_operands)
            return nn_refuse(why, "%s %u refers to operand %u, there are %u", what, i, indexes[i],
                             n_operands);
    return 0;
}

/* find_signature() - the row that the operands fit. Returns: 0, NN_REFUSED. */
static int find_signature(const struct nn_op *op, const struct nnhal_operand *operands,
                          const struct nnhal_operation *operation,
                          const struct nn_signature **ret_signature, unsigned *ret_level,
                          struct nn_why *why)
{
    struct operand_side in = {operands, operation->inputs}, out = {operands, operation->outputs};
    struct nn_signature_side inputs = {operation->n_inputs, &in, side_type, side_rank};
    struct nn_signature_side outputs = {operation->n_outputs, &out, side_type, side_rank};
    struct nn_signature_match match, best = {0};
    const uint32_t *indexes;

    for (uint32_t i = 0; i < op->n_signatures; i++) {
        if (nn_signature_fits(&op->signatures[i], &inputs, &outputs, &match)) {
            *ret_signature = &op->signatures[i];
            *ret_level = match.level;
            return 0;
        }
        if (i == 0 || is_farther(&match, &best))
            best = match;
    }
    if (!best.counts_fit)
        return refuse_counts(op, operation, why);
    indexes = best.is_output ? operation->outputs : operation->inputs;
    return refuse_operand(op, &best, &operands[indexes[best.operand]], why);
}

static unsigned highest_type_level(const struct nnhal_operand *operands, uint32_t n,
                                   const uint32_t *indexes, unsigned level)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct nnhal_operand *operand = &operands[indexes[i]];
        unsigned needed = nn_type_level(operand->type);

        /* A tensor whose rank is not stated came with level 3. */
        if (nn_type_is_tensor(operand->type) && operand->n_dimensions == 0 && needed < 3)
            needed = 3;
        if (needed > level)
            level = needed;
    }
    return level;
}

static int check_all_indexes(const struct nnhal_operation *operation, uint32_t n_operands,
                             struct nn_why *why)
{
    int r = check_indexes(n_operands, operation->n_inputs, operation->inputs, "input", why);

    if (r == 0)
        r = check_indexes(n_operands, operation->n_outputs, operation->outputs, "output", why);
    return r ? nn_why_prefix(why, "%s: ", nn_op_name(operation->type)) : 0;
}

/* By the operation's own rules; its indexes are in range. */
static int check_rules(const struct nn_op *op, const struct nnhal_operand *operands,
                       const struct nnhal_operation *operation, struct nn_operation_facts *facts,
                       struct nn_why *why)
{
    struct nn_op_context context = {
        .op = op, .operands = operands, .operation = operation, .why = why};
    const struct nn_op_functions *functions;
    int r = find_signature(op, operands, operation, &facts->signature, &context.level, why);

    if (r != 0)
        return r;
    nn_op_need_level(&context, op->level);
    context.level = highest_type_level(operands, operation->n_inputs, operation->inputs,
                                       context.level);
    context.level = highest_type_level(operands, operation->n_outputs, operation->outputs,
                                       context.level);
    facts->is_tolerated = facts->signature->flags & NN_SIGNATURE_TOLERATED;
    functions = nn_op_find_functions(op);
    if (functions && functions->validate && !facts->is_tolerated) {
        r = functions->validate(&context);
        if (r != 0)
            return nn_why_prefix(why, "%s: ", op->name);
    }
    facts->level = context.level;
    return 0;
}

int nn_operation_validate(const struct nnhal_operand *operands, uint32_t n_operands,
                          const struct nnhal_operation *operation,
                          struct nn_operation_facts *ret_facts, struct nn_why *why)
{
    struct nn_operation_facts facts = {0};
    int r = check_all_indexes(operation, n_operands, why);

    if (r != 0)
        return r;
    if (operation->type < NNHAL_OPERATION_TYPE_N)
        r = check_rules(nn_op_find(operation->type), operands, operation, &facts, why);
    else if (operation->type != NNHAL_OP_OEM_OPERATION && !nn_type_is_extension(operation->type))
        r = nn_refuse(why, "there is no operation with code %u", operation->type);
    if (r == 0 && ret_facts)
        *ret_facts = facts;
    return r;
}

int nn_operation_validate_inside(const struct nnhal_operand *operands, uint32_t n_operands,
                                 const struct nnhal_operation *operation, struct nn_why *why)
{
    const struct nn_op *op = nn_op_find(operation->type), *further;
    struct nn_operation_facts facts = {0};
    int r = check_all_indexes(operation, n_operands, why);

    if (r)
        return r;
    r = check_rules(op, operands, operation, &facts, why);
    further = r ? nn_op_further(op) : NULL;
    return further ? check_rules(further, operands, operation, &facts, NULL) : r;
}
