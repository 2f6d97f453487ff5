/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into all that is made where branches are counted, together with coverage.ld.
 *
 * The counters of a program or a library are memory that its process shares with those it forks, and
 * the process that loaded it writes the counts of all. So nothing is lost of a child that is killed, that
 * sees no file any more (the driver's process in its sandbox) or that ends by _exit(). Each child counts
 * in a slot of its own, from what its parent had counted: what is counted of a function that was entered
 * once and left in both processes would make no sense otherwise. Where slots are short, the parent's
 * serves. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char nn_counts_begin[], nn_counts_end[];

enum { N_SLOTS = 256 };

static pid_t owner;
static char *slots;       /* the owner's first */
static uint32_t *n_taken; /* shared, too */

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

static size_t counts_size(void)
{
    return (size_t)(nn_counts_end - nn_counts_begin);
}

/* The counters are this slot from now on. */
static void use_slot(char *slot)
{
    memcpy(slot, nn_counts_begin, counts_size());
    if (mremap(slot, 0, counts_size(), MREMAP_MAYMOVE | MREMAP_FIXED, nn_counts_begin) ==
        MAP_FAILED)
        abort();
}

static void begin_child(void)
{
    uint32_t slot = __atomic_fetch_add(n_taken, 1, __ATOMIC_RELAXED);

    if (slot < N_SLOTS)
        use_slot(slots + slot * counts_size());
}

static void *map_shared(size_t n_bytes)
{
    void *mapping = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED)
        abort();
    return mapping;
}

/* Before all else that the program or the library does by itself. */
__attribute__((constructor(101))) static void share(void)
{
    owner = getpid();
    if (counts_size() == 0)
        return;
    n_taken = map_shared(sizeof(*n_taken));
    *n_taken = 1;
    slots = map_shared(N_SLOTS * counts_size());
    use_slot(slots);
    pthread_atfork(NULL, NULL, begin_child);
}

/* Adds what the children have counted. */
static void gather(void)
{
    uint64_t *counts = (uint64_t *)nn_counts_begin;
    size_t n_counts = counts_size() / sizeof(*counts);
    uint32_t n = n_taken ? __atomic_load_n(n_taken, __ATOMIC_RELAXED) : 0;

    for (uint32_t i = 1; i < n && i < N_SLOTS; i++) {
        uint64_t *slot = (uint64_t *)(slots + i * counts_size());

        for (size_t k = 0; k < n_counts; k++)
            counts[k] += __atomic_exchange_n(&slot[k], 0, __ATOMIC_RELAXED);
    }
}

void __wrap___gcov_exit(void)
{
    if (getpid() != owner)
        return;
    gather();
    __real___gcov_exit();
}

void __wrap__exit(int code)
{
    if (getpid() == owner) {
        gather();
        __gcov_dump();
    }
    __real__exit(code);
}

/* Counts of a child are its owner's to write. */
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
    gather();
    __gcov_dump();
    r = __real_kill(pid, number);
    __gcov_reset();
    return r;
}
