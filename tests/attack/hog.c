/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/hog.h"

#include "attack/probe.h"
#include "base/sys.h"
#include "cpu/endless.h"
#include "hal/dial.h"
#include "hal/messages.h"
#include "host/burst-line.h"
#include "service/stand.h"

#include "ipc/hello.h"
#include "ipc/sock.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 12,
    CONNECTIONS = 120,
    MEMORIES = 2000,
    MEMORY_BYTES = 1 << 20,
    BURSTS = 20,
    STOP_US = 50000,
};

static const char *hog_path;
static int hog_file;

static void open_desk(struct desk *desk)
{
    *desk = (struct desk){.n_memories = 0};
    ck_assert_int_eq(nn_dial_socket(hog_path, NULL, &desk->hal), 0);
    nn_arena_init(&desk->arena, 0);
}

/* z = x + y of four floats, ready to be executed. Returns the prepared model. */
static uint64_t open_adder(struct desk *desk)
{
    uint64_t memory, prepared;

    open_desk(desk);
    memory = desk_memory(desk, 4096);
    prepared = desk_prepare(desk, desk_sum(desk, NNHAL_TENSOR_FLOAT32, DIMS(4)));
    desk_formula_request(desk, memory, 16);
    return prepared;
}

static void hold(void)
{
    for (;;)
        pause();
}

/* -- what is held ----------------------------------------------------------------------------- */

static void hog_memory(void)
{
    static struct desk desk;
    uint64_t prepared = open_adder(&desk), id;
    struct desk_wish wish = desk_wish(prepared, 0, -1);
    struct desk_buffer buffer;

    for (int i = 0; i < MEMORIES; i++) {
        int fd = nn_sys_memfd_create("hog", true);

        ck_assert_int_eq(ftruncate(fd, MEMORY_BYTES), 0);
        desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, MEMORY_BYTES, 0, &id);
        close(fd);
        desk_try_allocate(&desk, &wish, &buffer);
    }
    hold();
}

static void hog_models(void)
{
    static struct desk desk;
    uint64_t prepared;

    open_adder(&desk);
    while (desk_try_prepare(&desk, desk_formula(&desk, DIMS(64, 64)), &prepared) == NNHAL_NONE)
        nn_arena_reset(&desk.arena);
    hold();
}

static void hog_connections(void)
{
    static struct stand stand;
    struct raw_client client;
    int fd;

    snprintf(stand.path, sizeof(stand.path), "%s", hog_path);
    for (int i = 0; i < CONNECTIONS; i++) {
        if (i % 2)
            stand_connect(&stand, &client);
        else
            ck_assert_int_eq(nn_sock_connect(hog_path, &fd), 0);
    }
    hold();
}

static void hog_deaf(void)
{
    struct {
        struct nn_packet_header header;
        uint8_t body[4];
    } packet = {.header = {.method = NN_HAL_METHOD_GET_DEVICE_INFO,
                           .type = NN_PACKET_CALL,
                           .n_body_bytes = 4}};
    static struct stand stand;
    struct raw_client client;

    snprintf(stand.path, sizeof(stand.path), "%s", hog_path);
    for (;;) {
        stand_connect(&stand, &client);
        do
            packet.header.serial++;
        while (raw_send(client.fd, &packet, sizeof(packet.header) + 4, -1, 0));
        raw_close(&client);
    }
}

/* -- what is computed --------------------------------------------------------------------------- */

static void *work_without_end(void *argument)
{
    bool executes = *(const enum hog_kind *)argument == HOG_EXECUTES;
    struct desk *desk = calloc(1, sizeof(*desk));
    struct builder b;
    uint64_t memory, prepared;
    const struct nnhal_model *model = endless_build(&b, !executes, ENDLESS_RATIO);

    open_desk(desk);
    while (!executes)
        desk_try_prepare(desk, model, &prepared);
    prepared = desk_prepare(desk, model);
    memory = desk_memory(desk, 4096);
    for (;;) {
        desk_begin(desk);
        desk_input(desk, 0, NULL, memory, 0, ENDLESS_INPUT_BYTES);
        desk_output(desk, 0, NULL, memory, 1024, ENDLESS_OUTPUT_BYTES);
        desk_execute(desk, prepared);
    }
    return NULL;
}

static void hog_workers(enum hog_kind kind)
{
    pthread_t thread;

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread, NULL, work_without_end, &kind), 0);
    hold();
}

static void hog_bursts(void)
{
    static struct line lines[BURSTS];
    static struct desk desk;
    uint64_t prepared = open_adder(&desk);

    for (int i = 0; i < BURSTS; i++) {
        line_open(&lines[i], &desk, prepared, 64, 64);
        line_set_all(&lines[i]);
    }
    for (int i = 0;; i = (i + 1) % BURSTS) {
        ck_assert_uint_eq(line_execute(&lines[i]), NNHAL_NONE);
        nn_arena_reset(&desk.arena);
    }
}

/* A model whose constants lie in the file. */
static void prepare_on_file(struct desk *desk, uint64_t memory)
{
    uint64_t prepared;

    maker_make_full(&desk->maker);
    desk->maker.pools[0] = memory;
    if (desk_try_prepare(desk, maker_bind(&desk->maker), &prepared) == NNHAL_NONE)
        desk_free_prepared(desk, prepared);
}

/* argument: any, if constants lie there and not arguments. */
static void *use_file(void *argument)
{
    struct desk *desk = calloc(1, sizeof(*desk));
    struct nn_hal_free_memory_reply reply;
    uint64_t prepared, memory;

    open_desk(desk);
    prepared = desk_prepare(desk, desk_sum(desk, NNHAL_TENSOR_FLOAT32, DIMS(4)));
    for (;;) {
        if (desk_import(desk, hog_file, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 4096, 0,
                        &memory) != NNHAL_NONE)
            hold();
        if (argument) {
            prepare_on_file(desk, memory);
        } else {
            desk_formula_request(desk, memory, 16);
            desk_execute(desk, prepared);
        }
        nn_hal_free_memory(desk->hal, &(struct nn_hal_free_memory_args){.memory = memory}, &reply,
                           &desk->arena);
        nn_arena_reset(&desk->arena);
    }
    return NULL;
}

static void hog_files(void)
{
    pthread_t thread;

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread, NULL, use_file, i % 3 ? NULL : &thread), 0);
    hold();
}

/* A child computes on a burst and in single calls, and is stopped and goes on. */
static void hog_stopped(void)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hog_bursts();
    }
    for (;;) {
        usleep(STOP_US / 10);
        kill(pid, SIGSTOP);
        usleep(STOP_US);
        ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
        kill(pid, SIGCONT);
    }
}

/* -- the process ---------------------------------------------------------------------------------- */

const char *hog_name(enum hog_kind kind)
{
    static const char *const names[] = {"memory",     "models",       "connections", "deaf",
                                        "executions", "preparations", "bursts",      "files",
                                        "bad files",  "late files",   "stops"};

    return names[kind];
}

static void hog_main(enum hog_kind kind)
{
    switch (kind) {
    case HOG_MEMORY:
        hog_memory();
        break;
    case HOG_MODELS:
        hog_models();
        break;
    case HOG_CONNECTIONS:
        hog_connections();
        break;
    case HOG_DEAF:
        hog_deaf();
        break;
    case HOG_BURSTS:
        hog_bursts();
        break;
    case HOG_FILES:
    case HOG_BAD_FILES:
    case HOG_LATE_FILES:
        hog_files();
        break;
    case HOG_STOPPED:
        hog_stopped();
        break;
    default:
        hog_workers(kind);
        break;
    }
}

pid_t hog_start(enum hog_kind kind, const char *path, int file_fd)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    probe_become_user(2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    hog_path = path;
    hog_file = file_fd;
    hog_main(kind);
    _exit(0);
}

void hog_stop(pid_t pid)
{
    int status;

    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a hog ended: %#x",
                  (unsigned)status);
}
