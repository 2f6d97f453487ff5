/* SPDX-License-Identifier: Apache-2.0 */
#include "model/signature.h"

#include <string.h>

#define UNBOUND UINT32_MAX

/* One item of a pattern. */
struct item {
    char c;
    char rank_rule; /* '<', '=' or 0 */
    uint8_t rank;
    bool may_omit;
    bool or_more;
    uint32_t repeat;
    unsigned tail_level; /* of the tail that begins here, else 0 */
};

/* next_item() - reads the item at *pattern and moves behind it. Returns: false at ':' or end. */
static bool next_item(const char **pattern, struct item *item)
{
    const char *p = *pattern;

    memset(item, 0, sizeof(*item));
    while (*p == ')')
        p++;
    if (*p == '(') {
        item->tail_level = (unsigned)(p[1] - '0');
        p += 2;
    }
    if (*p == '\0' || *p == ':') {
        *pattern = p;
        return false;
    }
    item->c = *p++;
    if (*p == '?') {
        item->may_omit = true;
        p++;
    }
    if (*p == '<' || *p == '=') {
        item->rank_rule = p[0];
        item->rank = (uint8_t)(p[1] - '0');
        p += 2;
    }
    if (*p == '+') {
        item->or_more = true;
        p++;
    }
    while (*p >= '0' && *p <= '9')
        item->repeat = item->repeat * 10 + (uint32_t)(*p++ - '0');
    if (item->repeat == 0)
        item->repeat = 1;
    *pattern = p;
    return true;
}

static const char *side_of(const struct nn_signature *signature, bool is_output)
{
    return is_output ? strchr(signature->pattern, ':') + 1 : signature->pattern;
}

/* plan_tails() - how many tails must be taken so that n operands fit, and how
 * many the '+' item stands for. Returns: false if no number of tails fits. */
static bool plan_tails(const char *pattern, uint32_t n, uint32_t *ret_n_tails, uint32_t *ret_more)
{
    uint32_t n_seen = 0, n_tails = 0;
    bool or_more = false;
    struct item item;

    while (next_item(&pattern, &item)) {
        if (item.tail_level > 0) {
            if (n_seen == n || (or_more && n_seen <= n))
                break;
            n_tails++;
        }
        or_more |= item.or_more;
        n_seen += item.repeat;
    }
    if (n_seen != n && !(or_more && n_seen < n))
        return false;
    *ret_n_tails = n_tails;
    *ret_more = n - n_seen + 1;
    return true;
}

uint32_t nn_signature_type(char c)
{
    static const struct {
        char c;
        uint8_t type;
    } types[] = {
        {'F', NNHAL_TENSOR_FLOAT32},
        {'H', NNHAL_TENSOR_FLOAT16},
        {'I', NNHAL_TENSOR_INT32},
        {'Q', NNHAL_TENSOR_QUANT8_ASYMM},
        {'S', NNHAL_TENSOR_QUANT8_ASYMM_SIGNED},
        {'Y', NNHAL_TENSOR_QUANT8_SYMM},
        {'P', NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL},
        {'A', NNHAL_TENSOR_QUANT16_ASYMM},
        {'Z', NNHAL_TENSOR_QUANT16_SYMM},
        {'L', NN_TYPE_TENSOR_INT64},
        {'B', NNHAL_TENSOR_BOOL8},
        {'f', NNHAL_FLOAT32},
        {'h', NNHAL_FLOAT16},
        {'i', NNHAL_INT32},
        {'u', NNHAL_UINT32},
        {'b', NNHAL_BOOL},
        {'m', NNHAL_SUBGRAPH},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].c == c)
            return types[i].type;
    return UINT32_MAX;
}

/* level_in_list() - the level of a type in "F1H3", 0 if it is not there. */
static unsigned level_in_list(const char *list, uint32_t type)
{
    for (; list && *list; list += 2)
        if (nn_signature_type(list[0]) == type)
            return (unsigned)(list[1] - '0');
    return 0;
}

struct binding {
    uint32_t t;
    uint32_t u;
    unsigned level;
};

static void raise_level(struct binding *binding, unsigned level)
{
    if (binding->level < level)
        binding->level = level;
}

/* The first operand with T says what T is. */
static bool bind_type(const char *list, uint32_t *variable, uint32_t type, struct binding *binding)
{
    unsigned level;

    if (*variable != UNBOUND)
        return *variable == type;
    level = level_in_list(list, type);
    if (level == 0)
        return false;
    *variable = type;
    raise_level(binding, level);
    return true;
}

/* 't' follows T, which stands before it in every pattern. */
static bool type_fits(const struct nn_signature *signature, char c, uint32_t type,
                      struct binding *binding)
{
    switch (c) {
    case 'T':
        return bind_type(signature->types, &binding->t, type, binding);
    case 'U':
        return bind_type(signature->others, &binding->u, type, binding);
    case 't':
        return type == (binding->t == NNHAL_TENSOR_FLOAT16 ? NNHAL_FLOAT16 : NNHAL_FLOAT32);
    case '*':
        return true;
    default:
        return type == nn_signature_type(c);
    }
}

static bool rank_fits(const struct item *item, uint32_t rank)
{
    if (rank == 0 || !item->rank_rule)
        return true;
    return item->rank_rule == '<' ? rank <= item->rank : rank == item->rank;
}

/* fit_operand() - one operand against one item; tells the match what did not fit. */
static bool fit_operand(const struct nn_signature *signature, const struct item *item,
                        const struct nn_signature_side *side, uint32_t i, struct binding *binding,
                        struct nn_signature_match *match)
{
    match->operand = i;
    match->expected = item->c;
    match->bound = binding->t;
    if (!type_fits(signature, item->c, side->type(side->ctx, i), binding))
        return false;
    if (side->rank && !rank_fits(item, side->rank(side->ctx, i))) {
        match->is_rank = true;
        match->max_rank = item->rank;
        return false;
    }
    return true;
}

static bool fit_side(const struct nn_signature *signature, const char *pattern,
                     const struct nn_signature_side *side, struct binding *binding,
                     struct nn_signature_match *match)
{
    uint32_t n_tails, more, i = 0;
    struct item item;

    if (!plan_tails(pattern, side->n, &n_tails, &more))
        return false;
    while (next_item(&pattern, &item)) {
        if (item.tail_level > 0) {
            if (n_tails-- == 0)
                break;
            raise_level(binding, item.tail_level);
        }
        for (uint32_t k = item.or_more ? more : item.repeat; k > 0; k--, i++)
            if (!fit_operand(signature, &item, side, i, binding, match))
                return false;
    }
    return true;
}

bool nn_signature_fits(const struct nn_signature *signature, const struct nn_signature_side *inputs,
                       const struct nn_signature_side *outputs, struct nn_signature_match *match)
{
    struct binding binding = {.t = UNBOUND, .u = UNBOUND};
    uint32_t n_tails, more;

    memset(match, 0, sizeof(*match));
    if (!plan_tails(side_of(signature, false), inputs->n, &n_tails, &more) ||
        !plan_tails(side_of(signature, true), outputs->n, &n_tails, &more))
        return false;
    match->counts_fit = true;
    if (!fit_side(signature, side_of(signature, false), inputs, &binding, match))
        return false;
    match->is_output = true;
    if (!fit_side(signature, side_of(signature, true), outputs, &binding, match))
        return false;
    match->level = binding.level;
    return true;
}

bool nn_signature_may_omit(const struct nn_signature *signature, uint32_t input)
{
    const char *pattern = signature->pattern;
    struct item item;

    while (next_item(&pattern, &item)) {
        if (item.or_more || input < item.repeat)
            return item.may_omit;
        input -= item.repeat;
    }
    return false;
}

uint32_t nn_signature_last_tail(const struct nn_signature *signature, uint32_t n, char *ret_c)
{
    const char *pattern = signature->pattern;
    uint32_t n_seen = 0, start = n;
    struct item item;

    while (n_seen < n && next_item(&pattern, &item)) {
        if (item.tail_level > 0) {
            start = n_seen;
            *ret_c = item.c;
        }
        n_seen += item.repeat;
    }
    return start;
}

void nn_signature_counts(const struct nn_signature *signature, bool is_output,
                         void (*each)(void *ctx, uint32_t n, bool or_more), void *ctx)
{
    const char *pattern = side_of(signature, is_output);
    uint32_t n = 0;
    bool or_more = false;
    struct item item;

    while (next_item(&pattern, &item)) {
        if (item.tail_level > 0)
            each(ctx, n, or_more);
        or_more |= item.or_more;
        n += item.repeat;
    }
    each(ctx, n, or_more);
}

const struct nn_op *nn_op_further(const struct nn_op *op)
{
    for (uint32_t i = 0; i < NNHAL_TFLITE_OPERATION_N; i++) {
        const struct nn_op *other = nn_op_find(NN_TFLITE_OPS + i);

        if (other->code == op->type && other != op)
            return other;
    }
    return NULL;
}
