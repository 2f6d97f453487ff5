/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - what a driver prints, before it reaches a terminal
 *
 * A terminal takes control characters for commands, some of which make it type
 * answers. They become '?'; lines, tabs and text in UTF-8 stay. */
#ifndef NN_SERVICE_RELAY_H
#define NN_SERVICE_RELAY_H

#include <stddef.h>
#include <stdint.h>

/* Where in a character the text was cut: {0} at the beginning. */
struct nn_relay {
    uint8_t n_missing; /* bytes of a character that are to come */
    uint8_t lead;      /* its first one */
};

/* nn_relay_clean() - in place. */
void nn_relay_clean(struct nn_relay *relay, uint8_t *bytes, size_t n_bytes);

/* nn_relay_pass() - moves what can be read from one descriptor, at most a block, to the other. What
 * cannot be written is dropped. Blocks where reading or writing does.
 * Returns: the number of bytes, 0 at the end, -EAGAIN, -errno. */
int nn_relay_pass(struct nn_relay *relay, int from_fd, int to_fd);

#endif
