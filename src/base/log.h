/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - lines for people, by topic
 *
 * Nothing is printed unless NNHAL_LOG asks: "host:debug,service:info", or a level
 * alone for every topic; services start with warning. NNHAL_TRACE=wire,plan
 * switches traces on. Both are read through secure_getenv, once. Lines go to
 * standard error, each with one write, so that threads do not mix. Where that is
 * the journal of systemd, each begins with its priority, "<3>" for an error to
 * "<7>", which the journal takes off.
 * Where standard error does not block, as in a driver's process, and takes nothing for 200 ms, the line
 * is left out, and so are all, at once, until it takes some again: then their number is the first line.
 * Layers base, shm, ipc and model log at debug only; they return instead. */
#ifndef NN_BASE_LOG_H
#define NN_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

enum nn_log_level {
    NN_LOG_ERROR = 0,
    NN_LOG_WARNING = 1,
    NN_LOG_INFO = 2,
    NN_LOG_DEBUG = 3,
};

/* nn_log_set_default() - the level of topics that NNHAL_LOG does not name;
 * -1 (the default): print nothing. */
void nn_log_set_default(int level);

/* nn_log_enabled() - whether a line of this topic and level would be printed. */
bool nn_log_enabled(const char *topic, enum nn_log_level level);

/* nn_log_is_journal() - whether standard error was systemd's journal when this was asked first:
 * JOURNAL_STREAM names it. A child that prints through its parent keeps the answer. */
bool nn_log_is_journal(void);

/* nn_log() - prints one line; a newline is added. errno is kept. */
void nn_log(const char *topic, enum nn_log_level level, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* nn_trace_enabled() - whether NNHAL_TRACE names this trace. */
bool nn_trace_enabled(const char *trace);

/* nn_trace() - prints one line, "seconds.microseconds text". errno is kept. */
void nn_trace(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* nn_trace_printed() - if that trace is on, prints what print writes of a noun, line by line. */
void nn_trace_printed(const char *trace, void (*print)(const void *noun, FILE *file),
                      const void *noun);

/* nn_trace_text() - nn_trace() of each line of a text that is not empty. */
void nn_trace_text(const char *text);

#endif
