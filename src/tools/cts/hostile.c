/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c - outputs that are too small, and values that nothing in the model announces
 *
 * An application may pass any value where a model leaves one open: it must not crash the driver, nor have
 * it write where no output lies. Afterwards the same prepared model computes as before. */
#include "change.h"
#include "cts.h"

#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

/* What a strange value may take: a count of 2147483647 rounds has no other end. */
#define STRANGE_TIMEOUT_NS UINT64_C(300000000)

/* -- outputs that are too small -- */

/* The first output that has two elements at least gets room for fewer. Returns: its number, or
 * UINT32_MAX if there is none. */
static uint32_t shrink_output(struct nnt_subgraph *main)
{
    for (uint32_t i = 0; i < main->n_outputs; i++) {
        struct nnt_operand *operand = &main->operands[main->outputs[i]];
        uint32_t element_bytes = nnt_element_bytes(operand->type);

        if (operand->flags & NNT_EXPECTED && element_bytes && operand->n_bytes > element_bytes) {
            operand->n_bytes -= element_bytes;
            return i;
        }
    }
    return UINT32_MAX;
}

/* The attempt is at a model whose output i is too small, full the same with room. */
static enum nnt_outcome judge_small(struct nnt_attempt *attempt, uint32_t i,
                                    const struct nnt_model *full)
{
    int r = nnt_attempt_compile(attempt);

    if (r == OK)
        r = nnt_attempt_execute(attempt);
    if (nnt_attempt_is_unsupported(attempt))
        return NNT_UNSUPPORTED;
    if (r != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
        if (r == OK)
            nnt_report(attempt->run, "an output that is too small is no failure");
        return NNT_FAILED;
    }
    if (!nnt_attempt_has_dimensions(attempt, i))
        return NNT_FAILED;
    r = nnt_attempt_execute_with(attempt, full);
    return r == OK && nnt_attempt_check(attempt) ? NNT_PASSED : NNT_FAILED;
}

static void try_small(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_SYNC);
    struct nnt_model *small;
    struct nnt_attempt attempt;
    uint32_t i;

    if (nnt_variant_apply(NNT_DYNAMIC_OUTPUT, file, model) <= 0 ||
        !(small = cts_copy_model(file, model)) ||
        (i = shrink_output(&small->subgraphs[0])) == UINT32_MAX ||
        !cts_wants(cts, "%s with an output that is too small", model->name))
        return;
    nnt_attempt_init(&attempt, &run, small);
    cts_say(cts, judge_small(&attempt, i, model), run.what);
    nnt_attempt_done(&attempt);
}

void cts_shapes(struct cts *cts)
{
    cts_each_model(cts, 3, CTS_PER_OPERATION, try_small);
}

/* -- strange values -- */

/* Any end is right, but that something else was written to. */
static bool survives(struct nnt_attempt *attempt, struct nnt_file *file,
                     const struct nnt_model *model, int32_t value)
{
    const struct nnt_model *strange = cts_feed_strange(file, model, value);

    if (!strange)
        return nnt_report(attempt->run, "memory is short");
    attempt->run->timeout_ns = STRANGE_TIMEOUT_NS;
    attempt->run->loop_timeout_ns = STRANGE_TIMEOUT_NS;
    nnt_attempt_execute_with(attempt, strange);
    attempt->run->timeout_ns = 0;
    attempt->run->loop_timeout_ns = 0;
    return !attempt->run->is_overwritten;
}

static enum nnt_outcome judge_strange(struct nnt_attempt *attempt, struct nnt_file *file)
{
    static const int32_t values[] = {-1, INT32_MIN, INT32_MAX, 0x40000000, 0};
    const struct nnt_model *model = attempt->model;

    if (nnt_attempt_compile(attempt) != OK)
        return cts_end_of(attempt);
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (!survives(attempt, file, model, values[i]))
            return NNT_FAILED;
    return nnt_attempt_execute_with(attempt, model) == OK && nnt_attempt_check(attempt)
               ? NNT_PASSED
               : cts_end_of(attempt);
}

static void try_strange(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_GUARDED);
    const struct nnt_model *fed = cts_feed_integers(file, model);
    struct nnt_attempt attempt;

    if (!fed || !cts_wants(cts, "%s with strange values", model->name))
        return;
    nnt_attempt_init(&attempt, &run, fed);
    cts_say(cts, judge_strange(&attempt, file), run.what);
    nnt_attempt_done(&attempt);
}

void cts_values(struct cts *cts)
{
    cts_each_model(cts, 0, CTS_PER_OPERATION, try_strange);
    cts_each_model(cts, 1, CTS_PER_OPERATION, try_strange);
}
