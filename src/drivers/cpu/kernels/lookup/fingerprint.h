/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.h - FarmHash's Fingerprint64
 *
 * LSH_PROJECTION is defined by this function: a hash of bytes that is the same
 * on every machine and in every version. */
#ifndef NN_CPU_LOOKUP_FINGERPRINT_H
#define NN_CPU_LOOKUP_FINGERPRINT_H

#include "base/stop.h"

#include <stddef.h>
#include <stdint.h>

/* nn_fingerprint64() - of any number of bytes, also none; not of all if the pace ends. */
uint64_t nn_fingerprint64(const void *bytes, size_t n_bytes, struct nn_pace *pace);

#endif
