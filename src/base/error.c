/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "base/log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* As deep as errors travel: from a system call to the API in at most a dozen calls. */
enum { N_RECORDS = 16 };

struct error_ring {
    uint64_t n; /* records ever made */
    struct {
        const char *where;
        int r;
        bool is_origin;
    } records[N_RECORDS];
};

/* Not static: a debugger prints it by this name. */
extern _Thread_local struct error_ring nn_error_ring;
_Thread_local struct error_ring nn_error_ring;

/* Meson compiles "../src/base/error.c": what follows the last "src/" names the file. */
static const char *inside_source(const char *where)
{
    for (const char *next = where; (next = strstr(next, "src/")) != NULL; next += 4)
        where = next + 4;
    return where;
}

void nn_error_record(int r, const char *where, bool is_origin)
{
    struct error_ring *ring = &nn_error_ring;
    size_t i = ring->n++ % N_RECORDS;
    /* Callers record an error between a system call and their last look at errno. */
    int saved = errno;

    ring->records[i].where = where;
    ring->records[i].r = r;
    ring->records[i].is_origin = is_origin;
    if (nn_trace_enabled("errors"))
        nn_trace("%s-%s %s", is_origin ? "" : "  ", strerrorname_np(-r) ? strerrorname_np(-r) : "?",
                 inside_source(where));
    errno = saved;
}

/* The index of the record with which the last chain begins: its origin, or the oldest that is
 * still there. */
static uint64_t chain_begin(const struct error_ring *ring)
{
    uint64_t oldest = ring->n > N_RECORDS ? ring->n - N_RECORDS : 0, i = ring->n;

    while (i > oldest)
        if (ring->records[--i % N_RECORDS].is_origin)
            break;
    return i;
}

size_t nn_error_last(char *text, size_t n_text)
{
    const struct error_ring *ring = &nn_error_ring;
    uint64_t begin = chain_begin(ring);
    size_t used = 0;

    if (n_text)
        text[0] = '\0';
    for (uint64_t i = begin; i < ring->n && used < n_text; i++) {
        const char *name = strerrorname_np(-ring->records[i % N_RECORDS].r);
        const char *where = inside_source(ring->records[i % N_RECORDS].where);
        int n = i == begin ? snprintf(text, n_text, "-%s %s", name ? name : "?", where)
                           : snprintf(text + used, n_text - used, " < %s", where);

        if (n < 0)
            break;
        used += (size_t)n;
    }
    return (size_t)(ring->n - begin);
}
