/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

void text_add_to_json(cJSON *object, const char *key, const char *text)
{
    char *plain = strdup(text);

    if (plain)
        cJSON_AddStringToObject(object, key, text_make_plain(plain));
    free(plain);
}
