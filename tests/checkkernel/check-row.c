/* SPDX-License-Identifier: Apache-2.0 */
#include "checkkernel/check-row.h"

#include "checkkernel/shapes.h"
#include "compiler/internal-op.h"
#include "model/types.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    TRIES =
        40, /* cases drawn for each that the row takes, before it counts as one that takes none */
    BENCH_NS = 40000000,
};

shapes_fn shapes_find(uint32_t operation)
{
    static const struct shapes *const tables[] = {shapes_elementwise, shapes_matrix, shapes_models,
                                                  shapes_moves,       shapes_slices, shapes_window};

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (size_t i = 0; tables[t][i].generate; i++)
            if (tables[t][i].operation == operation)
                return tables[t][i].generate;
    return NULL;
}

/* ---- what is wrong ---- */

static void append(struct check *check, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static void append(struct check *check, const char *format, ...)
{
    size_t n = strlen(check->why);
    va_list args;

    va_start(args, format);
    vsnprintf(check->why + n, sizeof(check->why) - n, format, args);
    va_end(args);
}

static void append_operand(struct check *check, const struct kernel_operand *operand)
{
    int32_t number = 0;

    if (operand->is_omitted) {
        append(check, " omitted");
        return;
    }
    if (operand->n_dims == 0 && operand->data && operand->size <= 4) {
        memcpy(&number, operand->data, operand->size);
        if (operand->type == NNHAL_FLOAT32 || operand->type == NNHAL_FLOAT16)
            append(check, " 0x%" PRIx32, (uint32_t)number);
        else
            append(check, " %" PRId32, number);
        return;
    }
    append(check, " %s[", nn_type_name(operand->type));
    for (uint32_t i = 0; i < operand->n_dims; i++)
        append(check, "%s%u", i ? "," : "", operand->dims[i]);
    append(check, "]%s", operand->is_constant ? "const" : "");
}

static void append_case(struct check *check, const struct kernel_case *c)
{
    append(check, "; %s", nn_internal_op_name(c->operation));
    for (uint32_t i = 0; i < c->n_inputs; i++)
        append_operand(check, &c->inputs[i]);
    append(check, " ->");
    for (uint32_t i = 0; i < c->n_outputs; i++)
        append_operand(check, &c->outputs[i]);
    if (c->as_int8)
        append(check, " as int8");
    append(check, "; %u ranges, %u parts, in place of %d%s", kernel_way_ranges(&c->way),
           c->way.n_parts, (int)c->way.in_place - 1, c->way.has_epilogue ? ", epilogue" : "");
}

/* ---- comparing ---- */

/* The largest number of a float operand that is one. */
static double largest(const struct kernel_operand *operand)
{
    double most = 0;

    for (size_t i = 0; i < kernel_case_count(operand); i++) {
        double real = fabs(kernel_case_real(operand, i));

        if (isfinite(real) && real > most)
            most = real;
    }
    return most;
}

/* By how much sums may differ: each of the roundings of n products and n additions is at most
 * 2^-24 of what the sum could be, and one is left out or made anew. */
static double sum_tolerance(const struct kernel_case *c)
{
    double products = (double)c->n_products * largest(&c->inputs[0]) * largest(&c->inputs[1]);
    double bias = c->n_inputs > 2 && c->inputs[2].n_dims ? largest(&c->inputs[2]) : 0;

    return (products + bias) * (double)(c->n_products + 2) * 0x1p-24;
}

static bool is_float(uint32_t type)
{
    return type == NNHAL_TENSOR_FLOAT32 || type == NNHAL_TENSOR_FLOAT16;
}

/* Beside the sum's tolerance, one rounding of the result to its type. */
static bool is_same(const struct kernel_operand *a, const struct kernel_operand *b, size_t i,
                    double tolerance)
{
    size_t n_bytes = nn_type_bytes(a->type);
    double x, y;

    if (memcmp(a->data + i * n_bytes, b->data + i * n_bytes, n_bytes) == 0)
        return true;
    if (!is_float(a->type))
        return false;
    x = kernel_case_real(a, i);
    y = kernel_case_real(b, i);
    if (isnan(x) && isnan(y))
        return true;
    if (tolerance == 0)
        return false;
    if (a->type == NNHAL_TENSOR_FLOAT16) {
        if (fabs(x) + tolerance >= 65504.0 && fabs(y) + tolerance >= 65504.0 && x * y > 0)
            return true;
        tolerance += fmax(fabs(x), fabs(y)) * 0x1p-10 + 0x1p-24;
    }
    return fabs(x - y) <= tolerance + 0x1p-140;
}

static bool same_output(struct check *check, uint32_t output, const struct kernel_operand *got,
                        const struct kernel_operand *wanted, double tolerance)
{
    size_t n = kernel_case_count(wanted), n_wrong = 0, first = 0;

    if (got->n_dims != wanted->n_dims || got->size != wanted->size ||
        memcmp(got->dims, wanted->dims, got->n_dims * sizeof(got->dims[0]))) {
        append(check, "output %u has another shape", output);
        return false;
    }
    for (size_t i = n; i-- > 0;)
        if (!is_same(got, wanted, i, tolerance)) {
            n_wrong++;
            first = i;
        }
    if (n_wrong)
        append(check, "output %u differs in %zu of %zu elements, [%zu] is %.9g in place of %.9g",
               output, n_wrong, n, first, kernel_case_real(got, first),
               kernel_case_real(wanted, first));
    return n_wrong == 0;
}

/* ---- cases ---- */

static struct kernel_way draw_way(struct draw *draw)
{
    struct kernel_way way = {.n_ranges = 1 + draw_below(draw, KERNEL_CASE_WORKERS),
                             .n_parts = draw_coin(draw, 3) ? 2 + draw_below(draw, 4) : 1,
                             .in_place = draw_coin(draw, 3) ? 1 + draw_below(draw, 2) : 0,
                             .has_epilogue = draw_coin(draw, 2)};

    if (draw_coin(draw, 3))
        way.gap = draw_coin(draw, 2) ? GUARD_AT_BEGIN : draw_below(draw, 200);
    return way;
}

static void make_case(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    kernel_case_init(c, row->operation, NULL);
    draw->is_fused = row->isa & NN_ISA_FMA;
    c->way = draw_way(draw);
    shapes_find(row->operation)(draw, c, row);
}

static uint32_t find_plain(const struct nn_kernel *row, const struct kernel_case *c, uint32_t first)
{
    uint32_t types[2 * KERNEL_CASE_MAX];

    for (uint32_t i = 0; i < c->n_inputs; i++)
        types[i] = c->inputs[i].type;
    for (uint32_t i = 0; i < c->n_outputs; i++)
        types[c->n_inputs + i] = c->outputs[i].type;
    return nn_kernel_find(first, row->operation, NN_ISA_C, c->n_inputs, c->n_outputs, types);
}

/* The case with plain C, which the row itself may be. */
static int try_plain(struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t index = UINT32_MAX;
    int r = NN_KERNEL_E_PASS;

    if (row->isa == NN_ISA_C)
        return kernel_case_try_row(c, row);
    while (r == NN_KERNEL_E_PASS) {
        index = find_plain(row, c, index + 1);
        if (index == UINT32_MAX)
            return r;
        r = kernel_case_try_row(c, nn_kernel_at(index));
    }
    return r;
}

/* Takes the outputs out of the case. */
static void take_outputs(struct kernel_case *c, struct kernel_operand *ret)
{
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        ret[i] = c->outputs[i];
        c->outputs[i].guard = (struct guard){0};
    }
}

/* Returns: whether the plain row gives the same. */
static bool compare(struct check *check, struct kernel_case *c, const struct nn_kernel *row)
{
    struct kernel_operand got[KERNEL_CASE_MAX];
    struct kernel_way way = c->way;
    bool is_fused = row->isa & NN_ISA_FMA, is_well = false;
    double tolerance = is_fused && is_float(c->outputs[0].type) ? sum_tolerance(c) : 0;
    int r;

    take_outputs(c, got);
    c->way = (struct kernel_way){.n_ranges = 1};
    r = try_plain(c, row);
    c->way = way;
    if (r) {
        append(check, "plain C says %d, %s", r, c->why);
    } else {
        is_well = true;
        for (uint32_t i = 0; is_well && i < c->n_outputs; i++)
            is_well = same_output(check, i, &got[i], &c->outputs[i], tolerance);
    }
    for (uint32_t i = 0; i < c->n_outputs; i++)
        guard_done(&got[i].guard);
    return is_well;
}

/* One case. Returns: whether all is well. */
static bool check_case(struct check *check, struct kernel_case *c, const struct nn_kernel *row,
                       uint64_t seed)
{
    struct draw draw = {.seed = seed};
    bool is_well = true;
    int r;

    kernel_case_below(&draw.seed, 1); /* neighbors begin alike otherwise */
    kernel_case_below(&draw.seed, 1);
    make_case(&draw, c, row);
    r = kernel_case_infer(c);
    if (r == 0)
        r = kernel_case_try_row(c, row);
    if (r == KERNEL_CASE_E_BROKEN) {
        append(check, "%s", c->why);
        is_well = false;
    } else if (r == 0) {
        is_well = compare(check, c, row);
        check->n_checked++;
    }
    if (!is_well)
        append_case(check, c);
    kernel_case_done(c);
    return is_well;
}

bool check_row(const struct nn_kernel *row, struct check *check)
{
    static struct kernel_case c;

    check->n_checked = 0;
    check->why[0] = '\0';
    for (uint64_t i = 0; i < (uint64_t)TRIES * check->n_rounds; i++) {
        check->failed = check->seed + i;
        if (!check_case(check, &c, row, check->failed))
            return false;
        if (check->n_checked == check->n_rounds)
            return true;
    }
    if (check->n_checked)
        return true;
    append(check, "takes none of %u cases: %s", TRIES * check->n_rounds, c.why);
    return false;
}

/* ---- benchmark ---- */

bool bench_row(const struct nn_kernel *row, double *ret_ns, double *ret_products, double *ret_bytes)
{
    static struct kernel_case c;
    struct draw draw = {.seed = 1, .is_bench = true};
    bool is_taken;

    make_case(&draw, &c, row);
    c.way = (struct kernel_way){.n_ranges = 1, .bench_ns = BENCH_NS};
    is_taken = kernel_case_infer(&c) == 0 && kernel_case_try_row(&c, row) == 0;
    *ret_ns = (double)c.best_ns;
    *ret_products = is_taken ? (double)c.n_products * (double)kernel_case_count(&c.outputs[0]) : 0;
    *ret_bytes = 0;
    for (uint32_t i = 0; i < c.n_inputs; i++)
        *ret_bytes += (double)c.inputs[i].size;
    for (uint32_t i = 0; i < c.n_outputs; i++)
        *ret_bytes += (double)c.outputs[i].size;
    kernel_case_done(&c);
    return is_taken;
}

const struct nn_kernel *check_plain(const struct nn_kernel *row)
{
    static struct kernel_case c;
    struct draw draw = {.seed = 1, .is_bench = true};
    uint32_t index;

    make_case(&draw, &c, row);
    index = find_plain(row, &c, 0);
    kernel_case_done(&c);
    return index == UINT32_MAX ? NULL : nn_kernel_at(index);
}
