/* SPDX-License-Identifier: Apache-2.0 */
/* queue-descriptor.c - any numbers beside any file: refused, or a queue that is
 * as large as its file
 *
 * The input: number of elements, element size, flavour (u32 each), the file's
 * size (u32), its seals (u8), and what its beginning says. */
#include "fuzz.h"

#include "shm/ring.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FILE_BYTES (1 << 20)

struct input {
    uint32_t n_elements;
    uint32_t element_size;
    uint32_t flavour;
    uint32_t file_bytes;
    uint8_t seals;
    uint8_t begin[255];
};

static void use(struct nn_ring *ring, const struct input *input)
{
    const uint64_t n_bytes = (uint64_t)input->n_elements * input->element_size;
    struct nnhal_fmq_transaction transaction;
    uint32_t n;

    FUZZ_CHECK(n_bytes + 256 <= input->file_bytes);
    n = nn_ring_available_to_write(ring);
    FUZZ_CHECK(n <= input->n_elements);
    if (nn_ring_begin_write(ring, n, &transaction) == 0)
        for (int i = 0; i < 2; i++)
            memset(transaction.spans[i].elements, 1,
                   (size_t)transaction.spans[i].n_elements * input->element_size);
    n = nn_ring_available_to_read(ring);
    FUZZ_CHECK(n <= input->n_elements);
    if (nn_ring_begin_read(ring, n, &transaction) == 0)
        nn_ring_commit_read(ring, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {0};
    struct nnhal_fmq_descriptor descriptor;
    struct nn_ring *ring = NULL;
    int r;

    memcpy(&input, bytes, n_bytes < sizeof(input) ? n_bytes : sizeof(input));
    descriptor = (struct nnhal_fmq_descriptor){
        .n_elements = input.n_elements,
        .element_size = input.element_size,
        .flavour = input.flavour,
        .fd = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC),
    };
    input.file_bytes %= MAX_FILE_BYTES;
    FUZZ_CHECK(descriptor.fd >= 0);
    FUZZ_CHECK(pwrite(descriptor.fd, input.begin, sizeof(input.begin), 0) > 0);
    FUZZ_CHECK(ftruncate(descriptor.fd, (off_t)input.file_bytes) == 0);
    fcntl(descriptor.fd, F_ADD_SEALS, input.seals & 31);
    r = nn_ring_attach(&descriptor, NULL, &ring);
    FUZZ_CHECK(r == 0 || r == NNHAL_FMQ_E_INVALID);
    if (r == 0)
        use(ring, &input);
    nn_ring_free(ring);
    close(descriptor.fd);
    return 0;
}
