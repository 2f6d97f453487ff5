/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/fail-library.h"

#include "support/countdown.h"

#include <errno.h>
#include <openssl/sha.h>
#include <seccomp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

/* Of this process and its children, who close sandboxes. */
static countdown_t *countdown;
static int sqlite_fault;
static _Atomic long n_calls;

void fail_library_arm(long n, int sqlite_code)
{
    if (!countdown)
        countdown = mmap(NULL, sizeof(*countdown), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sqlite_fault = sqlite_code;
    *countdown = n;
}

long fail_library_disarm(void)
{
    return countdown_stop(countdown);
}

long fail_library_count(void)
{
    return n_calls;
}

static bool is_to_fail(void)
{
    n_calls++;
    return countdown && countdown_hits(countdown);
}

/* A function in front of the library's, which is called unless it is to fail. */
#define FRONT(type, name, parameters, arguments, failure)                                          \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return is_to_fail() ? (failure) : __real_##name arguments;                                 \
    }

/* The same for one that does not fail. */
#define COUNTED(name, parameters, arguments)                                                       \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        n_calls++;                                                                                 \
        return __real_##name arguments;                                                            \
    }

COUNTED(SHA256_Init, (SHA256_CTX * context), (context))
COUNTED(SHA256_Update, (SHA256_CTX * context, const void *bytes, size_t n), (context, bytes, n))
COUNTED(SHA256_Final, (unsigned char *ret_hash, SHA256_CTX *context), (ret_hash, context))

FRONT(int, sqlite3_bind_blob,
      (sqlite3_stmt * statement, int i, const void *bytes, int n, void (*release)(void *)),
      (statement, i, bytes, n, release), sqlite_fault)
FRONT(int, sqlite3_bind_blob64,
      (sqlite3_stmt * statement, int i, const void *bytes, sqlite3_uint64 n,
       void (*release)(void *)),
      (statement, i, bytes, n, release), sqlite_fault)
FRONT(int, sqlite3_bind_int64, (sqlite3_stmt * statement, int i, sqlite3_int64 value),
      (statement, i, value), sqlite_fault)
FRONT(int, sqlite3_busy_handler, (sqlite3 * database, int (*handler)(void *, int), void *ctx),
      (database, handler, ctx), sqlite_fault)
FRONT(const void *, sqlite3_column_blob, (sqlite3_stmt * statement, int i), (statement, i), NULL)
FRONT(const unsigned char *, sqlite3_column_text, (sqlite3_stmt * statement, int i), (statement, i),
      NULL)
FRONT(int, sqlite3_exec,
      (sqlite3 * database, const char *text, int (*row)(void *, int, char **, char **), void *ctx,
       char **ret_message),
      (database, text, row, ctx, ret_message), sqlite_fault)
FRONT(int, sqlite3_prepare_v3,
      (sqlite3 * database, const char *text, int n, unsigned flags, sqlite3_stmt **ret_statement,
       const char **ret_tail),
      (database, text, n, flags, ret_statement, ret_tail), sqlite_fault)
FRONT(int, sqlite3_step, (sqlite3_stmt * statement), (statement), sqlite_fault)

/* As SQLite does, it may leave a handle behind that has to be closed. */
int __real_sqlite3_open_v2(const char *path, sqlite3 **ret_database, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **ret_database, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **ret_database, int flags, const char *vfs)
{
    int r = __real_sqlite3_open_v2(path, ret_database, flags, vfs);

    return is_to_fail() ? sqlite_fault : r;
}

/* The calls here have an int and an int to fill. */
int __real_sqlite3_db_config(sqlite3 *database, int what, ...);
int __wrap_sqlite3_db_config(sqlite3 *database, int what, ...);
int __wrap_sqlite3_db_config(sqlite3 *database, int what, ...)
{
    va_list arguments;
    int value, *ret_value;

    va_start(arguments, what);
    value = va_arg(arguments, int);
    ret_value = va_arg(arguments, int *);
    va_end(arguments);
    return is_to_fail() ? sqlite_fault : __real_sqlite3_db_config(database, what, value, ret_value);
}

FRONT(scmp_filter_ctx, seccomp_init, (uint32_t action), (action), NULL)
FRONT(int, seccomp_attr_set, (scmp_filter_ctx filter, enum scmp_filter_attr name, uint32_t value),
      (filter, name, value), -EFAULT)
FRONT(int, seccomp_load, (scmp_filter_ctx filter), (filter), -EFAULT)
FRONT(int, seccomp_rule_add_array,
      (scmp_filter_ctx filter, uint32_t action, int call, unsigned n,
       const struct scmp_arg_cmp *arguments),
      (filter, action, call, n, arguments), -EFAULT)
FRONT(int, seccomp_rule_add_exact_array,
      (scmp_filter_ctx filter, uint32_t action, int call, unsigned n,
       const struct scmp_arg_cmp *arguments),
      (filter, action, call, n, arguments), -EFAULT)

/* Calls here have no more than two comparisons. */
int __wrap_seccomp_rule_add(scmp_filter_ctx filter, uint32_t action, int call, unsigned n, ...);
int __wrap_seccomp_rule_add(scmp_filter_ctx filter, uint32_t action, int call, unsigned n, ...)
{
    struct scmp_arg_cmp comparisons[6];
    va_list arguments;

    va_start(arguments, n);
    for (unsigned i = 0; i < n && i < 6; i++)
        comparisons[i] = va_arg(arguments, struct scmp_arg_cmp);
    va_end(arguments);
    return is_to_fail() ? -EFAULT
                        : __real_seccomp_rule_add_array(filter, action, call, n, comparisons);
}
