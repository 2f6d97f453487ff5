/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/packet.h"

#include "base/error.h"
#include "base/sys.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BODY_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

enum {
    MAX_PASSED = NN_PACKET_MAX_FDS + 1, /* with a sealed body's */
};

_Static_assert(sizeof(struct nn_packet_header) == 32, "the header is what crosses the wire");

/* Room for the descriptors of one packet. */
union packet_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * MAX_PASSED)];
};

void nn_packet_done(struct nn_packet *packet)
{
    free(packet->body);
    packet->body = NULL;
    if (packet->has_unread)
        closep(&packet->body_fd);
    packet->has_unread = false;
    for (uint32_t i = 0; i < packet->header.n_fds; i++)
        closep(&packet->fds[i]);
    packet->header.n_fds = 0;
}

/* -- sending ------------------------------------------------------------------ */

static int write_all(int fd, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return nn_error_origin(n < 0 ? -errno : -EIO);
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

/* The body in a memfd that is sealed against any change. */
static int seal_body(const struct nn_packet_out *out, int *ret_fd)
{
    _cleanup_(closep) int fd = nn_sys_memfd_create("nnhal-message", true);
    int r;

    if (fd < 0)
        return nn_error_trace(fd);
    r = write_all(fd, out->body, out->n_body_bytes);
    if (r < 0)
        return nn_error_trace(r);
    /* Complete before it is sent: the receiver refuses a body that could change between its
     * check and its copy. */
    if (fcntl(fd, F_ADD_SEALS, BODY_SEALS | F_SEAL_SEAL) < 0)
        return nn_error_origin(-errno);
    *ret_fd = steal_fd(&fd);
    return 0;
}

static void put_fds(struct msghdr *message, union packet_control *control, const int *fds,
                    size_t n_fds)
{
    struct cmsghdr *cmsg;

    if (n_fds == 0)
        return;
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
    cmsg = CMSG_FIRSTHDR(message);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
    memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n_fds);
}

static int send_result(ssize_t n)
{
    switch (n) {
    case -EAGAIN:
        return NN_PACKET_E_AGAIN;
    case -EPIPE:
    case -ECONNRESET:
    case -ENOTCONN:
        return NN_PACKET_E_CLOSED;
    case -EMSGSIZE:
        return NN_PACKET_E_TOO_BIG;
    default:
        return n < 0 ? nn_error_trace((int)n) : 0;
    }
}

int nn_packet_send(int fd, struct nn_packet_header header, const struct nn_packet_out *out,
                   bool is_nonblocking)
{
    union packet_control control = {0};
    _cleanup_(closep) int body_fd = -1;
    struct iovec parts[2] = {{.iov_base = &header, .iov_len = sizeof(header)}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
    int fds[MAX_PASSED];
    size_t n_fds = 0;
    int r;

    if (out->n_body_bytes > NN_PACKET_MAX_BODY_BYTES || out->n_fds > NN_PACKET_MAX_FDS)
        return NN_PACKET_E_TOO_BIG;
    header.n_body_bytes = out->n_body_bytes;
    header.n_fds = (uint32_t)out->n_fds;
    header.flags = 0;
    if (out->n_body_bytes > NN_PACKET_MAX_INLINE_BYTES) {
        r = seal_body(out, &body_fd);
        if (r < 0)
            return nn_error_trace(r);
        header.flags = NN_PACKET_SEALED;
        fds[n_fds++] = body_fd;
    } else if (out->n_body_bytes > 0) {
        parts[1].iov_base = (void *)(uintptr_t)out->body;
        parts[1].iov_len = out->n_body_bytes;
        message.msg_iovlen = 2;
    }
    if (out->n_fds > 0)
        memcpy(fds + n_fds, out->fds, sizeof(int) * out->n_fds);
    put_fds(&message, &control, fds, n_fds + out->n_fds);
    return send_result(nn_sys_sendmsg(fd, &message, is_nonblocking ? MSG_DONTWAIT : 0));
}

/* -- receiving ----------------------------------------------------------------- */

/* A packet as it came, before it is judged. Owns its fds and its bytes. */
struct raw {
    struct nn_packet_header header;
    uint8_t *bytes; /* NN_PACKET_MAX_INLINE_BYTES of them, n_bytes used */
    size_t n_bytes; /* with the header */
    bool is_cut;
    int fds[MAX_PASSED];
    size_t n_fds;
};

static void raw_done(struct raw *raw)
{
    free(raw->bytes);
    for (size_t i = 0; i < raw->n_fds; i++)
        closep(&raw->fds[i]);
}

static void take_fds(struct raw *raw, struct msghdr *message)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); cmsg; cmsg = CMSG_NXTHDR(message, cmsg)) {
        size_t n;

        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
            continue;
        n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        assert(n <= MAX_PASSED - raw->n_fds); /* what controllen leaves room for */
        memcpy(raw->fds + raw->n_fds, CMSG_DATA(cmsg), n * sizeof(int));
        raw->n_fds += n;
    }
}

static int packet_receive(int fd, bool is_nonblocking, struct raw *raw)
{
    union packet_control control;
    struct iovec parts[2] = {{.iov_base = &raw->header, .iov_len = sizeof(raw->header)},
                             {.iov_base = raw->bytes, .iov_len = NN_PACKET_MAX_INLINE_BYTES}};
    struct msghdr message = {
        .msg_iov = parts,
        .msg_iovlen = 2,
        .msg_control = control.bytes,
        /* Not sizeof: the padding at its end would be room for one more. */
        .msg_controllen = CMSG_LEN(sizeof(int) * MAX_PASSED),
    };
    ssize_t n = nn_sys_recvmsg(fd, &message, is_nonblocking ? MSG_DONTWAIT : 0);

    if (n == -EAGAIN)
        return NN_PACKET_E_AGAIN;
    if (n == -ECONNRESET || n == -ENOTCONN)
        return NN_PACKET_E_CLOSED;
    if (n < 0)
        return nn_error_trace((int)n);
    /* Also of a packet that will be refused: the kernel has put them into our table
     * already, and what is not taken would leak. */
    take_fds(raw, &message);
    if (n == 0)
        return NN_PACKET_E_CLOSED;
    raw->n_bytes = (size_t)n;
    raw->is_cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    return 0;
}

/* Whether the header tells the truth about its packet. */
static bool is_consistent(const struct raw *raw, size_t max_body_bytes)
{
    const struct nn_packet_header *header = &raw->header;
    bool is_sealed;

    if (raw->is_cut || raw->n_bytes < sizeof(*header))
        return false;
    is_sealed = (header->flags & NN_PACKET_SEALED) != 0;
    /* n_fds is bounded before anything loops over it: fds[] has room for no more. */
    if (header->type == 0 || header->type >= _NN_PACKET_TYPE_N ||
        (header->flags & ~_NN_PACKET_FLAGS) || header->n_fds > NN_PACKET_MAX_FDS ||
        raw->n_fds != header->n_fds + (size_t)is_sealed)
        return false;
    if (is_sealed)
        return raw->n_bytes == sizeof(*header) &&
               header->n_body_bytes > NN_PACKET_MAX_INLINE_BYTES &&
               header->n_body_bytes <= max_body_bytes;
    return raw->n_bytes - sizeof(*header) == header->n_body_bytes;
}

/* Copies a sealed body. Reading, unlike mapping, costs nothing for holes and
 * cannot fault. */
static int read_body(int fd, size_t n_bytes, uint8_t **ret_body)
{
    _cleanup_(freep) uint8_t *body = NULL;
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & BODY_SEALS) != BODY_SEALS || fstat(fd, &status) < 0 ||
        (uint64_t)status.st_size != n_bytes)
        return NN_PACKET_E_VIOLATION;
    /* Sealed first, then measured: the size cannot change any more. is_consistent() has
     * compared n_bytes with what this receiver allows. */
    body = malloc(n_bytes);
    if (!body)
        return nn_error_origin(-ENOMEM);
    for (size_t at = 0; at < n_bytes;) {
        ssize_t n = pread(fd, body + at, n_bytes - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* sealed, but not to be read: opened for writing only */
            return NN_PACKET_E_VIOLATION;
        at += (size_t)n;
    }
    *ret_body = steal_ptr(&body);
    return 0;
}

/* The inline body without the room that it does not need. */
static uint8_t *fit_body(struct raw *raw)
{
    size_t n_bytes = (size_t)raw->header.n_body_bytes;
    uint8_t *fitting;

    if (n_bytes == 0)
        return NULL;
    /* A request may wait in a queue and is charged with the size of its body: 64 KiB behind
     * each small one would not be paid for. */
    fitting = realloc(raw->bytes, n_bytes);
    if (!fitting)
        return steal_ptr(&raw->bytes);
    raw->bytes = NULL;
    return fitting;
}

/* Of a packet that is none, so that its receiver decides where they are closed. */
static void keep_fds(struct raw *raw, struct nn_packet *packet)
{
    *packet = (struct nn_packet){.has_unread = raw->n_fds > 0};
    if (raw->n_fds == 0)
        return;
    packet->body_fd = steal_fd(&raw->fds[0]);
    packet->header.n_fds = (uint32_t)raw->n_fds - 1;
    for (uint32_t i = 0; i < packet->header.n_fds; i++)
        packet->fds[i] = steal_fd(&raw->fds[1 + i]);
}

int nn_packet_recv_unread(int fd, size_t max_body_bytes, bool is_nonblocking,
                          struct nn_packet *packet)
{
    _cleanup_(raw_done) struct raw raw = {.n_fds = 0};
    size_t first = 0;
    int r;

    raw.bytes = malloc(NN_PACKET_MAX_INLINE_BYTES);
    if (!raw.bytes)
        return nn_error_origin(-ENOMEM);
    r = packet_receive(fd, is_nonblocking, &raw);
    if (r != 0)
        return r;
    if (!is_consistent(&raw, max_body_bytes)) {
        keep_fds(&raw, packet);
        return NN_PACKET_E_VIOLATION;
    }
    packet->header = raw.header;
    packet->has_unread = (raw.header.flags & NN_PACKET_SEALED) != 0;
    packet->body = NULL;
    if (packet->has_unread)
        packet->body_fd = steal_fd(&raw.fds[first++]);
    else
        packet->body = fit_body(&raw);
    for (uint32_t i = 0; i < raw.header.n_fds; i++)
        packet->fds[i] = steal_fd(&raw.fds[first + i]);
    return 0;
}

int nn_packet_read_body(struct nn_packet *packet)
{
    int r;

    if (!packet->has_unread)
        return 0;
    r = read_body(packet->body_fd, (size_t)packet->header.n_body_bytes, &packet->body);
    closep(&packet->body_fd);
    packet->has_unread = false;
    return r;
}

int nn_packet_recv(int fd, size_t max_body_bytes, bool is_nonblocking, struct nn_packet *packet)
{
    int r = nn_packet_recv_unread(fd, max_body_bytes, is_nonblocking, packet);

    if (r == 0)
        r = nn_packet_read_body(packet);
    else if (r != NN_PACKET_E_VIOLATION)
        return r;
    if (r != 0)
        nn_packet_done(packet);
    return r;
}
