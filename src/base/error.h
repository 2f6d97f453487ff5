/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - how functions report failure
 *
 * int: 0 is success; below 0 is -errno, fatal, forwarded untouched with
 * nn_error_trace(); above 0 is an outcome named in the callee's own header and
 * handled by the direct caller. An outcome that a caller does not expect is
 * folded to -ENOTRECOVERABLE with nn_error_fold().
 *
 * The three record where a fatal error was born and which lines forwarded it,
 * in a ring of this thread. NNHAL_TRACE=errors prints each record as it is made;
 * nn_error_last() formats the last chain, and a debugger reads it there:
 *
 *     -ENOENT cache/folder.c:71 < cache/entry-file.c:140 < runtime/compilation/cache.c:209
 *
 * A value that is not negative costs one comparison and records nothing. */
#ifndef NN_BASE_ERROR_H
#define NN_BASE_ERROR_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* nn_error_record() - adds a line of the sources to this thread's ring. where is
 * "file:line" and lives for ever. is_origin begins a new chain. errno is kept. */
void nn_error_record(int r, const char *where, bool is_origin);

/* nn_error_last() - the last chain of this thread as text, always terminated, cut
 * where text ends. Returns: the number of its lines of source; 0: none was recorded. */
size_t nn_error_last(char *text, size_t n_text);

static inline int nn_error_record_negative(int r, const char *where, bool is_origin)
{
    if (__builtin_expect(r < 0, 0))
        nn_error_record(r, where, is_origin);
    return r;
}

#define NN_ERROR_LINE_TEXT(line) #line
#define NN_ERROR_LINE(line)      NN_ERROR_LINE_TEXT(line)
#define NN_ERROR_WHERE           __FILE__ ":" NN_ERROR_LINE(__LINE__)

/* nn_error_origin() - where a fatal error is born: return nn_error_origin(-ENOMEM). */
#define nn_error_origin(r) nn_error_record_negative((r), NN_ERROR_WHERE, true)

/* nn_error_trace() - forwards a fatal error untouched. */
#define nn_error_trace(r) nn_error_record_negative((r), NN_ERROR_WHERE, false)

static inline int nn_error_fold_at(int r, const char *where)
{
    return r > 0 ? nn_error_record_negative(-ENOTRECOVERABLE, where, true)
                 : nn_error_record_negative(r, where, false);
}

/* nn_error_fold() - turns an outcome that has no meaning here into a fatal error. */
#define nn_error_fold(r) nn_error_fold_at((r), NN_ERROR_WHERE)

#endif
