/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/cleanup.h"
#include "base/plain.h"
#include "base/variable.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_RULES = 32,
    MAX_TOPIC = 24,
    MAX_LINE = 4096,
    LEVEL_UNSET = -2,
    PATIENCE_MS = 200, /* with a reader that is slower than a burst of lines */
};

struct rule {
    char topic[MAX_TOPIC];
    int level;
};

/* What the environment asked for: written once, by load(). */
static struct {
    struct rule topics[MAX_RULES];
    size_t n_topics;
    struct rule traces[MAX_RULES];
    size_t n_traces;
    int level;       /* of every topic without a rule of its own */
    bool is_journal; /* lines go there */
} asked = {.level = LEVEL_UNSET};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static int default_level = -1;

static uint64_t n_lost; /* lines, and not told yet; atomic */

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static const char *const priorities[] = {"<3>", "<4>", "<6>", "<7>"}; /* of syslog */

static int level_from(const char *text, size_t n)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(level_names); i++)
        if (strlen(level_names[i]) == n && strncmp(level_names[i], text, n) == 0)
            return (int)i;
    return LEVEL_UNSET;
}

static void rule_add(struct rule *rules, size_t *n_rules, const char *topic, size_t n, int level)
{
    struct rule *rule = &rules[*n_rules];

    if (*n_rules == MAX_RULES || n == 0 || n >= MAX_TOPIC)
        return;
    memcpy(rule->topic, topic, n);
    rule->topic[n] = '\0';
    rule->level = level;
    (*n_rules)++;
}

/* One item of NNHAL_LOG: "topic:level", or "level" for all. What cannot be
 * understood is passed over: a log is not worth a failure. */
static void log_load_item(const char *item, size_t n)
{
    const char *colon = memchr(item, ':', n);
    int level;

    if (!colon) {
        level = level_from(item, n);
        if (level != LEVEL_UNSET)
            asked.level = level;
        return;
    }
    level = level_from(colon + 1, n - (size_t)(colon - item) - 1);
    if (level != LEVEL_UNSET)
        rule_add(asked.topics, &asked.n_topics, item, (size_t)(colon - item), level);
}

static void log_load_trace(const char *item, size_t n)
{
    rule_add(asked.traces, &asked.n_traces, item, n, 0);
}

static void log_load_list(const char *list, void (*item)(const char *item, size_t n))
{
    while (list && *list) {
        size_t n = strcspn(list, ",");

        item(list, n);
        list += n;
        list += *list == ',';
    }
}

/* What systemd says of the stream that it made for this process: device and inode. The variable
 * may be inherited by a program whose standard error is something else. */
static bool is_journal(void)
{
    const char *stream = secure_getenv("JOURNAL_STREAM");
    struct stat status;
    char own[64];

    if (!stream || fstat(STDERR_FILENO, &status) < 0)
        return false;
    snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    return strcmp(stream, own) == 0;
}

static void log_load(void)
{
    asked.is_journal = is_journal();
    log_load_list(nn_variable_get(NN_VARIABLE_LOG), log_load_item);
    log_load_list(nn_variable_get(NN_VARIABLE_TRACE), log_load_trace);
}

void nn_log_set_default(int level)
{
    __atomic_store_n(&default_level, level, __ATOMIC_RELAXED);
}

bool nn_log_enabled(const char *topic, enum nn_log_level level)
{
    pthread_once(&loaded, log_load);
    for (size_t i = 0; i < asked.n_topics; i++)
        if (strcmp(asked.topics[i].topic, topic) == 0)
            return (int)level <= asked.topics[i].level;
    if (asked.level != LEVEL_UNSET)
        return (int)level <= asked.level;
    return (int)level <= __atomic_load_n(&default_level, __ATOMIC_RELAXED);
}

bool nn_log_is_journal(void)
{
    pthread_once(&loaded, log_load);
    return asked.is_journal;
}

bool nn_trace_enabled(const char *trace)
{
    pthread_once(&loaded, log_load);
    for (size_t i = 0; i < asked.n_traces; i++)
        if (strcmp(asked.traces[i].topic, trace) == 0)
            return true;
    return false;
}

/* One write, so that lines of several threads and processes do not mix. A log that fails is not
 * logged. Returns whether there was room for it. */
static bool put_line(const char *line, size_t n, int patience_ms)
{
    struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};

    while (write(STDERR_FILENO, line, n) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return true;
        if (poll(&errors, 1, patience_ms) <= 0)
            return false;
    }
    return true;
}

/* Comes before any other line. Returns whether nothing is left to be told. */
static bool tell_lost(void)
{
    uint64_t n_lines = __atomic_exchange_n(&n_lost, 0, __ATOMIC_RELAXED);
    char line[128];

    if (n_lines == 0)
        return true;
    snprintf(line, sizeof(line),
             "%snnhal log warning: %" PRIu64 " lines were left out: standard error took none\n",
             asked.is_journal ? priorities[NN_LOG_WARNING] : "", n_lines);
    if (put_line(line, strlen(line), 0))
        return true;
    __atomic_add_fetch(&n_lost, n_lines, __ATOMIC_RELAXED);
    return false;
}

/* Writes prefix and text as one line. A text that is too long is cut; control
 * characters, which may come from a peer, do not reach the terminal. */
__attribute__((__format__(__printf__, 2, 0))) static void
print_line(const char *prefix, const char *format, va_list arguments)
{
    char line[MAX_LINE];
    struct nn_plain plain = {0};
    int saved = errno, n_prefix, n_text;
    size_t n;

    n_prefix = snprintf(line, sizeof(line), "%s", prefix);
    if (n_prefix < 0 || (size_t)n_prefix > sizeof(line) / 2)
        return;
    n_text = vsnprintf(line + n_prefix, sizeof(line) - 1 - (size_t)n_prefix, format, arguments);
    if (n_text < 0)
        return;
    n = strlen(line);
    for (size_t i = 0; i < n; i++) {
        line[i] = (char)nn_plain_byte(&plain, (uint8_t)line[i]);
        if (line[i] == '\n' || line[i] == '\t')
            line[i] = '?';
    }
    line[n++] = '\n';
    if (!tell_lost() || !put_line(line, n, PATIENCE_MS))
        __atomic_add_fetch(&n_lost, 1, __ATOMIC_RELAXED);
    errno = saved;
}

void nn_log(const char *topic, enum nn_log_level level, const char *format, ...)
{
    char prefix[64];
    va_list arguments;

    if (!nn_log_enabled(topic, level))
        return;
    snprintf(prefix, sizeof(prefix), "%snnhal %s %s: ", asked.is_journal ? priorities[level] : "",
             topic, level_names[level]);
    va_start(arguments, format);
    print_line(prefix, format, arguments);
    va_end(arguments);
}

/* Not nn_sys_now_ns(): sys reports errors, and errors are traced. */
static uint64_t now_microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void nn_trace(const char *format, ...)
{
    uint64_t now_us = now_microseconds();
    char prefix[64];
    va_list arguments;

    snprintf(prefix, sizeof(prefix), "%s%" PRIu64 ".%06" PRIu64 " ",
             nn_log_is_journal() ? priorities[NN_LOG_DEBUG] : "", now_us / 1000000,
             now_us % 1000000);
    va_start(arguments, format);
    print_line(prefix, format, arguments);
    va_end(arguments);
}

void nn_trace_text(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        if (n)
            nn_trace("%.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

void nn_trace_printed(const char *trace, void (*print)(const void *noun, FILE *file),
                      const void *noun)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file;

    if (!nn_trace_enabled(trace))
        return;
    file = open_memstream(&text, &n_bytes);
    if (!file)
        return;
    print(noun, file);
    if (fclose(file) == 0)
        nn_trace_text(text);
    free(text);
}
