/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - what a model costs in parts, beside what it costs as a whole
 *
 *     split MODEL.tflite
 *
 * Two devices compute with the kernels of the CPU driver, in this process and on one thread: they are
 * measured, then the model is computed as a whole by one, and in parts by both, in turns. In parts it
 * takes at most a tenth more than as a whole, beside what moving values between the parts takes as
 * it was measured, or the program ends with 1.
 *
 * NNHAL_DRIVER_PATH has the drivers partial-0 and partial-1 of tests/drivers. */
#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>
#include <nnhal/tflite.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_ROUNDS = 5, N_RUNS = 15 };

#define MOST 1.1

/* What the two devices take. */
static const struct {
    const char *name, *rules;
} cases[] = {
    {"an island", "0:not=LOGISTIC;1:only=LOGISTIC"},
    {"27 parts", "0:not=DEPTHWISE_CONV_2D;1:only=DEPTHWISE_CONV_2D"},
};

static void check(int result)
{
    char why[400];

    if (result == ANEURALNETWORKS_NO_ERROR)
        return;
    nnhal_get_last_error(why, sizeof(why));
    fprintf(stderr, "split: %s: %s\n", nnhal_get_result_name(result), why);
    exit(2);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

static ANeuralNetworksDevice *find_device(const char *name)
{
    ANeuralNetworksDevice *device = NULL;
    const char *found = NULL;
    uint32_t n = 0;

    check(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++) {
        check(ANeuralNetworks_getDevice(i, &device));
        check(ANeuralNetworksDevice_getName(device, &found));
        if (strcmp(found, name) == 0)
            return device;
    }
    fprintf(stderr, "split: no device %s in NNHAL_DRIVER_PATH\n", name);
    exit(2);
}

/* -- a model that is ready to run --------------------------------------------------------- */

struct subject {
    struct nnhal_tflite *model; /* of its own: what devices take of a model is asked once */
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
};

static void *fill(uint64_t n_bytes)
{
    uint8_t *bytes = malloc(n_bytes + 1);

    for (uint64_t i = 0; bytes && i < n_bytes; i++)
        bytes[i] = (uint8_t)rand();
    return bytes;
}

/* Arguments by pointer, which live as long as the program. */
static void set_arguments(struct subject *subject)
{
    const struct nnhal_tflite *model = subject->model;

    for (uint32_t i = 0; i < nnhal_tflite_n_inputs(model); i++) {
        uint64_t n_bytes = nnhal_tflite_input(model, i)->n_bytes;

        check(ANeuralNetworksExecution_setInput(subject->execution, (int32_t)i, NULL, fill(n_bytes),
                                                n_bytes));
    }
    for (uint32_t i = 0; i < nnhal_tflite_n_outputs(model); i++) {
        uint64_t n_bytes = nnhal_tflite_output(model, i)->n_bytes;

        check(ANeuralNetworksExecution_setOutput(subject->execution, (int32_t)i, NULL,
                                                 fill(n_bytes), n_bytes));
    }
}

static void subject_init(struct subject *subject, const char *path, const char *rules,
                         const ANeuralNetworksDevice *const *devices, uint32_t n_devices)
{
    char why[200];

    srand(1);
    setenv("NN_TEST_PARTIAL", rules, 1);
    if (nnhal_tflite_load(path, &subject->model, why, sizeof(why))) {
        fprintf(stderr, "split: %s\n", why);
        exit(2);
    }
    check(ANeuralNetworksCompilation_createForDevices(nnhal_tflite_model(subject->model), devices,
                                                      n_devices, &subject->compilation));
    check(ANeuralNetworksCompilation_finish(subject->compilation));
    check(ANeuralNetworksExecution_create(subject->compilation, &subject->execution));
    check(ANeuralNetworksExecution_setReusable(subject->execution, true));
    set_arguments(subject);
    check(ANeuralNetworksExecution_compute(subject->execution));
}

static void subject_done(struct subject *subject)
{
    ANeuralNetworksExecution_free(subject->execution);
    ANeuralNetworksCompilation_free(subject->compilation);
    nnhal_tflite_free(subject->model);
}

static double run_ms(struct subject *subject)
{
    double begin_ms = now_ms();

    check(ANeuralNetworksExecution_compute(subject->execution));
    return now_ms() - begin_ms;
}

/* What its parts were measured to take for moving values, in the executions so far. */
static double moves_ms(const struct subject *subject, uint32_t *ret_parts)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};
    double sum_ms = 0;

    check(nnhal_compilation_get_plan(subject->compilation, &plan));
    for (uint32_t i = 0; i < plan.n_parts; i++) {
        struct nnhal_part_cost cost = {.size = sizeof(cost)};

        check(nnhal_compilation_get_cost(subject->compilation, i, &cost));
        sum_ms += (double)cost.move_ns / 1e6;
    }
    *ret_parts = plan.n_parts;
    return sum_ms;
}

/* -- in turns -------------------------------------------------------------------------------- */

/* Returns: whether it keeps the promise. */
static int judge(const char *name, struct subject *whole, struct subject *parts)
{
    double whole_ms[N_RUNS], parts_ms[N_RUNS], wholes[N_ROUNDS], in_parts[N_ROUNDS];
    double a, b, moves, most;
    uint32_t n_parts;

    for (int round = 0; round < N_ROUNDS; round++) {
        for (int i = 0; i < N_RUNS; i++) {
            whole_ms[i] = run_ms(whole);
            parts_ms[i] = run_ms(parts);
        }
        wholes[round] = median(whole_ms, N_RUNS);
        in_parts[round] = median(parts_ms, N_RUNS);
    }
    a = median(wholes, N_ROUNDS);
    b = median(in_parts, N_ROUNDS);
    moves = moves_ms(parts, &n_parts);
    most = MOST * a + moves;
    printf("%-12s %5u %9.3f %9.3f %9.3f %6.3f%s\n", name, n_parts, a, b, moves, b / a,
           b > most ? "  SLOW" : "");
    return b <= most;
}

static int run_case(const char *path, const ANeuralNetworksDevice *const *devices, size_t i)
{
    struct subject whole, parts;
    int is_good;

    subject_init(&whole, path, "", devices, 1);
    subject_init(&parts, path, cases[i].rules, devices, 2);
    is_good = judge(cases[i].name, &whole, &parts);
    subject_done(&parts);
    subject_done(&whole);
    return is_good;
}

int main(int argc, char **argv)
{
    const ANeuralNetworksDevice *devices[2];
    int is_good = 1;

    setenv("NNHAL_MODE", "embedded", 1);
    setenv("NNHAL_CPU_THREADS", "1", 1);
    if (argc != 2) {
        fprintf(stderr, "usage: split MODEL.tflite\n");
        return 2;
    }
    devices[0] = find_device("partial-0");
    devices[1] = find_device("partial-1");
    for (int i = 0; i < 2; i++)
        check(nnhal_device_calibrate((ANeuralNetworksDevice *)devices[i]));
    printf("%-12s %5s %9s %9s %9s %6s   (ms)\n", "", "parts", "whole", "in parts", "moves",
           "ratio");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        is_good &= run_case(argv[1], devices, i);
    return is_good ? 0 : 1;
}
