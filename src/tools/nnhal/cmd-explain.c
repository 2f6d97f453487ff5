/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-explain.c - nnhal explain: which devices compute a model, and why not others */
#include "bench-inputs.h"
#include "explanation.h"
#include "session.h"
#include "text.h"
#include "tool.h"

#include <unistd.h>

struct explain_options {
    struct session_options session;
    uint32_t n_runs;
    bool is_dot, is_json;
};

#define TOOL_VALUES struct explain_options
static const struct tool_usage explain_usage = {
#include "options/explain.def"
};

/* Returns TOOL_OK, or the status to end with (TOOL_HELPED: after --help). */
static int explain_parse(int argc, char **argv, struct explain_options *o)
{
    int status = tool_parse(argc, argv, &explain_usage, o);

    if (status != TOOL_OK)
        return status;
    if (o->is_dot && o->is_json)
        return tool_error(TOOL_USAGE, "--dot and --json are two ways to print the same");
    o->session.model = argv[optind];
    o->session.measures = o->n_runs > 0;
    return TOOL_OK;
}

static int open_session(const struct explain_options *o, struct session *session)
{
    int status;

    if (o->n_runs)
        return session_open(&o->session, session);
    status = session_load(&o->session, session);
    return status == TOOL_OK ? session_compile(session) : status;
}

/* The plan is asked for first: the library measures from then on. */
static int make_explanation(struct session *session, const struct explain_options *o,
                            struct explanation *e)
{
    char why[256] = "";
    int status;

    *e = (struct explanation){
        .session = session, .info = e->info, .plan.size = sizeof(e->plan), .n_runs = o->n_runs};
    if (nnhal_compilation_get_plan(session->compilation, &e->plan) != ANEURALNETWORKS_NO_ERROR) {
        nnhal_get_last_error(why, sizeof(why));
        return tool_error(TOOL_FAILED, "there is no plan: %s", text_make_plain(why));
    }
    if (!o->n_runs)
        return TOOL_OK;
    status = bench_fill_inputs(session, "random");
    return status == TOOL_OK ? session_run_median(session, o->n_runs, &e->run_ns) : status;
}

static void print_explanation(const struct explanation *e, const struct explain_options *o)
{
    if (o->is_dot)
        explanation_print_dot(e);
    else if (o->is_json)
        explanation_print_json(e);
    else
        explanation_print(e);
}

/* What was planned is told also where it fails. */
static int explain_described(const struct explain_options *o, const struct nnhal_tflite_info *info)
{
    struct explanation e = {.info = info};
    struct session session;
    int status = open_session(o, &session);

    if (status == TOOL_OK)
        status = make_explanation(&session, o, &e);
    if (e.plan.n_parts)
        print_explanation(&e, o);
    session_close(&session);
    return status;
}

static int explain_command(int argc, char **argv)
{
    struct explain_options o = {0};
    struct nnhal_tflite_info *info = NULL;
    char message[256];
    int status = explain_parse(argc, argv, &o);

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (nnhal_tflite_info_read(o.session.model, &info, message, sizeof(message)) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", o.session.model, text_make_plain(message));
    status = explain_described(&o, info);
    nnhal_tflite_info_free(info);
    return status;
}

const struct tool_command cmd_explain = {&explain_usage, explain_command};
