/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/pad/pad.h"

#include "base/stop.h"
#include "drivers/cpu/kernels/kernel.h"

#include <stdbool.h>
#include <string.h>

static bool has_margin(const struct nn_pad *pad, size_t d)
{
    return pad->before[d] || pad->after[d];
}

/* Dimension d and the one around it, neither of which has a margin, become one. */
static void join_dimension(struct nn_pad *pad, size_t d)
{
    pad->dims[d - 1] *= pad->dims[d];
    pad->rank--;
    for (; d < pad->rank; d++) {
        pad->dims[d] = pad->dims[d + 1];
        pad->before[d] = pad->before[d + 1];
        pad->after[d] = pad->after[d + 1];
    }
}

/* Inner dimensions without padding are moved as one element: fewer, longer copies. Of others there
 * are fewer to count through. */
void nn_pad_finish(struct nn_pad *pad)
{
    size_t step;

    while (pad->rank && !has_margin(pad, pad->rank - 1))
        pad->element_bytes *= pad->dims[--pad->rank];
    for (size_t d = pad->rank; d-- > 1;)
        if (!has_margin(pad, d) && !has_margin(pad, d - 1))
            join_dimension(pad, d);

    step = pad->element_bytes;
    for (size_t i = pad->rank; i-- > 0;) {
        pad->steps[i] = step;
        step *= pad->before[i] + pad->dims[i] + pad->after[i];
    }
}

static bool has_equal_bytes(const unsigned char *value, size_t n_bytes)
{
    for (size_t i = 1; i < n_bytes; i++)
        if (value[i] != value[0])
            return false;
    return true;
}

void nn_fill(void *out, size_t n, const void *value, size_t value_bytes)
{
    size_t n_bytes = n * value_bytes, n_done = value_bytes;

    if (n == 0)
        return;
    if (has_equal_bytes(value, value_bytes)) {
        memset(out, *(const unsigned char *)value, n_bytes);
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

/* ---- one value ---- */

/* A row is the last dimension: [..., before + dims + after]. */
struct filler {
    const struct nn_pad *pad;
    const void *value;
    size_t value_bytes;
    const char *in;
    char *out;
    struct nn_stop *stop;
};

static size_t padded(const struct nn_pad *pad, size_t d)
{
    return pad->before[d] + pad->dims[d] + pad->after[d];
}

/* Where row of the output is, in the dimensions around it. */
static void row_find(const struct nn_pad *pad, size_t row, size_t *ret_at)
{
    for (size_t d = pad->rank - 1; d-- > 0; row /= padded(pad, d))
        ret_at[d] = row % padded(pad, d);
}

static void row_next(const struct nn_pad *pad, size_t *at)
{
    for (size_t d = pad->rank - 1; d-- > 0; at[d] = 0)
        if (++at[d] < padded(pad, d))
            return;
}

/* The row's number in the input. Returns: whether it is there, and no margin. */
static bool row_in_input(const struct nn_pad *pad, const size_t *at, size_t *ret_row)
{
    size_t row = 0;

    for (size_t d = 0; d + 1 < pad->rank; d++) {
        if (at[d] < pad->before[d] || at[d] - pad->before[d] >= pad->dims[d])
            return false;
        row = row * pad->dims[d] + at[d] - pad->before[d];
    }
    *ret_row = row;
    return true;
}

/* Values that are filled in between two looks whether to stop. */
enum { PIECE = 16384 };

static char *fill_cells(const struct filler *filler, size_t n_cells, char *out,
                        struct nn_pace *pace)
{
    size_t n_bytes = n_cells * filler->pad->element_bytes, n = n_bytes / filler->value_bytes;

    for (size_t at = 0; at < n; at += PIECE) {
        size_t n_now = n - at < PIECE ? n - at : PIECE;

        if (nn_pace_ends(pace, n_now * filler->value_bytes / 2))
            break;
        nn_fill(out + at * filler->value_bytes, n_now, filler->value, filler->value_bytes);
    }
    return out + n_bytes;
}

static void pad_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct filler *filler = ctx;
    const struct nn_pad *pad = filler->pad;
    size_t last = pad->rank - 1, n_inside = pad->dims[last] * pad->element_bytes;
    char *out = filler->out + begin * padded(pad, last) * pad->element_bytes;
    struct nn_pace pace = nn_pace(filler->stop);
    size_t at[NNHAL_MAX_RANK], in;

    (void)worker;
    row_find(pad, begin, at);
    for (size_t row = begin; row < end; row++, row_next(pad, at)) {
        if (!row_in_input(pad, at, &in)) {
            out = fill_cells(filler, padded(pad, last), out, &pace);
            continue;
        }
        out = fill_cells(filler, pad->before[last], out, &pace);
        nn_pace_copy(&pace, out, filler->in + in * n_inside, n_inside);
        out = fill_cells(filler, pad->after[last], out + n_inside, &pace);
    }
}

void nn_pad_value(const struct nn_kernel_args *args, const struct nn_pad *pad, const void *value,
                  size_t value_bytes, const void *in, void *out)
{
    struct filler filler = {pad, value, value_bytes, in, out, args->stop};
    struct nn_pace pace = nn_pace(args->stop);
    size_t n_rows = 1;

    if (pad->rank == 0) {
        nn_pace_copy(&pace, out, in, pad->element_bytes);
        return;
    }
    for (size_t d = 0; d + 1 < pad->rank; d++)
        n_rows *= padded(pad, d);
    nn_parallel_for(args, n_rows, 10 + padded(pad, pad->rank - 1) * pad->element_bytes / 8,
                    pad_rows, &filler);
}

/* ---- reflections ---- */

/* Of the margins of a slab, and of what is in it if that has no margins. */
static size_t slab_cost(const struct nn_pad *pad, size_t d)
{
    size_t n = pad->before[d] + pad->after[d] + (d + 1 == pad->rank ? pad->dims[d] : 0);

    return 10 + n * pad->steps[d] / 4;
}

static void mirror_margins(const struct nn_pad *pad, size_t d, size_t edge, char *out)
{
    size_t step = pad->steps[d], before = pad->before[d], dim = pad->dims[d];
    const char *first = out + before * step;
    const char *last = first + (dim - 1) * step;

    for (size_t j = 0; j < before; j++)
        nn_pace_copy(pad->pace, out + j * step, first + (before - 1 - j + edge) * step, step);
    for (size_t j = 0; j < pad->after[d]; j++)
        nn_pace_copy(pad->pace, out + (before + dim + j) * step, last - (j + edge) * step, step);
}

static const char *mirror_slab(const struct nn_pad *pad, size_t d, size_t edge, const char *in,
                               char *out)
{
    size_t step = pad->steps[d];
    char *inner = out + pad->before[d] * step;

    if (nn_pace_ends(pad->pace, slab_cost(pad, d)))
        return in;
    if (d + 1 == pad->rank) {
        nn_pace_copy(pad->pace, inner, in, pad->dims[d] * step);
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
        nn_pace_copy(pad->pace, out, in, pad->element_bytes);
    else
        mirror_slab(pad, 0, edge, in, out);
}
