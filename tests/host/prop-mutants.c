/* SPDX-License-Identifier: Apache-2.0 */
/* Every mutant of every model made by hand is refused, with INVALID_ARGUMENT, by
 * each method that takes a model; so is every mutant of a request. The driver
 * accepts everything: what is refused, the host has refused. Mutants that stay
 * legal are listed, by rule, in legal-mutants.txt: no other one may be
 * accepted, and none of these may be refused. */
#include "host/desk.h"

#include "base/fence.h"
#include "host/mutants.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_LISTED 1024

static struct desk desk;
static uint64_t pool; /* where models have their constants */

/* -- the list of legal mutants -------------------------------------------------- */

static char listed[MAX_LISTED][96];
static bool is_found[MAX_LISTED];
static size_t n_listed;

/* Lines that begin with '#' are rules; the others are names of mutants. */
static void read_list(void)
{
    char path[4096], line[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/tests/host/legal-mutants.txt", getenv("NNHAL_SOURCE_ROOT"));
    file = fopen(path, "re");
    ck_assert_msg(file != NULL, "%s is missing", path);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        ck_assert_uint_lt(n_listed, MAX_LISTED);
        snprintf(listed[n_listed++], sizeof(listed[0]), "%.95s", line);
    }
    fclose(file);
}

static bool find_listed(const char *name)
{
    for (size_t i = 0; i < n_listed; i++) {
        if (strcmp(listed[i], name) == 0) {
            is_found[i] = true;
            return true;
        }
    }
    return false;
}

/* -- judging one model ------------------------------------------------------------ */

static uint32_t ask(const struct nnhal_model *model)
{
    const struct nn_hal_get_supported_operations_args args = {.model = *model};
    struct nn_hal_get_supported_operations_reply reply;
    uint32_t status = nn_hal_get_supported_operations(desk.hal, &args, &reply, &desk.arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    return status;
}

/* What both methods say of a model; prepared models are freed again. */
static uint32_t judge(struct maker *maker)
{
    const struct nnhal_model *model = maker_bind(maker);
    uint64_t prepared;
    uint32_t status = ask(model);

    ck_assert_uint_eq(desk_try_prepare(&desk, model, &prepared), status);
    if (status == NNHAL_NONE)
        desk_free_prepared(&desk, prepared);
    nn_arena_reset(&desk.arena);
    return status;
}

static void make(const struct made_model *made, struct maker *maker)
{
    made->make(maker);
    for (uint32_t i = 0; i < maker->n_pools; i++)
        maker->pools[i] = pool;
}

static void begin(void)
{
    desk_open(&desk);
    pool = desk_memory(&desk, 32);
    read_list();
}

/* -- models ---------------------------------------------------------------------- */

static size_t n_mutants, n_surprises;

static void visit(const char *name, struct maker *mutant)
{
    bool is_legal = find_listed(name);
    uint32_t status = judge(mutant);

    n_mutants++;
    if (status == (is_legal ? NNHAL_NONE : NNHAL_INVALID_ARGUMENT))
        return;
    n_surprises++;
    fprintf(stderr, "%s: status %u\n", name, status);
}

/* All variants of one mutator at operand or operation i of graph g. */
static void visit_place(const struct made_model *made, const struct mutator *mutator, uint32_t g,
                        uint32_t i)
{
    static struct maker mutant;
    char name[96];

    for (uint32_t variant = 0;; variant++) {
        enum mutant_outcome outcome;

        make(made, &mutant);
        outcome = mutator->mutate(&mutant, &mutant.graphs[g], i, variant);
        if (outcome == MUTANT_END)
            return;
        if (outcome == MUTANT_SKIPPED)
            continue;
        snprintf(name, sizeof(name), "%s %s %u.%u %u", made->name, mutator->name, g, i, variant);
        visit(name, &mutant);
    }
}

static void visit_model(const struct made_model *made, const struct mutator *mutator)
{
    static struct maker maker;

    make(made, &maker);
    for (uint32_t g = 0; g < maker.n_graphs; g++) {
        const struct maker_graph *graph = &maker.graphs[g];
        uint32_t n = mutator->is_of_operations ? graph->n_operations : graph->n_operands;

        for (uint32_t i = 0; i < n; i++)
            visit_place(made, mutator, g, i);
    }
}

TEST(the_models_themselves_are_valid)
{
    static struct maker maker;

    begin();
    for (size_t i = 0; i < n_made_models; i++) {
        make(&made_models[i], &maker);
        ck_assert_msg(judge(&maker) == NNHAL_NONE, "%s", made_models[i].name);
    }
    desk_close(&desk);
}
TEST_END

TEST(mutants_are_refused_unless_a_rule_allows_them)
{
    begin();
    for (size_t i = 0; i < n_made_models; i++)
        for (size_t k = 0; k < n_mutators; k++)
            visit_model(&made_models[i], &mutators[k]);
    ck_assert_msg(n_surprises == 0, "%zu of %zu mutants are not judged as listed", n_surprises,
                  n_mutants);
    ck_assert_uint_gt(n_mutants, 4000);
    for (size_t i = 0; i < n_listed; i++)
        ck_assert_msg(is_found[i], "no such mutant: %s", listed[i]);
    desk_close(&desk);
}
TEST_END

TEST(preference_and_priority_are_in_range)
{
    const uint32_t bad[] = {3, UINT32_MAX};
    static struct maker maker;

    begin();
    for (size_t i = 0; i < n_made_models; i++) {
        for (size_t k = 0; k < 2 * NN_N_ELEMENTS(bad); k++) {
            struct nn_hal_prepare_model_args args = {.deadline_ns = NNHAL_NO_TIME};
            struct nn_hal_prepare_model_reply reply;

            make(&made_models[i], &maker);
            args.model = *maker_bind(&maker);
            *(k % 2 ? &args.preference : &args.priority) = bad[k / 2];
            ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena),
                              NNHAL_INVALID_ARGUMENT);
            desk_expect_failure(reply);
        }
    }
    desk_close(&desk);
}
TEST_END

/* -- requests -------------------------------------------------------------------- */

static void make_request(const struct nnhal_subgraph *graph, uint64_t memory)
{
    uint64_t offset = 0;

    desk_begin(&desk);
    for (uint32_t i = 0; i < graph->n_input_indexes + graph->n_output_indexes; i++) {
        bool is_input = i < graph->n_input_indexes;
        const struct nnhal_operand *operand =
            &graph->operands[is_input ? graph->input_indexes[i]
                                      : graph->output_indexes[i - graph->n_input_indexes]];
        uint32_t dimensions[NNHAL_MAX_RANK], n = operand->n_dimensions;
        uint64_t n_bytes;

        for (uint32_t d = 0; d < n; d++)
            dimensions[d] = operand->dimensions[d] ? operand->dimensions[d] : 3;
        if (!nn_operand_bytes(operand->type, n, dimensions, &n_bytes) || n_bytes == 0)
            n_bytes = 28; /* of an extension: 7 elements, as large as fake says */
        (is_input ? desk_input : desk_output)(&desk, n, dimensions, memory, offset, n_bytes);
        offset += n_bytes;
    }
}

static uint32_t execute_fenced(uint64_t prepared, uint32_t measure)
{
    const struct nn_hal_execute_fenced_args args = {
        .prepared_model = prepared,
        .request = desk.request,
        .measure = measure,
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = NNHAL_NO_TIME,
        .timeout_after_fence_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_execute_fenced_reply reply;
    uint32_t status = nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena);

    if (status != NNHAL_NONE) {
        desk_expect_failure(reply);
        return status;
    }
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), 0);
    close(reply.sync_fence);
    return status;
}

static void expect_request(uint64_t prepared, uint32_t status)
{
    for (desk.measure = 0; desk.measure < 2; desk.measure++) {
        uint64_t execution;

        ck_assert_uint_eq(desk_execute(&desk, prepared), status);
        ck_assert_uint_eq(execute_fenced(prepared, desk.measure), status);
        ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), status);
        desk_free_execution(&desk, execution);
    }
    nn_arena_reset(&desk.arena);
}

static void drop(struct nnhal_request_argument *arguments, uint32_t *n, uint32_t at)
{
    memmove(&arguments[at], &arguments[at + 1], (*n - at - 1) * sizeof(*arguments));
    (*n)--;
}

/* The two mutators of requests: each input dropped, each output dropped. */
TEST(requests_that_lack_an_argument_are_refused)
{
    static struct maker maker;

    begin();
    for (size_t m = 0; m < n_made_models; m++) {
        const struct nnhal_subgraph *graph;
        uint64_t prepared, memory = desk_memory(&desk, 4096);

        make(&made_models[m], &maker);
        graph = &maker_bind(&maker)->main;
        prepared = desk_prepare(&desk, &maker.model);
        make_request(graph, memory);
        fake.writes_nothing = true;
        expect_request(prepared, NNHAL_NONE);
        for (uint32_t i = 0; i < graph->n_input_indexes; i++) {
            make_request(graph, memory);
            drop(desk.inputs, &desk.request.n_inputs, i);
            expect_request(prepared, NNHAL_INVALID_ARGUMENT);
        }
        for (uint32_t i = 0; i < graph->n_output_indexes; i++) {
            make_request(graph, memory);
            drop(desk.outputs, &desk.request.n_outputs, i);
            expect_request(prepared, NNHAL_INVALID_ARGUMENT);
        }
    }
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("mutants", the_models_themselves_are_valid,
           mutants_are_refused_unless_a_rule_allows_them, preference_and_priority_are_in_range,
           requests_that_lack_an_argument_are_refused)
