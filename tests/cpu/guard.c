/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERN = 0xa5 };

static void require(bool is_so, const char *what)
{
    if (is_so)
        return;
    perror(what);
    abort();
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void guard_init(struct guard *guard, size_t size, size_t alignment, size_t gap)
{
    size_t page = page_bytes(), least = gap == GUARD_AT_BEGIN ? 0 : gap;
    size_t n_bytes = (size + least + alignment + page - 1) / page * page;
    uint8_t *map = mmap(NULL, n_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    require(map != MAP_FAILED, "mmap");
    require(mprotect(map + page, n_bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
    *guard = (struct guard){.size = size, .pages = map + page, .pages_bytes = n_bytes};
    guard->data = guard->pages;
    if (gap != GUARD_AT_BEGIN)
        guard->data += (n_bytes - gap - size) / alignment * alignment;
    memset(guard->pages, PATTERN, n_bytes);
}

void guard_done(struct guard *guard)
{
    size_t page = page_bytes();

    if (guard->pages)
        munmap(guard->pages - page, guard->pages_bytes + 2 * page);
    *guard = (struct guard){0};
}

bool guard_is_whole(const struct guard *guard, ptrdiff_t *ret_at)
{
    ptrdiff_t begin = guard->pages - guard->data;

    for (ptrdiff_t i = begin; i < begin + (ptrdiff_t)guard->pages_bytes; i++) {
        if (i == 0)
            i += (ptrdiff_t)guard->size;
        if (i < begin + (ptrdiff_t)guard->pages_bytes && guard->data[i] != PATTERN) {
            *ret_at = i;
            return false;
        }
    }
    return true;
}

void guard_lock(const struct guard *guard, bool is_locked)
{
    if (guard->pages)
        require(mprotect(guard->pages, guard->pages_bytes,
                         is_locked ? PROT_READ : PROT_READ | PROT_WRITE) == 0,
                "mprotect");
}

/* ---- calls ---- */

static sigjmp_buf back;
static volatile sig_atomic_t is_inside;
static const void *volatile touched;

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (!is_inside) { /* as without the handler */
        signal(number, SIG_DFL);
        return;
    }
    touched = info->si_addr;
    siglongjmp(back, 1);
}

static void catch_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    static bool is_done;

    if (is_done)
        return;
    require(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
    require(sigaction(SIGBUS, &action, NULL) == 0, "sigaction");
    is_done = true;
}

bool guard_call(void (*fn)(void *ctx), void *ctx, const void **ret_address)
{
    catch_faults();
    if (sigsetjmp(back, 1)) {
        is_inside = 0;
        *ret_address = touched;
        return false;
    }
    is_inside = 1;
    fn(ctx);
    is_inside = 0;
    return true;
}

/* ---- floating point ---- */

uint32_t guard_float_control(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~UINT32_C(0x3f);
#else
    return 0;
#endif
}

void guard_set_float_control(uint32_t control)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(control);
#else
    (void)control;
#endif
}
