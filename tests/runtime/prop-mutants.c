/* SPDX-License-Identifier: Apache-2.0 */
/* The mutants of tests/host once more, built by an application's calls. What the
 * HAL refuses as INVALID_ARGUMENT one of the calls refuses as BAD_DATA, or the
 * mutant cannot be said in calls at all: they have no lifetimes, no places in
 * operand_values, no numbers of subgraphs. What is legal for the HAL is accepted. */
#include "host/mutants.h"

#include "base/arena.h"
#include "rt.h"

#include <fcntl.h>
#include <stdio.h>

enum result {
    ACCEPTED,
    REFUSED,
    UNSPEAKABLE, /* there are no calls that would say this */
};

static ANeuralNetworksMemory *pool;

/* -- what the HAL says of it ------------------------------------------------------ */

static bool hal_accepts(struct maker *maker)
{
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    r = nn_model_validate(maker_bind(maker), maker->pool_sizes, &arena, NULL, NULL);
    nn_arena_done(&arena);
    return r == 0;
}

/* -- saying it in calls ------------------------------------------------------------ */

static bool is_in(const uint32_t *list, uint32_t n, uint32_t i)
{
    for (uint32_t k = 0; k < n; k++)
        if (list[k] == i)
            return true;
    return false;
}

/* A lifetime that does not follow from the lists, or a place that calls do not name. */
static bool is_speakable(const struct maker *maker, const struct maker_graph *graph, uint32_t i)
{
    const struct nnhal_operand *operand = &graph->operands[i];
    const struct nnhal_data_location *location = &operand->location;
    bool is_input = is_in(graph->inputs, graph->n_inputs, i);
    bool is_output = is_in(graph->outputs, graph->n_outputs, i);

    switch (operand->lifetime) {
    case NNHAL_TEMPORARY_VARIABLE:
        return !is_input && !is_output && location->length == 0;
    case NNHAL_SUBGRAPH_INPUT:
        return is_input && location->length == 0;
    case NNHAL_SUBGRAPH_OUTPUT:
        return is_output && location->length == 0;
    case NNHAL_CONSTANT_COPY:
        return location->pool_index == 0 && location->length > 0 &&
               location->offset + location->length <= maker->n_values;
    case NNHAL_CONSTANT_REFERENCE:
        return location->pool_index == 0 && maker->n_pools == 1;
    case NNHAL_NO_VALUE:
        return location->length == 0 && location->offset == 0;
    case NNHAL_SUBGRAPH_VALUE:
        return location->pool_index == 0 && location->length == 0 &&
               location->offset + 1 < maker->n_graphs;
    default:
        return false;
    }
}

static int say_value(const struct maker *maker, const struct nnhal_operand *operand, int32_t i,
                     ANeuralNetworksModel *const *models, ANeuralNetworksModel *model)
{
    const struct nnhal_data_location *location = &operand->location;

    switch (operand->lifetime) {
    case NNHAL_CONSTANT_COPY:
        return ANeuralNetworksModel_setOperandValue(model, i, maker->values + location->offset,
                                                    location->length);
    case NNHAL_CONSTANT_REFERENCE:
        return ANeuralNetworksModel_setOperandValueFromMemory(model, i, pool, location->offset,
                                                              location->length);
    case NNHAL_NO_VALUE:
        return ANeuralNetworksModel_setOperandValue(model, i, NULL, 0);
    case NNHAL_SUBGRAPH_VALUE:
        return ANeuralNetworksModel_setOperandValueFromModel(model, i,
                                                             models[location->offset + 1]);
    default:
        return ANEURALNETWORKS_NO_ERROR;
    }
}

static int say_operand(const struct nnhal_operand *operand, const uint32_t *dimensions, int32_t i,
                       ANeuralNetworksModel *model)
{
    const ANeuralNetworksOperandType type = {
        .type = (int32_t)operand->type,
        .dimensionCount = operand->n_dimensions,
        .dimensions = operand->n_dimensions ? dimensions : NULL,
        .scale = operand->scale,
        .zeroPoint = operand->zero_point,
    };
    const ANeuralNetworksSymmPerChannelQuantParams params = {
        .channelDim = operand->channel_quant.channel_dim,
        .scaleCount = operand->channel_quant.n_scales,
        .scales = operand->channel_quant.scales,
    };
    int r = ANeuralNetworksModel_addOperand(model, &type);

    if (r == ANEURALNETWORKS_NO_ERROR && operand->extra_params == NNHAL_EXTRA_CHANNEL_QUANT)
        r = ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, i, &params);
    return r;
}

static int say_graph(const struct maker *maker, uint32_t g, ANeuralNetworksModel *const *models)
{
    const struct maker_graph *graph = &maker->graphs[g];
    ANeuralNetworksModel *model = models[g];
    int r = ANEURALNETWORKS_NO_ERROR;

    for (uint32_t i = 0; r == 0 && i < graph->n_operands; i++) {
        r = say_operand(&graph->operands[i], graph->dimensions[i], (int32_t)i, model);
        if (r == ANEURALNETWORKS_NO_ERROR)
            r = say_value(maker, &graph->operands[i], (int32_t)i, models, model);
    }
    for (uint32_t i = 0; r == 0 && i < graph->n_operations; i++)
        r = ANeuralNetworksModel_addOperation(model, (int32_t)graph->operations[i].type,
                                              graph->operations[i].n_inputs, graph->lists[i][0],
                                              graph->operations[i].n_outputs, graph->lists[i][1]);
    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksModel_identifyInputsAndOutputs(model, graph->n_inputs, graph->inputs,
                                                          graph->n_outputs, graph->outputs);
    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksModel_finish(model);
    return r;
}

/* Whether a graph names only graphs that stand behind it: those are built first. */
static bool looks_ahead(const struct maker *maker, uint32_t g)
{
    const struct maker_graph *graph = &maker->graphs[g];

    for (uint32_t i = 0; i < graph->n_operands; i++)
        if (graph->operands[i].lifetime == NNHAL_SUBGRAPH_VALUE &&
            graph->operands[i].location.offset + 1 <= g)
            return false;
    return true;
}

static enum result build_mutant(const struct maker *maker)
{
    ANeuralNetworksModel *models[MAKER_SUBGRAPHS] = {NULL};
    int r = ANEURALNETWORKS_NO_ERROR;

    for (uint32_t g = 0; g < maker->n_graphs; g++) {
        if (!looks_ahead(maker, g))
            return UNSPEAKABLE;
        for (uint32_t i = 0; i < maker->graphs[g].n_operands; i++)
            if (!is_speakable(maker, &maker->graphs[g], i))
                return UNSPEAKABLE;
    }
    for (uint32_t g = maker->n_graphs; r == ANEURALNETWORKS_NO_ERROR && g-- > 0;) {
        OK(ANeuralNetworksModel_create(&models[g]));
        r = say_graph(maker, g, models);
    }
    for (uint32_t g = 0; g < maker->n_graphs; g++)
        ANeuralNetworksModel_free(models[g]);
    ck_assert_msg(r == ANEURALNETWORKS_NO_ERROR || r == ANEURALNETWORKS_BAD_DATA, "code %d", r);
    return r == ANEURALNETWORKS_NO_ERROR ? ACCEPTED : REFUSED;
}

/* -- all of them -------------------------------------------------------------------- */

static size_t n_mutants[3], n_surprises;

/* Operations may come in any order: the runtime sorts them. */
static bool may_differ(const struct mutator *mutator)
{
    return strcmp(mutator->name, "executionOrder") == 0;
}

/* The model of all lifetimes, without its extension: that has calls of its own. */
static void make_model(const struct made_model *made, struct maker *maker)
{
    made->make(maker);
    if (maker->n_prefixes == 0)
        return;
    maker->n_prefixes = 0;
    maker->graphs[0].n_operands -= 2;
    maker->graphs[0].n_operations--;
    maker->graphs[0].n_inputs--;
    maker->graphs[0].n_outputs--;
}

static void visit_mutant(const struct made_model *made, const struct mutator *mutator, uint32_t g,
                         uint32_t i)
{
    static struct maker mutant;

    for (uint32_t variant = 0;; variant++) {
        enum mutant_outcome outcome;
        enum result result;

        make_model(made, &mutant);
        outcome = mutator->mutate(&mutant, &mutant.graphs[g], i, variant);
        if (outcome == MUTANT_END)
            return;
        if (outcome == MUTANT_SKIPPED)
            continue;
        result = build_mutant(&mutant);
        n_mutants[result]++;
        if (result == UNSPEAKABLE || may_differ(mutator) ||
            (result == ACCEPTED) == hal_accepts(&mutant))
            continue;
        n_surprises++;
        fprintf(stderr, "%s %s %u.%u %u: %s\n", made->name, mutator->name, g, i, variant,
                result == ACCEPTED ? "accepted" : "refused");
    }
}

static void visit_model(const struct made_model *made, const struct mutator *mutator)
{
    static struct maker maker;

    make_model(made, &maker);
    for (uint32_t g = 0; g < maker.n_graphs; g++) {
        const struct maker_graph *graph = &maker.graphs[g];
        uint32_t n = mutator->is_of_operations ? graph->n_operations : graph->n_operands;

        for (uint32_t i = 0; i < n; i++)
            visit_mutant(made, mutator, g, i);
    }
}

static void mutants_begin(void)
{
    void *bytes;

    rt_init();
    pool = rt_memory(32, &bytes);
}

TEST(the_models_themselves_are_accepted)
{
    static struct maker maker;

    mutants_begin();
    for (size_t i = 0; i < n_made_models; i++) {
        make_model(&made_models[i], &maker);
        ck_assert_msg(build_mutant(&maker) == ACCEPTED, "%s", made_models[i].name);
    }
    ANeuralNetworksMemory_free(pool);
}
TEST_END

TEST(the_api_refuses_what_the_hal_refuses)
{
    mutants_begin();
    for (size_t i = 0; i < n_made_models; i++)
        for (size_t k = 0; k < n_mutators; k++)
            visit_model(&made_models[i], &mutators[k]);
    ck_assert_uint_eq(n_surprises, 0);
    ck_assert_uint_gt(n_mutants[ACCEPTED], 10);
    ck_assert_uint_gt(n_mutants[REFUSED], 2000);
    ANeuralNetworksMemory_free(pool);
}
TEST_END

CHECK_MAIN("api-mutants", the_models_themselves_are_accepted, the_api_refuses_what_the_hal_refuses)
