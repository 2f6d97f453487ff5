/* SPDX-License-Identifier: Apache-2.0 */
/* A state that stays in the device, in each of the three ways and by every path
 * of execution, whether the host holds it or the driver. */
#include "ways.h"

#include <signal.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    N = 4,
    N_BYTES = 4 * N,
    N_READERS = 8,
};

/* The paths of execution. */
enum path { COMPUTE, REUSED, EVENT, FENCED, BURST, N_PATHS };

static struct ways_formula formula; /* z = relu(x * y + x) */
static ANeuralNetworksMemory *states[2];
static char configuration[32];

static ANeuralNetworksMemory *new_state(void)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, formula.compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, formula.compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

/* The sample holds buffers itself, or leaves them. */
static void domains_begin(bool is_held)
{
    const char *line = is_held ? "buffers OWN OPEN\n" : "buffers HOST OPEN\n";
    int fd;

    strcpy(configuration, "/tmp/nnhal-domains-XXXXXX");
    fd = mkstemp(configuration);
    ck_assert_int_eq(fchmod(fd, 0644), 0); /* the driver's process has left root */
    ck_assert_int_eq(write(fd, line, strlen(line)), (ssize_t)strlen(line));
    close(fd);
    setenv("NNHAL_SAMPLE_CONFIG", configuration, 1);
    ways_begin();
    memset(&formula, 0, sizeof(formula));
    OK(ways_formula_compile(&formula));
    states[0] = new_state();
    states[1] = new_state();
}

static void domains_end(void)
{
    ANeuralNetworksMemory_free(states[0]);
    ANeuralNetworksMemory_free(states[1]);
    ways_formula_done(&formula);
    ways_end();
    unlink(configuration);
}

/* n_bytes of shared memory, and the application's view of them. */
static ANeuralNetworksMemory *new_shared(size_t n_bytes, float **ret_view)
{
    int fd = memfd_create("domains", MFD_CLOEXEC);
    ANeuralNetworksMemory *memory = NULL;

    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    OK(ANeuralNetworksMemory_createFromFd(n_bytes, PROT_READ | PROT_WRITE, fd, 0, &memory));
    *ret_view = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory;
}

static void put_values(const ANeuralNetworksMemory *state, const float *values)
{
    float *view;
    ANeuralNetworksMemory *shared = new_shared(N_BYTES, &view);

    memcpy(view, values, N_BYTES);
    OK(ANeuralNetworksMemory_copy(shared, state));
    ANeuralNetworksMemory_free(shared);
    munmap(view, N_BYTES);
}

static void expect_values(const ANeuralNetworksMemory *state, const float *values)
{
    float *view;
    ANeuralNetworksMemory *shared = new_shared(N_BYTES, &view);

    OK(ANeuralNetworksMemory_copy(state, shared));
    for (int i = 0; i < N; i++)
        ck_assert_float_eq(view[i], values[i]);
    ANeuralNetworksMemory_free(shared);
    munmap(view, N_BYTES);
}

/* A state is used as a whole; of any other memory to_bytes are. */
static ANeuralNetworksExecution *bind_step(const ANeuralNetworksMemory *from,
                                           const ANeuralNetworksMemory *to, size_t to_bytes)
{
    static const float y[N] = {0.5f, 0.25f, -0.125f, 0.5f};
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(formula.compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, from, 0, 0));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, to, 0, to_bytes));
    return execution;
}

static int wait_for(ANeuralNetworksEvent *event)
{
    int r = ANeuralNetworksEvent_wait(event);

    ANeuralNetworksEvent_free(event);
    return r;
}

static int run_by(enum path path, ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst)
{
    ANeuralNetworksEvent *event = NULL;
    int r;

    switch (path) {
    case REUSED:
        OK(ANeuralNetworksExecution_setReusable(execution, true));
        r = ANeuralNetworksExecution_compute(execution);
        return r == ANEURALNETWORKS_NO_ERROR ? ANeuralNetworksExecution_compute(execution) : r;
    case EVENT:
        r = ANeuralNetworksExecution_startCompute(execution, &event);
        return r == ANEURALNETWORKS_NO_ERROR ? wait_for(event) : r;
    case FENCED:
        r = ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event);
        return r == ANEURALNETWORKS_NO_ERROR ? wait_for(event) : r;
    case BURST:
        return ANeuralNetworksExecution_burstCompute(execution, burst);
    default:
        return ANeuralNetworksExecution_compute(execution);
    }
}

static int run_step(enum path path, const ANeuralNetworksMemory *from,
                    const ANeuralNetworksMemory *to, size_t to_bytes)
{
    ANeuralNetworksExecution *execution = bind_step(from, to, to_bytes);
    ANeuralNetworksBurst *burst = NULL;
    int r;

    if (path == BURST)
        OK(ANeuralNetworksBurst_create(formula.compilation, &burst));
    r = run_by(path, execution, burst);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksBurst_free(burst);
    return r;
}

/* One step, as the model computes it. */
static void step_state(float *x)
{
    static const float y[N] = {0.5f, 0.25f, -0.125f, 0.5f};

    for (int i = 0; i < N; i++) {
        x[i] = x[i] * y[i] + x[i];
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}

static void a_state(bool is_held)
{
    float x[N] = {1.0f, 2.0f, 3.0f, 4.0f};

    domains_begin(is_held);
    put_values(states[0], x);
    for (int i = 0; i < 4 * N_PATHS; i++) {
        OK(run_step((enum path)(i / 4), states[i % 2], states[1 - i % 2], 0));
        step_state(x);
    }
    expect_values(states[0], x);
    domains_end();
}

TEST(a_state_that_the_host_holds_goes_by_every_path)
{
    a_state(false);
}
TEST_END

TEST(a_state_that_the_driver_holds_goes_by_every_path)
{
    a_state(true);
}
TEST_END

static void no_value(bool is_held)
{
    const float x[N] = {1.0f, 2.0f, 3.0f, 4.0f};

    domains_begin(is_held);
    for (enum path path = 0; path < N_PATHS; path++)
        IS(OP_FAILED, run_step(path, states[0], states[1], 0));
    put_values(states[0], x);
    for (enum path path = 0; path < N_PATHS; path++)
        OK(run_step(path, states[0], states[1], 0));
    domains_end();
}

TEST(what_was_not_written_is_not_read_from_the_host)
{
    no_value(false);
}
TEST_END

TEST(what_was_not_written_is_not_read_from_the_driver)
{
    no_value(true);
}
TEST_END

/* Contents go with the driver's process; the memory itself comes back. */
static void lose_values(bool is_held)
{
    const float x[N] = {1.0f, 2.0f, 3.0f, 4.0f};
    ANeuralNetworksMemory *shared;
    float *view;

    if (ways_is("embedded"))
        return;
    domains_begin(is_held);
    shared = new_shared(N_BYTES, &view);
    put_values(states[0], x);
    if (ways_is("service")) {
        ways_kill_service(SIGKILL);
        ways_start_service();
    } else {
        kill(ways_pid(), SIGKILL);
    }
    /* Its end may be noticed by this call. */
    for (int i = 0; i < 2; i++)
        IS(DEAD_OBJECT, ANeuralNetworksMemory_copy(states[0], shared));
    for (enum path path = 0; path < N_PATHS; path++)
        IS(DEAD_OBJECT, run_step(path, states[0], shared, N_BYTES));
    put_values(states[0], x);
    expect_values(states[0], x);
    ANeuralNetworksMemory_free(shared);
    munmap(view, N_BYTES);
    domains_end();
}

TEST(contents_are_lost_with_the_process_of_the_host)
{
    lose_values(false);
}
TEST_END

TEST(contents_are_lost_with_the_process_of_the_driver)
{
    lose_values(true);
}
TEST_END

TEST(a_state_has_its_roles_its_size_and_no_parts)
{
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *shared;
    float *view;

    domains_begin(true);
    OK(ANeuralNetworksExecution_create(formula.compilation, &execution));
    IS(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, states[0], 0, 0));
    IS(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, states[0], 4, 8));
    ANeuralNetworksExecution_free(execution);
    for (size_t n_bytes = N_BYTES - 4; n_bytes <= N_BYTES + 4; n_bytes += 8) {
        shared = new_shared(n_bytes, &view);
        IS(BAD_DATA, ANeuralNetworksMemory_copy(shared, states[0]));
        ANeuralNetworksMemory_free(shared);
        munmap(view, n_bytes);
    }
    domains_end();
}
TEST_END

static void *read_again_and_again(void *ctx)
{
    float *view = ctx;

    for (int i = 0; i < 50; i++) {
        float *z;
        ANeuralNetworksMemory *shared = new_shared(N_BYTES, &z);

        OK(run_step((enum path)(i % N_PATHS), states[0], shared, N_BYTES));
        memcpy(view, z, N_BYTES);
        ANeuralNetworksMemory_free(shared);
        munmap(z, N_BYTES);
    }
    return NULL;
}

TEST(eight_readers_at_once_are_all_right)
{
    float x[N] = {1.0f, 2.0f, 3.0f, 4.0f}, views[N_READERS][N];
    pthread_t threads[N_READERS];

    domains_begin(true);
    put_values(states[0], x);
    step_state(x);
    for (int i = 0; i < N_READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_again_and_again, views[i]), 0);
    for (int i = 0; i < N_READERS; i++) {
        pthread_join(threads[i], NULL);
        for (int j = 0; j < N; j++)
            ck_assert_float_eq(views[i][j], x[j]);
    }
    domains_end();
}
TEST_END

CHECK_MAIN("domains " WAY, a_state_that_the_host_holds_goes_by_every_path,
           a_state_that_the_driver_holds_goes_by_every_path,
           what_was_not_written_is_not_read_from_the_host,
           what_was_not_written_is_not_read_from_the_driver,
           contents_are_lost_with_the_process_of_the_host,
           contents_are_lost_with_the_process_of_the_driver,
           a_state_has_its_roles_its_size_and_no_parts, eight_readers_at_once_are_all_right)
