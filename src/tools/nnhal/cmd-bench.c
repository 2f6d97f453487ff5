/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-bench.c - nnhal bench: how fast a model runs
 *
 * A tenth of the runs, at least three, come first and do not count. Times are of
 * one call of the API, from the application's side. */
#include "bench-cache.h"
#include "bench-inputs.h"
#include "bench-profile.h"
#include "pingpong.h"
#include "plot.h"
#include "session.h"
#include "tool.h"

#include <nnhal/ext.h>

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct bench_options {
    struct session_options session;
    uint32_t n_runs, n_threads;
    const char *inputs; /* bench_fill_inputs() */
    const char *plot;   /* where the picture goes; NULL: there is none */
    bool cache;
    bool profile;
    bool is_json;
};

/* Of a raw ping-pong, beside a burst. */
struct raw_times {
    uint64_t *times; /* ascending; NULL: not measured */
    double median_us, p99_us;
};

struct bench_result {
    double first_ms, min_ms, median_ms, p90_ms, p99_ms, load_ms, prepare_ms;
    double copied_per_run; /* bytes */
    long peak_kib;         /* resident, of this process */
    double start_ms;       /* from nothing to the end of the first run */
    uint64_t *times;       /* ascending */
    struct raw_times spin, futex;
};

#define TOOL_VALUES struct bench_options
static const struct tool_usage bench_usage = {
#include "options/bench.def"
};

/* Returns TOOL_OK, or the status to end with (TOOL_HELPED: after --help). */
static int bench_parse(int argc, char **argv, struct bench_options *o)
{
    int status = tool_parse(argc, argv, &bench_usage, o);
    char threads[16];

    if (status != TOOL_OK)
        return status;
    if (o->cache && o->plot)
        return tool_error(TOOL_USAGE, "--cache executes nothing that --plot could draw");
    if (o->profile && (o->cache || o->plot))
        return tool_error(TOOL_USAGE, "--profile goes with neither --cache nor --plot");
    o->session.model = argv[optind];
    snprintf(threads, sizeof(threads), "%u", o->n_threads);
    if (o->n_threads &&
        setenv("NNHAL_CPU_THREADS", threads, 1) < 0) /* before the driver is opened */
        return tool_error(TOOL_FAILED, "out of memory");
    return TOOL_OK;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The time below which share of the sorted times lie, ms. */
static double quantile_ms(const uint64_t *times, uint32_t n, double share)
{
    uint32_t index = (uint32_t)((double)n * share);

    return (double)times[index < n ? index : n - 1] / 1e6;
}

static int bench_measure(struct session *session, const struct bench_options *o,
                         struct bench_result *ret_result)
{
    uint32_t n_warm = o->n_runs / 10 > 3 ? o->n_runs / 10 : 3;
    uint64_t *times = calloc(o->n_runs, sizeof(*times)), unused, copied, first_ns = 0;
    bool is_shown = isatty(STDERR_FILENO);
    struct rusage usage;
    int status = times ? TOOL_OK : tool_error(TOOL_FAILED, "out of memory");
    uint64_t shown_ns = session_now_ns();

    if (status == TOOL_OK)
        status = session_run(session, &first_ns);
    for (uint32_t i = 1; i < n_warm && status == TOOL_OK; i++)
        status = session_run(session, &unused);
    copied = nnhal_get_copied_bytes();
    for (uint32_t i = 0; i < o->n_runs && status == TOOL_OK; i++) {
        status = session_run(session, &times[i]);
        if (is_shown && session_now_ns() - shown_ns > 1000000000u) {
            fprintf(stderr, "\r%u of %u runs", i + 1, o->n_runs);
            shown_ns = session_now_ns();
        }
    }
    if (is_shown)
        fputs("\r                              \r", stderr);
    if (status == TOOL_OK) {
        qsort(times, o->n_runs, sizeof(*times), compare_times);
        getrusage(RUSAGE_SELF, &usage);
        *ret_result = (struct bench_result){
            .first_ms = (double)first_ns / 1e6,
            .min_ms = (double)times[0] / 1e6,
            .median_ms = quantile_ms(times, o->n_runs, 0.5),
            .p90_ms = quantile_ms(times, o->n_runs, 0.9),
            .p99_ms = quantile_ms(times, o->n_runs, 0.99),
            .load_ms = (double)session->load_ns / 1e6,
            .prepare_ms = (double)session->prepare_ns / 1e6,
            .start_ms = (double)(session->open_ns + first_ns) / 1e6,
            .copied_per_run = (double)(nnhal_get_copied_bytes() - copied) / o->n_runs,
            .peak_kib = usage.ru_maxrss,
            .times = times,
        };
    } else {
        free(times);
    }
    return status;
}

static int measure_raw(enum pingpong_kind kind, uint32_t n, struct raw_times *ret)
{
    uint64_t *times = calloc(n, sizeof(*times));

    if (!times || pingpong_run(kind, -1, -1, n, times) < 0) {
        free(times);
        return tool_error(TOOL_FAILED, "no memory or process for the raw ping-pong");
    }
    qsort(times, n, sizeof(*times), compare_times);
    *ret = (struct raw_times){times, quantile_ms(times, n, 0.5) * 1e3,
                              quantile_ms(times, n, 0.99) * 1e3};
    return TOOL_OK;
}

/* What a burst could be at best, in the same run. */
static int measure_beside(const struct bench_options *o, struct bench_result *result)
{
    int status;

    if (o->session.path != SESSION_BURST)
        return TOOL_OK;
    status = measure_raw(PINGPONG_SPIN, o->n_runs, &result->spin);
    return status == TOOL_OK ? measure_raw(PINGPONG_FUTEX, o->n_runs, &result->futex) : status;
}

static int bench_plot(const struct bench_options *o, const struct bench_result *r)
{
    const struct plot_series series[] = {{"run", o->n_runs, r->times},
                                         {"raw, spinning", o->n_runs, r->spin.times},
                                         {"raw, futex", o->n_runs, r->futex.times}};

    if (o->plot && plot_write(o->plot, o->session.model, series, r->spin.times ? 3 : 1) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", o->plot, strerror(errno));
    return TOOL_OK;
}

static void result_free(struct bench_result *result)
{
    free(result->times);
    free(result->spin.times);
    free(result->futex.times);
}

static void print_text(const struct session *session, const struct bench_options *o,
                       const struct bench_result *r)
{
    char where[512];

    session_where(session, where, sizeof(where));
    printf("%s %s, %u runs\n", o->session.model, where, o->n_runs);
    session_print_parts(session);
    printf("  load         %10.3f ms\n  prepare      %10.3f ms\n", r->load_ms, r->prepare_ms);
    printf("  first run    %10.3f ms; from loading to its end %.3f ms\n", r->first_ms, r->start_ms);
    printf("  run, fastest %10.3f ms\n", r->min_ms);
    printf("  run, median  %10.3f ms\n  run, p90     %10.3f ms\n  run, p99     %10.3f ms\n",
           r->median_ms, r->p90_ms, r->p99_ms);
    printf("  copied       %10.0f bytes a run\n  peak memory  %10ld KiB in this process\n",
           r->copied_per_run, r->peak_kib);
    if (r->spin.times)
        printf("  raw, spinning, median %.2f us, p99 %.2f us; futex, median %.2f us, p99 %.2f us\n",
               r->spin.median_us, r->spin.p99_us, r->futex.median_us, r->futex.p99_us);
}

static void print_json(const struct session *session, const struct bench_options *o,
                       const struct bench_result *r)
{
    cJSON *root = cJSON_CreateObject();
    char *text;

    cJSON_AddStringToObject(root, "model", o->session.model);
    session_devices_to_json(session, root);
    cJSON_AddNumberToObject(root, "runs", o->n_runs);
    cJSON_AddNumberToObject(root, "load_ms", r->load_ms);
    cJSON_AddNumberToObject(root, "prepare_ms", r->prepare_ms);
    cJSON_AddNumberToObject(root, "first_ms", r->first_ms);
    cJSON_AddNumberToObject(root, "start_ms", r->start_ms);
    cJSON_AddNumberToObject(root, "min_ms", r->min_ms);
    cJSON_AddNumberToObject(root, "median_ms", r->median_ms);
    cJSON_AddNumberToObject(root, "p90_ms", r->p90_ms);
    cJSON_AddNumberToObject(root, "p99_ms", r->p99_ms);
    cJSON_AddNumberToObject(root, "copied_bytes_per_run", r->copied_per_run);
    cJSON_AddNumberToObject(root, "argument_bytes", (double)session->n_mapped);
    cJSON_AddNumberToObject(root, "peak_memory_kib", (double)r->peak_kib);
    if (r->spin.times) {
        cJSON_AddNumberToObject(root, "raw_spinning_median_us", r->spin.median_us);
        cJSON_AddNumberToObject(root, "raw_spinning_p99_us", r->spin.p99_us);
        cJSON_AddNumberToObject(root, "raw_futex_median_us", r->futex.median_us);
        cJSON_AddNumberToObject(root, "raw_futex_p99_us", r->futex.p99_us);
    }
    text = cJSON_Print(root);
    puts(text ? text : "{}");
    free(text);
    cJSON_Delete(root);
}

/* -- of a cache ------------------------------------------------------------------------- */

static double to_ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void print_cache_text(const struct bench_options *o, const struct cache_times *t)
{
    printf("%s\n  compile             %10.3f ms, again %.3f ms\n", o->session.model,
           to_ms(t->compile_first_ns), to_ms(t->compile_ns));
    if (t->why_not[0]) {
        printf("  is not cached: %s\n", t->why_not);
        return;
    }
    printf("  compile and keep    %10.3f ms, %llu bytes\n", to_ms(t->keep_ns),
           (unsigned long long)t->n_bytes);
    printf("  from the cache      %10.3f ms in another process, again %.3f ms\n",
           to_ms(t->from_cache_first_ns), to_ms(t->from_cache_ns));
    printf("  read and check      %10.3f ms; from the cache takes %.2f times that\n",
           to_ms(t->read_ns), (double)t->from_cache_first_ns / (double)t->read_ns);
}

static void print_cache_json(const struct bench_options *o, const struct cache_times *t)
{
    cJSON *root = cJSON_CreateObject();
    char *text;

    cJSON_AddStringToObject(root, "model", o->session.model);
    cJSON_AddStringToObject(root, "why_not", t->why_not);
    cJSON_AddNumberToObject(root, "bytes", (double)t->n_bytes);
    cJSON_AddNumberToObject(root, "compile_first_ms", to_ms(t->compile_first_ns));
    cJSON_AddNumberToObject(root, "compile_ms", to_ms(t->compile_ns));
    cJSON_AddNumberToObject(root, "keep_ms", to_ms(t->keep_ns));
    cJSON_AddNumberToObject(root, "from_cache_first_ms", to_ms(t->from_cache_first_ns));
    cJSON_AddNumberToObject(root, "from_cache_ms", to_ms(t->from_cache_ns));
    cJSON_AddNumberToObject(root, "read_ms", to_ms(t->read_ns));
    text = cJSON_Print(root);
    puts(text ? text : "{}");
    free(text);
    cJSON_Delete(root);
}

static int measure_cache(const struct bench_options *o)
{
    struct cache_times times;
    int status = bench_cache(&o->session, &times);

    if (status == TOOL_OK && o->is_json)
        print_cache_json(o, &times);
    else if (status == TOOL_OK)
        print_cache_text(o, &times);
    return status;
}

/* -- step by step ------------------------------------------------------------------------- */

static int measure_steps(struct session *session, const struct bench_options *o)
{
    struct profile profile;
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int status = profile_measure(session, o->n_runs,
                                 o->n_threads ? o->n_threads : (uint32_t)(n_cpus > 0 ? n_cpus : 1),
                                 &profile);

    if (status == TOOL_OK && o->is_json)
        profile_print_json(&profile, o->session.model);
    else if (status == TOOL_OK)
        profile_print(&profile);
    profile_free(&profile);
    return status;
}

static int measure_whole(struct session *session, const struct bench_options *o)
{
    struct bench_result result = {0};
    int status = bench_measure(session, o, &result);

    if (status == TOOL_OK)
        status = measure_beside(o, &result);
    if (status == TOOL_OK)
        status = bench_plot(o, &result);
    if (status == TOOL_OK && o->is_json)
        print_json(session, o, &result);
    else if (status == TOOL_OK)
        print_text(session, o, &result);
    result_free(&result);
    return status;
}

/* -- the command ------------------------------------------------------------------------- */

static int bench_command(int argc, char **argv)
{
    struct bench_options o = {.n_runs = 100, .inputs = "random"};
    struct session session;
    int status = bench_parse(argc, argv, &o);

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (o.cache)
        return measure_cache(&o);
    status = session_open(&o.session, &session);
    if (status == TOOL_OK)
        status = bench_fill_inputs(&session, o.inputs);
    if (status == TOOL_OK)
        status = o.profile ? measure_steps(&session, &o) : measure_whole(&session, &o);
    session_close(&session);
    return status;
}

const struct tool_command cmd_bench = {&bench_usage, bench_command};
