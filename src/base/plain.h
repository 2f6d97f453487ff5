/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - text from elsewhere, without what a terminal obeys
 *
 * Byte by byte, so that text may come in pieces: what does not belong to a character of UTF-8, and
 * control characters but the end of a line and the tabulator, become '?'. Other characters stay. */
#ifndef NN_BASE_PLAIN_H
#define NN_BASE_PLAIN_H

#include <stddef.h>
#include <stdint.h>

/* Where in a character the text was cut: {0} at the beginning. */
struct nn_plain {
    uint8_t n_missing; /* bytes of a character that are to come */
    uint8_t lead;      /* its first one */
};

/* nn_plain_byte() - the next byte of the text, or '?'. */
uint8_t nn_plain_byte(struct nn_plain *plain, uint8_t byte);

/* nn_plain_line() - the text as one line of n_bytes at most, the NUL among them: cut between characters;
 * ends of lines and tabulators become spaces. n_bytes is at least 1. */
void nn_plain_line(const char *text, char *ret_line, size_t n_bytes);

#endif
