/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "against.h"
#include "compare.h"
#include "parts/parts.h"
#include "path.h"

#include <nnhal/ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

/* -- steps; each returns a result code, with the sentence said -- */

int nnt_attempt_build(struct nnt_attempt *attempt)
{
    int r = nnt_build(&attempt->built, attempt->model, nnt_path_steps(attempt->run->path)->memory);

    attempt->run->is_built = r == OK;
    return nnt_check_call(attempt, attempt->built.call, attempt->built.subject, r);
}

/* Bytes that are not written differ from every expected value. */
static void spoil_output(const struct nnt_attempt *attempt, uint32_t i)
{
    uint32_t n_bytes = attempt->main->operands[attempt->main->outputs[i]].n_bytes;

    memset(attempt->outputs[i], 0xa5, n_bytes > 0 ? n_bytes : 1);
}

static int make_outputs(struct nnt_attempt *attempt)
{
    const struct nnt_subgraph *main = attempt->main;

    attempt->outputs = calloc(main->n_outputs + 1u, sizeof(*attempt->outputs));
    if (!attempt->outputs)
        return nnt_check_call(attempt, "calloc", 0, ANEURALNETWORKS_OUT_OF_MEMORY);
    for (uint32_t i = 0; i < main->n_outputs; i++) {
        uint32_t n_bytes = main->operands[main->outputs[i]].n_bytes;

        attempt->outputs[i] = malloc(n_bytes > 0 ? n_bytes : 1);
        if (!attempt->outputs[i])
            return nnt_check_call(attempt, "malloc", i, ANEURALNETWORKS_OUT_OF_MEMORY);
        spoil_output(attempt, i);
    }
    return OK;
}

int nnt_attempt_execute(struct nnt_attempt *attempt)
{
    const struct nnt_path_steps *steps = nnt_path_steps(attempt->run->path);
    int r = nnt_create_execution(attempt, &attempt->execution);

    if (r == OK && attempt->run->n_reuses > 0)
        r = nnt_check_call(attempt, "Execution_setReusable", 0,
                           ANeuralNetworksExecution_setReusable(attempt->execution, true));
    if (r == OK)
        r = make_outputs(attempt);
    if (r == OK)
        r = steps->set_arguments(attempt);
    if (r == OK)
        r = steps->run(attempt);
    return r == OK && steps->fetch ? steps->fetch(attempt) : r;
}

int nnt_attempt_execute_with(struct nnt_attempt *attempt, const struct nnt_model *model)
{
    nnt_attempt_forget(attempt);
    attempt->model = model;
    attempt->main = &model->subgraphs[0];
    return nnt_attempt_execute(attempt);
}

/* -- what came out -- */

static void print_dimensions(char *text, size_t n_bytes, uint32_t rank, const uint32_t *dimensions)
{
    size_t at = (size_t)snprintf(text, n_bytes, "[");

    for (uint32_t i = 0; i < rank && at < n_bytes; i++)
        at += (size_t)snprintf(text + at, n_bytes - at, "%s%u", i ? "," : "", dimensions[i]);
    if (at < n_bytes)
        snprintf(text + at, n_bytes - at, "]");
}

/* Also of an output that needs more room. */
static bool tells_dimensions(int result)
{
    return result == OK || result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
}

bool nnt_attempt_has_dimensions(struct nnt_attempt *attempt, uint32_t i)
{
    const struct nnt_operand *operand = &attempt->main->operands[attempt->main->outputs[i]];
    uint32_t rank = 0, dimensions[64] = {0};
    char got[100], expected[100];
    int r = ANeuralNetworksExecution_getOutputOperandRank(attempt->execution, (int32_t)i, &rank);

    if (!tells_dimensions(r))
        return nnt_check_call(attempt, "Execution_getOutputOperandRank", i, r) == OK;
    if (rank > 0 && rank <= 64) {
        r = ANeuralNetworksExecution_getOutputOperandDimensions(attempt->execution, (int32_t)i,
                                                                dimensions);
        if (!tells_dimensions(r))
            return nnt_check_call(attempt, "Execution_getOutputOperandDimensions", i, r) == OK;
    }
    if (rank == operand->rank &&
        (rank == 0 || memcmp(dimensions, operand->expected, rank * sizeof(uint32_t)) == 0))
        return true;
    print_dimensions(got, sizeof(got), rank <= 64 ? rank : 64, dimensions);
    print_dimensions(expected, sizeof(expected), operand->rank, operand->expected);
    return nnt_report(attempt->run, "output %u (operand %u) has dimensions %s, expected %s", i,
                      attempt->main->outputs[i], got, expected);
}

static bool report_difference(struct nnt_attempt *attempt, uint32_t i,
                              const struct nnt_difference *difference)
{
    return nnt_report(attempt->run,
                      "output %u (operand %u) element %u: got %.9g, expected %.9g, allowed %.3g", i,
                      attempt->main->outputs[i], difference->element, difference->got,
                      difference->expected, difference->allowed);
}

static bool check_output(struct nnt_attempt *attempt, uint32_t i)
{
    const struct nnt_subgraph *main = attempt->main;
    const struct nnt_operand *operand = &main->operands[main->outputs[i]];
    struct nnt_difference difference = {0};
    bool agrees = true;

    if (operand->flags & NNT_IGNORED)
        return true;
    if (!nnt_attempt_has_dimensions(attempt, i))
        return false;
    if (operand->flags & NNT_EXPECTED)
        agrees = nnt_compare(attempt->model, operand, attempt->outputs[i], &difference);
    else if (attempt->model->flags & NNT_MULTINOMIAL)
        agrees = nnt_compare_distribution(attempt->model, &main->operands[main->inputs[0]], operand,
                                          attempt->outputs[i], &difference);
    return agrees || report_difference(attempt, i, &difference);
}

bool nnt_attempt_check(struct nnt_attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->main->n_outputs; i++)
        if (!check_output(attempt, i))
            return false;
    return true;
}

static bool check_devices(struct nnt_attempt *attempt)
{
    char text[sizeof(attempt->run->what)];

    return attempt->run->device ||
           parts_keep_promise(attempt->compilation, attempt->execution, text, sizeof(text)) ||
           nnt_report(attempt->run, "%s", text);
}

static void count_parts(struct nnt_attempt *attempt)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};

    if (attempt->run->n_split > 0 && nnhal_compilation_get_plan(attempt->compilation, &plan) == OK)
        attempt->run->n_in_parts += plan.n_parts > 1;
}

void nnt_attempt_init(struct nnt_attempt *attempt, struct nnt_run *run,
                      const struct nnt_model *model)
{
    *attempt = (struct nnt_attempt){.run = run, .model = model, .main = &model->subgraphs[0]};
    run->what[0] = '\0';
    run->is_different = false;
    run->is_unsupported = false;
    run->is_overwritten = false;
}

int nnt_attempt_compile(struct nnt_attempt *attempt)
{
    const struct nnt_path_steps *steps = nnt_path_steps(attempt->run->path);
    int r = nnt_attempt_build(attempt);

    if (r == OK)
        r = steps->compile(attempt);
    if (r == OK)
        count_parts(attempt);
    return r;
}

/* From the model to its outputs. Returns: a result code. */
static int attempt_finish(struct nnt_attempt *attempt)
{
    int r = nnt_attempt_compile(attempt);

    return r == OK ? nnt_attempt_execute(attempt) : r;
}

void nnt_attempt_forget(struct nnt_attempt *attempt)
{
    const struct nnt_path_steps *steps = nnt_path_steps(attempt->run->path);

    ANeuralNetworksExecution_free(attempt->execution);
    if (steps->release)
        steps->release(attempt);
    for (uint32_t i = 0; attempt->outputs && i < attempt->main->n_outputs; i++)
        free(attempt->outputs[i]);
    free(attempt->outputs);
    attempt->execution = NULL;
    attempt->path_state = NULL;
    attempt->outputs = NULL;
}

void nnt_attempt_done(struct nnt_attempt *attempt)
{
    nnt_attempt_forget(attempt);
    ANeuralNetworksCompilation_free(attempt->compilation);
    nnt_built_free(&attempt->built);
}

bool nnt_attempt_is_unsupported(struct nnt_attempt *attempt)
{
    const ANeuralNetworksModel *model = attempt->built.models ? attempt->built.models[0] : NULL;
    bool *supported = calloc(attempt->main->n_operations + 1u, sizeof(*supported));
    bool is_whole = true;

    if (supported && attempt->run->device && attempt->run->is_built &&
        ANeuralNetworksModel_getSupportedOperationsForDevices(model, &attempt->run->device, 1,
                                                              supported) == OK)
        for (uint32_t i = 0; i < attempt->main->n_operations; i++)
            is_whole &= supported[i];
    free(supported);
    return !is_whole;
}

/* Once more with the same execution. */
static bool is_right_again(struct nnt_attempt *attempt)
{
    const struct nnt_path_steps *steps = nnt_path_steps(attempt->run->path);
    int r;

    for (uint32_t i = 0; i < attempt->main->n_outputs; i++)
        spoil_output(attempt, i);
    r = steps->run(attempt);
    if (r == OK && steps->fetch)
        r = steps->fetch(attempt);
    return r == OK && nnt_attempt_check(attempt);
}

static bool attempt_is_right(struct nnt_attempt *attempt, int result)
{
    bool is_right;

    if (attempt->model->flags & NNT_EXPECT_FAILURE)
        return result != OK || nnt_report(attempt->run, "no step failed, one of them must");
    attempt->run->is_unsupported = result != OK && nnt_attempt_is_unsupported(attempt);
    is_right = result == OK && check_devices(attempt) && nnt_attempt_check(attempt);
    for (unsigned i = 1; is_right && i < attempt->run->n_reuses; i++)
        is_right = is_right_again(attempt);
    return is_right;
}

/* Whether the other device fails too, or has the same results. What one does not support fails
 * when it is compiled, and with the other when it is executed; there is nothing to compare. */
static bool attempt_agrees(struct nnt_attempt *attempt, int result)
{
    struct nnt_run *run = attempt->run, other_run = *run;
    struct nnt_attempt other;
    bool agrees = true;
    int r;

    nnt_attempt_init(&other, &other_run, attempt->model);
    other_run.device = run->against;
    r = attempt_finish(&other);
    if (nnt_is_shortage(result) || nnt_is_shortage(r))
        agrees = result == OK;
    else if ((result == OK) != (r == OK))
        agrees = nnt_report(run, "ended with %d, the other device with %d", result, r);
    else if (r == OK)
        agrees = nnt_check_against(attempt, &other);
    run->is_unsupported = !agrees && ((result != OK && nnt_attempt_is_unsupported(attempt)) ||
                                      (r != OK && nnt_attempt_is_unsupported(&other)));
    run->is_different = !agrees && !run->is_unsupported && !nnt_is_shortage(result) &&
                        !nnt_is_shortage(r);
    nnt_attempt_done(&other);
    return agrees;
}

bool nnt_run_model(struct nnt_run *run, const struct nnt_model *model)
{
    struct nnt_attempt attempt;
    bool is_right;
    int r;

    nnt_attempt_init(&attempt, run, model);
    r = attempt_finish(&attempt);
    is_right = run->against ? attempt_agrees(&attempt, r) : attempt_is_right(&attempt, r);
    nnt_attempt_done(&attempt);
    return is_right;
}
