/* SPDX-License-Identifier: Apache-2.0 */
/* fenced.h - computations that a device starts by itself when fences signal
 *
 * Where every argument lies in a memory and every dependency is a fence, no
 * thread of ours has to stand in between: the device waits, computes, and
 * signals a fence of its own, which other devices and processes can wait for.
 * The result is collected when the application waits for the event; until then
 * the execution counts as being computed. */
#ifndef NN_RUNTIME_EXECUTION_FENCED_H
#define NN_RUNTIME_EXECUTION_FENCED_H

#include "runtime/execution/execution.h"

enum {
    /* It has to be computed by a job: an argument is a pointer, it has parts (partition/fence-line.h may
     * launch those), or the device died, which a job recovers from. */
    NN_RT_FENCED_E_UNSUITED = 100,
};

/* What starts it, and until when. */
struct nn_rt_fenced_request {
    uint32_t n_fences; /* at most NNHAL_MAX_FENCES */
    const int32_t *fences;
    uint64_t deadline_ns; /* from the call; NNHAL_NO_TIME: none */
    uint64_t duration_ns; /* from the last fence; 0: any */
};

/* One that was launched. */
struct nn_rt_fenced {
    uint64_t callback;
    int fence_fd; /* -1: it has ended already */
};

/* nn_rt_fenced_is_in_memories() - whether no argument is a pointer: its bytes would have to be copied in
 * when the fences have signalled, and out afterwards, which takes a thread of ours. */
bool nn_rt_fenced_is_in_memories(const ANeuralNetworksExecution *execution);

/* nn_rt_fenced_launch() - hands an execution, which has begun, to its device. Blocks until the device
 * has taken it, 50 ms after the deadline at most. The fence is the caller's to close.
 * Returns: 0; UNSUITED; MISSED_DEADLINE_TRANSIENT: the device has not answered by the deadline, and may
 * compute it all the same, so that what it writes to counts as uninitialized; what else the device
 * answers; -ENOMEM. */
int nn_rt_fenced_launch(ANeuralNetworksExecution *execution,
                        const struct nn_rt_fenced_request *request, struct nn_why *why,
                        struct nn_rt_fenced *ret_fenced);

/* How a wait for its fence ended. */
enum nn_rt_fenced_end {
    NN_RT_FENCED_WELL,
    NN_RT_FENCED_FAILED, /* the fence says so */
    NN_RT_FENCED_DEAD,   /* its process is gone, or was given up */
    NN_RT_FENCED_LATE,   /* 50 ms after the deadline; a private process was killed */
    NN_RT_FENCED_LEFT,   /* what it depends on was given up: it would not begin */
    NN_RT_FENCED_LIMIT,  /* the caller's limit has passed: it goes on */
};

/* nn_rt_fenced_collect() - asks for result and timing of one for which a wait has ended so; not with
 * LIMIT. Blocks: where the fence has told, its process has until the deadline to answer, and 1 s at
 * least; what does not answer by then has missed it. With LEFT its process is told, 50 ms after the
 * deadline at most. Returns: the result of the computation. */
int nn_rt_fenced_collect(ANeuralNetworksExecution *execution, const struct nn_rt_fenced *fenced,
                         enum nn_rt_fenced_end end, uint64_t deadline_ns, struct nn_why *why);

#endif
