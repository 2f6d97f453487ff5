/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/weights.h"

#include "base/error.h"
#include "runtime/partition/model-values.h"
#include "runtime/partition/wave-time.h"

static void weigh_device(struct nn_rt_weights *weights, const struct nnhal_model *model, uint32_t d,
                         const struct nn_rt_performance *performance)
{
    uint64_t *costs = weights->costs_ns + (size_t)d * model->main.n_operations;
    uint64_t *times = weights->times_ns + (size_t)d * model->main.n_operations;
    bool is_energy = costs != times;

    weights->launch_ns[d] = nn_rt_cost_launch(performance);
    weights->whole_ns[d] = weights->launch_ns[d];
    for (uint32_t i = 0; i < model->main.n_operations; i++) {
        times[i] = nn_rt_cost_time(model, i, performance);
        if (is_energy)
            costs[i] = nn_rt_cost_energy(model, i, performance);
        weights->whole_ns[d] += costs[i];
    }
}

static void weigh_moves(struct nn_rt_weights *weights, const struct nnhal_subgraph *graph,
                        uint32_t n_devices, const struct nn_rt_performance *performances)
{
    for (uint32_t i = 0; i < graph->n_operands; i++) {
        uint64_t n_bytes = 0;

        if (!nn_rt_value_bytes(&weights->known[i], graph->operands[i].type, &n_bytes))
            continue;
        for (uint32_t d = 0; d < n_devices; d++)
            weights->move_ns[(size_t)d * graph->n_operands + i] = nn_rt_cost_move(&performances[d],
                                                                                  n_bytes);
    }
}

int nn_rt_weights_init(struct nn_rt_weights *weights, const struct nn_rt_model *finished,
                       uint32_t n_devices, const struct nn_rt_performance *performances,
                       uint32_t preference, struct nn_arena *arena)
{
    const struct nnhal_subgraph *graph = &finished->model.main;
    int r;

    *weights = (struct nn_rt_weights){
        .costs_ns = nn_arena_new_n(arena, uint64_t, (size_t)n_devices * graph->n_operations),
        .whole_ns = nn_arena_new_n(arena, uint64_t, n_devices),
        .launch_ns = nn_arena_new_n(arena, uint64_t, n_devices),
        .move_ns = nn_arena_new_n(arena, uint64_t, (size_t)n_devices * graph->n_operands),
        .places = nn_arena_new_n(arena, uint32_t, n_devices),
    };
    weights->times_ns = preference == NNHAL_LOW_POWER
                            ? nn_arena_new_n(arena, uint64_t,
                                             (size_t)n_devices * graph->n_operations)
                            : weights->costs_ns;
    if (!weights->costs_ns || !weights->times_ns || !weights->whole_ns || !weights->launch_ns ||
        !weights->move_ns || !weights->places)
        return nn_error_origin(-ENOMEM);
    for (uint32_t d = 0; d < n_devices; d++) {
        weigh_device(weights, &finished->model, d, &performances[d]);
        weights->places[d] = nn_rt_cost_uses_cores(&performances[d]) ? NN_RT_PLACE_CORES : d + 1;
    }
    r = nn_rt_model_values_new(finished, arena, &weights->known);
    if (!r)
        weigh_moves(weights, graph, n_devices, performances);
    return r;
}
