/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-shapes.h - which shapes of a subgraph are known before it runs
 *
 * A shape that depends on what a tensor holds is known when the graph runs. The interpreter marks such
 * tensors when it prepares the operations, which it may not have done when a delegate is asked; so
 * they are found here by what makes them. */
#ifndef NN_TFLITE_DELEGATE_SHAPES_H
#define NN_TFLITE_DELEGATE_SHAPES_H

#include "tflite/delegate-graph.h"

/* tfl_shapes_find_open() - sets is_open, one for each operator of the view, for those that read or
 * put out a tensor whose shape is not known.
 * Returns: 0, -ENOMEM. */
int tfl_shapes_find_open(const struct lite_context *context, const struct tfl_view *view,
                         bool *is_open);

#endif
