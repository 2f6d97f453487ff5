/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/peer.h"

#include "base/error.h"
#include "ipc/sock.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
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

struct nn_peer {
    int fd, events_fd, wake_fd;
    pthread_mutex_t lock;
    bool has_ended;
    struct queue queues[2]; /* of calls, of events */
};

/* -- queues; under the lock --------------------------------------------------------- */

static struct queued *queued_free(struct queued *queued)
{
    for (size_t i = 0; i < queued->n_fds; i++)
        closep(&queued->fds[i]);
    free(queued);
    return NULL;
}

static void queue_clear(struct queue *queue)
{
    while (queue->first) {
        struct queued *next = queue->first->next;

        queued_free(queue->first);
        queue->first = next;
    }
    *queue = (struct queue){.last = &queue->first};
}

static int queue_add(struct queue *queue, struct nn_packet_header header,
                     const struct nn_packet_out *out)
{
    struct queued *queued;

    /* A single message may exceed the limit of bytes: its size is bounded by the wire, and
     * refusing it would drop a client that has broken no rule. */
    if (queue->n_packets >= NN_PEER_MAX_QUEUED_PACKETS ||
        (queue->n_packets > 0 && queue->n_bytes + out->n_body_bytes > NN_PEER_MAX_QUEUED_BYTES))
        return NN_PEER_E_FULL;
    queued = calloc(1, sizeof(*queued) + out->n_body_bytes);
    if (!queued)
        return nn_error_origin(-ENOMEM);
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

            queued_free(queued);
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

static void queue_drop_first(struct queue *queue)
{
    struct queued *first = queue->first;

    queue->first = first->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->n_packets--;
    queue->n_bytes -= first->n_body_bytes;
    queued_free(first);
}

/* -- the peer -------------------------------------------------------------------------- */

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
    queue_clear(&peer->queues[0]);
    queue_clear(&peer->queues[1]);
    *ret_peer = peer;
    return 0;
}

struct nn_peer *nn_peer_free(struct nn_peer *peer)
{
    if (!peer)
        return NULL;
    queue_clear(&peer->queues[0]);
    queue_clear(&peer->queues[1]);
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
}

static void peer_wake_loop(const struct nn_peer *peer)
{
    uint64_t one = 1;

    while (write(peer->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

/* Sends at once if nothing is queued before it; under the lock. */
static int send_or_queue(struct nn_peer *peer, bool is_event, struct nn_packet_header header,
                         const struct nn_packet_out *out)
{
    struct queue *queue = &peer->queues[is_event];
    int r = NN_PACKET_E_AGAIN;

    if (!queue->first)
        r = nn_packet_send(is_event ? peer->events_fd : peer->fd, header, out, true);
    switch (r) {
    case NN_PACKET_E_AGAIN:
        r = queue_add(queue, header, out);
        /* The loop is in poll() and asks for POLLOUT only when it has looked at the queue
         * again. */
        peer_wake_loop(peer);
        if (r == NN_PEER_E_FULL)
            peer_shut_down(peer);
        return r;
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
        int r = nn_packet_send(is_event ? peer->events_fd : peer->fd, queue->first->header, &out,
                               true);

        if (r == NN_PACKET_E_AGAIN)
            return 0;
        if (r != 0)
            return r > 0 ? NN_PEER_E_ENDED : nn_error_trace(r);
        queue_drop_first(queue);
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
    peer_wake_loop(peer);
}

bool nn_peer_has_ended(struct nn_peer *peer)
{
    bool has_ended;

    pthread_mutex_lock(&peer->lock);
    has_ended = peer->has_ended;
    pthread_mutex_unlock(&peer->lock);
    return has_ended;
}
