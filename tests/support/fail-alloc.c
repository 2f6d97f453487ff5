/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fail-alloc.h"

#include "support/countdown.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
int __real_vasprintf(char **ret_text, const char *format, va_list arguments);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
int __wrap_vasprintf(char **ret_text, const char *format, va_list arguments);
int __wrap_asprintf(char **ret_text, const char *format, ...);

static countdown_t countdown;
static size_t largest;

static bool fails(size_t n_bytes)
{
    size_t most = __atomic_load_n(&largest, __ATOMIC_RELAXED);

    while (n_bytes > most && !__atomic_compare_exchange_n(&largest, &most, n_bytes, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    return countdown_hits(&countdown);
}

void fail_alloc_arm(long n)
{
    countdown = n;
}

long fail_alloc_disarm(void)
{
    return countdown_stop(&countdown);
}

size_t fail_alloc_largest(void)
{
    return __atomic_exchange_n(&largest, 0, __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t n)
{
    return fails(n) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t n)
{
    return fails(n) ? NULL : __real_realloc(block, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    return fails(n) ? NULL : __real_aligned_alloc(alignment, n);
}

char *__wrap_strdup(const char *text)
{
    return fails(strlen(text) + 1) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return fails(n + 1) ? NULL : __real_strndup(text, n);
}

int __wrap_vasprintf(char **ret_text, const char *format, va_list arguments)
{
    return fails(1) ? -1 : __real_vasprintf(ret_text, format, arguments);
}

int __wrap_asprintf(char **ret_text, const char *format, ...)
{
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = __wrap_vasprintf(ret_text, format, arguments);
    va_end(arguments);
    return n;
}
