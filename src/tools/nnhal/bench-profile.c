/* SPDX-License-Identifier: Apache-2.0 */
#include "bench-profile.h"

#include "tool.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the listener fills: n_runs times for each step. */
struct recording {
    struct profile *profile;
    uint64_t *times; /* [step][run] */
    uint32_t run, at, n_room;
    bool is_short; /* of memory */
};

static bool recording_grow(struct recording *recording)
{
    struct profile *profile = recording->profile;
    uint32_t n = recording->n_room ? 2 * recording->n_room : 128;
    struct profile_step *steps = reallocarray(profile->steps, n, sizeof(*steps));
    uint64_t *times;

    if (!steps)
        return false;
    profile->steps = steps;
    times = reallocarray(recording->times, (size_t)n * profile->n_runs, sizeof(*times));
    if (!times)
        return false;
    recording->times = times;
    recording->n_room = n;
    return true;
}

static void step_describe(struct profile_step *to, const struct nnhal_step *from)
{
    size_t n = 0;

    memset(to, 0, sizeof(*to));
    snprintf(to->operation, sizeof(to->operation), "%s", from->operation);
    snprintf(to->kernel, sizeof(to->kernel), "%s", from->kernel);
    for (uint32_t i = 0; i < from->n_dimensions && n < sizeof(to->shape); i++)
        n += (size_t)snprintf(to->shape + n, sizeof(to->shape) - n, "%s%u", i ? "x" : "",
                              from->dimensions[i]);
    to->is_integer = from->type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
                     from->type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
    to->n_fused = from->n_fused;
    to->n_products = (double)from->n_products;
    to->n_bytes = (double)from->n_bytes;
}

static void on_step(void *ctx, const struct nnhal_step *step)
{
    struct recording *recording = ctx;
    struct profile *profile = recording->profile;
    uint32_t at = recording->at++;

    if (at >= recording->n_room && !recording_grow(recording)) {
        recording->is_short = true;
        return;
    }
    if (at >= profile->n_steps) {
        step_describe(&profile->steps[at], step);
        memset(recording->times + (size_t)at * profile->n_runs, 0,
               profile->n_runs * sizeof(*recording->times));
        profile->n_steps = at + 1;
    }
    recording->times[(size_t)at * profile->n_runs + recording->run] = step->elapsed_ns;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double median_us(uint64_t *times, uint32_t n)
{
    qsort(times, n, sizeof(*times), compare_times);
    return (double)times[n / 2] / 1e3;
}

static int record_runs(struct session *session, struct recording *recording)
{
    struct profile *profile = recording->profile;
    uint64_t *whole = calloc(profile->n_runs, sizeof(*whole)), unused;
    int status = whole ? TOOL_OK : tool_error(TOOL_FAILED, "out of memory");

    for (uint32_t i = 0; i < 3 && status == TOOL_OK; i++)
        status = session_run(session, &unused);
    nnhal_set_step_listener(on_step, recording);
    for (uint32_t i = 0; i < profile->n_runs && status == TOOL_OK; i++) {
        recording->run = i;
        recording->at = 0;
        status = session_run(session, &whole[i]);
    }
    nnhal_set_step_listener(NULL, NULL);
    if (status == TOOL_OK && recording->is_short)
        status = tool_error(TOOL_FAILED, "out of memory");
    if (status == TOOL_OK)
        profile->run_us = median_us(whole, profile->n_runs);
    free(whole);
    return status;
}

int profile_measure(struct session *session, uint32_t n_runs, uint32_t n_threads,
                    struct profile *ret_profile)
{
    struct recording recording = {.profile = ret_profile};
    int status;

    *ret_profile = (struct profile){.n_runs = n_runs, .peak_scale = n_threads};
    ret_profile->peak = bench_measure_peak();
    status = record_runs(session, &recording);
    if (status == TOOL_OK && ret_profile->n_steps == 0)
        status = tool_error(
            TOOL_FAILED, "the device reports no steps: --profile needs nnhal-cpu in this process "
                         "(--mode embedded --device nnhal-cpu)");
    for (uint32_t i = 0; i < ret_profile->n_steps && status == TOOL_OK; i++) {
        ret_profile->steps[i].us = median_us(recording.times + (size_t)i * n_runs, n_runs);
        ret_profile->steps_us += ret_profile->steps[i].us;
    }
    free(recording.times);
    return status;
}

void profile_free(struct profile *profile)
{
    free(profile->steps);
}

/* ---- printing ---- */

/* 10^9 operations a second, and how much that is of the peak. */
static double step_gops(const struct profile_step *step)
{
    return step->us > 0.0 ? 2.0 * step->n_products / (step->us * 1e3) : 0.0;
}

static double step_gbs(const struct profile_step *step)
{
    return step->us > 0.0 ? step->n_bytes / (step->us * 1e3) : 0.0;
}

static double peak_gops(const struct profile *profile, const struct profile_step *step)
{
    return profile->peak_scale *
           (step->is_integer ? profile->peak.int8_gops : profile->peak.float_gops);
}

static double share(double part, double whole)
{
    return whole > 0.0 ? 100.0 * part / whole : 0.0;
}

static int compare_steps(const void *a, const void *b)
{
    double x = ((const struct profile_step *)a)->us, y = ((const struct profile_step *)b)->us;

    return (x < y) - (x > y);
}

static void print_step(const struct profile *profile, const struct profile_step *step)
{
    char fused[16] = "", rate[32] = "";

    if (step->n_fused)
        snprintf(fused, sizeof(fused), " +%u", step->n_fused);
    if (step->n_products > 0.0)
        snprintf(rate, sizeof(rate), "%7.1f %4.0f %%", step_gops(step),
                 share(step_gops(step), peak_gops(profile, step)));
    printf("%9.2f %5.1f %%  %-14s %7.1f  %-26s %s%s\n", step->us,
           share(step->us, profile->steps_us), rate, step_gbs(step), step->kernel, step->shape,
           fused);
}

void profile_print(const struct profile *profile)
{
    struct profile_step *steps = calloc(profile->n_steps, sizeof(*steps));

    if (steps) {
        memcpy(steps, profile->steps, profile->n_steps * sizeof(*steps));
        qsort(steps, profile->n_steps, sizeof(*steps), compare_steps);
    }
    printf("%9s %7s  %-14s %7s  %-26s %s\n", "us", "share", "  GOP/s of peak", "GB/s", "kernel",
           "result (+ operations computed with it)");
    for (uint32_t i = 0; i < profile->n_steps; i++)
        print_step(profile, steps ? &steps[i] : &profile->steps[i]);
    free(steps);
    printf("%9.2f us in %u steps, %.1f %% of a run of %.2f us\n", profile->steps_us,
           profile->n_steps, share(profile->steps_us, profile->run_us), profile->run_us);
    printf("peak of a CPU, measured: %.0f GOP/s of floats, %.0f of 8 bits, %.1f GB/s read\n",
           profile->peak.float_gops, profile->peak.int8_gops, profile->peak.read_gbs);
}

static cJSON *step_json(const struct profile *profile, const struct profile_step *step)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "operation", step->operation);
    cJSON_AddStringToObject(object, "kernel", step->kernel);
    cJSON_AddStringToObject(object, "shape", step->shape);
    cJSON_AddNumberToObject(object, "fused", step->n_fused);
    cJSON_AddNumberToObject(object, "us", step->us);
    cJSON_AddNumberToObject(object, "products", step->n_products);
    cJSON_AddNumberToObject(object, "bytes", step->n_bytes);
    cJSON_AddNumberToObject(object, "gops", step_gops(step));
    cJSON_AddNumberToObject(object, "percent_of_peak",
                            share(step_gops(step), peak_gops(profile, step)));
    cJSON_AddNumberToObject(object, "gbs", step_gbs(step));
    return object;
}

void profile_print_json(const struct profile *profile, const char *model)
{
    cJSON *root = cJSON_CreateObject(), *steps = cJSON_CreateArray();
    char *text;

    cJSON_AddStringToObject(root, "model", model);
    cJSON_AddNumberToObject(root, "runs", profile->n_runs);
    cJSON_AddNumberToObject(root, "run_us", profile->run_us);
    cJSON_AddNumberToObject(root, "steps_us", profile->steps_us);
    cJSON_AddNumberToObject(root, "peak_float_gops", profile->peak.float_gops);
    cJSON_AddNumberToObject(root, "peak_int8_gops", profile->peak.int8_gops);
    cJSON_AddNumberToObject(root, "peak_read_gbs", profile->peak.read_gbs);
    for (uint32_t i = 0; i < profile->n_steps; i++)
        cJSON_AddItemToArray(steps, step_json(profile, &profile->steps[i]));
    cJSON_AddItemToObject(root, "steps", steps);
    text = cJSON_Print(root);
    puts(text ? text : "{}");
    free(text);
    cJSON_Delete(root);
}
