/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/shape/strided.h"

#include "base/arith.h"
#include "base/stop.h"

#include <assert.h>
#include <string.h>

void nn_strided_init(struct nn_strided *strided, uint32_t element_bytes)
{
    strided->n_loops = 0;
    strided->element_bytes = element_bytes;
    strided->in_first = 0;
}

/* Two loops are one if the inner one ends where the outer one's next round begins. */
void nn_strided_add(struct nn_strided *strided, uint32_t n, int64_t in_step)
{
    uint32_t last = strided->n_loops - 1;

    if (n == 1)
        return;
    if (strided->n_loops && strided->n[last] && strided->in_steps[last] == (int64_t)n * in_step) {
        strided->n[last] *= n;
        strided->in_steps[last] = in_step;
        return;
    }
    assert(strided->n_loops < NN_STRIDED_MAX_LOOPS);
    strided->n[last + 1] = n;
    strided->in_steps[last + 1] = in_step;
    strided->n_loops++;
}

/* How far a loop reaches; false if that is beyond any tensor. */
static bool loop_reach(const struct nn_strided *strided, uint32_t i, int64_t *ret)
{
    const int64_t limit = INT64_C(1) << 33;
    int64_t step = strided->in_steps[i];

    if (step > limit || step < -limit)
        return false;
    if (__builtin_mul_overflow((int64_t)strided->n[i] - 1, step, ret))
        return false;
    return *ret <= limit && *ret >= -limit;
}

bool nn_strided_fits(const struct nn_strided *strided, uint64_t in_bytes, uint64_t out_bytes)
{
    int64_t lowest = strided->in_first, highest = strided->in_first;
    uint64_t n_bytes = strided->element_bytes;

    if (strided->n_loops > NN_STRIDED_MAX_LOOPS || n_bytes == 0 || strided->in_first < 0 ||
        strided->in_first > UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < strided->n_loops; i++) {
        int64_t reach;

        if (!nn_mul_u64(n_bytes, strided->n[i], &n_bytes) || !loop_reach(strided, i, &reach))
            return false;
        *(reach < 0 ? &lowest : &highest) += reach;
    }
    if (n_bytes != out_bytes)
        return false;
    return n_bytes == 0 || (lowest >= 0 && (uint64_t)highest < in_bytes / strided->element_bytes);
}

size_t nn_strided_rounds(const struct nn_strided *strided)
{
    return strided->n_loops ? strided->n[0] : 1;
}

/* The loops with steps in bytes, for both sides, without a contiguous end. */
struct strided_step {
    size_t n;
    ptrdiff_t in, out;
};

struct nest {
    struct nn_pace *pace;
    size_t n_steps;
    size_t run_bytes; /* moved by the innermost round */
    struct strided_step steps[NN_STRIDED_MAX_LOOPS];
};

static void make_nest(const struct nn_strided *strided, struct nest *nest)
{
    size_t n_loops = strided->n_loops, out_step;

    nest->run_bytes = strided->element_bytes;
    /* The outermost loop stays a loop: it is what is split. */
    if (n_loops > 1 && strided->in_steps[n_loops - 1] == 1)
        nest->run_bytes *= strided->n[--n_loops];

    nest->n_steps = n_loops;
    out_step = nest->run_bytes;
    for (size_t i = n_loops; i-- > 0;) {
        nest->steps[i] = (struct strided_step){
            .n = strided->n[i],
            .in = (ptrdiff_t)(strided->in_steps[i] * strided->element_bytes),
            .out = (ptrdiff_t)out_step};
        out_step *= strided->n[i];
    }
}

/* The two innermost loops in tiles: in a transposition the columns jump from
 * line to line of the input, perhaps to lines that exclude each other from the
 * cache, so few are taken at a time, and as many rows as use up their lines.
 * One function per run length, so that it is a constant in its loop. */
#define DEFINE_COPY_PLANE(bytes, tile_rows, tile_columns)                                          \
    static void copy_plane_##bytes(const struct strided_step *rows,                                \
                                   const struct strided_step *columns, const char *in, char *out)  \
    {                                                                                              \
        for (size_t top = 0; top < rows->n; top += (tile_rows))                                    \
            for (size_t left = 0; left < columns->n; left += (tile_columns)) {                     \
                size_t bottom = min_size(top + (tile_rows), rows->n);                              \
                size_t right = min_size(left + (tile_columns), columns->n);                        \
                                                                                                   \
                for (size_t i = top; i < bottom; i++) {                                            \
                    const char *from = in + (ptrdiff_t)i * rows->in +                              \
                                       (ptrdiff_t)left * columns->in;                              \
                    char *to = out + (ptrdiff_t)i * rows->out + (ptrdiff_t)left * columns->out;    \
                                                                                                   \
                    for (size_t j = left; j < right; j++) {                                        \
                        memcpy(to, from, bytes);                                                   \
                        from += columns->in;                                                       \
                        to += columns->out;                                                        \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
    }

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

DEFINE_COPY_PLANE(1, 256, 32)
DEFINE_COPY_PLANE(2, 32, 32)
DEFINE_COPY_PLANE(4, 16, 8)
DEFINE_COPY_PLANE(8, 16, 8)

/* Rows of 8 bytes as columns: blocks of 4, 2 and 1 bytes change places across the diagonal. */
static void transpose_block(const char *in, ptrdiff_t in_step, char *out, ptrdiff_t out_step)
{
    static const uint64_t masks[] = {UINT64_C(0x00000000ffffffff), UINT64_C(0x0000ffff0000ffff),
                                     UINT64_C(0x00ff00ff00ff00ff)};
    uint64_t words[8];

    for (int j = 0; j < 8; j++)
        memcpy(&words[j], in + j * in_step, sizeof(words[j]));
    for (int stage = 0, n = 4; stage < 3; stage++, n /= 2)
        for (int j = 0; j < 8; j++) {
            uint64_t changed;

            if (j & n)
                continue;
            changed = (words[j] >> (8 * n) ^ words[j + n]) & masks[stage];
            words[j + n] ^= changed;
            words[j] ^= changed << (8 * n);
        }
    for (int i = 0; i < 8; i++)
        memcpy(out + i * out_step, &words[i], sizeof(words[i]));
}

/* Bytes that are contiguous on both sides, across: blocks of 8 x 8, then what is left. */
static void transpose_bytes(const struct strided_step *rows, const struct strided_step *columns,
                            const char *in, char *out)
{
    size_t n_rows = rows->n / 8 * 8, n_columns = columns->n / 8 * 8;
    struct strided_step left = {columns->n - n_columns, columns->in, columns->out};
    struct strided_step below = {rows->n - n_rows, rows->in, rows->out};
    struct strided_step top = {n_rows, rows->in, rows->out};

    for (size_t i = 0; i < n_rows; i += 8)
        for (size_t j = 0; j < n_columns; j += 8)
            transpose_block(in + i + (ptrdiff_t)j * columns->in, columns->in,
                            out + (ptrdiff_t)i * rows->out + j, rows->out);
    if (left.n)
        copy_plane_1(&top, &left, in + (ptrdiff_t)n_columns * columns->in, out + n_columns);
    if (below.n)
        copy_plane_1(&below, columns, in + n_rows, out + (ptrdiff_t)n_rows * rows->out);
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;

    return *(const uint8_t *)&one == 1;
}

/* Longer runs fill lines by themselves. */
static void copy_runs(const struct strided_step *rows, const struct strided_step *columns,
                      const struct nest *nest, const char *in, char *out)
{
    for (size_t i = 0; i < rows->n; i++, in += rows->in, out += rows->out) {
        const char *from = in;
        char *to = out;

        for (size_t j = 0; j < columns->n; j++, from += columns->in, to += columns->out)
            nn_pace_copy(nest->pace, to, from, nest->run_bytes);
    }
}

static void copy_plane(const struct strided_step *rows, const struct strided_step *columns,
                       const struct nest *nest, const char *in, char *out)
{
    switch (nest->run_bytes) {
    case 1:
        if (rows->in == 1 && columns->out == 1 && is_little_endian())
            transpose_bytes(rows, columns, in, out);
        else
            copy_plane_1(rows, columns, in, out);
        break;
    case 2:
        copy_plane_2(rows, columns, in, out);
        break;
    case 4:
        copy_plane_4(rows, columns, in, out);
        break;
    case 8:
        copy_plane_8(rows, columns, in, out);
        break;
    default:
        copy_runs(rows, columns, nest, in, out);
    }
}

/* Columns that are copied between two looks. */
#define PART_COLUMNS ((size_t)512)

static void copy_plane_in_parts(const struct strided_step *rows, const struct strided_step *columns,
                                const struct nest *nest, const char *in, char *out)
{
    size_t cost_ns = rows->n + nn_pace_touch_ns(columns->in);

    for (size_t left = 0; left < columns->n; left += PART_COLUMNS) {
        size_t n = min_size(PART_COLUMNS, columns->n - left);
        struct strided_step part = {n, columns->in, columns->out};

        if (nn_pace_ends(nest->pace, n * cost_ns))
            return;
        copy_plane(rows, &part, nest, in + (ptrdiff_t)left * columns->in,
                   out + (ptrdiff_t)left * columns->out);
    }
}

static void copy_steps(const struct nest *nest, const struct strided_step *step, const char *in,
                       char *out)
{
    static const struct strided_step once = {.n = 1};
    size_t n_left = (size_t)(nest->steps + nest->n_steps - step);

    if (n_left == 0)
        nn_pace_copy(nest->pace, out, in, nest->run_bytes);
    else if (n_left == 1)
        copy_plane_in_parts(&once, step, nest, in, out);
    else if (n_left == 2)
        copy_plane_in_parts(step, step + 1, nest, in, out);
    else
        for (size_t i = 0; i < step->n; i++, in += step->in, out += step->out)
            copy_steps(nest, step + 1, in, out);
}

void nn_strided_copy(const struct nn_strided *strided, size_t begin, size_t end, const void *in,
                     void *out, struct nn_pace *pace)
{
    const char *from = (const char *)in + strided->in_first * (ptrdiff_t)strided->element_bytes;
    struct nest nest = {.pace = pace};

    for (uint32_t i = 0; i < strided->n_loops; i++)
        if (strided->n[i] == 0)
            return;
    make_nest(strided, &nest);
    if (nest.n_steps == 0) {
        nn_pace_copy(pace, out, from, nest.run_bytes);
    } else if (nest.n_steps == 1 && nest.steps[0].in == (ptrdiff_t)nest.run_bytes) {
        /* Everything is one run. */
        nn_pace_copy(pace, (char *)out + begin * nest.run_bytes, from + begin * nest.run_bytes,
                     (end - begin) * nest.run_bytes);
    } else {
        from += (ptrdiff_t)begin * nest.steps[0].in;
        nest.steps[0].n = end - begin;
        copy_steps(&nest, nest.steps, from, (char *)out + begin * (size_t)nest.steps[0].out);
    }
}
