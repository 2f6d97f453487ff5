/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of one user that take all they can, while another user computes: he is answered, and
 * when they are gone nothing is left of them. NN_TEST_SECONDS: of each kind,
 * half a second without. */
#include "attack/hog.h"
#include "attack/probe.h"
#include "attack/victim.h"

#include "support/check-main.h"
#include "support/fuse-file.h"

#include <stdio.h>
#include <unistd.h>

enum {
    SHORT_MS = 500,
    HOGS = 2,
    SLACK_KIB = 16384, /* that a heap keeps, of many threads */
};

static struct victim victim;

/* file is that of HOG_FILES and the like. */
static void withstand(enum hog_kind kind, struct fuse_file *file)
{
    uint32_t n_seconds = victim_number("NN_TEST_SECONDS", 0);
    struct victim_state before, meanwhile;
    struct probe probe;
    pid_t pids[HOGS];

    victim_start(&victim, "cpu");
    probe_start(&probe, victim.path);
    probe_stop(&probe, "quiet");
    before = victim_look(&victim);
    probe_start(&probe, victim.path);
    for (int i = 0; i < HOGS; i++)
        pids[i] = hog_start(kind, victim.path, file->fd);
    usleep(n_seconds ? n_seconds * 1000000 : SHORT_MS * 1000);
    meanwhile = victim_look(&victim);
    probe_stop(&probe, hog_name(kind));
    printf("%s: %zu descriptors, %zu threads, %llu KiB\n", hog_name(kind), meanwhile.n_fds,
           meanwhile.n_threads, (unsigned long long)meanwhile.anonymous_kib);
    for (int i = 0; i < HOGS; i++)
        hog_stop(pids[i]);
    fuse_file_kill(file); /* who has a mapping of it waits until then, and no one else */
    before.n_fds += 4;    /* opened when first needed: by fences, by files that stall */
    victim_expect_back(&victim, &before, SLACK_KIB);
    victim_stop(&victim);
}

START_TEST(another_user_is_answered)
{
    static const enum fuse_file_reads reads[HOG_KINDS] = {
        [HOG_FILES] = FUSE_FILE_SILENT,
        [HOG_BAD_FILES] = FUSE_FILE_FAILS,
        [HOG_LATE_FILES] = FUSE_FILE_LATE,
    };
    bool needs_file = _i >= HOG_FILES && _i <= HOG_LATE_FILES;
    struct fuse_file file = {.fd = -1};

    if (needs_file && !fuse_file_open(&file, reads[_i], true))
        return;
    withstand((enum hog_kind)_i, &file);
    if (needs_file)
        fuse_file_close(&file);
}
END_TEST

/* As SPECIFICATION.md says. */
_Static_assert(HOG_KINDS == 11, "kinds of hogs");

int main(void)
{
    Suite *suite = suite_create("hogs");
    TCase *tcase = tcase_create("hogs");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tcase, CHECK_TIMEOUT_S);
    tcase_add_loop_test(tcase, another_user_is_answered, 0, HOG_KINDS);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
