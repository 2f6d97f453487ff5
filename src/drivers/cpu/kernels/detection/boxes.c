/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/detection/boxes.h"

#include "drivers/cpu/kernels/common/heap.h"
#include "drivers/cpu/kernels/common/vector-f32.h"

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

/* ---- suppression without a kernel ---- */

static float raise_score(float best, const float *scores, size_t n)
{
    for (size_t i = 0; i < n; i++)
        best = scores[i] > best ? scores[i] : best;
    return best;
}

float nn_best_score(float best, const float *scores, size_t n)
{
    nn_vector_f32 lanes = nn_splat_f32(best);
    float each[NN_LANES_F32];
    size_t i = 0;

    if (n < NN_LANES_F32)
        return raise_score(best, scores, n);
    for (; n - i >= NN_LANES_F32; i += NN_LANES_F32)
        lanes = nn_raise_f32(lanes, nn_load_f32(scores + i));
    /* The last lanes again: who is the best is not changed by it. */
    lanes = nn_raise_f32(lanes, nn_load_f32(scores + n - NN_LANES_F32));
    nn_store_f32(each, lanes);
    return raise_score(best, each, NN_LANES_F32);
}

/* Candidates side by side, for loops that compilers turn into vector code. */
struct lists {
    uint32_t *candidates;
    float *scores, *areas;
    float *x1, *y1, *x2, *y2;
    uint8_t *overlaps; /* whether it is to be dropped */
};

static struct lists make_lists(const struct nn_nms *nms, uint32_t *candidates, size_t n,
                               struct nn_pace *pace)
{
    struct lists lists = {.candidates = candidates,
                          .scores = nms->room,
                          .areas = nms->room + n,
                          .x1 = nms->room + 2 * n,
                          .y1 = nms->room + 3 * n,
                          .x2 = nms->room + 4 * n,
                          .y2 = nms->room + 5 * n,
                          .overlaps = (uint8_t *)(nms->room + 6 * n)};

    for (size_t i = 0; i < n && !nn_pace_ends(pace, 5); i++) {
        const struct nn_box *box = box_of(nms, candidates[i]);

        lists.scores[i] = nms->scores[candidates[i]];
        lists.areas[i] = box_area(box);
        lists.x1[i] = box->x1;
        lists.y1[i] = box->y1;
        lists.x2[i] = box->x2;
        lists.y2[i] = box->y2;
    }
    return lists;
}

/* Candidate i becomes what candidate from is. */
static void move_candidate(const struct lists *lists, size_t i, size_t from)
{
    lists->candidates[i] = lists->candidates[from];
    lists->scores[i] = lists->scores[from];
    lists->areas[i] = lists->areas[from];
    lists->x1[i] = lists->x1[from];
    lists->y1[i] = lists->y1[from];
    lists->x2[i] = lists->x2[from];
    lists->y2[i] = lists->y2[from];
    lists->overlaps[i] = lists->overlaps[from];
}

/* The first of the best in [first, end), end > first. */
static size_t find_best(const struct lists *lists, size_t first, size_t end, struct nn_pace *pace)
{
    const float *scores = lists->scores;
    float best = scores[first];
    size_t i = first;

    for (struct nn_pace_part part = {.end = first}; nn_pace_next_part(pace, end, 1, &part);)
        best = nn_best_score(best, scores + part.begin, part.end - part.begin);
    while (i < end && !nn_pace_ends(pace, 1) && scores[i] != best)
        i++;
    return i < end && scores[i] == best ? i : first;
}

/* Whether candidates in [begin, end) overlap box by the threshold or more. Without branches: what those
 * that share nothing are divided by does not matter to a threshold above 0. */
static void mark_overlaps(const struct lists *lists, const struct nn_box *box, float threshold,
                          size_t begin, size_t end)
{
    const float *x1 = lists->x1, *y1 = lists->y1, *x2 = lists->x2, *y2 = lists->y2;
    const float *areas = lists->areas, area = box_area(box);
    const struct nn_box b = *box;
    uint8_t *marks = lists->overlaps;

    NN_IVDEP
    for (size_t i = begin; i < end; i++) {
        const struct nn_box a = {x1[i], y1[i], x2[i], y2[i]};
        float shared = shared_area(&a, &b);

        marks[i] = shared / (areas[i] + area - shared) >= threshold;
    }
}

/* Drops marked candidates from first on: the last one takes the place of each, and is looked at next.
 * Returns: how many are left. */
static size_t drop_marked(const struct lists *lists, size_t first, size_t n, struct nn_pace *pace)
{
    enum { LOOK = 4096 };

    for (size_t i = first; i < n && !nn_pace_ends(pace, 100);) {
        size_t n_looked = nn_min_size(n - i, LOOK);
        const uint8_t *marked = memchr(lists->overlaps + i, 1, n_looked);

        i = marked ? (size_t)(marked - lists->overlaps) : i + n_looked;
        if (marked)
            move_candidate(lists, i, --n);
    }
    return n;
}

size_t nn_nms_hard(const struct nn_nms *nms, uint32_t *candidates, size_t n)
{
    struct nn_pace pace = pace_of(nms);
    const struct lists lists = make_lists(nms, candidates, n, &pace);
    size_t n_chosen = 0;

    while (goes_on(nms, n_chosen, n)) {
        size_t best = find_best(&lists, n_chosen, n, &pace);
        uint32_t chosen = candidates[best];

        move_candidate(&lists, best, n_chosen);
        candidates[n_chosen++] = chosen;
        for (struct nn_pace_part part = {.end = n_chosen}; nn_pace_next_part(&pace, n, 1, &part);)
            mark_overlaps(&lists, box_of(nms, chosen), nms->iou_threshold, part.begin, part.end);
        n = drop_marked(&lists, n_chosen, n, &pace);
    }
    return n_chosen;
}

/* ---- suppression with one ---- */

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

void nn_rank_by_score(uint32_t *indexes, size_t n, size_t n_best, const float *scores,
                      uint64_t *keys, struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);

    n_best = nn_min_size(n, n_best);
    if (n_best == 0)
        return;
    /* A key is a score above the place in the list: the best is the smallest. */
    for (size_t i = 0; i < n && !nn_pace_ends(&pace, 5); i++)
        keys[i] = (uint64_t)falling_key(scores[indexes[i]]) << 32 | i;
    /* The heap is of the best so far, the worst of them on its top. */
    nn_heap_make(keys, n_best, &pace);
    for (size_t i = n_best; i < n && !nn_pace_ends(&pace, 20); i++)
        if (keys[i] < keys[0]) {
            keys[0] = keys[i];
            nn_heap_sink(keys, n_best, 0);
        }
    nn_heap_sort(keys, n_best, &pace);
    /* When a pace has ended, no loop behind it begins: the list, put aside in the keys' lower half, is
     * used only where the keys are whole. */
    for (size_t i = 0; i < n_best && !nn_pace_ends(&pace, 5); i++)
        keys[i] = indexes[(uint32_t)keys[i]];
    for (size_t i = 0; i < n_best && !nn_pace_ends(&pace, 2); i++)
        indexes[i] = (uint32_t)keys[i];
}
