/* SPDX-License-Identifier: Apache-2.0 */
/* cached.c - the path "cached": a compilation that comes from the cache
 *
 * The model is compiled with a folder of its path_state, dropped, and compiled again:
 * what was kept must be taken. A device that keeps no such model compiles it
 * twice; nnt_run counts those that came from the cache. */
#include "path.h"

#include <nnhal/ext.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum { PATH_BYTES = 256 };

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

/* What became of the cache. Returns: an ANeuralNetworks result code. */
static int compile_once(struct nnt_attempt *attempt, const char *folder,
                        struct nnhal_cache_info *ret_info)
{
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = "nnt";
    int r = nnt_create_compilation(attempt);

    if (r == OK)
        r = nnt_check_call(
            attempt, "Compilation_setCaching", 0,
            ANeuralNetworksCompilation_setCaching(attempt->compilation, folder, token));
    if (r == OK)
        r = nnt_check_call(attempt, "Compilation_finish", 0,
                           ANeuralNetworksCompilation_finish(attempt->compilation));
    ret_info->size = sizeof(*ret_info);
    if (r == OK)
        r = nnt_check_call(attempt, "compilation_get_cache_info", 0,
                           nnhal_compilation_get_cache_info(attempt->compilation, ret_info));
    return r;
}

static int compile_twice(struct nnt_attempt *attempt, const char *folder)
{
    struct nnhal_cache_info first, second;
    int r = compile_once(attempt, folder, &first);

    if (r != OK)
        return r;
    ANeuralNetworksCompilation_free(attempt->compilation);
    attempt->compilation = NULL;
    r = compile_once(attempt, folder, &second);
    if (r != OK)
        return r;
    attempt->run->n_from_cache += second.outcome == NNHAL_CACHE_HIT;
    if (first.outcome == NNHAL_CACHE_COMPILED && second.outcome != NNHAL_CACHE_HIT) {
        snprintf(attempt->run->what, sizeof(attempt->run->what),
                 "was kept, and did not come from the cache: %s", second.why);
        return ANEURALNETWORKS_OP_FAILED;
    }
    return OK;
}

int nnt_compile_cached(struct nnt_attempt *attempt)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_BYTES];
    int r;

    snprintf(folder, sizeof(folder), "%.200s/nnt-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return nnt_check_call(attempt, "mkdtemp", 0, ANEURALNETWORKS_UNMAPPABLE);
    r = compile_twice(attempt, folder);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return r;
}
