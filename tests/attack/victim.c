/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/victim.h"

#include "ipc/sock.h"
#include "support/fds.h"
#include "support/host-process.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000

enum {
    POOLED = 20, /* threads that a service keeps for some seconds, in case of more work */
};

static void nap(long n_ms)
{
    const struct timespec pause = {.tv_sec = n_ms / 1000, .tv_nsec = n_ms % 1000 * MS};

    nanosleep(&pause, NULL);
}

static void await_listener(struct victim *victim)
{
    int fd = -1;

    for (int i = 0; i < 6000 && nn_sock_connect(victim->path, &fd) != 0; i++) {
        victim_expect_alive(victim);
        nap(10);
    }
    ck_assert_int_ge(fd, 0);
    close(fd);
}

void victim_start(struct victim *victim, const char *name)
{
    snprintf(victim->folder, sizeof(victim->folder), "/tmp/nnhal-attack-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(victim->folder));
    ck_assert_int_eq(chmod(victim->folder, 0755), 0);
    snprintf(victim->path, sizeof(victim->path), "%s/%s.sock", victim->folder, name);
    victim->log_fd = memfd_create("log", MFD_CLOEXEC);
    victim->pid = fork();
    ck_assert_int_ge(victim->pid, 0);
    if (victim->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(victim->log_fd, STDERR_FILENO);
        execl(getenv("NNHAL_HOST"), "nnhal-host", "--listen", victim->path, name, NULL);
        _exit(99);
    }
    await_listener(victim);
    victim->host = host_process(victim->pid);
}

void victim_expect_alive(const struct victim *victim)
{
    char text[4096] = "";
    int status = 0;

    if (waitpid(victim->pid, &status, WNOHANG) == 0)
        return;
    ck_assert_int_ge(pread(victim->log_fd, text, sizeof(text) - 1, 0), 0);
    ck_abort_msg("the service ended: %#x\n%s", (unsigned)status, text);
}

void victim_stop(struct victim *victim)
{
    char text[8192] = "";
    int status;

    victim_expect_alive(victim);
    kill(victim->pid, SIGTERM);
    ck_assert_int_eq(waitpid(victim->pid, &status, 0), victim->pid);
    ck_assert_int_ge(pread(victim->log_fd, text, sizeof(text) - 1, 0), 0);
    ck_assert_msg(status == 0, "the service ended: %#x\n%s", (unsigned)status, text);
    close(victim->log_fd);
    unlink(victim->path);
    ck_assert_int_eq(rmdir(victim->folder), 0);
}

/* The driver opens its map of tokens when a client first compiles with one, and keeps it: one map is
 * not counted, whenever that was. */
static size_t count_descriptors(const struct victim *victim, bool is_printed)
{
    char path[64], target[256];
    size_t n = 0, n_maps = 0;
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)victim->host);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        if (length <= 0)
            continue;
        target[length] = '\0';
        n_maps += strstr(target, "/tokens-") != NULL;
        n++;
        if (is_printed)
            printf("descriptor %s: %s\n", entry->d_name, target);
    }
    if (folder)
        closedir(folder);
    return n - (n_maps > 0);
}

struct victim_state victim_look(const struct victim *victim)
{
    struct victim_state state = {0};
    char path[64], line[512];
    FILE *file;

    state.n_fds = count_descriptors(victim, false);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)victim->host);
    state.n_threads = count_entries(path);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)victim->host);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        state.n_maps += strstr(line, "memfd:") != NULL;
    if (file)
        fclose(file);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)victim->host);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "RssAnon:", 8) == 0)
            state.anonymous_kib = strtoull(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return state;
}

static bool is_back(const struct victim_state *now, const struct victim_state *before,
                    uint64_t slack_kib)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    slack_kib = UINT64_MAX / 2; /* what was freed is kept */
#endif
    return now->n_fds <= before->n_fds && now->n_threads <= before->n_threads + POOLED &&
           now->n_maps <= before->n_maps && now->anonymous_kib <= before->anonymous_kib + slack_kib;
}

void victim_expect_back(const struct victim *victim, const struct victim_state *before,
                        uint64_t slack_kib)
{
    struct victim_state now = victim_look(victim);

    for (int i = 0; i < 1000 && !is_back(&now, before, slack_kib); i++) {
        nap(10);
        now = victim_look(victim);
    }
    if (now.n_fds > before->n_fds)
        count_descriptors(victim, true);
    ck_assert_msg(
        is_back(&now, before, slack_kib),
        "descriptors %zu, before %zu; threads %zu, %zu; mappings %zu, %zu; KiB %llu, %llu",
        now.n_fds, before->n_fds, now.n_threads, before->n_threads, now.n_maps, before->n_maps,
        (unsigned long long)now.anonymous_kib, (unsigned long long)before->anonymous_kib);
}

size_t victim_count_lines(const struct victim *victim, const char *text)
{
    FILE *file = fdopen(dup(victim->log_fd), "r");
    char line[1024];
    size_t n = 0;

    ck_assert_ptr_nonnull(file);
    rewind(file);
    while (fgets(line, sizeof(line), file))
        n += strstr(line, text) != NULL;
    fclose(file);
    return n;
}

uint32_t victim_number(const char *variable, uint32_t otherwise)
{
    const char *text = getenv(variable);

    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}
