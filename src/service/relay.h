/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - what a driver prints, before it reaches a terminal
 *
 * A terminal takes control characters for commands, some of which make it type
 * answers. They become '?'; lines, tabs and text in UTF-8 stay. The journal of
 * systemd takes "<0>" to "<2>" at the beginning of a line, and it cuts lines where
 * it likes, for an emergency that it writes onto every terminal of the machine;
 * for it, their '>' becomes '?'. No line of a driver is more than an error. */
#ifndef NN_SERVICE_RELAY_H
#define NN_SERVICE_RELAY_H

#include "base/plain.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} at the beginning of the text. */
struct nn_relay {
    struct nn_plain plain;
    bool is_journal;   /* where it goes */
    uint8_t n_digits;  /* of a priority that has begun, with '<': 0: none has */
    uint16_t priority; /* what they say */
};

/* nn_relay_clean() - in place. */
void nn_relay_clean(struct nn_relay *relay, uint8_t *bytes, size_t n_bytes);

/* nn_relay_pass() - moves what can be read from one descriptor, at most a block, to the other. What
 * cannot be written is dropped. Blocks where reading or writing does.
 * Returns: the number of bytes, 0 at the end, -EAGAIN, -errno. */
int nn_relay_pass(struct nn_relay *relay, int from_fd, int to_fd);

#endif
