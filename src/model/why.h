/* SPDX-License-Identifier: Apache-2.0 */
/* why.h - the sentence that goes with a refusal
 *
 * A function that checks a model, an operation or a request says in one sentence what
 * is wrong and what would be right, for the person who made the model. A
 * nn_why is the caller's, is never allocated, and holds the sentence of the
 * last refusal; it is empty while nothing was refused. NULL is allowed
 * everywhere a why is taken: then no sentence is made. */
#ifndef NN_MODEL_WHY_H
#define NN_MODEL_WHY_H

#include <stdarg.h>

#define NN_WHY_BYTES 320

struct nn_why {
    char text[NN_WHY_BYTES];
};

/* NN_REFUSED: what every judging function of model/ returns when it refuses.
 * It is an outcome (positive): the input is at fault, not the machine. */
enum {
    NN_REFUSED = 1,
};

/* nn_why_clear() - what {0} does, for who makes one at each call: the text alone is 320 bytes. */
static inline void nn_why_clear(struct nn_why *why)
{
    why->text[0] = '\0';
}

/* nn_refuse() - writes the sentence (cut if too long).
 * Returns: always NN_REFUSED, so that a rule reads
 *     if (rank > 4) return nn_refuse(why, "input 0 has rank %u, at most 4 is allowed", rank); */
int nn_refuse(struct nn_why *why, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* nn_why_prefix() - puts words before the sentence that is there:
 * "operation 3 (CONV_2D): " and the like. Returns: always NN_REFUSED. */
int nn_why_prefix(struct nn_why *why, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

#endif
