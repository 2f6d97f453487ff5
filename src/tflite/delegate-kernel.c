/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-kernel.h"

#include "tflite/delegate-file.h"
#include "tflite/delegate-token.h"
#include "tflite/map.h"

#include <nnhal/ext.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfl_kernel {
    struct tfl_settings *settings;
    struct tfl_view view;
    struct tfl_state *states;
    uint32_t n_states;
    ANeuralNetworksCompilation *compilation; /* NULL: nothing to compute, or it failed */
    bool is_stale;                           /* not compiled for the shapes that the tensors have */
    ANeuralNetworksExecution *execution;     /* NULL: none for the present places */
    void **places; /* of inputs, states, outputs, as the execution knows them */
    void **next;   /* by state: what it becomes */
};

static int kernel_fail(struct tfl_message *message, int code, const char *what, const char *reason)
{
    snprintf(message->text, sizeof(message->text), "%s: %s (%s)", what, reason,
             nnhal_get_result_name(code));
    return code == ANEURALNETWORKS_OUT_OF_MEMORY ? -ENOMEM : -ENOTSUP;
}

/* -- building and compiling ----------------------------------------------------------- */

static int set_up_compilation(const struct tfl_kernel *kernel,
                              ANeuralNetworksCompilation *compilation)
{
    const struct tfl_settings *settings = kernel->settings;
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
    int code = ANeuralNetworksCompilation_setPreference(compilation, settings->preference);

    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksCompilation_setPriority(compilation, settings->priority);
    if (code == ANEURALNETWORKS_NO_ERROR && settings->cache_dir) {
        tfl_token_make(settings, &kernel->view.graph, token);
        code = ANeuralNetworksCompilation_setCaching(compilation, settings->cache_dir, token);
    }
    return code;
}

static int compile(struct tfl_kernel *kernel, ANeuralNetworksModel *model,
                   struct tfl_message *message)
{
    const struct tfl_settings *settings = kernel->settings;
    ANeuralNetworksCompilation *compilation = NULL;
    char reason[256] = "";
    int code = ANeuralNetworksCompilation_createForDevices(
        model, (const ANeuralNetworksDevice *const *)settings->devices, settings->n_devices,
        &compilation);

    if (code == ANEURALNETWORKS_NO_ERROR)
        code = set_up_compilation(kernel, compilation);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksCompilation_finish(compilation);
    if (code == ANEURALNETWORKS_NO_ERROR) {
        kernel->compilation = compilation;
        return 0;
    }
    nnhal_get_last_error(reason, sizeof(reason));
    ANeuralNetworksCompilation_free(compilation);
    return kernel_fail(message, code, "it cannot be compiled", reason);
}

static void free_next(struct tfl_kernel *kernel)
{
    for (uint32_t i = 0; kernel->next && i < kernel->n_states; i++)
        free(kernel->next[i]);
    free(kernel->next);
    kernel->next = NULL;
}

/* Takes over the states that the builder found. */
static int take_states(struct tfl_kernel *kernel, struct tfl_builder *b)
{
    const struct tfl_graph *graph = &kernel->view.graph;

    free_next(kernel);
    free(kernel->places);
    free(kernel->states);
    kernel->states = b->states;
    kernel->n_states = b->n_states;
    b->states = NULL;
    b->n_states = 0;
    kernel->places = calloc((size_t)graph->n_inputs + graph->n_outputs + kernel->n_states + 1,
                            sizeof(*kernel->places));
    kernel->next = calloc(kernel->n_states + 1u, sizeof(*kernel->next));
    return kernel->places && kernel->next ? 0 : -ENOMEM;
}

static bool computes_anything(const struct tfl_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_operators; i++)
        if (!tfl_is_folded(graph, &graph->operators[i]))
            return true;
    return false;
}

static int build(struct tfl_kernel *kernel, struct tfl_message *message)
{
    struct tfl_builder b = {
        .graph = &kernel->view.graph,
        .keeps_states = true,
        .allows_fp16 = kernel->settings->allows_fp16,
        .message = message->text,
        .message_size = sizeof(message->text),
    };
    int r;

    if (!computes_anything(b.graph))
        return 0;
    b.constants = tfl_file_place_constants(b.graph);
    tfl_build(&b);
    r = b.result;
    if (!r)
        r = take_states(kernel, &b);
    if (!r)
        r = compile(kernel, b.model, message);
    ANeuralNetworksMemory_free(b.constants);
    tfl_done(&b);
    return r;
}

int tfl_kernel_new(struct tfl_settings *settings, struct tfl_view *part, bool is_late,
                   struct tfl_kernel **ret_kernel, struct tfl_message *message)
{
    struct tfl_kernel *kernel = calloc(1, sizeof(*kernel));
    int r;

    snprintf(message->text, sizeof(message->text), "out of memory");
    if (!kernel) {
        tfl_view_done(part);
        return -ENOMEM;
    }
    kernel->settings = tfl_settings_ref(settings);
    kernel->view = *part;
    *part = (struct tfl_view){0};
    r = tfl_view_own(&kernel->view);
    kernel->is_stale = is_late;
    if (!r && !is_late)
        r = build(kernel, message);
    if (r)
        tfl_kernel_free(kernel);
    else
        *ret_kernel = kernel;
    return r;
}

static void drop_execution(struct tfl_kernel *kernel)
{
    ANeuralNetworksExecution_free(kernel->execution);
    kernel->execution = NULL;
}

static void drop_compilation(struct tfl_kernel *kernel)
{
    drop_execution(kernel);
    ANeuralNetworksCompilation_free(kernel->compilation);
    kernel->compilation = NULL;
}

void tfl_kernel_free(struct tfl_kernel *kernel)
{
    if (!kernel)
        return;
    drop_compilation(kernel);
    free_next(kernel);
    free(kernel->places);
    free(kernel->states);
    tfl_view_done(&kernel->view);
    tfl_settings_unref(kernel->settings);
    free(kernel);
}

void tfl_kernel_get_cache(const struct tfl_kernel *kernel, struct tfl_message *message)
{
    static const char *const words[] = {
        [NNHAL_CACHE_NONE] = "",
        [NNHAL_CACHE_HIT] = "taken from the cache",
        [NNHAL_CACHE_COMPILED] = "compiled, and kept in the cache",
        [NNHAL_CACHE_UNCACHED] = "compiled, and not kept in the cache: ",
    };
    struct nnhal_cache_info info = {.size = sizeof(info)};

    message->text[0] = '\0';
    if (kernel->compilation &&
        nnhal_compilation_get_cache_info(kernel->compilation, &info) == ANEURALNETWORKS_NO_ERROR &&
        info.outcome < sizeof(words) / sizeof(words[0]))
        snprintf(message->text, sizeof(message->text), "%s%s", words[info.outcome],
                 info.outcome == NNHAL_CACHE_UNCACHED ? info.why : "");
}

int tfl_kernel_prepare(struct tfl_kernel *kernel, struct lite_context *context,
                       struct tfl_message *message)
{
    bool is_same;
    int r;

    r = tfl_view_update(context, &kernel->view, &is_same);
    if (r)
        snprintf(message->text, sizeof(message->text), "%s",
                 r == -ENOMEM ? "out of memory" : "a tensor that cannot be read");
    if (r || (is_same && !kernel->is_stale))
        return r;
    drop_compilation(kernel);
    r = build(kernel, message);
    kernel->is_stale = r != 0;
    return r;
}

/* -- computing ------------------------------------------------------------------------ */

/* The tensors of inputs and states, then those of outputs. */
static uint32_t n_bound(const struct tfl_kernel *kernel)
{
    return kernel->view.graph.n_inputs + kernel->n_states + kernel->view.graph.n_outputs;
}

static int32_t bound_tensor(const struct tfl_kernel *kernel, uint32_t i)
{
    const struct tfl_graph *graph = &kernel->view.graph;

    if (i < graph->n_inputs)
        return graph->inputs[i];
    i -= graph->n_inputs;
    return i < kernel->n_states ? kernel->states[i].tensor : graph->outputs[i - kernel->n_states];
}

static bool is_bound(const struct tfl_kernel *kernel, const struct lite_context *context)
{
    if (!kernel->execution)
        return false;
    for (uint32_t i = 0; i < n_bound(kernel); i++)
        if (kernel->places[i] != context->tensors[bound_tensor(kernel, i)].data)
            return false;
    return true;
}

static int bind_states(struct tfl_kernel *kernel, const struct lite_context *context)
{
    int code = ANEURALNETWORKS_NO_ERROR;

    for (uint32_t i = 0; i < kernel->n_states && code == ANEURALNETWORKS_NO_ERROR; i++) {
        size_t n_bytes = context->tensors[kernel->states[i].tensor].bytes;
        int32_t index = (int32_t)(kernel->view.graph.n_outputs + i);

        free(kernel->next[i]);
        kernel->next[i] = malloc(n_bytes ? n_bytes : 1);
        if (!kernel->next[i])
            return ANEURALNETWORKS_OUT_OF_MEMORY;
        code = ANeuralNetworksExecution_setOutput(kernel->execution, index, NULL, kernel->next[i],
                                                  n_bytes);
    }
    return code;
}

static int bind_places(struct tfl_kernel *kernel, const struct lite_context *context)
{
    uint32_t n_inputs = kernel->view.graph.n_inputs + kernel->n_states;
    int code = ANEURALNETWORKS_NO_ERROR;

    for (uint32_t i = 0; i < n_bound(kernel) && code == ANEURALNETWORKS_NO_ERROR; i++) {
        const struct lite_tensor *tensor = &context->tensors[bound_tensor(kernel, i)];

        kernel->places[i] = tensor->data;
        if (i < n_inputs)
            code = ANeuralNetworksExecution_setInput(kernel->execution, (int32_t)i, NULL,
                                                     tensor->data, tensor->bytes);
        else
            code = ANeuralNetworksExecution_setOutput(kernel->execution, (int32_t)(i - n_inputs),
                                                      NULL, tensor->data, tensor->bytes);
    }
    return code == ANEURALNETWORKS_NO_ERROR ? bind_states(kernel, context) : code;
}

static int compute(struct tfl_kernel *kernel, const struct lite_context *context)
{
    int code = ANEURALNETWORKS_NO_ERROR;

    if (!is_bound(kernel, context)) {
        drop_execution(kernel);
        code = ANeuralNetworksExecution_create(kernel->compilation, &kernel->execution);
        if (code == ANEURALNETWORKS_NO_ERROR)
            code = ANeuralNetworksExecution_setReusable(kernel->execution, true);
        if (code == ANEURALNETWORKS_NO_ERROR)
            code = bind_places(kernel, context);
    }
    return code == ANEURALNETWORKS_NO_ERROR ? ANeuralNetworksExecution_compute(kernel->execution)
                                            : code;
}

static void write_states(const struct tfl_kernel *kernel, const struct lite_context *context)
{
    for (uint32_t i = 0; i < kernel->n_states; i++) {
        const struct lite_tensor *tensor = &context->tensors[kernel->states[i].tensor];

        memcpy(tensor->data, kernel->next[i], tensor->bytes);
    }
}

int tfl_kernel_invoke(struct tfl_kernel *kernel, struct lite_context *context,
                      struct tfl_message *message)
{
    char reason[256] = "";
    int code;

    if (!kernel->compilation)
        return 0;
    code = compute(kernel, context);
    if (code != ANEURALNETWORKS_NO_ERROR) {
        drop_execution(kernel);
        code = compute(kernel, context);
    }
    if (code == ANEURALNETWORKS_NO_ERROR) {
        write_states(kernel, context);
        return 0;
    }
    nnhal_get_last_error(reason, sizeof(reason));
    drop_execution(kernel);
    return kernel_fail(message, code, "it cannot be computed", reason) == -ENOMEM ? -ENOMEM : -EIO;
}
