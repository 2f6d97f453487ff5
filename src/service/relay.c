/* SPDX-License-Identifier: Apache-2.0 */
#include "service/relay.h"

#include "base/error.h"

#include <stdbool.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 4096,
    PRIORITY_DIGITS = 3, /* as many as the journal reads */
    PRIORITY_ERROR = 3,
};

/* Whether the byte ends a priority that no driver may have. */
static bool ends_priority(struct nn_relay *relay, uint8_t byte)
{
    bool is_digit = byte >= '0' && byte <= '9';

    if (byte == '<') {
        relay->n_digits = 1;
        relay->priority = 0;
        return false;
    }
    if (relay->n_digits == 0)
        return false;
    if (is_digit && relay->n_digits <= PRIORITY_DIGITS) {
        relay->priority = (uint16_t)(relay->priority * 10 + (byte - '0'));
        relay->n_digits++;
        return false;
    }
    is_digit = relay->n_digits > 1;
    relay->n_digits = 0;
    return byte == '>' && is_digit && relay->priority < PRIORITY_ERROR;
}

void nn_relay_clean(struct nn_relay *relay, uint8_t *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        uint8_t byte = bytes[i];
        bool is_refused = relay->is_journal && ends_priority(relay, byte);

        bytes[i] = nn_plain_byte(&relay->plain, byte);
        if (is_refused)
            bytes[i] = '?';
    }
}

int nn_relay_pass(struct nn_relay *relay, int from_fd, int to_fd)
{
    uint8_t bytes[BLOCK_BYTES];
    ssize_t n = read(from_fd, bytes, sizeof(bytes));

    if (n <= 0)
        return n < 0 ? nn_error_origin(-errno) : 0;
    nn_relay_clean(relay, bytes, (size_t)n);
    for (ssize_t done = 0, m; done < n; done += m) {
        m = write(to_fd, bytes + done, (size_t)(n - done));
        if (m < 0 && errno == EINTR)
            m = 0;
        else if (m <= 0)
            break;
    }
    return (int)n;
}
