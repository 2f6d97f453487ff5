/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.c - a deadline ends what takes longer, soon, and harms nothing
 *
 * How soon is judged by what the same model takes without a deadline, before and afterwards: a
 * machine that is slow or busy is so in both. */
#include "cts.h"
#include "long-model.h"

#include <stdio.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum { N_TRIES = 3 };

static bool is_missed(int result)
{
    return result == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
           result == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT;
}

/* Once, from compiled. Returns: a result code; *ret_ns is what the execution took. */
static int execute_within(struct nnt_attempt *attempt, uint64_t timeout_ns, uint64_t *ret_ns)
{
    uint64_t began_ns;
    int r;

    nnt_attempt_forget(attempt);
    attempt->run->timeout_ns = timeout_ns;
    began_ns = cts_now_ns();
    r = nnt_attempt_execute(attempt);
    *ret_ns = cts_now_ns() - began_ns;
    attempt->run->timeout_ns = 0;
    return r;
}

/* -- a model that is long enough -- */

struct long_search {
    struct cts *cts;
    char why[sizeof(((struct nnt_run *)0)->what)]; /* one failed */
};

/* A device may lack the memory for so long a model. */
static bool is_exhausted(int result)
{
    return result == ANEURALNETWORKS_OUT_OF_MEMORY ||
           result == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT ||
           result == ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT;
}

static uint64_t time_of(void *ctx, const struct nnt_model *model)
{
    struct long_search *search = ctx;
    struct nnt_run run = cts_run(search->cts, NNT_SYNC);
    struct nnt_attempt attempt;
    uint64_t first_ns = 0, took_ns = 0;
    int r;

    cts_go_on(search->cts);
    nnt_attempt_init(&attempt, &run, model);
    r = nnt_attempt_compile(&attempt);
    if (r == OK)
        r = execute_within(&attempt, 0, &first_ns);
    if (r == OK)
        r = execute_within(&attempt, 0, &took_ns);
    if (r != OK)
        first_ns = took_ns = is_exhausted(r) || nnt_attempt_is_unsupported(&attempt)
                                 ? 0
                                 : CTS_LONG_FAILED;
    snprintf(search->why, sizeof(search->why), "%s", run.what);
    nnt_attempt_done(&attempt);
    return took_ns < first_ns ? took_ns : first_ns;
}

/* -- what is checked, of one compiled model -- */

static uint64_t shortest(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static void check_end(struct cts *cts, struct nnt_attempt *attempt, uint64_t whole_ns)
{
    uint64_t timeout_ns = whole_ns / 8, took_ns = UINT64_MAX, one_ns;
    bool is_right = true;
    char why[200];
    int r = OK;

    if (!cts_wants(cts, "a long execution ends at its deadline"))
        return;
    for (int i = 0; is_right && i < N_TRIES; i++) {
        cts_go_on(cts);
        r = execute_within(attempt, timeout_ns, &one_ns);
        is_right = is_missed(r) || one_ns < timeout_ns; /* the machine may have become faster */
        took_ns = shortest(took_ns, one_ns);
    }
    for (int i = 0; i < N_TRIES && execute_within(attempt, 0, &one_ns) == OK; i++) {
        cts_go_on(cts);
        whole_ns = shortest(whole_ns, one_ns);
    }
    snprintf(why, sizeof(why),
             "with a deadline of %.1f ms it ended with result %d after %.1f ms; it takes %.1f ms",
             (double)timeout_ns / 1e6, r, (double)took_ns / 1e6, (double)whole_ns / 1e6);
    cts_expect(cts, is_right && took_ns < whole_ns / 2, why);
}

static void check_passed(struct cts *cts, struct nnt_attempt *attempt)
{
    uint64_t took_ns;
    int r;

    if (!cts_wants(cts, "an execution whose deadline has passed is not successful"))
        return;
    r = execute_within(attempt, 1, &took_ns);
    cts_expect(cts, is_missed(r), "it did not miss its deadline");
}

static void check_compilation(struct cts *cts, const struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_SYNC);
    struct nnt_attempt attempt;
    int r;

    if (!cts_wants(cts, "a compilation whose deadline has passed is not successful"))
        return;
    run.timeout_ns = 1;
    nnt_attempt_init(&attempt, &run, model);
    r = nnt_attempt_compile(&attempt);
    cts_expect(cts, is_missed(r), run.what[0] ? run.what : "it was successful");
    nnt_attempt_done(&attempt);
}

static void check_afterwards(struct cts *cts, struct nnt_attempt *attempt)
{
    uint64_t took_ns;

    if (cts_wants(cts, "after missed deadlines the model computes"))
        cts_expect(cts, execute_within(attempt, 0, &took_ns) == OK, attempt->run->what);
}

static void check_fenced(struct cts *cts, const struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_FENCED);
    struct nnt_attempt attempt;
    bool is_right;

    if (!cts_wants(cts, "a long model computes between fences, after missed deadlines"))
        return;
    nnt_attempt_init(&attempt, &run, model);
    is_right = nnt_attempt_compile(&attempt) == OK && nnt_attempt_execute(&attempt) == OK;
    cts_expect(cts, is_right, run.what);
    nnt_attempt_done(&attempt);
}

static void check_all(struct cts *cts, const struct nnt_model *model, uint64_t whole_ns)
{
    struct nnt_run run = cts_run(cts, NNT_SYNC);
    struct nnt_attempt attempt;

    check_compilation(cts, model);
    nnt_attempt_init(&attempt, &run, model);
    if (nnt_attempt_compile(&attempt) == OK) {
        check_passed(cts, &attempt);
        check_end(cts, &attempt, whole_ns);
        check_afterwards(cts, &attempt);
    } else if (cts_wants(cts, "a long model is compiled, after a missed deadline")) {
        cts_say(cts, NNT_FAILED, run.what);
    }
    nnt_attempt_done(&attempt);
    check_fenced(cts, model);
}

void cts_deadlines(struct cts *cts)
{
    struct long_search search = {.cts = cts};
    struct cts_long_model made;
    uint64_t whole_ns = cts_long_model_find(&made, time_of, &search);

    if (whole_ns == 0 || whole_ns == CTS_LONG_FAILED)
        cts_long_model_say(cts, whole_ns, search.why);
    else
        check_all(cts, &made.model, whole_ns);
    cts_long_model_free(&made);
}
