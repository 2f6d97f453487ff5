/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/journal.h"
#include "ipc/hello.h"
#include "service/session.h"
#include "shm/guard.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#define ACCEPT_PAUSE_NS UINT64_C(100000000)

enum {
    MAX_MEMORIES_PER_USER = 16384,
    RECEIVED_PART = 8, /* of a user's memory: requests that wait for a worker */
    MIN_WORKERS = 16,
    N_CLOSERS = 4,
    N_OWN_FDS = 2, /* wake, listen */
};

struct nn_service {
    struct nn_service_session_context context;
    int listen_fd;
    bool is_door;     /* listen_fd is one, and no listening socket */
    bool is_stopping; /* atomic */
    uint64_t last_id;
    uint64_t no_accept_before_ns; /* after accept failed; 0: it did not */

    struct nn_service_session **sessions;
    size_t n_sessions;
    struct pollfd *fds; /* wake, listen, then each session's */
};

/* -- beginning and end ------------------------------------------------------------------- */

/* Sessions share the process's descriptors, of which no user gets more than half,
 * and its mappings, of which Linux allows 65530 (vm.max_map_count): no user gets
 * more than a quarter of those. */
static void set_limits(struct nn_service_session_context *context, size_t n_fds)
{
    uint32_t n_memories = n_fds / 2 < MAX_MEMORIES_PER_USER ? (uint32_t)(n_fds / 2)
                                                            : MAX_MEMORIES_PER_USER;

    context->limits = NN_HOST_DEFAULT_LIMITS;
    context->uid_limits = NN_HOST_DEFAULT_LIMITS;
    context->limits.n_memories = n_memories;
    context->uid_limits.n_memories = n_memories;
    /* Two queues each. */
    if (n_fds / 16 < context->limits.n_bursts)
        context->limits.n_bursts = context->uid_limits.n_bursts = (uint32_t)(n_fds / 16);
}

/* As many descriptors as this process may have. */
static size_t raise_fds(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    return limit.rlim_cur < 1 << 20 ? (size_t)limit.rlim_cur : 1 << 20;
}

static size_t received_bytes(const struct nn_host *host)
{
    uint64_t n_bytes = nn_host_user_memory(host) / RECEIVED_PART;

    return n_bytes < NN_SERVICE_MAX_BYTES_PER_USER ? (size_t)n_bytes
                                                   : NN_SERVICE_MAX_BYTES_PER_USER;
}

static int service_start(struct nn_service *service)
{
    struct nn_service_session_context *context = &service->context;
    size_t n_fds = raise_fds(), n_workers = 4 * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    struct nn_service_quota_limits limits = {
        .n_connections = NN_SERVICE_MAX_CONNECTIONS,
        .n_connections_per_user = NN_SERVICE_MAX_CONNECTIONS_PER_USER,
        .n_bytes_per_user = received_bytes(context->host),
        .n_fds_per_user = n_fds / 4 < NN_SERVICE_MAX_FDS_PER_USER ? n_fds / 4
                                                                  : NN_SERVICE_MAX_FDS_PER_USER,
    };
    int r;

    if (n_workers < MIN_WORKERS)
        n_workers = MIN_WORKERS;
    set_limits(context, n_fds);
    service->fds = calloc(N_OWN_FDS + NN_SERVICE_MAX_CONNECTIONS * NN_SESSION_N_FDS,
                          sizeof(*service->fds));
    service->sessions = calloc(NN_SERVICE_MAX_CONNECTIONS, sizeof(struct nn_service_session *));
    if (!service->fds || !service->sessions)
        return nn_error_origin(-ENOMEM);
    context->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (context->wake_fd < 0)
        return nn_error_origin(-errno);
    r = nn_guard_install();
    if (r == 0)
        r = nn_service_quota_new(&limits, &context->quota);
    if (r == 0)
        r = nn_jobs_new("nnhal-call", n_workers,
                        (size_t)NN_SERVICE_MAX_CONNECTIONS * NN_HELLO_MAX_CALLS, &context->workers);
    if (r == 0)
        r = nn_jobs_new("nnhal-close", N_CLOSERS, NN_SERVICE_MAX_CONNECTIONS * 2,
                        &context->closers);
    if (r == 0) {
        /* The slow calls of one user, over any number of connections, leave a quarter of the
         * workers to the others; those of one connection leave some to its user's others. */
        nn_jobs_limit(context->workers, n_workers * 3 / 4, n_workers / 2);
        nn_jobs_limit_low(context->workers, n_workers / 4);
        /* Closing waits for the driver: one user's sessions leave half of the threads. */
        nn_jobs_limit(context->closers, N_CLOSERS / 2, 1);
    }
    return nn_error_trace(r);
}

int nn_service_new(struct nn_host *host, struct nn_service **ret_service)
{
    _cleanup_(nn_service_freep) struct nn_service *service = calloc(1, sizeof(*service));
    int r;

    if (!service)
        return nn_error_origin(-ENOMEM);
    service->listen_fd = -1;
    service->context.wake_fd = -1;
    service->context.host = nn_host_ref(host);
    r = service_start(service);
    if (r < 0)
        return nn_error_trace(r);
    *ret_service = steal_ptr(&service);
    return 0;
}

/* Every session that was ended wakes the loop once more when it is freed. */
static void wait_for_sessions(struct nn_service *service)
{
    struct pollfd wake = {.fd = service->context.wake_fd, .events = POLLIN};

    while (__atomic_load_n(&service->context.n_sessions, __ATOMIC_SEQ_CST) > 0) {
        poll(&wake, 1, -1);
        nn_sys_wake_drain(wake.fd);
    }
}

struct nn_service *nn_service_free(struct nn_service *service)
{
    if (!service)
        return NULL;
    for (size_t i = 0; i < service->n_sessions; i++)
        nn_service_session_end(service->sessions[i]);
    if (service->context.wake_fd >= 0)
        wait_for_sessions(service);
    /* After the sessions: the last reference to one may be held by a call in these pools. */
    nn_jobs_free(service->context.workers);
    nn_jobs_free(service->context.closers);
    nn_service_quota_free(service->context.quota);
    nn_host_unref(service->context.host);
    closep(&service->context.wake_fd);
    closep(&service->listen_fd);
    free(service->sessions);
    free(service->fds);
    free(service);
    return NULL;
}

int nn_service_listen(struct nn_service *service, int fd)
{
    int listens = 0;
    socklen_t n = sizeof(listens);

    closep(&service->listen_fd);
    service->listen_fd = fd;
    service->is_door = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens == 0;
    return nn_error_trace(nn_host_share_cpus(service->context.host));
}

int nn_service_add(struct nn_service *service, const struct nn_arrival *arrival)
{
    struct nn_service_session *session = NULL;
    int r;

    if (service->n_sessions == NN_SERVICE_MAX_CONNECTIONS) {
        closep(&arrival->fd);
        closep(&arrival->pidfd);
        return nn_error_origin(-ECONNREFUSED);
    }
    r = nn_service_session_new(&service->context, arrival, ++service->last_id, &session);
    if (r == NN_SESSION_E_FULL)
        nn_journal_say(nn_host_journal(service->context.host), arrival->client.uid, NN_LOG_WARNING,
                       "refused a client: its user has too many connections (%u)",
                       (unsigned)arrival->client.uid);
    if (r != 0)
        return r > 0 ? nn_error_origin(-ECONNREFUSED) : nn_error_trace(r);
    service->sessions[service->n_sessions++] = session;
    return 0;
}

/* -- the loop -------------------------------------------------------------------------------- */

static int take_arrival(const struct nn_service *service, struct nn_arrival *ret_arrival)
{
    return service->is_door ? nn_door_receive(service->listen_fd, ret_arrival)
                            : nn_door_accept(service->listen_fd, ret_arrival);
}

static void accept_clients(struct nn_service *service, uint64_t now_ns)
{
    struct nn_arrival arrival;
    int r = 0;

    while (service->n_sessions < NN_SERVICE_MAX_CONNECTIONS &&
           (r = take_arrival(service, &arrival)) == 0) {
        service->no_accept_before_ns = 0;
        nn_service_add(service, &arrival);
        if (service->n_sessions == NN_SERVICE_MAX_CONNECTIONS)
            nn_journal_say(nn_host_journal(service->context.host), arrival.client.uid, NN_LOG_INFO,
                           "a limit is reached: %d connections; who comes now waits",
                           NN_SERVICE_MAX_CONNECTIONS);
    }
    if (r >= 0)
        return;
    /* Out of descriptors, most likely: the client stays in the queue. */
    if (service->no_accept_before_ns == 0)
        nn_log("service", NN_LOG_WARNING, "cannot accept: %s", strerror(-r));
    service->no_accept_before_ns = now_ns + ACCEPT_PAUSE_NS;
}

static bool may_accept(const struct nn_service *service, uint64_t now_ns)
{
    return service->n_sessions < NN_SERVICE_MAX_CONNECTIONS &&
           now_ns >= service->no_accept_before_ns;
}

static uint64_t service_earliest_deadline(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Fills the array. Returns when to look again though nothing happened. */
static uint64_t prepare_poll(struct nn_service *service, uint64_t now_ns)
{
    uint64_t deadline_ns = nn_journal_settle(nn_host_journal(service->context.host), now_ns);
    bool accepts = may_accept(service, now_ns);

    service->fds[0] = (struct pollfd){.fd = service->context.wake_fd, .events = POLLIN};
    /* Left out while it is not accepted from: clients that wait in the backlog would make
     * poll return at once, again and again. */
    service->fds[1] = (struct pollfd){.fd = accepts ? service->listen_fd : -1, .events = POLLIN};
    if (now_ns < service->no_accept_before_ns)
        deadline_ns = service_earliest_deadline(deadline_ns, service->no_accept_before_ns);
    for (size_t i = 0; i < service->n_sessions; i++) {
        nn_service_session_poll(service->sessions[i],
                                &service->fds[N_OWN_FDS + i * NN_SESSION_N_FDS]);
        deadline_ns = service_earliest_deadline(deadline_ns,
                                                nn_service_session_deadline(service->sessions[i]));
    }
    return deadline_ns;
}

static void step_sessions(struct nn_service *service, uint64_t now_ns)
{
    size_t n_left = 0;

    for (size_t i = 0; i < service->n_sessions; i++) {
        struct nn_service_session *session = service->sessions[i];

        if (nn_service_session_step(session, &service->fds[N_OWN_FDS + i * NN_SESSION_N_FDS],
                                    now_ns) == 0)
            service->sessions[n_left++] = session;
        else
            nn_service_session_end(session);
    }
    service->n_sessions = n_left;
}

static int timeout_ms(uint64_t deadline_ns, uint64_t now_ns)
{
    if (deadline_ns == NNHAL_NO_TIME)
        return -1;
    /* Rounded up: a poll that ends before the deadline would repeat without waiting until
     * it is reached. */
    return deadline_ns <= now_ns ? 0 : (int)((deadline_ns - now_ns) / 1000000 + 1);
}

static bool is_over(struct nn_service *service)
{
    return __atomic_load_n(&service->is_stopping, __ATOMIC_SEQ_CST) ||
           (service->listen_fd < 0 && service->n_sessions == 0);
}

int nn_service_run(struct nn_service *service)
{
    while (!is_over(service)) {
        uint64_t now_ns = nn_sys_now_ns();
        uint64_t deadline_ns = prepare_poll(service, now_ns);
        size_t n_fds = N_OWN_FDS + service->n_sessions * NN_SESSION_N_FDS;

        if (poll(service->fds, n_fds, timeout_ms(deadline_ns, now_ns)) < 0) {
            if (errno == EINTR)
                continue;
            return nn_error_origin(-errno);
        }
        now_ns = nn_sys_now_ns();
        if (service->fds[0].revents)
            nn_sys_wake_drain(service->context.wake_fd);
        /* Before accepting: a new session has no entry in the array yet. */
        step_sessions(service, now_ns);
        if (service->fds[1].revents)
            accept_clients(service, now_ns);
    }
    return 0;
}

/* Runs in a signal handler. */
void nn_service_stop(struct nn_service *service)
{
    __atomic_store_n(&service->is_stopping, true, __ATOMIC_SEQ_CST);
    nn_sys_wake(service->context.wake_fd);
}
