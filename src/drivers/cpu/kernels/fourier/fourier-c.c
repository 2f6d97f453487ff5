/* SPDX-License-Identifier: Apache-2.0 */
/* RFFT2D, COMPLEX_ABS, REAL and IMAG of nnhal.tflite, plain C
 *
 * RFFT2D transforms each matrix of the last two dimensions: its rows, of which the first half is kept,
 * the other being its conjugate, then its columns. Both are the iterative radix-2 algorithm (Cooley
 * and Tukey, 1965) in double; between them, and in the end, a value is rounded to float. The
 * roots of unity are the step's weights. */
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/kernel.h"
#include "model/operands.h"
#include "model/ops.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct complex {
    double re, im;
};

/* Butterflies between two looks whether to stop, and what one costs. */
enum { PIECE = 4096, BUTTERFLY_NS = 3, ELEMENT_NS = 4 };

struct rfft {
    const struct nn_kernel_args *args;
    size_t in_rows, in_columns, rows, columns,
        kept; /* kept: complex numbers in a row of the output */
    size_t n_matrices, n_roots;
    const struct complex *roots; /* of unity: exp(-2 pi i k / (2 n_roots)) */
};

/* ---- the transform of a vector ---- */

/* Index j counts with its bits reversed: a carry goes to the right. */
static void reverse_bits(struct complex *v, size_t n, struct nn_pace *pace)
{
    for (size_t i = 0, j = 0, bit; i < n; i++) {
        if (i % PIECE == 0 && nn_pace_ends(pace, nn_min_size(PIECE, n) * BUTTERFLY_NS))
            return;
        if (i < j) {
            struct complex kept = v[i];

            v[i] = v[j];
            v[j] = kept;
        }
        for (bit = n / 2; j & bit; bit /= 2)
            j ^= bit;
        j |= bit;
    }
}

static void butterfly(struct complex *low, struct complex *high, struct complex root)
{
    struct complex turned = {high->re * root.re - high->im * root.im,
                             high->re * root.im + high->im * root.re};

    *high = (struct complex){low->re - turned.re, low->im - turned.im};
    *low = (struct complex){low->re + turned.re, low->im + turned.im};
}

/* n of them, of elements that are half apart, with every step-th root. */
static void butterflies(struct complex *low, size_t half, const struct complex *roots, size_t step,
                        size_t n)
{
    for (size_t k = 0; k < n; k++)
        butterfly(&low[k], &low[half + k], roots[k * step]);
}

/* n is a power of two, at most twice the number of roots. */
static void transform(const struct rfft *fft, struct complex *v, size_t n, struct nn_pace *pace)
{
    reverse_bits(v, n, pace);
    for (size_t half = 1; half < n; half *= 2) {
        size_t piece = nn_min_size(PIECE, half), step = fft->n_roots / half;

        for (size_t first = 0; first < n; first += 2 * half)
            for (size_t k = 0; k < half; k += piece) {
                if (nn_pace_ends(pace, piece * BUTTERFLY_NS))
                    return;
                butterflies(v + first + k, half, fft->roots + k * step, step, piece);
            }
    }
}

/* ---- rows and columns ---- */

static float *output_row(const struct rfft *fft, size_t row)
{
    return (float *)fft->args->outputs[0].data + row * fft->kept * 2;
}

/* The numbers of a row of the input, and zeros behind them; all zeros where the input has no such row. */
static void take_row(const struct rfft *fft, size_t row, struct complex *v, struct nn_pace *pace)
{
    size_t in_row = row % fft->rows, n = nn_min_size(fft->in_columns, fft->columns);
    const float *in = fft->args->inputs[0].data;

    if (in_row >= fft->in_rows)
        n = 0;
    in += (row / fft->rows * fft->in_rows + in_row) * fft->in_columns;
    for (size_t k = 0; k < fft->columns; k++) {
        if (k % PIECE == 0 && nn_pace_ends(pace, nn_min_size(PIECE, fft->columns) * ELEMENT_NS))
            return;
        v[k] = (struct complex){k < n ? in[k] : 0, 0};
    }
}

static void keep_row(const struct rfft *fft, size_t row, const struct complex *v,
                     struct nn_pace *pace)
{
    float *out = output_row(fft, row);

    for (size_t k = 0; k < fft->kept; k++) {
        if (k % PIECE == 0 && nn_pace_ends(pace, nn_min_size(PIECE, fft->kept) * ELEMENT_NS))
            return;
        out[2 * k] = (float)v[k].re;
        out[2 * k + 1] = (float)v[k].im;
    }
}

/* Item: a row of the output. */
static void transform_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct rfft *fft = ctx;
    struct complex *v = nn_worker_scratch(fft->args, worker);
    struct nn_pace pace = nn_pace(fft->args->stop);

    for (size_t i = begin; i < end; i++) {
        take_row(fft, i, v, &pace);
        transform(fft, v, fft->columns, &pace);
        keep_row(fft, i, v, &pace);
    }
}

/* Item: a column of a matrix of the output. */
static void transform_columns(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct rfft *fft = ctx;
    struct complex *v = nn_worker_scratch(fft->args, worker);
    struct nn_pace pace = nn_pace(fft->args->stop);

    for (size_t i = begin; i < end; i++) {
        float *out = output_row(fft, i / fft->kept * fft->rows) + i % fft->kept * 2;

        for (size_t k = 0; k < fft->rows; k++)
            v[k] = (struct complex){out[k * fft->kept * 2], out[k * fft->kept * 2 + 1]};
        transform(fft, v, fft->rows, &pace);
        for (size_t k = 0; k < fft->rows; k++) {
            out[k * fft->kept * 2] = (float)v[k].re;
            out[k * fft->kept * 2 + 1] = (float)v[k].im;
        }
    }
}

/* ---- RFFT2D ---- */

/* Half of the longer length, at least one. */
static size_t count_roots(size_t rows, size_t columns)
{
    size_t longest = rows > columns ? rows : columns;

    return longest > 1 ? longest / 2 : 1;
}

/* The length of a row of which so many complex numbers are kept. */
static size_t length_of(size_t kept)
{
    return kept == 1 ? 1 : (kept - 1) * 2;
}

static int lower_rfft(struct nn_lower *lower)
{
    const struct nn_lower_operand *out = &lower->outputs[0];
    size_t n = count_roots(out->dims[out->n_dims - 2], length_of(out->dims[out->n_dims - 1] / 2));
    struct complex *roots = nn_lower_weights(lower, n * sizeof(*roots));
    struct nn_pace pace = nn_pace(lower->stop);

    if (!roots)
        return -ENOMEM;
    for (size_t k = 0; k < n && !nn_pace_ends(&pace, 60); k++) {
        double angle = -M_PI * (double)k / (double)n;

        roots[k] = (struct complex){cos(angle), sin(angle)};
    }
    return 0;
}

static size_t cost_of(size_t n)
{
    size_t cost = n * ELEMENT_NS;

    for (size_t half = 1; half < n; half *= 2)
        cost += n / 2 * BUTTERFLY_NS;
    return cost;
}

static int nn_rfft2d__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *in = &args->inputs[0], *out = &args->outputs[0];
    uint32_t last = in->n_dims - 1;
    struct rfft fft = {
        .args = args,
        .in_rows = in->dims[last - 1],
        .in_columns = in->dims[last],
        .rows = out->dims[last - 1],
        .kept = out->dims[last] / 2,
        .roots = (const struct complex *)(const void *)args->weights,
    };

    fft.columns = length_of(fft.kept);
    fft.n_roots = count_roots(fft.rows, fft.columns);
    fft.n_matrices = nn_tensor_count(out) / (fft.rows * fft.kept * 2);
    nn_parallel_for(args, fft.n_matrices * fft.rows, cost_of(fft.columns), transform_rows, &fft);
    if (fft.rows > 1)
        nn_parallel_for(args, fft.n_matrices * fft.kept, cost_of(fft.rows), transform_columns,
                        &fft);
    return 0;
}

static bool find_rfft_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct nn_tensor *out = &step->outputs[0];
    size_t rows = out->dims[out->n_dims - 2], columns = length_of(out->dims[out->n_dims - 1] / 2);

    ret->worker_bytes = (rows > columns ? rows : columns) * sizeof(struct complex);
    return true;
}

static bool is_power_of_two(size_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Shapes of a plan that comes from a file. */
static bool check_rfft(const struct nn_kernel_step *step)
{
    const struct nn_tensor *in = &step->inputs[0], *out = &step->outputs[0];
    uint32_t n = out->n_dims;

    return n >= 2 && in->n_dims == n && out->dims[n - 1] >= 2 && out->dims[n - 1] % 2 == 0 &&
           is_power_of_two(out->dims[n - 2]) && is_power_of_two(length_of(out->dims[n - 1] / 2)) &&
           memcmp(in->dims, out->dims, (n - 2) * sizeof(in->dims[0])) == 0 &&
           count_roots(out->dims[n - 2], length_of(out->dims[n - 1] / 2)) <=
               step->weights_bytes / sizeof(struct complex);
}

/* ---- COMPLEX_ABS, REAL, IMAG ---- */

/* In double no square of a float overflows. */
static float magnitude(const float *pair)
{
    return (float)sqrt((double)pair[0] * pair[0] + (double)pair[1] * pair[1]);
}

static void abs_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_kernel_args *args = ctx;
    const float *in = args->inputs[0].data;
    float *out = args->outputs[0].data;

    (void)worker;
    for (size_t i = begin; i < end; i++)
        out[i] = magnitude(in + 2 * i);
}

static void part_range(const struct nn_kernel_args *args, size_t begin, size_t end, size_t part)
{
    const float *in = args->inputs[0].data;
    float *out = args->outputs[0].data;

    for (size_t i = begin; i < end; i++)
        out[i] = in[2 * i + part];
}

static void real_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    part_range(ctx, begin, end, 0);
}

static void imag_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    part_range(ctx, begin, end, 1);
}

static int run_pairs(const struct nn_kernel_args *args, size_t cost, nn_range_fn fn)
{
    nn_parallel_for(args, nn_tensor_count(&args->outputs[0]), cost, fn, (void *)args);
    return 0;
}

static int nn_complex_abs__c(const struct nn_kernel_args *args)
{
    return run_pairs(args, 6, abs_range);
}

static int nn_real__c(const struct nn_kernel_args *args)
{
    return run_pairs(args, 1, real_range);
}

static int nn_imag__c(const struct nn_kernel_args *args)
{
    return run_pairs(args, 1, imag_range);
}

static bool check_pairs(const struct nn_kernel_step *step)
{
    return step->inputs[0].size / 2 == step->outputs[0].size;
}

static const struct nn_kernel kernels[] = {
    {NN_TFLITE_ROW("rfft2d__c", RFFT2D), .needs_value = 1 << NN_RFFT_LENGTHS, .lower = lower_rfft,
     .run = nn_rfft2d__c, .check = check_rfft, .find_scratch = find_rfft_scratch},
    {NN_TFLITE_ROW("complex_abs__c", COMPLEX_ABS), .run = nn_complex_abs__c, .check = check_pairs},
    {NN_TFLITE_ROW("real__c", REAL), .run = nn_real__c, .check = check_pairs},
    {NN_TFLITE_ROW("imag__c", IMAG), .run = nn_imag__c, .check = check_pairs},
};
NN_KERNEL_FAMILY(fourier, kernels);
