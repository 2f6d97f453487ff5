/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h - boxes, how much they overlap, and choosing among them
 *
 * A box is four floats, two corners: x1, y1, x2, y2 (or y before x, it makes
 * no difference here). Choosing is non-maximum suppression on a list of
 * indexes, in place: what is chosen gathers at the front. The order in which
 * candidates move is part of the operations, because scores tie. */
#ifndef NN_CPU_DETECTION_BOXES_H
#define NN_CPU_DETECTION_BOXES_H

#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define nn_box_transform NN_VARIANT_SYMBOL(nn_box_transform)
#define nn_box_clip      NN_VARIANT_SYMBOL(nn_box_clip)
#define nn_box_iou       NN_VARIANT_SYMBOL(nn_box_iou)
#define nn_best_score    NN_VARIANT_SYMBOL(nn_best_score)
#define nn_nms_hard      NN_VARIANT_SYMBOL(nn_nms_hard)
#define nn_nms_soft      NN_VARIANT_SYMBOL(nn_nms_soft)
#define nn_rank_by_score NN_VARIANT_SYMBOL(nn_rank_by_score)

struct nn_box {
    float x1, y1, x2, y2;
};

/* nn_box_is_ordered() - whether the first corner is not beyond the second; false with NaN. */
static inline bool nn_box_is_ordered(const struct nn_box *box)
{
    return box->x1 <= box->x2 && box->y1 <= box->y2;
}

/* nn_box_transform() - moves and stretches a box by deltas dx, dy, dw, dh. */
struct nn_box nn_box_transform(const struct nn_box *box, const float *deltas);

/* nn_box_clip() - into an image of this size. */
struct nn_box nn_box_clip(const struct nn_box *box, float width, float height);

/* nn_box_iou() - intersection over union; NaN for two boxes without area. */
float nn_box_iou(const struct nn_box *a, const struct nn_box *b);

enum nn_nms_kernel {
    NN_NMS_HARD = 0,
    NN_NMS_LINEAR = 1,
    NN_NMS_GAUSSIAN = 2,
};

enum {
    NN_NMS_ROOM_BYTES = 6 * sizeof(float) + 1, /* of a candidate */
};

/* What nn_nms_soft() and nn_nms_hard() choose from. Candidate i has score
 * scores[i] and box boxes[i / scores_per_box]. */
struct nn_nms {
    float *scores; /* nn_nms_soft() lowers them */
    const struct nn_box *boxes;
    size_t scores_per_box;
    size_t max_chosen;
    float iou_threshold;
    enum nn_nms_kernel kernel; /* nn_nms_soft() only, and the two below */
    float sigma;
    float score_threshold; /* what falls below it is dropped */
    float *room;           /* nn_nms_hard() only: NN_NMS_ROOM_BYTES for each candidate */
    const struct nn_kernel_args *args; /* asked now and then whether to stop early; or NULL */
};

/* nn_best_score() - the best of n scores and of what was the best before, which a NaN never replaces;
 * if that is a NaN itself, it stays. */
float nn_best_score(float best, const float *scores, size_t n);

/* nn_nms_hard() - takes the best (the first of equals), drops what overlaps it
 * by the threshold or more, and so on. Those that are chosen come to the front of candidates, the first
 * one to candidates[0]; what is behind them is undefined.
 * Returns: how many are chosen. */
size_t nn_nms_hard(const struct nn_nms *nms, uint32_t *candidates, size_t n);

/* nn_nms_soft() - the same, but overlap lowers a score by the kernel. */
size_t nn_nms_soft(const struct nn_nms *nms, uint32_t *candidates, size_t n);

/* nn_rank_by_score() - brings the n_best of n indexes with the best scores to the front, by falling
 * score, of equal ones the first. keys has room for n. Stopped, it leaves indexes in some order. */
void nn_rank_by_score(uint32_t *indexes, size_t n, size_t n_best, const float *scores,
                      uint64_t *keys, struct nn_stop *stop);

#endif
