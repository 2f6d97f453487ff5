/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/portrait.h"

#include "model/types.h"

/* -- the structure ------------------------------------------------------------------ */

/* Goes on from *hash. */
static void hash_add(struct nn_hash *hash, const void *bytes, size_t n_bytes)
{
    const struct nn_hash_part parts[] = {{hash->bytes, sizeof(hash->bytes)}, {bytes, n_bytes}};

    nn_hash_compute(parts, 2, hash);
}

static void hash_add_graph(struct nn_hash *hash, const struct nnhal_subgraph *graph)
{
    for (uint32_t i = 0; i < graph->n_operands; i++) {
        const struct nnhal_operand *operand = &graph->operands[i];
        const uint32_t numbers[] = {operand->type, operand->lifetime, operand->n_dimensions};

        hash_add(hash, numbers, sizeof(numbers));
        hash_add(hash, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < graph->n_operations; i++) {
        const struct nnhal_operation *operation = &graph->operations[i];
        const uint32_t numbers[] = {operation->type, operation->n_inputs, operation->n_outputs};

        hash_add(hash, numbers, sizeof(numbers));
        hash_add(hash, operation->inputs, operation->n_inputs * sizeof(uint32_t));
        hash_add(hash, operation->outputs, operation->n_outputs * sizeof(uint32_t));
    }
}

static bool has_open_shapes(const struct nnhal_subgraph *graph)
{
    for (uint32_t i = 0; i < graph->n_operands; i++)
        if (graph->operands[i].lifetime == NNHAL_TEMPORARY_VARIABLE &&
            !nn_dims_known(graph->operands[i].type, graph->operands[i].n_dimensions,
                           graph->operands[i].dimensions))
            return true;
    return false;
}

/* Computed once; under the model's lock, which others hold briefly. */
static const uint8_t *get_architecture(struct nn_rt_model *finished)
{
    const struct nnhal_model *model = &finished->model;

    pthread_mutex_lock(&finished->lock);
    if (!finished->has_architecture) {
        hash_add_graph(&finished->architecture, &model->main);
        finished->has_open_shapes = has_open_shapes(&model->main);
        for (uint32_t i = 0; i < model->n_referenced; i++) {
            hash_add_graph(&finished->architecture, &model->referenced[i]);
            finished->has_open_shapes |= has_open_shapes(&model->referenced[i]);
        }
        finished->has_architecture = true;
    }
    pthread_mutex_unlock(&finished->lock);
    return finished->architecture.bytes;
}

/* -- what goes in and out ---------------------------------------------------------------- */

static ANeuralNetworksDiagnosticDataClass class_of(uint32_t type)
{
    switch (type) {
    case NNHAL_FLOAT32:
    case NNHAL_TENSOR_FLOAT32:
        return ANNDIAG_DATA_CLASS_FLOAT32;
    case NNHAL_FLOAT16:
    case NNHAL_TENSOR_FLOAT16:
        return ANNDIAG_DATA_CLASS_FLOAT16;
    case NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL:
        return ANNDIAG_DATA_CLASS_QUANT;
    default:
        return nn_type_is_quantized(type) ? ANNDIAG_DATA_CLASS_QUANT : ANNDIAG_DATA_CLASS_OTHER;
    }
}

static ANeuralNetworksDiagnosticDataClass class_of_all(uint32_t n,
                                                       const struct nnhal_operand *operands)
{
    ANeuralNetworksDiagnosticDataClass all = ANNDIAG_DATA_CLASS_UNKNOWN;

    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDiagnosticDataClass one = class_of(operands[i].type);

        if (all == ANNDIAG_DATA_CLASS_UNKNOWN || all == ANNDIAG_DATA_CLASS_OTHER)
            all = one;
        else if (one != ANNDIAG_DATA_CLASS_OTHER && one != all)
            return ANNDIAG_DATA_CLASS_MIXED;
    }
    return all;
}

void nn_rt_model_describe(struct nn_rt_model *finished, struct nn_rt_told *told)
{
    told->architecture = get_architecture(finished);
    told->input_class = class_of_all(finished->io.n_inputs, finished->io.inputs);
    told->output_class = class_of_all(finished->io.n_outputs, finished->io.outputs);
    told->has_control_flow = finished->facts.has_control_flow;
    told->has_open_shapes = finished->has_open_shapes;
}
