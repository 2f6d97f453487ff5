/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/pad/pad.h"

#include "base/stop.h"

#include <string.h>

/* Inner dimensions without padding are moved as one element: fewer, longer copies. */
void nn_pad_finish(struct nn_pad *pad)
{
    size_t step;

    while (pad->rank && !pad->before[pad->rank - 1] && !pad->after[pad->rank - 1])
        pad->element_bytes *= pad->dims[--pad->rank];

    step = pad->element_bytes;
    for (size_t i = pad->rank; i-- > 0;) {
        pad->steps[i] = step;
        step *= pad->before[i] + pad->dims[i] + pad->after[i];
    }
}

void nn_fill(void *out, size_t n, const void *value, size_t value_bytes)
{
    size_t n_bytes = n * value_bytes, n_done = value_bytes;

    if (n == 0)
        return;
    if (value_bytes == 1) {
        memset(out, *(const unsigned char *)value, n);
        return;
    }
    /* What is there is doubled until it is enough. */
    memcpy(out, value, value_bytes);
    while (n_done < n_bytes) {
        size_t n_more = n_done < n_bytes - n_done ? n_done : n_bytes - n_done;

        memcpy((char *)out + n_done, out, n_more);
        n_done += n_more;
    }
}

struct filler {
    const struct nn_pad *pad;
    const void *value;
    size_t value_bytes;
    const char *in;
};

static void fill_slabs(const struct filler *filler, size_t n_bytes, char *out)
{
    nn_fill(out, n_bytes / filler->value_bytes, filler->value, filler->value_bytes);
}

/* Of the margins of a slab, and of what is in it if that has no margins. */
static size_t slab_cost(const struct nn_pad *pad, size_t d)
{
    size_t n = pad->before[d] + pad->after[d] + (d + 1 == pad->rank ? pad->dims[d] : 0);

    return 10 + n * pad->steps[d] / 4;
}

/* Writes one slab of dimension d and everything in it; takes its input in order. */
static void pad_slab(struct filler *filler, size_t d, char *out)
{
    const struct nn_pad *pad = filler->pad;
    size_t step = pad->steps[d];

    if (nn_pace_ends(pad->pace, slab_cost(pad, d)))
        return;
    fill_slabs(filler, pad->before[d] * step, out);
    out += pad->before[d] * step;
    if (d + 1 == pad->rank) {
        memcpy(out, filler->in, pad->dims[d] * step);
        filler->in += pad->dims[d] * step;
    } else {
        for (size_t i = 0; i < pad->dims[d]; i++)
            pad_slab(filler, d + 1, out + i * step);
    }
    fill_slabs(filler, pad->after[d] * step, out + pad->dims[d] * step);
}

void nn_pad_value(const struct nn_pad *pad, const void *value, size_t value_bytes, const void *in,
                  void *out)
{
    struct filler filler = {pad, value, value_bytes, in};

    if (pad->rank == 0)
        memcpy(out, in, pad->element_bytes);
    else
        pad_slab(&filler, 0, out);
}

static void mirror_margins(const struct nn_pad *pad, size_t d, size_t edge, char *out)
{
    size_t step = pad->steps[d], before = pad->before[d], dim = pad->dims[d];
    const char *first = out + before * step;
    const char *last = first + (dim - 1) * step;

    for (size_t j = 0; j < before; j++)
        memcpy(out + j * step, first + (before - 1 - j + edge) * step, step);
    for (size_t j = 0; j < pad->after[d]; j++)
        memcpy(out + (before + dim + j) * step, last - (j + edge) * step, step);
}

static const char *mirror_slab(const struct nn_pad *pad, size_t d, size_t edge, const char *in,
                               char *out)
{
    size_t step = pad->steps[d];
    char *inner = out + pad->before[d] * step;

    if (nn_pace_ends(pad->pace, slab_cost(pad, d)))
        return in;
    if (d + 1 == pad->rank) {
        memcpy(inner, in, pad->dims[d] * step);
        in += pad->dims[d] * step;
    } else {
        for (size_t i = 0; i < pad->dims[d]; i++)
            in = mirror_slab(pad, d + 1, edge, in, inner + i * step);
    }
    mirror_margins(pad, d, edge, out);
    return in;
}

void nn_pad_mirror(const struct nn_pad *pad, size_t edge, const void *in, void *out)
{
    if (pad->rank == 0)
        memcpy(out, in, pad->element_bytes);
    else
        mirror_slab(pad, 0, edge, in, out);
}
