/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - values of any type of the codec, made up from a number, and
 * compared by reading the same tables that the codec reads */
#ifndef NN_TESTS_HAL_VALUES_H
#define NN_TESTS_HAL_VALUES_H

#include "base/arena.h"
#include "hal/messages.h"

struct values {
    uint64_t state; /* of the numbers, never 0 */
    struct nn_arena *arena;
    int (*make_fd)(void); /* NULL: numbers from next_fd on, which are no descriptors */
    int32_t next_fd;
    uint32_t minor;      /* younger fields stay empty */
    uint32_t n_elements; /* at most, in an array */
};

uint64_t values_number(struct values *values);

/* values_make() - a value of the type, in the arena. */
void *values_make(struct values *values, const struct nn_codec_type *type);

/* values_are_equal() - whether all that the tables know is the same; floats by
 * bits, descriptors by number. */
bool values_are_equal(const struct nn_codec_type *type, const void *a, const void *b);

#endif
