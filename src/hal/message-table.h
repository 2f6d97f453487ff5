/* SPDX-License-Identifier: Apache-2.0 */
/* message-table.h - how the wire sees methods and events
 *
 * The generated tables (hal/messages.h) are made of these: which struct a method
 * takes, which it answers with, and since when there is one. */
#ifndef NN_HAL_MESSAGE_TABLE_H
#define NN_HAL_MESSAGE_TABLE_H

#include "codec/table.h"

struct nn_hal_method_type {
    const char *name;
    const char *object; /* what a trace calls it: the first field of args is its id */
    uint32_t since;
    uint32_t minor;
    uint32_t also; /* the status besides NONE that comes with the whole reply; 0: none */
    const struct nn_codec_type *args;
    const struct nn_codec_type *reply;
};

struct nn_hal_event_type {
    const char *name;
    const char *object;
    uint32_t since;
    uint32_t minor;
    const struct nn_codec_type *value;
};

/* Every type; the methods and events by number, gaps (0 too) with name NULL. */
extern const struct nn_codec_type *const nn_hal_all_types[];
extern const size_t nn_hal_n_all_types;
extern const struct nn_hal_method_type nn_hal_methods[];
extern const size_t nn_hal_n_methods;
extern const struct nn_hal_event_type nn_hal_events[];
extern const size_t nn_hal_n_events;

#endif
