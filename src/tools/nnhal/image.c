/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void image_done(struct image *image)
{
    free(image->rgb);
    *image = (struct image){0};
}

/* The source pixels that one target pixel looks at, along one side: their first
 * index, how many, and the weight of each. */
struct resize_span {
    uint32_t first, n;
    float center, radius;
};

static struct resize_span span_of(uint32_t index, uint32_t from, uint32_t to)
{
    float ratio = (float)from / (float)to;
    float center = ((float)index + 0.5f) * ratio - 0.5f;
    float radius = ratio > 1 ? ratio : 1; /* of a triangle: bilinear, or wide enough to average */
    float low = ceilf(center - radius), high = floorf(center + radius);
    struct resize_span span = {.center = center, .radius = radius};

    low = low < 0 ? 0 : low;
    high = high > (float)(from - 1) ? (float)(from - 1) : high;
    span.first = (uint32_t)low;
    span.n = high >= low ? (uint32_t)(high - low) + 1 : 1;
    return span;
}

static float weight_of(const struct resize_span *span, uint32_t i)
{
    float weight = 1 - fabsf((float)(span->first + i) - span->center) / span->radius;

    return weight > 0 ? weight : 0;
}

static void pixel_sample(const struct image *image, const struct resize_span *x,
                         const struct resize_span *y, float rgb[3])
{
    float total = 0;

    rgb[0] = rgb[1] = rgb[2] = 0;
    for (uint32_t j = 0; j < y->n; j++) {
        const uint8_t *row = image->rgb + ((size_t)(y->first + j) * image->width + x->first) * 3;

        for (uint32_t i = 0; i < x->n; i++) {
            float weight = weight_of(x, i) * weight_of(y, j);

            for (int c = 0; c < 3; c++)
                rgb[c] += weight * (float)row[3 * i + (uint32_t)c];
            total += weight;
        }
    }
    for (int c = 0; c < 3; c++)
        rgb[c] = total > 0 ? rgb[c] / total : 0;
}

void image_resize(const struct image *image, uint32_t width, uint32_t height, uint32_t n_channels,
                  float *values)
{
    for (uint32_t row = 0; row < height; row++) {
        struct resize_span y = span_of(row, image->height, height);

        for (uint32_t column = 0; column < width; column++) {
            struct resize_span x = span_of(column, image->width, width);
            float rgb[3], *to = values + ((size_t)row * width + column) * n_channels;

            pixel_sample(image, &x, &y, rgb);
            if (n_channels == 1)
                to[0] = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
            else
                memcpy(to, rgb, sizeof(rgb));
        }
    }
}
