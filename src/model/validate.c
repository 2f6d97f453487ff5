/* SPDX-License-Identifier: Apache-2.0 */
#include "model/validate.h"

#include "model/copy.h"

#include "base/arith.h"
#include "base/error.h"

#include <string.h>

struct model_check {
    const struct nnhal_model *model;
    const uint64_t *pool_sizes;
    struct nn_arena *arena;
    struct nn_model_facts facts;
    struct nn_why *why;
};

/* What is known of an operand while the operations are walked. */
enum {
    LISTED_INPUT = 1,
    LISTED_OUTPUT = 2,
    HAS_VALUE = 4,
};

static const struct nnhal_subgraph *subgraph_at(const struct nnhal_model *model, uint32_t i)
{
    return i == 0 ? &model->main : &model->referenced[i - 1];
}

static void need_level(struct model_check *check, unsigned level)
{
    if (check->facts.level < level)
        check->facts.level = level;
}

/* -- counts and names -- */

static int check_limit(struct model_check *check, uint64_t n, uint64_t limit, const char *what)
{
    if (n <= limit)
        return 0;
    return nn_refuse(check->why, "%llu %s, at most %llu are supported", (unsigned long long)n, what,
                     (unsigned long long)limit);
}

static int check_counts(struct model_check *check)
{
    const struct nnhal_model *model = check->model;
    int r = check_limit(check, model->n_referenced, NNHAL_MAX_SUBGRAPHS, "referenced subgraphs");

    if (r == 0)
        r = check_limit(check, model->n_pools, NNHAL_MAX_POOLS, "pools");
    if (r == 0)
        r = check_limit(check, model->operand_values.size, NNHAL_MAX_OPERAND_VALUES_BYTES,
                        "bytes of operand values");
    if (r == 0)
        r = check_limit(check, model->n_extension_prefixes, NNHAL_MAX_EXTENSIONS, "extensions");
    if (r == 0 && model->relax_computation_float32_to_float16 > 1)
        r = nn_refuse(check->why, "relaxed computation is %u, it must be 0 or 1",
                      model->relax_computation_float32_to_float16);
    return r;
}

static int check_subgraph_counts(struct model_check *check, const struct nnhal_subgraph *subgraph)
{
    int r = check_limit(check, subgraph->n_operands, NNHAL_MAX_OPERANDS, "operands");

    if (r == 0)
        r = check_limit(check, subgraph->n_operations, NNHAL_MAX_OPERATIONS, "operations");
    if (r == 0)
        r = check_limit(check, subgraph->n_input_indexes, NNHAL_MAX_ARGUMENTS, "inputs");
    if (r == 0)
        r = check_limit(check, subgraph->n_output_indexes, NNHAL_MAX_ARGUMENTS, "outputs");
    if (r == 0 && subgraph->n_operands == 0)
        r = nn_refuse(check->why, "there are no operands");
    if (r == 0 && subgraph->n_operations == 0)
        r = nn_refuse(check->why, "there are no operations");
    return r;
}

/* is_extension_name() - [a-z0-9_.], with at least one dot. */
static bool is_extension_name(const char *name)
{
    size_t length = strnlen(name, NNHAL_MAX_NAME_BYTES + 1);

    return length > 0 && length <= NNHAL_MAX_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == length &&
           strchr(name, '.') != NULL;
}

/* Prefix 0 is Android's own types. */
static int check_prefixes(struct model_check *check)
{
    const struct nnhal_extension_prefix *prefixes = check->model->extension_prefixes;

    for (uint32_t i = 0; i < check->model->n_extension_prefixes; i++) {
        if (!prefixes[i].name || !is_extension_name(prefixes[i].name))
            return nn_refuse(check->why, "the name of extension %u is not well formed", i);
        if (prefixes[i].prefix == 0 || prefixes[i].prefix > UINT16_MAX)
            return nn_refuse(check->why, "extension %s has prefix %u, it must be 1 to 65535",
                             prefixes[i].name, prefixes[i].prefix);
        for (uint32_t j = 0; j < i; j++)
            if (prefixes[j].prefix == prefixes[i].prefix ||
                strcmp(prefixes[j].name, prefixes[i].name) == 0)
                return nn_refuse(check->why, "extension %s or its prefix %u is there twice",
                                 prefixes[i].name, prefixes[i].prefix);
    }
    return 0;
}

static int check_extension(struct model_check *check, uint32_t type, const char *what)
{
    if (!nn_type_is_extension(type))
        return 0;
    need_level(check, 3);
    for (uint32_t i = 0; i < check->model->n_extension_prefixes; i++)
        if (check->model->extension_prefixes[i].prefix == type >> 16)
            return 0;
    return nn_refuse(check->why, "the %s 0x%x has a prefix that no extension has", what, type);
}

/* -- operands -- */

static int check_no_location(struct model_check *check, const struct nnhal_data_location *location)
{
    if (location->pool_index == 0 && location->offset == 0 && location->length == 0)
        return 0;
    return nn_refuse(check->why, "an operand without a constant value must have location 0");
}

/* A copied constant lies in operand_values, which is no pool; its place is checked alike. */
static int check_constant_location(struct model_check *check, const struct nnhal_operand *operand)
{
    const struct nnhal_data_location *location = &operand->location;
    uint64_t size = check->model->operand_values.size;

    if (operand->lifetime == NNHAL_CONSTANT_COPY && location->pool_index != 0)
        return nn_refuse(check->why, "a copied constant has pool %u, it must be 0",
                         location->pool_index);
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE) {
        if (location->pool_index >= check->model->n_pools)
            return nn_refuse(check->why, "the constant lies in pool %u, there are %u",
                             location->pool_index, check->model->n_pools);
        size = check->pool_sizes[location->pool_index];
        if (size == UINT64_MAX)
            return nn_refuse(check->why, "a constant cannot lie in pool %u, it has no layout",
                             location->pool_index);
    }
    if (!nn_range_fits(location->offset, location->length, size))
        return nn_refuse(check->why, "bytes %llu to %llu + %llu of a constant are beyond %llu",
                         (unsigned long long)location->offset, (unsigned long long)location->offset,
                         (unsigned long long)location->length, (unsigned long long)size);
    return nn_operand_validate_constant(operand, location->length, check->why);
}

static int check_subgraph_location(struct model_check *check,
                                   const struct nnhal_data_location *location)
{
    if (location->pool_index != 0 || location->length != 0)
        return nn_refuse(check->why, "a reference to a subgraph has no pool and no length");
    if (location->offset >= check->model->n_referenced)
        return nn_refuse(check->why, "subgraph %llu is referred to, there are %u",
                         (unsigned long long)location->offset, check->model->n_referenced);
    return 0;
}

static int check_location(struct model_check *check, const struct nnhal_operand *operand)
{
    const struct nnhal_data_location *location = &operand->location;

    if (location->padding != 0 || location->reserved != 0)
        return nn_refuse(check->why, "a location in a model has no padding");
    switch (operand->lifetime) {
    case NNHAL_CONSTANT_COPY:
    case NNHAL_CONSTANT_REFERENCE:
        return check_constant_location(check, operand);
    case NNHAL_SUBGRAPH_VALUE:
        return check_subgraph_location(check, location);
    default:
        return check_no_location(check, location);
    }
}

static int check_operand(struct model_check *check, const struct nnhal_operand *operand)
{
    bool is_reference = operand->lifetime == NNHAL_SUBGRAPH_VALUE;
    int r = check_extension(check, operand->type, "operand type");

    if (r == 0 && operand->lifetime > NNHAL_SUBGRAPH_VALUE)
        r = nn_refuse(check->why, "there is no lifetime %u", operand->lifetime);
    if (r == 0 && (operand->type == NNHAL_SUBGRAPH) != is_reference)
        r = nn_refuse(check->why, "type SUBGRAPH and its lifetime go together, this is %s",
                      nn_type_name(operand->type));
    if (r == 0)
        r = nn_operand_validate(operand, check->why);
    if (r == 0)
        r = check_location(check, operand);
    if (r != 0)
        return r;
    need_level(check, nn_type_level(operand->type));
    check->facts.has_extensions |= nn_type_is_extension(operand->type) ||
                                   nn_type_is_oem(operand->type);
    return 0;
}

/* -- lists, operations and their order -- */

static int check_list(struct model_check *check, const struct nnhal_subgraph *subgraph,
                      uint8_t mark, uint8_t *marks)
{
    bool is_input = mark == LISTED_INPUT;
    uint32_t n = is_input ? subgraph->n_input_indexes : subgraph->n_output_indexes;
    const uint32_t *indexes = is_input ? subgraph->input_indexes : subgraph->output_indexes;
    uint32_t lifetime = is_input ? NNHAL_SUBGRAPH_INPUT : NNHAL_SUBGRAPH_OUTPUT;
    const char *what = is_input ? "input" : "output";

    for (uint32_t i = 0; i < n; i++) {
        if (indexes[i] >= subgraph->n_operands)
            return nn_refuse(check->why, "%s %u is operand %u, there are %u", what, i, indexes[i],
                             subgraph->n_operands);
        if (subgraph->operands[indexes[i]].lifetime != lifetime)
            return nn_refuse(check->why, "%s %u is operand %u, which has another lifetime", what, i,
                             indexes[i]);
        if (marks[indexes[i]] & mark)
            return nn_refuse(check->why, "operand %u is listed twice as %s", indexes[i], what);
        marks[indexes[i]] |= mark;
    }
    return 0;
}

/* Lists and lifetimes say the same twice; both are used later, so they must agree. */
static int check_lists(struct model_check *check, const struct nnhal_subgraph *subgraph,
                       uint8_t *marks)
{
    int r = check_list(check, subgraph, LISTED_INPUT, marks);

    if (r == 0)
        r = check_list(check, subgraph, LISTED_OUTPUT, marks);
    for (uint32_t i = 0; r == 0 && i < subgraph->n_operands; i++) {
        uint32_t lifetime = subgraph->operands[i].lifetime;

        if (lifetime == NNHAL_SUBGRAPH_INPUT && !(marks[i] & LISTED_INPUT))
            r = nn_refuse(check->why, "operand %u is an input that is not listed", i);
        if (lifetime == NNHAL_SUBGRAPH_OUTPUT && !(marks[i] & LISTED_OUTPUT))
            r = nn_refuse(check->why, "operand %u is an output that is not listed", i);
    }
    return r;
}

static int check_operation(struct model_check *check, const struct nnhal_subgraph *subgraph,
                           const struct nnhal_operation *operation)
{
    struct nn_operation_facts facts;
    int r = check_limit(check, operation->n_inputs, NNHAL_MAX_OPERATION_INPUTS, "inputs");

    if (r == 0)
        r = check_limit(check, operation->n_outputs, NNHAL_MAX_OPERATION_OUTPUTS, "outputs");
    if (r == 0)
        r = check_extension(check, operation->type, "operation");
    if (r == 0)
        r = nn_operation_validate(subgraph->operands, subgraph->n_operands, operation, &facts,
                                  check->why);
    if (r != 0)
        return r;
    need_level(check, facts.level);
    check->facts.has_tolerated |= facts.is_tolerated;
    check->facts.has_extensions |= facts.level == 0;
    check->facts.has_control_flow |= operation->type == NNHAL_OP_IF ||
                                     operation->type == NNHAL_OP_WHILE;
    return 0;
}

/* check_order() - one operation reads only what has a value and writes what has none. */
static int check_order(struct model_check *check, const struct nnhal_subgraph *subgraph,
                       const struct nnhal_operation *operation, uint8_t *marks)
{
    for (uint32_t i = 0; i < operation->n_inputs; i++)
        if (!(marks[operation->inputs[i]] & HAS_VALUE))
            return nn_refuse(check->why, "operand %u is read before it is written",
                             operation->inputs[i]);
    for (uint32_t i = 0; i < operation->n_outputs; i++) {
        uint32_t index = operation->outputs[i];
        uint32_t lifetime = subgraph->operands[index].lifetime;

        if (lifetime != NNHAL_TEMPORARY_VARIABLE && lifetime != NNHAL_SUBGRAPH_OUTPUT)
            return nn_refuse(check->why, "operand %u is written, but is not a result", index);
        if (marks[index] & HAS_VALUE)
            return nn_refuse(check->why, "operand %u is written twice", index);
        marks[index] |= HAS_VALUE;
    }
    return 0;
}

/* find_subgraphs() - the two that an IF or WHILE runs. */
static void find_subgraphs(const struct nnhal_model *model, const struct nnhal_subgraph *subgraph,
                           const struct nnhal_operation *operation,
                           const struct nnhal_subgraph *ret[2])
{
    uint32_t first = operation->type == NNHAL_OP_IF ? 1 : 0;

    for (uint32_t i = 0; i < 2; i++) {
        const struct nnhal_operand *operand = &subgraph->operands[operation->inputs[first + i]];

        ret[i] = &model->referenced[operand->location.offset];
    }
}

/* Inputs and constants have a value from the beginning; the order of operations is the order
 * of execution, so that one walk finds both missing and double writes. */
static int check_operations(struct model_check *check, const struct nnhal_subgraph *subgraph,
                            uint8_t *marks)
{
    for (uint32_t i = 0; i < subgraph->n_operands; i++) {
        uint32_t lifetime = subgraph->operands[i].lifetime;

        if (lifetime != NNHAL_TEMPORARY_VARIABLE && lifetime != NNHAL_SUBGRAPH_OUTPUT)
            marks[i] |= HAS_VALUE;
    }
    for (uint32_t i = 0; i < subgraph->n_operations; i++) {
        int r = check_operation(check, subgraph, &subgraph->operations[i]);

        if (r == 0)
            r = check_order(check, subgraph, &subgraph->operations[i], marks);
        if (r != 0)
            return nn_why_prefix(check->why, "operation %u: ", i);
    }
    for (uint32_t i = 0; i < subgraph->n_operands; i++)
        if (!(marks[i] & HAS_VALUE))
            return nn_refuse(check->why, "operand %u is never written", i);
    return 0;
}

static int check_operands(struct model_check *check, const struct nnhal_subgraph *subgraph)
{
    for (uint32_t i = 0; i < subgraph->n_operands; i++)
        if (check_operand(check, &subgraph->operands[i]) != 0)
            return nn_why_prefix(check->why, "operand %u: ", i);
    return 0;
}

static int check_subgraph(struct model_check *check, const struct nnhal_subgraph *subgraph)
{
    uint8_t *marks;
    int r = check_subgraph_counts(check, subgraph);

    if (r != 0)
        return r;
    marks = nn_arena_alloc(check->arena, subgraph->n_operands);
    if (!marks)
        return nn_error_origin(-ENOMEM);
    r = check_operands(check, subgraph);
    if (r == 0)
        r = check_lists(check, subgraph, marks);
    if (r == 0)
        r = check_operations(check, subgraph, marks);
    return r;
}

/* -- subgraphs that refer to subgraphs -- */

/* Once every subgraph is known to be well formed by itself. */
static int check_control_flow(struct model_check *check, const struct nnhal_subgraph *subgraph)
{
    const struct nnhal_subgraph *inner[2];

    for (uint32_t i = 0; i < subgraph->n_operations; i++) {
        const struct nnhal_operation *operation = &subgraph->operations[i];

        if (operation->type != NNHAL_OP_IF && operation->type != NNHAL_OP_WHILE)
            continue;
        find_subgraphs(check->model, subgraph, operation, inner);
        if (nn_control_flow_validate(subgraph->operands, operation, inner[0], inner[1],
                                     check->why) != 0)
            return nn_why_prefix(check->why, "operation %u: ", i);
    }
    return 0;
}

/* The references among subgraphs, 0 being main, n the first referenced one plus one. */
struct references {
    uint32_t *n_referrers; /* not yet visited */
    uint32_t *depth;
    uint32_t *ready; /* a list of subgraphs whose referrers are all visited */
    uint32_t n_ready;
};

static uint32_t reference_of(const struct nnhal_operand *operand)
{
    return operand->lifetime == NNHAL_SUBGRAPH_VALUE ? (uint32_t)operand->location.offset + 1 : 0;
}

static void count_referrers(const struct nnhal_model *model, struct references *references)
{
    for (uint32_t i = 0; i <= model->n_referenced; i++) {
        const struct nnhal_subgraph *subgraph = subgraph_at(model, i);

        for (uint32_t k = 0; k < subgraph->n_operands; k++) {
            uint32_t target = reference_of(&subgraph->operands[k]);

            if (target != 0)
                references->n_referrers[target]++;
        }
    }
}

static void subgraph_visit(const struct nnhal_model *model, struct references *references,
                           uint32_t i)
{
    const struct nnhal_subgraph *subgraph = subgraph_at(model, i);

    for (uint32_t k = 0; k < subgraph->n_operands; k++) {
        uint32_t target = reference_of(&subgraph->operands[k]);

        if (target == 0)
            continue;
        if (references->depth[target] < references->depth[i] + 1)
            references->depth[target] = references->depth[i] + 1;
        if (--references->n_referrers[target] == 0)
            references->ready[references->n_ready++] = target;
    }
}

/* check_nesting() - visits a subgraph when all that refer to it were: what is
 * left over then lies on a cycle. */
static int check_nesting(struct model_check *check)
{
    uint32_t n = check->model->n_referenced + 1;
    struct references references = {
        .n_referrers = nn_arena_new_n(check->arena, uint32_t, n),
        .depth = nn_arena_new_n(check->arena, uint32_t, n),
        .ready = nn_arena_new_n(check->arena, uint32_t, n),
    };

    if (!references.n_referrers || !references.depth || !references.ready)
        return nn_error_origin(-ENOMEM);
    count_referrers(check->model, &references);
    for (uint32_t i = 0; i < n; i++)
        if (references.n_referrers[i] == 0)
            references.ready[references.n_ready++] = i;
    for (uint32_t i = 0; i < references.n_ready; i++) {
        uint32_t subgraph = references.ready[i];

        if (references.depth[subgraph] > NN_MODEL_MAX_NESTING)
            return nn_refuse(check->why, "subgraphs are nested more than %d deep",
                             NN_MODEL_MAX_NESTING);
        subgraph_visit(check->model, &references, subgraph);
    }
    if (references.n_ready < n)
        return nn_refuse(check->why, "subgraphs refer to each other in a cycle");
    return 0;
}

static int check_subgraphs(struct model_check *check,
                           int (*function)(struct model_check *check,
                                           const struct nnhal_subgraph *subgraph))
{
    for (uint32_t i = 0; i <= check->model->n_referenced; i++) {
        int r = function(check, subgraph_at(check->model, i));

        if (r == NN_REFUSED && i > 0)
            return nn_why_prefix(check->why, "subgraph %u: ", i - 1);
        if (r != 0)
            return r;
    }
    return 0;
}

int nn_model_validate(const struct nnhal_model *model, const uint64_t *pool_sizes,
                      struct nn_arena *arena, struct nn_model_facts *ret_facts, struct nn_why *why)
{
    struct model_check check = {.model = model,
                                .pool_sizes = pool_sizes,
                                .arena = arena,
                                .facts = {.level = NN_LEVEL_MIN},
                                .why = why};
    int r = check_counts(&check);

    if (r == 0)
        r = check_prefixes(&check);
    if (r == 0)
        r = check_subgraphs(&check, check_subgraph);
    if (r == 0)
        r = check_nesting(&check);
    if (r == 0)
        r = check_subgraphs(&check, check_control_flow);
    if (r != 0)
        return r;
    if (model->relax_computation_float32_to_float16)
        need_level(&check, 2);
    if (ret_facts)
        *ret_facts = check.facts;
    return 0;
}
