/* SPDX-License-Identifier: Apache-2.0 */
/* AXIS_ALIGNED_BBOX_TRANSFORM, BOX_WITH_NMS_LIMIT, DETECTION_POSTPROCESSING, plain C.
 *
 * Boxes and scores are widened into scratch first: all arithmetic is float32,
 * and what has been checked is what is used. Scores that are float32 already and decide nothing but
 * what is chosen are read in place. */
#include "base/arith.h"
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/detection/boxes.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/common/widen-f16.h"

#include <errno.h>
#include <string.h>

/* ---- AXIS_ALIGNED_BBOX_TRANSFORM ---- */

/* Batches, copied before they are checked; each worker's row of deltas, which become results. */
static bool find_bbox_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    ret->worker_bytes = step->inputs[1].dims[1] * sizeof(float);
    ret->bytes = step->inputs[2].size;
    return true;
}

struct transform {
    const struct nn_kernel_args *args;
    const int32_t *batches;
};

static void transform_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct transform *transform = ctx;
    const struct nn_tensor *inputs = transform->args->inputs;
    size_t n = inputs[1].dims[1];
    float *row = nn_worker_scratch(transform->args, worker), size[2];
    struct nn_pace pace = nn_pace(transform->args->stop);
    struct nn_box box, moved;

    for (size_t r = begin; r < end; r++) {
        nn_dequantize_load(&inputs[0], r * 4, 4, (float *)&box);
        nn_dequantize_load_long(&inputs[1], r * n, n, row, transform->args->stop);
        nn_dequantize_load(&inputs[3], (size_t)transform->batches[r] * 2, 2, size);
        for (size_t i = 0; i < n && !nn_pace_ends(&pace, 40); i += 4) {
            moved = nn_box_transform(&box, row + i);
            moved = nn_box_clip(&moved, size[1], size[0]);
            memcpy(row + i, &moved, sizeof(moved));
        }
        nn_quantize_store_long(&transform->args->outputs[0], r * n, n, row, transform->args->stop);
    }
}

static int nn_bbox_transform(const struct nn_kernel_args *args)
{
    size_t n_boxes = args->inputs[0].dims[0];
    int32_t *batches = (int32_t *)(void *)args->scratch;
    struct transform transform = {args, batches};
    struct nn_box box;

    memcpy(batches, args->inputs[2].data, n_boxes * sizeof(*batches));
    for (size_t r = 0; r < n_boxes; r++) {
        if (batches[r] < 0 || (uint32_t)batches[r] >= args->inputs[3].dims[0])
            return nn_kernel_refuse(args, "box %zu is of batch %d of %u", r, batches[r],
                                    args->inputs[3].dims[0]);
        nn_dequantize_load(&args->inputs[0], r * 4, 4, (float *)&box);
        if (!nn_box_is_ordered(&box))
            return nn_kernel_refuse(args, "the corners of box %zu are not in order", r);
    }
    nn_parallel_for(args, n_boxes, 1 + args->inputs[1].dims[1] * 10, transform_rows, &transform);
    return 0;
}

/* ---- BOX_WITH_NMS_LIMIT ---- */

struct nms_limit_params {
    float score_threshold, iou_threshold, sigma, nms_score_threshold;
    int32_t max_detections; /* below 0: no limit */
    int32_t kernel;
};

/* Widened inputs; candidates, which become the result; keys for ranking. */
struct nms_limit {
    const struct nn_kernel_args *args;
    const struct nms_limit_params *params;
    size_t n_rows, n_classes;
    float *scores;        /* [rows, classes] */
    struct nn_box *boxes; /* [rows, classes] */
    int32_t *batches;     /* [rows] */
    uint32_t *chosen;     /* row * classes + class, at most rows * classes */
    uint64_t *keys;
};

static int lower_nms_limit(struct nn_lower *lower)
{
    struct nms_limit_params *params = lower->params;

    params->score_threshold = nn_lower_f32(lower, 3, 0.0f);
    params->max_detections = nn_lower_i32(lower, 4, -1);
    params->kernel = nn_lower_i32(lower, 5, 0);
    params->iou_threshold = nn_lower_f32(lower, 6, 0.0f);
    params->sigma = nn_lower_f32(lower, 7, 0.0f);
    params->nms_score_threshold = nn_lower_f32(lower, 8, 0.0f);
    return 0;
}

static bool find_nms_limit_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    size_t n = nn_tensor_count(&step->inputs[0]), n_rows = step->inputs[0].dims[0];

    return nn_mul_size(n,
                       sizeof(uint64_t) + sizeof(struct nn_box) + sizeof(float) + sizeof(uint32_t),
                       &ret->bytes) &&
           nn_add_size(ret->bytes, n_rows * sizeof(int32_t), &ret->bytes);
}

static struct nms_limit take_nms_limit(const struct nn_kernel_args *args)
{
    size_t n_rows = args->inputs[0].dims[0], n = n_rows * args->inputs[0].dims[1];
    struct nms_limit limit = {.args = args,
                              .params = args->params,
                              .n_rows = n_rows,
                              .n_classes = args->inputs[0].dims[1],
                              .keys = (uint64_t *)(void *)args->scratch};

    limit.boxes = (struct nn_box *)(void *)(limit.keys + n);
    limit.scores = (float *)(void *)(limit.boxes + n);
    limit.chosen = (uint32_t *)(void *)(limit.scores + n);
    limit.batches = (int32_t *)(void *)(limit.chosen + n);
    if (n) {
        nn_dequantize_load_long(&args->inputs[0], 0, n, limit.scores, args->stop);
        nn_dequantize_load_long(&args->inputs[1], 0, n * 4, (float *)limit.boxes, args->stop);
        memcpy(limit.batches, args->inputs[2].data, n_rows * sizeof(*limit.batches));
    }
    return limit;
}

/* Chooses among class c of rows [begin, end); what is chosen is written to chosen. */
static size_t choose_class(const struct nms_limit *limit, size_t begin, size_t end, size_t c,
                           uint32_t *chosen)
{
    const struct nms_limit_params *params = limit->params;
    size_t n = 0, limit_n = limit->n_rows;
    struct nn_nms nms = {.scores = limit->scores,
                         .boxes = limit->boxes,
                         .scores_per_box = 1,
                         .iou_threshold = params->iou_threshold,
                         .kernel = (enum nn_nms_kernel)params->kernel,
                         .sigma = params->sigma,
                         .score_threshold = params->nms_score_threshold,
                         .args = limit->args};

    for (size_t r = begin; r < end; r++)
        if (limit->scores[r * limit->n_classes + c] > params->score_threshold)
            chosen[n++] = (uint32_t)(r * limit->n_classes + c);
    nms.max_chosen = params->max_detections < 0 ? limit_n : (size_t)params->max_detections;
    return nn_nms_soft(&nms, chosen, n);
}

/* Puts the chosen of all classes into the order of class and falling score. The
 * ranks of scores are cut at the limit; then classes are collected one by one. */
static size_t order_chosen(const struct nms_limit *limit, uint32_t *chosen, size_t n)
{
    int32_t max = limit->params->max_detections;
    size_t n_kept = max >= 0 && (size_t)max < n ? (size_t)max : n;
    uint64_t *keys = limit->keys;
    struct nn_pace pace = nn_pace(limit->args->stop);

    nn_rank_by_score(chosen, n, n_kept, limit->scores, keys, limit->args->stop);
    /* A stable counting by class: class above rank, sorted by insertion of runs. */
    for (size_t i = 0; i < n_kept; i++)
        keys[i] = chosen[i];
    n = 0;
    for (size_t c = 1; c < limit->n_classes && n < n_kept && !nn_pace_ends(&pace, n_kept); c++)
        for (size_t i = 0; i < n_kept; i++)
            if (keys[i] % limit->n_classes == c)
                chosen[n++] = (uint32_t)keys[i];
    return n;
}

/* All classes of one batch's rows. Returns: how many were written to chosen. */
static size_t choose_batch(const struct nms_limit *limit, size_t begin, size_t end,
                           uint32_t *chosen)
{
    size_t n = 0;

    for (size_t c = 1; c < limit->n_classes && !nn_kernel_stopped(limit->args); c++)
        n += choose_class(limit, begin, end, c, chosen + n);
    return order_chosen(limit, chosen, n);
}

static int resize_found(const struct nn_kernel_args *args, size_t n)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < args->n_outputs; i++)
        r = nn_output_resize(args, i, i == 1 ? 2 : 1, (uint32_t[]){(uint32_t)n, 4});
    return r;
}

static int nn_box_with_nms_limit(const struct nn_kernel_args *args)
{
    struct nms_limit limit = take_nms_limit(args);
    size_t n = 0, begin = 0, element_bytes = nn_type_bytes(args->inputs[1].type);
    int r;

    if (nn_kernel_stopped(args))
        return NN_KERNEL_E_CANCELLED;
    for (size_t i = 0; i < limit.n_rows * limit.n_classes; i++)
        if (!nn_box_is_ordered(&limit.boxes[i]))
            return nn_kernel_refuse(args, "the corners of box %zu are not in order", i);
    for (size_t end = 1; end <= limit.n_rows; end++) {
        if (end < limit.n_rows && limit.batches[end] == limit.batches[begin])
            continue;
        if (nn_kernel_stopped(args))
            return NN_KERNEL_E_CANCELLED;
        n += choose_batch(&limit, begin, end, limit.chosen + n);
        begin = end;
    }
    if (nn_kernel_stopped(args))
        return NN_KERNEL_E_CANCELLED;
    r = resize_found(args, n);
    for (size_t i = 0; r == 0 && i < n; i++) {
        uint32_t from = limit.chosen[i], row = from / (uint32_t)limit.n_classes;

        nn_quantize_store(&args->outputs[0], i, 1, &limit.scores[from]);
        memcpy((char *)args->outputs[1].data + i * 4 * element_bytes,
               (const char *)args->inputs[1].data + (size_t)from * 4 * element_bytes,
               4 * element_bytes);
        ((int32_t *)args->outputs[2].data)[i] = (int32_t)(from % (uint32_t)limit.n_classes);
        ((int32_t *)args->outputs[3].data)[i] = limit.batches[row];
    }
    return r;
}

/* ---- DETECTION_POSTPROCESSING ---- */

struct post_params {
    float scales[4]; /* of dy, dx, dh, dw */
    float score_threshold, iou_threshold;
    uint32_t is_regular;
    uint32_t has_background; /* label map: classes count from 1 */
    int32_t max_detections, max_classes, max_per_class;
};

/* Inputs of one batch as floats, and room to choose. */
struct post {
    const struct nn_kernel_args *args;
    const struct post_params *params;
    size_t n_anchors, n_classes, n_deltas, room;
    float *scores;        /* [anchors, classes]: the input's, or wide_scores */
    float *wide_scores;   /* [anchors, classes], unless the input is float32 */
    float *deltas;        /* [anchors, deltas] */
    const float *anchors; /* [anchors, 4] */
    struct nn_box *boxes; /* [anchors] */
    float *best;          /* [anchors]: of any class */
    float *nms_room;      /* for anchors */
    uint32_t *chosen;     /* [anchors * classes] */
    uint64_t *keys;
    /* The results of the batch. */
    float *out_scores; /* [room] */
    struct nn_box *out_boxes;
    int32_t *out_classes;
    size_t n_out;
};

static bool find_post_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    uint64_t n_anchors = step->inputs[0].dims[1], n_classes = step->inputs[0].dims[2];
    uint64_t n = n_anchors * n_classes, room = step->outputs[0].dims[1];
    uint64_t n_wide = step->inputs[0].type == NNHAL_TENSOR_FLOAT32 ? 0 : n;

    ret->bytes = n * (sizeof(uint64_t) + sizeof(uint32_t)) + n_wide * sizeof(float) +
                 n_anchors * (step->inputs[1].dims[2] * sizeof(float) + sizeof(struct nn_box) +
                              5 * sizeof(float) + NN_NMS_ROOM_BYTES) +
                 room * (sizeof(struct nn_box) + sizeof(float));
    return true;
}

static int lower_post(struct nn_lower *lower)
{
    struct post_params *params = lower->params;

    for (uint32_t i = 0; i < 4; i++)
        params->scales[i] = nn_lower_f32(lower, 3 + i, 1.0f);
    params->is_regular = nn_lower_bool(lower, 7, false);
    params->max_detections = nn_lower_i32(lower, 8, 0);
    params->max_classes = nn_lower_i32(lower, 9, 0);
    params->max_per_class = nn_lower_i32(lower, 10, 0);
    params->score_threshold = nn_lower_f32(lower, 11, 0.0f);
    params->iou_threshold = nn_lower_f32(lower, 12, 0.0f);
    params->has_background = nn_lower_bool(lower, 13, false);
    return 0;
}

static struct post take_post(const struct nn_kernel_args *args)
{
    const uint32_t *dims = args->inputs[0].dims;
    struct post post = {.args = args,
                        .params = args->params,
                        .n_anchors = dims[1],
                        .n_classes = dims[2],
                        .n_deltas = args->inputs[1].dims[2],
                        .room = args->outputs[0].dims[1],
                        .keys = (uint64_t *)(void *)args->scratch};
    size_t n = post.n_anchors * post.n_classes;
    size_t n_wide = args->inputs[0].type == NNHAL_TENSOR_FLOAT32 ? 0 : n;
    float *anchors;

    post.boxes = (struct nn_box *)(void *)(post.keys + n);
    post.out_boxes = post.boxes + post.n_anchors;
    post.wide_scores = (float *)(void *)(post.out_boxes + post.room);
    post.deltas = post.wide_scores + n_wide;
    anchors = post.deltas + post.n_anchors * post.n_deltas;
    post.best = anchors + post.n_anchors * 4;
    post.out_scores = post.best + post.n_anchors;
    post.chosen = (uint32_t *)(void *)(post.out_scores + post.room);
    post.nms_room = (float *)(void *)(post.chosen + n);
    nn_dequantize_load_long(&args->inputs[2], 0, post.n_anchors * 4, anchors, args->stop);
    post.anchors = anchors;
    return post;
}

/* Anchors are center and size, y before x, and so are deltas. */
static void decode_boxes(const struct post *post)
{
    const float *scales = post->params->scales;
    struct nn_pace pace = nn_pace(post->args->stop);

    for (size_t a = 0; a < post->n_anchors && !nn_pace_ends(&pace, 30); a++) {
        const float *anchor = post->anchors + a * 4, *delta = post->deltas + a * post->n_deltas;
        float y = anchor[0] + anchor[2] * delta[0] / scales[0];
        float x = anchor[1] + anchor[3] * delta[1] / scales[1];
        float half_h = anchor[2] * expf(delta[2] / scales[2]) / 2.0f;
        float half_w = anchor[3] * expf(delta[3] / scales[3]) / 2.0f;

        post->boxes[a] = (struct nn_box){y - half_h, x - half_w, y + half_h, x + half_w};
    }
}

static void emit_box(struct post *post, uint32_t candidate, float score)
{
    uint32_t n_classes = (uint32_t)post->n_classes, c = candidate % n_classes;

    if (post->n_out == post->room)
        return;
    post->out_scores[post->n_out] = score;
    post->out_boxes[post->n_out] = post->boxes[candidate / n_classes];
    post->out_classes[post->n_out] = (int32_t)c - (post->params->has_background ? 0 : 1);
    post->n_out++;
}

/* Suppression in each class, then the best of all classes. */
static void choose_regular(struct post *post)
{
    const struct post_params *params = post->params;
    struct nn_nms nms = {.scores = post->scores,
                         .boxes = post->boxes,
                         .scores_per_box = post->n_classes,
                         .max_chosen = (size_t)params->max_per_class,
                         .iou_threshold = params->iou_threshold,
                         .room = post->nms_room,
                         .args = post->args};
    struct nn_pace pace = nn_pace(post->args->stop);
    size_t n = 0, n_best;

    for (size_t c = 1; c < post->n_classes && !nn_kernel_stopped(post->args); c++) {
        uint32_t *chosen = post->chosen + n;
        size_t n_class = 0;

        for (size_t a = 0; a < post->n_anchors && !nn_pace_ends(&pace, 5 + post->n_classes); a++)
            if (post->scores[a * post->n_classes + c] > params->score_threshold)
                chosen[n_class++] = (uint32_t)(a * post->n_classes + c);
        n += nn_nms_hard(&nms, chosen, n_class);
    }
    n_best = nn_min_size(n, (size_t)params->max_detections);
    nn_rank_by_score(post->chosen, n, n_best, post->scores, post->keys, post->args->stop);
    for (size_t i = 0; i < n_best; i++)
        emit_box(post, post->chosen[i], post->scores[post->chosen[i]]);
}

/* The classes of one anchor, best first. */
static void emit_classes(struct post *post, uint32_t anchor, uint32_t *ranked)
{
    size_t n = post->n_classes - 1, n_best = nn_min_size(n, (size_t)post->params->max_classes);

    for (size_t i = 0; i < n; i++)
        ranked[i] = (uint32_t)(anchor * post->n_classes + 1 + i);
    nn_rank_by_score(ranked, n, n_best, post->scores, post->keys, post->args->stop);
    for (size_t i = 0; i < n_best; i++)
        emit_box(post, ranked[i], post->scores[ranked[i]]);
}

/* One suppression by the best class of each anchor. */
static void choose_fast(struct post *post)
{
    const struct post_params *params = post->params;
    struct nn_nms nms = {.scores = post->best,
                         .boxes = post->boxes,
                         .scores_per_box = 1,
                         .max_chosen = (size_t)params->max_detections,
                         .iou_threshold = params->iou_threshold,
                         .room = post->nms_room,
                         .args = post->args};
    struct nn_pace pace = nn_pace(post->args->stop);
    size_t n = 0;

    for (size_t a = 0; a < post->n_anchors && !nn_pace_ends(&pace, 5 + post->n_classes); a++) {
        const float *scores = post->scores + a * post->n_classes + 1;

        post->best[a] = nn_best_score(scores[0], scores, post->n_classes - 1);
        if (post->best[a] > params->score_threshold)
            post->chosen[n++] = (uint32_t)a;
    }
    n = nn_nms_hard(&nms, post->chosen, n);
    for (size_t i = 0; i < n && !nn_kernel_stopped(post->args); i++)
        emit_classes(post, post->chosen[i], post->chosen + post->n_anchors);
}

static void run_batch(const struct nn_kernel_args *args, struct post *post, size_t b)
{
    size_t n_scores = post->n_anchors * post->n_classes, room = post->room;
    size_t n_deltas = post->n_anchors * post->n_deltas;
    struct nn_pace pace = nn_pace(args->stop);

    if (args->inputs[0].type == NNHAL_TENSOR_FLOAT32) {
        post->scores = (float *)args->inputs[0].data + b * n_scores;
    } else {
        post->scores = post->wide_scores;
        nn_dequantize_load_long(&args->inputs[0], b * n_scores, n_scores, post->scores, args->stop);
    }
    nn_dequantize_load_long(&args->inputs[1], b * n_deltas, n_deltas, post->deltas, args->stop);
    decode_boxes(post);
    post->n_out = 0;
    post->out_classes = (int32_t *)args->outputs[2].data + b * room;
    nn_pace_fill(&pace, post->out_scores, 0, room * sizeof(*post->out_scores));
    nn_pace_fill(&pace, post->out_boxes, 0, room * sizeof(*post->out_boxes));
    nn_pace_fill(&pace, post->out_classes, 0, room * sizeof(*post->out_classes));
    if (post->params->is_regular)
        choose_regular(post);
    else
        choose_fast(post);
    nn_quantize_store_long(&args->outputs[0], b * room, room, post->out_scores, args->stop);
    nn_quantize_store_long(&args->outputs[1], b * room * 4, room * 4,
                           (const float *)post->out_boxes, args->stop);
    ((int32_t *)args->outputs[3].data)[b] = (int32_t)post->n_out;
}

static int nn_detection_postprocessing(const struct nn_kernel_args *args)
{
    struct post post = take_post(args);

    for (size_t b = 0; b < args->inputs[0].dims[0]; b++) {
        run_batch(args, &post, b);
        if (nn_kernel_stopped(args))
            return NN_KERNEL_E_CANCELLED;
    }
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("axis_aligned_bbox_transform", AXIS_ALIGNED_BBOX_TRANSFORM),
     .find_scratch = find_bbox_scratch, .run = nn_bbox_transform},
    {NN_VARIANT_ROW("box_with_nms_limit", BOX_WITH_NMS_LIMIT),
     .params_bytes = sizeof(struct nms_limit_params), .is_dynamic = 1, .lower = lower_nms_limit,
     .find_scratch = find_nms_limit_scratch, .run = nn_box_with_nms_limit},
    {NN_VARIANT_ROW("detection_postprocessing", DETECTION_POSTPROCESSING),
     .params_bytes = sizeof(struct post_params), .lower = lower_post,
     .find_scratch = find_post_scratch, .run = nn_detection_postprocessing},
};
NN_VARIANT_FAMILY(detection, kernels);
