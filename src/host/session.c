/* SPDX-License-Identifier: Apache-2.0 */
#include "host/session.h"

bool nn_host_session_enter(struct nn_host_session *session)
{
    /* Sequentially consistent, as is the store in nn_host_session_cancel():
     * a caller that enters after it sees the flag, and one that does not see it is
     * counted before the session's end looks. */
    __atomic_add_fetch(&session->n_uses, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&session->is_cancelled, __ATOMIC_SEQ_CST))
        return true;
    nn_host_session_leave(session);
    return false;
}

void nn_host_session_leave(struct nn_host_session *session)
{
    if (__atomic_sub_fetch(&session->n_uses, 1, __ATOMIC_ACQ_REL) == 0)
        sem_post(&session->idle);
}
