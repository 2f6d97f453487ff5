/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/discovery.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/variable.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SOCKET_SUFFIX ".sock"
#define DRIVER_PREFIX "libnnhal-driver-"
#define DRIVER_SUFFIX ".so"

/* A list of directories, as NNHAL_SOCKET_PATH has it. */
struct folders {
    char *entries[16];
    size_t n_entries;
};

static void folders_done(struct folders *folders)
{
    for (size_t i = 0; i < folders->n_entries; i++)
        free(folders->entries[i]);
    folders->n_entries = 0;
}

/* Takes folder; a NULL one is memory that was short. */
static int folders_add(struct folders *folders, char *folder)
{
    if (!folder)
        return nn_error_origin(-ENOMEM);
    if (*folder != '/' || folders->n_entries == NN_N_ELEMENTS(folders->entries))
        free(folder); /* a relative one means nothing: the current directory changes */
    else
        folders->entries[folders->n_entries++] = folder;
    return 0;
}

static int folders_add_list(struct folders *folders, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ":");
        int r = n > 0 ? folders_add(folders, strndup(list, n)) : 0;

        if (r < 0)
            return nn_error_trace(r);
        list += n;
        list += *list == ':';
    }
    return 0;
}

__attribute__((__format__(__printf__, 1, 2))) static char *join(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vasprintf(&text, format, arguments);
    va_end(arguments);
    return n < 0 ? NULL : text;
}

/* The directory that this code was loaded from; NULL if it cannot be told. */
static char *own_folder(void)
{
    _cleanup_(freep) char *path = NULL;
    Dl_info info;
    char *slash;

    if (dladdr((void *)(uintptr_t)own_folder, &info) == 0 || !info.dli_fname)
        return NULL;
    /* Of code in the program itself the loader knows only what it was called. */
    path = realpath(strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe", NULL);
    slash = path ? strrchr(path, '/') : NULL;
    if (!slash)
        return NULL;
    *slash = '\0';
    return steal_ptr(&path);
}

static int socket_folders(struct folders *folders)
{
    const char *list = nn_variable_get(NN_VARIABLE_SOCKET_PATH);
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    int r;

    if (list)
        return folders_add_list(folders, list);
    r = folders_add(folders, strdup("/run/nnhal"));
    if (r == 0 && runtime && *runtime == '/')
        r = folders_add(folders, join("%s/nnhal", runtime));
    return nn_error_trace(r);
}

static int driver_folders(struct folders *folders)
{
    const char *list = nn_variable_get(NN_VARIABLE_DRIVER_PATH);
    _cleanup_(freep) char *own = NULL;
    int r = 0;

    if (list)
        return folders_add_list(folders, list);
    own = own_folder();
    if (own)
        r = folders_add(folders, join("%s/nnhal-drivers", own));
    if (own && r == 0) /* as installed, wherever that was moved to */
        r = folders_add(folders, join("%s/nnhal/drivers", own));
    if (r == 0)
        r = folders_add(folders, strdup(NN_DRIVER_DIR));
    return nn_error_trace(r);
}

/* -- listing ------------------------------------------------------------------------- */

void nn_discovery_done(struct nn_discovery *places)
{
    for (size_t i = 0; i < places->n_entries; i++) {
        free(places->entries[i].name);
        free(places->entries[i].path);
    }
    free(places->entries);
    *places = (struct nn_discovery){0};
}

const char *nn_discovery_find(const struct nn_discovery *places, const char *name)
{
    for (size_t i = 0; i < places->n_entries; i++)
        if (strcmp(places->entries[i].name, name) == 0)
            return places->entries[i].path;
    return NULL;
}

static int discovery_add(struct nn_discovery *places, const char *folder, const char *file,
                         const char *name, size_t n_name)
{
    struct nn_discovery_entry place = {.name = strndup(name, n_name),
                                       .path = join("%s/%s", folder, file)};
    struct nn_discovery_entry *entries = NULL;

    if (place.name && place.path && nn_discovery_find(places, place.name)) {
        free(place.name); /* an earlier directory has it */
        free(place.path);
        return 0;
    }
    if (place.name && place.path)
        entries = reallocarray(places->entries, places->n_entries + 1, sizeof(*entries));
    if (!entries) {
        free(place.name);
        free(place.path);
        return nn_error_origin(-ENOMEM);
    }
    entries[places->n_entries] = place;
    places->entries = entries;
    places->n_entries++;
    return 0;
}

/* Adds what is called PREFIX NAME SUFFIX in folder. */
static int discovery_scan(struct nn_discovery *places, const char *folder, const char *prefix,
                          const char *suffix)
{
    size_t n_prefix = strlen(prefix), n_suffix = strlen(suffix);
    struct dirent **files = NULL;
    int n_files = scandir(folder, &files, NULL, alphasort), r = 0;

    /* n_files is -1 for a directory that cannot be read: most machines lack one of the
     * places. */
    for (int i = 0; i < n_files; i++) {
        const char *file = files[i]->d_name;
        size_t n = strlen(file);

        if (r == 0 && n > n_prefix + n_suffix && memcmp(file, prefix, n_prefix) == 0 &&
            strcmp(file + n - n_suffix, suffix) == 0)
            r = discovery_add(places, folder, file, file + n_prefix, n - n_prefix - n_suffix);
        free(files[i]);
    }
    free(files);
    return nn_error_trace(r);
}

static int discovery_list(int (*get_folders)(struct folders *folders), const char *prefix,
                          const char *suffix, struct nn_discovery *ret_places)
{
    _cleanup_(folders_done) struct folders folders = {.n_entries = 0};
    struct nn_discovery places = {0};
    int r = get_folders(&folders);

    for (size_t i = 0; r == 0 && i < folders.n_entries; i++)
        r = discovery_scan(&places, folders.entries[i], prefix, suffix);
    if (r < 0) {
        nn_discovery_done(&places);
        return nn_error_trace(r);
    }
    *ret_places = places;
    return 0;
}

int nn_discovery_init_sockets(struct nn_discovery *ret_places)
{
    return discovery_list(socket_folders, "", SOCKET_SUFFIX, ret_places);
}

int nn_discovery_init_drivers(struct nn_discovery *ret_places)
{
    return discovery_list(driver_folders, DRIVER_PREFIX, DRIVER_SUFFIX, ret_places);
}

/* -- single places ------------------------------------------------------------------------ */

int nn_discovery_socket_path(const char *name, char **ret_path)
{
    _cleanup_(folders_done) struct folders folders = {.n_entries = 0};
    bool is_root = geteuid() == 0;
    const char *folder = NULL;
    int r = socket_folders(&folders);

    if (r < 0)
        return nn_error_trace(r);
    /* Of the built-in two, the first is the system's and the second the user's. */
    if (nn_variable_get(NN_VARIABLE_SOCKET_PATH) || is_root)
        folder = folders.n_entries > 0 ? folders.entries[0] : NULL;
    else
        folder = folders.n_entries > 1 ? folders.entries[1] : NULL;
    if (!folder)
        return nn_error_origin(-ENOENT);
    /* Not writable for others: nn_sock_listen() refuses a folder in which they could
     * replace the socket. */
    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return nn_error_origin(-errno);
    *ret_path = join("%s/%s" SOCKET_SUFFIX, folder, name);
    return *ret_path ? 0 : nn_error_origin(-ENOMEM);
}

int nn_discovery_host_path(char **ret_path)
{
    const char *given = nn_variable_get(NN_VARIABLE_HOST);
    _cleanup_(freep) char *own = own_folder(), *path = NULL;

    if (given)
        path = strdup(given);
    else if (own)
        path = join("%s/nnhal-host", own);
    if (path && access(path, X_OK) == 0) {
        *ret_path = steal_ptr(&path);
        return 0;
    }
    /* A program that was named explicitly has no substitute: another one in its place would
     * hide the mistake in the name. */
    if (given || access(NN_HOST_PROGRAM, X_OK) < 0)
        return nn_error_origin(-ENOENT);
    *ret_path = strdup(NN_HOST_PROGRAM);
    return *ret_path ? 0 : nn_error_origin(-ENOMEM);
}
