/* SPDX-License-Identifier: Apache-2.0 */
/* Memories that no client should hand over: each gets its code, and the other
 * clients are served on. */
#include "service/stand.h"

#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"
#include "support/fuse-file.h"

#include <android/hardware_buffer.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

static struct stand stand;
static struct desk desk, other;
static uint64_t memory, prepared;

static void use(struct desk *user)
{
    float *floats = desk_bytes(user, memory);

    floats[0] = 5;
    floats[3] = -7;
    desk_formula_request(user, memory, 16);
    ck_assert_uint_eq(desk_execute(user, prepared), NNHAL_NONE);
    ck_assert_float_eq(floats[8], 5);
    ck_assert_float_eq(floats[11], -7);
}

/* A service with an honest client, and one that is up to something. */
static void begin(void)
{
    stand_open(&stand);
    stand_desk(&stand, &other);
    memory = desk_memory(&other, 4096);
    prepared = desk_prepare(&other, desk_formula(&other, DIMS(2, 2)));
    use(&other);
    stand_desk(&stand, &desk);
}

static void end(void)
{
    stand_desk_close(&desk);
    use(&other);
    stand_desk_close(&other);
    stand_close(&stand);
}

/* -- what each is answered --------------------------------------------------------- */

enum what {
    UNSEALED,
    READ_ONLY,
    WRITE_ONLY,
    SEALED_AGAINST_WRITING,
    PATH_ONLY,
    DIRECTORY,
    SOCKET,
    PIPE,
    EVENTFD,
    NULL_DEVICE,
    CLOSED,
};

static int reopened(int flags)
{
    int fd = memfd_create("memories", MFD_CLOEXEC);
    char path[64];
    int again;

    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, flags | O_CLOEXEC);
    close(fd);
    return again;
}

static int sealed(void)
{
    int fd = memfd_create("memories", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
    return fd;
}

static int make(enum what what)
{
    int pair[2];

    switch (what) {
    case UNSEALED:
        return reopened(O_RDWR);
    case READ_ONLY:
        return reopened(O_RDONLY);
    case WRITE_ONLY:
        return reopened(O_WRONLY);
    case SEALED_AGAINST_WRITING:
        return sealed();
    case PATH_ONLY:
        return reopened(O_PATH);
    case DIRECTORY:
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    case SOCKET:
        return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    case PIPE:
        ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
        close(pair[1]);
        return pair[0];
    case EVENTFD:
        return eventfd(0, EFD_CLOEXEC);
    case NULL_DEVICE:
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    case CLOSED:
    default:
        return 12345;
    }
}

#define RW      (PROT_READ | PROT_WRITE)
#define MMAP_FD NNHAL_MEMORY_MMAP_FD
#define ASHMEM  NNHAL_MEMORY_ASHMEM
#define BLOB    NNHAL_MEMORY_HARDWARE_BUFFER_BLOB
#define INVALID NNHAL_INVALID_ARGUMENT
#define FAILURE NNHAL_GENERAL_FAILURE

/* Malformed is INVALID_ARGUMENT; well-formed, but not to be had, GENERAL_FAILURE. */
static const struct {
    enum what what;
    uint32_t kind;
    uint32_t prot;
    uint64_t size, offset;
    uint32_t status;
} memories[] = {
    {UNSEALED, MMAP_FD, RW, 8192, 0, NNHAL_NONE},
    {UNSEALED, MMAP_FD, PROT_READ, 1, 8191, NNHAL_NONE},
    {UNSEALED, MMAP_FD, PROT_WRITE, 100, 77, NNHAL_NONE},
    {READ_ONLY, MMAP_FD, PROT_READ, 8192, 0, NNHAL_NONE},
    {READ_ONLY, ASHMEM, 0, 8192, 0, NNHAL_NONE},
    {SEALED_AGAINST_WRITING, ASHMEM, 0, 8192, 0, NNHAL_NONE},
    {SEALED_AGAINST_WRITING, BLOB, 0, 8192, 0, NNHAL_NONE},

    {UNSEALED, MMAP_FD, RW, 8193, 0, INVALID},
    {UNSEALED, MMAP_FD, RW, 8192, 1, INVALID},
    {UNSEALED, MMAP_FD, RW, 1, 8192, INVALID},
    {UNSEALED, MMAP_FD, RW, 0, 0, INVALID},
    {UNSEALED, MMAP_FD, RW, UINT64_C(1) << 62, 0, INVALID},
    {UNSEALED, MMAP_FD, RW, UINT64_C(1) << 63, 0, INVALID},
    {UNSEALED, MMAP_FD, RW, UINT64_C(1) << 39, 0, INVALID},
    {UNSEALED, MMAP_FD, RW, 1, UINT64_C(1) << 63, INVALID},
    {UNSEALED, MMAP_FD, RW, 4096, UINT64_MAX - 4095, INVALID},
    {UNSEALED, MMAP_FD, 0, 8192, 0, INVALID},
    {UNSEALED, MMAP_FD, PROT_EXEC, 8192, 0, INVALID},
    {UNSEALED, MMAP_FD, UINT32_MAX, 8192, 0, INVALID},
    {UNSEALED, 77, RW, 8192, 0, INVALID},
    {UNSEALED, ASHMEM, 0, 8193, 0, INVALID},
    {UNSEALED, ASHMEM, 0, 0, 0, INVALID},
    {UNSEALED, BLOB, 0, 8193, 0, INVALID},
    {READ_ONLY, MMAP_FD, RW, 8192, 0, FAILURE},
    {WRITE_ONLY, MMAP_FD, PROT_WRITE, 8192, 0, FAILURE},
    {WRITE_ONLY, ASHMEM, 0, 8192, 0, FAILURE},
    {SEALED_AGAINST_WRITING, MMAP_FD, RW, 8192, 0, FAILURE},
    {PATH_ONLY, MMAP_FD, PROT_READ, 8192, 0, INVALID},
    {DIRECTORY, MMAP_FD, PROT_READ, 4096, 0, INVALID},
    {DIRECTORY, ASHMEM, 0, 4096, 0, INVALID},
    {SOCKET, MMAP_FD, RW, 4096, 0, INVALID},
    {SOCKET, ASHMEM, 0, 4096, 0, INVALID},
    {SOCKET, BLOB, 0, 4096, 0, INVALID},
    {PIPE, MMAP_FD, PROT_READ, 4096, 0, INVALID},
    {EVENTFD, MMAP_FD, RW, 4096, 0, INVALID},
    {NULL_DEVICE, MMAP_FD, RW, 4096, 0, INVALID},
    {CLOSED, MMAP_FD, RW, 4096, 0, INVALID},
    {CLOSED, ASHMEM, 0, 4096, 0, INVALID},
};

TEST(every_bad_memory_gets_its_code)
{
    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(memories); i++) {
        int fd = make(memories[i].what);
        uint64_t id;
        uint32_t status = desk_import(&desk, fd, memories[i].kind, memories[i].prot,
                                      memories[i].size, memories[i].offset, &id);

        ck_assert_msg(status == memories[i].status, "row %zu: status %u, expected %u", i, status,
                      memories[i].status);
        if (memories[i].what != CLOSED)
            close(fd);
    }
    end();
}
TEST_END

/* -- files that shrink ---------------------------------------------------------------- */

static const struct nnhal_buffer_plane plane = {.row_bytes = 4096, .pixel_bytes = 4};

/* A memory of 4096 bytes that its client can take away. */
static uint64_t loose(int fd, uint32_t kind)
{
    const struct nnhal_hardware_buffer image = {
        .format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
        .width = 1024,
        .height = 1,
        .layers = 1,
        .size = 4096,
        .stride = 1024,
        .n_planes = 1,
        .planes = &plane,
    };
    uint64_t id;

    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    if (kind == NNHAL_MEMORY_HARDWARE_BUFFER)
        ck_assert_uint_eq(desk_import_buffer(&desk, fd, &image, 0, &id), NNHAL_NONE);
    else
        ck_assert_uint_eq(desk_import(&desk, fd, kind, RW, 4096, 0, &id), NNHAL_NONE);
    return id;
}

TEST(a_file_that_shrinks_fails_that_execution_whatever_its_kind)
{
    begin();
    for (uint32_t kind = 0; kind < 4; kind++)
        for (int is_output = 0; is_output < 2; is_output++) {
            bool is_whole = kind == NNHAL_MEMORY_HARDWARE_BUFFER;
            int fd = memfd_create("loose", MFD_CLOEXEC);
            uint64_t id = loose(fd, kind), mine = desk_memory(&desk, 16384);
            uint64_t model = desk_prepare(&desk, desk_formula(&desk, DIMS(1024)));
            uint64_t length = is_whole ? 0 : 4096;

            desk_begin(&desk);
            desk_input(&desk, 0, NULL, is_output ? mine : id, 0, is_output ? 4096 : length);
            desk_input(&desk, 0, NULL, mine, 4096, 4096);
            desk_output(&desk, 0, NULL, is_output ? id : mine, is_output ? 0 : 8192,
                        is_output ? length : 4096);
            ck_assert_uint_eq(desk_execute(&desk, model), NNHAL_NONE);
            ck_assert_int_eq(ftruncate(fd, 0), 0);
            ck_assert_uint_eq(desk_execute(&desk, model), NNHAL_GENERAL_FAILURE);
            use(&other);
            desk_formula_request(&desk, mine, 4096);
            ck_assert_uint_eq(desk_execute(&desk, model), NNHAL_NONE);
            close(fd);
        }
    end();
}
TEST_END

/* -- very many ------------------------------------------------------------------------ */

TEST(ten_thousand_mappings_are_no_harm)
{
    enum { N = 20000, MAX_OF_USER = 16384 };
    static uint64_t ids[N];
    const struct rlimit many = {1 << 17, 1 << 17};
    struct rlimit fds;
    int fd = memfd_create("many", MFD_CLOEXEC);
    uint32_t n = 0, status = NNHAL_NONE;

    setrlimit(RLIMIT_NOFILE, &many); /* if we may: else there are fewer descriptors than that */
    begin();
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    while (n < N && status == NNHAL_NONE) {
        status = desk_import(&desk, fd, MMAP_FD, RW, 4096, 0, &ids[n]);
        n += status == NNHAL_NONE;
    }
    /* As many as leave enough to others, then a code that says so. One more is the other client's. */
    ck_assert_uint_eq(status, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &fds), 0);
    ck_assert_uint_eq(n + 1, fds.rlim_cur / 2 < MAX_OF_USER ? fds.rlim_cur / 2 : MAX_OF_USER);
    use(&other);
    for (uint32_t i = 0; i < n; i++) {
        const struct nn_hal_free_memory_args args = {.memory = ids[i]};
        struct nn_hal_free_memory_reply reply;

        ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    }
    ck_assert_uint_eq(desk_import(&desk, fd, MMAP_FD, RW, 4096, 0, &ids[0]), NNHAL_NONE);
    close(fd);
    end();
}
TEST_END

/* -- files whose server never answers ---------------------------------------------------- */

/* More than a service has threads for calls, and than one user gets of the 64 for such files. */
#define N_HOSTILE 24
enum { MAX_STALLING = 8 };

static struct fuse_file file;
static struct desk hostile[N_HOSTILE];
static _Atomic unsigned n_begun;

/* Executes on the file, by a call or by a fence; ends when the server does. */
static void *be_hostile(void *ctx)
{
    struct desk *client = ctx;
    const struct nn_hal_import_memory_args import = {
        .kind = MMAP_FD, .prot = RW, .size = 4096, .fd = file.fd};
    struct nn_hal_import_memory_reply imported;
    uint64_t model;

    n_begun++;
    if (nn_hal_import_memory(client->hal, &import, &imported, &client->arena) != NNHAL_NONE)
        return NULL;
    model = desk_prepare(client, desk_formula(client, DIMS(2, 2)));
    desk_formula_request(client, imported.memory, 16);
    ck_assert_uint_ne((client - hostile) % 2 ? desk_execute(client, model)
                                             : desk_execute_fenced(client, model),
                      NNHAL_NONE);
    return NULL;
}

/* More than a packet holds: what brings it is a file of this process, which always answers. */
static void prepare_large(struct desk *client)
{
    static uint8_t values[1 << 17];
    struct nnhal_model model = *desk_formula(client, DIMS(4));

    ck_assert_uint_le(model.operand_values.size, sizeof(values));
    memcpy(values, model.operand_values.data, model.operand_values.size);
    model.operand_values = (struct nnhal_bytes){.size = sizeof(values), .data = values};
    desk_prepare(client, &model);
}

/* The first line of a file of a thread, in /proc. */
static bool read_thread(const char *thread, const char *name, char line[64])
{
    char path[300];
    FILE *stream;
    bool is_read;

    snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, name);
    stream = fopen(path, "re");
    is_read = stream && fgets(line, 64, stream);
    if (stream)
        fclose(stream);
    return is_read;
}

/* Threads of the pool without work wait in a futex; those that run need no time to speak of. */
static size_t count_stalled(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *entry;
    size_t n = 0;

    ck_assert_ptr_nonnull(threads);
    while ((entry = readdir(threads)) != NULL) {
        char line[64];

        if (read_thread(entry->d_name, "comm", line) && strcmp(line, "nnhal-stalling\n") == 0 &&
            read_thread(entry->d_name, "syscall", line) && line[0] != 'r')
            n += strtol(line, NULL, 10) != SYS_futex;
    }
    closedir(threads);
    return n;
}

/* So many in the end, and no more from then on. A thread that begins or ends may look stalled once. */
static void expect_few_stalled(void)
{
    size_t n = 0, before;

    for (int i = 0; i < 10000 && n != MAX_STALLING; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        n = count_stalled();
    }
    ck_assert_uint_eq(n, MAX_STALLING);
    for (int i = 0; i < 200; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        before = n;
        n = count_stalled();
        ck_assert(n <= MAX_STALLING || before <= MAX_STALLING);
    }
}

static void serve_beside_them(bool answers_close)
{
    pthread_t threads[N_HOSTILE];

    if (!fuse_file_open(&file, FUSE_FILE_SILENT, answers_close))
        return;
    begin();
    for (size_t i = 0; i < N_HOSTILE; i++) {
        stand_desk(&stand, &hostile[i]);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, be_hostile, &hostile[i]), 0);
    }
    while (n_begun < N_HOSTILE)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int i = 0; i < 20; i++) {
        uint64_t mine;

        use(&other);
        desk_formula_request(&other, memory, 16);
        ck_assert_uint_eq(desk_execute_fenced(&other, prepared), NNHAL_NONE);
        /* Clients come and go. */
        mine = desk_memory(&desk, 4096);
        desk_formula_request(&desk, mine, 16);
        ck_assert_uint_eq(desk_execute(&desk, desk_prepare(&desk, desk_formula(&desk, DIMS(4)))),
                          NNHAL_NONE);
        prepare_large(&desk);
        stand_desk_close(&desk);
        stand_desk(&stand, &desk);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    expect_few_stalled();
    fuse_file_kill(&file);
    for (size_t i = 0; i < N_HOSTILE; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < N_HOSTILE; i++)
        stand_desk_close(&hostile[i]);
    fuse_file_close(&file);
    end();
}

TEST(who_reads_from_a_file_that_never_answers_waits_alone)
{
    serve_beside_them(true);
}
TEST_END

TEST(nobody_else_waits_for_it_to_be_closed)
{
    serve_beside_them(false);
}
TEST_END

TEST(packets_that_are_none_may_bring_it)
{
    const char garbage[64] = "garbage";
    struct raw_client clients[4];

    if (!fuse_file_open(&file, FUSE_FILE_SILENT, false))
        return;
    begin();
    for (int i = 0; i < 4; i++) {
        stand_connect(&stand, &clients[i]);
        raw_send(clients[i].fd, garbage, sizeof(garbage), file.fd, (size_t)i + 1);
    }
    for (int i = 0; i < 4; i++)
        raw_expect_end(&clients[i]);
    use(&other);
    fuse_file_close(&file);
    end();
}
TEST_END

CHECK_MAIN("memories", every_bad_memory_gets_its_code,
           a_file_that_shrinks_fails_that_execution_whatever_its_kind,
           ten_thousand_mappings_are_no_harm, who_reads_from_a_file_that_never_answers_waits_alone,
           nobody_else_waits_for_it_to_be_closed, packets_that_are_none_may_bring_it)
