/* SPDX-License-Identifier: Apache-2.0 */
/* model-validate.c - any spoilt model is judged, and used if it is found valid
 *
 * The input is a list of mutations of eight bytes each, applied to a model that
 * has everything. */
#include "fuzz.h"

#include "model/exercise.h"
#include "model/mutate.h"

#define MAX_MUTATIONS 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static struct maker maker;
    struct mutation mutation;
    bool is_valid;

    maker_make_full(&maker);
    for (size_t i = 0; i < MAX_MUTATIONS && n_bytes >= sizeof(mutation); i++) {
        memcpy(&mutation, bytes, sizeof(mutation));
        mutate(&maker, &mutation);
        bytes += sizeof(mutation);
        n_bytes -= sizeof(mutation);
    }
    FUZZ_CHECK(exercise(&maker, &is_valid));
    return 0;
}
