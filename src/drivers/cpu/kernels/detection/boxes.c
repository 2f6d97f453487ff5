/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/detection/boxes.h"

#include "drivers/cpu/kernels/common/heap.h"

#include <math.h>
#include <string.h>

struct nn_box nn_box_transform(const struct nn_box *box, const float *deltas)
{
    float width = box->x2 - box->x1, height = box->y2 - box->y1;
    float x = (box->x1 + box->x2) / 2.0f + deltas[0] * width;
    float y = (box->y1 + box->y2) / 2.0f + deltas[1] * height;
    float new_width = expf(deltas[2]) * width, new_height = expf(deltas[3]) * height;

    return (struct nn_box){x - new_width / 2.0f, y - new_height / 2.0f, x + new_width / 2.0f,
                           y + new_height / 2.0f};
}

/* fmaxf() and fminf(), which are calls: a NaN is no candidate. */
static inline float larger(float a, float b)
{
    return a > b || b != b ? a : b;
}

static inline float smaller(float a, float b)
{
    return a < b || b != b ? a : b;
}

static float clip_coordinate(float value, float bound)
{
    return smaller(larger(value, 0.0f), bound);
}

struct nn_box nn_box_clip(const struct nn_box *box, float width, float height)
{
    return (struct nn_box){clip_coordinate(box->x1, width), clip_coordinate(box->y1, height),
                           clip_coordinate(box->x2, width), clip_coordinate(box->y2, height)};
}

static float box_area(const struct nn_box *box)
{
    return (box->x2 - box->x1) * (box->y2 - box->y1);
}

static inline float shared_area(const struct nn_box *a, const struct nn_box *b)
{
    float width = larger(smaller(a->x2, b->x2) - larger(a->x1, b->x1), 0.0f);
    float height = larger(smaller(a->y2, b->y2) - larger(a->y1, b->y1), 0.0f);

    return width * height;
}

float nn_box_iou(const struct nn_box *a, const struct nn_box *b)
{
    float shared = shared_area(a, b);

    return shared / (box_area(a) + box_area(b) - shared);
}

/* ---- suppression ---- */

/* Of a candidate. Most callers have one score for each box; to divide takes as long as to compare. */
static inline const struct nn_box *box_of(const struct nn_nms *nms, uint32_t i)
{
    return &nms->boxes[nms->scores_per_box == 1 ? i : i / nms->scores_per_box];
}

static void swap_indices(uint32_t *a, uint32_t *b)
{
    uint32_t old = *a;

    *a = *b;
    *b = old;
}

/* Brings the best of [first, end) to first. */
static void bring_best(const struct nn_nms *nms, uint32_t *candidates, size_t first, size_t end,
                       struct nn_pace *pace)
{
    size_t best = first;

    for (size_t i = first + 1; i < end && !nn_pace_ends(pace, 2); i++)
        if (nms->scores[candidates[i]] > nms->scores[candidates[best]])
            best = i;
    swap_indices(&candidates[best], &candidates[first]);
}

/* Of one choice, which compares all that are left. */
static struct nn_pace pace_of(const struct nn_nms *nms)
{
    return nn_pace(nms->args ? nms->args->stop : NULL);
}

/* Suppression is quadratic, so it looks up after each choice, too. */
static bool goes_on(const struct nn_nms *nms, size_t n_chosen, size_t n)
{
    return n_chosen < n && n_chosen < nms->max_chosen &&
           !(nms->args && nn_kernel_stopped(nms->args));
}

/* Whether boxes overlap by the threshold or more. Most share nothing: what 0 is divided by does not
 * matter to a threshold above it. */
static inline bool overlaps(const struct nn_box *a, const struct nn_box *b, float threshold)
{
    if (threshold > 0.0f && shared_area(a, b) == 0.0f)
        return false;
    return nn_box_iou(a, b) >= threshold;
}

size_t nn_nms_hard(const struct nn_nms *nms, uint32_t *candidates, size_t n)
{
    struct nn_pace pace = pace_of(nms);
    size_t n_chosen = 0;

    while (goes_on(nms, n_chosen, n)) {
        const struct nn_box *best;

        bring_best(nms, candidates, n_chosen, n, &pace);
        best = box_of(nms, candidates[n_chosen]);
        for (size_t i = n_chosen + 1; i < n && !nn_pace_ends(&pace, 4);) {
            /* The last one takes the place of one that is dropped, and is looked at next. */
            if (overlaps(box_of(nms, candidates[i]), best, nms->iou_threshold))
                swap_indices(&candidates[i], &candidates[--n]);
            else
                i++;
        }
        n_chosen++;
    }
    return n_chosen;
}

static float score_factor(const struct nn_nms *nms, float iou)
{
    switch (nms->kernel) {
    case NN_NMS_HARD:
        return iou < nms->iou_threshold ? 1.0f : 0.0f;
    case NN_NMS_LINEAR:
        return iou < nms->iou_threshold ? 1.0f : 1.0f - iou;
    default:
        return expf(-1.0f * iou * iou / nms->sigma);
    }
}

size_t nn_nms_soft(const struct nn_nms *nms, uint32_t *candidates, size_t n)
{
    struct nn_pace pace = pace_of(nms);
    size_t n_chosen = 0;

    while (goes_on(nms, n_chosen, n)) {
        bring_best(nms, candidates, n_chosen, n, &pace);
        for (size_t i = n_chosen + 1; i < n && !nn_pace_ends(&pace, 20);) {
            float *score = &nms->scores[candidates[i]];

            *score *= score_factor(
                nms, nn_box_iou(box_of(nms, candidates[i]), box_of(nms, candidates[n_chosen])));
            if (*score < nms->score_threshold)
                swap_indices(&candidates[i], &candidates[--n]);
            else
                i++;
        }
        n_chosen++;
    }
    return n_chosen;
}

/* ---- ranking ---- */

/* A float as an integer that grows while the float falls. */
static uint32_t falling_key(float value)
{
    uint32_t bits;

    value += 0.0f; /* the two zeros are equal */
    memcpy(&bits, &value, sizeof(bits));
    return bits >> 31 ? bits : ~(bits | UINT32_C(0x80000000));
}

void nn_rank_by_score(uint32_t *indexes, size_t n, const float *scores, uint64_t *keys,
                      struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);

    /* A key is a score above the place in the list; the list is put aside in its lower half. */
    for (size_t i = 0; i < n && !nn_pace_ends(&pace, 5); i++)
        keys[i] = (uint64_t)falling_key(scores[indexes[i]]) << 32 | i;
    nn_heap_make(keys, n, &pace);
    nn_heap_sort(keys, n, &pace);
    /* When a pace has ended, no loop behind it begins: the list is used only where the keys are whole. */
    for (size_t i = 0; i < n && !nn_pace_ends(&pace, 5); i++)
        keys[i] = indexes[(uint32_t)keys[i]];
    for (size_t i = 0; i < n && !nn_pace_ends(&pace, 2); i++)
        indexes[i] = (uint32_t)keys[i];
}
