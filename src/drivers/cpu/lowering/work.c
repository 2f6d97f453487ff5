/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/work.h"

#include "base/arith.h"
#include "compiler/passes/view.h"
#include "model/ops.h"
#include "model/types.h"

enum {
    COPY = 1,      /* for a byte that is moved */
    FUNCTION = 16, /* for a byte of an exponential, or of a conversion in doubles */
    LOGARITHM = 64 /* at most so many halvings, each of a miss of all caches */
};

/* Values of the operation's scalars, as far as they count. */
struct work {
    const struct nn_graph *graph;
    const struct nn_node *node;
    uint64_t n_in_bytes, n_results; /* results: elements of 1 byte at worst */
};

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return nn_mul_u64(a, b, &product) ? product : UINT64_MAX;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return nn_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static const struct nn_value *work_input(const struct work *work, uint32_t i)
{
    return i < work->node->n_inputs ? &work->graph->values[work->node->inputs[i]] : NULL;
}

static uint64_t input_count(const struct work *work, uint32_t i)
{
    const struct nn_value *value = work_input(work, i);
    uint32_t n_bytes = value ? nn_type_bytes(value->type) : 0;

    return n_bytes ? value->size / n_bytes : 0;
}

/* Dimension d of input i; 1 where there is none. */
static uint64_t input_dim(const struct work *work, uint32_t i, uint32_t d)
{
    const struct nn_value *value = work_input(work, i);

    return value && d < value->n_dims && value->dims[d] ? value->dims[d] : 1;
}

/* A positive scalar, or fallback. */
static uint64_t input_number(const struct work *work, uint32_t i, uint64_t fallback)
{
    int32_t number = 0;

    if (i < work->node->n_inputs)
        nn_graph_i32(work->graph, work->node->inputs[i], &number);
    return number > 0 ? (uint64_t)number : fallback;
}

/* An image's rows times columns, in whichever layout. */
static uint64_t input_area(const struct work *work)
{
    uint64_t nhwc = times(input_dim(work, 0, 1), input_dim(work, 0, 2));
    uint64_t nchw = times(input_dim(work, 0, 2), input_dim(work, 0, 3));

    return nhwc > nchw ? nhwc : nchw;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Multiplications for one result, or what stands for them. */
static uint64_t work_of_result(const struct work *work)
{
    struct nn_window_operands window;

    switch (work->node->operation) {
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_GROUPED_CONV_2D:
    case NNHAL_OP_TRANSPOSE_CONV_2D:
    case NNHAL_OP_FULLY_CONNECTED:
        return input_count(work, 1) / input_dim(work, 1, 0);
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        return input_count(work, 1) / input_dim(work, 1, 3);
    case NNHAL_OP_BATCH_MATMUL:
        return input_count(work, 0);
    case NNHAL_OP_AVERAGE_POOL_2D:
    case NNHAL_OP_L2_POOL_2D:
    case NNHAL_OP_MAX_POOL_2D:
        window = nn_graph_window_operands(work->graph, work->node);
        return smaller(input_area(work), times(input_number(work, window.filter_size, 1),
                                               input_number(work, window.filter_size + 1, 1)));
    case NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION:
        return smaller(input_count(work, 0), 2 * input_number(work, 1, 0) + 1);
    case NNHAL_OP_ROI_ALIGN:
        return times(8, times(input_number(work, 7, input_area(work)),
                              input_number(work, 8, input_area(work))));
    case NNHAL_OP_ROI_POOLING:
        return input_area(work);
    default:
        return COPY;
    }
}

/* What one pass over inputs and results does not show: loops over all weights for each row. */
static uint64_t work_of_rows(const struct work *work)
{
    const struct nn_value *x = work_input(work, 0);
    uint64_t n = input_count(work, 0), n_weights = 0;

    switch (work->node->operation) {
    case NNHAL_OP_LSTM:
    case NNHAL_OP_RNN:
    case NNHAL_OP_SVDF:
    case NNHAL_OP_QUANTIZED_LSTM:
    case NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM):
    case NNHAL_OP_QUANTIZED_16BIT_LSTM:
    case NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM:
    case NNHAL_OP_BIDIRECTIONAL_SEQUENCE_RNN:
    case NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM:
    case NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN:
        for (uint32_t i = 1; i < work->node->n_inputs; i++)
            n_weights = plus(n_weights, input_count(work, i));
        return times(n / input_dim(work, 0, x && x->n_dims ? x->n_dims - 1 : 0), n_weights);
    case NNHAL_OP_BOX_WITH_NMS_LIMIT:
    case NNHAL_OP_DETECTION_POSTPROCESSING:
    case NNHAL_OP_GENERATE_PROPOSALS:
        return times(n, n);
    case NNHAL_OP_LSH_PROJECTION:
        return times(n, work_input(work, 1) ? work_input(work, 1)->size : 0);
    case NNHAL_OP_TOPK_V2:
    case NNHAL_OP_HASHTABLE_LOOKUP:
        return times(n, LOGARITHM);
    default:
        return 0;
    }
}

static bool is_moved(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_DEQUANTIZE:
    case NNHAL_OP_RESHAPE:
    case NNHAL_OP_SQUEEZE:
    case NNHAL_OP_EXPAND_DIMS:
    case NN_TFLITE_OP(BITCAST):
    case NNHAL_OP_TRANSPOSE:
    case NNHAL_OP_CONCATENATION:
    case NNHAL_OP_SPLIT:
    case NNHAL_OP_PAD:
    case NNHAL_OP_SLICE:
    case NNHAL_OP_STRIDED_SLICE:
    case NNHAL_OP_TILE:
    case NNHAL_OP_FILL:
    case NNHAL_OP_GATHER:
        return true;
    default:
        return false;
    }
}

uint64_t nn_work_estimate(const struct nn_graph *graph, const struct nn_node *node,
                          uint64_t n_result_bytes)
{
    struct work work = {.graph = graph, .node = node, .n_results = n_result_bytes};
    uint64_t n_all;

    for (uint32_t i = 0; i < node->n_inputs; i++)
        work.n_in_bytes = plus(work.n_in_bytes, graph->values[node->inputs[i]].size);
    n_all = plus(work.n_in_bytes, n_result_bytes);
    return plus(plus(times(n_all, is_moved(node->operation) ? COPY : FUNCTION),
                     times(work.n_results, work_of_result(&work))),
                work_of_rows(&work));
}
