/* SPDX-License-Identifier: Apache-2.0 */
#include "temp-folder.h"

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void temp_folder_new(char path[TEMP_FOLDER_BYTES])
{
    const char *parent = getenv("TMPDIR");

    if (!parent)
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* where syncing is quick */
    snprintf(path, TEMP_FOLDER_BYTES, "%.36s/nnhal-cache-XXXXXX", parent);
    ck_assert_ptr_nonnull(mkdtemp(path));
}

static int remove_one(const char *name, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(name);
}

void temp_folder_free(const char *path)
{
    ck_assert_int_eq(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int is_file(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

size_t temp_folder_list(const char *path, char ***ret_names)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_file, alphasort);
    char **names = calloc(n > 0 ? (size_t)n : 1, sizeof(*names));

    ck_assert_int_ge(n, 0);
    ck_assert_ptr_nonnull(names);
    for (int i = 0; i < n; i++) {
        names[i] = strdup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    *ret_names = names;
    return (size_t)n;
}

void temp_folder_list_done(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

uint64_t temp_folder_disk_bytes(const char *path)
{
    char **names;
    size_t n = temp_folder_list(path, &names);
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct stat status;
        char file[512];

        snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        if (lstat(file, &status) == 0)
            sum += ((uint64_t)status.st_size + 4095) / 4096 * 4096;
    }
    temp_folder_list_done(names, n);
    return sum;
}

struct nnhal_store *temp_folder_open_store(const char *path, uint64_t max_total_bytes,
                                           uint32_t selection, uint32_t capacity)
{
    const struct nnhal_store_options options = {.size = sizeof(options),
                                                .max_total_bytes = max_total_bytes,
                                                .selection = selection,
                                                .capacity = capacity};
    struct nnhal_store *store = NULL;

    ck_assert_int_eq(nnhal_store_open(path, &options, &store), 0);
    return store;
}

void make_value(uint32_t number, uint8_t *bytes, size_t n)
{
    uint32_t state = number * 2654435761u + 1;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24);
    }
}
