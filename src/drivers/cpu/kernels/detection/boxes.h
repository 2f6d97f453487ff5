/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h - boxes, how much they overlap, and choosing among them
 *
 * A box is four floats, two corners: x1, y1, x2, y2 (or y before x, it makes
 * no difference here). Choosing is non-maximum suppression on a list of
 * indexes, in place: what is chosen gathers at the front. The order in which
 * candidates move is part of the operations, because scores tie. */
#ifndef NN_CPU_DETECTION_BOXES_H
#define NN_CPU_DETECTION_BOXES_H

#include "drivers/cpu/kernels/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    float score_threshold;             /* what falls below it is dropped */
    const struct nn_kernel_args *args; /* asked now and then whether to stop early; or NULL */
};

/* nn_nms_hard() - takes the best (the first of equals), drops what overlaps it
 * by the threshold or more, and so on. candidates is rearranged.
 * Returns: how many are chosen: candidates[0] is the first one. */
size_t nn_nms_hard(const struct nn_nms *nms, uint32_t *candidates, size_t n);

/* nn_nms_soft() - the same, but overlap lowers a score by the kernel. */
size_t nn_nms_soft(const struct nn_nms *nms, uint32_t *candidates, size_t n);

/* nn_rank_by_score() - sorts indexes by falling score; equal ones stay in
 * order. keys has room for n. Stopped, it leaves them in some order. */
void nn_rank_by_score(uint32_t *indexes, size_t n, const float *scores, uint64_t *keys,
                      struct nn_stop *stop);

#endif
