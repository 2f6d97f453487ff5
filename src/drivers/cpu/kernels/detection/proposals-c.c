/* SPDX-License-Identifier: Apache-2.0 */
/* GENERATE_PROPOSALS, plain C: anchors at every cell, moved by deltas, clipped
 * to the image, and chosen by score. */
#include "base/arith.h"
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/detection/boxes.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/dequantize.h"

#include <errno.h>
#include <string.h>

enum { SCORES, DELTAS, ANCHORS, IMAGES };

struct proposals_params {
    float height_stride, width_stride, iou_threshold, min_size;
    int32_t pre_nms, post_nms; /* not above 0: no limit */
    uint32_t is_nchw;
};

/* Cells of one batch are numbered (h * W + w) * A + a. */
struct proposals {
    const struct proposals_params *params;
    size_t n_batches, n_rows, n_columns, n_anchors, n_cells;
    uint64_t *keys;         /* [cells] */
    struct nn_box *boxes;   /* [batches, cells] */
    float *scores;          /* [batches, cells] */
    float *deltas;          /* [cells, 4] */
    float *loaded;          /* [cells, 4]: in the input's layout */
    struct nn_box *anchors; /* [anchors] */
    uint32_t *chosen;       /* [batches, cells]: cells counted through all batches */
    float *nms_room;        /* for cells */
};

static int lower_proposals(struct nn_lower *lower)
{
    struct proposals_params *params = lower->params;

    params->height_stride = nn_lower_f32(lower, 4, 1.0f);
    params->width_stride = nn_lower_f32(lower, 5, 1.0f);
    params->pre_nms = nn_lower_i32(lower, 6, 0);
    params->post_nms = nn_lower_i32(lower, 7, 0);
    params->iou_threshold = nn_lower_f32(lower, 8, 0.0f);
    params->min_size = nn_lower_f32(lower, 9, 0.0f);
    params->is_nchw = nn_lower_bool(lower, 10, false);
    return 0;
}

static bool find_proposals_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    size_t n_all = nn_tensor_count(&step->inputs[SCORES]), n_batches = step->inputs[SCORES].dims[0];
    size_t n_cells = n_batches ? n_all / n_batches : 0;
    size_t n_anchor_bytes = nn_tensor_count(&step->inputs[ANCHORS]) * sizeof(float);

    return nn_mul_size(n_all, sizeof(struct nn_box) + sizeof(float) + sizeof(uint32_t),
                       &ret->bytes) &&
           nn_add_size(ret->bytes,
                       n_cells * (sizeof(uint64_t) + 8 * sizeof(float) + NN_NMS_ROOM_BYTES) +
                           n_anchor_bytes,
                       &ret->bytes);
}

static struct proposals take_proposals(const struct nn_kernel_args *args)
{
    const struct proposals_params *params = args->params;
    const uint32_t *dims = args->inputs[SCORES].dims;
    uint32_t h = params->is_nchw ? 2 : 1;
    struct proposals p = {.params = params,
                          .n_batches = dims[0],
                          .n_rows = dims[h],
                          .n_columns = dims[h + 1],
                          .n_anchors = dims[params->is_nchw ? 1 : 3],
                          .keys = (uint64_t *)(void *)args->scratch};
    size_t n_all;

    p.n_cells = p.n_rows * p.n_columns * p.n_anchors;
    n_all = p.n_batches * p.n_cells;
    p.boxes = (struct nn_box *)(void *)(p.keys + p.n_cells);
    p.anchors = p.boxes + n_all;
    p.scores = (float *)(void *)(p.anchors + p.n_anchors);
    p.deltas = p.scores + n_all;
    p.loaded = p.deltas + p.n_cells * 4;
    p.chosen = (uint32_t *)(void *)(p.loaded + p.n_cells * 4);
    p.nms_room = (float *)(void *)(p.chosen + n_all);
    nn_dequantize_load(&args->inputs[ANCHORS], 0, p.n_anchors * 4, (float *)p.anchors);
    return p;
}

/* Loads a batch of n channels per cell; channels of a position lie together afterwards. */
static void load_batch(const struct proposals *p, const struct nn_tensor *tensor, size_t b,
                       size_t n_channels, float *to, struct nn_stop *stop)
{
    size_t n_positions = p->n_rows * p->n_columns, n = n_positions * n_channels;
    struct nn_pace pace = nn_pace(stop);

    if (!p->params->is_nchw) {
        nn_dequantize_load_long(tensor, b * n, n, to, stop);
        return;
    }
    nn_dequantize_load_long(tensor, b * n, n, p->loaded, stop);
    for (size_t c = 0; c < n_channels; c++)
        for (size_t i = 0; i < n_positions && !nn_pace_ends(&pace, 2); i++)
            to[i * n_channels + c] = p->loaded[c * n_positions + i];
}

/* Every cell's anchor, shifted to its position, moved, and clipped. */
static void make_boxes(const struct proposals *p, const float image[2], struct nn_box *boxes,
                       struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);

    for (size_t i = 0; i < p->n_cells && !nn_pace_ends(&pace, 30); i++) {
        struct nn_box box = p->anchors[i % p->n_anchors];
        size_t position = i / p->n_anchors;
        float x = (float)(position % p->n_columns) * p->params->width_stride;
        float y = (float)(position / p->n_columns) * p->params->height_stride;

        box = (struct nn_box){box.x1 + x, box.y1 + y, box.x2 + x, box.y2 + y};
        box = nn_box_transform(&box, p->deltas + i * 4);
        boxes[i] = nn_box_clip(&box, image[1], image[0]);
    }
}

/* Boxes that are large enough and have their middle in the image; order is kept. */
static size_t keep_large(const struct proposals *p, const struct nn_box *boxes,
                         const float image[2], uint32_t *cells, size_t n, struct nn_pace *pace)
{
    float min_size = p->params->min_size;
    size_t n_kept = 0;

    for (size_t i = 0; i < n && !nn_pace_ends(pace, 5); i++) {
        const struct nn_box *box = &boxes[cells[i]];
        float width = box->x2 - box->x1, height = box->y2 - box->y1;

        if (width > min_size && height > min_size && box->x1 + width / 2.0f < image[1] &&
            box->y1 + height / 2.0f < image[0])
            cells[n_kept++] = cells[i];
    }
    return n_kept;
}

/* Returns: how many cells of the batch were written to chosen. */
static size_t choose_batch(const struct nn_kernel_args *args, const struct proposals *p, size_t b,
                           uint32_t *chosen)
{
    const struct proposals_params *params = p->params;
    float *scores = p->scores + b * p->n_cells, image[2];
    struct nn_box *boxes = p->boxes + b * p->n_cells;
    struct nn_nms nms = {.scores = scores,
                         .boxes = boxes,
                         .scores_per_box = 1,
                         .max_chosen = params->post_nms > 0 ? (size_t)params->post_nms : p->n_cells,
                         .iou_threshold = params->iou_threshold,
                         .room = p->nms_room,
                         .args = args};
    struct nn_pace pace = nn_pace(args->stop);
    size_t n = p->n_cells;

    nn_dequantize_load(&args->inputs[IMAGES], b * 2, 2, image);
    load_batch(p, &args->inputs[SCORES], b, p->n_anchors, scores, args->stop);
    load_batch(p, &args->inputs[DELTAS], b, p->n_anchors * 4, p->deltas, args->stop);
    make_boxes(p, image, boxes, args->stop);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            chosen[i] = (uint32_t)i;
    if (nn_kernel_stopped(args))
        return 0;
    if (params->pre_nms > 0 && (size_t)params->pre_nms < n) {
        nn_rank_by_score(chosen, n, (size_t)params->pre_nms, scores, p->keys, args->stop);
        n = (size_t)params->pre_nms;
    }
    n = keep_large(p, boxes, image, chosen, n, &pace);
    n = nn_nms_hard(&nms, chosen, n);
    for (size_t i = 0; i < n; i++)
        chosen[i] += (uint32_t)(b * p->n_cells);
    return n;
}

static int nn_generate_proposals(const struct nn_kernel_args *args)
{
    struct proposals p = take_proposals(args);
    size_t n = 0;
    int r = 0;

    for (size_t a = 0; a < p.n_anchors; a++)
        if (!nn_box_is_ordered(&p.anchors[a]))
            return nn_kernel_refuse(args, "the corners of anchor %zu are not in order", a);
    for (size_t b = 0; b < p.n_batches; b++) {
        n += choose_batch(args, &p, b, p.chosen + n);
        if (nn_kernel_stopped(args))
            return NN_KERNEL_E_CANCELLED;
    }
    for (uint32_t i = 0; r == 0 && i < args->n_outputs; i++)
        r = nn_output_resize(args, i, i == 1 ? 2 : 1, (uint32_t[]){(uint32_t)n, 4});
    for (size_t i = 0; r == 0 && i < n; i++) {
        nn_quantize_store(&args->outputs[0], i, 1, &p.scores[p.chosen[i]]);
        nn_quantize_store(&args->outputs[1], i * 4, 4, (const float *)&p.boxes[p.chosen[i]]);
        ((int32_t *)args->outputs[2].data)[i] = (int32_t)(p.chosen[i] / p.n_cells);
    }
    return r;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("generate_proposals", GENERATE_PROPOSALS),
     .params_bytes = sizeof(struct proposals_params), .is_dynamic = 1, .lower = lower_proposals,
     .find_scratch = find_proposals_scratch, .run = nn_generate_proposals},
};
NN_VARIANT_FAMILY(proposals, kernels);
