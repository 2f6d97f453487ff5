/* SPDX-License-Identifier: Apache-2.0 */
#include <nnhal/service.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "base/sanitized.h"
#include "base/variable.h"
#include "host/execution/overdue.h"
#include "host/host.h"
#include "ipc/child.h"
#include "ipc/discovery.h"
#include "ipc/sock.h"
#include "service/activation.h"
#include "service/grants.h"
#include "service/listener.h"
#include "service/sandbox.h"
#include "service/service.h"
#include "service/supervisor.h"

#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    MAX_FOLDERS = 64,
    EXIT_UNUSABLE = 2,
    EXIT_STUCK = 3,    /* as in host/execution/overdue.c */
    END_TIMEOUT_S = 5, /* for a driver that does not look at is_cancelled */
};

/* Everything on the way from the options to a running service. */
struct serving {
    struct nnhal_serve_options options;
    char *name;                /* of the driver, without its configuration */
    const char *configuration; /* within options.driver, or NULL */
    char *own_path;            /* a socket of ours, to be removed at the end */
    int fd;
    struct nn_sock_credentials client; /* of the only one, asked before namespaces hide it */
    bool has_socket;                   /* it was passed to this process */
    bool is_listening;
    bool is_split; /* the driver's process is not the one that was started */
    struct nn_supervisor supervisor;
    char *path; /* of the driver's module */
    struct nn_grants grants;
    struct nn_sandbox_report report;
    uint64_t whole_memory;
    struct nn_host *host;
};

static struct nn_service *running; /* for the signal handler */

static void on_termination(int number)
{
    if (running)
        nn_service_stop(running);
    else
        _exit(0); /* the driver is being opened, or closed */
}

static void on_alarm(int number)
{
    _exit(EXIT_STUCK);
}

static void remove_socket(void *ctx)
{
    struct serving *serving = ctx;

    if (serving->own_path)
        unlink(serving->own_path);
    free(serving->own_path);
    serving->own_path = NULL;
}

static void serving_done(struct serving *serving)
{
    nn_host_unref(serving->host);
    closep(&serving->fd);
    closep(&serving->options.report_fd);
    remove_socket(serving);
    free(serving->name);
    free(serving->path);
    nn_grants_done(&serving->grants);
}

__attribute__((__format__(__printf__, 2, 3))) static int fail(int status, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nn_log("service", NN_LOG_ERROR, "%s", text);
    return status;
}

/* Copies what the caller's struct has. Returns 0 or an exit status. */
static int take_options(const struct nnhal_serve_options *options, struct serving *serving)
{
    size_t size = options->size < sizeof(*options) ? options->size : sizeof(*options);
    const char *colon;
    char why[512];

    if (nn_variables_check(why, sizeof(why)) < 0)
        return fail(EXIT_UNUSABLE, "%s", why);
    /* A program compiled with an older header has a shorter struct: what it lacks stays 0. */
    memcpy(&serving->options, options, size);
    if (serving->options.report_fd == 0)
        serving->options.report_fd = -1;
    if (!serving->options.driver || *serving->options.driver == '\0')
        return fail(EXIT_UNUSABLE, "no driver was named");
    if (serving->options.socket_path && serving->options.fd > 0)
        return fail(EXIT_UNUSABLE, "a socket's path and a connected socket exclude each other");
    colon = strchr(serving->options.driver, ':');
    serving->configuration = colon ? colon + 1 : NULL;
    serving->name = colon ? strndup(serving->options.driver,
                                    (size_t)(colon - serving->options.driver))
                          : strdup(serving->options.driver);
    return serving->name ? 0 : fail(1, "out of memory");
}

static bool has_sandbox(const struct serving *serving)
{
    return !(serving->options.flags & NNHAL_SERVE_NO_SANDBOX) && !NN_IS_SANITIZED;
}

/* -- the driver ------------------------------------------------------------------------------ */

static int find_driver(struct serving *serving)
{
    struct nn_discovery places = {0};
    const char *path = serving->name;
    int r = 0;

    if (!strchr(path, '/')) {
        r = nn_discovery_init_drivers(&places);
        path = r == 0 ? nn_discovery_find(&places, serving->name) : NULL;
    }
    if (!path) {
        nn_discovery_done(&places);
        return fail(1,
                    "there is no driver called %s: libnnhal-driver-%s.so is in none of the "
                    "folders of NNHAL_DRIVER_PATH",
                    serving->name, serving->name);
    }
    /* Without links, which a root of its own may lack. What is missing is said when it is opened. */
    serving->path = realpath(path, NULL);
    if (!serving->path)
        serving->path = strdup(path);
    nn_discovery_done(&places);
    return serving->path ? 0 : fail(1, "out of memory");
}

static int open_driver(struct serving *serving)
{
    struct nn_host_why why = {.text = ""};
    int r = nn_host_open_module(serving->path, serving->configuration, &why, &serving->host);

    if (r == -ELIBBAD && has_sandbox(serving))
        return fail(1,
                    "%s (what it reads outside of the folders of libraries is to be declared: "
                    "nnhal-host(1), SANDBOX)",
                    why.text);
    return r < 0 ? fail(1, "%s", why.text[0] ? why.text : strerror(-r)) : 0;
}

/* A client that is alone shares nothing. */
static void share_weights(const struct serving *serving)
{
    static const char *const names[] = {[NN_HOST_SHARING_NONE] = "off",
                                        [NN_HOST_SHARING_UID] = "uid",
                                        [NN_HOST_SHARING_ALL] = "all",
                                        NULL};
    int chosen = nn_variable_choose(NN_VARIABLE_SHARE_WEIGHTS, names);

    if (!serving->is_listening)
        return;
    nn_host_share_weights(serving->host,
                          chosen >= 0 ? (enum nn_host_sharing)chosen : NN_HOST_SHARING_UID);
}

/* -- the socket -------------------------------------------------------------------------------- */

static int listen_at_path(struct serving *serving)
{
    int r = nn_listener_open(serving->name, serving->options.socket_path, &serving->fd,
                             &serving->own_path);

    serving->is_listening = r == 0;
    return r < 0 ? 1 : 0; /* it was said there why */
}

/* What was passed to this process. Returns 0, where none was also, or an exit status. */
static int take_socket(struct serving *serving)
{
    if (serving->options.fd > 0)
        serving->fd = serving->options.fd;
    else if (!serving->options.socket_path &&
             nn_activation_take(&serving->fd, &serving->is_listening) < 0)
        return fail(1, "systemd passed something else than one socket of packets");
    serving->has_socket = serving->fd >= 0;
    if (serving->has_socket && !serving->is_listening &&
        nn_sock_credentials(serving->fd, &serving->client) < 0)
        return fail(1, "the kernel does not say who the client is");
    return 0;
}

/* The driver is open. */
static int open_socket(struct serving *serving)
{
    int r = serving->has_socket ? 0 : listen_at_path(serving);

    if (r == 0)
        /* The backlog holds the clients until the loop runs. */
        nn_activation_notify("READY=1");
    return r;
}

/* In the supervisor, for the driver's process. */
static int answer_request(void *ctx, const struct nn_supervisor_request *request, int *ret_fd)
{
    struct serving *serving = ctx;

    if (request->what == NN_SUPERVISOR_TOKENS)
        /* Of the driver that was to be served, not of the one that the process says it is. */
        return find_driver(serving) == 0 ? nn_error_trace(nn_host_open_tokens_file(
                                               serving->path, &request->tokens, ret_fd))
                                         : nn_error_origin(-EIO);
    if (open_socket(serving) != 0)
        return nn_error_origin(-EADDRNOTAVAIL);
    *ret_fd = steal_fd(&serving->fd);
    return 0;
}

static int become_ready(struct serving *serving)
{
    const struct nn_supervisor_request request = {.what = NN_SUPERVISOR_READY};
    int fd = -1, r;

    if (!serving->is_split)
        return open_socket(serving);
    r = nn_supervisor_ask(&serving->supervisor, &request, &fd);
    closep(&fd);          /* that none came */
    return r < 0 ? 1 : 0; /* it was said there why */
}

/* -- the sandbox --------------------------------------------------------------------------------- */

/* Folders of LD_LIBRARY_PATH, and the driver's own. Returns how many. */
static size_t list_folders(char *driver_folder, char *list, const char **ret_folders, size_t n_max)
{
    size_t n = 0;
    char *rest = list, *slash = strrchr(driver_folder, '/'), *folder;

    if (slash) {
        *slash = '\0';
        ret_folders[n++] = driver_folder;
    }
    while (rest && n < n_max && (folder = strsep(&rest, ":")))
        if (*folder == '/')
            ret_folders[n++] = folder;
    return n;
}

static void say_what_is_missing(const struct nn_sandbox_report *report)
{
    if (!report->has_own_root)
        nn_log("service", NN_LOG_WARNING, "the driver's process has no root of its own: %s",
               report->why_no_root.text);
    if (report->landlock_version == 0)
        nn_log(
            "service", NN_LOG_WARNING,
            "the driver's process is without Landlock: the kernel has none, or it was not enabled");
    if (!report->has_seccomp)
        nn_log("service", NN_LOG_WARNING,
               "the driver's process is without seccomp: the kernel has none");
}

static int close_with(struct serving *serving, const struct nn_sandbox_options *options)
{
    int r = nn_sandbox_close(options, &serving->report);

    if (r == 0 && !nn_supervisor_is_there())
        r = nn_error_origin(-EPIPE);
    if (r < 0)
        return fail(1, "the sandbox cannot be closed: %s", strerror(-r));
    nn_log("service", NN_LOG_INFO,
           "sandbox: root of its own %s, seccomp %s, Landlock version %d (0: none), root %s",
           serving->report.has_own_root ? "yes" : "no", serving->report.has_seccomp ? "yes" : "no",
           serving->report.landlock_version,
           serving->report.has_dropped_root ? "left" : "not left");
    say_what_is_missing(&serving->report);
    return 0;
}

/* Before any code of the driver. */
static int close_sandbox(struct serving *serving)
{
    const char *libraries = secure_getenv("LD_LIBRARY_PATH");
    _cleanup_(freep) char *folder = strdup(serving->path);
    _cleanup_(freep) char *list = libraries ? strdup(libraries) : NULL;
    const char *folders[MAX_FOLDERS];
    struct nn_host_why why = {.text = ""};
    struct nn_sandbox_options options = {
        .grants = &serving->grants,
        .readable = folders,
        .user = serving->options.user,
        .has_namespaces = serving->supervisor.has_namespaces,
        .namespaces_error = serving->supervisor.namespaces_error,
    };

    if (!folder || (libraries && !list))
        return fail(1, "out of memory");
    if (nn_grants_read(serving->path, serving->configuration, &serving->grants, &why) < 0)
        return fail(1, "%s", why.text);
    options.n_readable = list_folders(folder, list, folders, MAX_FOLDERS);
    if (!options.user)
        options.user = getpwnam("nnhal") ? "nnhal" : "nobody";
    nn_process_set_number(serving->supervisor.pid);
    nn_cpus_allowed(); /* reads what will not be there */
    return close_with(serving, &options);
}

/* The driver is open. */
static int tighten_sandbox(const struct serving *serving)
{
    const struct nn_sandbox_options options = {.grants = &serving->grants};
    int r = has_sandbox(serving) ? nn_sandbox_tighten(&options, &serving->report) : 0;

    return r < 0 ? fail(1, "the sandbox cannot be tightened: %s", strerror(-r)) : 0;
}

/* In the sandbox the file of the map cannot be opened. */
static void ask_for_tokens(struct serving *serving)
{
    struct nn_supervisor_request request = {.what = NN_SUPERVISOR_TOKENS};
    int fd = -1;

    if (!serving->is_split || !nn_host_name_tokens(serving->host, &request.tokens))
        return;
    nn_supervisor_ask(&serving->supervisor, &request, &fd); /* what fails is said there */
    nn_host_take_tokens(serving->host, fd);
}

/* -- all of it ------------------------------------------------------------------------------------ */

static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = on_termination};
    sigset_t set;

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int add_client(struct serving *serving, struct nn_service *service)
{
    struct nn_arrival arrival;
    int r = nn_arrival_init(&arrival, steal_fd(&serving->fd));

    arrival.client = serving->client;
    return nn_error_trace(r < 0 ? r : nn_service_add(service, &arrival));
}

static int service_serve(struct serving *serving, struct nn_service *service)
{
    int r = serving->is_listening ? nn_service_listen(service, steal_fd(&serving->fd))
                                  : add_client(serving, service);

    if (r == 0)
        r = nn_service_run(service);
    return r < 0 ? fail(1, "the service ended: %s", strerror(-r)) : 0;
}

/* Whether there is more than one client: a socket that was not passed comes from the supervisor, and
 * is one to listen at. */
static bool has_clients(const struct serving *serving)
{
    return serving->is_listening || !serving->has_socket;
}

static int serving_run(struct serving *serving)
{
    struct nn_service *service = NULL;
    int r;

    nn_host_limit_memory(serving->host, has_clients(serving), serving->whole_memory);
    r = nn_service_new(serving->host, &service);
    nn_overdue_enable();
    if (r < 0)
        return fail(1, "cannot serve: %s", strerror(-r));
    running = service;
    ask_for_tokens(serving);
    r = become_ready(serving);
    share_weights(serving);
    if (r == 0)
        r = tighten_sandbox(serving);
    if (r == 0)
        r = service_serve(serving, service);
    /* A driver that never returns does not keep the process. */
    signal(SIGALRM, on_alarm);
    alarm(END_TIMEOUT_S);
    running = NULL;
    nn_service_free(service);
    return r;
}

/* In the driver's process. */
static int serve_driver(struct serving *serving)
{
    int r;

    handle_signals();
    r = find_driver(serving);
    serving->whole_memory = nn_host_whole_memory(has_clients(serving));
    if (r == 0 && has_sandbox(serving))
        r = close_sandbox(serving);
    if (r == 0)
        r = open_driver(serving);
    if (r == 0)
        r = serving_run(serving);
    return r;
}

/* This process is the driver's; who started it is told so. */
static int stay_whole(struct serving *serving)
{
    _cleanup_(closep) int pidfd = -1;
    int r = 0;

    nn_log("service", NN_LOG_WARNING, "%s runs without a sandbox", serving->name);
    if (serving->options.report_fd >= 0) {
        pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        r = nn_child_report(serving->options.report_fd, pidfd);
        closep(&serving->options.report_fd);
        serving->options.report_fd = -1;
    }
    return r < 0 ? fail(1, "cannot report: %s", strerror(-r)) : serve_driver(serving);
}

static int split(struct serving *serving)
{
    bool has_client = !has_clients(serving);
    int r;

    serving->supervisor = (struct nn_supervisor){
        .answer = answer_request,
        .ended = remove_socket,
        .ctx = serving,
        .socket_fd = has_client ? serving->fd : -1,
        .listen_fd = has_client ? -1 : serving->fd,
        .client_fd = has_client ? serving->fd : -1,
        .report_fd = serving->options.report_fd,
        .relay = {.is_journal = nn_log_is_journal()},
    };
    r = nn_supervisor_split(&serving->supervisor);
    if (r < 0)
        return fail(1, "cannot start a process for the driver: %s", strerror(-r));
    serving->options.report_fd = -1; /* closed in both */
    if (r == 0) {
        serving->fd = -1; /* closed here */
        return nn_supervisor_watch(&serving->supervisor);
    }
    serving->is_split = true;
    if (!has_client) {
        serving->fd = serving->supervisor.door_fd;
        serving->is_listening = true;
    }
    return serve_driver(serving);
}

_public_ int nnhal_serve(const struct nnhal_serve_options *options)
{
    _cleanup_(serving_done) struct serving serving = {.fd = -1};
    int r;

    nn_log_set_default(NN_LOG_WARNING);
    r = take_options(options, &serving);
    /* A private child is a guest at the application's standard error. */
    nn_log_set_default(serving.options.fd > 0 ? -1 : NN_LOG_WARNING);
    signal(SIGPIPE, SIG_IGN); /* the log may have lost its reader */
    if (r == 0)
        r = take_socket(&serving);
    if (r != 0)
        return r;
    return has_sandbox(&serving) ? split(&serving) : stay_whole(&serving);
}
