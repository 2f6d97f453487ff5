/* SPDX-License-Identifier: Apache-2.0 */
/* ring-counters.c - a peer that writes any number to any word between our calls
 *
 * The input: capacity and flavour (a byte), then actions of 10 bytes: what to
 * do, how many elements or which word, and a value of 8 bytes. Answers must be
 * those that nnhal/fmq.h names, counts at most the capacity, and spans within
 * the ring (which AddressSanitizer cannot see: it is checked). */
#include "fuzz.h"

#include "base/sys.h"
#include "shm/ring.h"

#include <string.h>
#include <sys/mman.h>

#define ELEMENT_BYTES 8
#define MAX_ELEMENTS  32

static const uint16_t words[] = {64, 72, 128, 192, 196, 256};

struct stand {
    struct nn_ring *ring;
    uint32_t capacity;
    uint8_t *peer;
};

static void check_spans(struct stand *stand, const struct nnhal_fmq_transaction *transaction,
                        uint32_t n)
{
    /* Our own mapping's ring begins where a span of its first place does. */
    FUZZ_CHECK(transaction->spans[0].n_elements + transaction->spans[1].n_elements == n);
    FUZZ_CHECK(transaction->spans[0].n_elements <= stand->capacity);
    if (transaction->spans[1].n_elements) {
        const uint8_t *first = transaction->spans[0].elements;
        const uint8_t *begin = transaction->spans[1].elements;

        FUZZ_CHECK(first + (size_t)transaction->spans[0].n_elements * ELEMENT_BYTES ==
                   begin + (size_t)stand->capacity * ELEMENT_BYTES);
    }
}

static void transact(struct stand *stand, bool is_write, uint32_t n, uint32_t n_commit)
{
    struct nnhal_fmq_transaction transaction;
    int r = is_write ? nn_ring_begin_write(stand->ring, n, &transaction)
                     : nn_ring_begin_read(stand->ring, n, &transaction);

    FUZZ_CHECK(r >= 0 && r <= NNHAL_FMQ_E_BROKEN);
    if (r != 0)
        return;
    FUZZ_CHECK(n <= stand->capacity);
    check_spans(stand, &transaction, n);
    r = is_write ? nn_ring_commit_write(stand->ring, n_commit)
                 : nn_ring_commit_read(stand->ring, n_commit);
    FUZZ_CHECK(n_commit <= n ? r == 0 || (!is_write && r == NNHAL_FMQ_E_OVERRUN) : r == -EINVAL);
}

static void act(struct stand *stand, uint8_t what, uint8_t which, uint64_t value)
{
    uint64_t elements[MAX_ELEMENTS + 2] = {0};
    uint32_t n = which % (MAX_ELEMENTS + 2);
    int r = 0;

    switch (what % 8) {
    case 0:
    case 1:
        memcpy(stand->peer + words[which % (sizeof(words) / sizeof(words[0]))], &value,
               sizeof(value));
        break;
    case 2:
        r = nn_ring_write(stand->ring, elements, n);
        break;
    case 3:
        r = nn_ring_read(stand->ring, elements, n);
        break;
    case 4:
        transact(stand, true, n, (uint32_t)(value % (MAX_ELEMENTS + 2)));
        break;
    case 5:
        transact(stand, false, n, (uint32_t)(value % (MAX_ELEMENTS + 2)));
        break;
    case 6:
        FUZZ_CHECK(nn_ring_available_to_read(stand->ring) <= stand->capacity);
        FUZZ_CHECK(nn_ring_available_to_write(stand->ring) <= stand->capacity);
        break;
    default:
        r = nn_ring_read_blocking(stand->ring, elements, n, 0);
        break;
    }
    FUZZ_CHECK(r >= 0 && r <= NNHAL_FMQ_E_TIMED_OUT);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct nnhal_fmq_descriptor descriptor;
    struct stand stand = {0};

    if (n_bytes < 1)
        return 0;
    stand.capacity = bytes[0] % MAX_ELEMENTS + 1;
    FUZZ_CHECK(nn_ring_new(stand.capacity, ELEMENT_BYTES,
                           bytes[0] & 128 ? NNHAL_FMQ_UNSYNCHRONIZED : NNHAL_FMQ_SYNCHRONIZED, NULL,
                           &stand.ring) == 0);
    nn_ring_descriptor(stand.ring, &descriptor);
    stand.peer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.fd, 0);
    FUZZ_CHECK(stand.peer != MAP_FAILED);
    for (size_t i = 1; i + 10 <= n_bytes; i += 10) {
        uint64_t value;

        memcpy(&value, bytes + i + 2, sizeof(value));
        act(&stand, bytes[i], bytes[i + 1], value);
    }
    munmap(stand.peer, 4096);
    nn_ring_free(stand.ring);
    return 0;
}
