/* SPDX-License-Identifier: Apache-2.0 */
#include "model/geometry.h"

#include "support/check-main.h"

#include <string.h>

TEST(implicit_padding_gives_the_documented_sizes)
{
    uint32_t output;

    for (uint32_t input = 1; input < 20; input++) {
        for (uint32_t filter = 1; filter < 6; filter++) {
            for (int32_t stride = 1; stride < 4; stride++) {
                for (int32_t dilation = 1; dilation < 3; dilation++) {
                    struct nn_window window = {
                        .input = input, .filter = filter, .stride = stride, .dilation = dilation};
                    uint32_t effective = (filter - 1) * (uint32_t)dilation + 1;

                    ck_assert(nn_window_set_implicit(&window, NN_PADDING_SAME));
                    ck_assert_int_le(window.head, window.tail);
                    ck_assert_int_le(window.tail - window.head, 1);
                    ck_assert_ptr_null(nn_window_output(&window, &output));
                    ck_assert_uint_eq(output, (input + (uint32_t)stride - 1) / (uint32_t)stride);
                    ck_assert(nn_window_set_implicit(&window, NN_PADDING_VALID));
                    if (effective > input) {
                        ck_assert_ptr_nonnull(nn_window_output(&window, &output));
                        continue;
                    }
                    ck_assert_ptr_null(nn_window_output(&window, &output));
                    ck_assert_uint_eq(output, (input - effective) / (uint32_t)stride + 1);
                }
            }
        }
    }
}
TEST_END

static const char *output_of(struct nn_window window)
{
    uint32_t output;

    return nn_window_output(&window, &output);
}

TEST(windows_without_sense_are_refused)
{
    ck_assert_ptr_null(output_of((struct nn_window){8, 3, 1, 1, 1, 1}));
    ck_assert_str_eq(output_of((struct nn_window){8, 3, 0, 1, 1, 1}), "the stride is not above 0");
    ck_assert_str_eq(output_of((struct nn_window){8, 3, -1, 1, 1, 1}), "the stride is not above 0");
    ck_assert_str_eq(output_of((struct nn_window){8, 3, 1, 0, 1, 1}),
                     "the dilation is not above 0");
    ck_assert_str_eq(output_of((struct nn_window){8, 0, 1, 1, 0, 0}), "the filter is empty");
    ck_assert_str_eq(output_of((struct nn_window){0, 3, 1, 1, 0, 0}), "the input is empty");
    ck_assert_str_eq(output_of((struct nn_window){8, 3, 1, 1, -1, 0}), "the padding is negative");
    ck_assert_str_eq(output_of((struct nn_window){8, 3, 1, 1, 3, 0}),
                     "the padding is not smaller than the filter");
    ck_assert_str_eq(output_of((struct nn_window){2, 5, 1, 1, 1, 1}),
                     "the filter is larger than the padded input");
}
TEST_END

TEST(extreme_windows_do_not_overflow)
{
    static const uint32_t sizes[] = {1, 2, 65536, INT32_MAX, UINT32_MAX};
    static const int32_t numbers[] = {INT32_MIN, -1, 0, 1, 2, INT32_MAX};
    uint32_t output;

    for (int i = 0; i < 5; i++) {
        for (int f = 0; f < 5; f++) {
            for (int s = 0; s < 6; s++) {
                for (int d = 0; d < 6; d++) {
                    struct nn_window window = {sizes[i],   sizes[f],  numbers[s],
                                               numbers[d], INT32_MAX, INT32_MAX};

                    nn_window_output(&window, &output);
                    nn_transpose_window_output(&window, &output);
                    if (nn_window_set_implicit(&window, NN_PADDING_SAME))
                        ck_assert_int_ge(window.head, 0);
                    nn_transpose_window_set_implicit(&window, NN_PADDING_SAME, INT32_MAX);
                }
            }
        }
    }
}
TEST_END

TEST(transposed_windows_undo_windows)
{
    uint32_t output, back;

    for (uint32_t input = 4; input < 20; input++) {
        for (int32_t stride = 1; stride < 4; stride++) {
            struct nn_window window = {
                .input = input, .filter = 3, .stride = stride, .dilation = 1};
            struct nn_window transposed;

            ck_assert(nn_window_set_implicit(&window, NN_PADDING_SAME));
            ck_assert_ptr_null(nn_window_output(&window, &output));
            transposed = window;
            transposed.input = output;
            ck_assert(
                nn_transpose_window_set_implicit(&transposed, NN_PADDING_SAME, (int32_t)input));
            ck_assert_ptr_null(nn_transpose_window_output(&transposed, &back));
            ck_assert_uint_eq(back, input);
        }
    }
}
TEST_END

TEST(axes_wrap_once)
{
    uint32_t axis;

    ck_assert(nn_axis_resolve(-1, 4, &axis));
    ck_assert_uint_eq(axis, 3);
    ck_assert(nn_axis_resolve(-4, 4, &axis));
    ck_assert_uint_eq(axis, 0);
    ck_assert(nn_axis_resolve(3, 4, &axis));
    ck_assert_uint_eq(axis, 3);
    ck_assert(!nn_axis_resolve(4, 4, &axis));
    ck_assert(!nn_axis_resolve(-5, 4, &axis));
    ck_assert(!nn_axis_resolve(INT32_MIN, 4, &axis));
    ck_assert(!nn_axis_resolve(0, 0, &axis));
}
TEST_END

TEST(shapes_broadcast)
{
    uint32_t n, ret[4];

    ck_assert(nn_broadcast_dims(3, (uint32_t[]){2, 1, 4}, 2, (uint32_t[]){3, 1}, &n, ret));
    ck_assert_uint_eq(n, 3);
    ck_assert(memcmp(ret, (uint32_t[]){2, 3, 4}, 12) == 0);
    ck_assert(nn_broadcast_dims(1, (uint32_t[]){0}, 1, (uint32_t[]){1}, &n, ret));
    ck_assert_uint_eq(ret[0], 0);
    ck_assert(nn_broadcast_dims(1, (uint32_t[]){1}, 2, (uint32_t[]){5, 0}, &n, ret));
    ck_assert(memcmp(ret, (uint32_t[]){5, 0}, 8) == 0);
    ck_assert(!nn_broadcast_dims(1, (uint32_t[]){0}, 1, (uint32_t[]){2}, &n, ret));
    ck_assert(!nn_broadcast_dims(2, (uint32_t[]){2, 3}, 1, (uint32_t[]){2}, &n, ret));
}
TEST_END

CHECK_MAIN("geometry", implicit_padding_gives_the_documented_sizes,
           windows_without_sense_are_refused, extreme_windows_do_not_overflow,
           transposed_windows_undo_windows, axes_wrap_once, shapes_broadcast)
