/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - waiting for a computation that begins when others have ended
 *
 * A fenced computation (fenced.h) waits for the fences of its dependencies in its device, which
 * knows nothing of their processes: if one of them is stopped, its fence stays as it is and nothing
 * tells. So who waits for the end of a chain asks all that has to end before: each
 * process whether it is there, once a second, and each deadline whether it has passed. What was
 * given up so will not begin, and neither will what depends on it.
 *
 * A link refers to what is before it until it has ended. Of a computation in parts
 * (partition/fence-line.h) the link is that of the last one, and those before it are its inner ones, which
 * go with it. Threads: any. */
#ifndef NN_RUNTIME_EXECUTION_CHAIN_H
#define NN_RUNTIME_EXECUTION_CHAIN_H

#include "runtime/execution/fenced.h"
#include "runtime/session.h"

struct nn_rt_links {
    uint32_t n;
    struct nn_rt_link **links;
};

/* A computation, or a fence, as others wait for it. */
struct nn_rt_link {
    int fence_fd;                  /* -1: a computation by a thread of ours */
    struct nn_rt_session *session; /* of a fenced computation; NULL: none */
    uint64_t deadline_ns;          /* from the call; NNHAL_NO_TIME: none */
    struct nn_rt_links before;     /* what it waits for, until it has ended */
    struct nn_rt_link *inner;      /* the part before it of the same computation; NULL: none */
    uint64_t looked_at;            /* chain.c's: by which look last */
    bool is_given_up;              /* it has ended, though its fence may not tell so */
};

/* nn_rt_chain_wait() - blocks until a fenced computation has ended, or will not: 50 ms after its
 * deadline, while its process answers, while what it depends on may end, and until limit_ns at most. In
 * this process a deadline is the driver's alone. link has a fence and a session. Any number of threads.
 * Returns: WELL, FAILED: at once where the fence has told; LEFT: what
 * is before it was given up, or, at once, itself by nn_rt_chain_detach(); DEAD; LATE; LIMIT. */
enum nn_rt_fenced_end nn_rt_chain_wait(struct nn_rt_link *link, uint64_t limit_ns);

/* nn_rt_links_look() - how what something waits for has ended, by its fences. Returns: WELL; FAILED: one has
 * failed; LEFT: none has, but some have not ended. */
enum nn_rt_fenced_end nn_rt_links_look(const struct nn_rt_links *links);

/* nn_rt_chain_detach() - that a fenced computation has ended; is_given_up: its fence may not tell so.
 * With its inner links; once; does not block on a process. Returns: what it waited for, whose references
 * are the caller's. */
struct nn_rt_links nn_rt_chain_detach(struct nn_rt_link *link, bool is_given_up);

#endif
