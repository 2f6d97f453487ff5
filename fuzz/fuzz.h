/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what a fuzz target is
 *
 * A target is one file that defines LLVMFuzzerTestOneInput(): it takes any
 * bytes and must neither crash nor find one of its own checks wrong. Linked
 * with libFuzzer it is searched (scripts/run-fuzz.py, make fuzz); linked with
 * replay.c it runs the files and folders that it is given, and changes of them, which is how
 * every meson test replays the corpus. */
#ifndef NN_FUZZ_FUZZ_H
#define NN_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* FUZZ_CHECK() - what must hold for every input; a finding if it does not. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
