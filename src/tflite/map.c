/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/map.h"

#include <errno.h>
#include <string.h>

static const struct tfl_mapping *const families[] = {
    tfl_map_elementwise, tfl_map_layers, tfl_map_shape, tfl_map_reduce, tfl_map_recurrent,
};

void tfl_map(struct tfl_builder *b)
{
    if (b->op->code == TFL_CUSTOM && strcmp(b->op->name, "TFLite_Detection_PostProcess") == 0) {
        tfl_map_detection(b);
        return;
    }
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        for (const struct tfl_mapping *row = families[i]; row->map; row++)
            if (row->code == b->op->code) {
                row->map(b);
                return;
            }
    tfl_fail(b, -ENOTSUP, "NNAPI has no such operation");
}
