/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session.h"

#include "base/error.h"
#include "base/meter.h"
#include "base/sanitized.h"
#include "base/sys.h"
#include "codec/codec.h"
#include "hal/stub.h"
#include "host/journal.h"
#include "ipc/peer.h"

#include <malloc.h>
#include <string.h>

#define HELLO_TIMEOUT_NS UINT64_C(30000000000)
#define RENEWAL_NS       UINT64_C(500000000)

enum {
    READS_PER_STEP = 16, /* so that one busy client does not hold the loop */
    KEPT_HEAP_BYTES = 8 << 20,
};

struct nn_service_session {
    struct nn_service_session_context *context;
    uint64_t id;
    unsigned n_refs; /* the loop's, and one per call */
    struct nn_sock_credentials client;
    int pidfd; /* -1: cannot be watched */
    struct nn_peer *peer;
    struct nn_service_quota_user *user;
    struct nn_hello hello; /* what both speak, once it has come */
    struct nn_hal *hal;    /* NULL until then */
    uint64_t hello_deadline_ns;
    uint64_t renewed_ns; /* when the bursts were renewed last */
    uint32_t n_calls;    /* in progress; atomic */
    uint32_t was_named;  /* the line that tells why it was dropped is in the log; atomic */
    struct nn_job close;
};

/* A request on its way to a worker and through it. */
struct call {
    struct nn_job job;
    struct nn_service_session *session;
    struct nn_packet packet;
    size_t n_bytes, n_fds; /* charged */
    uint64_t n_read;       /* charged to the session: a body that was read from a file */
};

/* -- the end ------------------------------------------------------------------------------ */

/* The allocator keeps what lies between blocks of other sessions: without this, what a client
 * made the heap grow by would stay the service's for good. Beside a sanitizer's allocator the C
 * library's is not in use, and asking it is a race to initialize it. */
static void give_heap_back(void)
{
    if (!NN_IS_SANITIZED && mallinfo2().fordblks > KEPT_HEAP_BYTES)
        malloc_trim(0);
}

/* On a closer's thread, or the loop's if that pool has no thread. */
static void close_session(struct nn_job *job)
{
    struct nn_service_session *session = NN_CONTAINER_OF(job, struct nn_service_session, close);
    struct nn_service_session_context *context = session->context;

    if (session->hal)
        nn_journal_say(nn_host_journal(context->host), session->client.uid, NN_LOG_INFO,
                       "client %d of user %u is gone", (int)session->client.pid,
                       (unsigned)session->client.uid);
    session->hal = nn_hal_close(session->hal);
    session->peer = nn_peer_free(session->peer);
    closep(&session->pidfd);
    if (session->user)
        nn_service_quota_leave(session->user);
    free(session);
    give_heap_back();
    __atomic_sub_fetch(&context->n_sessions, 1, __ATOMIC_SEQ_CST);
    nn_sys_wake(context->wake_fd);
}

static void session_unref(struct nn_service_session *session)
{
    if (__atomic_sub_fetch(&session->n_refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    session->close = (struct nn_job){
        .user = session->client.uid,
        .owner = session->id,
        .priority = NN_JOBS_MEDIUM,
        .run = close_session,
        .cancel = close_session,
    };
    /* Closing releases everything that the client has in the device, and waits for ever
     * where one of its files is served by a process that does not answer: the loop does
     * neither itself. */
    if (session->hal && nn_host_may_stall(session->hal) &&
        nn_host_submit_stalling(session->context->host, session->client.uid, &session->close) == 0)
        return;
    if (nn_jobs_submit(session->context->closers, &session->close) != 0)
        close_session(&session->close);
}

/* Drops a client that broke a rule: one line, however many rules it broke. */
static void session_drop(struct nn_service_session *session, const char *why)
{
    if (__atomic_exchange_n(&session->was_named, 1, __ATOMIC_RELAXED) == 0)
        nn_journal_say(nn_host_journal(session->context->host), session->client.uid, NN_LOG_WARNING,
                       "dropped client %d of user %u: %s", (int)session->client.pid,
                       (unsigned)session->client.uid, why);
    nn_peer_end(session->peer);
}

struct nn_service_session *nn_service_session_end(struct nn_service_session *session)
{
    nn_peer_end(session->peer);
    /* With the peer ended first, a call that a worker takes from the queue meanwhile does
     * nothing. */
    nn_jobs_cancel_owner(session->context->workers, session->id);
    if (session->hal)
        nn_host_session_cancel(session->hal);
    session_unref(session);
    return NULL;
}

/* -- calls: the workers' threads ------------------------------------------------------------ */

static void call_free(struct call *call)
{
    struct nn_service_session *session = call->session;

    nn_service_quota_release(session->user, call->n_bytes, call->n_fds);
    nn_packet_done(&call->packet);
    nn_meter_uncharge(session->hal ? nn_host_meter(session->hal) : NULL, call->n_read);
    free(call);
    __atomic_sub_fetch(&session->n_calls, 1, __ATOMIC_SEQ_CST);
    /* Pairs with the loop, which says that it pauses before it counts again. It also says what the
     * journal left out. */
    if (__atomic_exchange_n(&session->context->is_paused, 0, __ATOMIC_SEQ_CST) ||
        nn_journal_owes(nn_host_journal(session->context->host)))
        nn_sys_wake(session->context->wake_fd);
    session_unref(session);
}

static void cancel_call(struct nn_job *job)
{
    call_free(NN_CONTAINER_OF(job, struct call, job));
}

static void send_reply(struct nn_service_session *session, const struct nn_packet_header *request,
                       uint32_t status, const struct nn_codec_buffer *reply)
{
    struct nn_packet_header header = {
        .serial = request->serial,
        .method = request->method,
        .status = status,
        .type = NN_PACKET_REPLY,
    };
    struct nn_packet_out out = {
        .body = reply->bytes,
        .n_body_bytes = reply->n_bytes,
        .fds = reply->fds,
        .n_fds = reply->n_fds,
    };
    int r = nn_peer_send(session->peer, false, header, &out);

    if (r == NN_PEER_E_FULL)
        session_drop(session, "it does not read its replies");
    else if (r < 0)
        session_drop(session, "a reply could not be sent");
}

/* Answers a request, or drops its sender. */
static void session_answer(struct nn_service_session *session, struct nn_packet *packet)
{
    const struct nn_codec_message message = {
        .serial = packet->header.serial,
        .number = packet->header.method,
        .bytes = packet->body,
        .n_bytes = (size_t)packet->header.n_body_bytes,
        .fds = packet->fds,
        .n_fds = packet->header.n_fds,
    };
    struct nn_codec_buffer reply = {.bytes = NULL};
    uint32_t status = NNHAL_GENERAL_FAILURE;
    int r = nn_hal_stub_call(session->hal, session->hello.minor, &message,
                             nn_host_meter(session->hal), &status, &reply);

    packet->header.n_fds = 0; /* the stub closed them */
    if (r == 0)
        send_reply(session, &packet->header, status, &reply);
    else if (r == NN_HAL_STUB_E_VIOLATION)
        session_drop(session, "a request is not of the form of any method");
    else
        session_drop(session, "no memory for its request");
    nn_codec_buffer_close(&reply);
    nn_codec_buffer_done(&reply);
}

/* A body in a file becomes this process's memory when it is read. */
static bool charge_body(struct call *call)
{
    const struct nn_packet *packet = &call->packet;
    uint64_t n_bytes = packet->has_unread ? packet->header.n_body_bytes : 0;

    if (nn_meter_charge(nn_host_meter(call->session->hal), n_bytes) < 0)
        return false;
    call->n_read = n_bytes;
    return true;
}

/* Answers a request that is not even read. */
static void refuse_body(struct call *call)
{
    struct nn_service_session *session = call->session;
    struct nn_codec_buffer reply = {.bytes = NULL};
    char text[NNHAL_MAX_SENTENCE_BYTES + 1];

    nn_host_explain_memory(session->hal, call->packet.header.n_body_bytes, text, sizeof(text));
    nn_journal_say(nn_host_journal(session->context->host), session->client.uid, NN_LOG_INFO,
                   "client %d of user %u: a limit is reached: %s", (int)session->client.pid,
                   (unsigned)session->client.uid, text);
    if (nn_hal_stub_refuse(session->hello.minor, text, &reply) == 0)
        send_reply(session, &call->packet.header, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT, &reply);
    else
        session_drop(session, "no memory for its request");
    nn_codec_buffer_done(&reply);
}

static void run_call(struct nn_job *job)
{
    struct call *call = NN_CONTAINER_OF(job, struct call, job);
    struct nn_service_session *session = call->session;
    int r;

    if (nn_peer_has_ended(session->peer)) {
        /* its turn only frees it */
    } else if (!charge_body(call)) {
        refuse_body(call);
    } else {
        r = nn_packet_read_body(&call->packet);
        if (r == 0)
            session_answer(session, &call->packet);
        else if (r == NN_PACKET_E_VIOLATION)
            session_drop(session, "a packet does not keep the rules of the wire");
        else
            session_drop(session, "no memory for its request");
    }
    call_free(call);
}

/* -- events: the host's threads --------------------------------------------------------------- */

static void send_event(struct nn_service_session *session, uint32_t event, const void *value)
{
    struct nn_packet_header header = {.method = event, .type = NN_PACKET_EVENT};
    struct nn_codec_buffer buffer = {.bytes = NULL};
    struct nn_packet_out out;
    int r = nn_hal_stub_event(session->hello.minor, event, value, &buffer);

    if (r == 0) {
        out = (struct nn_packet_out){.body = buffer.bytes, .n_body_bytes = buffer.n_bytes};
        r = nn_peer_send(session->peer, true, header, &out);
    }
    if (r == NN_PEER_E_FULL)
        session_drop(session, "it does not read its events");
    else if (r < 0)
        session_drop(session, "an event could not be sent");
    nn_codec_buffer_done(&buffer);
}

static void on_cache_written(void *ctx, const struct nn_hal_cache_written_event *event)
{
    send_event(ctx, NN_HAL_EVENT_CACHE_WRITTEN, event);
}

static void on_get_memories(void *ctx, const struct nn_hal_get_memories_event *event)
{
    send_event(ctx, NN_HAL_EVENT_GET_MEMORIES, event);
}

/* -- what was not read ------------------------------------------------------------------------ */

static int charge_unread(void *ctx, size_t n_bytes, size_t n_fds)
{
    struct nn_service_session *session = ctx;
    int r = nn_service_quota_pass(session->user, n_fds);

    if (r < 0)
        return nn_error_trace(r);
    r = nn_meter_charge(nn_host_meter(session->hal), n_bytes);
    if (r < 0)
        nn_service_quota_passed(session->user, n_fds);
    return nn_error_trace(r);
}

static void uncharge_unread(void *ctx, size_t n_bytes, size_t n_fds)
{
    struct nn_service_session *session = ctx;

    nn_meter_uncharge(nn_host_meter(session->hal), n_bytes);
    nn_service_quota_passed(session->user, n_fds);
}

/* -- the loop ------------------------------------------------------------------------------------ */

int nn_service_session_new(struct nn_service_session_context *context,
                           const struct nn_arrival *arrival, uint64_t id,
                           struct nn_service_session **ret_session)
{
    struct nn_service_session *session = calloc(1, sizeof(*session));
    int r;

    if (!session) {
        closep(&arrival->fd);
        closep(&arrival->pidfd);
        return nn_error_origin(-ENOMEM);
    }
    session->context = context;
    session->id = id;
    session->n_refs = 1;
    session->client = arrival->client;
    session->pidfd = arrival->pidfd;
    session->hello_deadline_ns = nn_sys_now_ns() + HELLO_TIMEOUT_NS;
    __atomic_add_fetch(&context->n_sessions, 1, __ATOMIC_SEQ_CST);
    r = nn_peer_new(arrival->fd, context->wake_fd, &session->peer);
    if (r == 0) {
        r = nn_service_quota_enter(context->quota, session->client.uid, &session->user);
        if (r > 0)
            r = NN_SESSION_E_FULL;
    }
    if (r != 0) {
        session_unref(session);
        return r;
    }
    *ret_session = session;
    return 0;
}

static bool may_read(struct nn_service_session *session)
{
    if (!session->hal)
        return true; /* the hello */
    return __atomic_load_n(&session->n_calls, __ATOMIC_SEQ_CST) < session->hello.max_calls &&
           nn_service_quota_may_receive(session->user);
}

void nn_service_session_poll(struct nn_service_session *session, struct pollfd *fds)
{
    bool reads = may_read(session);

    nn_peer_settle(session->peer);
    if (!reads) {
        /* Asked again after the store: a call that ended in between has found 0, and woke
         * nothing. */
        __atomic_store_n(&session->context->is_paused, 1, __ATOMIC_SEQ_CST);
        reads = may_read(session);
    }
    fds[0] = (struct pollfd){
        .fd = nn_peer_fd(session->peer),
        .events = (short)((reads ? POLLIN : 0) |
                          (nn_peer_wants_write(session->peer, false) ? POLLOUT : 0)),
    };
    fds[1] = (struct pollfd){
        .fd = nn_peer_events_fd(session->peer),
        .events = (short)(POLLIN | (nn_peer_wants_write(session->peer, true) ? POLLOUT : 0)),
    };
    fds[2] = (struct pollfd){.fd = session->pidfd, .events = POLLIN};
}

uint64_t nn_service_session_deadline(const struct nn_service_session *session)
{
    return session->hal ? NNHAL_NO_TIME : session->hello_deadline_ns;
}

static int session_greet(struct nn_service_session *session, struct nn_packet *packet)
{
    struct nn_service_session_context *context = session->context;
    struct nn_host_session_options options = {
        .uid = session->client.uid,
        .pid = session->client.pid,
        .is_service = true,
        .limits = context->limits,
        .uid_limits = context->uid_limits,
        .listener =
            {
                .ctx = session,
                .cache_written = on_cache_written,
                .get_memories = on_get_memories,
            },
    };
    int r;

    nn_hello_init(&session->hello, nn_host_driver(context->host)->feature_level);
    r = nn_packet_read_body(packet);
    if (r == 0)
        r = nn_peer_answer_hello(session->peer, packet, &session->hello);
    if (r != 0) {
        session_drop(session, "its hello is not one that this service understands");
        return NN_SESSION_E_ENDED;
    }
    r = nn_host_open_session(context->host, &options, &session->hal);
    if (r != 0) {
        session_drop(session, "no memory for a session");
        return NN_SESSION_E_ENDED;
    }
    nn_peer_charge_to(session->peer,
                      &(struct nn_peer_account){charge_unread, uncharge_unread, session});
    nn_journal_say(nn_host_journal(context->host), session->client.uid, NN_LOG_INFO,
                   "client %d of user %u connected", (int)session->client.pid,
                   (unsigned)session->client.uid);
    return 0;
}

/* Executions have the priority of their model, everything else is in between. */
static enum nn_jobs_priority priority_of(const struct nn_service_session *session,
                                         const struct nn_packet *packet)
{
    const struct nn_codec_message message = {
        .number = packet->header.method,
        .bytes = packet->body,
        .n_bytes = packet->has_unread ? 0 : (size_t)packet->header.n_body_bytes,
    };
    uint64_t prepared_model, execution;

    nn_hal_stub_subject(&message, &prepared_model, &execution);
    return (enum nn_jobs_priority)nn_host_priority(session->hal, prepared_model, execution);
}

static bool is_slow_file(int fd)
{
    struct nn_sys_file file;

    return fd >= 0 && nn_sys_inspect(fd, &file) == 0 && file.kind == NN_SYS_STALLING_FILE;
}

/* Whether what a packet brought is a file whose server may never answer:
 * such are touched, and closed, by threads that its client may lose. */
static bool brings_slow_files(const struct nn_packet *packet)
{
    if (packet->has_unread && is_slow_file(packet->body_fd))
        return true;
    for (uint32_t i = 0; i < packet->header.n_fds; i++)
        if (is_slow_file(packet->fds[i]))
            return true;
    return false;
}

/* Hands a call to the workers, or to the threads that its client may lose. */
static int start_call(struct nn_service_session *session, struct call *call)
{
    if (brings_slow_files(&call->packet) || (session->hal && nn_host_may_stall(session->hal)))
        return nn_host_submit_stalling(session->context->host, session->client.uid, &call->job);
    return nn_jobs_submit(session->context->workers, &call->job);
}

/* Hands a request to the workers. Takes what packet owns. */
static int session_submit(struct nn_service_session *session, struct nn_packet *packet)
{
    struct call *call = calloc(1, sizeof(*call));

    if (!call) {
        nn_packet_done(packet);
        session_drop(session, "no memory for its request");
        return NN_SESSION_E_ENDED;
    }
    call->job = (struct nn_job){
        .user = session->client.uid,
        .owner = session->id,
        .priority = session->hal ? priority_of(session, packet) : NN_JOBS_MEDIUM,
        .run = run_call,
        .cancel = cancel_call,
    };
    call->session = session;
    call->packet = *packet;
    call->n_bytes = (size_t)packet->header.n_body_bytes;
    call->n_fds = packet->header.n_fds;
    /* Counted before it is handed over: a worker may have ended and freed the call before
     * start_call() returns. */
    __atomic_add_fetch(&session->n_refs, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&session->n_calls, 1, __ATOMIC_SEQ_CST);
    nn_service_quota_charge(session->user, call->n_bytes, call->n_fds);
    if (start_call(session, call) == 0)
        return 0;
    call_free(call);
    session_drop(session, "no thread for its request");
    return NN_SESSION_E_ENDED;
}

/* Drops a client for a packet that is not answered, and what it brought. */
static int session_refuse(struct nn_service_session *session, struct nn_packet *packet,
                          const char *why)
{
    session_drop(session, why);
    if (brings_slow_files(packet))
        session_submit(session, packet); /* whose turn finds the connection ended */
    else
        nn_packet_done(packet);
    return NN_SESSION_E_ENDED;
}

static int take_packet(struct nn_service_session *session, struct nn_packet *packet)
{
    int r;

    if (!session->hal) {
        if (brings_slow_files(packet))
            return session_refuse(session, packet, "its hello brought a file");
        r = session_greet(session, packet);
        nn_packet_done(packet);
        return r;
    }
    if (packet->header.type != NN_PACKET_CALL || packet->header.serial == 0)
        return session_refuse(session, packet, "it sent what is no call");
    return session_submit(session, packet);
}

static int read_packets(struct nn_service_session *session)
{
    for (size_t i = 0; i < READS_PER_STEP && may_read(session); i++) {
        /* The first packet, which may be one of these, says what the others may be. */
        uint64_t max_bytes = session->hal ? session->hello.max_body_bytes : NN_PACKET_MAX_BYTES;
        struct nn_packet packet;
        int r = nn_peer_recv(session->peer, (size_t)max_bytes, &packet);

        switch (r) {
        case 0:
            r = take_packet(session, &packet);
            if (r != 0)
                return r;
            break;
        case NN_PACKET_E_AGAIN:
            return 0;
        case NN_PACKET_E_CLOSED:
            return NN_SESSION_E_ENDED;
        case NN_PACKET_E_VIOLATION:
            return session_refuse(session, &packet, "a packet does not keep the rules of the wire");
        default:
            session_drop(session, "a packet could not be received");
            return NN_SESSION_E_ENDED;
        }
    }
    return 0;
}

/* Who asks waits, for a burst perhaps. A client that asks without a pause does not keep the loop
 * busy with that. */
static void renew_bursts(struct nn_service_session *session)
{
    uint64_t now_ns = nn_sys_now_ns();

    if (!session->hal || now_ns - session->renewed_ns < RENEWAL_NS)
        return;
    session->renewed_ns = now_ns;
    nn_host_session_renew_bursts(session->hal);
}

/* On the loop's thread: workers may all be busy. */
static int answer_pings(struct nn_service_session *session)
{
    const struct nn_packet_header pong = {.type = NN_PACKET_PONG};
    const struct nn_packet_out nothing = {.n_fds = 0};

    for (size_t i = 0; i < READS_PER_STEP; i++) {
        struct nn_packet packet;
        int r = nn_peer_recv_ping(session->peer, &packet);
        bool is_ping;

        if (r == NN_PACKET_E_AGAIN)
            return 0;
        if (r != 0 && r != NN_PACKET_E_VIOLATION)
            return NN_SESSION_E_ENDED;
        is_ping = r == 0 && packet.header.type == NN_PACKET_PING && !packet.header.n_fds &&
                  !packet.header.n_body_bytes && session->hello.minor >= NN_HELLO_MINOR_PING;
        if (!is_ping)
            return session_refuse(session, &packet, "it sent something on its events socket");
        nn_packet_done(&packet);
        renew_bursts(session);
        if (nn_peer_send(session->peer, true, pong, &nothing) != 0) {
            session_drop(session, "it does not read its events");
            return NN_SESSION_E_ENDED;
        }
    }
    return 0;
}

int nn_service_session_step(struct nn_service_session *session, const struct pollfd *fds,
                            uint64_t now_ns)
{
    /* The pidfd as well: a forked child of a dead client may keep its sockets open. */
    if (nn_peer_has_ended(session->peer) || fds[2].revents)
        return NN_SESSION_E_ENDED;
    if ((fds[0].revents | fds[1].revents) & POLLOUT && nn_peer_flush(session->peer) != 0)
        return NN_SESSION_E_ENDED;
    if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
        return NN_SESSION_E_ENDED;
    if (fds[1].revents & POLLIN && answer_pings(session) != 0)
        return NN_SESSION_E_ENDED;
    if (fds[0].revents & POLLIN)
        return read_packets(session);
    if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
        return NN_SESSION_E_ENDED;
    if (now_ns >= nn_service_session_deadline(session)) {
        session_drop(session, "it did not say hello");
        return NN_SESSION_E_ENDED;
    }
    return 0;
}
