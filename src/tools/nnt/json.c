/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include "text/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is plain has nothing below a space. */
static void print_escaped(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else
            putchar(c);
    }
}

void nnt_print_json_string(const char *text)
{
    char *plain = strdup(text);

    putchar('"');
    if (plain)
        print_escaped(text_make_plain(plain));
    putchar('"');
    free(plain);
}
