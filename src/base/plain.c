/* SPDX-License-Identifier: Apache-2.0 */
#include "base/plain.h"

#include <stdbool.h>
#include <string.h>

/* Bytes that follow the first one of a character, in UTF-8; 0 also for what begins none. */
static uint8_t bytes_after(uint8_t lead)
{
    return lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xc2;
}

/* Not a longer form than the character needs, a half of a pair, or what is above U+10FFFF. */
static bool can_be_second(uint8_t lead, uint8_t byte)
{
    switch (lead) {
    case 0xe0:
        return byte >= 0xa0;
    case 0xed:
        return byte < 0xa0;
    case 0xf0:
        return byte >= 0x90;
    case 0xf4:
        return byte < 0x90;
    default:
        return true;
    }
}

static bool is_plain(uint8_t byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\n' || byte == '\t';
}

uint8_t nn_plain_byte(struct nn_plain *plain, uint8_t byte)
{
    if (byte >= 0x80 && byte < 0xc0 && plain->n_missing &&
        (plain->n_missing < bytes_after(plain->lead) || can_be_second(plain->lead, byte))) {
        plain->n_missing--;
        /* U+0080 to U+009F are control characters as well. */
        return plain->lead == 0xc2 && byte < 0xa0 ? '?' : byte;
    }
    plain->n_missing = byte >= 0xc0 && byte < 0xf5 ? bytes_after(byte) : 0;
    plain->lead = byte;
    return plain->n_missing || is_plain(byte) ? byte : '?';
}

void nn_plain_line(const char *text, char *ret_line, size_t n_bytes)
{
    struct nn_plain plain = {0};
    size_t n = 0, n_whole = 0;

    for (; text[n] && n + 1 < n_bytes; n++) {
        bool is_inside = plain.n_missing;
        uint8_t byte = nn_plain_byte(&plain, (uint8_t)text[n]);

        /* A character that has broken off. */
        if (is_inside && (byte < 0x80 || byte >= 0xc0))
            memset(ret_line + n_whole, '?', n - n_whole);
        ret_line[n] = (char)(byte < ' ' ? ' ' : byte);
        if (!plain.n_missing)
            n_whole = n + 1;
        else if (byte >= 0xc0)
            n_whole = n;
    }
    ret_line[n_whole] = '\0';
}
