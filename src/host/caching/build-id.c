/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/build-id.h"

#include "base/error.h"
#include "base/variable.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_ID_BYTES = 64,
};

/* Of the files: changes when the host writes them in another way. */
static const uint32_t formats = 2;

struct build_id {
    uintptr_t address;
    uint8_t bytes[MAX_ID_BYTES];
    size_t n_bytes;
};

static size_t align_up4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* The notes of a loaded object: n_name, n_description, type; "GNU". */
static void read_notes(const uint8_t *at, size_t n_bytes, struct build_id *id)
{
    ElfW(Nhdr) note;

    while (n_bytes >= sizeof(note)) {
        size_t whole;

        memcpy(&note, at, sizeof(note));
        whole = sizeof(note) + align_up4(note.n_namesz) + align_up4(note.n_descsz);
        if (whole > n_bytes)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof(note), "GNU", 4) == 0 && note.n_descsz <= MAX_ID_BYTES) {
            id->n_bytes = note.n_descsz;
            memcpy(id->bytes, at + sizeof(note) + 4, note.n_descsz);
            return;
        }
        at += whole;
        n_bytes -= whole;
    }
}

static bool object_holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];

        if (header->p_type == PT_LOAD &&
            address - (object->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return true;
    }
    return false;
}

static int find_notes(struct dl_phdr_info *object, size_t size, void *ctx)
{
    struct build_id *id = ctx;

    if (!object_holds(object, id->address))
        return 0;
    for (size_t i = 0; i < object->dlpi_phnum && id->n_bytes == 0; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];

        if (header->p_type == PT_NOTE)
            read_notes((const uint8_t *)(object->dlpi_addr + header->p_vaddr), header->p_memsz, id);
    }
    return 1;
}

/* Of the object that holds address. One that was linked without an id is told by its file. */
static void find_build_id(const void *address, struct build_id *id)
{
    struct stat status;
    Dl_info info;

    *id = (struct build_id){.address = (uintptr_t)address};
    dl_iterate_phdr(find_notes, id);
    if (id->n_bytes || !dladdr(address, &info) || !info.dli_fname ||
        stat(info.dli_fname, &status) < 0)
        return;
    memcpy(id->bytes, &status.st_size, sizeof(status.st_size));
    memcpy(id->bytes + 8, &status.st_mtim, sizeof(status.st_mtim));
    id->n_bytes = 8 + sizeof(status.st_mtim);
}

/* The build id, not the version alone: a driver that is compiled anew may lay out its plans in
 * another way without telling. */
void nn_build_id_of(const struct nnhal_driver *driver, struct nn_hash *ret_epoch)
{
    struct build_id theirs;
    void *prepare;

    /* POSIX says that functions and data have pointers of one size. */
    memcpy(&prepare, &driver->prepare, sizeof(prepare));
    find_build_id(prepare, &theirs);

    const struct nn_hash_part parts[] = {
        {&formats, sizeof(formats)},
        {driver->name, strlen(driver->name) + 1},
        {driver->version, strlen(driver->version) + 1},
        {&theirs.n_bytes, sizeof(theirs.n_bytes)},
        {theirs.bytes, theirs.n_bytes},
    };

    nn_hash_compute(parts, sizeof(parts) / sizeof(parts[0]), ret_epoch);
}

enum {
    MAX_FILE_NAME = 128, /* as much of it as tells a reader which it is */
    STATE_NAME_BYTES = MAX_FILE_NAME + 1 + 16 + 1,
};

static void name_state(const char *module, char ret_name[static STATE_NAME_BYTES])
{
    const struct nn_hash_part part = {module, strlen(module)};
    const char *slash = strrchr(module, '/');
    struct nn_hash hash;
    uint64_t start = 0;

    nn_hash_compute(&part, 1, &hash);
    for (int i = 0; i < 8; i++)
        start = start << 8 | hash.bytes[i];
    snprintf(ret_name, STATE_NAME_BYTES, "%.*s-%016llx", MAX_FILE_NAME, slash ? slash + 1 : module,
             (unsigned long long)start);
}

int nn_state_folder(const char *module, const char *driver, char **ret_path)
{
    const char *own = nn_variable_get(NN_VARIABLE_STATE_PATH);
    const char *xdg = secure_getenv("XDG_STATE_HOME");
    const char *home = secure_getenv("HOME");
    char name[STATE_NAME_BYTES];
    int r;

    if (module) {
        name_state(module, name);
        driver = name;
    }

    /* secure_getenv() and absolute paths: a program with raised privileges must not be led
     * elsewhere. */
    if (own && own[0] == '/')
        r = asprintf(ret_path, "%s/%s", own, driver);
    else if (xdg && xdg[0] == '/')
        r = asprintf(ret_path, "%s/nnhal/%s", xdg, driver);
    else if (geteuid() == 0)
        r = asprintf(ret_path, "/var/lib/nnhal/%s", driver);
    else if (home && home[0] == '/')
        r = asprintf(ret_path, "%s/.local/state/nnhal/%s", home, driver);
    else
        return nn_error_origin(-ENOENT);
    return r < 0 ? nn_error_origin(-ENOMEM) : 0;
}
