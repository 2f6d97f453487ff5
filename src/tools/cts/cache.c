/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - compiled models that come back: the right one, whole, or not at all
 *
 * A folder of the application holds several models under keys of their own. What comes from it
 * computes as what was compiled; files that are damaged are not used. */
#include "cts.h"
#include "nnt/folder.h"
#include "nnt/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum { N_KEPT = 8, N_PLACES = 12 };

/* Of a model. */
enum { OWN_KEY = 'k', OTHER_KEY = 'o' };

/* Of the section: a process that goes on behind one that crashed finds what that one kept. */
static char folder[NNT_FOLDER_BYTES + sizeof("/models")];

/* Returns: false if there is no such folder, and none can be made. */
static bool find_folder(const struct cts *cts)
{
    snprintf(folder, sizeof(folder), "%s/models", cts->options->folder);
    return mkdir(folder, 0700) == 0 || errno == EEXIST;
}

static void empty_folder(void)
{
    nnt_folder_remove(folder);
    mkdir(folder, 0700);
}

/* -- keys -- */

struct key {
    char text[32]; /* a token has as many bytes */
};

/* One for each model and use: names are longer than a token, and differ at their end. */
static struct key key_of(const struct nnt_model *model, char use)
{
    uint64_t hash = 0xcbf29ce484222325u;
    struct key key;

    for (const char *at = model->name; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    snprintf(key.text, sizeof(key.text), "%c%016llx", use, (unsigned long long)hash);
    return key;
}

/* -- one compilation -- */

/* Compiles under a key and computes. Returns: whether the results are right; *ret_outcome is enum
 * nnhal_cache_outcome. */
static bool compute(struct nnt_attempt *attempt, const char *key, uint32_t *ret_outcome)
{
    struct nnhal_cache_info info = {.outcome = NNHAL_CACHE_NONE};
    int r = nnt_attempt_build(attempt);

    if (r == OK)
        r = nnt_compile_in(attempt, folder, key, &info);
    *ret_outcome = info.outcome;
    return r == OK && nnt_attempt_execute(attempt) == OK && nnt_attempt_check(attempt);
}

static bool compute_model(struct cts *cts, const struct nnt_model *model, char use,
                          uint32_t *ret_outcome, struct nnt_run *run)
{
    struct key key = key_of(model, use);
    struct nnt_attempt attempt;
    bool is_right;

    *run = cts_run(cts, NNT_SYNC);
    nnt_attempt_init(&attempt, run, model);
    is_right = compute(&attempt, key.text, ret_outcome);
    run->is_unsupported = !is_right && nnt_attempt_is_unsupported(&attempt);
    nnt_attempt_done(&attempt);
    return is_right;
}

/* What a check says that wants a certain outcome, and right results. */
static void judge(struct cts *cts, const struct nnt_run *run, bool is_right, bool is_outcome,
                  const char *why)
{
    if (run->is_unsupported)
        cts_say(cts, NNT_UNSUPPORTED, NULL);
    else if (!is_right)
        cts_say(cts, NNT_FAILED, run->what);
    else
        cts_expect(cts, is_outcome, why);
}

/* -- each model under its own key -- */

static void expect_miss(struct cts *cts, const struct nnt_model *model, char use, const char *what)
{
    uint32_t outcome;
    struct nnt_run run;
    bool is_right;

    if (!cts_wants(cts, "%s %s", model->name, what))
        return;
    is_right = compute_model(cts, model, use, &outcome, &run);
    judge(cts, &run, is_right, outcome != NNHAL_CACHE_HIT, "it came from the cache");
}

static void keep(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    expect_miss(cts, model, OWN_KEY, "is not taken from an empty cache");
}

/* Where a model was kept it has to come back; one that the device does not keep is compiled. What a
 * process kept that crashed may not have been written. */
static void find_again(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    uint32_t outcome;
    struct nnt_run run;
    bool is_right;

    if (!cts_wants(cts, "%s comes back under its key", model->name))
        return;
    is_right = compute_model(cts, model, OWN_KEY, &outcome, &run);
    if (is_right && outcome == NNHAL_CACHE_COMPILED && cts->first > 0)
        is_right = compute_model(cts, model, OWN_KEY, &outcome, &run);
    if (is_right && outcome == NNHAL_CACHE_UNCACHED)
        cts_say(cts, NNT_UNSUPPORTED, NULL);
    else
        judge(cts, &run, is_right, outcome == NNHAL_CACHE_HIT, "it was compiled again");
}

static void ask_other_key(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    expect_miss(cts, model, OTHER_KEY, "does not come back under another key");
}

/* -- damage -- */

enum damage { DAMAGE_BYTE = 0, DAMAGE_CUT = N_PLACES, DAMAGE_EMPTY, DAMAGE_N };

/* One byte at one of N_PLACES places of the file, or what is behind its middle, or all. */
static bool damage_file(const char *path, unsigned damage)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t n = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t at = n * (off_t)damage / N_PLACES;
    bool is_done = false;
    uint8_t byte;

    if (n > 0 && damage == DAMAGE_CUT)
        is_done = ftruncate(fd, n / 2) == 0;
    else if (n > 0 && damage == DAMAGE_EMPTY)
        is_done = ftruncate(fd, 0) == 0;
    else if (n > 0 && pread(fd, &byte, 1, at) == 1) {
        byte ^= 0xff;
        is_done = pwrite(fd, &byte, 1, at) == 1;
    }
    if (fd >= 0)
        close(fd);
    return is_done;
}

/* Returns: how many files of the folder were damaged. */
static unsigned damage_all(unsigned damage)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[sizeof(folder) + sizeof(entry->d_name) + 1];
    unsigned n = 0;

    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        n += entry->d_name[0] != '.' && damage_file(path, damage);
    }
    if (dir)
        closedir(dir);
    return n;
}

/* Whether the model was kept; that is what can be damaged. */
static bool is_kept(struct cts *cts, const struct nnt_model *model)
{
    uint32_t outcome;
    struct nnt_run run;

    compute_model(cts, model, OWN_KEY, &outcome, &run);
    compute_model(cts, model, OWN_KEY, &outcome, &run);
    return outcome == NNHAL_CACHE_HIT;
}

static void try_damage(struct cts *cts, const struct nnt_model *model, unsigned damage)
{
    uint32_t outcome = NNHAL_CACHE_NONE;
    struct nnt_run run = cts_run(cts, NNT_SYNC);
    bool is_right;

    if (!is_kept(cts, model) || damage_all(damage) == 0) {
        cts_say(cts, NNT_UNSUPPORTED, NULL);
        return;
    }
    is_right = compute_model(cts, model, OWN_KEY, &outcome, &run);
    judge(cts, &run, is_right, outcome != NNHAL_CACHE_HIT, "a damaged file was used");
}

static void damage_each_way(struct cts *cts, struct nnt_file *file, struct nnt_model *model)
{
    empty_folder();
    for (unsigned damage = 0; damage < DAMAGE_N; damage++) {
        const char *what = damage == DAMAGE_CUT     ? "cut"
                           : damage == DAMAGE_EMPTY ? "empty"
                                                    : "spoilt at one place";

        if (cts_wants(cts, "%s whose file is %s (%u)", model->name, what, damage))
            try_damage(cts, model, damage);
    }
}

void cts_cache(struct cts *cts)
{
    if (!find_folder(cts)) {
        if (cts_wants(cts, "a folder for models"))
            cts_say(cts, NNT_FAILED, "it cannot be made");
        return;
    }
    cts_each_model(cts, 0, CTS_PER_OPERATION, keep);
    cts_each_model(cts, 0, CTS_PER_OPERATION, find_again);
    cts_each_model(cts, 0, N_KEPT * CTS_PER_OPERATION, ask_other_key);
    cts_each_model(cts, 0, N_KEPT * CTS_PER_OPERATION, damage_each_way);
}
