/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - what an application sets of a compilation before finish()
 *
 * A call that fails changes nothing; of two calls the last counts, but for attributes, which add up. One
 * thread at a time. */
#ifndef NN_RUNTIME_COMPILATION_SETTINGS_H
#define NN_RUNTIME_COMPILATION_SETTINGS_H

#include "runtime/compilation/compilation.h"

/* One function per call of the API; Returns: as NeuralNetworks.h says, or -ENOMEM. */
int nn_rt_compilation_set_preference(ANeuralNetworksCompilation *compilation, int32_t preference,
                                     struct nn_why *why);
int nn_rt_compilation_set_priority(ANeuralNetworksCompilation *compilation, int priority,
                                   struct nn_why *why);
int nn_rt_compilation_set_timeout(ANeuralNetworksCompilation *compilation, uint64_t duration_ns,
                                  struct nn_why *why);
int nn_rt_compilation_set_caching(ANeuralNetworksCompilation *compilation, const char *path,
                                  const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_why *why);
int nn_rt_compilation_set_cache_files(ANeuralNetworksCompilation *compilation,
                                      const struct nn_rt_cache_files *files,
                                      const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                                      struct nn_why *why);
int nn_rt_compilation_set_deferred(ANeuralNetworksCompilation *compilation, bool is_deferred,
                                   struct nn_why *why);
int nn_rt_compilation_add_attribute(ANeuralNetworksCompilation *compilation,
                                    const struct nn_rt_attribute *attribute, struct nn_why *why);

#endif
