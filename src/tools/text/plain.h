/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - texts of strangers' files and drivers, as they can be shown
 *
 * What would steer a terminal (control characters, also those of two bytes) and what is no UTF-8, which
 * would spoil JSON, becomes '?'. */
#ifndef NN_TOOLS_TEXT_PLAIN_H
#define NN_TOOLS_TEXT_PLAIN_H

/* text_make_plain() - changes text in its place, which becomes no longer. Returns: text. */
char *text_make_plain(char *text);

/* text_print() - on standard output. */
void text_print(const char *text);

#endif
