/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-token.h - what a part of a model is called in a cache
 *
 * The user names the model; the token distinguishes its parts, the shapes that they have, and what
 * else changes what is compiled. Constants are not read: a model with other weights needs another
 * name, as with TensorFlow Lite's own delegates. */
#ifndef NN_TFLITE_DELEGATE_TOKEN_H
#define NN_TFLITE_DELEGATE_TOKEN_H

#include "tflite/delegate-options.h"
#include "tflite/graph.h"

/* tfl_token_make() - the token for a graph whose constants have been placed in their file. */
void tfl_token_make(const struct tfl_settings *settings, const struct tfl_graph *graph,
                    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN]);

/* tfl_graph_hash() - tells graphs apart, but not by the shapes of their tensors. */
uint64_t tfl_graph_hash(const struct tfl_graph *graph);

#endif
