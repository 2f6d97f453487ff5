/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - any bytes as an array of numpy: refused with a sentence, or a head that can be made again */
#include "fuzz.h"
#include "tools/nnhal/npy.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    char made[NPY_MADE_HEAD_BYTES];
    const char *wrong;
    struct npy npy, again;

    wrong = npy_parse(bytes, n_bytes, &npy);
    if (wrong) {
        FUZZ_CHECK(strlen(wrong) > 0);
        return 0;
    }
    FUZZ_CHECK(npy.head_bytes <= n_bytes && npy.n_dimensions <= NPY_MAX_DIMENSIONS);
    n_bytes = npy_make(npy.type, npy.n_dimensions, npy.dimensions, made);
    FUZZ_CHECK(n_bytes <= sizeof(made));
    FUZZ_CHECK(!npy_parse((const uint8_t *)made, n_bytes, &again));
    FUZZ_CHECK(again.head_bytes == n_bytes && again.n_dimensions == npy.n_dimensions);
    FUZZ_CHECK(!strcmp(again.type, npy.type));
    FUZZ_CHECK(!memcmp(again.dimensions, npy.dimensions, npy.n_dimensions * sizeof(uint32_t)));
    return 0;
}
