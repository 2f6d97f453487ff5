/* SPDX-License-Identifier: Apache-2.0 */
/* worker PATH FD [CACHE] - see worker.h; the board is the file FD, CACHE a folder. The environment
 * says where the driver is. */
#include "worker.h"

#include "ways.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { N_BYTES = 16 };

static struct worker *worker;
static enum worker_path path;
static const char *cache;
static struct ways_formula formula;

/* Of WORKER_DOMAIN: x goes from the first to the second, which the device has. */
static ANeuralNetworksMemory *source, *state;
static float *source_view;

static int compile_and_compute(int seed)
{
    struct ways_formula fresh;
    uint32_t outcome;
    int r = path == WORKER_COMPILE ? ways_formula_compile(&fresh)
                                   : ways_formula_try_in(&fresh, cache, &outcome);

    if (r == ANEURALNETWORKS_NO_ERROR) {
        ways_formula_bind(&fresh, seed & 1);
        r = ways_formula_run(&fresh, seed);
    }
    ways_formula_done(&fresh);
    return r;
}

static int make_state(void)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    int r;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, formula.compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    r = ANeuralNetworksMemory_createFromDesc(desc, &state);
    ANeuralNetworksMemoryDesc_free(desc);
    return r;
}

static void make_source(void)
{
    int fd = memfd_create("source", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, N_BYTES), 0);
    source_view = mmap(NULL, N_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(source_view, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(N_BYTES, PROT_READ | PROT_WRITE, fd, 0, &source));
    close(fd);
}

static int compute_from_state(int seed)
{
    ANeuralNetworksExecution *execution = NULL;
    int r = state ? ANEURALNETWORKS_NO_ERROR : make_state();

    if (r != ANEURALNETWORKS_NO_ERROR)
        return r;
    ways_formula_fill(&formula, seed);
    memcpy(source_view, formula.x, N_BYTES);
    r = ANeuralNetworksMemory_copy(source, state);
    if (r != ANEURALNETWORKS_NO_ERROR)
        return r;
    OK(ANeuralNetworksExecution_create(formula.compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, state, 0, 0));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, formula.y, N_BYTES));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, formula.z, N_BYTES));
    r = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    if (r == ANEURALNETWORKS_NO_ERROR)
        ways_formula_check(&formula);
    return r;
}

static int compute_once(int seed)
{
    switch (path) {
    case WORKER_EVENT:
        return ways_formula_run_by(WAYS_EVENT, &formula, seed);
    case WORKER_FENCED:
        return ways_formula_run_by(WAYS_FENCED, &formula, seed);
    case WORKER_COMPILE:
    case WORKER_CACHED:
        return compile_and_compute(seed);
    case WORKER_DOMAIN:
        return compute_from_state(seed);
    default:
        return ways_formula_run(&formula, seed);
    }
}

static void worker_begin(void)
{
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, path == WORKER_MEMORY || path == WORKER_FENCED);
    if (path == WORKER_BURST)
        ways_formula_burst(&formula);
    if (path == WORKER_DOMAIN)
        make_source();
}

static void keep_longest(uint64_t *longest_ns, uint64_t value_ns)
{
    if (value_ns > *longest_ns)
        __atomic_store_n(longest_ns, value_ns, __ATOMIC_SEQ_CST);
}

static void note_end(uint64_t begin_ns, int result)
{
    uint64_t returned_ns = __atomic_load_n(&worker->returned_ns, __ATOMIC_SEQ_CST);
    uint64_t killed_ns = __atomic_load_n(&worker->killed_ns, __ATOMIC_SEQ_CST);
    uint64_t end_ns = ways_now_ns(), since_ns = begin_ns > returned_ns ? begin_ns : returned_ns;

    if (result != ANEURALNETWORKS_NO_ERROR && result != ANEURALNETWORKS_DEAD_OBJECT) {
        fprintf(stderr, "path %d: code %d\n", (int)path, result);
        abort();
    }
    keep_longest(&worker->longest_ns, end_ns - begin_ns);
    __atomic_store_n(&worker->driver, ways_pid(), __ATOMIC_SEQ_CST);
    if (result != ANEURALNETWORKS_NO_ERROR) {
        __atomic_add_fetch(&worker->n_failures, 1, __ATOMIC_SEQ_CST);
        return;
    }
    if (killed_ns <= returned_ns && end_ns > since_ns)
        keep_longest(&worker->late_ns, end_ns - since_ns);
    __atomic_add_fetch(&worker->n_successes, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
    struct worker_board *board;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ck_assert_int_ge(argc, 4);
    path = (enum worker_path)atoi(argv[1]);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
    ck_assert_ptr_ne(board, MAP_FAILED);
    worker = &board->workers[path];
    cache = argv[3];
    worker_begin();
    /* Seeds that differ in what is computed, so that no request is under suspicion for another. */
    for (int seed = 0; !__atomic_load_n(&worker->is_over, __ATOMIC_SEQ_CST); seed++) {
        uint64_t begin_ns = ways_now_ns();

        note_end(begin_ns, compute_once(seed));
        ways_nap(1000000);
    }
    ways_formula_done(&formula);
    if (path == WORKER_DOMAIN) {
        ANeuralNetworksMemory_free(state);
        ANeuralNetworksMemory_free(source);
    }
    return 0;
}
