/* SPDX-License-Identifier: Apache-2.0 */
/* What a computation costs that one device does whole: this program computes in a child, step by step, and
 * counts. System calls and locks (calls of pthread_mutex_lock()) are counted wherever they are made, other
 * atomic instructions and instructions at all in libneuralnetworks.so: neither in libc, which chooses by
 * the CPU, nor in the driver.
 *
 * Who makes it cheaper, or has a reason to make it dearer, records the new figures below. Instructions,
 * also atomic ones, are the compiler's business, too: they are judged where the library was made by the
 * one that is named there. A burst is where two CPUs let it wait without sleeping.
 *
 * Ends with 1 where a figure is not the recorded one, with 77 where nothing could be counted, or not all
 * be judged, and says so. */
#include "ways.h"

#include <stdio.h>

enum { SKIPPED = 77 }; /* what a test ends with that was not made */

#ifdef __x86_64__

#include "base/cpus.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_WARM = 50, N_ATTEMPTS = 20 };

/* Of one computation. */
struct counts {
    uint64_t n_calls, n_locks, n_atomics, n_copied, n_instructions;
};

#define COMPILER "12.2.0" /* of GCC, for x86-64, with -O2 */

static const struct {
    const char *name;
    bool is_chosen; /* the sample by the library, which has a plan then */
    bool in_memory, has_burst;
    struct counts recorded;
} cases[] = {
    {"compute() with pointers", false, false, false, {0, 3, 9, 48, 2642}},
    {"compute() in memory", false, true, false, {0, 3, 6, 0, 2468}},
    {"compute() on a choice", true, true, false, {0, 3, 6, 0, 2483}},
    {"burstCompute() in memory", false, true, true, {1, 0, 8, 0, 2401}},
};

/* -- verdicts --------------------------------------------------------------------------- */

static bool is_same(const struct counts *a, const struct counts *b)
{
    return a->n_calls == b->n_calls && a->n_locks == b->n_locks && a->n_copied == b->n_copied;
}

static bool is_near(uint64_t n, uint64_t recorded)
{
    return n * 100 <= recorded * 101 && n * 100 >= recorded * 99;
}

static bool is_judged(void)
{
#ifdef COUNT_WHOLE_IS_JUDGED
    return strcmp(__VERSION__, COMPILER) == 0;
#else
    return false;
#endif
}

static bool is_right(const struct counts *counts, const struct counts *recorded)
{
    return is_same(counts, recorded) &&
           (!is_judged() || (counts->n_atomics == recorded->n_atomics &&
                             is_near(counts->n_instructions, recorded->n_instructions)));
}

static void print_counts(const char *name, const struct counts *counts)
{
    printf("%-26s %" PRIu64 " system calls, %" PRIu64 " locks, %" PRIu64 " other atomics, %" PRIu64
           " bytes copied, %" PRIu64 " instructions\n",
           name, counts->n_calls, counts->n_locks, counts->n_atomics, counts->n_copied,
           counts->n_instructions);
}

/* What is counted lies between two of them. */
#define MARK() __asm__ volatile("int3" ::: "memory")

/* Of the child, which tells them, in memory that both have. */
struct landmarks {
    uint64_t library, library_end, lock; /* where they are */
    uint64_t n_copied;
};

/* -- the child ------------------------------------------------------------------------ */

static int find_library(struct landmarks *landmarks)
{
    char line[512];
    unsigned long begin, end;
    FILE *file = fopen("/proc/self/maps", "r");

    while (file && fgets(line, sizeof(line), file))
        if (strstr(line, "r-xp") && strstr(line, "libneuralnetworks.so") &&
            sscanf(line, "%lx-%lx", &begin, &end) == 2) {
            landmarks->library = begin;
            landmarks->library_end = end;
        }
    if (file)
        fclose(file);
    return landmarks->library ? 0 : -1;
}

static int run_child(size_t i, struct landmarks *shared)
{
    struct ways_formula formula;
    uint64_t before;

    ways_begin();
    setenv("NNHAL_DEVICES", "nnhal-sample", 1);
    OK(cases[i].is_chosen ? ways_formula_compile_for_any(&formula)
                          : ways_formula_compile(&formula));
    ways_formula_bind(&formula, cases[i].in_memory);
    if (cases[i].has_burst)
        ways_formula_burst(&formula);
    for (int k = 0; k < N_WARM; k++)
        OK(ways_formula_run(&formula, k));
    before = nnhal_get_copied_bytes();
    shared->lock = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    if (find_library(shared) || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        return SKIPPED;
    MARK();
    if (cases[i].has_burst)
        ANeuralNetworksExecution_burstCompute(formula.execution, formula.burst);
    else
        ANeuralNetworksExecution_compute(formula.execution);
    MARK();
    shared->n_copied = nnhal_get_copied_bytes() - before;
    ways_formula_done(&formula);
    ways_end();
    return 0;
}

/* -- steps ----------------------------------------------------------------------------- */

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3;
}

/* With the prefix "lock", or an exchange with memory, which needs none. */
static bool is_atomic(const uint8_t *bytes)
{
    for (int i = 0; i < 3 && is_prefix(*bytes); i++)
        bytes++;
    if (*bytes == 0xf0)
        return true;
    bytes += (*bytes & 0xf0) == 0x40; /* a REX prefix */
    return (bytes[0] == 0x86 || bytes[0] == 0x87) && bytes[1] < 0xc0;
}

/* Returns: whether the instruction at address is one, and not the mark. */
static bool count_step(pid_t child, const struct landmarks *landmarks, uint64_t address,
                       struct counts *counts)
{
    uint8_t bytes[sizeof(long)];
    long word = ptrace(PTRACE_PEEKTEXT, child, (void *)(uintptr_t)address, NULL);
    bool is_inside;

    memcpy(bytes, &word, sizeof(bytes));
    if (bytes[0] == 0xcc)
        return false;
    is_inside = address >= landmarks->library && address < landmarks->library_end;
    counts->n_calls += bytes[0] == 0x0f && bytes[1] == 0x05;
    counts->n_locks += address == landmarks->lock;
    counts->n_atomics += is_inside && is_atomic(bytes);
    counts->n_instructions += is_inside;
    return true;
}

/* From one mark to the next. Returns: 0, SKIPPED. */
static int count_steps(pid_t child, const struct landmarks *landmarks, struct counts *counts)
{
    struct user_regs_struct registers;
    int status = 0;

    for (;;) {
        if (ptrace(PTRACE_GETREGS, child, NULL, &registers))
            return SKIPPED;
        if (!count_step(child, landmarks, registers.rip, counts))
            return 0;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return SKIPPED;
    }
}

/* From its last mark on it runs alone. Returns: whether it ended well. */
static bool let_go(pid_t child)
{
    int status = 0;

    return !ptrace(PTRACE_CONT, child, NULL, NULL) && waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status) && !ptrace(PTRACE_DETACH, child, NULL, NULL) &&
           waitpid(child, &status, 0) == child && status == 0;
}

/* Returns: 0; SKIPPED; 1: the child failed. */
static int count_case(size_t i, struct landmarks *shared, struct counts *ret_counts)
{
    struct counts counts = {0};
    int status = 0, r;
    pid_t child = fork();

    if (child == 0)
        _exit(run_child(i, shared));
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? SKIPPED : 1;
    r = count_steps(child, shared, &counts);
    if (r || !let_go(child))
        return r ? r : 1;
    counts.n_copied = shared->n_copied;
    *ret_counts = counts;
    return 0;
}

static int skip_case(size_t i, const char *why)
{
    printf("%s: %s: nothing was counted\n", cases[i].name, why);
    return SKIPPED;
}

/* Where another thread takes part the CPUs decide whether one waits for it: one of some attempts is
 * right. Returns: as count_case(); 1: none is. */
static int judge_case(size_t i, struct landmarks *shared)
{
    struct counts counts;

    if (cases[i].has_burst && nn_cpus_allowed() < 2)
        return skip_case(i, "with one CPU each wait of a burst sleeps");
    for (int k = 0; k < N_ATTEMPTS; k++) {
        int r = count_case(i, shared, &counts);

        if (r)
            return r == SKIPPED ? skip_case(i, "this machine lets no process be traced") : r;
        print_counts(cases[i].name, &counts);
        if (is_right(&counts, &cases[i].recorded))
            return 0;
    }
    print_counts("  recorded are", &cases[i].recorded);
    return 1;
}

int main(void)
{
    struct landmarks *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int worst = 0;

    setvbuf(stdout, NULL, _IONBF, 0); /* children do not print it again */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int r = judge_case(i, shared);

        worst = worst == 1 || r == 1 ? 1 : worst > r ? worst : r;
    }
    if (!worst && !is_judged()) {
        printf("another compiler than GCC " COMPILER
               " with -O2: instructions and atomics were not judged\n");
        return SKIPPED;
    }
    return worst;
}

#else

int main(void)
{
    printf("instructions can be counted on x86-64 alone: nothing was counted\n");
    return SKIPPED;
}

#endif
