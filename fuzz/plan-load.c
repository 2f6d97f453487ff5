/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU driver finds in a cache, as if its hash had been right: 8 bytes
 * that say how long the model cache is, the model cache, the data cache. The kernel
 * table's number is made right in each plan, so that it is the verifier that has to find what is
 * wrong. What is accepted is executed with arguments such as it asks for.
 * Seeds are what the driver keeps of the models in tests/cpu/cases.c. */
#include "fuzz.h"

#include "base/sys.h"
#include "drivers/cpu/executor/exec.h"
#include "drivers/cpu/cache/serialize.h"
#include "drivers/cpu/lowering/compile.h"
#include "model/types.h"

#include <endian.h>
#include <string.h>

enum {
    MAX_ARGUMENTS = 64,
    MAX_ARGUMENT_BYTES = 1 << 16,
    MAX_ELEMENTS = 1 << 18, /* of any value: larger ones are slow and show nothing new */
    MAX_ARENA_BYTES = 64 << 20,
    TIME_NS = 100 * 1000 * 1000,
};

static uint8_t *copy_of(const uint8_t *bytes, uint64_t n_bytes)
{
    uint8_t *copy = aligned_alloc(NN_PLAN_ALIGNMENT, (n_bytes / 64 + 1) * 64);

    FUZZ_CHECK(copy != NULL);
    if (n_bytes)
        memcpy(copy, bytes, n_bytes);
    return copy;
}

/* Plans begin at multiples of 64. */
static void put_table_id(struct nn_kept *kept)
{
    for (uint64_t at = 0; at + sizeof(struct nn_plan_header) <= kept->model_bytes; at += 64) {
        struct nn_plan_header *header = (struct nn_plan_header *)(void *)(kept->model + at);

        if (header->magic != NN_PLAN_MAGIC || header->n_bytes < sizeof(*header) ||
            header->n_bytes > kept->model_bytes - at)
            continue;
        header->table = nn_plan_table_id();
    }
}

static uint64_t count_elements(const struct nn_value *value)
{
    uint64_t n = 1;

    for (uint32_t d = 0; d < value->n_dims && n <= MAX_ELEMENTS; d++)
        n *= value->dims[d] ? value->dims[d] : 1;
    return n;
}

static bool is_small(const struct nn_program *program)
{
    for (uint32_t g = 0; g < program->n_graphs; g++) {
        const struct nn_program_graph *graph = &program->graphs[g];

        for (uint32_t i = 0; i < graph->graph.n_values; i++)
            if (count_elements(&graph->graph.values[i]) > MAX_ELEMENTS)
                return false;
        for (const struct nn_program_plan *plan = graph->plans; plan; plan = plan->next) {
            const struct nn_plan_header *header = nn_plan_header(&plan->plan);

            if (header->arena_bytes > MAX_ARENA_BYTES || header->scratch_bytes > MAX_ARENA_BYTES ||
                header->worker_scratch_bytes > MAX_ARENA_BYTES)
                return false;
        }
    }
    return program->graphs[0].graph.n_inputs <= MAX_ARGUMENTS &&
           program->graphs[0].graph.n_outputs <= MAX_ARGUMENTS;
}

/* Exactly as large as it must be, so that a read beyond it is seen. */
static bool make_input(const struct nn_value *value, uint32_t open_dim, struct nnhal_input *input)
{
    uint64_t n_bytes = nn_type_bytes(value->type);
    uint8_t *bytes;

    *input = (struct nnhal_input){.n_dimensions = value->n_dims};
    for (uint32_t d = 0; d < value->n_dims; d++) {
        input->dimensions[d] = value->dims[d] ? value->dims[d] : open_dim;
        n_bytes *= input->dimensions[d];
        if (n_bytes > MAX_ARGUMENT_BYTES)
            return false;
    }
    bytes = malloc(n_bytes ? n_bytes : 1);
    FUZZ_CHECK(bytes != NULL);
    for (uint64_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(i % 4 == 3 ? 0x3f : i / 4 + open_dim);
    input->data = bytes;
    input->size = n_bytes;
    return true;
}

static void execute(struct nn_program *program, uint32_t open_dim)
{
    static uint8_t outputs_bytes[MAX_ARGUMENTS][MAX_ARGUMENT_BYTES];
    const struct nn_graph *graph = &program->graphs[0].graph;
    struct nnhal_input inputs[MAX_ARGUMENTS] = {0};
    struct nnhal_output outputs[MAX_ARGUMENTS] = {0};
    uint32_t is_cancelled = 0;
    struct nnhal_execution execution = {.size = sizeof(execution),
                                        .n_inputs = graph->n_inputs,
                                        .n_outputs = graph->n_outputs,
                                        .inputs = inputs,
                                        .outputs = outputs,
                                        .deadline_ns = nn_sys_now_ns() + TIME_NS,
                                        .loop_timeout_ns = TIME_NS,
                                        .is_cancelled = &is_cancelled};
    bool is_good = true;
    struct nn_why why = {0};

    for (uint32_t i = 0; i < graph->n_inputs; i++)
        is_good = make_input(&graph->values[graph->inputs[i]], open_dim, &inputs[i]) && is_good;
    for (uint32_t i = 0; i < graph->n_outputs; i++) {
        const struct nn_value *value = &graph->values[graph->outputs[i]];

        outputs[i] = (struct nnhal_output){.data = outputs_bytes[i],
                                           .capacity = MAX_ARGUMENT_BYTES,
                                           .n_dimensions = value->n_dims};
        memcpy(outputs[i].dimensions, value->dims, sizeof(value->dims));
    }
    if (is_good)
        nn_exec(program, &execution, &why);
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        free((void *)(uintptr_t)inputs[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static struct nn_team *team;
    struct nn_stop stop = {.deadline_ns = NNHAL_NO_TIME};
    struct nn_compile_options options = {.isa = NN_ISA_C, .stop = &stop};
    struct nn_program *program;
    struct nn_kept kept = {0};
    uint64_t n_model;

    if (!team)
        FUZZ_CHECK(nn_team_new(1, &team) == 0);
    if (n_bytes < sizeof(n_model))
        return 0;
    memcpy(&n_model, bytes, sizeof(n_model));
    n_model = le64toh(n_model);
    bytes += sizeof(n_model);
    n_bytes -= sizeof(n_model);
    kept.model_bytes = n_model < n_bytes ? n_model : n_bytes;
    kept.model = copy_of(bytes, kept.model_bytes);
    kept.weights_bytes = n_bytes - kept.model_bytes;
    kept.weights = kept.own_weights = copy_of(bytes + kept.model_bytes, kept.weights_bytes);
    put_table_id(&kept);
    options.team = team;
    if (nn_deserialize(&kept, &options, &program) == 0) {
        for (uint32_t open_dim = 1; open_dim <= 3 && is_small(program); open_dim += 2)
            execute(program, open_dim);
        nn_program_free(program);
    }
    free(kept.model);
    free(kept.own_weights);
    return 0;
}
