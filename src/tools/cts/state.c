/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - what a prepared model must not keep: anything of an execution
 *
 * Other inputs come first, or at the same time on other threads; the results for the right inputs must
 * be right all the same. What comes out for the others is not known, and not looked at. */
#include "change.h"
#include "cts.h"

#include <pthread.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum { N_THREADS = 4, N_TURNS = 8 };

static bool is_right_with(struct nnt_attempt *attempt, const struct nnt_model *model)
{
    return nnt_attempt_execute_with(attempt, model) == OK && nnt_attempt_check(attempt);
}

/* -- one after the other -- */

static void try_after_others(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_SYNC);
    const struct nnt_model *other = cts_change_inputs(file, model);
    struct nnt_attempt attempt;
    enum nnt_outcome outcome;

    if (!other || !cts_wants(cts, "%s after other inputs", model->name))
        return;
    nnt_attempt_init(&attempt, &run, model);
    if (nnt_attempt_compile(&attempt) != OK) {
        outcome = cts_end_of(&attempt);
    } else {
        nnt_attempt_execute_with(&attempt, other);
        outcome = is_right_with(&attempt, model) ? NNT_PASSED : cts_end_of(&attempt);
    }
    cts_say(cts, outcome, run.what);
    nnt_attempt_done(&attempt);
}

/* -- at the same time -- */

struct contender {
    struct nnt_attempt attempt; /* the compilation of all, executions of its own */
    struct nnt_run run;
    const struct nnt_model *model;
    bool is_checked;
    bool is_right;
    pthread_t thread;
};

static void *take_turns(void *argument)
{
    struct contender *turn = argument;

    turn->is_right = true;
    for (unsigned i = 0; turn->is_right && i < N_TURNS; i++)
        if (turn->is_checked)
            turn->is_right = is_right_with(&turn->attempt, turn->model);
        else
            nnt_attempt_execute_with(&turn->attempt, turn->model);
    nnt_attempt_forget(&turn->attempt);
    return NULL;
}

/* Every second thread has the other inputs. Returns: whether all that were checked were right. */
static bool run_beside(struct nnt_attempt *attempt, const struct nnt_model *other)
{
    struct contender turns[N_THREADS];
    unsigned n = 0;
    bool is_right = true;

    for (; n < N_THREADS; n++) {
        turns[n] = (struct contender){
            .attempt = *attempt, .run = *attempt->run, .is_checked = n % 2 == 0};
        turns[n].attempt.run = &turns[n].run;
        turns[n].model = turns[n].is_checked ? attempt->model : other;
        if (pthread_create(&turns[n].thread, NULL, take_turns, &turns[n]) != 0)
            break;
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(turns[i].thread, NULL);
        if (is_right && !turns[i].is_right)
            nnt_report(attempt->run, "beside other inputs: %s", turns[i].run.what);
        is_right &= turns[i].is_right;
    }
    return is_right && (n == N_THREADS || nnt_report(attempt->run, "a thread cannot be started"));
}

static void try_beside_others(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_run run = cts_run(cts, NNT_SYNC);
    const struct nnt_model *other = cts_change_inputs(file, model);
    struct nnt_attempt attempt;
    enum nnt_outcome outcome;

    if (!other || !cts_wants(cts, "%s beside other inputs", model->name))
        return;
    nnt_attempt_init(&attempt, &run, model);
    if (nnt_attempt_compile(&attempt) == OK && run_beside(&attempt, other))
        outcome = NNT_PASSED;
    else
        outcome = cts_end_of(&attempt);
    cts_say(cts, outcome, run.what);
    nnt_attempt_done(&attempt);
}

void cts_state(struct cts *cts)
{
    cts_each_model(cts, 1, CTS_PER_OPERATION, try_after_others);
    cts_each_model(cts, 2, CTS_PER_OPERATION, try_beside_others);
}
