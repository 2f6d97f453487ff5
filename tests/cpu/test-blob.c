/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/blob.h"

#include "support/check-main.h"

#include <stdint.h>
#include <stdlib.h>

/* What was reserved in vain is given back, and the bytes stay what and how they are. */
TEST(a_blob_that_reserved_too_much_keeps_its_bytes)
{
    static const size_t used[] = {0, 1, 1000, 100000, 3 << 20};

    for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
        struct nn_blob blob = {0};
        uint64_t size, charged = 0;
        uint8_t *bytes;
        size_t at, n_wrong;

        ck_assert_int_eq(nn_blob_reserve(&blob, 8 << 20, 64), 0);
        ck_assert_int_eq(nn_blob_extend(&blob, used[i], 64, &at), 0);
        for (size_t k = 0; k < used[i]; k++)
            blob.bytes[k] = (uint8_t)(k * 7);
        ck_assert_int_eq(nn_blob_take(&blob, &bytes, &size, &charged), 0);
        ck_assert_uint_eq(size, used[i]);
        ck_assert_uint_eq((uintptr_t)bytes % NN_BLOB_ALIGNMENT, 0);
        n_wrong = 0;
        for (size_t k = 0; k < used[i]; k++)
            n_wrong += bytes[k] != (uint8_t)(k * 7);
        ck_assert_uint_eq(n_wrong, 0);
        free(bytes);
    }
}
TEST_END

CHECK_MAIN("blob", a_blob_that_reserved_too_much_keeps_its_bytes)
