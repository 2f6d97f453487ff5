/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of the character at text, in the shortest form that UTF-8 has for it; 0: there is none, or
 * it steers (below 32, 127 to 159). */
static size_t character_length(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = text[0] < 0x80       ? 1
               : text[0] >> 5 == 6  ? 2
               : text[0] >> 4 == 14 ? 3
               : text[0] >> 3 == 30 ? 4
                                    : 0;
    uint32_t code = n == 1 ? text[0] : text[0] & (0x7FU >> n);

    for (size_t i = 1; i < n; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3FU);
    }
    if (code < 32 || (code >= 127 && code < 160) || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000) || code < least[n])
        return 0;
    return n;
}

char *text_make_plain(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        size_t n = character_length((const unsigned char *)from);

        if (n)
            memmove(to, from, n);
        else
            *to = '?';
        to += n ? n : 1;
        from += n ? n : 1;
    }
    *to = '\0';
    return text;
}

void text_print(const char *text)
{
    char *plain = strdup(text);

    if (plain)
        fputs(text_make_plain(plain), stdout);
    free(plain);
}
