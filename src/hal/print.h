/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - packets for people: NNHAL_TRACE=wire */
#ifndef NN_HAL_PRINT_H
#define NN_HAL_PRINT_H

#include "codec/codec.h"

enum nn_hal_packet_kind {
    NN_HAL_PACKET_CALL,
    NN_HAL_PACKET_REPLY, /* number is the call's */
    NN_HAL_PACKET_EVENT,
};

/* nn_hal_print_packet() - a packet as NNHAL_TRACE=wire
 * shows it, from its value: "device#1.prepare_model(serial=7, ...)". value is
 * the struct that number and packet name; for a reply with a status
 * that has no reply, any struct that begins with its message. */
void nn_hal_print_packet(enum nn_hal_packet_kind packet, const struct nn_codec_message *message,
                         const void *value, char *ret_text, size_t n_text);

/* nn_hal_trace() - prints a packet as one line of the trace "wire", if that
 * is switched on; sign is "->" or "<-". */
void nn_hal_trace(const char *sign, enum nn_hal_packet_kind packet,
                  const struct nn_codec_message *message, const void *value);

#endif
