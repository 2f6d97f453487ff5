/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/shape/strided.h"

#include "base/arith.h"

#include <assert.h>
#include <string.h>

/* Columns of a block: so many lines of 64 bytes fit a first level cache many times. */
#define BLOCK 32

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
struct step {
    size_t n;
    ptrdiff_t in, out;
};

struct nest {
    size_t n_steps;
    size_t run_bytes; /* moved by the innermost round */
    struct step steps[NN_STRIDED_MAX_LOOPS];
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
        nest->steps[i] = (struct step){
            .n = strided->n[i],
            .in = (ptrdiff_t)(strided->in_steps[i] * strided->element_bytes),
            .out = (ptrdiff_t)out_step};
        out_step *= strided->n[i];
    }
}

/* One function per run length, so that it is a constant in its loop. */
#define DEFINE_COPY_ROW(bytes)                                                                     \
    static void copy_row_##bytes(const struct step *step, size_t n, const char *in, char *out)     \
    {                                                                                              \
        const ptrdiff_t in_step = step->in, out_step = step->out;                                  \
                                                                                                   \
        for (size_t i = 0; i < n; i++, in += in_step, out += out_step)                             \
            memcpy(out, in, bytes);                                                                \
    }

DEFINE_COPY_ROW(1)
DEFINE_COPY_ROW(2)
DEFINE_COPY_ROW(4)
DEFINE_COPY_ROW(8)
DEFINE_COPY_ROW(16)

static void copy_row(const struct step *step, size_t n, size_t run_bytes, const char *in, char *out)
{
    switch (run_bytes) {
    case 1:
        copy_row_1(step, n, in, out);
        break;
    case 2:
        copy_row_2(step, n, in, out);
        break;
    case 4:
        copy_row_4(step, n, in, out);
        break;
    case 8:
        copy_row_8(step, n, in, out);
        break;
    case 16:
        copy_row_16(step, n, in, out);
        break;
    default:
        for (size_t i = 0; i < n; i++, in += step->in, out += step->out)
            memcpy(out, in, run_bytes);
    }
}

/* The two innermost loops in blocks: in a transposition the columns jump from
 * line to line of the input, and a block comes back while its lines are warm. */
static void copy_plane(const struct step *rows, const struct step *columns, size_t run_bytes,
                       const char *in, char *out)
{
    for (size_t j = 0; j < columns->n; j += BLOCK) {
        size_t n = columns->n - j < BLOCK ? columns->n - j : BLOCK;
        const char *in_row = in + (ptrdiff_t)j * columns->in;
        char *out_row = out + (ptrdiff_t)j * columns->out;

        for (size_t i = 0; i < rows->n; i++, in_row += rows->in, out_row += rows->out)
            copy_row(columns, n, run_bytes, in_row, out_row);
    }
}

static void copy_steps(const struct nest *nest, const struct step *step, const char *in, char *out)
{
    size_t n_left = (size_t)(nest->steps + nest->n_steps - step);

    if (n_left == 0)
        memcpy(out, in, nest->run_bytes);
    else if (n_left == 1)
        copy_row(step, step->n, nest->run_bytes, in, out);
    else if (n_left == 2)
        copy_plane(step, step + 1, nest->run_bytes, in, out);
    else
        for (size_t i = 0; i < step->n; i++, in += step->in, out += step->out)
            copy_steps(nest, step + 1, in, out);
}

void nn_strided_copy(const struct nn_strided *strided, size_t begin, size_t end, const void *in,
                     void *out)
{
    const char *from = (const char *)in + strided->in_first * (ptrdiff_t)strided->element_bytes;
    struct nest nest;

    for (uint32_t i = 0; i < strided->n_loops; i++)
        if (strided->n[i] == 0)
            return;
    make_nest(strided, &nest);
    if (nest.n_steps == 0) {
        memcpy(out, from, nest.run_bytes);
    } else if (nest.n_steps == 1 && nest.steps[0].in == (ptrdiff_t)nest.run_bytes) {
        /* Everything is one run. */
        memcpy((char *)out + begin * nest.run_bytes, from + begin * nest.run_bytes,
               (end - begin) * nest.run_bytes);
    } else {
        from += (ptrdiff_t)begin * nest.steps[0].in;
        nest.steps[0].n = end - begin;
        copy_steps(&nest, nest.steps, from, (char *)out + begin * (size_t)nest.steps[0].out);
    }
}
