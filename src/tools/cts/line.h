/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - what a section's process tells its judge, through a pipe */
#ifndef NN_TOOLS_CTS_LINE_H
#define NN_TOOLS_CTS_LINE_H

#include <limits.h>
#include <stdint.h>

enum cts_line_kind {
    CTS_LINE_BEGIN = 0, /* text: the name of the check */
    CTS_LINE_END,       /* text: why it failed */
    CTS_LINE_DEVICE,    /* text: what the driver calls its device */
    CTS_LINE_ALIVE,     /* a check of many computations goes on */
};

/* Written at once, so that lines of several threads do not mix. */
struct cts_line {
    uint32_t kind;
    uint32_t outcome; /* enum nnt_outcome */
    char text[496];
};
_Static_assert(sizeof(struct cts_line) <= PIPE_BUF, "a line is written at once");

#endif
