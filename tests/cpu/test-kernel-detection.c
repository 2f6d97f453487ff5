/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/detection/boxes.h"

#include "support/check-main.h"

#include <math.h>
#include <string.h>

#define F32  NNHAL_TENSOR_FLOAT32
#define I32  NNHAL_TENSOR_INT32
#define Q8   NNHAL_TENSOR_QUANT8_ASYMM
#define Q16A NNHAL_TENSOR_QUANT16_ASYMM

static struct kernel_case c;
/* For suppression. */
static float room[256 * NN_NMS_ROOM_BYTES / sizeof(float)];

static int32_t number_at(uint32_t output, size_t i)
{
    int32_t value;

    memcpy(&value, c.outputs[output].data + i * sizeof(value), sizeof(value));
    return value;
}

static double real_at(uint32_t output, size_t i)
{
    return kernel_case_real(&c.outputs[output], i);
}

/* ---- boxes ---- */

TEST(overlap_of_boxes)
{
    const struct nn_box a = {0, 0, 2, 2}, b = {1, 1, 3, 3}, far = {5, 5, 6, 6},
                        empty = {1, 1, 1, 1};

    ck_assert(fabs((double)nn_box_iou(&a, &b) - 1.0 / 7.0) < 1e-6);
    ck_assert(nn_box_iou(&a, &a) == 1.0f);
    ck_assert(nn_box_iou(&a, &far) == 0.0f);
    ck_assert(isnan(nn_box_iou(&empty, &empty)));
}
TEST_END

/* Three boxes of which the second lies on the first; equal scores. */
TEST(suppression_keeps_the_first_of_equals)
{
    const struct nn_box boxes[] = {{0, 0, 4, 4}, {0, 0, 4, 3}, {8, 8, 9, 9}};
    float scores[] = {0.5f, 0.5f, 0.5f};
    uint32_t candidates[] = {0, 1, 2};
    struct nn_nms nms = {scores, boxes, 1, 3, 0.5f, NN_NMS_HARD, 0.0f, 0.0f, room};

    ck_assert_uint_eq(nn_nms_hard(&nms, candidates, 3), 2);
    ck_assert_uint_eq(candidates[0], 0);
    ck_assert_uint_eq(candidates[1], 2);
    nms.max_chosen = 1;
    ck_assert_uint_eq(nn_nms_hard(&nms, candidates, 3), 1);
    ck_assert_uint_eq(nn_nms_hard(&nms, candidates, 0), 0);
}
TEST_END

/* An overlap of 0 reaches a threshold of 0, and no other; boxes without area have none. */
TEST(boxes_that_share_nothing)
{
    const struct nn_box boxes[] = {{0, 0, 4, 4}, {8, 8, 9, 9}, {5, 5, 5, 5}, {5, 5, 5, 5}};
    const float thresholds[] = {0.0f, 1e-30f, 0.5f};
    float scores[] = {0.9f, 0.8f, 0.7f, 0.6f};

    for (size_t i = 0; i < NN_N_ELEMENTS(thresholds); i++) {
        uint32_t candidates[] = {0, 1, 2, 3};
        struct nn_nms nms = {scores, boxes, 1, 4, thresholds[i], NN_NMS_HARD, 0.0f, 0.0f, room};

        ck_assert_uint_eq(nn_nms_hard(&nms, candidates, 4), i == 0 ? 1 : 4);
    }
}
TEST_END

/* The definition: one candidate after the other. */
static size_t suppress_simply(const struct nn_nms *nms, uint32_t *candidates, size_t n)
{
    size_t n_chosen = 0;

    while (n_chosen < n && n_chosen < nms->max_chosen) {
        size_t best = n_chosen;
        uint32_t chosen;

        for (size_t i = n_chosen + 1; i < n; i++)
            if (nms->scores[candidates[i]] > nms->scores[candidates[best]])
                best = i;
        chosen = candidates[best];
        candidates[best] = candidates[n_chosen];
        candidates[n_chosen++] = chosen;
        for (size_t i = n_chosen; i < n;) {
            if (nn_box_iou(&nms->boxes[candidates[i] / nms->scores_per_box],
                           &nms->boxes[chosen / nms->scores_per_box]) >= nms->iou_threshold)
                candidates[i] = candidates[--n];
            else
                i++;
        }
    }
    return n_chosen;
}

/* Small numbers, so that scores tie and boxes share corners; some that are none. */
static float draw_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    switch (*state >> 16 & 63) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    case 2:
        return -0.0f;
    default:
        return (float)(*state >> 24 & 15);
    }
}

TEST(suppression_is_its_definition)
{
    enum { N = 150 };
    const float thresholds[] = {0.3f, 0.0f, -1.0f, 1.0f, 0.01f, NAN};
    uint32_t state = 7;

    for (uint32_t round = 0; round < 600; round++) {
        size_t n = round % (N + 1), per_box = 1 + round % 3, n_wanted;
        float scores[N];
        struct nn_box boxes[N];
        uint32_t candidates[N], wanted[N];
        struct nn_nms nms = {
            scores, boxes, per_box, round % 5 ? N : 4, thresholds[round % 6], NN_NMS_HARD,
            0.0f,   0.0f,  room};

        for (size_t i = 0; i < n; i++) {
            scores[i] = draw_number(&state);
            boxes[i] = (struct nn_box){draw_number(&state), draw_number(&state),
                                       draw_number(&state), draw_number(&state)};
            wanted[i] = candidates[i] = (uint32_t)(n - 1 - i);
        }
        n_wanted = suppress_simply(&nms, wanted, n);
        ck_assert_uint_eq(nn_nms_hard(&nms, candidates, n), n_wanted);
        ck_assert_int_eq(memcmp(candidates, wanted, n_wanted * sizeof(*wanted)), 0);
    }
}
TEST_END

TEST(soft_suppression_lowers_scores)
{
    const struct nn_box boxes[] = {{0, 0, 4, 4}, {0, 0, 4, 3}};
    static const double wanted[] = {0.0, 0.8 * 0.25, 0.8 * 0.3246525};

    for (int kernel = NN_NMS_HARD; kernel <= NN_NMS_GAUSSIAN; kernel++) {
        float scores[] = {0.9f, 0.8f};
        uint32_t candidates[] = {1, 0};
        struct nn_nms nms = {scores, boxes, 1, 2, 0.5f, (enum nn_nms_kernel)kernel, 0.5f, 0.0f};

        ck_assert_uint_eq(nn_nms_soft(&nms, candidates, 2), 2);
        ck_assert_uint_eq(candidates[0], 0);
        ck_assert(fabs((double)scores[1] - wanted[kernel]) < 1e-5);
    }
}
TEST_END

TEST(ranking_is_stable_and_survives_nan)
{
    const float scores[] = {1.0f, 2.0f, 1.0f, -0.0f, 0.0f, -3.0f};
    const float odd[] = {NAN, 1.0f, -NAN, 0.0f};
    uint32_t order[6], odd_order[] = {0, 1, 2, 3}, seen = 0;
    uint64_t keys[6];

    for (uint32_t n_best = 0; n_best <= 7; n_best++) {
        memcpy(order, ((uint32_t[]){0, 1, 2, 3, 4, 5}), sizeof(order));
        nn_rank_by_score(order, 6, n_best, scores, keys, NULL);
        ck_assert_int_eq(memcmp(order, ((uint32_t[]){1, 0, 2, 3, 4, 5}),
                                (n_best < 6 ? n_best : 6) * sizeof(*order)),
                         0);
    }
    nn_rank_by_score(odd_order, 4, 4, odd, keys, NULL);
    for (int i = 0; i < 4; i++)
        seen |= 1u << odd_order[i];
    ck_assert_uint_eq(seen, 15);
}
TEST_END

/* ---- AXIS_ALIGNED_BBOX_TRANSFORM ---- */

static void bbox_transform(const float rois[8], const int32_t batches[2])
{
    const float deltas[8] = {0, 0, 0, 0, 0.5f, 0, 0, 0.6931472f};

    kernel_case_init(&c, NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM, &nn_kernels_detection);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){2, 4}, rois);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){2, 4}, deltas);
    kernel_case_i32s(&c, 2, batches);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){2, 2}, (float[]){100, 100, 20, 7});
    kernel_case_output(&c, F32);
}

TEST(bbox_transform_moves_and_clips)
{
    const float rois[8] = {1, 2, 3, 4, 2, 4, 6, 8};
    const float wanted[8] = {1, 2, 3, 4, 4, 2, 7, 10};

    bbox_transform(rois, (int32_t[]){0, 1});
    kernel_case_run(&c);
    for (size_t i = 0; i < 8; i++)
        ck_assert(fabs(real_at(0, i) - (double)wanted[i]) < 1e-4);
    kernel_case_done(&c);
}
TEST_END

TEST(bbox_transform_refuses)
{
    static const float rois[][8] = {
        {1, 2, 3, 4, 7, 4, 6, 8}, {1, 5, 3, 4, 2, 4, 6, 8}, {1, 2, NAN, 4, 2, 4, 6, 8}};
    static const int32_t batches[][2] = {{0, 2}, {-1, 0}};

    for (int i = 0; i < 3; i++) {
        bbox_transform(rois[i], (int32_t[]){0, 1});
        ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
        kernel_case_done(&c);
    }
    for (int i = 0; i < 2; i++) {
        bbox_transform((float[]){1, 2, 3, 4, 2, 4, 6, 8}, batches[i]);
        ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(bbox_transform_in_eighths)
{
    kernel_case_init(&c, NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM, &nn_kernels_detection);
    kernel_case_tensor(&c, Q16A, 2, (uint32_t[]){1, 4}, (uint16_t[]){8, 16, 24, 32})->scale =
        0.125f;
    kernel_case_tensor(&c, Q8, 2, (uint32_t[]){1, 4}, (uint8_t[]){160, 128, 128, 128})->scale =
        1.0f / 64;
    c.inputs[1].zero_point = 128;
    kernel_case_i32s(&c, 1, (int32_t[]){0});
    kernel_case_tensor(&c, Q16A, 2, (uint32_t[]){1, 2}, (uint16_t[]){800, 28})->scale = 0.125f;
    kernel_case_output(&c, Q16A)->scale = 0.125f;
    kernel_case_run(&c);
    /* Half a width to the right, cut at 3.5. */
    ck_assert_int_eq(memcmp(c.outputs[0].data, ((uint16_t[]){16, 16, 28, 32}), 8), 0);
    kernel_case_done(&c);
}
TEST_END

/* ---- BOX_WITH_NMS_LIMIT ---- */

static void nms_limit(uint32_t n_rows, const float *scores, const float *boxes,
                      const int32_t *batches, int32_t max)
{
    kernel_case_init(&c, NNHAL_OP_BOX_WITH_NMS_LIMIT, &nn_kernels_detection);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){n_rows, 3}, scores);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){n_rows, 12}, boxes);
    kernel_case_i32s(&c, n_rows, batches);
    kernel_case_f32(&c, 0.3f);
    kernel_case_i32(&c, max);
    kernel_case_i32(&c, 0);
    kernel_case_f32(&c, 0.5f);
    kernel_case_f32(&c, 0.0f);
    kernel_case_f32(&c, 0.05f);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, I32);
    kernel_case_output(&c, I32);
}

/* Rows of three classes; a row's boxes are equal. Rows 0 and 1 overlap, row 2 is another batch. */
static const float nms_scores[9] = {0, 0.9f, 0.4f, 0, 0.8f, 0.7f, 0, 0.2f, 0.6f};
static const float nms_boxes[36] = {0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 3, 0, 0,
                                    4, 3, 0, 0, 4, 3, 0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4};

TEST(nms_limit_orders_by_batch_class_and_score)
{
    static const int32_t classes[] = {1, 2, 2}, batches[] = {5, 5, 9};

    nms_limit(3, nms_scores, nms_boxes, (int32_t[]){5, 5, 9}, -1);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 3);
    ck_assert_uint_eq(c.outputs[1].dims[0], 3);
    ck_assert_uint_eq(c.outputs[1].dims[1], 4);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(fabs(real_at(0, i) - (double[]){0.9, 0.7, 0.6}[i]) < 1e-6);
        ck_assert_int_eq(number_at(2, i), classes[i]);
        ck_assert_int_eq(number_at(3, i), batches[i]);
    }
    ck_assert(real_at(1, 7) == 3.0);
    kernel_case_done(&c);

    nms_limit(3, nms_scores, nms_boxes, (int32_t[]){5, 5, 5}, 1);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 1);
    ck_assert(fabs(real_at(0, 0) - 0.9) < 1e-6);
    kernel_case_done(&c);
}
TEST_END

TEST(nms_limit_may_find_nothing)
{
    const float none[9] = {1, 0.1f, 0.3f, 1, 0, 0, 1, 0, 0};

    nms_limit(3, none, nms_boxes, (int32_t[]){0, 0, 0}, -1);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 0);
    ck_assert_uint_eq(c.outputs[1].n_dims, 2);
    ck_assert_uint_eq(c.outputs[1].dims[0], 0);
    kernel_case_done(&c);

    nms_limit(0, NULL, NULL, NULL, -1);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[3].dims[0], 0);
    kernel_case_done(&c);
}
TEST_END

TEST(nms_limit_stops_when_asked)
{
    nms_limit(3, nms_scores, nms_boxes, (int32_t[]){5, 5, 9}, -1);
    c.is_stopped = true;
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_CANCELLED);
    kernel_case_done(&c);
}
TEST_END

TEST(nms_limit_refuses_corners_out_of_order)
{
    float boxes[36];

    memcpy(boxes, nms_boxes, sizeof(boxes));
    boxes[34] = -1.0f;
    nms_limit(3, nms_scores, boxes, (int32_t[]){0, 0, 0}, -1);
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
    kernel_case_done(&c);
}
TEST_END

/* ---- DETECTION_POSTPROCESSING ---- */

static void detection(bool is_regular, bool has_background, int32_t max, int32_t max_classes)
{
    const float scores[9] = {0, 0.9f, 0.8f, 0, 0.75f, 0.72f, 0, 0.6f, 0.1f};
    const float deltas[12] = {0};
    const float anchors[12] = {0.5f, 0.5f, 1, 1, 0.5f, 0.5f, 1, 1, 0.5f, 10.5f, 1, 1};

    kernel_case_init(&c, NNHAL_OP_DETECTION_POSTPROCESSING, &nn_kernels_detection);
    kernel_case_tensor(&c, F32, 3, (uint32_t[]){1, 3, 3}, scores);
    kernel_case_tensor(&c, F32, 3, (uint32_t[]){1, 3, 4}, deltas);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){3, 4}, anchors);
    for (int i = 0; i < 4; i++)
        kernel_case_f32(&c, i < 2 ? 10.0f : 5.0f);
    kernel_case_bool(&c, is_regular);
    kernel_case_i32(&c, max);
    kernel_case_i32(&c, max_classes);
    kernel_case_i32(&c, 2);
    kernel_case_f32(&c, 0.2f);
    kernel_case_f32(&c, 0.5f);
    kernel_case_bool(&c, has_background);
    for (int i = 0; i < 4; i++)
        kernel_case_output(&c, i < 2 ? F32 : I32);
    kernel_case_run(&c);
}

static void expect_detections(size_t n, const double *scores, const int32_t *classes)
{
    ck_assert_int_eq(number_at(3, 0), (int32_t)n);
    for (size_t i = 0; i < n; i++) {
        ck_assert(fabs(real_at(0, i) - scores[i]) < 1e-6);
        ck_assert_int_eq(number_at(2, i), classes[i]);
    }
    /* Room that is left is zeros. */
    for (size_t i = n; i < c.outputs[0].dims[1]; i++)
        ck_assert(real_at(0, i) == 0.0 && real_at(1, i * 4 + 3) == 0.0 && number_at(2, i) == 0);
    kernel_case_done(&c);
}

TEST(detection_in_both_modes)
{
    /* Anchors 0 and 1 are one place, anchor 2 another. */
    detection(true, false, 5, 1);
    ck_assert_uint_eq(c.outputs[0].dims[1], 5);
    expect_detections(3, (double[]){0.9, 0.8, 0.6}, (int32_t[]){0, 1, 0});
    detection(true, true, 2, 1);
    expect_detections(2, (double[]){0.9, 0.8}, (int32_t[]){1, 2});
    detection(false, false, 3, 1);
    ck_assert_uint_eq(c.outputs[0].dims[1], 3);
    expect_detections(2, (double[]){0.9, 0.6}, (int32_t[]){0, 0});
    detection(false, true, 3, 2);
    ck_assert_uint_eq(c.outputs[0].dims[1], 6);
    expect_detections(4, (double[]){0.9, 0.8, 0.6, 0.1}, (int32_t[]){1, 2, 1, 2});
}
TEST_END

TEST(detection_decodes_anchors)
{
    detection(true, false, 1, 1);
    for (size_t i = 0; i < 4; i++)
        ck_assert(fabs(real_at(1, i) - (double[]){0, 0, 1, 1}[i]) < 1e-6);
    kernel_case_done(&c);
}
TEST_END

/* ---- GENERATE_PROPOSALS ---- */

static void proposals(bool is_nchw, int32_t pre, int32_t post, float min_size)
{
    /* One row of three cells with one anchor; the deltas move nothing. */
    const float scores[3] = {0.2f, 0.9f, 0.5f}, deltas[12] = {0};
    const uint32_t nhwc[4] = {1, 1, 3, 1}, nchw[4] = {1, 1, 1, 3};
    const uint32_t deltas_nhwc[4] = {1, 1, 3, 4}, deltas_nchw[4] = {1, 4, 1, 3};

    kernel_case_init(&c, NNHAL_OP_GENERATE_PROPOSALS, &nn_kernels_proposals);
    kernel_case_tensor(&c, F32, 4, is_nchw ? nchw : nhwc, scores);
    kernel_case_tensor(&c, F32, 4, is_nchw ? deltas_nchw : deltas_nhwc, deltas);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){1, 4}, (float[]){0, 0, 3, 3});
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){1, 2}, (float[]){10, 20});
    kernel_case_f32(&c, 4.0f);
    kernel_case_f32(&c, 4.0f);
    kernel_case_i32(&c, pre);
    kernel_case_i32(&c, post);
    kernel_case_f32(&c, 0.5f);
    kernel_case_f32(&c, min_size);
    kernel_case_bool(&c, is_nchw);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
}

TEST(proposals_by_falling_score)
{
    static const double lefts[] = {4, 8, 0};

    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        proposals(is_nchw, -1, -1, 0.0f);
        ck_assert_uint_eq(c.outputs[0].dims[0], 3);
        for (size_t i = 0; i < 3; i++) {
            ck_assert(real_at(1, i * 4) == lefts[i]);
            ck_assert_int_eq(number_at(2, i), 0);
        }
        kernel_case_done(&c);
        proposals(is_nchw, 2, 1, 0.0f);
        ck_assert_uint_eq(c.outputs[0].dims[0], 1);
        kernel_case_done(&c);
        proposals(is_nchw, 0, 0, 3.0f);
        ck_assert_uint_eq(c.outputs[1].dims[0], 0);
        kernel_case_done(&c);
    }
}
TEST_END

CHECK_MAIN("kernel-detection", overlap_of_boxes, suppression_keeps_the_first_of_equals,
           boxes_that_share_nothing, suppression_is_its_definition, soft_suppression_lowers_scores,
           ranking_is_stable_and_survives_nan, bbox_transform_moves_and_clips,
           bbox_transform_refuses, bbox_transform_in_eighths,
           nms_limit_orders_by_batch_class_and_score, nms_limit_may_find_nothing,
           nms_limit_stops_when_asked, nms_limit_refuses_corners_out_of_order,
           detection_in_both_modes, detection_decodes_anchors, proposals_by_falling_score)
