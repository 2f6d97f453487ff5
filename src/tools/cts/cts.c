/* SPDX-License-Identifier: Apache-2.0 */
/* cts.c - what a section's process tells of its checks */
#include "cts.h"

#include "line.h"
#include "nnt/extension.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line that cannot be told ends the process: without its judge it has no use. */
static void tell(struct cts *cts, const struct cts_line *line)
{
    if (write(cts->fd, line, sizeof(*line)) != (ssize_t)sizeof(*line))
        _exit(1);
}

bool cts_wants(struct cts *cts, const char *format, ...)
{
    struct cts_line line = {.kind = CTS_LINE_BEGIN};
    va_list args;

    if (cts->n_seen++ < cts->first)
        return false;
    va_start(args, format);
    vsnprintf(line.text, sizeof(line.text), format, args);
    va_end(args);
    tell(cts, &line);
    return true;
}

void cts_say(struct cts *cts, enum nnt_outcome outcome, const char *why)
{
    struct cts_line line = {.kind = CTS_LINE_END, .outcome = outcome};

    snprintf(line.text, sizeof(line.text), "%s", why ? why : "");
    tell(cts, &line);
}

void cts_expect(struct cts *cts, bool is_right, const char *why)
{
    cts_say(cts, is_right ? NNT_PASSED : NNT_FAILED, why);
}

void cts_go_on(struct cts *cts)
{
    const struct cts_line line = {.kind = CTS_LINE_ALIVE};

    tell(cts, &line);
}

void cts_name_device(struct cts *cts, const char *name)
{
    struct cts_line line = {.kind = CTS_LINE_DEVICE};

    snprintf(line.text, sizeof(line.text), "%s", name);
    tell(cts, &line);
}

struct nnt_run cts_run(const struct cts *cts, enum nnt_path path)
{
    return (struct nnt_run){.path = path, .device = cts->device};
}

enum nnt_outcome cts_end_of(struct nnt_attempt *attempt)
{
    return nnt_attempt_is_unsupported(attempt) ? NNT_UNSUPPORTED : NNT_FAILED;
}

static void fail_file(struct cts *cts, const char *why)
{
    if (cts_wants(cts, "%s", cts->options->vectors))
        cts_say(cts, NNT_FAILED, why);
}

/* Those with a flag of left_out are not checked. */
static void check_each(struct cts *cts, unsigned pick, unsigned of, uint32_t left_out,
                       cts_check check)
{
    struct nnt_file file;
    struct nnt_model model;
    bool is_open = nnt_file_open(&file, cts->options->vectors), is_ready = true;
    int r = is_open ? 1 : -1;

    for (unsigned i = 0; is_open && is_ready && (r = nnt_file_next(&file, &model)) > 0; i++) {
        if (i % of != pick || model.flags & left_out)
            continue;
        is_ready = nnt_extension_name(&model) == ANEURALNETWORKS_NO_ERROR;
        if (is_ready)
            check(cts, &file, &model);
    }
    if (r < 0)
        fail_file(cts, file.error);
    else if (!is_ready)
        fail_file(cts, "the library builds no models: NNHAL_LOG=warning tells why");
    nnt_file_close(&file);
}

void cts_each_model(struct cts *cts, unsigned pick, unsigned of, cts_check check)
{
    check_each(cts, pick, of, NNT_EXPECT_FAILURE, check);
}

void cts_each_vector(struct cts *cts, unsigned pick, unsigned of, cts_check check)
{
    check_each(cts, pick, of, 0, check);
}
