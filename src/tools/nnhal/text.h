/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - texts of strangers' files, as they can be shown
 *
 * What would steer a terminal (control characters, also those of two bytes) and what is no UTF-8, which
 * would spoil JSON, becomes '?'. */
#ifndef NN_TOOLS_NNHAL_TEXT_H
#define NN_TOOLS_NNHAL_TEXT_H

struct cJSON;

/* text_make_plain() - changes text in its place, which becomes no longer. Returns: text. */
char *text_make_plain(char *text);

/* text_print() - on standard output. */
void text_print(const char *text);

/* text_add_to_json() - object gets text under key. */
void text_add_to_json(struct cJSON *object, const char *key, const char *text);

#endif
