/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - texts of strangers' files, as they can be shown (plain.h), also in JSON */
#ifndef NN_TOOLS_NNHAL_TEXT_H
#define NN_TOOLS_NNHAL_TEXT_H

#include "text/plain.h"

struct cJSON;

/* text_add_to_json() - object gets text under key. */
void text_add_to_json(struct cJSON *object, const char *key, const char *text);

#endif
