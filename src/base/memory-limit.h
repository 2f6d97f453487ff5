/* SPDX-License-Identifier: Apache-2.0 */
/* memory-limit.h - how much memory this process may take
 *
 * The least of the machine's memory and of what each control group allows that the process is in:
 * memory.max and memory.high (version 2), memory.limit_in_bytes (version 1), of its own group and
 * of every group above it. What cannot be read sets no limit: a container shows its own group as
 * the root, and some machines have one version for memory and the other for the rest. */
#ifndef NN_BASE_MEMORY_LIMIT_H
#define NN_BASE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nn_memory_limit() - in bytes; UINT64_MAX: none is known. Reads files, through base/sys.h: call it
 * before a sandbox is closed. Any thread. */
uint64_t nn_memory_limit(void);

/* nn_memory_parse() - "25%" of whole, "512M" (K, M, G: times 1024), "1073741824", or "none":
 * UINT64_MAX. Returns: false, *ret_bytes as it was, for anything else. */
bool nn_memory_parse(const char *text, uint64_t whole, uint64_t *ret_bytes);

/* nn_memory_print() - "2.1 GiB", "300 bytes": for sentences. Cuts what n_text bytes do not hold. */
void nn_memory_print(uint64_t n_bytes, char *text, size_t n_text);

#endif
