/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/peer.h"

#include "base/error.h"
#include "base/sys.h"
#include "ipc/sock.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* A message that did not fit the socket. Owns its fds. */
struct queued {
    struct queued *next;
    struct nn_packet_header header;
    size_t n_body_bytes;
    size_t n_fds;
    int fds[NN_PACKET_MAX_FDS];
    uint8_t body[];
};

struct queue {
    struct queued *first, **last;
    size_t n_packets, n_bytes;
};

/* A message in the socket that has descriptors, its body's among them. */
struct passed {
    struct passed *next;
    size_t n_bytes, n_fds;
};

struct passing {
    struct passed *first, **last; /* oldest first */
    size_t n;
};

struct nn_peer {
    int fd, events_fd, wake_fd;
    pthread_mutex_t lock;
    bool has_ended;
    struct queue queues[2]; /* of calls, of events */
    struct passing passing[2];
    struct nn_peer_account account;
};

/* -- the account; under the lock ------------------------------------------------------ */

static int peer_charge(struct nn_peer *peer, size_t n_bytes, size_t n_fds)
{
    return peer->account.charge ? peer->account.charge(peer->account.ctx, n_bytes, n_fds) : 0;
}

static void peer_uncharge(struct nn_peer *peer, size_t n_bytes, size_t n_fds)
{
    if (peer->account.charge)
        peer->account.uncharge(peer->account.ctx, n_bytes, n_fds);
}

/* -- queues; under the lock --------------------------------------------------------- */

static size_t queued_bytes(size_t n_body_bytes)
{
    return sizeof(struct queued) + n_body_bytes;
}

static void queued_free(struct nn_peer *peer, struct queued *queued, size_t n_charged_fds)
{
    peer_uncharge(peer, queued_bytes(queued->n_body_bytes), n_charged_fds);
    for (size_t i = 0; i < queued->n_fds; i++)
        closep(&queued->fds[i]);
    free(queued);
}

static void queue_clear(struct nn_peer *peer, struct queue *queue)
{
    while (queue->first) {
        struct queued *next = queue->first->next;

        queued_free(peer, queue->first, queue->first->n_fds);
        queue->first = next;
    }
    *queue = (struct queue){.last = &queue->first};
}

static int queue_add(struct nn_peer *peer, struct queue *queue, struct nn_packet_header header,
                     const struct nn_packet_out *out)
{
    struct queued *queued;

    /* A single message may exceed the limit of bytes: its size is bounded by the wire, and
     * refusing it would drop a client that has broken no rule. */
    if (queue->n_packets >= NN_PEER_MAX_QUEUED_PACKETS ||
        (queue->n_packets > 0 && queue->n_bytes + out->n_body_bytes > NN_PEER_MAX_QUEUED_BYTES))
        return NN_PEER_E_FULL;
    if (peer_charge(peer, queued_bytes(out->n_body_bytes), out->n_fds) < 0)
        return NN_PEER_E_FULL;
    queued = calloc(1, queued_bytes(out->n_body_bytes));
    if (!queued) {
        peer_uncharge(peer, queued_bytes(out->n_body_bytes), out->n_fds);
        return nn_error_origin(-ENOMEM);
    }
    queued->header = header;
    queued->n_body_bytes = out->n_body_bytes;
    if (out->n_body_bytes > 0)
        memcpy(queued->body, out->body, out->n_body_bytes);
    for (; queued->n_fds < out->n_fds; queued->n_fds++) {
        /* From 3: in a service without standard streams a file must not get the number of
         * one. */
        int fd = fcntl(out->fds[queued->n_fds], F_DUPFD_CLOEXEC, 3);

        if (fd < 0) {
            int r = nn_error_origin(-errno);

            queued_free(peer, queued, out->n_fds);
            return r;
        }
        queued->fds[queued->n_fds] = fd;
    }
    *queue->last = queued;
    queue->last = &queued->next;
    queue->n_packets++;
    queue->n_bytes += out->n_body_bytes;
    return 0;
}

static void queue_drop_first(struct nn_peer *peer, struct queue *queue)
{
    struct queued *first = queue->first;

    queue->first = first->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->n_packets--;
    queue->n_bytes -= first->n_body_bytes;
    queued_free(peer, first, first->n_fds);
}

/* -- what lies in the socket; under the lock ------------------------------------------- */

/* The least that the kernel counts for a packet. */
enum { LEAST_PACKET_BYTES = 512 };

static void passing_drop_first(struct nn_peer *peer, struct passing *passing)
{
    struct passed *first = passing->first;

    passing->first = first->next;
    if (!passing->first)
        passing->last = &passing->first;
    passing->n--;
    peer_uncharge(peer, first->n_bytes, first->n_fds);
    free(first);
}

/* As many packets as what the kernel counts has room for may be unread; older ones were read. */
static void passing_settle(struct nn_peer *peer, bool is_event)
{
    struct passing *passing = &peer->passing[is_event];
    int n_unread_bytes = 0;

    if (!passing->first ||
        nn_sys_ioctl(is_event ? peer->events_fd : peer->fd, SIOCOUTQ, &n_unread_bytes) < 0)
        return;
    while (passing->n > (size_t)n_unread_bytes / LEAST_PACKET_BYTES)
        passing_drop_first(peer, passing);
}

/* Charged, if it has descriptors. Returns: as nn_packet_send(), -EDQUOT. */
static int peer_pass(struct nn_peer *peer, bool is_event, struct nn_packet_header header,
                     const struct nn_packet_out *out)
{
    struct passing *passing = &peer->passing[is_event];
    bool is_sealed = out->n_body_bytes > NN_PACKET_MAX_INLINE_BYTES;
    struct passed *passed = NULL;
    int r;

    if (is_sealed || out->n_fds > 0) {
        passing_settle(peer, is_event);
        passed = calloc(1, sizeof(*passed));
        if (!passed)
            return nn_error_origin(-ENOMEM);
        passed->n_bytes = sizeof(*passed) + (is_sealed ? out->n_body_bytes : 0);
        passed->n_fds = out->n_fds + is_sealed;
        if (peer_charge(peer, passed->n_bytes, passed->n_fds) < 0) {
            free(passed);
            return nn_error_origin(-EDQUOT);
        }
        *passing->last = passed;
    }
    r = nn_packet_send(is_event ? peer->events_fd : peer->fd, header, out, true);
    if (passed && r == 0) {
        passing->last = &passed->next;
        passing->n++;
    } else if (passed) {
        *passing->last = NULL;
        peer_uncharge(peer, passed->n_bytes, passed->n_fds);
        free(passed);
    }
    return r;
}

/* -- the peer -------------------------------------------------------------------------- */

static void peer_clear(struct nn_peer *peer)
{
    for (int i = 0; i < 2; i++) {
        queue_clear(peer, &peer->queues[i]);
        while (peer->passing[i].first)
            passing_drop_first(peer, &peer->passing[i]);
    }
}

int nn_peer_new(int fd, int wake_fd, struct nn_peer **ret_peer)
{
    struct nn_peer *peer = calloc(1, sizeof(*peer));

    if (!peer) {
        closep(&fd);
        return nn_error_origin(-ENOMEM);
    }
    peer->fd = fd;
    peer->events_fd = -1;
    peer->wake_fd = wake_fd;
    pthread_mutex_init(&peer->lock, NULL);
    for (int i = 0; i < 2; i++) {
        peer->queues[i].last = &peer->queues[i].first;
        peer->passing[i].last = &peer->passing[i].first;
    }
    *ret_peer = peer;
    return 0;
}

struct nn_peer *nn_peer_free(struct nn_peer *peer)
{
    if (!peer)
        return NULL;
    peer_clear(peer);
    closep(&peer->fd);
    closep(&peer->events_fd);
    pthread_mutex_destroy(&peer->lock);
    free(peer);
    return NULL;
}

/* Whether fd is what an events socket has to be: an end of a pair that the
 * client's user made. Sending to anything else could reach a stranger. */
static bool is_events_socket(const struct nn_peer *peer, int fd)
{
    struct nn_sock_credentials client, maker;
    int domain = 0, type = 0;
    socklen_t n = sizeof(int), m = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) == 0 && type == SOCK_SEQPACKET &&
           nn_sock_credentials(peer->fd, &client) == 0 && nn_sock_credentials(fd, &maker) == 0 &&
           client.uid == maker.uid;
}

int nn_peer_answer_hello(struct nn_peer *peer, struct nn_packet *packet, struct nn_hello *hello)
{
    struct nn_hello theirs;
    int r = nn_hello_check(packet, 1, &theirs);

    /* A second hello would replace a socket on which other threads may be sending. */
    if (r != 0 || peer->events_fd >= 0 || !is_events_socket(peer, packet->fds[0]))
        return NN_PACKET_E_VIOLATION;
    peer->events_fd = steal_fd(&packet->fds[0]);
    nn_hello_negotiate(hello, &theirs);
    r = nn_hello_send(peer->fd, hello, -1);
    /* The socket was empty: a client that has no room for a hello wants none. */
    return r == NN_PACKET_E_AGAIN ? NN_PACKET_E_VIOLATION : r;
}

int nn_peer_fd(const struct nn_peer *peer)
{
    return peer->fd;
}

int nn_peer_events_fd(const struct nn_peer *peer)
{
    return peer->events_fd;
}

bool nn_peer_wants_write(struct nn_peer *peer, bool is_events)
{
    bool wants;

    pthread_mutex_lock(&peer->lock);
    wants = peer->queues[is_events].first != NULL;
    pthread_mutex_unlock(&peer->lock);
    return wants;
}

int nn_peer_recv(struct nn_peer *peer, size_t max_body_bytes, struct nn_packet *packet)
{
    return nn_packet_recv_unread(peer->fd, max_body_bytes, true, packet);
}

int nn_peer_recv_ping(struct nn_peer *peer, struct nn_packet *packet)
{
    return nn_packet_recv_unread(peer->events_fd, NN_PACKET_MAX_BYTES, true, packet);
}

/* Under the lock. */
static void peer_shut_down(struct nn_peer *peer)
{
    if (peer->has_ended)
        return;
    peer->has_ended = true;
    shutdown(peer->fd, SHUT_RDWR);
    if (peer->events_fd >= 0)
        shutdown(peer->events_fd, SHUT_RDWR);
    peer_clear(peer);
}

void nn_peer_charge_to(struct nn_peer *peer, const struct nn_peer_account *account)
{
    pthread_mutex_lock(&peer->lock);
    peer->account = *account;
    pthread_mutex_unlock(&peer->lock);
}

void nn_peer_settle(struct nn_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    passing_settle(peer, false);
    passing_settle(peer, true);
    pthread_mutex_unlock(&peer->lock);
}

/* Sends at once if nothing is queued before it; under the lock. */
static int send_or_queue(struct nn_peer *peer, bool is_event, struct nn_packet_header header,
                         const struct nn_packet_out *out)
{
    struct queue *queue = &peer->queues[is_event];
    int r = NN_PACKET_E_AGAIN;

    if (!queue->first)
        r = peer_pass(peer, is_event, header, out);
    switch (r) {
    case NN_PACKET_E_AGAIN:
        r = queue_add(peer, queue, header, out);
        /* The loop is in poll() and asks for POLLOUT only when it has looked at the queue
         * again. */
        nn_sys_wake(peer->wake_fd);
        if (r == NN_PEER_E_FULL)
            peer_shut_down(peer);
        return r;
    case -EDQUOT:
        peer_shut_down(peer);
        return NN_PEER_E_FULL;
    case NN_PACKET_E_CLOSED:
        peer_shut_down(peer);
        return NN_PEER_E_ENDED;
    case NN_PACKET_E_TOO_BIG:
        return nn_error_origin(-EMSGSIZE);
    default:
        return nn_error_trace(r);
    }
}

int nn_peer_send(struct nn_peer *peer, bool is_event, struct nn_packet_header header,
                 const struct nn_packet_out *out)
{
    int r = NN_PEER_E_ENDED;

    pthread_mutex_lock(&peer->lock);
    if (!peer->has_ended)
        /* The lock is held while sending, which does not block: otherwise a second thread
         * could send between our failed attempt and our place in the queue. */
        r = send_or_queue(peer, is_event, header, out);
    pthread_mutex_unlock(&peer->lock);
    return r;
}

/* Under the lock. */
static int peer_flush_queue(struct nn_peer *peer, bool is_event)
{
    struct queue *queue = &peer->queues[is_event];

    while (queue->first) {
        struct nn_packet_out out = {
            .body = queue->first->body,
            .n_body_bytes = queue->first->n_body_bytes,
            .fds = queue->first->fds,
            .n_fds = queue->first->n_fds,
        };
        int r = peer_pass(peer, is_event, queue->first->header, &out);

        if (r == NN_PACKET_E_AGAIN)
            return 0;
        /* What is queued is charged until it was sent, and what is sent from before on. */
        if (r == -EDQUOT)
            return NN_PEER_E_FULL;
        if (r != 0)
            return r > 0 ? NN_PEER_E_ENDED : nn_error_trace(r);
        queue_drop_first(peer, queue);
    }
    return 0;
}

int nn_peer_flush(struct nn_peer *peer)
{
    int r = NN_PEER_E_ENDED;

    pthread_mutex_lock(&peer->lock);
    if (!peer->has_ended) {
        r = peer_flush_queue(peer, false);
        if (r == 0)
            r = peer_flush_queue(peer, true);
        /* A message that cannot be sent is lost, and its caller with it. */
        if (r != 0)
            peer_shut_down(peer);
    }
    pthread_mutex_unlock(&peer->lock);
    return r;
}

void nn_peer_end(struct nn_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    peer_shut_down(peer);
    pthread_mutex_unlock(&peer->lock);
    nn_sys_wake(peer->wake_fd);
}

bool nn_peer_has_ended(struct nn_peer *peer)
{
    bool has_ended;

    pthread_mutex_lock(&peer->lock);
    has_ended = peer->has_ended;
    pthread_mutex_unlock(&peer->lock);
    return has_ended;
}
