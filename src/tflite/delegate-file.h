/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-file.h - the file that an interpreter's constants lie in
 *
 * TensorFlow Lite maps the file of a model, and its constants are pointers into that mapping. A
 * device in another process cannot use them, but it can map the same file: so constants are passed
 * without a copy. The kernel tells which file lies behind an address (/proc/self/maps). A model that
 * was loaded from memory has no file; its constants are copied once, when it is built. */
#ifndef NN_TFLITE_DELEGATE_FILE_H
#define NN_TFLITE_DELEGATE_FILE_H

#include "tflite/graph.h"

#include <android/NeuralNetworks.h>

/* tfl_file_place_constants() - finds the file behind the graph's constants and sets the file_offset
 * of those that lie in it. Only a file that is mapped for reading alone, and that its name still
 * leads to, is used.
 * Returns: the memory, which the caller frees; NULL: there is no such file. */
ANeuralNetworksMemory *tfl_file_place_constants(struct tfl_graph *graph);

#endif
