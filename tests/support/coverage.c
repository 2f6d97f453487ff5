/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into all that is made where branches are counted, together with coverage.ld.
 *
 * The counters of a program or a library are memory that it shares with the processes it forks, and the
 * process that loaded it writes them. So nothing is lost of a child that is killed, that sees no file any
 * more (the driver's process in its sandbox) or that ends by _exit(). */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char nn_counts_begin[], nn_counts_end[];

static pid_t owner;

void __gcov_dump(void);
void __gcov_reset(void);
void __real___gcov_exit(void);
void __wrap___gcov_exit(void);
void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));
int __real___gcov_execv(const char *path, char *const *arguments);
int __wrap___gcov_execv(const char *path, char *const *arguments);
int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);

/* Before whatever else the program or the library does by itself. */
__attribute__((constructor(101))) static void share(void)
{
    size_t n_bytes = (size_t)(nn_counts_end - nn_counts_begin);

    owner = getpid();
    if (n_bytes > 0 && mmap(nn_counts_begin, n_bytes, PROT_READ | PROT_WRITE,
                            MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        abort();
}

void __wrap___gcov_exit(void)
{
    if (getpid() == owner)
        __real___gcov_exit();
}

void __wrap__exit(int code)
{
    if (getpid() == owner)
        __gcov_dump();
    __real__exit(code);
}

/* Writing adds what the file has to the counters: done twice, it would count all of it twice. */
int __wrap___gcov_execv(const char *path, char *const *arguments)
{
    return getpid() == owner ? __real___gcov_execv(path, arguments) : execv(path, arguments);
}

/* A process that ends as another has ended. */
int __wrap_kill(pid_t pid, int number)
{
    int r;

    if (pid != owner || getpid() != owner)
        return __real_kill(pid, number);
    __gcov_dump();
    r = __real_kill(pid, number);
    __gcov_reset();
    return r;
}
