/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/split.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void split_rules(const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    setenv("NN_TEST_PARTIAL", text, 1);
}

static const void *bytes_of(const struct builder *b, const struct nnhal_operand *operand)
{
    return (operand->lifetime == NNHAL_CONSTANT_COPY ? b->values : b->pool) +
           operand->location.offset;
}

static bool is_constant(const struct nnhal_operand *operand)
{
    return operand->lifetime == NNHAL_CONSTANT_COPY ||
           operand->lifetime == NNHAL_CONSTANT_REFERENCE;
}

/* A value is set when its operand is there. */
static void set_value(const struct split_models *models, const struct builder *b, uint32_t graph,
                      uint32_t i)
{
    const struct nnhal_operand *operand = &b->graphs[graph].operands[i];
    ANeuralNetworksModel *model = models->graphs[graph];

    if (operand->lifetime == NNHAL_SUBGRAPH_VALUE)
        OK(ANeuralNetworksModel_setOperandValueFromModel(
            model, (int32_t)i, models->graphs[operand->location.offset + 1]));
    if (is_constant(operand))
        OK(ANeuralNetworksModel_setOperandValue(model, (int32_t)i, bytes_of(b, operand),
                                                operand->location.length));
}

static bool is_image(const struct nnhal_operand *operand)
{
    return operand->n_dimensions == 4 && !is_constant(operand);
}

static void add_operand(ANeuralNetworksModel *model, const struct nnhal_operand *operand,
                        uint32_t i, bool is_open)
{
    uint32_t dims[NNHAL_MAX_RANK];
    const ANeuralNetworksOperandType type = {
        .type = (int32_t)operand->type,
        .dimensionCount = operand->n_dimensions,
        .dimensions = operand->n_dimensions ? dims : NULL,
        .scale = operand->scale,
        .zeroPoint = operand->zero_point,
    };

    if (operand->n_dimensions)
        memcpy(dims, operand->dimensions, operand->n_dimensions * sizeof(*dims));
    if (is_open && is_image(operand))
        dims[0] = 0;
    OK(ANeuralNetworksModel_addOperand(model, &type));
    if (operand->extra_params == NNHAL_EXTRA_CHANNEL_QUANT) {
        const ANeuralNetworksSymmPerChannelQuantParams params = {operand->channel_quant.channel_dim,
                                                                 operand->channel_quant.n_scales,
                                                                 operand->channel_quant.scales};

        OK(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, (int32_t)i, &params));
    }
}

static void make_model(struct split_models *models, const struct builder *b, uint32_t number,
                       bool is_open)
{
    const struct builder_graph *graph = &b->graphs[number];
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    models->graphs[number] = model;
    for (uint32_t i = 0; i < graph->n_operands; i++) {
        add_operand(model, &graph->operands[i], i, is_open);
        set_value(models, b, number, i);
    }
    for (uint32_t i = 0; i < graph->n_operations; i++) {
        const struct nnhal_operation *operation = &graph->operations[i];

        OK(ANeuralNetworksModel_addOperation(model, (int32_t)operation->type, operation->n_inputs,
                                             operation->inputs, operation->n_outputs,
                                             operation->outputs));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, graph->n_inputs, graph->inputs,
                                                     graph->n_outputs, graph->outputs));
    if (number == 0 && b->model.relax_computation_float32_to_float16)
        OK(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true));
    OK(ANeuralNetworksModel_finish(model));
}

/* The referenced first. */
void split_models_init(struct split_models *models, const struct builder *b, bool is_open)
{
    models->n_graphs = b->n_graphs;
    for (uint32_t i = b->n_graphs; i-- > 0;)
        make_model(models, b, i, is_open);
}

void split_models_done(struct split_models *models)
{
    for (uint32_t i = 0; i < models->n_graphs; i++)
        ANeuralNetworksModel_free(models->graphs[i]);
}

ANeuralNetworksCompilation *split_compile_on(ANeuralNetworksModel *model, uint32_t n_devices,
                                             const uint32_t *numbers)
{
    const ANeuralNetworksDevice *devices[8];
    ANeuralNetworksCompilation *compilation = NULL;
    char name[32], why[512];
    int r;

    for (uint32_t i = 0; i < n_devices; i++) {
        snprintf(name, sizeof(name), "partial-%u", numbers[i]);
        devices[i] = find_device(name);
        ck_assert_ptr_nonnull(devices[i]);
    }
    OK(ANeuralNetworksCompilation_createForDevices(model, devices, n_devices, &compilation));
    r = ANeuralNetworksCompilation_finish(compilation);
    nnhal_compilation_get_error(compilation, why, sizeof(why));
    ck_assert_msg(r == ANEURALNETWORKS_NO_ERROR, "%s", why);
    return compilation;
}

ANeuralNetworksCompilation *split_compile(ANeuralNetworksModel *model, uint32_t n_devices)
{
    static const uint32_t numbers[] = {0, 1, 2, 3, 4};

    return split_compile_on(model, n_devices, numbers);
}

uint32_t split_count_parts(const ANeuralNetworksCompilation *compilation)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};

    OK(nnhal_compilation_get_plan(compilation, &plan));
    return plan.n_parts;
}

uint32_t split_count_residents(const ANeuralNetworksCompilation *compilation)
{
    struct nnhal_part_move move = {.size = sizeof(move)};
    uint32_t n = 0;

    for (uint32_t i = 0;
         nnhal_compilation_get_move(compilation, i, &move) == ANEURALNETWORKS_NO_ERROR; i++)
        n += move.is_resident;
    return n;
}

ANeuralNetworksOperandType split_input_type(const struct builder *b, uint32_t i)
{
    const struct nnhal_operand *operand = &b->graphs[0].operands[b->graphs[0].inputs[i]];

    return (ANeuralNetworksOperandType){
        .type = (int32_t)operand->type,
        .dimensionCount = operand->n_dimensions,
        .dimensions = operand->dimensions,
        .scale = operand->scale,
        .zeroPoint = operand->zero_point,
    };
}

uint32_t split_row(struct builder *b, uint32_t graph, uint32_t lifetime, const uint32_t dims[1])
{
    const uint32_t type = NNHAL_TENSOR_FLOAT32;

    return lifetime == NNHAL_SUBGRAPH_INPUT    ? builder_input(b, graph, type, 1, dims, 0, 0)
           : lifetime == NNHAL_SUBGRAPH_OUTPUT ? builder_output(b, graph, type, 1, dims, 0, 0)
                                               : builder_temporary(b, graph, type, 1, dims, 0, 0);
}

ANeuralNetworksModel *split_exp_model(void)
{
    const uint32_t n = 4, input = 0, output = 1;
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_EXP, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

ANeuralNetworksModel *split_chain(bool is_relaxed, bool is_backwards)
{
    static const int32_t operations[SPLIT_CHAIN_N] = {ANEURALNETWORKS_RELU, ANEURALNETWORKS_EXP,
                                                      ANEURALNETWORKS_FLOOR, ANEURALNETWORKS_ABS};
    const uint32_t n = SPLIT_CHAIN_FLOATS, first = 0, last = SPLIT_CHAIN_N;
    const ANeuralNetworksOperandType row = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i <= SPLIT_CHAIN_N; i++)
        OK(ANeuralNetworksModel_addOperand(model, &row));
    for (uint32_t i = 0; i < SPLIT_CHAIN_N; i++) {
        uint32_t in = is_backwards ? SPLIT_CHAIN_N - 1 - i : i, out = in + 1;

        OK(ANeuralNetworksModel_addOperation(model, operations[in], 1, &in, 1, &out));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &first, 1, &last));
    OK(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, is_relaxed));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* -- plans ------------------------------------------------------------------------------- */

static char trace_path[64];

void split_trace_plans(void)
{
    char folder[] = "/tmp/nnhal-split-XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(trace_path, sizeof(trace_path), "%s/printed", folder);
    setenv("NNHAL_TRACE", "plan", 1);
    ck_assert_ptr_nonnull(freopen(trace_path, "w", stderr));
}

/* A line as it is compared: from its first word on, up to the figures. */
static char *trim_line(char *line)
{
    static const char *const starts[] = {"plan: ", "part ", "partial-", "nnapi-reference"};
    static const char *const ends[] = {" after merging", "  computes ", ": told to ", "\n"};
    char *begin = NULL, *end;

    for (size_t i = 0; !begin && i < sizeof(starts) / sizeof(starts[0]); i++)
        begin = strstr(line, starts[i]);
    for (size_t i = 0; begin && i < sizeof(ends) / sizeof(ends[0]); i++) {
        end = strstr(begin, ends[i]);
        if (end)
            *end = '\0';
    }
    return begin;
}

void split_take_plans(char *ret_text, size_t size)
{
    char line[256];
    size_t n = 0;
    FILE *file;

    fflush(stderr);
    file = fopen(trace_path, "r");
    ck_assert_ptr_nonnull(file);
    ret_text[0] = '\0';
    while (fgets(line, sizeof(line), file)) {
        const char *trimmed = trim_line(line);

        if (trimmed && !strstr(trimmed, "judged by"))
            n += (size_t)snprintf(ret_text + n, size - n, "%s\n", trimmed);
        ck_assert_uint_lt(n, size);
    }
    fclose(file);
    unlink(trace_path);
    *strrchr(trace_path, '/') = '\0';
    rmdir(trace_path);
}
