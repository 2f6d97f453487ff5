/* SPDX-License-Identifier: Apache-2.0 */
/* color.h - a model that looks at a whole frame: its mean color
 *
 * It stands for any work on frames. Input: one frame of 224 x 224
 * pixels of 3 bytes; output: 3 bytes. */
#ifndef NNHAL_EXAMPLES_COLOR_H
#define NNHAL_EXAMPLES_COLOR_H

#include <android/NeuralNetworks.h>

enum { COLOR_SIDE = 224, COLOR_BYTES = COLOR_SIDE * COLOR_SIDE * 3 };

/* color_compile() - NULL if the library refuses it; the sentence is printed. */
ANeuralNetworksCompilation *color_compile(void);

/* color_of() - executes on a frame that lies in memory, length bytes of it (0: all of a
 * hardware buffer). Returns: whether it went well; the sentence is printed if not. */
bool color_of(ANeuralNetworksCompilation *compilation, const ANeuralNetworksMemory *frame,
              size_t length, uint8_t ret_color[3]);

#endif
