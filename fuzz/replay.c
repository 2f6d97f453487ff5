/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on the files that it is given, and on every file of the
 * folders among them, in order of their names. Fails if there was none. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static size_t n_inputs;

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
    LLVMFuzzerTestOneInput(bytes, n);
    n_inputs++;
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
    int failed = EXIT_SUCCESS;

    for (int i = 1; i < argc; i++) {
        struct stat status;

        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
            failed |= replay_folder(argv[i]);
        else
            failed |= replay_file(argv[i]);
    }
    printf("%zu inputs\n", n_inputs);
    return n_inputs ? failed : EXIT_FAILURE;
}
