/* SPDX-License-Identifier: Apache-2.0 */
/* What an application may use as memory, in each of the three ways: what a
 * driver cannot decode, what is no memory, and what is copied. */
#include "ways.h"

#include <android/hardware_buffer.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define RW  (PROT_READ | PROT_WRITE)
#define CPU ((uint64_t)AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN)

static int new_file(size_t n_bytes)
{
    int fd = memfd_create("memories", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    return fd;
}

static ANeuralNetworksMemory *from_buffer(uint32_t format, uint32_t width)
{
    const AHardwareBuffer_Desc desc = {
        .width = width, .height = 1, .layers = 1, .format = format, .usage = CPU};
    ANeuralNetworksMemory *memory = NULL;
    AHardwareBuffer *buffer = NULL;

    ck_assert_int_eq(AHardwareBuffer_allocate(&desc, &buffer), 0);
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory));
    AHardwareBuffer_release(buffer);
    return memory;
}

static ANeuralNetworksMemory *from_fd(void)
{
    ANeuralNetworksMemory *memory = NULL;
    int fd = new_file(4096);

    OK(ANeuralNetworksMemory_createFromFd(4096, RW, fd, 0, &memory));
    close(fd);
    return memory;
}

/* -- what a driver cannot decode ------------------------------------------------------- */

/* The kinds that an application can hand over, and one that the runtime makes. */
enum kind { MMAP_FD, BLOB, IMAGE, ASHMEM };

static const char *const all_but[] = {
    [MMAP_FD] = "memories ASHMEM HARDWARE_BUFFER_BLOB HARDWARE_BUFFER\n",
    [BLOB] = "memories ASHMEM MMAP_FD HARDWARE_BUFFER\n",
    [IMAGE] = "memories ASHMEM MMAP_FD HARDWARE_BUFFER_BLOB\n",
    [ASHMEM] = "memories MMAP_FD HARDWARE_BUFFER_BLOB HARDWARE_BUFFER\n",
};

static ANeuralNetworksMemory *memory_of(enum kind kind)
{
    switch (kind) {
    case MMAP_FD:
        return from_fd();
    case BLOB:
        return from_buffer(AHARDWAREBUFFER_FORMAT_BLOB, 4096);
    case IMAGE:
        return from_buffer(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 4);
    default:
        return NULL;
    }
}

/* The sample refuses one kind of memory, in whichever process it runs. */
static char configuration[] = "/tmp/nnhal-sample-XXXXXX";

static void begin_without(enum kind kind)
{
    int fd = mkstemp(configuration);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, 0644), 0); /* the driver's process has left root */
    ck_assert_int_eq(write(fd, all_but[kind], strlen(all_but[kind])),
                     (ssize_t)strlen(all_but[kind]));
    close(fd);
    setenv("NNHAL_SAMPLE_CONFIG", configuration, 1);
    ways_begin();
}

static void memories_end(void)
{
    ways_end();
    unlink(configuration);
}

/* x + constant -> t, t + x -> z: the constant of 64 floats in memory, or by pointer. */
static ANeuralNetworksModel *make_model(ANeuralNetworksMemory *memory)
{
    static float values[64];
    const uint32_t n = 64, first[] = {0, 1, 2}, second[] = {3, 0, 2}, x = 0, t = 3, z = 4;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const int32_t none = 0;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 5; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    if (memory)
        OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 64, 256));
    else
        OK(ANeuralNetworksModel_setOperandValue(model, 1, values, 256));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, &t));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, second, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &x, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void expect_supported(ANeuralNetworksMemory *memory, bool is_supported)
{
    const ANeuralNetworksDevice *device = ways_device();
    ANeuralNetworksModel *model = make_model(memory);
    ANeuralNetworksCompilation *compilation = NULL;
    bool supported[2];
    char text[400];

    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported));
    ck_assert_int_eq(supported[0], is_supported);
    ck_assert_int_eq(supported[1], true); /* it has nothing to do with the memory */
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    if (is_supported) {
        OK(ANeuralNetworksCompilation_finish(compilation));
    } else {
        ck_assert_int_ne(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_NO_ERROR);
        ck_assert_uint_gt(nnhal_compilation_get_error(compilation, text, sizeof(text)), 10);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* z = relu(x * y + x), one of the three in memory. */
static int compute_in(struct ways_formula *formula, int place, ANeuralNetworksMemory *memory,
                      bool is_whole)
{
    static float x[4], y[4], z[4];
    float *const pointers[] = {x, y};
    size_t offset = is_whole ? 0 : 32, length = is_whole ? 0 : 16;
    ANeuralNetworksExecution *execution = NULL;
    int r;

    OK(ANeuralNetworksExecution_create(formula->compilation, &execution));
    for (int i = 0; i < 2; i++)
        OK(i == place ? ANeuralNetworksExecution_setInputFromMemory(execution, i, NULL, memory,
                                                                    offset, length)
                      : ANeuralNetworksExecution_setInput(execution, i, NULL, pointers[i], 16));
    OK(place == 2 ? ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, offset,
                                                                 length)
                  : ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, 16));
    r = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    return r;
}

static void refuse_one(enum kind refused)
{
    struct ways_formula formula;

    begin_without(refused);
    OK(ways_formula_compile(&formula));
    expect_supported(NULL, refused != ASHMEM); /* large constants lie in the runtime's pool */
    for (enum kind kind = MMAP_FD; kind <= IMAGE; kind++) {
        ANeuralNetworksMemory *memory = memory_of(kind);

        if (kind != IMAGE)
            expect_supported(memory, kind != refused);
        if (refused != ASHMEM)
            for (int place = 0; place < 3; place++)
                ck_assert_int_eq(compute_in(&formula, place, memory, kind == IMAGE),
                                 kind == refused ? ANEURALNETWORKS_OP_FAILED
                                                 : ANEURALNETWORKS_NO_ERROR);
        ANeuralNetworksMemory_free(memory);
    }
    if (refused == ASHMEM) { /* what is given by pointer */
        ANeuralNetworksMemory *memory = from_fd();

        IS(OP_FAILED, compute_in(&formula, 0, memory, false));
        ANeuralNetworksMemory_free(memory);
    }
    ways_formula_done(&formula);
    memories_end();
}

TEST(files_that_a_driver_cannot_decode)
{
    refuse_one(MMAP_FD);
}
TEST_END

TEST(blobs_that_a_driver_cannot_decode)
{
    refuse_one(BLOB);
}
TEST_END

TEST(images_that_a_driver_cannot_decode)
{
    refuse_one(IMAGE);
}
TEST_END

TEST(pools_of_the_runtime_that_a_driver_cannot_decode)
{
    refuse_one(ASHMEM);
}
TEST_END

TEST(hardware_buffers_serve_on_a_burst)
{
    const enum kind kinds[] = {IMAGE, BLOB};
    struct ways_formula formula;
    ANeuralNetworksBurst *burst = NULL;
    float y[4] = {1, 2, 3, 4};

    ways_begin();
    OK(ways_formula_compile(&formula));
    OK(ANeuralNetworksBurst_create(formula.compilation, &burst));
    for (int i = 0; i < 2; i++) {
        size_t length = kinds[i] == IMAGE ? 0 : 16;
        ANeuralNetworksMemory *x = memory_of(kinds[i]), *z = memory_of(kinds[i]);
        ANeuralNetworksExecution *execution = NULL;

        OK(ANeuralNetworksExecution_create(formula.compilation, &execution));
        OK(ANeuralNetworksExecution_setReusable(execution, true));
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, x, 0, length));
        OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, z, 0, length));
        for (int k = 0; k < 3; k++)
            OK(ANeuralNetworksExecution_burstCompute(execution, burst));
        ANeuralNetworksExecution_free(execution);
        ANeuralNetworksMemory_free(x);
        ANeuralNetworksMemory_free(z);
    }
    ANeuralNetworksBurst_free(burst);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* -- pictures with gaps --------------------------------------------------------------------- */

/* Five by two pixels of YUV are the bytes of four floats; rows that a GPU shares begin at multiples
 * of 64 bytes. It comes from another process, as those of a camera do. */
static AHardwareBuffer *receive_picture(void)
{
    const AHardwareBuffer_Desc desc = {
        .width = 5,
        .height = 2,
        .layers = 1,
        .format = AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420,
        .usage = CPU | AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE,
    };
    AHardwareBuffer *sent = NULL, *received = NULL;
    AHardwareBuffer_Desc there;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(AHardwareBuffer_allocate(&desc, &sent), 0);
    ck_assert_int_eq(AHardwareBuffer_sendHandleToUnixSocket(sent, ends[0]), 0);
    ck_assert_int_eq(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &received), 0);
    AHardwareBuffer_release(sent);
    close(ends[0]);
    close(ends[1]);
    AHardwareBuffer_describe(received, &there);
    ck_assert_uint_eq(there.format, AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420);
    ck_assert_uint_eq(there.stride, 64);
    return received;
}

/* The samples in order: rows of 5, 5, 3 and 3 bytes. */
static void move_samples(AHardwareBuffer *picture, float values[4], bool is_read)
{
    const int columns[] = {5, 3, 3}, n_rows[] = {2, 1, 1};
    uint8_t *at = (uint8_t *)values;
    AHardwareBuffer_Planes planes;

    ck_assert_int_eq(AHardwareBuffer_lockPlanes(picture, CPU, -1, NULL, &planes), 0);
    ck_assert_uint_eq(planes.planeCount, 3);
    for (int i = 0; i < 3; i++)
        for (int row = 0; row < n_rows[i]; row++, at += columns[i]) {
            uint8_t *place = (uint8_t *)planes.planes[i].data + row * planes.planes[i].rowStride;

            if (is_read)
                memcpy(at, place, (size_t)columns[i]);
            else
                memcpy(place, at, (size_t)columns[i]);
            if (!is_read)
                memset(place + columns[i], 0xa5, 8);
            ck_assert_uint_eq(place[columns[i] + 7], 0xa5); /* what lies between stays */
        }
    ck_assert_int_eq(AHardwareBuffer_unlock(picture, NULL), 0);
}

static void compute_pictures(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
                             AHardwareBuffer *const pictures[2], float first)
{
    float x[4] = {first, 2, -3, 4}, z[4] = {0};
    uint64_t n_copied = nnhal_get_copied_bytes();

    move_samples(pictures[0], x, false);
    move_samples(pictures[1], z, false);
    OK(burst ? ANeuralNetworksExecution_burstCompute(execution, burst)
             : ANeuralNetworksExecution_compute(execution));
    move_samples(pictures[1], z, true);
    ck_assert_float_eq(z[0], 2 * first);
    ck_assert_float_eq(z[2], 0);
    ck_assert_float_eq(z[3], 8);
    ck_assert_uint_eq(nnhal_get_copied_bytes() - n_copied, 3 * 16); /* x, y and z */
}

TEST(pictures_of_cameras_are_copied_without_their_gaps)
{
    AHardwareBuffer *pictures[2];
    ANeuralNetworksMemory *memories[2];
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksBurst *burst = NULL;
    struct ways_formula formula;
    float y[4] = {1, 1, 1, 1};

    ways_begin();
    OK(ways_formula_compile(&formula));
    for (int i = 0; i < 2; i++) {
        pictures[i] = receive_picture();
        OK(ANeuralNetworksMemory_createFromAHardwareBuffer(pictures[i], &memories[i]));
    }
    OK(ANeuralNetworksExecution_create(formula.compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memories[0], 0, 0));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memories[1], 0, 0));
    for (int i = 0; i < 3; i++)
        compute_pictures(execution, NULL, pictures, (float)i);
    OK(ANeuralNetworksBurst_create(formula.compilation, &burst));
    for (int i = 3; i < 6; i++)
        compute_pictures(execution, burst, pictures, (float)i);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksExecution_free(execution);
    for (int i = 0; i < 2; i++) {
        ANeuralNetworksMemory_free(memories[i]);
        AHardwareBuffer_release(pictures[i]);
    }
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* -- what is no memory -------------------------------------------------------------------- */

static int reopened_fd(int flags)
{
    int fd = new_file(8192), again;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, flags | O_CLOEXEC);
    close(fd);
    return again;
}

static int read_write(void)
{
    return reopened_fd(O_RDWR);
}
static int read_only(void)
{
    return reopened_fd(O_RDONLY);
}
static int write_only(void)
{
    return reopened_fd(O_WRONLY);
}
static int path_only(void)
{
    return reopened_fd(O_PATH);
}
static int directory_fd(void)
{
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
static int a_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static int a_pipe(void)
{
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]);
    return ends[0];
}
static int null_device(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}
static int closed_fd(void)
{
    return 54321;
}
static int negative_fd(void)
{
    return -1;
}

#define FINE ANEURALNETWORKS_NO_ERROR
#define NONE ANEURALNETWORKS_OP_FAILED
#define OUT  ANEURALNETWORKS_BAD_DATA
#define MAP  ANEURALNETWORKS_UNMAPPABLE

/* The code of each step, as far as the steps before it succeed; the argument
 * is 16 bytes at offset 32 of the memory. */
static const struct {
    int (*make)(void);
    size_t size;
    int prot;
    size_t offset;
    int create, set, as_input, as_output;
} rows[] = {
    {read_write, 8192, RW, 0, FINE, FINE, FINE, FINE},
    {read_write, 48, RW, 8144, FINE, FINE, FINE, FINE},
    {read_write, 100, RW, 77, FINE, FINE, FINE, FINE},
    {read_write, 8192, PROT_READ, 0, FINE, FINE, FINE, OUT},
    {read_write, 8192, PROT_WRITE, 0, FINE, FINE, OUT, FINE},
    {read_only, 8192, PROT_READ, 0, FINE, FINE, FINE, OUT},
    {read_only, 8192, RW, 0, FINE, FINE, MAP, MAP},
    {write_only, 8192, PROT_WRITE, 0, FINE, FINE, MAP, MAP},
    {read_write, 8192, 0, 0, FINE, FINE, MAP, MAP},
    {read_write, 8192, PROT_EXEC, 0, FINE, FINE, MAP, MAP},
    {read_write, 8193, RW, 0, FINE, FINE, MAP, MAP},
    {read_write, 8192, RW, 1, FINE, FINE, MAP, MAP},
    {read_write, (size_t)1 << 63, RW, 0, FINE, FINE, MAP, MAP},
    {read_write, SIZE_MAX, RW, 0, FINE, FINE, MAP, MAP},
    {read_write, 4096, RW, SIZE_MAX - 100, FINE, FINE, MAP, MAP},
    {read_write, 0, RW, 0, FINE, OUT, 0, 0},
    {read_write, 47, RW, 0, FINE, OUT, 0, 0},
    {path_only, 8192, PROT_READ, 0, FINE, FINE, MAP, MAP},
    {directory_fd, 4096, PROT_READ, 0, FINE, FINE, MAP, MAP},
    {a_socket, 4096, RW, 0, FINE, FINE, MAP, MAP},
    {a_pipe, 4096, PROT_READ, 0, FINE, FINE, MAP, MAP},
    {null_device, 4096, RW, 0, FINE, FINE, MAP, MAP},
    {closed_fd, 4096, RW, 0, NONE, 0, 0, 0},
    {negative_fd, 4096, RW, 0, NONE, 0, 0, 0},
};

static void try_row(struct ways_formula *formula, size_t i)
{
    ANeuralNetworksMemory *memory = NULL;
    ANeuralNetworksExecution *execution = NULL;
    int r, fd = rows[i].make();

    r = ANeuralNetworksMemory_createFromFd(rows[i].size, rows[i].prot, fd, rows[i].offset, &memory);
    if (fd >= 0 && fd != closed_fd())
        close(fd); /* the memory has one of its own */
    ck_assert_msg(r == rows[i].create, "row %zu: create: %d", i, r);
    if (r != FINE)
        return;
    OK(ANeuralNetworksExecution_create(formula->compilation, &execution));
    r = ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 32, 16);
    ck_assert_msg(r == rows[i].set, "row %zu: set: %d", i, r);
    ANeuralNetworksExecution_free(execution);
    if (r == FINE) {
        r = compute_in(formula, 0, memory, false);
        ck_assert_msg(r == rows[i].as_input, "row %zu: as input: %d", i, r);
        r = compute_in(formula, 2, memory, false);
        ck_assert_msg(r == rows[i].as_output, "row %zu: as output: %d", i, r);
    }
    ANeuralNetworksMemory_free(memory);
}

TEST(every_bad_memory_gets_its_code)
{
    struct ways_formula formula;
    size_t n_fds;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, false);
    OK(ways_formula_run(&formula, 3));
    n_fds = count_fds();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        try_row(&formula, i);
        OK(ways_formula_run(&formula, (int)i));
    }
    ck_assert_uint_le(count_fds(), n_fds + 4); /* pools for arguments may be kept */
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

/* In this process it is this process's own SIGBUS. */
TEST(a_file_that_shrinks_fails_its_execution_alone)
{
    struct ways_formula formula;
    ANeuralNetworksMemory *memory = NULL;
    int fd = new_file(4096);

    ways_begin();
    if (!ways_is("embedded")) {
        OK(ways_formula_compile(&formula));
        ways_formula_bind(&formula, false);
        OK(ANeuralNetworksMemory_createFromFd(4096, RW, fd, 0, &memory));
        OK(compute_in(&formula, 0, memory, false));
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        IS(OP_FAILED, compute_in(&formula, 0, memory, false));
        IS(OP_FAILED, compute_in(&formula, 2, memory, false));
        OK(ways_formula_run(&formula, 5));
        ANeuralNetworksMemory_free(memory);
        ways_formula_done(&formula);
    }
    close(fd);
    ways_end();
}
TEST_END

/* -- what is copied and mapped ---------------------------------------------------------------- */

/* Mappings of what in the process that the driver runs in. */
static size_t count_mapped(const char *what)
{
    char path[64], line[4096];
    size_t n = 0;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)ways_pid());
    maps = fopen(path, "re");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof(line), maps))
        n += strstr(line, what) != NULL;
    fclose(maps);
    return n;
}

TEST(a_pool_used_a_thousand_times_is_mapped_once)
{
    enum { N_BYTES = 16 << 20 };
    struct ways_formula formula;
    ANeuralNetworksMemory *memory = NULL;
    uint64_t n_imports, n_copied;
    int fd = memfd_create("a-large-pool", MFD_CLOEXEC);

    ways_begin();
    ck_assert_int_eq(ftruncate(fd, N_BYTES), 0);
    OK(ways_formula_compile(&formula));
    OK(ANeuralNetworksMemory_createFromFd(N_BYTES, RW, fd, 0, &memory));
    close(fd);
    n_imports = nnhal_get_imported_memories();
    n_copied = nnhal_get_copied_bytes();
    for (size_t i = 0; i < 1000; i++) {
        ANeuralNetworksExecution *execution = NULL;

        OK(ANeuralNetworksExecution_create(formula.compilation, &execution));
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, i * 64, 16));
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memory, i * 128, 16));
        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory,
                                                        N_BYTES - 16 * (i + 1), 16));
        OK(ANeuralNetworksExecution_compute(execution));
        ANeuralNetworksExecution_free(execution);
    }
    ck_assert_uint_eq(nnhal_get_imported_memories(), n_imports + 1);
    ck_assert_uint_eq(nnhal_get_copied_bytes(), n_copied);
    ck_assert_uint_eq(count_mapped("a-large-pool"), 1);
    ANeuralNetworksMemory_free(memory);
    ways_formula_done(&formula);
    ways_end();
}
TEST_END

TEST(a_picture_in_shared_memory_costs_nothing_per_run)
{
    const uint32_t side[] = {1, 224, 224, 3}, in[] = {0, 0, 1}, x = 0, z = 2;
    const size_t n_bytes = 224 * 224 * 3 * sizeof(float);
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType picture = {ANEURALNETWORKS_TENSOR_FLOAT32, 4, side, 0, 0};
    const int32_t none = 0;
    const ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *memory = NULL;
    uint64_t n_copied, n_imports;
    size_t n_mapped;
    int fd = memfd_create("a-picture", MFD_CLOEXEC);

    ways_begin();
    device = ways_device();
    ck_assert_int_eq(ftruncate(fd, 2 * (off_t)n_bytes), 0);
    OK(ANeuralNetworksMemory_createFromFd(2 * n_bytes, RW, fd, 0, &memory));
    close(fd);
    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 3; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 1 ? &scalar : &picture));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, in, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &x, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, n_bytes));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, n_bytes, n_bytes));
    OK(ANeuralNetworksExecution_compute(execution));
    n_copied = nnhal_get_copied_bytes();
    n_imports = nnhal_get_imported_memories();
    n_mapped = count_mapped("a-picture");
    for (int i = 0; i < 20; i++)
        OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_uint_eq(nnhal_get_copied_bytes(), n_copied);
    ck_assert_uint_eq(nnhal_get_imported_memories(), n_imports);
    ck_assert_uint_eq(count_mapped("a-picture"), n_mapped);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    ways_end();
}
TEST_END

TEST(constants_given_by_pointer_may_be_freed_after_finish)
{
    const uint32_t n = 64, in[] = {0, 1, 2}, x = 0, z = 3;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    float *values = malloc(256), input[64] = {1}, output[64];
    int32_t *none = calloc(1, sizeof(*none));

    ways_begin();
    device = ways_device();
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, values, 256));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, none, sizeof(*none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, in, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &x, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    memset(values, 0xee, 256);
    *none = 77;
    free(values);
    free(none);
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, 256));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, 256));
    OK(ANeuralNetworksExecution_compute(execution));
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(output[i], (float)i + input[i]);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ways_end();
}
TEST_END

CHECK_MAIN("memories", files_that_a_driver_cannot_decode, blobs_that_a_driver_cannot_decode,
           images_that_a_driver_cannot_decode, pools_of_the_runtime_that_a_driver_cannot_decode,
           hardware_buffers_serve_on_a_burst, pictures_of_cameras_are_copied_without_their_gaps,
           every_bad_memory_gets_its_code, a_file_that_shrinks_fails_its_execution_alone,
           a_pool_used_a_thousand_times_is_mapped_once,
           a_picture_in_shared_memory_costs_nothing_per_run,
           constants_given_by_pointer_may_be_freed_after_finish)
