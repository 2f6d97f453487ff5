/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/fake-lite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_LATER_CONTEXT_MEMBERS = 5, CUSTOM = 32 };

/* The registration of 2.9, which a host of that release takes by value. */
struct registration_2_9 {
    void *(*init)(struct lite_context *context, const char *buffer, size_t length);
    void (*free)(struct lite_context *context, void *buffer);
    int (*prepare)(struct lite_context *context, struct lite_node *node);
    int (*invoke)(struct lite_context *context, struct lite_node *node);
    const char *(*profiling_string)(const struct lite_context *context,
                                    const struct lite_node *node);
    int32_t builtin_code;
    const char *custom_name;
    int version;
};

_Static_assert(sizeof(struct registration_2_9) ==
                   offsetof(struct lite_registration, registration_external),
               "the first members");

static struct fake_lite *lite_of(const struct lite_context *context)
{
    return context->impl;
}

/* Zeroed bytes whose end is the end of what can be read. */
static void *at_page_end(struct fake_lite *lite, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n_whole = (n + page - 1) / page * page;
    uint8_t *bytes = mmap(NULL, n_whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                          -1, 0);

    if (bytes == MAP_FAILED || lite->n_pages == FAKE_MAX_PAGES ||
        mprotect(bytes + n_whole, page, PROT_NONE) < 0)
        abort();
    lite->pages[lite->n_pages] = bytes;
    lite->n_page_bytes[lite->n_pages++] = n_whole + page;
    return bytes + n_whole - n;
}

static struct lite_ints *new_ints(int n, const int *values)
{
    struct lite_ints *list = malloc(sizeof(*list) + (size_t)n * sizeof(int));

    list->size = n;
    if (n)
        memcpy(list->data, values, (size_t)n * sizeof(int));
    return list;
}

static bool holds(const struct lite_ints *list, int number)
{
    for (int i = 0; i < list->size; i++)
        if (list->data[i] == number)
            return true;
    return false;
}

/* -- the context's functions ------------------------------------------------------------ */

static int get_plan(struct lite_context *context, struct lite_ints **plan)
{
    *plan = lite_of(context)->plan;
    return LITE_OK;
}

static int get_node(struct lite_context *context, int node, struct lite_node **ret_node,
                    struct lite_registration **ret_registration)
{
    const struct fake_node *found = &lite_of(context)->nodes[node];

    *ret_node = found->node;
    *ret_registration = found->registration;
    return LITE_OK;
}

__attribute__((__format__(__printf__, 2, 3))) static void report(struct lite_context *context,
                                                                 const char *format, ...)
{
    struct fake_lite *lite = lite_of(context);
    size_t n = strlen(lite->log);
    va_list args;

    va_start(args, format);
    vsnprintf(lite->log + n, sizeof(lite->log) - n, format, args);
    va_end(args);
    n = strlen(lite->log);
    if (n + 1 < sizeof(lite->log))
        strcpy(lite->log + n, "\n");
}

static void free_partitions(struct fake_lite *lite)
{
    for (int i = 0; i < lite->n_partitions; i++) {
        free(lite->partitions[i].nodes_to_replace);
        free(lite->partitions[i].input_tensors);
        free(lite->partitions[i].output_tensors);
    }
    lite->n_partitions = 0;
}

static bool is_read_outside(const struct fake_lite *lite, const struct lite_ints *nodes, int tensor)
{
    if (tensor == lite->last_output)
        return true;
    for (int i = 0; i < lite->first_plan->size; i++) {
        int node = lite->first_plan->data[i];

        if (!holds(nodes, node) && holds(lite->nodes[node].node->inputs, tensor))
            return true;
    }
    return false;
}

/* The tensors of a partition as TensorFlow Lite lists them: constants and states are inputs, too. */
static void list_tensors(const struct fake_lite *lite, struct lite_delegate_params *partition)
{
    struct lite_ints *in = new_ints(0, NULL), *out = new_ints(0, NULL);
    const struct lite_ints *nodes = partition->nodes_to_replace;

    in = realloc(in, sizeof(*in) + FAKE_MAX_TENSORS * sizeof(int));
    out = realloc(out, sizeof(*out) + FAKE_MAX_TENSORS * sizeof(int));
    for (int tensor = 0; tensor < (int)lite->context->tensors_size; tensor++) {
        bool is_made = false, is_read = false;

        for (int i = 0; i < nodes->size; i++) {
            is_made = is_made || holds(lite->nodes[nodes->data[i]].node->outputs, tensor);
            is_read = is_read || holds(lite->nodes[nodes->data[i]].node->inputs, tensor);
        }
        if (is_read && !is_made)
            in->data[in->size++] = tensor;
        if (is_made && is_read_outside(lite, nodes, tensor))
            out->data[out->size++] = tensor;
    }
    partition->input_tensors = in;
    partition->output_tensors = out;
}

static void make_partitions(struct fake_lite *lite, const struct lite_ints *nodes,
                            struct lite_delegate *delegate)
{
    int run[FAKE_MAX_NODES], n = 0;

    free_partitions(lite);
    for (int i = 0; i <= lite->plan->size; i++) {
        if (i < lite->plan->size && holds(nodes, lite->plan->data[i])) {
            run[n++] = lite->plan->data[i];
            continue;
        }
        if (n) {
            struct lite_delegate_params *partition = &lite->partitions[lite->n_partitions++];

            *partition = (struct lite_delegate_params){.delegate = delegate,
                                                       .nodes_to_replace = new_ints(n, run)};
            list_tensors(lite, partition);
        }
        n = 0;
    }
}

static int preview(struct lite_context *context, const struct lite_ints *nodes,
                   struct lite_delegate_params **ret, int *ret_n)
{
    struct fake_lite *lite = lite_of(context);

    make_partitions(lite, nodes, NULL);
    *ret = lite->partitions;
    *ret_n = lite->n_partitions;
    return LITE_OK;
}

/* A node of the delegate's in place of a partition's nodes. */
static void add_delegate_node(struct fake_lite *lite, const struct lite_registration *registration,
                              const struct lite_delegate_params *partition)
{
    struct fake_node *added = &lite->nodes[lite->n_nodes++];

    added->node = at_page_end(lite, sizeof(*added->node));
    added->registration = at_page_end(lite, sizeof(*added->registration));
    *added->registration = *registration;
    added->node->inputs = new_ints(partition->input_tensors->size, partition->input_tensors->data);
    added->node->outputs = new_ints(partition->output_tensors->size,
                                    partition->output_tensors->data);
    added->node->delegate = partition->delegate;
    added->node->user_data = registration->init(lite->context, (const char *)partition, 0);
}

static int replace(struct lite_context *context, struct lite_registration registration,
                   const struct lite_ints *nodes, struct lite_delegate *delegate)
{
    struct fake_lite *lite = lite_of(context);
    struct lite_ints *plan;
    int list[FAKE_MAX_NODES], n = 0, next = 0;

    make_partitions(lite, nodes, delegate);
    for (int i = 0; i < lite->plan->size; i++) {
        if (!holds(nodes, lite->plan->data[i])) {
            list[n++] = lite->plan->data[i];
        } else if (next < lite->n_partitions &&
                   lite->partitions[next].nodes_to_replace->data[0] == lite->plan->data[i]) {
            list[n++] = lite->n_nodes;
            add_delegate_node(lite, &registration, &lite->partitions[next++]);
        }
    }
    plan = new_ints(n, list);
    if (lite->plan != lite->first_plan)
        free(lite->plan);
    lite->plan = plan;
    return LITE_OK;
}

/* As a host of 2.9 was compiled: the registration it takes is shorter. */
static int replace_2_9(struct lite_context *context, struct registration_2_9 registration,
                       const struct lite_ints *nodes, struct lite_delegate *delegate)
{
    struct lite_registration whole = {0};

    memcpy(&whole, &registration, sizeof(registration));
    return replace(context, whole, nodes, delegate);
}

/* -- the host --------------------------------------------------------------------------- */

void fake_lite_init(struct fake_lite *lite, enum fake_release release)
{
    size_t n_later = release == FAKE_2_9 ? 0 : N_LATER_CONTEXT_MEMBERS * sizeof(void *);
    struct lite_context *context;

    memset(lite, 0, sizeof(*lite));
    lite->release = release;
    context = at_page_end(lite, sizeof(*context) + n_later);
    lite->context = context;
    context->tensors = at_page_end(lite, FAKE_MAX_TENSORS * sizeof(*context->tensors));
    context->impl = lite;
    context->GetExecutionPlan = get_plan;
    context->GetNodeAndRegistration = get_node;
    context->ReportError = report;
    context->PreviewDelegatePartitioning = preview;
    if (release == FAKE_2_9)
        context->ReplaceNodeSubsetsWithDelegateKernels =
            (int (*)(struct lite_context *, struct lite_registration, const struct lite_ints *,
                     struct lite_delegate *))(void *)replace_2_9;
    else
        context->ReplaceNodeSubsetsWithDelegateKernels = replace;
    lite->first_plan = lite->plan = new_ints(0, NULL);
}

void fake_lite_undo(struct fake_lite *lite)
{
    for (int i = lite->n_nodes; i-- > lite->first_plan->size; lite->n_nodes--) {
        struct lite_node *node = lite->nodes[i].node;

        lite->nodes[i].registration->free(lite->context, node->user_data);
        free(node->inputs);
        free(node->outputs);
    }
    if (lite->plan != lite->first_plan)
        free(lite->plan);
    lite->plan = lite->first_plan;
}

void fake_lite_done(struct fake_lite *lite)
{
    fake_lite_undo(lite);
    free_partitions(lite);
    for (int i = 0; i < lite->n_nodes; i++) {
        free(lite->nodes[i].node->inputs);
        free(lite->nodes[i].node->outputs);
    }
    for (size_t i = 0; i < lite->context->tensors_size; i++) {
        free(lite->context->tensors[i].dims);
        if (lite->context->tensors[i].allocation_type != LITE_MMAP_RO)
            free(lite->context->tensors[i].data);
    }
    free(lite->first_plan);
    for (int i = 0; i < lite->n_pages; i++)
        munmap(lite->pages[i], lite->n_page_bytes[i]);
}

void fake_lite_reshape(struct fake_lite *lite, int number, int n_dims, const int *dims)
{
    struct lite_tensor *tensor = &lite->context->tensors[number];

    free(tensor->dims);
    tensor->dims = new_ints(n_dims, dims);
    tensor->bytes = sizeof(float);
    for (int i = 0; i < n_dims; i++)
        tensor->bytes *= (size_t)dims[i];
}

int fake_lite_tensor(struct fake_lite *lite, int n_dims, const int *dims, const float *values)
{
    int number = (int)lite->context->tensors_size++;
    struct lite_tensor *tensor = &lite->context->tensors[number];

    tensor->type = LITE_FLOAT32;
    tensor->name = "tensor";
    tensor->buffer_handle = -1;
    fake_lite_reshape(lite, number, n_dims, dims);
    if (values) {
        tensor->allocation_type = LITE_MMAP_RO;
        tensor->data = (void *)(uintptr_t)values;
    } else {
        tensor->allocation_type = 2; /* in the arena */
    }
    return number;
}

static struct lite_ints *new_list(const int *until_minus_2)
{
    int n = 0;

    while (until_minus_2[n] != -2)
        n++;
    return new_ints(n, until_minus_2);
}

void fake_lite_node(struct fake_lite *lite, int code, int version, const char *custom_name,
                    const void *params, size_t n_params, const int *inputs, const int *outputs)
{
    struct fake_node *added = &lite->nodes[lite->n_nodes];
    size_t n_registration = lite->release == FAKE_2_9 ? sizeof(struct registration_2_9)
                                                      : sizeof(struct lite_registration);

    added->node = at_page_end(lite, sizeof(*added->node));
    added->registration = at_page_end(lite, n_registration);
    added->registration->builtin_code = code;
    added->registration->version = version;
    added->registration->custom_name = custom_name;
    added->node->inputs = new_list(inputs);
    added->node->outputs = new_list(outputs);
    if (n_params) {
        added->node->builtin_data = at_page_end(lite, n_params);
        memcpy(added->node->builtin_data, params, n_params);
    }
    lite->last_output = outputs[0];
    lite->plan = realloc(lite->plan,
                         sizeof(*lite->plan) + (size_t)(lite->n_nodes + 1) * sizeof(int));
    lite->plan->data[lite->n_nodes] = lite->n_nodes;
    lite->plan->size = ++lite->n_nodes;
    lite->first_plan = lite->plan;
}

int fake_lite_apply(struct fake_lite *lite, struct lite_delegate *delegate)
{
    return delegate->Prepare(lite->context, delegate);
}

int fake_lite_allocate(struct fake_lite *lite)
{
    for (size_t i = 0; i < lite->context->tensors_size; i++) {
        struct lite_tensor *tensor = &lite->context->tensors[i];
        void *old = tensor->data;

        if (tensor->allocation_type == LITE_MMAP_RO)
            continue;
        tensor->data = calloc(1, tensor->bytes + 1);
        free(old);
    }
    for (int i = 0; i < lite->plan->size; i++) {
        const struct fake_node *at = &lite->nodes[lite->plan->data[i]];

        if (at->node->delegate && at->registration->prepare(lite->context, at->node) != LITE_OK)
            return LITE_ERROR;
    }
    return LITE_OK;
}

int fake_lite_invoke(struct fake_lite *lite)
{
    for (int i = 0; i < lite->plan->size; i++) {
        const struct fake_node *at = &lite->nodes[lite->plan->data[i]];

        if (at->node->delegate) {
            if (at->registration->invoke(lite->context, at->node) != LITE_OK)
                return LITE_ERROR;
        } else if (at->registration->builtin_code == CUSTOM) {
            struct lite_tensor *to = &lite->context->tensors[at->node->outputs->data[0]];

            memcpy(to->data, fake_lite_data(lite, at->node->inputs->data[0]), to->bytes);
        } else {
            return LITE_ERROR;
        }
    }
    return LITE_OK;
}

float *fake_lite_data(struct fake_lite *lite, int tensor)
{
    return lite->context->tensors[tensor].data;
}

int fake_lite_n_delegated(const struct fake_lite *lite, int *ret_n_nodes)
{
    int n = lite->n_nodes - lite->first_plan->size;

    *ret_n_nodes = lite->first_plan->size - (lite->plan->size - n);
    return n;
}
