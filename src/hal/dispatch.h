/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - between the generated functions of each method and what serves all
 *
 * proxy-methods.c and stub-methods.c are printed by hal/halgen.py: a function or
 * a case for each method of the .hal files. proxy.c and stub.c have what is the
 * same for all of them. */
#ifndef NN_HAL_DISPATCH_H
#define NN_HAL_DISPATCH_H

#include "hal/hal.h"

/* nn_hal_proxy_call() - sends the call of that number and waits for its reply, as
 * hal.h says of every method. args and reply are the method's structs. */
uint32_t nn_hal_proxy_call(struct nn_hal *hal, uint32_t number, const void *args, void *reply,
                           struct nn_arena *arena);

/* nn_hal_proxy_close() - closes the channel and frees hal. */
void nn_hal_proxy_close(struct nn_hal *hal);

/* The proxy's table (proxy-methods.c). */
extern const struct nn_hal_ops nn_hal_proxy_ops;

/* nn_hal_proxy_deliver() - hands an event to the listener, if it has a function for it. */
void nn_hal_proxy_deliver(const struct nn_hal_listener *listener, uint32_t number,
                          const void *event);

/* nn_hal_stub_dispatch() - calls the method of that number. args and reply are its structs.
 * Returns: its status; GENERAL_FAILURE: there is no such method. */
uint32_t nn_hal_stub_dispatch(struct nn_hal *hal, uint32_t number, const void *args, void *reply,
                              struct nn_arena *arena);

#endif
