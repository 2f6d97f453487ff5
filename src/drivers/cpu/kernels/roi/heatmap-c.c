/* SPDX-License-Identifier: Apache-2.0 */
/* HEATMAP_MAX_KEYPOINT, plain C: the peak of each heat map, between pixels.
 *
 * Around the largest pixel a quadratic surface is fitted, whose top is the key
 * point. One item of work is one box. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/dequantize.h"

#include <float.h>
#include <math.h>

struct heatmap_params {
    uint32_t is_nchw;
    float tolerance; /* below which the surface is flat */
};

static int lower_heatmap(struct nn_lower *lower)
{
    struct heatmap_params *params = lower->params;

    params->is_nchw = nn_lower_bool(lower, 2, false);
    params->tolerance = lower->inputs[0].type == NNHAL_TENSOR_FLOAT16 ? 1e-3f : 1e-5f;
    return 0;
}

/* One box's maps as float32 for each worker, in the input's layout. */
static bool find_heatmap_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const uint32_t *dims = step->inputs[0].dims;

    ret->worker_bytes = (size_t)dims[1] * dims[2] * dims[3] * sizeof(float);
    return true;
}

struct heatmap {
    const struct nn_kernel_args *args;
    size_t side, n_keypoints;
    size_t pixel, keypoint; /* elements from one to the next */
    float tolerance;
};

struct peak {
    size_t x, y;
    float dx, dy, score;
};

static void find_largest(const struct heatmap *map, const float *values, struct peak *peak,
                         struct nn_pace *pace)
{
    float largest = -FLT_MAX;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, map->side * map->side, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++) {
            float here = values[i * map->pixel];

            if (here > largest) {
                largest = here;
                peak->x = i % map->side;
                peak->y = i / map->side;
            }
        }
    peak->score = largest;
}

/* A neighbor's index; outside the map it is mirrored. */
static size_t mirrored_index(size_t i, int step, size_t side)
{
    if (step < 0)
        return i == 0 ? 1 : i - 1;
    return step == 0 ? i : i + 1 == side ? side - 2 : i + 1;
}

static void fit_surface(const struct heatmap *map, const float *values, struct peak *peak)
{
    float g[3][3], bx, by, axx, ayy, axy, det, most;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            g[i][j] = values[(mirrored_index(peak->y, i - 1, map->side) * map->side +
                              mirrored_index(peak->x, j - 1, map->side)) *
                             map->pixel];
    bx = -(g[1][2] - g[1][0]) / 2.0f;
    by = -(g[2][1] - g[0][1]) / 2.0f;
    axx = g[1][0] - 2.0f * g[1][1] + g[1][2];
    ayy = g[0][1] - 2.0f * g[1][1] + g[2][1];
    axy = (g[2][2] - g[2][0] - g[0][2] + g[0][0]) / 4.0f;
    det = axx * ayy - axy * axy;
    if (fabsf(det) < map->tolerance + map->tolerance * (axx * ayy))
        return;
    peak->dx = (ayy * bx - axy * by) / det;
    peak->dy = (axx * by - axy * bx) / det;
    most = fmaxf(fabsf(peak->dx), fabsf(peak->dy));
    if (most > 1.5f) {
        peak->dx *= 1.5f / most;
        peak->dy *= 1.5f / most;
    }
    peak->score = g[1][1] - bx * peak->dx - by * peak->dy +
                  ((axx * peak->dx + axy * peak->dy) * peak->dx +
                   (axy * peak->dx + ayy * peak->dy) * peak->dy) /
                      2.0f;
}

static void find_keypoints(const struct heatmap *map, size_t b, float *values)
{
    const struct nn_tensor *outputs = map->args->outputs;
    size_t n = map->side * map->side * map->n_keypoints;
    struct nn_pace pace = nn_pace(map->args->stop);
    float box[4], point[2];

    nn_dequantize_load_long(&map->args->inputs[0], b * n, n, values, map->args->stop);
    nn_dequantize_load(&map->args->inputs[1], b * 4, 4, box);
    for (size_t k = 0; k < map->n_keypoints; k++) {
        struct peak peak = {0};

        if (nn_pace_ends(&pace, 20))
            return;
        find_largest(map, values + k * map->keypoint, &peak, &pace);
        fit_surface(map, values + k * map->keypoint, &peak);
        point[0] = box[0] + ((float)peak.x + peak.dx + 0.5f) / (float)map->side * (box[2] - box[0]);
        point[1] = box[1] + ((float)peak.y + peak.dy + 0.5f) / (float)map->side * (box[3] - box[1]);
        nn_quantize_store(&outputs[0], b * map->n_keypoints + k, 1, &peak.score);
        nn_quantize_store(&outputs[1], (b * map->n_keypoints + k) * 2, 2, point);
    }
}

static void heatmap_boxes(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct heatmap *map = ctx;

    for (size_t b = begin; b < end; b++)
        find_keypoints(map, b, nn_worker_scratch(map->args, worker));
}

static int nn_heatmap_max_keypoint__c(const struct nn_kernel_args *args)
{
    const struct heatmap_params *params = args->params;
    const uint32_t *dims = args->inputs[0].dims;
    struct heatmap map = {.args = args,
                          .side = dims[2],
                          .n_keypoints = dims[params->is_nchw ? 1 : 3],
                          .tolerance = params->tolerance};

    map.pixel = params->is_nchw ? 1 : map.n_keypoints;
    map.keypoint = params->is_nchw ? map.side * map.side : 1;
    for (size_t b = 0; b < dims[0]; b++) {
        float box[4];

        nn_dequantize_load(&args->inputs[1], b * 4, 4, box);
        if (!(box[0] <= box[2] && box[1] <= box[3]))
            return nn_kernel_refuse(args, "the corners of box %zu are not in order", b);
    }
    nn_parallel_for(args, dims[0], 1 + map.side * map.side * map.n_keypoints * 2, heatmap_boxes,
                    &map);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("heatmap_max_keypoint__c", HEATMAP_MAX_KEYPOINT),
     .params_bytes = sizeof(struct heatmap_params), .lower = lower_heatmap,
     .find_scratch = find_heatmap_scratch, .run = nn_heatmap_max_keypoint__c},
};
NN_KERNEL_FAMILY(heatmap, kernels);
