/* SPDX-License-Identifier: Apache-2.0 */
/* SELECT, TOPK_V2, plain C. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/dequantize.h"
#include "drivers/cpu/kernels/common/heap.h"
#include "drivers/cpu/kernels/common/quant8.h"

#include <math.h>
#include <string.h>

/* ---- SELECT ---- */

struct select_job {
    const uint8_t *condition;
    const void *a, *b;
    void *out;
    const uint8_t *table_a, *table_b; /* of codes, 8 bits only */
};

#define DEFINE_SELECT(name, type)                                                                  \
    static void name(void *ctx, size_t begin, size_t end, unsigned worker)                         \
    {                                                                                              \
        const struct select_job *job = ctx;                                                        \
        const uint8_t *condition = job->condition;                                                 \
        const type *a = job->a, *b = job->b;                                                       \
        type *out = job->out;                                                                      \
                                                                                                   \
        for (size_t i = begin; i < end; i++)                                                       \
            out[i] = condition[i] ? a[i] : b[i];                                                   \
    }

DEFINE_SELECT(select_16, uint16_t)
DEFINE_SELECT(select_32, uint32_t)

static void select_8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct select_job *job = ctx;
    const uint8_t *a = job->a, *b = job->b;
    uint8_t *out = job->out;

    for (size_t i = begin; i < end; i++)
        out[i] = job->condition[i] ? job->table_a[a[i]] : job->table_b[b[i]];
}

static int nn_select__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *a = &args->inputs[1], *b = &args->inputs[2], *out = &args->outputs[0];
    struct select_job job = {args->inputs[0].data, a->data, b->data, out->data, NULL, NULL};
    uint8_t table_a[256], table_b[256];
    size_t n = args->inputs[0].size;

    switch (nn_type_bytes(a->type)) {
    case 1:
        nn_quant_requant(a->type, a->scale, a->zero_point, out->scale, out->zero_point, table_a);
        nn_quant_requant(b->type, b->scale, b->zero_point, out->scale, out->zero_point, table_b);
        job.table_a = table_a;
        job.table_b = table_b;
        nn_parallel_for(args, n, 1, select_8, &job);
        break;
    case 2:
        nn_parallel_for(args, n, 1, select_16, &job);
        break;
    default:
        nn_parallel_for(args, n, 1, select_32, &job);
    }
    return 0;
}

/* ---- TOPK_V2 ----
 *
 * Larger values come first, and of equal ones the larger index. So an element is
 * one number: the value, made to sort as an unsigned integer, above its index.
 * No two are equal, and the k largest numbers are the answer. */

/* A heap of the k best of a row. */
static bool find_topk_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    ret->worker_bytes = step->outputs[0].dims[step->inputs[0].n_dims - 1] * sizeof(uint64_t);
    return true;
}

/* A float as an integer of the same order; both zeros are one. */
static uint32_t order_of_float(float value)
{
    uint32_t bits = nn_f32_bits(value + 0.0f);

    return bits >> 31 ? ~bits : bits | UINT32_C(0x80000000);
}

static uint32_t order_of(const struct nn_tensor *tensor, size_t i)
{
    const void *data = tensor->data;

    switch (tensor->type) {
    case NNHAL_TENSOR_FLOAT32:
        return order_of_float(((const float *)data)[i]);
    case NNHAL_TENSOR_FLOAT16:
        return order_of_float(nn_f16_to_f32(((const uint16_t *)data)[i]));
    case NNHAL_TENSOR_INT32:
        return ((const uint32_t *)data)[i] ^ UINT32_C(0x80000000);
    case NNHAL_TENSOR_QUANT8_ASYMM_SIGNED:
        return ((const uint8_t *)data)[i] ^ 0x80u;
    default:
        return ((const uint8_t *)data)[i];
    }
}

/* The complements of the k best of a row, the best first: of a heap of complements, the worst
 * of the best is on top. */
static void find_best(const struct nn_tensor *input, size_t first, size_t n, size_t k,
                      uint64_t *heap, struct nn_pace *pace)
{
    for (size_t i = 0; i < n && !nn_pace_ends(pace, 4); i++) {
        uint64_t key = ~((uint64_t)order_of(input, first + i) << 32 | i);

        if (i < k)
            heap[i] = key;
        if (i + 1 == k)
            nn_heap_make(heap, k, pace);
        if (i < k || key > heap[0])
            continue;
        heap[0] = key;
        nn_heap_sink(heap, k, 0);
    }
    nn_heap_sort(heap, k, pace);
}

struct topk_job {
    const struct nn_kernel_args *args;
    size_t n, k;
};

/* A heap of the k best costs at most n log k steps. */
static void topk_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct topk_job *job = ctx;
    const struct nn_tensor *input = &job->args->inputs[0];
    uint32_t element_bytes = nn_type_bytes(input->type);
    uint64_t *heap = nn_worker_scratch(job->args, worker);
    char *values = job->args->outputs[0].data;
    int32_t *indices = job->args->outputs[1].data;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        find_best(input, row * job->n, job->n, job->k, heap, &pace);
        if (nn_stop_outcome(job->args->stop))
            return; /* not all of the heap may be indexes */
        for (size_t i = 0; i < job->k; i++) {
            uint32_t index = (uint32_t)~heap[i];

            memcpy(values + (row * job->k + i) * element_bytes,
                   (const char *)input->data + (row * job->n + index) * element_bytes,
                   element_bytes);
            indices[row * job->k + i] = (int32_t)index;
        }
    }
}

static int nn_topk__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *input = &args->inputs[0];
    uint32_t last = input->n_dims - 1;
    struct topk_job job = {args, input->dims[last], args->outputs[0].dims[last]};

    nn_parallel_for(args, nn_dims_count(input->dims, 0, last), 1 + job.n * 2 + job.k * 20,
                    topk_rows, &job);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("select__c", SELECT), .run = nn_select__c},
    {NN_ROW("topk_v2__c", TOPK_V2), .find_scratch = find_topk_scratch, .run = nn_topk__c},
};
NN_KERNEL_FAMILY(select, kernels);
