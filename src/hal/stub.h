/* SPDX-License-Identifier: Apache-2.0 */
/* stub.h - serves a HAL to the other end of a connection
 *
 * The mirror of the proxy: a request is decoded, struct nn_hal is called, the
 * reply is encoded. It keeps no state; what may be called how often, and on
 * which thread, is the service's business. */
#ifndef NN_HAL_STUB_H
#define NN_HAL_STUB_H

#include "codec/codec.h"
#include "hal/hal.h"

struct nn_meter;

enum {
    NN_HAL_STUB_E_VIOLATION = 1, /* no such method, or not of its form: drop the peer */
};

/* nn_hal_stub_call() - answers one request. Its descriptors are consumed: they
 * are closed when the call is over, the host has duplicated what it keeps.
 * *ret_status is for the packet's header, the reply's bytes are appended to
 * *reply, whose descriptors are to be closed after it was sent
 * (nn_codec_buffer_close). What the decoded request and the reply take beyond a first
 * chunk, in which those that free something fit, is charged to meter (NULL: not). Blocks as long as the method does. Any thread.
 * Returns: 0, NN_HAL_STUB_E_VIOLATION, -ENOMEM (no memory for the reply; a
 * request that is too big for ours is answered, not refused). */
int nn_hal_stub_call(struct nn_hal *hal, uint32_t minor, const struct nn_codec_message *request,
                     const struct nn_meter *meter, uint32_t *ret_status,
                     struct nn_codec_buffer *reply);

/* nn_hal_stub_refuse() - the reply of any request that is answered with a failure without having
 * been read. Returns: 0, -ENOMEM. */
int nn_hal_stub_refuse(uint32_t minor, const char *sentence, struct nn_codec_buffer *reply);

/* nn_hal_stub_subject() - what a request to execute_synchronously executes, for
 * the scheduler: the ids stand first in its bytes. Both are 0 for other
 * methods and for bytes that are no such request. Looks at nothing else. */
void nn_hal_stub_subject(const struct nn_codec_message *message, uint64_t *ret_prepared_model,
                         uint64_t *ret_execution);

/* nn_hal_stub_event() - the message of an event (enum nn_hal_event and the
 * struct of that name), to be sent on the connection's event socket.
 * Returns: 0, -ENOMEM, -EINVAL (not a value of that form: our bug). */
int nn_hal_stub_event(uint32_t minor, uint32_t event, const void *value,
                      struct nn_codec_buffer *buffer);

#endif
