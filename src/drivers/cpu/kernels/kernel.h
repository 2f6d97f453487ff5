/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - what a kernel is: a row in a table, a lowering and a run function
 *
 * A kernel computes one operation for some types with some instruction set. It
 * has two halves that never meet in memory:
 *
 *   lower()  at compile time. Sees types, concrete shapes, and the values that
 *            are known. Checks what only now can be checked, reads scalars
 *            once, and fills a step: a POD parameter block (no pointers: the
 *            plan is relocatable and lives in a cache file), and at most one
 *            piece of packed weights.
 *   run()    at execution. Sees the parameter block, resolved pointers with
 *            shapes, its scratch and its weights, and a parallel-for.
 *
 * The table is the concatenation of the families' tables (families.py finds them),
 * searched from its beginning: the first row that matches operation, types and
 * the allowed instruction sets, and whose lower() does not pass, wins. Faster
 * rows stand first, plain C last. A row's index in the table is what the plan
 * holds, so the table's identity is part of the plan.
 *
 * What lower() may rely on:
 *  - The operation has been validated (src/model): counts, types by position,
 *    and shape inference has succeeded on these very shapes: lower() need not
 *    repeat what inference checks.
 *  - Shapes of inputs and outputs are concrete. A dimension of 0 is an empty
 *    tensor. Rank 0 is a scalar, one element.
 *  - Scalars have their value (value is never NULL), also when they are not
 *    constants in the model; tensors named in needs_value, too: the plan is cut
 *    there, and the rest is lowered when the value is known.
 *  - value of any other tensor is NULL unless it is a constant. Constants of at
 *    most NN_GRAPH_PRIVATE_BYTES are private copies. Larger ones lie in memory
 *    that the application may change at any time: read each byte once, and let
 *    none decide an address or a branch before it has been copied and checked.
 *    This holds for every input in run(), too: check indices when you read them.
 *  - Steps whose outputs are all empty are dropped: neither half is called,
 *    except for kernels with is_dynamic.
 *
 * Rows whose names differ only in what follows "__" give the same bits for the same
 * operands: they may be exchanged for each other. Only float rows that need NN_ISA_FMA
 * differ from plain C: by the roundings that fused multiplications and additions leave out, or
 * Winograd's make; and beside weights, with Winograd's data, that are infinite or a NaN.
 * build/checkkernel compares every row with plain C (tests/checkkernel).
 *
 * Determinism: the order of float additions depends on shapes only, never on
 * the number of threads: do not split a sum over items of nn_parallel_for().
 * Integer results equal the reference's fixed-point forms (kernels/common/fixed-point.h). */
#ifndef NN_DRIVERS_CPU_KERNELS_KERNEL_H
#define NN_DRIVERS_CPU_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nnhal/types.h>

#include "base/isa.h"
#include "base/stop.h"

enum {
    NN_KERNEL_MAX_PARAMS_BYTES = 512,
};

/* Outcomes of lower() and run(). */
enum {
    NN_KERNEL_E_PASS = 1,      /* lower: not this row; the next one that matches is asked */
    NN_KERNEL_E_REFUSED = 2,   /* the operation cannot be executed; see nn_lower_refuse() */
    NN_KERNEL_E_CANCELLED = 3, /* run: deadline or cancellation, see nn_kernel_stopped() */
};

/* Sets of operand types, for rows: NN_T(TENSOR_FLOAT32) | NN_T(TENSOR_FLOAT16). */
#define NN_T(name) (1u << NNHAL_##name)
#define NN_T_F32   NN_T(TENSOR_FLOAT32)
#define NN_T_F16   NN_T(TENSOR_FLOAT16)
#define NN_T_I32   NN_T(TENSOR_INT32)
#define NN_T_U8    NN_T(TENSOR_QUANT8_ASYMM)
#define NN_T_S8    NN_T(TENSOR_QUANT8_ASYMM_SIGNED)
#define NN_T_B8    NN_T(TENSOR_BOOL8)
#define NN_T_QPC   NN_T(TENSOR_QUANT8_SYMM_PER_CHANNEL)
#define NN_T_I64   (1u << NN_TYPE_TENSOR_INT64) /* of nnhal.tflite (model/types.h) */
#define NN_T_ANY   0u

/* ---- lowering ---- */

struct nn_lower_operand {
    uint32_t type; /* enum nnhal_operand_type, or NN_TYPE_... of model/types.h */
    uint32_t is_omitted;
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    uint32_t channel_dim; /* per-channel quantization, with n_channel_scales > 0 */
    uint32_t n_channel_scales;
    const float *channel_scales;
    const void *value; /* its bytes if known now, else NULL */
    uint64_t size;     /* bytes */
};

struct nn_lower {
    uint32_t operation;
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t is_relaxed; /* float32 may be computed as float16 */
    uint32_t as_int8;    /* uint8 data is to round as int8 does, codes 128 lower */
    uint32_t was_nchw;   /* a pass has moved it to [N,H,W,C]: its bits stay as they were */
    const struct nn_lower_operand *inputs;
    const struct nn_lower_operand *outputs;

    /* Filled by lower(). */
    void *params; /* zeroed, as many bytes as the row's params_bytes, aligned to 16 */

    struct nn_stop *stop;             /* for packing that may take milliseconds */
    struct nn_lower_private *private; /* the core's */
};

/* nn_lower_weights() - the step's piece of the weights block: zeroed, aligned to
 * 64 bytes, to be filled before lower() returns. Call at most once. n_bytes > 0.
 * Returns: the piece, or NULL if memory is short or it is time to stop (then return -ENOMEM,
 * which counts in the first case only). */
void *nn_lower_weights(struct nn_lower *lower, size_t n_bytes);

/* nn_lower_refuse() - keeps a sentence for the caller.
 * Returns: NN_KERNEL_E_REFUSED. */
int nn_lower_refuse(struct nn_lower *lower, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* Reading known values: a scalar that is omitted or beyond n_inputs gives fallback. */
int32_t nn_lower_i32(const struct nn_lower *lower, uint32_t input, int32_t fallback);
bool nn_lower_bool(const struct nn_lower *lower, uint32_t input, bool fallback);
float nn_lower_f32(const struct nn_lower *lower, uint32_t input,
                   float fallback); /* FLOAT32 or FLOAT16 */

/* nn_lower_is_omitted() - whether input i is absent: NO_VALUE or beyond n_inputs. */
bool nn_lower_is_omitted(const struct nn_lower *lower, uint32_t input);

/* nn_lower_count() - the number of elements; inference has shown that it fits. */
size_t nn_lower_count(const struct nn_lower_operand *operand);

/* ---- running ---- */

/* A tensor at run time. dims has n_dims elements. data is NULL for an omitted
 * operand and may be anything for an empty one; it is aligned to the element's
 * size. Inputs must not be written. */
struct nn_tensor {
    void *data;
    uint64_t size; /* bytes; exactly what type and dims need */
    uint32_t type;
    uint32_t n_dims;
    const uint32_t *dims;
    float scale;
    int32_t zero_point;
};

struct nn_kernel_args {
    const void *params;
    const uint8_t *weights; /* this step's piece, or NULL */
    uint8_t *scratch;       /* aligned to 64; contents undefined */
    uint8_t *worker_scratch;
    uint64_t worker_scratch_stride;
    uint32_t n_inputs;
    uint32_t n_outputs;
    const struct nn_tensor *inputs;
    struct nn_tensor *outputs;
    /* Elementwise kernels: only elements [part_begin, part_end) of output 0, on
     * this thread (broadcast.h sees to it). */
    bool is_part;
    size_t part_begin, part_end;
    uint32_t n_epilogue;
    const struct nn_epilogue_step *epilogue; /* the core's; see nn_epilogue_run() */
    struct nn_stop *stop;                    /* the caller's; see nn_pace_ends() */
    struct nn_run *run;                      /* the core's */
};

/* nn_tensor_count() - the number of elements. */
size_t nn_tensor_count(const struct nn_tensor *tensor);

/* A row of consecutive elements (common/broadcast.h). */
struct nn_row;
typedef void (*nn_row_fn)(const struct nn_kernel_args *args, const struct nn_row *row);

typedef void (*nn_range_fn)(void *ctx, size_t begin, size_t end, unsigned worker);

/* nn_parallel_for() - calls fn for disjoint ranges that cover [0, n_items), on
 * this thread and perhaps others at once, and returns when all are done.
 * item_cost is what one item costs in nanoseconds, roughly: small loops run as one range on
 * the calling thread. If it is time to stop, some items are left out: what fn would have
 * written is undefined then, and the step's result is dropped. worker is below the team's size and not in use twice at
 * a time: nn_worker_scratch(args, worker) is the range's own scratch. */
void nn_parallel_for(const struct nn_kernel_args *args, size_t n_items, size_t item_cost,
                     nn_range_fn fn, void *ctx);

static inline void *nn_worker_scratch(const struct nn_kernel_args *args, unsigned worker)
{
    return args->worker_scratch + worker * args->worker_scratch_stride;
}

/* nn_epilogue_run() - the steps that are fused with this one: elementwise, each on the result of
 * the one before. A kernel whose row has runs_epilogue calls it once for each range of
 * elements of output 0, as soon as the range is written and while it is in the
 * nearest cache, on any thread; ranges are disjoint. The epilogue computes over
 * the range and may write to it: do not read it again. Without one nothing happens. */
void nn_epilogue_run(const struct nn_kernel_args *args, size_t begin, size_t end);

/* nn_epilogue_run_all() - nn_epilogue_run() for the whole output, on all threads. */
void nn_epilogue_run_all(const struct nn_kernel_args *args);

/* A sum that a kernel computes in registers: out[i] is other[i] plus what would be element i of output 0,
 * clamped. */
struct nn_sum_f32 {
    const float *other; /* may be out: an element is read before it is written */
    float *out;
    float low, high;
};

/* nn_epilogue_take_sum_f32() - takes the first step of the epilogue, a residual ADD of floats without
 * broadcast, out of args, the kernel's own copy: output 0 is then not written.
 * Returns: false, nothing changed, if the epilogue begins with something else. */
bool nn_epilogue_take_sum_f32(struct nn_kernel_args *args, struct nn_sum_f32 *ret);

/* nn_kernel_stopped() - whether deadline or cancellation asks to stop, now. The core asks
 * between steps and between the items of nn_parallel_for() by itself. Other loops that may run
 * longer than a millisecond ask, too, with a struct nn_pace (base/stop.h) where their
 * rounds are short, and leave; what run() returns then is dropped with the step's results. */
bool nn_kernel_stopped(const struct nn_kernel_args *args);

/* nn_output_resize() - is_dynamic kernels only: gives output its shape, which
 * is known only now, and its memory. Once per output, also for empty ones.
 * Afterwards args->outputs[output] is complete.
 * Returns: 0, -ENOMEM, NN_KERNEL_E_REFUSED (contradicts the model). */
int nn_output_resize(const struct nn_kernel_args *args, uint32_t output, uint32_t n_dims,
                     const uint32_t *dims);

/* nn_kernel_refuse() - as nn_lower_refuse(), at run time: an index out of range. */
int nn_kernel_refuse(const struct nn_kernel_args *args, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* ---- the table ---- */

/* A step, for check() and find_scratch(): as lower() made it or as a cache file has it. Its tensors
 * have no data; an omitted one has no bytes. */
struct nn_kernel_step {
    const void *params;
    uint64_t weights_bytes;
    uint32_t n_inputs, n_outputs;
    const struct nn_tensor *inputs, *outputs;
};

/* Bytes of scratch; what run() finds there is undefined. */
struct nn_kernel_scratch {
    size_t bytes;        /* one block, shared by all workers */
    size_t worker_bytes; /* one block for each worker */
};

/* A set of types of 0 matches any type, and an operand that is not there. */
struct nn_kernel {
    const char *name;        /* "conv_2d_f32__c" */
    uint32_t operation;      /* enum nnhal_operation_type, or NN_TFLITE_OP() */
    uint32_t isa;            /* bits of enum nn_isa: it needs all of them */
    uint32_t in0, in1, out0; /* sets of types: NN_T_F32 | NN_T_F16 */
    uint32_t params_bytes;   /* sizeof its parameter struct, 0: none */
    uint32_t weights_bytes;  /* of tables that run() reads for all shapes; see check, too */
    uint64_t needs_value;    /* bit i: tensor input i (< 64) must be known when lowering */
    /* Output 0 may take the memory of input i, for the bits i set here, if both
     * have the same size in bytes and the input is not needed afterwards:
     * element k of the output may depend on no element of that input but k. */
    uint64_t in_place;
    uint32_t
        is_elementwise;     /* has walk; element k of output 0 comes from element k of each input */
    uint32_t runs_epilogue; /* run() calls nn_epilogue_run() for all of output 0 */
    uint32_t is_dynamic;    /* outputs get their shapes in run(), by nn_output_resize() */
    int (*lower)(struct nn_lower *lower); /* NULL: there is nothing to lower */
    int (*run)(const struct nn_kernel_args *args);
    /* In place of run(): walk, nn_rows_run() or nn_broadcast_run(), calls row for all rows. */
    void (*walk)(const struct nn_kernel_args *args, size_t cost, nn_row_fn row);
    nn_row_fn row;
    uint32_t element_cost; /* of an element, in sixteenths of a nanosecond */
    /* Whether params, from a cache file, keep run() within these shapes. NULL: lower() makes them
     * again, of scalars alone, and they must be the same. */
    bool (*check)(const struct nn_kernel_step *step);
    /* The scratch that run() uses with these params and shapes, which lower() has made or check()
     * has passed; ret is zero before. NULL: none. A plan and a cache file can only say more.
     * Returns: false if it does not fit a size. */
    bool (*find_scratch)(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret);
};

/* nn_kernel_run() - runs a step with the kernel's run(), or row by row. Returns: as run(). */
static inline int nn_kernel_run(const struct nn_kernel *kernel, const struct nn_kernel_args *args)
{
    if (!kernel->walk)
        return kernel->run(args);
    kernel->walk(args, kernel->element_cost, kernel->row);
    return 0;
}

/* The head of a row of the table: its name, "conv_2d_f32__c", and its operation, CONV_2D. */
#define NN_ROW(row_name, op) .name = row_name, .operation = NNHAL_OP_##op

/* The same for an operation of nnhal.tflite (model/ops.h). */
#define NN_TFLITE_ROW(row_name, op) .name = row_name, .operation = NN_TFLITE_OP(op)

struct nn_kernel_family {
    const char *name;
    const struct nn_kernel *kernels;
    size_t n_kernels;
};

/* A family's source defines its table with this, below its kernels:
 *     static const struct nn_kernel kernels[] = {{NN_ROW("softmax__c", SOFTMAX), ...}, ...};
 *     NN_KERNEL_FAMILY(softmax, kernels); */
#define NN_KERNEL_FAMILY(family, table)                                                            \
    extern const struct nn_kernel_family nn_kernels_##family;                                      \
    const struct nn_kernel_family nn_kernels_##family = {                                          \
        .name = #family, .kernels = (table), .n_kernels = sizeof(table) / sizeof((table)[0])}

/* nn_kernel_at() - the row with this index in the whole table, or NULL. */
const struct nn_kernel *nn_kernel_at(uint32_t index);

/* nn_kernel_find() - the first matching row at or after index first.
 * types: of the inputs, then of the outputs. isa: what may be used.
 * Returns: its index, or UINT32_MAX. */
uint32_t nn_kernel_find(uint32_t first, uint32_t operation, uint32_t isa, uint32_t n_inputs,
                        uint32_t n_outputs, const uint32_t *types);

#endif
