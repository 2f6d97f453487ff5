/* SPDX-License-Identifier: Apache-2.0 */
/* lateness.h - how much later than promised a wait may end
 *
 * Where NN_TEST_ROUNDS is set, in the suite slow, nothing else runs on the machine: a thread that is
 * woken runs soon. Otherwise any machine, with any load, has 2 s. */
#ifndef NN_TESTS_LATENESS_H
#define NN_TESTS_LATENESS_H

#include <stdint.h>
#include <stdlib.h>

/* late_ns() - beyond what SPECIFICATION.md says. */
static inline uint64_t late_ns(void)
{
    return getenv("NN_TEST_ROUNDS") ? UINT64_C(20000000) : UINT64_C(2000000000);
}

#endif
