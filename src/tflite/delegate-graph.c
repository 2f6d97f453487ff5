/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-graph.h"

#include "tflite/map.h"
#include "tflite/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NO_TYPE = -1 }; /* of a tensor that no operation can have */

/* -- tensors ------------------------------------------------------------------------ */

static const struct {
    int32_t lite, type;
    size_t n_bytes;
} types[] = {
    {LITE_FLOAT32, TFL_FLOAT32, 4},     {LITE_FLOAT16, TFL_FLOAT16, 2},
    {LITE_INT32, TFL_INT32, 4},         {LITE_UINT8, TFL_UINT8, 1},
    {LITE_INT64, TFL_INT64, 8},         {LITE_BOOL, TFL_BOOL, 1},
    {LITE_INT16, TFL_INT16, 2},         {LITE_INT8, TFL_INT8, 1},
    {LITE_COMPLEX64, TFL_COMPLEX64, 8},
};

/* Sets the type. Returns the bytes of an element; 0: not a type that a mapping knows. */
static size_t read_type(const struct lite_tensor *from, struct tfl_tensor *to)
{
    to->type = NO_TYPE;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].lite == from->type) {
            to->type = types[i].type;
            return types[i].n_bytes;
        }
    return 0;
}

static bool read_shape(const struct lite_tensor *from, struct tfl_tensor *to)
{
    const struct lite_ints *dims = from->dims;

    if (!dims)
        return true; /* a scalar, or a shape that is not known yet */
    if (dims->size < 0 || dims->size > TFL_MAX_RANK)
        return false;
    to->n_dimensions = (uint32_t)dims->size;
    for (int i = 0; i < dims->size; i++) {
        if (dims->data[i] < 0)
            return false;
        to->dimensions[i] = (uint32_t)dims->data[i];
    }
    return true;
}

/* One scale has a zero point; several belong to the parts along a dimension. */
static bool read_quantization(const struct lite_tensor *from, struct tfl_tensor *to)
{
    const struct lite_affine *affine = from->quantization.params;

    if (from->quantization.type != LITE_QUANTIZATION_AFFINE || !affine || !affine->scale ||
        affine->scale->size < 1) {
        to->n_scales = from->params.scale > 0;
        to->scales = &from->params.scale;
        to->scale = from->params.scale;
        to->zero_point = from->params.zero_point;
        return true;
    }
    to->n_scales = (uint32_t)affine->scale->size;
    to->scales = affine->scale->data;
    if (affine->quantized_dimension >= 0 &&
        (uint32_t)affine->quantized_dimension < to->n_dimensions)
        to->quantized_dimension = (uint32_t)affine->quantized_dimension;
    if (to->n_scales == 1) {
        to->scale = to->scales[0];
        if (affine->zero_point && affine->zero_point->size > 0)
            to->zero_point = affine->zero_point->data[0];
        return true;
    }
    for (int i = 0; affine->zero_point && i < affine->zero_point->size; i++)
        if (affine->zero_point->data[i])
            to->zero_point = 1;
    return to->n_dimensions && to->dimensions[to->quantized_dimension] == to->n_scales;
}

/* A constant is as large as its shape says, or it is none that can be read. */
static bool read_data(const struct lite_tensor *from, struct tfl_tensor *to, size_t n_bytes)
{
    to->file_offset = TFL_NO_OFFSET;
    if (from->allocation_type != LITE_MMAP_RO || !from->data)
        return true;
    for (uint32_t i = 0; i < to->n_dimensions; i++)
        if (__builtin_mul_overflow(n_bytes, (size_t)to->dimensions[i], &n_bytes))
            return false;
    to->data = from->data;
    to->n_bytes = from->bytes;
    return to->is_sparse || n_bytes == from->bytes;
}

static void read_tensor(const struct lite_tensor *from, struct tfl_tensor *to)
{
    size_t n_bytes = read_type(from, to);

    to->name = from->name ? from->name : "";
    to->is_variable = from->is_variable;
    to->is_sparse = from->sparsity != NULL;
    if (!read_shape(from, to) || !read_quantization(from, to) ||
        (n_bytes && !read_data(from, to, n_bytes)))
        to->type = NO_TYPE;
}

static struct tfl_tensor *read_tensors(const struct lite_context *context, uint32_t n)
{
    struct tfl_tensor *tensors = calloc(n ? n : 1, sizeof(*tensors));

    for (uint32_t i = 0; tensors && i < n; i++)
        read_tensor(&context->tensors[i], &tensors[i]);
    return tensors;
}

/* -- nodes -------------------------------------------------------------------------- */

static size_t length_of(const struct lite_ints *list)
{
    return list && list->size > 0 ? (size_t)list->size : 0;
}

static size_t numbers_of(const struct lite_node *node)
{
    return length_of(node->inputs) + length_of(node->outputs) + length_of(node->intermediates);
}

/* Copies a list behind those that are there. Returns false if a number in it is no tensor's. */
static bool copy_list(struct tfl_view *view, const struct lite_ints *from, const int32_t **ret_list,
                      uint32_t *ret_n)
{
    size_t n = length_of(from);

    *ret_list = view->lists + view->n_lists;
    *ret_n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        if (from->data[i] < -1 || from->data[i] >= (int64_t)view->graph.n_tensors)
            return false;
        view->lists[view->n_lists++] = from->data[i];
    }
    return true;
}

static bool read_node(struct tfl_view *view, const struct lite_node *node,
                      const struct lite_registration *registration, struct tfl_operator *op)
{
    op->code = registration->builtin_code;
    op->name = registration->custom_name ? registration->custom_name : tfl_code_name(op->code);
    if (node->custom_initial_data && node->custom_initial_data_size > 0) {
        op->custom_options = node->custom_initial_data;
        op->n_custom_options = (size_t)node->custom_initial_data_size;
    }
    tfl_params_read(op, node->builtin_data, registration->version);
    return copy_list(view, node->inputs, &op->inputs, &op->n_inputs) &&
           copy_list(view, node->outputs, &op->outputs, &op->n_outputs) &&
           copy_list(view, node->intermediates, &op->intermediates, &op->n_intermediates);
}

static int get_node(struct lite_context *context, int number, struct lite_node **ret_node,
                    struct lite_registration **ret_registration)
{
    *ret_node = NULL;
    *ret_registration = NULL;
    if (context->GetNodeAndRegistration(context, number, ret_node, ret_registration) != LITE_OK ||
        !*ret_node || !*ret_registration)
        return -EINVAL;
    return 0;
}

static int read_nodes(struct lite_context *context, const int *nodes, uint32_t n,
                      struct tfl_view *view)
{
    struct lite_registration *registration;
    struct lite_node *node;
    size_t n_numbers = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (get_node(context, nodes[i], &node, &registration) < 0)
            return -EINVAL;
        n_numbers += numbers_of(node);
    }
    view->lists = calloc(n_numbers + 1, sizeof(*view->lists));
    view->graph.operators = calloc(n + 1u, sizeof(*view->graph.operators));
    if (!view->lists || !view->graph.operators)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        struct tfl_operator *op = &view->graph.operators[i];

        op->number = (uint32_t)nodes[i];
        if (get_node(context, nodes[i], &node, &registration) < 0 ||
            !read_node(view, node, registration, op))
            return -EINVAL;
    }
    view->graph.n_operators = n;
    return 0;
}

static int find_makers(struct tfl_view *view)
{
    const struct tfl_graph *graph = &view->graph;

    view->makers = malloc((graph->n_tensors + 1u) * sizeof(*view->makers));
    if (!view->makers)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->n_tensors; i++)
        view->makers[i] = -1;
    for (uint32_t i = 0; i < graph->n_operators; i++)
        for (uint32_t k = 0; k < graph->operators[i].n_outputs; k++)
            if (graph->operators[i].outputs[k] >= 0)
                view->makers[graph->operators[i].outputs[k]] = (int32_t)i;
    return 0;
}

int tfl_view_read(struct lite_context *context, const int *nodes, uint32_t n,
                  struct tfl_view *ret_view)
{
    struct tfl_view view = {.graph.n_tensors = (uint32_t)context->tensors_size};
    int r;

    view.graph.tensors = read_tensors(context, view.graph.n_tensors);
    r = view.graph.tensors ? read_nodes(context, nodes, n, &view) : -ENOMEM;
    if (!r)
        r = find_makers(&view);
    if (r)
        tfl_view_done(&view);
    else
        *ret_view = view;
    return r;
}

/* -- parts -------------------------------------------------------------------------- */

/* What a tensor is to a part that is being made. */
enum { IS_MADE = 1, IS_READ = 2, IS_LISTED = 4 };

struct part {
    const struct tfl_view *whole;
    struct tfl_view *view;
    uint8_t *marks; /* by tensor */
};

static size_t numbers_in(const struct tfl_operator *op)
{
    return (size_t)op->n_inputs + op->n_outputs + op->n_intermediates;
}

/* The operator that makes a constant of a constant and puts this tensor out; NULL: none. */
static const struct tfl_operator *folded_maker(const struct tfl_view *whole, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : whole->makers[tensor];

    if (maker < 0 || !tfl_is_folded(&whole->graph, &whole->graph.operators[maker]))
        return NULL;
    return &whole->graph.operators[maker];
}

static void part_copy_list(struct part *part, const int32_t **list, uint32_t n)
{
    int32_t *copy = part->view->lists + part->view->n_lists;

    if (n)
        memcpy(copy, *list, n * sizeof(*copy));
    part->view->n_lists += n;
    *list = copy;
}

static void part_add(struct part *part, const struct tfl_operator *op)
{
    struct tfl_graph *graph = &part->view->graph;
    struct tfl_operator *copy = &graph->operators[graph->n_operators++];

    *copy = *op;
    part_copy_list(part, &copy->inputs, op->n_inputs);
    part_copy_list(part, &copy->outputs, op->n_outputs);
    part_copy_list(part, &copy->intermediates, op->n_intermediates);
    for (uint32_t i = 0; i < op->n_inputs; i++)
        if (op->inputs[i] >= 0)
            part->marks[op->inputs[i]] |= IS_READ;
    for (uint32_t i = 0; i < op->n_outputs; i++)
        if (op->outputs[i] >= 0)
            part->marks[op->outputs[i]] |= IS_MADE;
}

static void part_add_folded(struct part *part, const struct tfl_operator *op)
{
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        const struct tfl_operator *maker = folded_maker(part->whole, op->inputs[i]);

        if (maker && !(part->marks[op->inputs[i]] & IS_MADE))
            part_add(part, maker);
    }
}

/* Adds a tensor to the list that ends at n_lists, once. */
static void part_list(struct part *part, int32_t tensor, uint32_t *n)
{
    if (tensor < 0 || part->marks[tensor] & IS_LISTED)
        return;
    part->marks[tensor] |= IS_LISTED;
    part->view->lists[part->view->n_lists++] = tensor;
    ++*n;
}

static void part_find_inputs(struct part *part)
{
    struct tfl_graph *graph = &part->view->graph;

    graph->inputs = part->view->lists + part->view->n_lists;
    for (uint32_t i = 0; i < graph->n_operators; i++)
        for (uint32_t k = 0; k < graph->operators[i].n_inputs; k++) {
            int32_t tensor = graph->operators[i].inputs[k];

            if (tensor >= 0 && !graph->tensors[tensor].data &&
                !graph->tensors[tensor].is_variable && !(part->marks[tensor] & IS_MADE))
                part_list(part, tensor, &graph->n_inputs);
        }
}

static void part_find_outputs(struct part *part, const struct lite_ints *outputs)
{
    struct tfl_graph *graph = &part->view->graph;

    graph->outputs = part->view->lists + part->view->n_lists;
    for (size_t i = 0; i < length_of(outputs); i++)
        if (!folded_maker(part->whole, outputs->data[i]))
            part_list(part, outputs->data[i], &graph->n_outputs);
    for (uint32_t i = 0; !outputs && i < graph->n_operators; i++)
        for (uint32_t k = 0; k < graph->operators[i].n_outputs; k++) {
            int32_t tensor = graph->operators[i].outputs[k];

            if (tensor >= 0 && !(part->marks[tensor] & IS_READ) &&
                !folded_maker(part->whole, tensor))
                part_list(part, tensor, &graph->n_outputs);
        }
}

/* Room for n operators, as many folded ones as they have inputs, and all their lists twice. */
static int part_allocate(struct part *part, const uint32_t *operators, uint32_t n,
                         const struct lite_ints *outputs)
{
    size_t n_numbers = length_of(outputs), n_operators = n;

    for (uint32_t i = 0; i < n; i++) {
        const struct tfl_operator *op = &part->whole->graph.operators[operators[i]];

        n_numbers += 2 * numbers_in(op);
        for (uint32_t k = 0; k < op->n_inputs; k++) {
            const struct tfl_operator *maker = folded_maker(part->whole, op->inputs[k]);

            n_operators += maker != NULL;
            n_numbers += maker ? 2 * numbers_in(maker) : 0;
        }
    }
    part->view->lists = calloc(n_numbers + 1, sizeof(*part->view->lists));
    part->view->graph.operators = calloc(n_operators + 1, sizeof(struct tfl_operator));
    part->marks = calloc(part->whole->graph.n_tensors + 1u, 1);
    return part->view->lists && part->view->graph.operators && part->marks ? 0 : -ENOMEM;
}

int tfl_view_part(const struct tfl_view *whole, const uint32_t *operators, uint32_t n,
                  const struct lite_ints *outputs, struct tfl_view *ret_part)
{
    struct tfl_view view = {.borrows_tensors = true};
    struct part part = {whole, &view, NULL};
    int r;

    view.graph.tensors = whole->graph.tensors;
    view.graph.n_tensors = whole->graph.n_tensors;
    r = part_allocate(&part, operators, n, outputs);
    for (uint32_t i = 0; !r && i < n; i++) {
        const struct tfl_operator *op = &whole->graph.operators[operators[i]];

        part_add_folded(&part, op);
        if (!tfl_is_folded(&whole->graph, op) || !(part.marks[op->outputs[0]] & IS_MADE))
            part_add(&part, op);
    }
    if (!r) {
        part_find_inputs(&part);
        part_find_outputs(&part, outputs);
        *ret_part = view;
    } else {
        tfl_view_done(&view);
    }
    free(part.marks);
    return r;
}

int tfl_view_own(struct tfl_view *part)
{
    size_t n_bytes = part->graph.n_tensors * sizeof(*part->graph.tensors);
    struct tfl_tensor *tensors = malloc(n_bytes ? n_bytes : 1);

    if (!tensors)
        return -ENOMEM;
    memcpy(tensors, part->graph.tensors, n_bytes);
    part->graph.tensors = tensors;
    part->borrows_tensors = false;
    return 0;
}

/* -- changes ------------------------------------------------------------------------ */

static bool has_shape_of(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
    return a->type == b->type && a->n_dimensions == b->n_dimensions &&
           memcmp(a->dimensions, b->dimensions, a->n_dimensions * sizeof(*a->dimensions)) == 0;
}

int tfl_view_update(struct lite_context *context, struct tfl_view *view, bool *ret_is_same)
{
    struct tfl_tensor *tensors;
    bool is_same = true;

    if (context->tensors_size < view->graph.n_tensors)
        return -EINVAL;
    tensors = read_tensors(context, view->graph.n_tensors);
    if (!tensors)
        return -ENOMEM;
    for (size_t i = 0; i < view->n_lists; i++) {
        int32_t number = view->lists[i];

        if (number >= 0 && !has_shape_of(&tensors[number], &view->graph.tensors[number]))
            is_same = false;
    }
    free(view->graph.tensors);
    view->graph.tensors = tensors;
    *ret_is_same = is_same;
    return 0;
}

void tfl_view_done(struct tfl_view *view)
{
    if (!view->borrows_tensors)
        free(view->graph.tensors);
    free(view->graph.operators);
    free(view->lists);
    free(view->makers);
    *view = (struct tfl_view){0};
}
