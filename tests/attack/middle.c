/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/middle.h"

#include "attack/grammar.h"
#include "attack/vandal.h"
#include "base/sys.h"
#include "hal/messages.h"
#include "ipc/hello.h"
#include "ipc/sock.h"
#include "service/stand.h"

#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MINOR = NN_HELLO_MINOR,
    METHODS = 32,
    SILENCE_S = 60, /* longer than any client waits */
    TRIES = 40,
};

struct middle_shared {
    uint32_t mode, one_in;
    uint64_t seed, n_connections, n_changed;
};

/* One connection, in a process of its own. */
struct line_between {
    struct middle_shared *shared;
    uint32_t mode, one_in;
    struct values values;
    struct raw_client client, service;
    /* The last good reply of each method that has no descriptors. */
    struct nn_codec_buffer good[METHODS];
};

/* A reply on its way. */
struct passing {
    struct nn_packet_header header;
    struct nn_codec_buffer body;
};

static bool is_chosen(struct line_between *line)
{
    return !grammar_below(&line->values, line->one_in);
}

static void note_change(struct line_between *line)
{
    __atomic_add_fetch(&line->shared->n_changed, 1, __ATOMIC_RELAXED);
}

static void nap_us(uint32_t n_us)
{
    const struct timespec pause = {.tv_sec = n_us / 1000000, .tv_nsec = n_us % 1000000 * 1000};

    nanosleep(&pause, NULL);
}

/* -- queues --------------------------------------------------------------------------------------- */

struct rewriter {
    struct line_between *line;
    struct vandal vandal;
};

static void *rewrite(void *argument)
{
    struct rewriter *rewriter = argument;
    struct values *values = &rewriter->vandal.values;

    for (;;) {
        for (uint32_t n = grammar_below(values, 64); n > 0; n--)
            vandal_act(&rewriter->vandal);
        note_change(rewriter->line);
        nap_us(grammar_below(values, 4) ? grammar_below(values, 300)
                                        : grammar_below(values, 20000));
    }
    return NULL;
}

static void attack_queues(struct line_between *line, const struct nn_packet *packet)
{
    struct rewriter *rewriter = calloc(1, sizeof(*rewriter));
    pthread_t thread;

    rewriter->line = line;
    if (packet->header.n_fds == 2 &&
        vandal_open(&rewriter->vandal, (enum vandal_kind)grammar_below(&line->values, VANDAL_KINDS),
                    values_number(&line->values), packet->fds))
        pthread_create(&thread, NULL, rewrite, rewriter);
    else
        free(rewriter);
}

/* -- replies ---------------------------------------------------------------------------------------- */

static const struct nn_codec_type *type_of(const struct passing *reply)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[reply->header.method];
    uint32_t status = reply->header.status;

    return status == NNHAL_NONE || (method->also && status == method->also) ? method->reply
                                                                            : &nn_codec_failure;
}

static void copy_body(struct nn_codec_buffer *to, const struct nn_codec_buffer *from)
{
    to->n_bytes = 0;
    nn_codec_buffer_append(to, from->bytes, from->n_bytes);
}

static void send_passing(struct line_between *line, const struct passing *reply)
{
    const struct nn_packet_out out = {.body = reply->body.bytes,
                                      .n_body_bytes = reply->body.n_bytes,
                                      .fds = reply->body.fds,
                                      .n_fds = reply->body.n_fds};

    if (nn_packet_send(line->client.fd, reply->header, &out, false) != 0)
        _exit(0);
}

/* A packet whose head is not that of a reply to this call, or of this length. */
static void send_bad_head(struct line_between *line, const struct passing *reply)
{
    struct {
        struct nn_packet_header header;
        uint8_t body[4096];
    } packet = {.header = reply->header};
    size_t n = reply->body.n_bytes < sizeof(packet.body) ? reply->body.n_bytes : 0;
    size_t n_bytes = sizeof(packet.header) + n;
    struct values *values = &line->values;

    packet.header.n_body_bytes = n;
    packet.header.n_fds = 0;
    packet.header.flags = 0;
    memcpy(packet.body, reply->body.bytes, n);
    switch (grammar_below(values, 8)) {
    case 0:
        packet.header.type = (uint16_t)(NN_PACKET_EVENT + grammar_below(values, 100));
        break;
    case 1:
        packet.header.serial += 1 + grammar_below(values, 100);
        break;
    case 2:
        packet.header.status = NNHAL_DEAD_OBJECT + 1 + grammar_below(values, 1000);
        break;
    case 3:
        packet.header.n_body_bytes ^= UINT64_C(1) << grammar_below(values, 64);
        break;
    case 4:
        packet.header.n_fds = 1 + grammar_below(values, 200);
        break;
    case 5:
        packet.header.flags = (uint16_t)(1 << grammar_below(values, 16));
        break;
    case 6:
        n_bytes = 1 + grammar_below(values, (uint32_t)n_bytes - 1);
        break;
    default:
        packet.header.serial = 0;
        break;
    }
    raw_send(line->client.fd, &packet, n_bytes, -1, 0);
}

static void send_malformed(struct line_between *line, struct passing *reply)
{
    const struct nn_codec_type *type = type_of(reply);

    note_change(line);
    if (grammar_below(&line->values, 3) == 0) {
        send_bad_head(line, reply);
        return;
    }
    for (int i = 0; i < TRIES && grammar_fits(type, MINOR, &reply->body); i++)
        grammar_spoil(&line->values, type, MINOR, &reply->body);
    if (grammar_fits(type, MINOR, &reply->body))
        nn_codec_buffer_append(&reply->body, "more", 4);
    send_passing(line, reply);
}

/* Anything that the table of the method allows. */
static void send_lie(struct line_between *line, struct passing *reply)
{
    struct values *values = &line->values;

    note_change(line);
    if (!grammar_below(values, 4)) {
        nn_codec_buffer_close(&reply->body);
        reply->header.status = grammar_below(values, NNHAL_DEAD_OBJECT + 1);
        copy_body(&reply->body, &line->good[reply->header.method]);
        if (type_of(reply) == &nn_codec_failure) {
            const struct nn_hal_failure failure = {.message = "a lie"};

            reply->body.n_bytes = 0;
            nn_codec_encode(&nn_codec_failure, MINOR, &failure, &reply->body);
        }
    }
    for (int i = 0; i < TRIES; i++) {
        struct nn_codec_buffer before = {.bytes = NULL};

        copy_body(&before, &reply->body);
        if (!reply->body.n_fds)
            grammar_spoil(values, type_of(reply), MINOR, &reply->body);
        if (!grammar_fits(type_of(reply), MINOR, &reply->body)) {
            nn_codec_buffer_close(&reply->body);
            copy_body(&reply->body, &before);
        }
        nn_codec_buffer_done(&before);
    }
    send_passing(line, reply);
}

/* A reply passes, or what becomes of it. */
static void pass_reply(struct line_between *line, struct passing *reply)
{
    if (!grammar_below(&line->values, 16))
        nap_us(grammar_below(&line->values, 10000));
    if (line->mode == MIDDLE_HONEST || line->mode == MIDDLE_QUEUES || !is_chosen(line)) {
        send_passing(line, reply);
        return;
    }
    switch ((enum middle_mode)line->mode) {
    case MIDDLE_MALFORMED:
        send_malformed(line, reply);
        break;
    case MIDDLE_LIES:
        send_lie(line, reply);
        break;
    case MIDDLE_SILENT:
        note_change(line);
        nap_us(SILENCE_S * 1000000);
        _exit(0);
    default:
        note_change(line);
        _exit(0);
    }
}

/* Takes what a packet owns. */
static struct passing passing_of(struct nn_packet *packet)
{
    struct passing reply = {.header = packet->header};

    nn_codec_buffer_append(&reply.body, packet->body, (size_t)packet->header.n_body_bytes);
    reply.body.n_fds = packet->header.n_fds;
    memcpy(reply.body.fds, packet->fds, sizeof(packet->fds));
    packet->header.n_fds = 0;
    for (size_t i = 0; i < reply.body.n_fds; i++)
        packet->fds[i] = -1;
    nn_packet_done(packet);
    return reply;
}

static void passing_done(struct passing *reply)
{
    nn_codec_buffer_close(&reply->body);
    nn_codec_buffer_done(&reply->body);
}

/* -- packets ------------------------------------------------------------------------------------------ */

static struct nn_packet receive(int fd)
{
    struct nn_packet packet;

    if (nn_packet_recv(fd, NN_PACKET_MAX_BODY_BYTES, false, &packet) != 0)
        _exit(0);
    return packet;
}

/* An execution that is to be answered wrongly is not made: where its result is taken for
 * right, there is none. Returns whether the call was answered. */
static bool answer_instead(struct line_between *line, const struct nn_packet *packet)
{
    uint32_t method = packet->header.method;
    struct passing reply = {.header = packet->header};

    if (line->mode != MIDDLE_MALFORMED || method != NN_HAL_METHOD_EXECUTE_SYNCHRONOUSLY ||
        !line->good[method].n_bytes || !is_chosen(line))
        return false;
    reply.header.type = NN_PACKET_REPLY;
    reply.header.status = NNHAL_NONE;
    copy_body(&reply.body, &line->good[method]);
    send_malformed(line, &reply);
    passing_done(&reply);
    return true;
}

static void pass_call(struct line_between *line)
{
    struct nn_packet packet = receive(line->client.fd);
    struct passing call;

    if (line->mode == MIDDLE_QUEUES &&
        packet.header.method == NN_HAL_METHOD_CONFIGURE_EXECUTION_BURST)
        attack_queues(line, &packet);
    if (answer_instead(line, &packet)) {
        nn_packet_done(&packet);
        return;
    }
    call = passing_of(&packet);
    if (nn_packet_send(line->service.fd, call.header,
                       &(struct nn_packet_out){.body = call.body.bytes,
                                               .n_body_bytes = call.body.n_bytes,
                                               .fds = call.body.fds,
                                               .n_fds = call.body.n_fds},
                       false) != 0)
        _exit(0);
    passing_done(&call);
}

static void take_reply(struct line_between *line)
{
    struct nn_packet packet = receive(line->service.fd);
    struct passing reply = passing_of(&packet);

    if (reply.header.status == NNHAL_NONE && reply.header.method < METHODS && !reply.body.n_fds)
        copy_body(&line->good[reply.header.method], &reply.body);
    pass_reply(line, &reply);
    passing_done(&reply);
}

static void pass_event(struct line_between *line, int from, int to)
{
    struct nn_packet packet = receive(from);
    struct passing event = passing_of(&packet);
    const struct nn_packet_out out = {.body = event.body.bytes, .n_body_bytes = event.body.n_bytes};

    if (nn_packet_send(to, event.header, &out, false) != 0)
        _exit(0);
    passing_done(&event);
    if (line->mode == MIDDLE_LIES && to == line->client.events_fd && is_chosen(line)) {
        struct nn_packet_header header = {.type = NN_PACKET_EVENT,
                                          .method = 1 + grammar_below(&line->values, 2)};
        const struct nn_packet_out nothing = {.n_fds = 0};

        nn_packet_send(to, header, &nothing, true);
    }
}

/* -- a connection --------------------------------------------------------------------------------------- */

static void greet(struct line_between *line, const char *service_path)
{
    struct nn_packet packet = receive(line->client.fd);
    struct passing hello;
    int pair[2];

    if (packet.header.n_fds != 1 || nn_sock_connect(service_path, &line->service.fd) != 0 ||
        nn_sock_pair(pair) != 0)
        _exit(0);
    line->client.events_fd = packet.fds[0];
    line->service.events_fd = pair[0];
    nn_hello_send(line->service.fd, (const struct nn_hello *)(const void *)packet.body, pair[1]);
    close(pair[1]);
    packet = receive(line->service.fd);
    hello = passing_of(&packet);
    /* A hello is a message of its own form: what is not in order refuses the connection. */
    if (line->mode == MIDDLE_MALFORMED && is_chosen(line)) {
        note_change(line);
        hello.body.bytes[grammar_below(&line->values, 6)] ^= (uint8_t)0x80;
    }
    send_passing(line, &hello);
    passing_done(&hello);
}

static void serve_line(struct line_between *line, const char *service_path)
{
    struct pollfd fds[4];

    greet(line, service_path);
    fds[0] = (struct pollfd){.fd = line->client.fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = line->client.events_fd, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = line->service.fd, .events = POLLIN};
    fds[3] = (struct pollfd){.fd = line->service.events_fd, .events = POLLIN};
    while (poll(fds, 4, -1) > 0) {
        if (fds[0].revents)
            pass_call(line);
        if (fds[1].revents)
            pass_event(line, line->client.events_fd, line->service.events_fd);
        if (fds[2].revents)
            take_reply(line);
        if (fds[3].revents)
            pass_event(line, line->service.events_fd, line->client.events_fd);
    }
}

/* -- the process ------------------------------------------------------------------------------------------ */

static void accept_clients(struct middle_shared *shared, int listener, const char *service_path)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = listener, .events = POLLIN};
        static struct line_between line;
        int fd = -1;

        poll(&poll_fd, 1, -1);
        if (nn_sock_accept(listener, &fd) != 0)
            continue;
        line.shared = shared;
        line.mode = __atomic_load_n(&shared->mode, __ATOMIC_ACQUIRE);
        line.one_in = shared->one_in;
        line.values.state =
            (shared->seed + ++shared->n_connections) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        line.client.fd = fd;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            serve_line(&line, service_path);
            _exit(0);
        }
        close(fd);
    }
}

void middle_start(struct middle *middle, const char *service_path, const char *name)
{
    int listener = -1;

    snprintf(middle->folder, sizeof(middle->folder), "/tmp/nnhal-middle-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(middle->folder));
    snprintf(middle->path, sizeof(middle->path), "%s/%s.sock", middle->folder, name);
    middle->shared = mmap(NULL, sizeof(*middle->shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(middle->shared, MAP_FAILED);
    ck_assert_int_eq(nn_sock_listen(middle->path, 0600, &listener), 0);
    middle->pid = fork();
    ck_assert_int_ge(middle->pid, 0);
    if (middle->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        accept_clients(middle->shared, listener, service_path);
    }
    close(listener);
}

void middle_set(struct middle *middle, enum middle_mode mode, uint64_t seed, uint32_t one_in)
{
    middle->shared->seed = seed;
    middle->shared->one_in = one_in;
    __atomic_store_n(&middle->shared->mode, (uint32_t)mode, __ATOMIC_RELEASE);
}

uint64_t middle_count(const struct middle *middle)
{
    return __atomic_load_n(&middle->shared->n_changed, __ATOMIC_RELAXED);
}

void middle_stop(struct middle *middle)
{
    kill(middle->pid, SIGKILL);
    ck_assert_int_eq(waitpid(middle->pid, NULL, 0), middle->pid);
    unlink(middle->path);
    ck_assert_int_eq(rmdir(middle->folder), 0);
    munmap(middle->shared, sizeof(*middle->shared));
}
