/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/calibration/calibration.h"

#include "base/error.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "runtime/calibration/probe.h"
#include "runtime/compilation/preparation.h"
#include "runtime/compilation/settings.h"
#include "runtime/device-performance.h"
#include "runtime/execution/computation.h"

#include <android/NeuralNetworks.h>

#include <string.h>

enum { MIN_RUNS = 3, MAX_RUNS = 31 };

/* Of one probe. A device that needs longer is not asked to finish. */
#define COMPILE_NS UINT64_C(1000000000)
#define RUN_NS     UINT64_C(500000000)

/* When enough was measured, and when the device has had its share of them all. */
#define ENOUGH_NS UINT64_C(30000000)
#define ALL_NS    UINT64_C(15000000000)

#define MILLIONTHS 1e6

/* A device of a level without deadlines, or one that ignores them, is left at the same time; a private
 * child is killed. Returns: as nn_wait_limit_narrow(). */
static uint64_t limit_to(uint64_t duration_ns)
{
    return nn_wait_limit_narrow(nn_sys_now_ns() + duration_ns);
}

/* One probe on one device. */
struct trial {
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *memory; /* the input, then the output */
    ANeuralNetworksExecution *execution;
};

static void trial_done(struct trial *trial)
{
    nn_rt_execution_unref(trial->execution);
    nn_rt_memory_unref(trial->memory);
    nn_rt_compilation_unref(trial->compilation);
}

static int trial_compile(struct trial *trial, const struct nn_rt_probe *probe,
                         const ANeuralNetworksDevice *device, struct nn_why *why)
{
    int r = nn_rt_compilation_new(probe->model, &device, 1, why, &trial->compilation);

    if (!r)
        r = nn_rt_compilation_set_preference(trial->compilation,
                                             ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, why);
    if (!r && device->feature_level >= NNHAL_FEATURE_LEVEL_4)
        r = nn_rt_compilation_set_timeout(trial->compilation, COMPILE_NS, why);
    if (!r) {
        uint64_t limit_ns = limit_to(COMPILE_NS);

        r = nn_rt_compilation_finish(trial->compilation, why);
        nn_wait_limit_restore(limit_ns);
    }
    return r;
}

static int trial_bind(struct trial *trial, const struct nn_rt_probe *probe, struct nn_why *why)
{
    const struct nn_rt_argument_selector input = {.is_input = true}, output = {.is_input = false};
    const float half = 0.5f;
    uint8_t *data;
    int r = nn_rt_memory_new_pool(
        "nn-probe", (uint64_t)probe->n_input_bytes + probe->n_output_bytes, &trial->memory);

    if (r)
        return r;
    data = nn_rt_memory_data(trial->memory);
    for (uint32_t i = 0; i + sizeof(half) <= probe->n_input_bytes; i += sizeof(half))
        memcpy(data + i, &half, sizeof(half));
    r = nn_rt_execution_new(trial->compilation, why, &trial->execution);
    if (!r)
        r = nn_rt_execution_set_reusable(trial->execution, true, why);
    if (!r && trial->compilation->device->feature_level >= NNHAL_FEATURE_LEVEL_4)
        r = nn_rt_execution_set_timeout(trial->execution, RUN_NS, why);
    if (!r)
        r = nn_rt_execution_set_memory(trial->execution, &input, trial->memory, 0,
                                       probe->n_input_bytes, why);
    return r ? r
             : nn_rt_execution_set_memory(trial->execution, &output, trial->memory,
                                          probe->n_input_bytes, probe->n_output_bytes, why);
}

/* The place of a time among those before it. */
static void insert_time(uint64_t *times_ns, uint32_t n, uint64_t time_ns)
{
    uint32_t at = n;

    for (; at && times_ns[at - 1] > time_ns; at--)
        times_ns[at] = times_ns[at - 1];
    times_ns[at] = time_ns;
}

static int trial_compute(struct trial *trial, struct nn_why *why)
{
    uint64_t limit_ns = limit_to(RUN_NS);
    int r = nn_rt_execution_compute(trial->execution, why);

    nn_wait_limit_restore(limit_ns);
    return r;
}

/* The median; the first run, in which much is made that stays, does not count. */
static int trial_run(struct trial *trial, struct nn_why *why, uint64_t *ret_time_ns)
{
    uint64_t times_ns[MAX_RUNS], spent_ns = 0;
    uint32_t n = 0;
    int r = trial_compute(trial, why);

    while (!r && n < MAX_RUNS && (n < MIN_RUNS || spent_ns < ENOUGH_NS)) {
        uint64_t begin_ns = nn_sys_now_ns(), time_ns;

        r = trial_compute(trial, why);
        time_ns = nn_sys_now_ns() - begin_ns;
        spent_ns += time_ns;
        insert_time(times_ns, n++, time_ns);
    }
    if (!r)
        *ret_time_ns = times_ns[n / 2];
    return r;
}

/* Returns: 0 with the time and what cost.h counts for the operation; what the device answers. */
static int probe_time(ANeuralNetworksDevice *device, enum nn_rt_figure figure, struct nn_why *why,
                      uint64_t *ret_time_ns, double *ret_work)
{
    struct nn_rt_probe probe;
    struct trial trial = {.compilation = NULL};
    int r = nn_rt_probe_init(&probe, figure, why);

    if (!r)
        r = trial_compile(&trial, &probe, device, why);
    if (!r)
        r = trial_bind(&trial, &probe, why);
    if (!r)
        r = trial_run(&trial, why, ret_time_ns);
    if (!r)
        *ret_work = nn_rt_cost_work(&trial.compilation->finished->model, 0);
    trial_done(&trial);
    nn_rt_probe_done(&probe);
    return r;
}

/* Whether a probe's work shows beside the call, which takes one time now and another then. */
static bool is_seen(uint64_t time_ns, uint64_t launch_ns)
{
    return time_ns > launch_ns + launch_ns / 4;
}

/* What is left of a probe's time without the call. Bytes that take too little to be seen take little,
 * as where nothing is copied; work always takes some, and has no figure then (0). */
static uint64_t to_value(enum nn_rt_figure figure, uint64_t time_ns, uint64_t launch_ns,
                         double work)
{
    double left_ns = time_ns > launch_ns ? (double)(time_ns - launch_ns) : 1;
    double value;

    if (figure != NN_RT_FIGURE_MOVE && !is_seen(time_ns, launch_ns))
        return 0;
    if (figure == NN_RT_FIGURE_MOVE)
        value = left_ns / NN_RT_PROBE_MOVED_MIB;
    else if (figure == NN_RT_FIGURE_WHILE)
        value = left_ns / NN_RT_PROBE_TURNS / work * MILLIONTHS;
    else
        value = left_ns / work * MILLIONTHS;
    return value >= 1 ? (uint64_t)value : 1;
}

/* Returns: 0 with the figure; what the device answers. */
static int measure_figure(ANeuralNetworksDevice *device, enum nn_rt_figure figure,
                          struct nn_why *why, struct nn_rt_figures *figures)
{
    uint64_t time_ns = 0;
    double work = 1;
    int r = probe_time(device, figure, why, &time_ns, &work);

    if (r)
        return r;
    if (figure == NN_RT_FIGURE_LAUNCH)
        figures->values[figure] = time_ns ? time_ns : 1;
    else
        figures->values[figure] = to_value(figure, time_ns, figures->values[NN_RT_FIGURE_LAUNCH],
                                           work);
    return 0;
}

int nn_rt_calibration_run(ANeuralNetworksDevice *device, struct nn_why *why)
{
    uint64_t end_ns = nn_sys_now_ns() + ALL_NS;
    struct nn_rt_figures figures = {0};
    bool has_any = false;
    int first = 0;

    for (int i = 0; i < NN_RT_FIGURE_N && nn_sys_now_ns() < end_ns; i++) {
        struct nn_why ignored = {0};
        int r = measure_figure(device, (enum nn_rt_figure)i, first ? &ignored : why, &figures);

        if (r < 0)
            return r;
        has_any = has_any || !r;
        first = first ? first : r;
    }
    return has_any ? nn_rt_device_set_figures(device, &figures, why) : first;
}
