/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/chain.h"

#include "base/fence.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "hal/proxy.h"

#include <pthread.h>

#define WATCH_NS UINT64_C(1000000000)

/* Of all links: what is before them, and what a look leaves in them. */
static pthread_mutex_t chain_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t n_looks;

/* One look at all that has to end first. */
struct chain_look {
    uint64_t number, now_ns;
    uint64_t next_ns; /* when a deadline passes */
    bool asks;        /* the processes, too */
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

static bool can_end(const struct nn_rt_link *link, struct chain_look *look)
{
    uint64_t end_ns = end_of(link);

    if (link->is_given_up)
        return false;
    if (!link->session->is_wire)
        return true;
    look->next_ns = earlier(look->next_ns, end_ns);
    return look->now_ns < end_ns && (!look->asks || nn_hal_proxy_watch(link->session->hal));
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
    for (uint32_t i = 0; i < link->before.n; i++)
        if (!look_at(link->before.links[i], look))
            return false;
    return true;
}

/* Returns: whether it was not given up, and all that has to end before may end; *ret_next_ns: when that
 * changes. */
static bool look_around(struct nn_rt_link *link, bool asks, uint64_t *ret_next_ns)
{
    struct chain_look look = {
        .now_ns = nn_sys_now_ns(), .next_ns = NN_WAIT_UNLIMITED, .asks = asks};
    bool can_begin;

    pthread_mutex_lock(&chain_lock);
    look.number = ++n_looks;
    can_begin = !link->is_given_up && look_before(link, &look);
    pthread_mutex_unlock(&chain_lock);
    *ret_next_ns = look.next_ns;
    return can_begin;
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
    uint64_t end_ns = nn_wait_end(session->is_wire ? link->deadline_ns : NNHAL_NO_TIME), next_ns;
    enum nn_rt_fenced_end own = NN_RT_FENCED_WELL;
    bool can_begin = look_around(link, false, &next_ns);

    for (;;) {
        uint64_t look_ns = earlier(nn_sys_now_ns() + WATCH_NS, next_ns);
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
        can_begin = look_around(link, true, &next_ns);
    }
}

struct nn_rt_links nn_rt_chain_detach(struct nn_rt_link *link, bool is_given_up)
{
    struct nn_rt_links before;

    pthread_mutex_lock(&chain_lock);
    before = link->before;
    link->before = (struct nn_rt_links){0};
    link->is_given_up = is_given_up;
    pthread_mutex_unlock(&chain_lock);
    return before;
}
