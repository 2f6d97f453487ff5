/* SPDX-License-Identifier: Apache-2.0 */
/* colour.h - a model that looks at a whole frame: its mean colour
 *
 * It stands for whatever one would do with frames. Input: one frame of 224 x 224
 * pixels of 3 bytes; output: 3 bytes. */
#ifndef NNHAL_EXAMPLES_COLOUR_H
#define NNHAL_EXAMPLES_COLOUR_H

#include <android/NeuralNetworks.h>

enum { COLOUR_SIDE = 224, COLOUR_BYTES = COLOUR_SIDE * COLOUR_SIDE * 3 };

/* colour_compile() - NULL if the library refuses it; the sentence is printed. */
ANeuralNetworksCompilation *colour_compile(void);

/* colour_of() - executes on a frame that lies in memory, length bytes of it (0: all of a
 * hardware buffer). Returns: whether it went well; the sentence is printed if not. */
bool colour_of(ANeuralNetworksCompilation *compilation, const ANeuralNetworksMemory *frame,
               size_t length, uint8_t ret_colour[3]);

#endif
