/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/chain.h"

#include "base/error.h"
#include "base/fence.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "hal/proxy.h"
#include "runtime/registry.h"

#include <stdlib.h>

#define WATCH_NS UINT64_C(1000000000)

/* One look at all that has to end first. */
struct chain_look {
    uint64_t number, now_ns;
    uint64_t next_ns; /* when a deadline passes */
    bool asks;        /* lists the sessions of what may end, each once, with a reference */
    uint32_t n_sessions;
    struct nn_rt_session **sessions;
};

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* As nn_wait_end(), but of a wait that has begun. */
static uint64_t end_of(const struct nn_rt_link *link)
{
    return link->deadline_ns >= NN_WAIT_UNLIMITED - NN_WAIT_GRACE_NS
               ? NN_WAIT_UNLIMITED
               : link->deadline_ns + NN_WAIT_GRACE_NS;
}

/* Short of memory a session is left out: the next look lists it. */
static void list_session(struct chain_look *look, struct nn_rt_session *session)
{
    struct nn_rt_session **sessions;

    for (uint32_t i = 0; i < look->n_sessions; i++)
        if (look->sessions[i] == session)
            return;
    sessions = realloc(look->sessions, (look->n_sessions + 1) * sizeof(struct nn_rt_session *));
    if (!sessions)
        return;
    look->sessions = sessions;
    sessions[look->n_sessions++] = nn_rt_session_ref(session);
}

static bool can_end(const struct nn_rt_link *link, struct chain_look *look)
{
    uint64_t end_ns = end_of(link);

    if (link->is_given_up)
        return false;
    if (!link->session->is_wire)
        return true;
    look->next_ns = earlier(look->next_ns, end_ns);
    if (look->now_ns >= end_ns || !nn_rt_session_is_alive(link->session))
        return false;
    if (look->asks)
        list_session(look, link->session);
    return true;
}

/* Forward: dependencies have dependencies. The application's own fences have none, and nothing to ask. */
static bool look_before(struct nn_rt_link *link, struct chain_look *look);

static bool look_at(struct nn_rt_link *link, struct chain_look *look)
{
    if (!link->session || link->looked_at == look->number ||
        nn_fence_check(link->fence_fd) != NN_FENCE_E_ACTIVE)
        return true;
    link->looked_at = look->number;
    return can_end(link, look) && look_before(link, look);
}

static bool look_before(struct nn_rt_link *link, struct chain_look *look)
{
    if (link->inner && !look_at(link->inner, look))
        return false;
    for (uint32_t i = 0; i < link->before.n; i++)
        if (!look_at(link->before.links[i], look))
            return false;
    return true;
}

/* Returns: whether the link was not given up, and all that has to end before it may end. */
static bool look_around(struct nn_rt_link *link, struct chain_look *look)
{
    struct nn_rt_chains *chains = nn_rt_registry_get()->chains;
    bool can_begin;

    look->now_ns = nn_sys_now_ns();
    look->next_ns = NN_WAIT_UNLIMITED;
    pthread_mutex_lock(&chains->lock);
    look->number = ++chains->n_looks;
    can_begin = !link->is_given_up && look_before(link, look);
    pthread_mutex_unlock(&chains->lock);
    return can_begin;
}

/* The processes of all that has to end before: a session that is gone is dead then. Not under the lock of
 * all chains: what is found is logged. */
static void ask_around(struct nn_rt_link *link)
{
    struct chain_look look = {.asks = true};

    look_around(link, &look);
    for (uint32_t i = 0; i < look.n_sessions; i++) {
        if (!nn_hal_proxy_watch(look.sessions[i]->hal))
            nn_rt_session_check_status(look.sessions[i], NNHAL_DEAD_OBJECT);
        nn_rt_session_unref(look.sessions[i]);
    }
    free(look.sessions);
}

/* Of its own process, which is another one. Returns: WELL: the wait may go on. */
static enum nn_rt_fenced_end look_at_own(const struct nn_rt_session *session, uint64_t end_ns)
{
    if (nn_sys_now_ns() < end_ns)
        return nn_hal_proxy_watch(session->hal) ? NN_RT_FENCED_WELL : NN_RT_FENCED_DEAD;
    nn_hal_proxy_leave_late(session->hal);
    return NN_RT_FENCED_LATE;
}

enum nn_rt_fenced_end nn_rt_chain_wait(struct nn_rt_link *link, uint64_t limit_ns)
{
    const struct nn_rt_session *session = link->session;
    uint64_t end_ns = nn_wait_end(session->is_wire ? link->deadline_ns : NNHAL_NO_TIME);
    struct chain_look look = {.asks = false};
    enum nn_rt_fenced_end own = NN_RT_FENCED_WELL;
    bool can_begin = look_around(link, &look);

    for (;;) {
        uint64_t look_ns = earlier(nn_sys_now_ns() + WATCH_NS, look.next_ns);
        int r = nn_fence_wait(link->fence_fd,
                              can_begin ? earlier(earlier(look_ns, end_ns), limit_ns) : 0);

        if (r != NN_FENCE_E_ACTIVE)
            return r == 0 ? NN_RT_FENCED_WELL : NN_RT_FENCED_FAILED;
        if (!can_begin)
            return NN_RT_FENCED_LEFT;
        if (nn_sys_now_ns() >= limit_ns)
            return NN_RT_FENCED_LIMIT;
        if (session->is_wire)
            own = look_at_own(session, end_ns);
        if (own != NN_RT_FENCED_WELL)
            return own;
        ask_around(link);
        can_begin = look_around(link, &look);
    }
}

enum nn_rt_fenced_end nn_rt_links_look(const struct nn_rt_links *links)
{
    enum nn_rt_fenced_end end = NN_RT_FENCED_WELL;

    for (uint32_t i = 0; i < links->n; i++) {
        int r = nn_fence_check(links->links[i]->fence_fd);

        if (r && r != NN_FENCE_E_ACTIVE)
            return NN_RT_FENCED_FAILED;
        if (r)
            end = NN_RT_FENCED_LEFT;
    }
    return end;
}

struct nn_rt_links nn_rt_chain_detach(struct nn_rt_link *link, bool is_given_up)
{
    struct nn_rt_chains *chains = nn_rt_registry_get()->chains;
    struct nn_rt_links before;

    pthread_mutex_lock(&chains->lock);
    before = link->before;
    for (struct nn_rt_link *part = link; part; part = part->inner)
        part->before = (struct nn_rt_links){0};
    link->is_given_up = is_given_up;
    pthread_mutex_unlock(&chains->lock);
    return before;
}
