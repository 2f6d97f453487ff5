/* SPDX-License-Identifier: Apache-2.0 */
/* fenced.c - the path "fenced": executions that begin and end by fences
 *
 * All arguments lie in shared memory. The model is executed twice, the second time when the fence of
 * the first has signalled: both are launched before either is waited for. */
#include "path.h"

#define OK ANEURALNETWORKS_NO_ERROR

static int start(struct nnt_attempt *attempt, ANeuralNetworksExecution *execution,
                 const ANeuralNetworksEvent *after, ANeuralNetworksEvent **ret_event)
{
    return nnt_check_call(attempt, "Execution_startComputeWithDependencies", after != NULL,
                          ANeuralNetworksExecution_startComputeWithDependencies(
                              execution, &after, after != NULL, 0, ret_event));
}

/* Where the second failed, the first says why if it failed, too. */
static int wait_for_both(struct nnt_attempt *attempt, ANeuralNetworksEvent *first,
                         ANeuralNetworksEvent *second)
{
    int r = nnt_check_call(attempt, "Event_wait", 1, ANeuralNetworksEvent_wait(second));
    int r_first = ANeuralNetworksEvent_wait(first);

    return r_first == OK ? r : nnt_check_call(attempt, "Event_wait", 0, r_first);
}

static int run_both(struct nnt_attempt *attempt, ANeuralNetworksExecution *first)
{
    ANeuralNetworksEvent *events[2] = {NULL, NULL};
    int r = start(attempt, first, NULL, &events[0]);

    if (r == OK)
        r = start(attempt, attempt->execution, events[0], &events[1]);
    if (r == OK)
        r = wait_for_both(attempt, events[0], events[1]);
    ANeuralNetworksEvent_free(events[1]);
    ANeuralNetworksEvent_free(events[0]);
    return r;
}

static int bind_first(struct nnt_attempt *attempt, ANeuralNetworksExecution *first)
{
    ANeuralNetworksExecution *second = attempt->execution;
    int r;

    attempt->execution = first;
    r = nnt_shared_bind(attempt);
    attempt->execution = second;
    return r;
}

int nnt_fenced_run(struct nnt_attempt *attempt)
{
    ANeuralNetworksExecution *first = NULL;
    int r = nnt_create_execution(attempt, &first);

    if (r == OK)
        r = bind_first(attempt, first);
    if (r == OK)
        r = run_both(attempt, first);
    ANeuralNetworksExecution_free(first);
    return r;
}
