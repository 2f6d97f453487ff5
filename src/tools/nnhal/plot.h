/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - how times are distributed, as a picture
 *
 * An SVG file with a curve per series: over a logarithmic axis of time, which
 * share of the series lies there. Steps of an eighth of a doubling. */
#ifndef NN_TOOLS_NNHAL_PLOT_H
#define NN_TOOLS_NNHAL_PLOT_H

#include <stdint.h>

struct plot_series {
    const char *name;
    uint32_t n_times;
    const uint64_t *times_ns; /* in ascending order */
};

/* plot_write() - 1 to 4 series of at least one time each. Returns: 0, -1 with errno. */
int plot_write(const char *path, const char *title, const struct plot_series *series,
               uint32_t n_series);

#endif
