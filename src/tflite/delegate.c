/* SPDX-License-Identifier: Apache-2.0 */
/* delegate.c - the library that TensorFlow Lite loads as an external delegate
 *
 * tflite_plugin_create_delegate() and tflite_plugin_destroy_delegate() are what TensorFlow Lite, its
 * tools and its Python package look for; include/nnhal/delegate.h says what a user can ask for.
 * Prepare() chooses nodes and compiles them; the kernels wait in the delegate until the interpreter
 * makes nodes for them, and belong to those nodes then. */
#include <nnhal/delegate.h>

#include "tflite/delegate-choice.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((__visibility__("default")))

enum { MAX_MEMORIES = 64 };

/* What was chosen for a context, for when it asks again. */
struct memory {
    const struct lite_context *context;
    struct tfl_choice choice; /* without partitions */
};

/* base is first: its address is the delegate's. Several interpreters may use one delegate. */
struct delegate {
    struct lite_delegate base;
    struct tfl_settings *settings;
    pthread_mutex_t lock;
    struct tfl_chosen *waiting;
    struct memory memories[MAX_MEMORIES]; /* the oldest is forgotten first */
    uint32_t next_memory;
};

static void delegate_add(struct delegate *delegate, struct tfl_chosen *partitions)
{
    pthread_mutex_lock(&delegate->lock);
    while (partitions) {
        struct tfl_chosen *next = partitions->next;

        partitions->next = delegate->waiting;
        delegate->waiting = partitions;
        partitions = next;
    }
    pthread_mutex_unlock(&delegate->lock);
}

/* Unlinks the first that waits for these nodes of the context; NULL nodes: for any. */
static struct tfl_chosen *delegate_take(struct delegate *delegate,
                                        const struct lite_context *context,
                                        const struct lite_ints *nodes)
{
    struct tfl_chosen **at, *found;

    pthread_mutex_lock(&delegate->lock);
    for (at = &delegate->waiting; *at; at = &(*at)->next)
        if ((*at)->context == context && (!nodes || tfl_ints_equal((*at)->nodes, nodes)))
            break;
    found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&delegate->lock);
    return found;
}

static void delegate_drop(struct delegate *delegate, const struct lite_context *context)
{
    struct tfl_chosen *chosen;

    while ((chosen = delegate_take(delegate, context, NULL)) != NULL)
        tfl_chosen_free(chosen);
}

/* Moves what is remembered of a context out; without nodes if nothing is. */
static struct tfl_choice delegate_recall(struct delegate *delegate,
                                         const struct lite_context *context)
{
    struct tfl_choice choice = {0};

    pthread_mutex_lock(&delegate->lock);
    for (int i = 0; i < MAX_MEMORIES; i++)
        if (delegate->memories[i].context == context) {
            choice = delegate->memories[i].choice;
            delegate->memories[i] = (struct memory){0};
        }
    pthread_mutex_unlock(&delegate->lock);
    return choice;
}

/* Takes over the choice's nodes. */
static void delegate_remember(struct delegate *delegate, const struct lite_context *context,
                              struct tfl_choice choice)
{
    struct memory *memory;

    pthread_mutex_lock(&delegate->lock);
    memory = &delegate->memories[delegate->next_memory++ % MAX_MEMORIES];
    free(memory->choice.nodes);
    *memory = (struct memory){context, {choice.hash, choice.nodes, NULL}};
    pthread_mutex_unlock(&delegate->lock);
}

/* -- the node that stands for several ----------------------------------------------------- */

static void *node_init(struct lite_context *context, const char *buffer, size_t length)
{
    const struct lite_delegate_params *params = (const void *)buffer;
    struct delegate *delegate = (struct delegate *)params->delegate;
    struct tfl_chosen *chosen = delegate_take(delegate, context, params->nodes_to_replace);
    struct tfl_kernel *kernel = chosen ? chosen->kernel : NULL;

    (void)length;
    if (chosen) {
        chosen->kernel = NULL;
        tfl_chosen_free(chosen);
    }
    return kernel;
}

static void node_free(struct lite_context *context, void *buffer)
{
    (void)context;
    tfl_kernel_free(buffer);
}

static int node_report(struct lite_context *context, int r, const struct tfl_message *message)
{
    if (!r)
        return LITE_OK;
    context->ReportError(context, "nnhal: %s", r == -ENOMEM ? "out of memory" : message->text);
    return LITE_ERROR;
}

static int node_prepare(struct lite_context *context, struct lite_node *node)
{
    struct tfl_message message = {"the interpreter made other partitions than it had announced"};
    int r = -EINVAL;

    if (node->user_data)
        r = tfl_kernel_prepare(node->user_data, context, &message);
    return node_report(context, r, &message);
}

static int node_invoke(struct lite_context *context, struct lite_node *node)
{
    struct tfl_message message;

    return node_report(context, tfl_kernel_invoke(node->user_data, context, &message), &message);
}

static const char *node_name(const struct lite_context *context, const struct lite_node *node)
{
    (void)context;
    (void)node;
    return "nnhal";
}

/* -- the delegate ------------------------------------------------------------------------- */

static int replace(struct lite_context *context, struct delegate *delegate,
                   const struct lite_ints *nodes)
{
    const struct lite_registration registration = {
        .init = node_init,
        .free = node_free,
        .prepare = node_prepare,
        .invoke = node_invoke,
        .profiling_string = node_name,
        .builtin_code = LITE_DELEGATE_CODE,
        .custom_name = "nnhal",
        .version = 1,
    };

    if (!nodes->size)
        return LITE_OK;
    return context->ReplaceNodeSubsetsWithDelegateKernels(context, registration, nodes,
                                                          &delegate->base);
}

static int delegate_prepare(struct lite_context *context, struct lite_delegate *base)
{
    struct delegate *delegate = (struct delegate *)base;
    struct tfl_choice before, choice = {0};
    int r, status;

    if (!delegate->settings->n_devices) {
        tfl_log(context, delegate->settings, "no device is there, TensorFlow Lite computes");
        return LITE_OK;
    }
    before = delegate_recall(delegate, context);
    r = tfl_choose(context, delegate->settings, before.nodes ? &before : NULL, &choice);
    free(before.nodes);
    if (r) {
        context->ReportError(context, "nnhal: %s; TensorFlow Lite computes",
                             r == -ENOMEM ? "out of memory" : "the subgraph cannot be read");
        return LITE_OK;
    }
    delegate_add(delegate, choice.partitions);
    status = replace(context, delegate, choice.nodes);
    delegate_drop(delegate, context);
    delegate_remember(delegate, context, choice);
    return status;
}

static struct delegate *delegate_new(struct tfl_settings *settings)
{
    struct delegate *delegate = calloc(1, sizeof(*delegate));

    if (!delegate)
        return NULL;
    delegate->base.data = delegate;
    delegate->base.Prepare = delegate_prepare;
    delegate->base.flags = LITE_ALLOW_DYNAMIC_TENSORS | LITE_REQUIRE_PROPAGATED_SHAPES;
    delegate->settings = settings;
    pthread_mutex_init(&delegate->lock, NULL);
    return delegate;
}

PUBLIC struct TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values,
                                                            size_t n_options,
                                                            void (*report_error)(const char *))
{
    struct tfl_settings *settings = NULL;
    struct delegate *delegate = NULL;
    struct tfl_message message;

    if (tfl_settings_new(keys, values, n_options, &settings, message.text, sizeof(message.text)) ==
        0)
        delegate = delegate_new(settings);
    if (delegate)
        return (struct TfLiteDelegate *)&delegate->base;
    tfl_settings_unref(settings);
    if (report_error)
        report_error(message.text);
    else
        fprintf(stderr, "nnhal: %s\n", message.text);
    return NULL;
}

PUBLIC void tflite_plugin_destroy_delegate(struct TfLiteDelegate *base)
{
    struct delegate *delegate = (struct delegate *)base;

    if (!delegate)
        return;
    while (delegate->waiting)
        delegate_drop(delegate, delegate->waiting->context);
    for (int i = 0; i < MAX_MEMORIES; i++)
        free(delegate->memories[i].choice.nodes);
    pthread_mutex_destroy(&delegate->lock);
    tfl_settings_unref(delegate->settings);
    free(delegate);
}
