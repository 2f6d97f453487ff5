/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include "line.h"
#include "nnt/json.h"
#include "stop.h"
#include "text/plain.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a section: a driver that crashes or hangs this often has been judged. */
enum { MAX_PROCESSES = 50, MAX_SILENT = 3 };

struct judge {
    struct cts_options *options;
    const struct cts_section *section;
    struct cts_tally *tally;
    unsigned n_begun;
    bool is_under_way;
    char name[sizeof(((struct cts_line *)0)->text)];
};

/* -- the section's process -- */

static void make_checks(const struct judge *judge, int fd)
{
    struct cts cts = {.options = judge->options, .first = judge->n_begun, .fd = fd};

    if (!judge->section->is_direct) {
        cts.device = nnt_find_device(judge->options->device);
        if (!cts.device) {
            cts.first = 0;
            cts_wants(&cts, "the device");
            cts_say(&cts, NNT_FAILED, "the library does not find it: NNHAL_LOG=warning tells why");
            return;
        }
    }
    judge->section->make(&cts);
}

static pid_t start(const struct judge *judge, int *ret_fd)
{
    int ends[2];
    pid_t pid;

    fflush(stdout);
    if (pipe(ends) != 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        cts_stop_normally(judge->options->stop_fd);
        close(ends[0]);
        make_checks(judge, ends[1]);
        exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    *ret_fd = ends[0];
    return pid;
}

/* -- what it tells -- */

static void count(struct judge *judge, enum nnt_outcome outcome, const char *why)
{
    judge->is_under_way = false;
    judge->tally->n_of[outcome]++;
    if (outcome != NNT_FAILED || judge->options->is_quiet)
        return;
    if (!judge->options->is_json) {
        printf("FAILED %s: ", judge->section->name);
        text_print(judge->name);
        printf(": ");
        text_print(why);
        printf("\n");
        return;
    }
    printf("{\"section\": ");
    nnt_print_json_string(judge->section->name);
    printf(", \"check\": ");
    nnt_print_json_string(judge->name);
    printf(", \"failed\": ");
    nnt_print_json_string(why);
    printf("}\n");
}

static void hear(struct judge *judge, struct cts_line *line)
{
    line->text[sizeof(line->text) - 1] = '\0';
    switch (line->kind) {
    case CTS_LINE_BEGIN:
        memcpy(judge->name, line->text, sizeof(judge->name));
        judge->is_under_way = true;
        judge->n_begun++;
        break;
    case CTS_LINE_END:
        count(judge, line->outcome < NNT_OUTCOME_N ? (enum nnt_outcome)line->outcome : NNT_FAILED,
              line->text);
        break;
    case CTS_LINE_ALIVE:
        break;
    default:
        snprintf(judge->options->device, sizeof(judge->options->device), "%.*s",
                 NNHAL_MAX_NAME_BYTES, line->text);
    }
}

/* Returns: false if the process is silent for too long, or the user wants no more. */
static bool hear_all(struct judge *judge, int fd)
{
    struct pollfd waits[] = {{.fd = fd, .events = POLLIN},
                             {.fd = judge->options->stop_fd, .events = POLLIN}};
    struct cts_line line;

    while (poll(waits, 2, (int)judge->options->patience_s * 1000) > 0 && !waits[1].revents) {
        if (read(fd, &line, sizeof(line)) != (ssize_t)sizeof(line))
            return true;
        hear(judge, &line);
    }
    return false;
}

/* What is said of a process that did not end by itself. */
static void describe_end(const struct judge *judge, bool is_silent, int status, char *text,
                         size_t n)
{
    if (is_silent)
        snprintf(text, n, "did not end within %u s", judge->options->patience_s);
    else if (WIFSIGNALED(status))
        snprintf(text, n, "the process was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, n, "the process ended with status %d", WEXITSTATUS(status));
}

/* One process, from the check after the last that was begun. Returns: whether another one is needed. */
static bool judge_process(struct judge *judge)
{
    char why[200];
    int fd = -1, status = 0;
    pid_t pid = start(judge, &fd);
    bool is_silent;

    if (pid < 0) {
        count(judge, NNT_FAILED, "no process can be started");
        return false;
    }
    is_silent = !hear_all(judge, fd);
    if (is_silent)
        kill(pid, SIGKILL);
    close(fd);
    waitpid(pid, &status, 0);
    if (cts_is_stopped(judge->options->stop_fd))
        return false;
    if (!is_silent && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return false;
    judge->tally->n_silent += is_silent;
    describe_end(judge, is_silent, status, why, sizeof(why));
    if (judge->is_under_way) {
        count(judge, NNT_FAILED, why);
        return true;
    }
    snprintf(judge->name, sizeof(judge->name), "the end of the process");
    count(judge, NNT_FAILED, why);
    return false;
}

static void give_up(struct judge *judge, const char *why)
{
    snprintf(judge->name, sizeof(judge->name), "the rest");
    count(judge, NNT_FAILED, why);
}

static bool is_given_up(struct judge *judge, unsigned n_processes)
{
    bool is_silent = judge->tally->n_silent >= MAX_SILENT;

    if (!is_silent && n_processes < MAX_PROCESSES)
        return false;
    give_up(judge, is_silent ? "given up: too many checks did not end"
                             : "given up: too many checks ended their process");
    return true;
}

void cts_judge(struct cts_options *options, const struct cts_section *section,
               struct cts_tally *tally)
{
    struct judge judge = {.options = options, .section = section, .tally = tally};
    bool is_done = false;

    snprintf(judge.name, sizeof(judge.name), "its beginning");
    for (unsigned n = 1; !is_done; n++)
        is_done = !judge_process(&judge) || is_given_up(&judge, n);
}

void cts_give_up(struct cts_options *options, const struct cts_section *section,
                 struct cts_tally *tally)
{
    struct judge judge = {.options = options, .section = section, .tally = tally};

    give_up(&judge, "and later sections given up: too many checks did not end");
}
