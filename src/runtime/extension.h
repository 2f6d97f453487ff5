/* SPDX-License-Identifier: Apache-2.0 */
/* extension.h - names of vendor extensions, and the prefixes that stand for them
 *
 * The upper 16 bits of an extension's types and operations are a prefix, which this process gives to
 * a name when an application first asks for it, and keeps. A name may be one that no device knows:
 * what is then made of it is refused where it is used. Types are known by what devices say of them;
 * where two devices contradict each other, neither is believed.
 * Threads: any. */
#ifndef NN_RUNTIME_EXTENSION_H
#define NN_RUNTIME_EXTENSION_H

#include "base/arena.h"
#include "runtime/result.h"

#include <nnhal/types.h>

#include <stdbool.h>

/* nn_rt_extension_get_prefix() - Returns: 0; BAD_DATA: the name is too long, or one too many;
 * -ENOMEM. */
int nn_rt_extension_get_prefix(const char *name, struct nn_why *why, uint32_t *ret_prefix);

/* nn_rt_extension_check_operation() - whether a device has the extension of an operation.
 * Returns: 0, BAD_DATA. */
int nn_rt_extension_check_operation(uint32_t type, struct nn_why *why);

/* nn_rt_extension_find_type() - an operand type, as devices describe it; it lives as long as the
 * process. Returns: 0, BAD_DATA. */
int nn_rt_extension_find_type(uint32_t type, struct nn_why *why,
                              const struct nnhal_extension_operand_type **ret_type);

/* nn_rt_extension_size() - bytes of an element of such a type; 0: it is not known. ctx is not used. */
uint32_t nn_rt_extension_size(const void *ctx, uint32_t type);

/* nn_rt_extension_bytes() - as nn_operand_bytes(), of an extension's type, too; 0 where its size is
 * not known. */
bool nn_rt_extension_bytes(uint32_t type, uint32_t n_dims, const uint32_t *dims,
                           uint64_t *ret_bytes);

/* nn_rt_extension_list() - the extensions that a model uses, in order of their names, from arena.
 * Returns: 0; BAD_DATA: too many; -ENOMEM. */
int nn_rt_extension_list(struct nnhal_model *model, struct nn_arena *arena, struct nn_why *why);

#endif
