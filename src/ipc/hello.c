/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/hello.h"

#include "base/error.h"
#include "base/process.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct nn_hello) == 96, "hello is what crosses the wire");

void nn_hello_init(struct nn_hello *hello, int64_t feature_level)
{
    *hello = (struct nn_hello){
        .magic = NN_HELLO_MAGIC,
        .major = NN_HELLO_MAJOR,
        .minor = NN_HELLO_MINOR,
        .feature_level = feature_level,
        .max_body_bytes = NN_PACKET_MAX_BODY_BYTES,
        .max_calls = NN_HELLO_MAX_CALLS,
        .pid = nn_process_number(),
    };
    snprintf(hello->build_id, sizeof(hello->build_id), "%s", NN_BUILD_ID);
}

int nn_hello_send(int fd, const struct nn_hello *hello, int events_fd)
{
    struct nn_packet_header header = {.type = NN_PACKET_HELLO};
    struct nn_packet_out out = {
        .body = hello,
        .n_body_bytes = sizeof(*hello),
        .fds = &events_fd,
        .n_fds = events_fd >= 0,
    };

    return nn_packet_send(fd, header, &out, true);
}

int nn_hello_check(const struct nn_packet *packet, uint32_t n_fds, struct nn_hello *ret_hello)
{
    struct nn_hello hello;

    if (packet->header.type != NN_PACKET_HELLO || packet->header.n_fds != n_fds ||
        packet->header.n_body_bytes < sizeof(hello) || !packet->body)
        return NN_PACKET_E_VIOLATION;
    memcpy(&hello, packet->body, sizeof(hello));
    /* It is printed as a string later, and a peer may have sent it without an end. */
    hello.build_id[sizeof(hello.build_id) - 1] = '\0';
    /* With max_calls of 0 the first call would wait for room for ever, and with less than
     * one packet ordinary calls would be refused. */
    if (hello.magic != NN_HELLO_MAGIC || hello.major != NN_HELLO_MAJOR || hello.max_calls == 0 ||
        hello.max_body_bytes < NN_PACKET_MAX_BYTES)
        return NN_PACKET_E_VIOLATION;
    *ret_hello = hello;
    return 0;
}

void nn_hello_negotiate(struct nn_hello *mine, const struct nn_hello *theirs)
{
    if (theirs->minor < mine->minor)
        mine->minor = theirs->minor;
    if (theirs->feature_level < mine->feature_level)
        mine->feature_level = theirs->feature_level;
    if (theirs->max_body_bytes < mine->max_body_bytes)
        mine->max_body_bytes = theirs->max_body_bytes;
    if (theirs->max_calls < mine->max_calls)
        mine->max_calls = theirs->max_calls;
}
