/* SPDX-License-Identifier: Apache-2.0 */
/* cached.c - the path "cached": a compilation that comes from the cache
 *
 * The model is compiled with a folder of its path_state, dropped, and compiled again:
 * what was kept must be taken. A device that keeps no such model compiles it
 * twice; nnt_run counts those that came from the cache. */
#include "folder.h"
#include "path.h"

#include <nnhal/ext.h>

#include <stdio.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

int nnt_compile_in(struct nnt_attempt *attempt, const char *folder, const char *key,
                   struct nnhal_cache_info *ret_info)
{
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {0};
    int r = nnt_create_compilation(attempt);

    memcpy(token, key, strnlen(key, sizeof(token)));
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
    int r = nnt_compile_in(attempt, folder, "nnt", &first);

    if (r != OK)
        return r;
    ANeuralNetworksCompilation_free(attempt->compilation);
    attempt->compilation = NULL;
    r = nnt_compile_in(attempt, folder, "nnt", &second);
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
    char folder[NNT_FOLDER_BYTES];
    int r;

    if (!nnt_folder_make(folder))
        return nnt_check_call(attempt, "mkdtemp", 0, ANEURALNETWORKS_UNMAPPABLE);
    r = compile_twice(attempt, folder);
    nnt_folder_remove(folder);
    return r;
}
