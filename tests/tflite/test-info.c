/* SPDX-License-Identifier: Apache-2.0 */
/* What files say of themselves. The files: make-described.py. */
#include <nnhal/tflite-info.h>

#include "support/check-main.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[512];

static const char *made_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("NNHAL_BUILD_ROOT");

    snprintf(path, sizeof(path), "%s/tests/tflite/%s.tflite", root ? root : ".", name);
    return path;
}

static struct nnhal_tflite_info *read_made(const char *name)
{
    struct nnhal_tflite_info *info = NULL;

    ck_assert_msg(nnhal_tflite_info_read(made_path(name), &info, message, sizeof(message)) == 0,
                  "%s", message);
    return info;
}

/* What is left of a spoilt file: the tensors, and a sentence with the word. */
static struct nnhal_tflite_info *read_spoilt(const char *name, const char *word)
{
    struct nnhal_tflite_info *info = read_made(name);
    const char *complaint = nnhal_tflite_info_complaint(info);

    ck_assert_msg(complaint && strstr(complaint, word), "%s: %s", name,
                  complaint ? complaint : "no complaint");
    ck_assert_uint_eq(nnhal_tflite_info_n_inputs(info), 1);
    ck_assert_str_eq(nnhal_tflite_info_input(info, 0)->name, "x");
    return info;
}

TEST(a_file_says_what_it_is)
{
    struct nnhal_tflite_info *info = read_made("described");
    const struct nnhal_tflite_origin *origin = nnhal_tflite_info_origin(info);
    const struct nnhal_tflite_description *input = nnhal_tflite_info_input(info, 0);

    ck_assert_ptr_null(nnhal_tflite_info_complaint(info));
    ck_assert_str_eq(origin->name, "made here");
    ck_assert_str_eq(origin->text, "tells night from day");
    ck_assert_str_eq(origin->version, "3");
    ck_assert_str_eq(origin->author, "nnhal");
    ck_assert_str_eq(origin->license, "Apache-2.0");
    ck_assert_str_eq(input->name, "x");
    ck_assert_str_eq(input->title, "picture");
    ck_assert_str_eq(input->text, "of the sky");
    ck_assert_str_eq(input->type, "float32");
    ck_assert_uint_eq(input->n_dimensions, 4);
    ck_assert_uint_eq(input->dimensions[3], 3);
    ck_assert_uint_eq(nnhal_tflite_info_n_operations(info), 1);
    ck_assert_str_eq(nnhal_tflite_info_operation(info, 0), "MEAN");
    ck_assert_ptr_null(nnhal_tflite_info_operation(info, 1));
    ck_assert_ptr_null(nnhal_tflite_info_input(info, 1));
    ck_assert_ptr_null(nnhal_tflite_info_output(info, 1));
    nnhal_tflite_info_free(info);
}
TEST_END

TEST(one_deviation_is_that_of_each_channel)
{
    struct nnhal_tflite_info *info = read_made("described");
    const struct nnhal_tflite_description *input = nnhal_tflite_info_input(info, 0);

    ck_assert_uint_eq(input->n_means, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_float_eq(input->means[i], (float)i + 1);
        ck_assert_float_eq(input->deviations[i], 4);
    }
    ck_assert_uint_eq(nnhal_tflite_info_output(info, 0)->n_means, 0);
    nnhal_tflite_info_free(info);
}
TEST_END

TEST(the_first_file_of_labels_counts)
{
    struct nnhal_tflite_info *info = read_made("described");
    const struct nnhal_tflite_description *output = nnhal_tflite_info_output(info, 0);

    ck_assert_uint_eq(output->n_labels, 3);
    ck_assert_str_eq(output->labels[0], "night");
    ck_assert_str_eq(output->labels[1], "day");
    nnhal_tflite_info_free(info);
}
TEST_END

/* scale / (1 + e^-(slope * (log x - log (1 - x)) + offset)), worked out by hand. */
TEST(scores_are_calibrated_by_class)
{
    struct nnhal_tflite_info *info = read_made("described");

    /* x = 0.5: the logarithms cancel, 1 / (1 + e) is left. */
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 0, 0.5), 0.2689414, 1e-6);
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 0, 0.2), 0.125, 1e-9);
    /* x = 0.25, the minimum: 1 / (1 + e^(1 + 2 log 3)) */
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 0, 0.25), 0.0392703, 1e-6);
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 1, 0.5), 0.125, 1e-9);
    /* slope 1, offset 0: the logistic of its inverse, halved. */
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 2, 0.7), 0.35, 1e-9);
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 2, 1), 0.5, 1e-9);
    ck_assert_double_eq_tol(nnhal_tflite_info_score(info, 0, 3, 0.7), 0.125, 1e-9);
    ck_assert_double_eq(nnhal_tflite_info_score(info, 1, 0, 0.7), 0.7);
    nnhal_tflite_info_free(info);
}
TEST_END

TEST(what_is_spoilt_is_told_and_the_rest_stands)
{
    struct nnhal_tflite_info *info = read_spoilt("described-without-files", "labels.txt");

    ck_assert_uint_eq(nnhal_tflite_info_output(info, 0)->n_labels, 0);
    ck_assert_uint_eq(nnhal_tflite_info_input(info, 0)->n_means, 3);
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-bad-line", "0, 3 or 4 numbers");
    ck_assert_uint_eq(nnhal_tflite_info_output(info, 0)->n_labels, 3);
    ck_assert_double_eq(nnhal_tflite_info_score(info, 0, 0, 0.5), 0.5);
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-large", "larger than");
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-many-lines", "65536 lines");
    ck_assert_uint_eq(nnhal_tflite_info_output(info, 0)->n_labels, 0);
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-many-channels", "4096 channels");
    ck_assert_uint_eq(nnhal_tflite_info_input(info, 0)->n_means, 0);
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-damaged", "damaged");
    ck_assert_str_eq(nnhal_tflite_info_origin(info)->name, "");
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-bad-norm", "deviation above 0");
    ck_assert_uint_eq(nnhal_tflite_info_input(info, 0)->n_means, 0);
    nnhal_tflite_info_free(info);
    info = read_spoilt("described-bad-archive", "labels.txt");
    ck_assert_uint_eq(nnhal_tflite_info_output(info, 0)->n_labels, 0);
    nnhal_tflite_info_free(info);
}
TEST_END

TEST(a_file_that_says_nothing_is_described)
{
    struct nnhal_tflite_info *info = read_made("unmapped"); /* NNAPI cannot run it */

    ck_assert_ptr_null(nnhal_tflite_info_complaint(info));
    ck_assert_str_eq(nnhal_tflite_info_origin(info)->name, "");
    ck_assert_uint_ge(nnhal_tflite_info_n_operations(info), 1);
    ck_assert_uint_eq(nnhal_tflite_info_input(info, 0)->n_means, 0);
    ck_assert_double_eq(nnhal_tflite_info_score(info, 0, 0, 0.7), 0.7);
    nnhal_tflite_info_free(info);
}
TEST_END

TEST(what_is_no_model_is_refused)
{
    struct nnhal_tflite_info *info;

    ck_assert_int_eq(nnhal_tflite_info_read("/nowhere", &info, message, sizeof(message)), -ENOENT);
    ck_assert_int_eq(nnhal_tflite_info_read("/proc/self/exe", &info, message, sizeof(message)),
                     -EINVAL);
    ck_assert_str_ne(message, "");
    ck_assert_int_eq(nnhal_tflite_info_read("/dev/null", &info, NULL, 0), -EINVAL);
}
TEST_END

CHECK_MAIN("tflite-info", a_file_says_what_it_is, one_deviation_is_that_of_each_channel,
           the_first_file_of_labels_counts, scores_are_calibrated_by_class,
           what_is_spoilt_is_told_and_the_rest_stands, a_file_that_says_nothing_is_described,
           what_is_no_model_is_refused)
