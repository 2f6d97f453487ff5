/* SPDX-License-Identifier: Apache-2.0 */
/* burst-packet.c - any elements as a request and as a result: refused, or a
 * packet that encodes to the same bytes again
 *
 * The input: elements; what is left at the end is cut off. */
#include "fuzz.h"

#include "base/arena.h"
#include "hal/burst-packet.h"

#include <string.h>

#define MAX_DATA  1024
#define MAX_ARENA (1 << 20)

static void request(const uint8_t *bytes, size_t n_bytes)
{
    static struct nnhal_fmq_request_datum data[MAX_DATA], again[MAX_DATA];
    uint32_t n = (uint32_t)(n_bytes / sizeof(data[0])), n_again;
    struct nn_burst_request decoded;
    struct nn_arena arena;
    int r;

    n = n < MAX_DATA ? n : MAX_DATA;
    memcpy(data, bytes, n * sizeof(data[0]));
    nn_arena_init(&arena, MAX_ARENA);
    r = nn_burst_request_decode(data, n, &arena, &decoded);
    FUZZ_CHECK(r == 0 || r == NN_BURST_E_VIOLATION || r == NN_BURST_E_MEMORY);
    if (r == 0) {
        FUZZ_CHECK(nn_burst_request_encode(&decoded, again, MAX_DATA, &n_again) == 0);
        FUZZ_CHECK(n_again == n && memcmp(data, again, n * sizeof(data[0])) == 0);
    }
    nn_arena_done(&arena);
}

static void result(const uint8_t *bytes, size_t n_bytes)
{
    static struct nnhal_fmq_result_datum data[MAX_DATA], again[MAX_DATA];
    uint32_t n = (uint32_t)(n_bytes / sizeof(data[0])), n_again;
    struct nn_burst_result decoded;
    struct nn_arena arena;
    int r;

    n = n < MAX_DATA ? n : MAX_DATA;
    memcpy(data, bytes, n * sizeof(data[0]));
    nn_arena_init(&arena, MAX_ARENA);
    r = nn_burst_result_decode(data, n, &arena, &decoded);
    FUZZ_CHECK(r == 0 || r == NN_BURST_E_VIOLATION || r == NN_BURST_E_MEMORY);
    if (r == 0) {
        FUZZ_CHECK(nn_burst_result_encode(&decoded, again, MAX_DATA, &n_again) == 0);
        FUZZ_CHECK(n_again == n && memcmp(data, again, n * sizeof(data[0])) == 0);
    }
    nn_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    request(bytes, n_bytes);
    result(bytes, n_bytes);
    return 0;
}
