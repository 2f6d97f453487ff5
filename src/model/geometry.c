/* SPDX-License-Identifier: Apache-2.0 */
#include "model/geometry.h"

#include <stddef.h>

/* Cells that a dilated filter spans. */
static int64_t window_effective(const struct nn_window *window)
{
    return ((int64_t)window->filter - 1) * window->dilation + 1;
}

static const char *window_check(const struct nn_window *window)
{
    if (window->stride <= 0)
        return "the stride is not above 0";
    if (window->dilation <= 0)
        return "the dilation is not above 0";
    if (window->filter == 0)
        return "the filter is empty";
    if (window->input == 0)
        return "the input is empty";
    /* Keeps every sum of this file within 64 bits. */
    if (window_effective(window) > UINT32_MAX)
        return "the dilated filter is too large";
    return NULL;
}

/* set_pads() - splits a total: the smaller half comes first. */
static bool set_pads(struct nn_window *window, int64_t total)
{
    int64_t head = total > 0 ? total / 2 : 0;
    int64_t tail = total - head;

    if (tail > INT32_MAX || tail < INT32_MIN)
        return false;
    window->head = (int32_t)head;
    window->tail = (int32_t)tail;
    return true;
}

bool nn_window_set_implicit(struct nn_window *window, int32_t padding_code)
{
    int64_t n_outputs, total;

    if (window_check(window))
        return false;
    window->head = 0;
    window->tail = 0;
    if (padding_code != NN_PADDING_SAME)
        return true;
    n_outputs = ((int64_t)window->input + window->stride - 1) / window->stride;
    total = (n_outputs - 1) * window->stride + window_effective(window) - window->input;
    return set_pads(window, total > 0 ? total : 0);
}

/* A padding as large as the filter would make outputs of padding alone. */
const char *nn_window_output(const struct nn_window *window, uint32_t *ret_output)
{
    const char *wrong = window_check(window);
    int64_t effective = window_effective(window), n;

    if (wrong)
        return wrong;
    if (window->head < 0 || window->tail < 0)
        return "the padding is negative";
    if (effective <= window->head || effective <= window->tail)
        return "the padding is not smaller than the filter";
    n = (int64_t)window->input - effective + window->stride + window->head + window->tail;
    n = n < 0 ? 0 : n / window->stride;
    if (n <= 0)
        return "the filter is larger than the padded input";
    if (n > UINT32_MAX)
        return "the output is too large";
    *ret_output = (uint32_t)n;
    return NULL;
}

const char *nn_transpose_window_output(const struct nn_window *window, uint32_t *ret_output)
{
    const char *wrong = window_check(window);
    int64_t n;

    if (wrong)
        return wrong;
    if (window->head < 0)
        return "the padding before is negative";
    n = ((int64_t)window->input - 1) * window->stride + window_effective(window) - window->head -
        window->tail;
    if (n <= 0)
        return "the output would be empty";
    if (n > UINT32_MAX)
        return "the output is too large";
    *ret_output = (uint32_t)n;
    return NULL;
}

/* The padding of the convolution that would go the other way, from the wanted output. */
bool nn_transpose_window_set_implicit(struct nn_window *window, int32_t padding_code,
                                      int32_t wanted_output)
{
    int64_t n_inputs, total;

    if (window_check(window) || wanted_output <= 0)
        return false;
    window->head = 0;
    window->tail = 0;
    if (padding_code != NN_PADDING_SAME)
        return true;
    n_inputs = ((int64_t)wanted_output + window->stride - 1) / window->stride;
    total = (n_inputs - 1) * window->stride + window_effective(window) - wanted_output;
    return set_pads(window, total);
}

bool nn_axis_resolve(int32_t axis, uint32_t rank, uint32_t *ret)
{
    int64_t wrapped = axis < 0 ? (int64_t)axis + rank : axis;

    if (wrapped < 0 || wrapped >= (int64_t)rank)
        return false;
    *ret = (uint32_t)wrapped;
    return true;
}

/* From the last dimension: missing ones in front count as 1. A 0 stays 0 beside a 1. */
bool nn_broadcast_dims(uint32_t n_a, const uint32_t *a, uint32_t n_b, const uint32_t *b,
                       uint32_t *ret_n, uint32_t *ret)
{
    uint32_t n = n_a > n_b ? n_a : n_b;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = i < n - n_a ? 1 : a[i - (n - n_a)];
        uint32_t y = i < n - n_b ? 1 : b[i - (n - n_b)];

        if (x != y && x != 1 && y != 1)
            return false;
        ret[i] = x == 1 ? y : x;
    }
    *ret_n = n;
    return true;
}
