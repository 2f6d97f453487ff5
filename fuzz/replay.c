/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on the files that it is given, and on every file of the
 * folders among them, in order of their names. Fails if there was none.
 *
 * NN_FUZZ_SECONDS=N: then for so long on changed ones, which depend on their number and
 * NN_TEST_SEED alone. The input under which a target ends the process is written to
 * fuzz-finding in the working folder. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_KEPT = 512,
    MAX_CHANGED_BYTES = 1 << 16,
    MAX_CHANGES = 8,
};

struct input {
    uint8_t *bytes;
    size_t n_bytes;
};

static size_t n_inputs;
static struct input kept[MAX_KEPT]; /* to be changed */
static size_t n_kept;
static struct input current; /* what the target has */
static uint64_t state;

/* Of AddressSanitizer, where it is linked. */
__attribute__((__weak__)) void __sanitizer_set_death_callback(void (*callback)(void));

static void save_current(void)
{
    int fd = open("fuzz-finding", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd >= 0 && write(fd, current.bytes, current.n_bytes) == (ssize_t)current.n_bytes)
        fprintf(stderr, "the input is in ./fuzz-finding\n");
    if (fd >= 0)
        close(fd);
}

static void save_and_end(int signal_number)
{
    save_current();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run_input(uint8_t *bytes, size_t n)
{
    current = (struct input){bytes, n};
    LLVMFuzzerTestOneInput(bytes, n);
    n_inputs++;
}

/* xorshift */
static uint32_t next(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static uint64_t interesting(void)
{
    static const uint64_t numbers[] = {0,          1,          2,          4,     7,      64,
                                       127,        128,        255,        256,   65535,  65536,
                                       0x7fffffff, 0x80000000, 0xffffffff, ~0ull, 1 << 20};

    return next(2) ? numbers[next(sizeof(numbers) / sizeof(numbers[0]))] : state;
}

/* One change: bits, a number, a piece of another input, a cut, or a piece again. */
static void change_input(struct input *input, size_t capacity)
{
    const struct input *other = &kept[next((uint32_t)n_kept)];
    uint32_t at = input->n_bytes ? next((uint32_t)input->n_bytes) : 0;
    uint64_t number = interesting();
    size_t n = 1u << next(4), room = input->n_bytes - at;

    switch (input->n_bytes ? next(6) : 5) {
    case 0:
        input->bytes[at] ^= (uint8_t)(1u << next(8));
        break;
    case 1:
    case 2:
        at = at / (uint32_t)n * (uint32_t)n;
        memcpy(input->bytes + at, &number, n <= input->n_bytes - at ? n : input->n_bytes - at);
        break;
    case 3:
        input->n_bytes = at;
        break;
    case 4:
        n = n * 8 < room ? n * 8 : room;
        memmove(input->bytes + next((uint32_t)(input->n_bytes - n + 1)), input->bytes + at, n);
        break;
    default:
        n = other->n_bytes ? next((uint32_t)other->n_bytes) + 1 : 0;
        n = n < capacity - at ? n : capacity - at;
        memcpy(input->bytes + at, other->bytes, n);
        input->n_bytes = at + n > input->n_bytes ? at + n : input->n_bytes;
        break;
    }
}

static void change_for(time_t seconds)
{
    static uint8_t changed[MAX_CHANGED_BYTES];
    const char *seed = getenv("NN_TEST_SEED");
    time_t end = time(NULL) + seconds;
    size_t n_before = n_inputs;

    for (uint64_t i = 0; n_kept && time(NULL) < end; i++) {
        struct input input = {.bytes = changed};
        uint8_t *bytes;

        state = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
                (seed ? strtoull(seed, NULL, 10) << 40 : 0);
        input.n_bytes = kept[i % n_kept].n_bytes;
        memcpy(changed, kept[i % n_kept].bytes, input.n_bytes);
        for (uint32_t k = next(MAX_CHANGES) + 1; k > 0; k--)
            change_input(&input, sizeof(changed));
        bytes = malloc(input.n_bytes ? input.n_bytes : 1);
        if (!bytes)
            abort();
        memcpy(bytes, changed, input.n_bytes);
        run_input(bytes, input.n_bytes);
        free(bytes);
    }
    printf("%zu changed ones\n", n_inputs - n_before);
}

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    struct stat status;
    size_t n = 0;

    if (file && fstat(fileno(file), &status) == 0) {
        bytes = malloc((size_t)status.st_size + 1);
        if (bytes)
            n = fread(bytes, 1, (size_t)status.st_size, file);
    }
    if (file)
        fclose(file);
    if (!bytes || n != (size_t)status.st_size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(bytes);
        return EXIT_FAILURE;
    }
    /* Exactly the input's size, so that a read beyond it is seen. */
    bytes = realloc(bytes, n ? n : 1);
    run_input(bytes, n);
    if (n_kept < MAX_KEPT && n <= MAX_CHANGED_BYTES)
        kept[n_kept++] = (struct input){bytes, n};
    else
        free(bytes);
    return EXIT_SUCCESS;
}

static int replay_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    int failed = EXIT_SUCCESS;

    if (n < 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n; i++) {
        char name[4096];

        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            failed |= replay_file(name);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    const char *seconds = getenv("NN_FUZZ_SECONDS");
    int failed = EXIT_SUCCESS;

    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(save_current);
    else
        signal(SIGSEGV, save_and_end);
    signal(SIGABRT, save_and_end);
    for (int i = 1; i < argc; i++) {
        struct stat status;

        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
            failed |= replay_folder(argv[i]);
        else
            failed |= replay_file(argv[i]);
    }
    printf("%zu inputs\n", n_inputs);
    if (seconds)
        change_for((time_t)strtoul(seconds, NULL, 10));
    for (size_t i = 0; i < n_kept; i++)
        free(kept[i].bytes);
    return n_inputs ? failed : EXIT_FAILURE;
}
